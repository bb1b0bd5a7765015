#include "engine/api/operators.h"

#include <cmath>
#include <cstring>

#include "engine/base/error.h"

namespace volta::api {
namespace {

// An attribute of the public header as one of the operator table: looked up by name in the operator's row.
Attribute read_attribute(const OpRow& row, const volta_attribute& given) {
    require(given.name != nullptr, "%s: an attribute has no name", row.name);
    for (int i = 0; i < row.attribute_count; ++i) {
        const AttrRow& known = row.attributes[i];
        if (std::strcmp(attr_name(known.key), given.name) != 0) continue;
        Attribute attribute;
        attribute.key = known.key;
        if (!known.is_list) {
            require(std::isfinite(given.number), "%s: attribute %s is %g", row.name, given.name,
                    given.number);
            attribute.number = given.number;
            return attribute;
        }
        require(given.integer_count <= kMaxRank, "%s: attribute %s has %zu entries, at most %d are possible",
                row.name, given.name, given.integer_count, kMaxRank);
        require(given.integers != nullptr || given.integer_count == 0,
                "%s: attribute %s is a list and its integers are NULL", row.name, given.name);
        attribute.integer_count = static_cast<std::int32_t>(given.integer_count);
        if (given.integer_count > 0)
            std::memcpy(attribute.integers, given.integers, given.integer_count * sizeof(std::int64_t));
        return attribute;
    }
    fail(VOLTA_INVALID_ARGUMENT, "%s has no attribute %s", row.name, given.name);
}

// Operators that only the engine makes: their meaning depends on what the trainer and the passes guarantee.
bool is_public(const OpRow& row) { return row.lowering != Lowering::source && !row.internal; }

}  // namespace

const OpRow* find_public_op(const char* name) {
    require(name != nullptr, "op is NULL");
    const OpRow* row = find_op(name);
    require(row != nullptr && is_public(*row), "there is no operator %s", name);
    return row;
}

const OpRow* find_tape_op(const char* name) {
    const OpRow& trained = op_row(Op::batch_norm_train);
    return name != nullptr && std::strcmp(name, trained.name) == 0 ? &trained : find_public_op(name);
}

const OpRow& attributes_of(const OpRow& row) {
    return row.op == Op::batch_norm_train ? op_row(Op::batch_norm) : row;
}

void read_attributes(const OpRow& row, const volta_attribute* attributes, std::size_t count,
                     std::pmr::vector<Attribute>& read) {
    require(attributes != nullptr || count == 0, "%s: attributes is NULL", row.name);
    for (std::size_t i = 0; i < count; ++i) {
        read.push_back(read_attribute(row, attributes[i]));
        for (std::size_t j = 0; j < i; ++j)
            require(read[i].key != read[j].key, "%s: attribute %s is given twice", row.name,
                    attr_name(read[i].key));
    }
}

// Names are kept in files and shown to people; "step/" and "gradient/" are the trainer's own.
void check_source_name(const char* name) {
    require(name != nullptr && *name != '\0', "a name is NULL or empty");
    require(std::strlen(name) <= 255, "the name %.40s... is longer than 255 bytes", name);
    for (const char* c = name; *c != '\0'; ++c)
        require(static_cast<unsigned char>(*c) >= 0x20 && *c != 0x7f, "the name %s holds a control character",
                name);
    for (const char* prefix : {"step/", "gradient/", "volta/"})
        require(std::strncmp(name, prefix, std::strlen(prefix)) != 0,
                "the name %s starts with %s, which is reserved", name, prefix);
    require(std::strcmp(name, "targets") != 0, "the name targets is reserved for the trainer");
}

}  // namespace volta::api
