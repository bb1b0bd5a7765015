// A data set: labelled pictures by their number. Which files it is made of is its derived class's business.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/home.h"
#include "data/picture.h"
#include "include/volta_data.h"

namespace volta::data {

using Text = std::pmr::string;

struct Paths {
    const char* const* paths;
    std::size_t count;
    volta_data_split split;
    const char* operator[](std::size_t i) const noexcept { return paths[i]; }
};

class DataSet {
  public:
    virtual ~DataSet() = default;
    // Thread: any number at once, each with a scratch of its own.
    virtual void read(std::uint64_t index, Scratch& scratch, Picture& picture) const = 0;
    virtual void name_sample(std::uint64_t index, char* text, std::size_t capacity) const noexcept = 0;

    std::uint64_t count() const noexcept { return count_; }
    std::uint32_t classes() const noexcept { return static_cast<std::uint32_t>(names_.size()); }
    const char* class_name(std::uint32_t index) const noexcept { return names_[index].c_str(); }
    std::uint32_t channels() const noexcept { return channels_; }
    std::uint32_t height() const noexcept { return height_; }  // 0: each picture has its own
    std::uint32_t width() const noexcept { return width_; }
    Home& home() const noexcept { return *home_; }

  protected:
    explicit DataSet(const HomeRef& home) : home_(home), names_(home->structures()) {}
    std::pmr::memory_resource* heap() const noexcept { return home_->structures(); }
    void number_classes(std::uint32_t count);  // names "0", "1", ...
    // From the file `path`, one name a line; numbers where there is no such file. CORRUPT_MODEL: fewer names
    // than `count`, or one that is no line of text.
    void read_class_names(const Text& path, std::uint32_t count);
    void set_count(std::uint64_t count);  // UNSUPPORTED: more than numbers of samples hold

    HomeRef home_;
    std::pmr::vector<Text> names_;
    std::uint64_t count_ = 0;
    std::uint32_t channels_ = 3, height_ = 0, width_ = 0;
};

using DataSetRef = std::shared_ptr<DataSet>;

DataSetRef open_cifar(const HomeRef& home, const Paths& paths, bool has_fine_labels);
DataSetRef open_idx(const HomeRef& home, const Paths& paths);
DataSetRef open_class_folder(const HomeRef& home, const Paths& paths);

template <class T>
std::shared_ptr<T> share(const HomeRef& home, const Paths& paths) {
    return std::allocate_shared<T>(std::pmr::polymorphic_allocator<T>(home->structures()), home, paths);
}

// ---- For those that list folders ----

struct Entry {
    Text name;
    bool is_folder;
};
// What is in a folder, without names that begin with a dot, by the bytes of names. IO_ERROR.
std::pmr::vector<Entry> list_folder(const char* path, std::pmr::memory_resource* heap);
Text join(std::string_view folder, std::string_view name, std::pmr::memory_resource* heap);
// One line of UTF-8 without control characters, not empty and of at most 255 bytes.
bool is_name(std::string_view text) noexcept;

}  // namespace volta::data
