#include "engine/tape/tensor.h"

namespace volta {

Tensor* make_tensor(const ContextRef& context, const TensorView& view, Buffer&& bytes) {
    return make_on<Tensor>(context->structures(), context, view, std::move(bytes)).release();
}

void release(Tensor* tensor) noexcept {
    if (tensor == nullptr || --tensor->references > 0) return;
    release(tensor->grad);
    const ContextRef context = tensor->context;  // outlives the tensor's memory
    HeapDelete<Tensor>{context->structures()}(tensor);
}

}  // namespace volta
