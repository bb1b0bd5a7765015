#include "engine/tape/tape_optimizer.h"

#include "engine/base/error.h"

namespace volta {

TapeOptimizer::TapeOptimizer(const ContextRef& context, const OptimizerSettings& settings,
                             Tensor* const* tensors, std::size_t count)
    : settings_(settings),
      row_(&optimizer_row(settings.optimizer, settings.momentum != 0)),
      tensors_(context->structures()),
      states_(context->structures()) {
    require(count > 0, "an optimizer needs tensors, 0 are given");
    for (std::size_t i = 0; i < count; ++i) {
        require(tensors[i] != nullptr, "tensor %zu is NULL", i);
        require(tensors[i]->requires_grad, "tensor %zu requires no gradient: volta_tensor_set_requires_grad",
                i);
        for (std::size_t j = 0; j < i; ++j)
            require(tensors[j] != tensors[i], "tensor %zu is tensor %zu again", i, j);
    }
    for (std::size_t i = 0; i < count; ++i)
        for (int s = 0; s < row_->state_count; ++s)
            states_.emplace_back(context->tensors(),
                                 static_cast<std::size_t>(tensors[i]->view.shape.elements()) * sizeof(float),
                                 true);
    tensors_.assign(tensors, tensors + count);
    for (Tensor* tensor : tensors_) ++tensor->references;
}

TapeOptimizer::~TapeOptimizer() {
    for (Tensor* tensor : tensors_) release(tensor);
}

void TapeOptimizer::write_factors() {
    const Hyper hyper{learning_rate(),
                      settings_.beta1,
                      settings_.beta2,
                      settings_.epsilon,
                      settings_.weight_decay,
                      settings_.momentum,
                      beta1_product_ * settings_.beta1,
                      beta2_product_ * settings_.beta2};
    row_->factors(hyper, settings_.weight_decay, factors_);
    row_->factors(hyper, 0, factors_plain_);
}

void TapeOptimizer::advance() {
    beta1_product_ *= settings_.beta1;
    beta2_product_ *= settings_.beta2;
    ++step_;
}

}  // namespace volta
