#include "cli/texts.h"

#include <algorithm>
#include <vector>

namespace voltac {
namespace {

using Text = std::unique_ptr<volta_text, Release<volta_text, volta_text_release>>;

const struct {
    const char* name;
    volta_data_split split;
} kParts[] = {
    {"train", VOLTA_SPLIT_TRAIN}, {"test", VOLTA_SPLIT_TEST}, {"validation", VOLTA_SPLIT_VALIDATION}};

std::vector<std::string> paths_of(const TextSource& source) {
    return source.is_data ? cut(source.path, ',') : std::vector<std::string>{source.path};
}

bool has_folder(const TextSource& source) {
    if (!source.is_data && source.path == kStandardStream) return false;
    const std::vector<std::string> paths = paths_of(source);
    return std::any_of(paths.begin(), paths.end(), is_folder);
}

struct Read {
    std::string bytes, name;  // "'x/train.txt'", "'x/a.txt' and 3 more files"
};

Read read_by_library(const TextSource& source, volta_data_split split) {
    const std::vector<std::string> paths = paths_of(source);
    std::vector<const char*> names;
    names.reserve(paths.size());
    for (const std::string& path : paths) names.push_back(path.c_str());
    volta_dataset_options options = VOLTA_DATASET_OPTIONS_INIT;
    options.split = split;
    volta_text* made = nullptr;
    check_data(volta_text_open(names.data(), names.size(), &options, &made));
    const Text text(made);
    volta_text_info info = VOLTA_TEXT_INFO_INIT;
    check_data(volta_text_get_info(made, &info));
    Read read = {std::string(info.bytes, static_cast<std::size_t>(info.byte_count)),
                 "'" + one_line(info.path) + "'"};
    if (info.file_count > 1)
        read.name += formatted(" and %llu more file%s", static_cast<unsigned long long>(info.file_count - 1),
                               info.file_count == 2 ? "" : "s");
    return read;
}

bool has_part(const std::string& folder, volta_data_split split) {
    std::uint32_t parts = 0;
    check_data(volta_text_parts(folder.c_str(), nullptr, &parts));
    return (parts & 1u << split) != 0;
}

}  // namespace

std::string TextSource::name() const { return is_data ? path : shown_name(path); }

LearntText read_learnt_text(const std::string& command, const TextSource& source) {
    if (!has_folder(source))
        return {source.is_data ? read_by_library(source, VOLTA_SPLIT_TRAIN).bytes : read_text(source.path),
                "", ""};
    if (paths_of(source).size() > 1)
        usage_error(command + ": --data '" + one_line(source.path) +
                    "' has a folder among several paths: a folder of texts is one path");
    const bool trains = has_part(source.path, VOLTA_SPLIT_TRAIN),
               validates = has_part(source.path, VOLTA_SPLIT_VALIDATION);
    Read train = read_by_library(source, validates && !trains ? VOLTA_SPLIT_VALIDATION : VOLTA_SPLIT_TRAIN);
    if (trains && validates) {
        Read validation = read_by_library(source, VOLTA_SPLIT_VALIDATION);
        return {std::move(train.bytes), std::move(validation.bytes), validation.name};
    }
    return {std::move(train.bytes), "",
            "the last tenth of " + train.name +
                (trains ? "" : ": the folder has no train part, its validation part is learnt")};
}

std::string read_evaluated_text(const TextSource& source, const std::string& split, std::string& said) {
    if (!source.is_data && !has_folder(source)) return read_text(source.path);
    volta_data_split part = VOLTA_SPLIT_TEST;
    for (const auto& row : kParts)
        if (split == row.name) part = row.split;
    Read read = read_by_library(source, part);
    if (has_folder(source)) said = read.name;
    return std::move(read.bytes);
}

}  // namespace voltac
