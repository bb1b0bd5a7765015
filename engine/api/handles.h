// What the opaque types of volta.h are, and how they are made and ended on the host's heap. Every handle
// keeps its context; objects may be released in any order.
#pragma once

#include <memory>
#include <optional>

#include "engine/base/error.h"
#include "engine/group/group.h"
#include "engine/runtime/generator.h"
#include "engine/runtime/session.h"
#include "engine/runtime/trainer.h"
#include "engine/tape/tape.h"

struct volta_tensor : volta::Tensor {
    using volta::Tensor::Tensor;
};

struct volta_graph {
    volta::ContextRef context;
    volta::Graph graph;
    std::pmr::string text;  // lent by volta_graph_print
};

struct volta_tokenizer {
    volta::ContextRef context;
    volta::Tokenizer tokenizer;
};

struct volta_model {
    volta::ContextRef context;
    volta::ModelRef model;
};

struct volta_session {
    volta::ContextRef context;
    volta::Session session;
};

struct volta_group {
    volta::ContextRef context;
    volta::GroupRef group;
};

struct volta_trainer {
    volta::ContextRef context;
    volta::HeapPtr<volta::Trainer> trainer;
};

struct volta_generator {
    volta::ContextRef context;
    std::shared_ptr<volta::Generator> generator;  // shared with its sequences
    std::int32_t own = -1;                        // the sequence of start and next, once there is one
};

struct volta_sequence {
    volta::ContextRef context;
    std::shared_ptr<volta::Generator> generator;
    std::int32_t number;
};

// Shared with its optimizers.
struct volta_tape {
    volta::ContextRef context;
    std::shared_ptr<volta::Tape> tape;
    std::pmr::string text;  // lent by volta_tape_report
};

struct volta_tape_optimizer {
    volta::ContextRef context;
    std::shared_ptr<volta::Tape> tape;
    volta::HeapPtr<volta::TapeOptimizer> optimizer;
    ~volta_tape_optimizer() {
        if (optimizer) tape->remove(*optimizer);
    }
};

struct volta_compiled {
    volta::ContextRef context;
    volta_tape* tape;  // owned
    volta_function function;
    void* user;
    ~volta_compiled();
};

namespace volta::api {

inline Context* unwrap(volta_context* context) { return reinterpret_cast<Context*>(context); }
inline const Context* unwrap(const volta_context* context) {
    return reinterpret_cast<const Context*>(context);
}

// A handle on its context's heap, made from braces: Handle{context, ...}.
template <class Handle, class... Args>
Handle* make_handle(const ContextRef& context, Args&&... args) {
    std::pmr::memory_resource* heap = context->structures();
    void* place = heap->allocate(sizeof(Handle), alignof(Handle));
    try {
        return new (place) Handle{context, std::forward<Args>(args)...};
    } catch (...) {
        heap->deallocate(place, sizeof(Handle), alignof(Handle));
        throw;
    }
}

// A volta_tensor has nothing beyond a Tensor.
static_assert(sizeof(volta_tensor) == sizeof(Tensor), "tensors are made and ended as Tensor");
inline volta_tensor* as_handle(Tensor* tensor) { return static_cast<volta_tensor*>(tensor); }

// A call of the tape, from where volta_tape_at has said; its sentence has the place.
template <class Body>
void at_place(Tape& tape, Body&& body) {
    const CallPlace place = tape.take_place();
    tape.require_whole();  // whose sentence has a place of its own
    try {
        body(place);
    } catch (const Error& error) {
        throw at_place(error, place);
    }
}

// A result that was kept is the host's after its record, also where that failed before it was computed.
inline void require_elements(const Tensor& tensor) {
    if (tensor.view.data == nullptr && tensor.view.shape.elements() > 0)
        fail(VOLTA_INVALID_STATE, "the tensor was kept, but its record failed before it was computed");
}

// A result's or gradient's elements, computed if they are not there. Throws what computing does.
inline void compute(Tensor& tensor) {
    if (tensor.role == Tensor::Role::leaf) return require_elements(tensor);
    if (tensor.view.data != nullptr) {
        if (tensor.tape != nullptr) tensor.tape->take_place();  // it counts for this call
        return;
    }
    if (tensor.tape == nullptr) fail(VOLTA_INVALID_STATE, "the tensor's elements were not computed in time");
    at_place(*tensor.tape, [&](CallPlace place) { tensor.tape->read(&tensor, place); });
}

// The tensor's next gradient starts from nothing.
inline void zero_gradient(Tensor& tensor) {
    if (tensor.grad != nullptr && tensor.grad->tape != nullptr) tensor.grad->tape->zero_gradient(&tensor);
    tensor.has_gradient = false;
    if (tensor.grad != nullptr) tensor.grad->view.data = nullptr;
}

template <class Handle>
void end_handle(Handle* handle) noexcept {
    if (handle == nullptr) return;
    const ContextRef context = handle->context;  // outlives the handle's memory
    handle->~Handle();
    context->structures()->deallocate(handle, sizeof(Handle), alignof(Handle));
}

// A shared model whose control block lives on the host's heap too. `made` lives on its context's heap, so the
// deleter keeps the context alive until the last user of the model has gone.
ModelRef share(const ContextRef& context, HeapPtr<Model>&& made);

}  // namespace volta::api
