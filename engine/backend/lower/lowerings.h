// The lowerings, one function per way of lowering (engine/graph/op.h), and what they have in common.
// lower_step() is their only caller from outside.
#pragma once

#include <cstdint>

#include "engine/backend/lower/step_lowering.h"

namespace volta {

void lower_elementwise(StepLowering& step);
void lower_row(StepLowering& step);
void lower_pairs(StepLowering& step);
void lower_reduction(StepLowering& step);
void lower_norm(StepLowering& step);
void lower_movement(StepLowering& step);
void lower_gather(StepLowering& step);
void lower_embedding_gradient(StepLowering& step);
void lower_product(StepLowering& step);
void lower_convolution(StepLowering& step);
void lower_pooling(StepLowering& step);
void lower_axis_map(StepLowering& step);
void lower_attention(StepLowering& step);
void lower_attention_gradient(StepLowering& step);
void lower_cached_attention(StepLowering& step);
void lower_update(StepLowering& step);

// A convolution of one channel and one filter a group as row programs over its taps: work.gives is a picture.
bool is_depthwise(const ConvolutionStep& work);
void add_depthwise(StepLowering& step, const ConvolutionStep& work);

// total = complete in the first micro-batch, total + complete in later ones.
void add_accumulation(StepLowering& step, Ref complete, Ref total, std::int64_t count);
// y [columns]: the sums of the columns of x [rows, columns]; continues over micro-batches if the step does.
void add_column_sum(StepLowering& step, Ref x, Ref y, std::int64_t rows, std::int64_t columns);

}  // namespace volta
