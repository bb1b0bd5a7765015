// The steps of a tokenizer.json: its normalizer, pre_tokenizer and decoder as steps of a vocabulary.
#pragma once

#include "engine/import/json_tree.h"
#include "engine/model/vocabulary.h"

namespace volta {

// A sign, as Punctuation cuts them.
inline constexpr char kSignExpression[] = "[\\p{P}!-/:-@\\[-`{-~]";

// Each takes an object with a "type", or null. Throw UNSUPPORTED naming what is not known, with its value;
// CORRUPT_MODEL where something is of another type than it should be.
void read_normaliser(const JsonValue& tree, TextSteps* steps);
void read_cutter(const JsonValue& tree, TextSteps* steps);
void read_decoder(const JsonValue& tree, TextSteps* steps);

// The steps of BERT, as read_normaliser and read_cutter make them of its usual objects.
void add_bert_steps(bool lowercase, TextSteps* normalisers, TextSteps* cutters);

// Its members, all of which must be known.
class JsonStep final {
  public:
    JsonStep(const JsonValue& value, const char* what);  // what: "normalizer"
    std::string_view type() const { return type_; }
    const JsonValue& value() const { return value_; }
    // Refuses members that are none of these, or "type".
    void only(std::initializer_list<const char*> names) const;
    bool truth(const char* name, bool fallback) const;
    std::string_view text(const char* name, std::string_view fallback) const;
    std::uint64_t integer(const char* name, std::uint64_t fallback) const;
    const JsonValue& list(const char* name) const;
    [[noreturn]] void refuse(const char* name, std::string_view value) const;

  private:
    const JsonValue* find(const char* name, JsonKind kind, const char* kind_name) const;
    const JsonValue& value_;
    const char* what_;
    std::string_view type_;
};

}  // namespace volta
