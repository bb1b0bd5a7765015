#include "tests/model/fingerprint.h"

#include <cstdio>

#include "engine/graph/print.h"

namespace volta::test {
namespace {

void add_tensor(std::string& out, const char* what, const NamedTensor& tensor) {
    const HashText hash = to_text(hash_bytes(tensor.data, tensor.bytes()));
    out += std::string(what) + " " + tensor.name.c_str() + " " + dtype_name(tensor.dtype) +
           to_text(tensor.shape).text + " " + hash.text + "\n";
}

std::string hex(double value) {
    char text[64];
    std::snprintf(text, sizeof text, "%a", value);
    return text;
}

}  // namespace

std::string fingerprint(const Model& model) {
    std::string out(print(model.graph, model.graph.heap()));
    for (const SourceInfo& source : model.graph.sources)
        out += "source " + std::to_string(source.node) + " " + to_text(source.declared).text + " " +
               std::to_string(source.init.kind) + " " + hex(source.init.a) + " " + hex(source.init.b) + " " +
               std::to_string(source.stream) + "\n";
    for (const Node& node : model.graph.nodes) out += "name '" + std::string(node.name) + "'\n";
    for (const NamedTensor& parameter : model.parameters) add_tensor(out, "parameter", parameter);
    if (model.tokenizer) {
        out += std::string("tokenizer ") + tokenizer_kind_name(model.tokenizer->kind()) + "\n";
        for (const std::pmr::string& piece : model.tokenizer->pieces())
            out += "piece '" + std::string(piece) + "'\n";
        const Vocabulary& v = model.tokenizer->vocabulary();
        for (const PieceType type : v.types) out += "type " + std::to_string(static_cast<int>(type)) + "\n";
        for (const float score : v.scores) out += "score " + hex(static_cast<double>(score)) + "\n";
        for (const Merge& merge : v.merges)
            out += "merge " + std::to_string(merge.left) + " " + std::to_string(merge.right) + "\n";
        for (const std::uint8_t flags : v.added) out += "added " + std::to_string(flags) + "\n";
        for (const double score : v.wide_scores) out += "wide score " + hex(score) + "\n";
        for (const TextSteps* steps : {&v.normalisers, &v.cutters, &v.decoders})
            for (const TextStep& step : *steps)
                out += "step " + std::to_string(step.kind) + " " + std::to_string(step.number) + " '" +
                       std::string(step.first) + "' '" + std::string(step.second) + "'\n";
        if (!v.continuation.empty()) out += "continuation '" + std::string(v.continuation) + "'\n";
        const TokenizerOptions& o = v.options;
        for (const std::int64_t number :
             {std::int64_t{o.bos}, std::int64_t{o.eos}, std::int64_t{o.unk}, std::int64_t{o.pad},
              std::int64_t{o.flags}, std::int64_t{static_cast<int>(o.split)},
              std::int64_t{o.most_word_characters}})
            out += "option " + std::to_string(number) + "\n";
    }
    for (const Metadata& entry : model.metadata)
        out += "metadata " + std::string(entry.key) + " = '" + std::string(entry.value) + "'\n";
    out += std::string("made at ") + level_name(model.arithmetic.level) + " " +
           precision_name(model.arithmetic.precision) + "\n";
    if (model.training) {
        for (const NamedNumber& number : model.training->numbers)
            out += "number " + std::string(number.name) + " " + hex(number.value) + "\n";
        for (const NamedInteger& integer : model.training->integers)
            out += "integer " + std::string(integer.name) + " " + std::to_string(integer.value) + "\n";
        for (const NamedTensor& tensor : model.training->tensors) add_tensor(out, "state", tensor);
    }
    return out;
}

}  // namespace volta::test
