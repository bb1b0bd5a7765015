// CIFAR-10 and CIFAR-100 in their binary form: records of one size, without a header.
#include <cstring>
#include <string_view>

#include "data/data_set.h"
#include "data/input_file.h"
#include "engine/base/error.h"

namespace volta::data {
namespace {

constexpr std::size_t kPlane = 32 * 32, kPixels = 3 * kPlane;

struct Kind {
    const char* name;
    std::size_t labels;  // bytes of a record before its pixels; the last one counts
    std::uint32_t classes;
    const char* names;  // the file of names
    const char *train, *train_end,
        *test;  // files of a folder: what those of the train split begin and end with
    std::size_t record() const { return labels + kPixels; }
};
constexpr Kind kCifar10 = {"CIFAR-10", 1, 10, "batches.meta.txt", "data_batch_", ".bin", "test_batch.bin"};
constexpr Kind kCifar100 = {"CIFAR-100", 2, 100, "fine_label_names.txt", "train", ".bin", "test.bin"};

std::string_view folder_of(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string_view(".") : path.substr(0, slash + 1);
}

bool begins_and_ends(std::string_view text, std::string_view begin, std::string_view end) {
    return text.size() >= begin.size() + end.size() && text.substr(0, begin.size()) == begin &&
           text.substr(text.size() - end.size()) == end;
}

struct Part {
    InputFile file;
    std::uint64_t first, count;  // samples
};

template <const Kind& kind>
class Cifar final : public DataSet {
  public:
    Cifar(const HomeRef& home, const Paths& paths) : DataSet(home), parts_(heap()) {
        height_ = width_ = 32;
        const bool is_folder = paths.count == 1 && kind_of(paths[0]) == PathKind::folder;
        if (is_folder)
            add_folder(paths[0], paths.split);
        else
            for (std::size_t i = 0; i < paths.count; ++i) add_file(paths[i]);
        const std::string_view beside = is_folder ? std::string_view(paths[0]) : folder_of(paths[0]);
        read_class_names(join(beside, kind.names, heap()), kind.classes);
    }

    void read(std::uint64_t index, Scratch& scratch, Picture& picture) const override {
        const Part& part = part_of(index);
        const std::uint64_t record = index - part.first;
        unsigned char* const bytes = scratch.file.reserve(kind.record());
        part.file.read_at(record * kind.record(), bytes, kind.record());
        const unsigned label = bytes[kind.labels - 1];
        if (label >= kind.classes)
            fail(VOLTA_CORRUPT_MODEL, "record %llu of '%s' has label %u, and there are %u classes",
                 static_cast<unsigned long long>(record), part.file.path(), label, kind.classes);
        picture.reshape(3, 32, 32);
        std::memcpy(picture.pixels(), bytes + kind.labels, kPixels);
        picture.label = static_cast<std::int32_t>(label);
    }

    void name_sample(std::uint64_t index, char* text, std::size_t capacity) const noexcept override {
        const Part& part = part_of(index);
        std::snprintf(text, capacity, "%s, record %llu", part.file.path(),
                      static_cast<unsigned long long>(index - part.first));
    }

  private:
    const Part& part_of(std::uint64_t index) const noexcept {
        std::size_t i = parts_.size() - 1;
        while (parts_[i].first > index) --i;  // a handful
        return parts_[i];
    }

    void add_folder(const char* path, volta_data_split split) {
        if (split == VOLTA_SPLIT_TEST) return add_file(join(path, kind.test, heap()).c_str());
        for (const Entry& entry : list_folder(path, heap()))
            if (!entry.is_folder && begins_and_ends(entry.name, kind.train, kind.train_end))
                add_file(join(path, entry.name, heap()).c_str());
        if (parts_.empty())
            fail(VOLTA_IO_ERROR, "the folder '%s' has no files %s*%s of %s", path, kind.train, kind.train_end,
                 kind.name);
    }

    void add_file(const char* path) {
        InputFile file(path, heap());
        const std::uint64_t bytes = file.bytes(), count = bytes / kind.record();
        if (count == 0 || bytes % kind.record() != 0)
            fail(VOLTA_CORRUPT_MODEL, "'%s' has %llu bytes, which is no number of %s records of %zu bytes",
                 path, static_cast<unsigned long long>(bytes), kind.name, kind.record());
        const std::uint64_t first = count_;
        set_count(first + count);  // of sizes of files: no sum of them overflows
        parts_.push_back({std::move(file), first, count});
    }

    std::pmr::vector<Part> parts_;
};

}  // namespace

DataSetRef open_cifar(const HomeRef& home, const Paths& paths, bool has_fine_labels) {
    if (has_fine_labels) return share<Cifar<kCifar100>>(home, paths);
    return share<Cifar<kCifar10>>(home, paths);
}

}  // namespace volta::data
