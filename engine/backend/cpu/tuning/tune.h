// Tuning on the CPU: the products of a request, one after the other, into the context's table and folder.
#pragma once

#include "engine/backend/backend.h"
#include "engine/backend/tuning/tune_request.h"

namespace volta::cpu {

// Throws INVALID_ARGUMENT for a shape that is none, IO_ERROR when the folder cannot be written (before
// anything is timed), CANCELLED when the report says so; products that were done by then are kept.
void tune(const TuneRequest& request, const BackendContext& context);

// Appends why a product of this shape is computed as it is. Throws INVALID_ARGUMENT for a shape that is none.
void explain(const ExplainRequest& request, const BackendContext& context, std::pmr::string& text);

}  // namespace volta::cpu
