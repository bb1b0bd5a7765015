#include "engine/base/new_scope.h"

namespace volta {
namespace {

thread_local std::pmr::memory_resource* current_heap = nullptr;

}  // namespace

NewScope::NewScope(std::pmr::memory_resource* heap) noexcept : outer_(current_heap) { current_heap = heap; }
NewScope::~NewScope() { current_heap = outer_; }
std::pmr::memory_resource* NewScope::current() noexcept { return current_heap; }

}  // namespace volta
