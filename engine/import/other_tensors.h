// Tensors that none of Volta's models has and that change what a model computes: a file that has one is
// refused with what it does, unless its values do nothing. No key map can drop them: the model would be wrong
// without a word. docs/import.md is printed from this table.
#pragma once

#include <string_view>

#include "engine/import/weight_source.h"

namespace volta {

struct OtherTensor {
    std::string_view part;  // of the name
    const char* does;       // "scales rotary positions", to follow the name
    enum class Neutral { none, zeros, ones } neutral = Neutral::none;  // values that change nothing
    bool vector = false;  // of rank 1 only: under such a name there are masks as well
};
struct OtherTensors {
    const OtherTensor *first, *last;
    const OtherTensor* begin() const { return first; }
    const OtherTensor* end() const { return last; }
};
OtherTensors other_tensors();

// NULL: nothing is known of a tensor of that name.
const OtherTensor* find_other_tensor(const WeightTensor& tensor);
// Whether all of its values are the neutral ones.
bool is_neutral(const WeightTensor& tensor, OtherTensor::Neutral neutral);

}  // namespace volta
