// Every struct_size that a caller may give, of every struct that has one: nothing beyond it is read or
// written, no half of a field is taken over, and what is refused is refused by a sentence that names the
// struct and the size. Where fields lie is read from the header itself, so a new struct or field is tested by
// being there. An older header is a smaller size, a newer one a larger.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/support/cmocka_cpp.h"
#include "tests/support/public_header.h"
#include "tests/support/sampled.h"
#include "volta.h"

namespace volta::test {

inline constexpr size_t kBeyond = 64;  // bytes more than today's struct has
inline constexpr unsigned char kPoison = 0xa5;
inline constexpr size_t kMost = 65536;  // a larger size is nobody's

struct Field {
    size_t begin, end;
};

// Where the compiler puts the fields: each at the next multiple of its size, which is its alignment too.
inline std::vector<Field> layout_of(const HeaderStruct& one) {
    const std::map<std::string, size_t> sizes = {
        {"*", 8},     {"size_t", 8},  {"int64_t", 8},  {"uint64_t", 8}, {"double", 8},
        {"float", 4}, {"int32_t", 4}, {"uint32_t", 4}, {"char", 1},     {"volta_exchange", 8}};
    std::vector<Field> fields;
    size_t end = 0;
    for (const HeaderField& field : one.fields) {
        const auto known = sizes.find(field.type);
        const bool is_shape = field.type == "volta_tune_shape";
        const size_t alignment = is_shape               ? 8
                                 : known != sizes.end() ? known->second
                                                        : 4;  // else an enumeration
        const size_t bytes =
            is_shape ? sizeof(volta_tune_shape) : alignment * static_cast<size_t>(field.count);
        const size_t begin = (end + alignment - 1) / alignment * alignment;
        end = begin + bytes;
        fields.push_back({begin, end});
    }
    return fields;
}

inline const Field* cut_field(const std::vector<Field>& fields, size_t size) {
    for (const Field& field : fields)
        if (field.begin < size && size < field.end) return &field;
    return nullptr;
}

inline size_t bytes_of(const std::vector<Field>& fields) { return (fields.back().end + 7) / 8 * 8; }

// Memory of `bytes` that ends where nothing can be read any more.
class Fenced {
  public:
    explicit Fenced(size_t bytes) : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
        map_ = static_cast<unsigned char*>(
            mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (map_ == MAP_FAILED || mprotect(map_ + page_, page_, PROT_NONE) != 0) abort();
        data_ = map_ + page_ - (bytes + 15) / 16 * 16;  // aligned: what is between is poison
        memset(data_, kPoison, static_cast<size_t>(map_ + page_ - data_));
    }
    ~Fenced() { munmap(map_, 2 * page_); }
    unsigned char* data() { return data_; }

