// Operators and attributes of the public header as those of the operator table.
#pragma once

#include <memory_resource>
#include <vector>

#include "engine/graph/op.h"
#include "include/volta.h"

namespace volta::api {

// Throws INVALID_ARGUMENT: there is none of this name, or it is the engine's alone.
const OpRow* find_public_op(const char* name);
// Of a tape, which has batch_norm_train besides, with the inputs and attributes of batch_norm.
const OpRow* find_tape_op(const char* name);
const OpRow& attributes_of(const OpRow& row);  // whose attributes a call of a tape takes

// Throws INVALID_ARGUMENT naming operator and attribute: unknown, given twice, not finite, too long.
void read_attributes(const OpRow& row, const volta_attribute* attributes, std::size_t count,
                     std::pmr::vector<Attribute>& read);

// Throws INVALID_ARGUMENT: no name for an input, parameter or output.
void check_source_name(const char* name);

}  // namespace volta::api
