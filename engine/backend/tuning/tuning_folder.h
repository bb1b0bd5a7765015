// What tuning_file.h declares. In the namespace of an entry, for what only its backend has: read_entry(json,
// entry), which reports by INVALID_ARGUMENT, and write_entry(entry, line).
#pragma once

#include <cstdio>
#include <cstring>

#include "engine/backend/tuning/tuning_json.h"
#include "engine/base/file.h"

namespace volta {

template <class Entry>
TuningFileOf<Entry> parse_tuning_of(const char* bytes, std::size_t count, const TuningPlace& place,
                                    std::pmr::memory_resource* heap) {
    TuningFileOf<Entry> result(heap);
    try {
        for (const tuning_json::Object& object : tuning_json::read_products(bytes, count, place, heap)) {
            Entry entry;
            tuning_json::read(object, entry.key);
            read_entry(object, entry);
            entry.default_seconds = tuning_json::number(object, "default_seconds");
            entry.tuned_seconds = tuning_json::number(object, "tuned_seconds");
            check(entry);
            result.entries.push_back(entry);
        }
    } catch (const Error& error) {
        const bool told = std::strncmp(error.what(), "it is ", 6) == 0;
        std::snprintf(result.reason, sizeof result.reason, "%s%.220s",
                      told ? "" : "it is damaged: ", error.what());
        result.entries.clear();
    }
    return result;
}

// One product a line, so that people and version control can read it.
template <class Entry>
std::pmr::string print_tuning_of(const std::pmr::vector<Entry>& entries, const TuningPlace& place,
                                 std::pmr::memory_resource* heap) {
    std::pmr::string out(heap);
    tuning_json::print_head(place, out);
    for (const Entry& entry : entries) {
        out += &entry == entries.data() ? "\n  " : ",\n  ";
        tuning_json::Line line(out);
        tuning_json::write(entry.key, line);
        write_entry(entry, line);
        line.number("default_seconds", entry.default_seconds);
        line.number("tuned_seconds", entry.tuned_seconds);
        line.end();
    }
    out += "\n ]}\n";
    return out;
}

// The later of two entries of one product counts; the oldest go when there are too many.
template <class Entry>
void merge_tuning(std::pmr::vector<Entry>& into, const std::pmr::vector<Entry>& entries) {
    for (const Entry& entry : entries) {
        for (std::size_t i = 0; i < into.size();)
            if (into[i].key == entry.key) {
                into.erase(into.begin() + static_cast<std::ptrdiff_t>(i));
            } else {
                ++i;
            }
        into.push_back(entry);
    }
    if (into.size() > kMostTuningEntries)
        into.erase(into.begin(), into.end() - static_cast<std::ptrdiff_t>(kMostTuningEntries));
}

template <class Entry>
TuningFolderOf<Entry>::TuningFolderOf(const char* folder, const TuningPlace& place, const Log& log,
                                      std::pmr::memory_resource* heap)
    : heap_(heap),
      log_(log),
      member_(place.member),
      kind_(place.kind),
      signature_(place.signature, heap),
      folder_(folder, heap),
      path_(heap),
      lock_path_(heap) {
    path_ = folder_;
    path_ += '/';
    path_ += signature_;
    path_ += ".json";
    lock_path_ = path_;
    lock_path_ += ".lock";
}

template <class Entry>
void TuningFolderOf<Entry>::tell_waiting(void* self) {
    const auto& folder = *static_cast<const TuningFolderOf*>(self);
    folder.log_(VOLTA_LOG_WARNING, "waiting for another process to end its work on the tuning file '%s'",
                folder.path_.c_str());
}

template <class Entry>
std::pmr::vector<Entry> TuningFolderOf<Entry>::read() const {
    if (!file_exists(path_.c_str())) return std::pmr::vector<Entry>(heap_);
    TuningFileOf<Entry> file(heap_);
    try {
        const Buffer bytes = read_file(path_.c_str(), heap_, kMostTuningBytes);
        file = parse_tuning_of<Entry>(static_cast<const char*>(bytes.data()), bytes.bytes(), place(), heap_);
    } catch (const Error& error) {
        std::snprintf(file.reason, sizeof file.reason, "%.250s", error.what());
    }
    const bool is_ignored = file.reason[0] != '\0';
    const bool was_told = told_.exchange(is_ignored);
    if (is_ignored && !was_told)
        log_(VOLTA_LOG_WARNING, "the tuning file '%s' is ignored: %s", path_.c_str(), file.reason);
    return std::move(file.entries);
}

template <class Entry>
void TuningFolderOf<Entry>::load(TuningTableOf<Entry>& table) const {
    for (const Entry& entry : read()) table.set(entry);
}

template <class Entry>
void TuningFolderOf<Entry>::check_writable() const {
    make_folders(folder_.c_str(), heap_);
    const FileLock lock(lock_path_.c_str(), tell_waiting, const_cast<TuningFolderOf*>(this));
    AtomicFile trial(path_.c_str(), heap_);  // not committed: nothing changes
}

template <class Entry>
void TuningFolderOf<Entry>::add(const std::pmr::vector<Entry>& entries) const {
    if (entries.empty()) return;
    make_folders(folder_.c_str(), heap_);
    const FileLock lock(lock_path_.c_str(), tell_waiting, const_cast<TuningFolderOf*>(this));
    std::pmr::vector<Entry> all = read();
    merge_tuning(all, entries);
    const std::pmr::string text = print_tuning_of(all, place(), heap_);
    AtomicFile file(path_.c_str(), heap_);
    file.write(text.data(), text.size());
    file.commit();
    told_ = false;  // what was ignored is gone
}

}  // namespace volta
