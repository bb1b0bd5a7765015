// What this program puts in the place of functions of the C library, so that it sees what the libraries ask
// of the system, and can say no. Without an order everything goes through.
#pragma once

#include <cstdint>

namespace volta::faults {

// ---- The C heap ----

// Calls of malloc and its like between begin and end, but those of the host's allocator (host_memory.h), and
// how many more blocks there are at the end.
struct HeapUse {
    std::uint64_t calls;
    std::int64_t blocks;
};
void begin_heap_use() noexcept;
HeapUse end_heap_use() noexcept;
// Straight from the C library: what the host's allocator takes is not counted.
void* host_take(std::size_t bytes, std::size_t alignment) noexcept;
void host_give(void* block) noexcept;

// ---- Files ----

enum class Call : unsigned char {
    open,
    read,
    write,
    sync,
    rename,
    close,
    stat,
    map,
    protect,
    change_mode,
    lock,
    access,
    list,
    make_folder,
    remove,
    resolve,
    duplicate,
    advise,
    count
};
enum class Fault : unsigned char {
    io_error,
    no_space,
    interrupted,
    partial,
    no_descriptors,
    no_memory,
    count
};
const char* name_of(Call call) noexcept;
const char* name_of(Fault fault) noexcept;
bool is_possible(Call call, Fault fault) noexcept;

inline constexpr std::size_t kMostCalls = 4096;
struct IoTrace {
    std::size_t count = 0;
    Call calls[kMostCalls];  // the first ones
};
// Between begin and end call number `at` (1 is the first; 0: none) fails so, or it and all that can after it.
void begin_io(std::size_t at, Fault fault, bool and_all_after) noexcept;
const IoTrace& end_io() noexcept;

// What the program itself does meanwhile is neither counted nor failed.
class Aside final {
  public:
    Aside() noexcept;
    ~Aside();
};

}  // namespace volta::faults
