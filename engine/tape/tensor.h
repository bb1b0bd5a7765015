// What a volta_tensor is: elements of the host or of its own, and where it stands in the record of a tape.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>

#include "engine/base/memory.h"
#include "engine/runtime/session.h"

namespace volta {

class Tape;

struct Tensor {
    Tensor(const ContextRef& owner, const TensorView& seen, Buffer&& bytes)
        : context(owner), view(seen), owned(std::move(bytes)) {}
    ContextRef context;
    TensorView view;  // data NULL: a result that has not been computed
    Buffer owned;     // empty when the memory is someone else's
    Buffer text;      // lent by volta_tensor_print
    std::uint32_t references = 1;

    bool requires_grad = false;
    Tensor* grad = nullptr;     // owned; made by the first backward()
    bool has_gradient = false;  // `grad` counts: backward() has been called since it was zeroed

    // The record it stands in, as which value; NULL: in none. Of a leaf from its first use on, of a result
    // always. Records of other tapes may read a leaf too: `holders` counts all that do.
    Tape* tape = nullptr;
    std::uint32_t holders = 0;
    ValueId value = -1;
    enum class Role : std::uint8_t { leaf, result, gradient, poison };
    Role role = Role::leaf;
    bool is_kept = false;  // a result that outlives the record
};

Tensor* make_tensor(const ContextRef& context, const TensorView& view, Buffer&& bytes);
// Ends one reference; with the last one the tensor and its gradient.
void release(Tensor* tensor) noexcept;

}  // namespace volta
