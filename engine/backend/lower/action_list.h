// What a backend's plan is made of: its actions, of any size, on the host's heap.
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <utility>
#include <vector>

#include "engine/base/memory.h"

namespace volta {

template <class Action>
struct ActionDelete {
    std::pmr::memory_resource* heap = nullptr;
    std::size_t size = 0, alignment = 0;
    void operator()(Action* action) const noexcept {
        action->~Action();
        heap->deallocate(action, size, alignment);
    }
};
template <class Action>
using ActionPtr = std::unique_ptr<Action, ActionDelete<Action>>;
template <class Action>
using ActionList = std::pmr::vector<ActionPtr<Action>>;

// Appends a T, which is an Action.
template <class T, class Action, class... Args>
T& add_action(ActionList<Action>& actions, Args&&... args) {
    std::pmr::memory_resource* const heap = actions.get_allocator().resource();
    T* const action = make_on<T>(heap, std::forward<Args>(args)...).release();
    actions.push_back(ActionPtr<Action>(action, ActionDelete<Action>{heap, sizeof(T), alignof(T)}));
    return *action;
}

}  // namespace volta
