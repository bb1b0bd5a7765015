// All that a model is, as text: two models are the same when their fingerprints are.
#pragma once

#include <string>

#include "engine/model/model.h"

namespace volta::test {

std::string fingerprint(const Model& model);

}  // namespace volta::test
