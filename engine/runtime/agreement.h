// What the ranks of a group compare before they train together.
#pragma once

#include "engine/group/collective.h"
#include "engine/model/model.h"
#include "engine/runtime/context.h"
#include "engine/runtime/trainer_options.h"

namespace volta {

// Throws INVALID_ARGUMENT on all ranks: they do not agree on what they train, naming the one that differs
// from rank 0; IO_ERROR.
void require_agreement(Context& context, Collective& collective, const Model& model,
                       const TrainerOptions& options);

}  // namespace volta
