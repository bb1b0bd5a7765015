#include "engine/runtime/save_parts.h"

#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

#include "engine/base/error.h"
#include "engine/model/file_image.h"
#include "engine/model/parts.h"

namespace volta {
namespace {

// How a piece of the save ended on a rank.
struct Outcome {
    std::int32_t status;
    char text[512];
};

class GroupSave final {
  public:
    GroupSave(const SaveSource& source, ShardedStep& step, const char* folder,
              std::pmr::memory_resource* heap)
        : source_(source),
          step_(step),
          group_(*step.collective()),
          folder_(folder),
          heap_(heap),
          owners_(heap),
          manifest_(heap),
          outcomes_(group_.group().size(), heap),
          portions_(heap) {
        portions_.reserve(ranks());
    }

    // What ranks tell each other is checksums; each writes its values itself.
    void run() {
        together([&] { list_tensors(); });
        share([&](std::size_t i) { return portion(image_->checksums()[i], owners_[i]); },
              image_->tensor_count());
        together([&] { begin(); });
        share([&](std::size_t) { return portion(start_, 0); }, 1);
        write();
        share(
            [&](std::size_t r) {
                return portion(manifest_.parts[r].checksum, static_cast<std::uint32_t>(r));
            },
            ranks());
        together([&] {
            if (place_) place_->commit(manifest_, *source_.stop);
        });
    }

  private:
    struct Start {  // what rank 0 knows of the file
        Hash128 save;
        std::uint64_t head_bytes;
    };

    std::uint32_t rank() const { return group_.group().rank(); }
    std::uint32_t ranks() const { return group_.group().size(); }

    template <class Value>
    static Portion portion(Value& value, std::uint32_t owner) {
        return {reinterpret_cast<float*>(&value), sizeof value / sizeof(float), owner};
    }
    // All ranks have then what one did.
    template <class At>
    void share(const At& at, std::size_t count) {
        portions_.clear();
        for (std::size_t i = 0; i < count; ++i) portions_.push_back(at(i));
        group_.gather(portions_.data(), portions_.size());
    }

    // All ranks go on, or none does.
    template <class Body>
    void together(Body body) {
        Outcome& own = outcomes_[rank()];
        own = {};
        try {
            body();
        } catch (const Error& error) {
            own.status = error.status();
            std::snprintf(own.text, sizeof own.text, "%s", error.what());
        } catch (const std::bad_alloc& error) {
            own.status = VOLTA_OUT_OF_MEMORY;
            std::snprintf(own.text, sizeof own.text, "%s", error.what());
        }
        share([&](std::size_t r) { return portion(outcomes_[r], static_cast<std::uint32_t>(r)); }, ranks());
        for (std::uint32_t r = 0; r < ranks(); ++r)
            if (outcomes_[r].status != VOLTA_OK)
                fail(r == rank() ? own.status : VOLTA_IO_ERROR, "rank %u could not save: %s", r,
                     outcomes_[r].text);
    }

    void list_tensors() {
        image_.emplace(source_, heap_);
        portions_.reserve(image_->tensor_count());  // share() is not to fail on one rank alone
        for (std::size_t i = 0; i < image_->tensor_count(); ++i) {
            owners_.push_back(step_.owner(std::pmr::string(image_->parameter_of(i), heap_).c_str()));
            if (owners_[i] == rank()) image_->compute_checksum(i);
        }
    }

    void begin() {
        if (rank() != 0) return;
        place_.emplace(folder_, heap_);
        image_->make_head();
        start_.head_bytes = image_->head_bytes();
        start_.save = name_of_save(*image_, parts_by_owner(*image_, owners_, ranks(), heap_));
    }

    void write() {
        try {
            together([&] {
                image_->set_head_bytes(start_.head_bytes);
                manifest_.bytes = image_->bytes();
                manifest_.parts = parts_by_owner(*image_, owners_, ranks(), heap_);
                name_parts(manifest_.parts, start_.save);
                // It is there, but what this machine remembers of a shared file system may be older.
                if (rank() != 0) make_folders(folder_, heap_);
                write_part(*image_, manifest_.parts[rank()], folder_, heap_);
            });
        } catch (...) {
            if (place_) place_->remove_unnamed();
            throw;
        }
    }

    const SaveSource& source_;
    const ShardedStep& step_;
    Collective& group_;
    const char* folder_;
    std::pmr::memory_resource* heap_;
    std::optional<FileImage> image_;
    std::pmr::vector<std::uint32_t> owners_;
    Manifest manifest_;
    std::optional<PartsFolder> place_;  // on rank 0
    Start start_ = {};
    std::pmr::vector<Outcome> outcomes_;
    std::pmr::vector<Portion> portions_;
};

}  // namespace

void save_parts(const SaveSource& source, ShardedStep* step, const char* folder,
                std::pmr::memory_resource* heap) {
    if (step == nullptr || step->collective() == nullptr) return write_model_parts(source, 1, folder, heap);
    GroupSave(source, *step, folder, heap).run();
}

}  // namespace volta
