// Every operator as plain loops that read like its formula: the specification, the scalar fallback and the
// expectation of the tests, for T = float; the reference of gradient checks for T = double. Pointers and
// sizes in, values out: nothing here allocates. What one element becomes stands in functions.h, in which
// order elements are taken in canonical.h.
#pragma once

#include "engine/numerics/define_attention.h"
#include "engine/numerics/define_axes.h"
#include "engine/numerics/define_cached_attention.h"
#include "engine/numerics/define_convolution.h"
#include "engine/numerics/define_norms.h"
#include "engine/numerics/define_pairs.h"
#include "engine/numerics/define_pooling.h"
#include "engine/numerics/define_products.h"
#include "engine/numerics/define_rows.h"
#include "engine/numerics/define_training.h"
