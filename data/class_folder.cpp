// A folder a class of JPEG and PNG files: the layout of ImageNet.
#include <algorithm>
#include <string_view>

#include "data/data_set.h"
#include "data/decode.h"
#include "data/input_file.h"
#include "engine/base/error.h"

namespace volta::data {
namespace {

constexpr int kMostLevels = 8;  // of folders below a class's
constexpr std::size_t kMostClasses = 1 << 20;

bool is_picture_name(std::string_view name) {
    for (const std::string_view end : {".jpg", ".jpeg", ".png"}) {
        if (name.size() < end.size()) continue;
        const std::string_view tail = name.substr(name.size() - end.size());
        if (std::equal(tail.begin(), tail.end(), end.begin(),
                       [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; }))
            return true;
    }
    return false;
}

bool has_folder(const char* folder, const char* name, std::pmr::memory_resource* heap) {
    return kind_of(join(folder, name, heap).c_str()) == PathKind::folder;
}

class ClassFolder final : public DataSet {
  public:
    ClassFolder(const HomeRef& home, const Paths& paths)
        : DataSet(home), root_(heap()), text_(heap()), offsets_(heap()), ends_(heap()) {
        require(paths.count == 1, "a folder of classes is one path; %zu were given", paths.count);
        root_ = root_of(paths[0], paths.split);
        for (const Entry& entry : list_folder(root_.c_str(), heap()))
            if (entry.is_folder) add_class(entry.name);
        if (names_.empty())
            fail(VOLTA_CORRUPT_MODEL, "the folder '%s' has no folders of classes", root_.c_str());
        set_count(offsets_.size());
    }

    void read(std::uint64_t index, Scratch& scratch, Picture& picture) const override {
        char path[4096];
        name_sample(index, path, sizeof path);
        const std::size_t bytes = read_whole(path, home_->limits().file_bytes, scratch.file);
        decode_picture(path, scratch.file.data(), bytes, home_->limits(), heap(), scratch, picture);
        const auto end = std::upper_bound(ends_.begin(), ends_.end(), index);
        picture.label = static_cast<std::int32_t>(end - ends_.begin());
    }

    void name_sample(std::uint64_t index, char* text, std::size_t capacity) const noexcept override {
        std::snprintf(text, capacity, "%s/%s", root_.c_str(), text_.c_str() + offsets_[index]);
    }

  private:
    Text root_of(const char* folder, volta_data_split split) const {
        if (kind_of(folder) != PathKind::folder) fail(VOLTA_IO_ERROR, "there is no folder '%s'", folder);
        const bool has_train = has_folder(folder, "train", heap()),
                   has_test = has_folder(folder, "test", heap()), has_val = has_folder(folder, "val", heap());
        if (!has_train && !has_test && !has_val) return Text(folder, heap());
        if (split == VOLTA_SPLIT_TRAIN && has_train) return join(folder, "train", heap());
        if (split == VOLTA_SPLIT_TEST && (has_test || has_val))
            return join(folder, has_test ? "test" : "val", heap());
        fail(VOLTA_IO_ERROR, "the folder '%s' has no folder %s", folder,
             split == VOLTA_SPLIT_TRAIN ? "train" : "test or val");
    }

    void add_class(const Text& name) {
        if (!is_name(name))
            fail(VOLTA_CORRUPT_MODEL, "the name of the class folder '%s/%s' is no line of UTF-8",
                 root_.c_str(), name.c_str());
        if (names_.size() == kMostClasses)
            fail(VOLTA_UNSUPPORTED, "the folder '%s' has more than %zu classes", root_.c_str(), kMostClasses);
        std::pmr::vector<Text> files(heap());
        collect(name, 0, files);
        if (files.empty())
            fail(VOLTA_CORRUPT_MODEL, "the class folder '%s/%s' has no JPEG or PNG files", root_.c_str(),
                 name.c_str());
        std::sort(files.begin(), files.end());
        for (const Text& file : files) {
            offsets_.push_back(text_.size());
            text_.append(file.c_str(), file.size() + 1);
        }
        names_.push_back(name);
        ends_.push_back(offsets_.size());
    }

    // `below`: a folder's path below the root.
    void collect(const Text& below, int level, std::pmr::vector<Text>& files) const {
        const Text folder = join(root_, below, heap());
        if (level > kMostLevels)
            fail(VOLTA_UNSUPPORTED, "the folder '%s' lies more than %d levels below its class's",
                 folder.c_str(), kMostLevels);
        for (const Entry& entry : list_folder(folder.c_str(), heap())) {
            if (!entry.is_folder && !is_picture_name(entry.name)) continue;
            Text path = join(below, entry.name, heap());
            if (root_.size() + path.size() + 2 > 4096)
                fail(VOLTA_UNSUPPORTED, "a path below '%s' has more than 4095 bytes", folder.c_str());
            if (entry.is_folder)
                collect(path, level + 1, files);
            else
                files.push_back(std::move(path));
        }
    }

    Text root_, text_;                         // text_: paths below the root, each with its closing zero
    std::pmr::vector<std::uint64_t> offsets_;  // of samples, into text_
    std::pmr::vector<std::uint64_t> ends_;     // of classes: the sample behind their last
};

}  // namespace

DataSetRef open_class_folder(const HomeRef& home, const Paths& paths) {
    return share<ClassFolder>(home, paths);
}

}  // namespace volta::data