  private:
    size_t page_;
    unsigned char *map_, *data_;
};

template <class Struct>
const Struct* as(const void* data) {
    return static_cast<const Struct*>(data);
}
template <class Struct>
Struct* out(void* data) {
    return static_cast<Struct*>(data);
}

// A call for every struct. `whole` fills today's fields as a caller would, pointers among them. Without a
// call: the library's struct, or one that takes long.
struct Case {
    const char* name;
    bool is_report;
    std::function<void(void* whole)> fill;
    std::function<volta_status(void* data)> call;
};

template <class Handle, class Release>
volta_status ended(volta_status status, Handle* handle, Release release) {
    release(handle);
    return status;
}

inline void assert_every_struct_has_a_case(const std::vector<Case>& cases,
                                           const std::vector<HeaderStruct>& structs) {
    std::vector<std::string> declared, tested;
    for (const HeaderStruct& one : structs) declared.push_back(one.name);
    for (const Case& one : cases) tested.push_back(one.name);
    std::sort(declared.begin(), declared.end());
    std::sort(tested.begin(), tested.end());
    for (const std::string& name : declared)
        if (!std::binary_search(tested.begin(), tested.end(), name))
            print_error("%s has no case\n", name.c_str());
    assert_true(declared == tested);
}

using LastError = const char* (*)();  // of the library that is called

inline std::vector<Field> fields_of(const Case& one, const std::vector<HeaderStruct>& structs) {
    const auto found = std::find_if(structs.begin(), structs.end(),
                                    [&](const HeaderStruct& known) { return known.name == one.name; });
    assert_true(found != structs.end());
    return layout_of(*found);
}

// True: the call answered as a struct of this size asks for.
inline bool answers(const Case& one, const std::vector<Field>& fields, size_t size, LastError last_error) {
    const size_t struct_bytes = bytes_of(fields);
    std::vector<unsigned char> whole(struct_bytes + kBeyond, 0);
    one.fill(whole.data());
    memcpy(whole.data(), &size, sizeof size);
    const size_t held = std::max(std::min(size, whole.size()), sizeof size);
    Fenced memory(held);  // of a size that is nobody's, no more than a struct is there
    memcpy(memory.data(), whole.data(), held);
    const volta_status status = one.call(memory.data());
    const bool names_size = strstr(last_error(), std::to_string(size).c_str()) != nullptr;
    const bool names_struct = strstr(last_error(), one.name) != nullptr;
    const bool is_whole = size >= sizeof size && size <= kMost && cut_field(fields, size) == nullptr;
    if (!is_whole) return status == VOLTA_INVALID_ARGUMENT && names_size && names_struct;
    const bool refused = status == VOLTA_INVALID_ARGUMENT && names_struct && names_size;
    if (refused) return false;
    if (!one.is_report || status != VOLTA_OK) return true;
    // What lies behind the last whole field is as it was, poison or zero; struct_size too.
    if (memcmp(memory.data(), &size, sizeof size) != 0) return false;
    for (size_t i = struct_bytes; i < size; ++i)
        if (memory.data()[i] != whole[i]) return false;
    for (size_t i = size; i % 16 != 0; ++i)
        if (memory.data()[i] != kPoison) return false;
    return true;
}

// All sizes up to a newer header's (of those a sample where one is wanted), and absurd ones. `before`: each
// call.
inline void assert_every_size(
    const Case& one, const std::vector<HeaderStruct>& structs, LastError last_error,
    const std::function<void()>& before = [] {}) {
    if (one.call == nullptr) return;
    const std::vector<Field> fields = fields_of(one, structs);
    std::vector<size_t> sizes = {kMost + 1, static_cast<size_t>(1) << 32, SIZE_MAX / 2, SIZE_MAX - 7,
                                 SIZE_MAX};
    for (size_t size = 0; size <= bytes_of(fields); ++size) sizes.push_back(size);
    for (size_t more = 1; more <= kBeyond; more += static_cast<size_t>(sample_stride()))
        sizes.push_back(bytes_of(fields) + more);
    int cut = 0;
    for (const size_t size : sizes) {
        before();
        const bool fine = answers(one, fields, size, last_error);
        if (!fine) print_error("%s, struct_size %zu: %s\n", one.name, size, last_error());
        assert_true(fine);
        cut += cut_field(fields, size) != nullptr;
    }
    assert_true(cut > 0);
}

// Bytes of a newer caller's fields: zeros are accepted (above), others are not.
inline void assert_unknown_fields_are_refused(const Case& one, const std::vector<HeaderStruct>& structs,
                                              LastError last_error) {
    if (one.call == nullptr || one.is_report) return;
    const size_t bytes = bytes_of(fields_of(one, structs));
    for (size_t size = bytes + 1; size <= bytes + kBeyond; ++size) {
        std::vector<unsigned char> whole(size, 0);
        one.fill(whole.data());
        memcpy(whole.data(), &size, sizeof size);
        whole[size - 1] = 1;
        Fenced memory(size);
        memcpy(memory.data(), whole.data(), size);
        assert_int_equal(one.call(memory.data()), VOLTA_INVALID_ARGUMENT);
        const std::string expected = std::string(one.name) + " has a field that this version does not know";
        assert_string_equal(last_error(), expected.c_str());
    }
}

}  // namespace volta::test
