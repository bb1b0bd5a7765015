// From a model to a file: what is written is decided and checked first, then streamed.
#include "engine/model/file_image.h"

namespace volta {
namespace {

class FileSink final : public ByteSink {
  public:
    explicit FileSink(AtomicFile& file) : file_(file) {}
    void add(const void* data, std::size_t bytes) override { file_.write(data, bytes); }

  private:
    AtomicFile& file_;
};

}  // namespace

void write_model(const SaveSource& source, const char* path, std::pmr::memory_resource* heap) {
    FileImage image(source, heap);
    for (std::size_t i = 0; i < image.tensor_count(); ++i) image.compute_checksum(i);
    image.make_head();
    AtomicFile file(path, heap, *source.stop);
    FileSink sink(file);
    image.write({0, image.bytes()}, sink);
    file.commit();
}

}  // namespace volta
