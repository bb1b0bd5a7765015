// Where others' code that allocates by operator new works for the engine (the assembler, the JSON parser, an
// algorithm of the standard library): within a NewScope the library's own operator new,
// engine/base/operator_new.cpp, takes the heap that the scope names. Everything of the engine itself asks its
// heap and needs none.
#pragma once

#include <memory_resource>

namespace volta {

class NewScope final {
  public:
    // `heap` outlives every block that is allocated within the scope; a block may be freed outside it.
    explicit NewScope(std::pmr::memory_resource* heap) noexcept;
    ~NewScope();
    NewScope(const NewScope&) = delete;
    NewScope& operator=(const NewScope&) = delete;
    static std::pmr::memory_resource* current() noexcept;  // the calling thread's; NULL: in no scope

  private:
    std::pmr::memory_resource* outer_;
};

}  // namespace volta
