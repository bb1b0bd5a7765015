// Rows of a table by id, and the gradient of that.
#include "engine/backend/lower/lowerings.h"

namespace volta {

void lower_gather(StepLowering& step) {
    GatherStep work;
    work.table = step.input(0);
    work.ids = step.input(1);
    work.y = step.output();
    work.dtype = step.input_value(0).dtype;
    work.rows = step.input_shape(0)[0];
    work.width = step.input_shape(0)[1];
    work.count = step.input_shape(1).elements();
    step.gather(work);
}

void lower_embedding_gradient(StepLowering& step) {
    EmbeddingGradientStep work;
    work.ids = step.input(0);
    work.gradient = step.input(1);
    work.y = step.output();
    work.has_base = step.input_count() == 3;
    if (work.has_base) work.base = step.input(2);
    work.rows = step.output_shape()[0];
    work.width = step.output_shape()[1];
    work.count = step.input_shape(0).elements();
    step.embedding_gradient(work);
}

}  // namespace volta
