// How operators of Volta are written as ONNX: one row each, from which docs/onnx.md is printed.
#pragma once

#include "engine/import/onnx/writer.h"

namespace volta::onnx {

using Write = void (*)(Writer& writer);

struct WriteRow {
    Op op;
    const char*
        native;        // the operator that means the same, with alpha, beta and gamma as attributes; or NULL
    int since;         // the opset that has it first
    Write write;       // before that
    const char* text;  // what that writes, for docs/onnx.md
    const char* refused = "";
};
const WriteRow* write_rows(int* count);
const WriteRow* find_write_row(Op op);  // NULL: it has no form in ONNX

namespace write {
// write_elementwise.cpp
void rsqrt(Writer&);
void silu(Writer&);
void gelu_tanh(Writer&);
void gelu_erf(Writer&);
void hard_swish(Writer&);
void mish(Writer&);
void pow(Writer&);
void clamp(Writer&);
void prelu(Writer&);
void compare(Writer&);
void where(Writer&);
void same(Writer&);
// write_rows.cpp
void layer_norm(Writer&);
void rms_norm(Writer&);
void batch_norm(Writer&);
void group_norm(Writer&);
void instance_norm(Writer&);
void cross_entropy(Writer&);
void mse(Writer&);
void l1(Writer&);
void huber(Writer&);
void binary_cross_entropy(Writer&);
void reduce(Writer&);
void square_sum(Writer&);
void argmax(Writer&);
// write_movement.cpp
void reshape(Writer&);
void transpose(Writer&);
void concat(Writer&);
void slice(Writer&);
void slice_grad(Writer&);
void pad(Writer&);
void broadcast_to(Writer&);
void position_ids(Writer&);
void gather(Writer&);
// write_products.cpp
void matmul(Writer&);
void attention(Writer&);
void swiglu(Writer&);
void rotary_table(Writer&);
void rotary(Writer&);
// write_windows.cpp
void conv(Writer&);
void conv_transpose(Writer&);
void pool(Writer&);
void resize(Writer&);
}  // namespace write

}  // namespace volta::onnx
