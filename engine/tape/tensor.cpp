#include "engine/tape/tensor.h"

namespace volta {

Tensor* make_tensor(const ContextRef& context, const TensorView& view, Buffer&& bytes) {
    return make_on<Tensor>(context->structures(), context, view, std::move(bytes)).release();
}

Tensor* make_tensor(const ContextRef& context, DType dtype, const Shape& shape, bool zeroed) {
    const auto bytes = static_cast<std::size_t>(shape.elements()) * element_size(dtype);
    Buffer owned(context->tensors(), bytes, zeroed);
    void* const data = owned.data();
    return make_tensor(context, TensorView{dtype, shape, data}, std::move(owned));
}

void release(Tensor* tensor) noexcept {
    if (tensor == nullptr || --tensor->references > 0) return;
    release(tensor->grad);
    const ContextRef context = tensor->context;  // outlives the tensor's memory
    HeapDelete<Tensor>{context->structures()}(tensor);
}

}  // namespace volta
