#include "engine/model/adapters.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "engine/base/error.h"
#include "engine/model/text.h"
#include "engine/model/transformer.h"

namespace volta {
namespace {

constexpr const char *kRankKey = "volta.adapter.rank", *kAlphaKey = "volta.adapter.alpha",
                     *kTargetsKey = "volta.adapter.targets", *kBaseKey = "volta.adapter.base",
                     *kArchitectureKey = "volta.adapter.architecture";
constexpr std::size_t kMostAdapters = 1024;  // outputs that a file's graph has

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

// ---- Targets ---------------------------------------------------------------------------------------------

// What stands side by side in one weight.
enum class Shares : std::uint8_t { one, halves, heads };
struct Part {
    const char* name;
    const char* layer;  // of the weight "<layer>.weight", behind a dot where there is more before it
    Shares shares;
    int index;
};
constexpr Part kParts[] = {
    {"q", "qkv", Shares::heads, 0},         {"k", "qkv", Shares::heads, 1},
    {"v", "qkv", Shares::heads, 2},         {"o", "proj", Shares::one, 0},
    {"gate", "gate_up", Shares::halves, 0}, {"up", "gate_up", Shares::halves, 1},
    {"down", "down", Shares::one, 0},       {"fc", "fc", Shares::one, 0},
    {"fc_proj", "fc_proj", Shares::one, 0},
};
constexpr std::string_view kWeight = ".weight";

const Part* find_part(std::string_view name) {
    for (const Part& part : kParts)
        if (name == part.name) return &part;
    return nullptr;
}

// "block.0.qkv" of "block.0.qkv.weight"; the whole name where it ends otherwise.
std::string_view layer_of(std::string_view weight) {
    const bool ends =
        weight.size() > kWeight.size() && weight.substr(weight.size() - kWeight.size()) == kWeight;
    return ends ? weight.substr(0, weight.size() - kWeight.size()) : weight;
}

bool is_of_layer(std::string_view weight, std::string_view layer) {
    const std::string_view own = layer_of(weight);
    if (own.size() == weight.size() || own.size() < layer.size()) return false;
    const std::size_t before = own.size() - layer.size();
    return own.substr(before) == layer && (before == 0 || own[before - 1] == '.');
}

// A weight that products read as their second operand, and nothing else reads.
struct Weight {
    ValueId value = -1;
    bool transposed = false;  // [outputs, inputs]
    std::int64_t inputs = 0, outputs = 0;
};

bool is_product_with(const Graph& graph, const Node& node, ValueId weight) {
    return node.op == Op::matmul && node.inputs[1] == weight && node.inputs[0] != weight &&
           !node.flag(Attr::transpose_a) && graph.shape(weight).rank == 2;
}

// False: something else reads it too, or it is read both ways.
bool find_weight(const Graph& graph, ValueId value, Weight& weight) {
    bool any = false;
    for (const Node& node : graph.nodes) {
        if (std::find(node.inputs.begin(), node.inputs.end(), value) == node.inputs.end()) continue;
        if (!is_product_with(graph, node, value)) return false;
        const bool transposed = node.flag(Attr::transpose_b);
        if (any && transposed != weight.transposed) return false;
        weight.transposed = transposed;
        any = true;
    }
    if (!any) return false;
    const Shape& shape = graph.shape(value);
    weight.value = value;
    weight.inputs = shape[weight.transposed ? 1 : 0];
    weight.outputs = shape[weight.transposed ? 0 : 1];
    return weight.inputs > 0 && weight.outputs > 0;
}

// A size that the model's metadata tells of its architecture; `absent` where they do not.
std::int64_t told_size(const Model& model, const char* name, std::int64_t absent) {
    const std::pmr::string* const architecture = model.find_metadata("volta.architecture");
    if (architecture == nullptr) return absent;
    char key[128];
    std::snprintf(key, sizeof key, "volta.%.64s.%s", architecture->c_str(), name);
    const std::pmr::string* const text = model.find_metadata(key);
    if (text == nullptr) return absent;
    std::int64_t value = 0;
    const char* const end = text->data() + text->size();
    const auto read = std::from_chars(text->data(), end, value);
    return read.ec == std::errc() && read.ptr == end && value > 0 && value <= kMostModelSize ? value : absent;
}

// The outputs of a weight that are the part: q, k and v have as many as they have heads.
void cut_part(const Model& base, const Part& part, const Weight& weight, AdapterPlace& place) {
    const char* const name = base.graph.producer(weight.value).name.c_str();
    const std::int64_t outputs = weight.outputs;
    place.begin = 0;
    place.end = outputs;
    if (part.shares == Shares::one) return;
    std::int64_t before = part.index, own = 1, all = 2;
    if (part.shares == Shares::heads) {
        const std::int64_t heads = told_size(base, "heads", 0);
        require(heads > 0, "the model does not say how many heads it has: '%s' cannot be cut into q, k and v",
                name);
        const std::int64_t pairs = told_size(base, "kv_heads", heads);
        all = heads + 2 * pairs;
        before = part.index == 0 ? 0 : heads + (part.index - 1) * pairs;
        own = part.index == 0 ? heads : pairs;
    }
    require(outputs % all == 0,
            "'%s' has %" PRId64 " outputs, which are not shared evenly by its %" PRId64 " %s", name, outputs,
            all, part.shares == Shares::heads ? "heads" : "halves");
    place.begin = outputs / all * before;
    place.end = place.begin + outputs / all * own;
}

class TargetReader {
  public:
    TargetReader(const Model& base, std::pmr::memory_resource* heap)
        : base_(base), heap_(heap), places_(heap) {}

    std::pmr::vector<AdapterPlace> read(std::string_view targets) {
        require(!targets.empty(), "targets is empty: it names parts, %s, or weights, joined by +",
                adapter_parts(heap_).c_str());
        for (std::size_t begin = 0; begin <= targets.size();) {
            const std::size_t end = std::min(targets.find('+', begin), targets.size());
            read_one(targets.substr(begin, end - begin));
            begin = end + 1;
        }
        require(places_.size() <= kMostAdapters, "targets mean %zu adapters; a model has at most %zu",
                places_.size(), kMostAdapters);
        std::stable_sort(places_.begin(), places_.end(), [&](const AdapterPlace& x, const AdapterPlace& y) {
            const NodeId a = first_product(x.weight), b = first_product(y.weight);
            return a != b ? a < b : x.begin < y.begin;
        });
        for (std::size_t i = 1; i < places_.size(); ++i)
            require(places_[i - 1].weight != places_[i].weight || places_[i - 1].end <= places_[i].begin,
                    "targets name the same outputs of '%s' twice",
                    base_.graph.producer(places_[i].weight).name.c_str());
        return std::move(places_);
    }

  private:
    void read_one(std::string_view target) {
        const ShownName text = shown(target);
        const std::size_t before = places_.size();
        const Part* const part = find_part(target);
        for (const SourceInfo& source : base_.graph.sources) {
            const Node& node = base_.graph.node(source.node);
            if (node.op != Op::parameter) continue;
            if (part != nullptr ? is_of_layer(node.name, part->layer) : std::string_view(node.name) == target)
                add(part, node, text);
        }
        if (places_.size() > before) return;
        require(part == nullptr, "the model has no part '%.*s': none of its weights is a '%s.weight'",
                text.bytes, text.text, part == nullptr ? "" : part->layer);
        require(false, "'%.*s' is no target: those are parts, %s, and names of weights", text.bytes,
                text.text, adapter_parts(heap_).c_str());
    }

    void add(const Part* part, const Node& parameter, const ShownName& target) {
        Weight weight;
        if (!find_weight(base_.graph, parameter.first_output, weight)) {
            require(
                part != nullptr,
                "'%.*s' cannot be a target: it is no matrix that products alone read as their second operand",
                target.bytes, target.text);
            return;
        }
        AdapterPlace& place = places_.emplace_back(
            AdapterPlace{weight.value, weight.transposed, weight.inputs, 0, weight.outputs,
                         std::pmr::string(layer_of(parameter.name), heap_), std::pmr::string(heap_)});
        if (part != nullptr) cut_part(base_, *part, weight, place);
        place.a += ".lora.";
        if (part != nullptr && part->shares != Shares::one) (place.a += part->name) += '.';
        place.b = place.a;
        place.a += 'a';
        place.b += 'b';
        if (const char* problem = name_problem(place.a))
            fail(VOLTA_INVALID_ARGUMENT, "the name of an adapter of '%s' %s", parameter.name.c_str(),
                 problem);
    }

    NodeId first_product(ValueId weight) const {
        for (NodeId id = 0; id < static_cast<NodeId>(base_.graph.nodes.size()); ++id)
            if (is_product_with(base_.graph, base_.graph.node(id), weight)) return id;
        return -1;
    }

    const Model& base_;
    std::pmr::memory_resource* heap_;
    std::pmr::vector<AdapterPlace> places_;
};

// ---- The graph -------------------------------------------------------------------------------------------

class AdaptedGraph {
  public:
    AdaptedGraph(const Graph& from, const std::pmr::vector<AdapterPlace>& places, std::int64_t rank,
                 double alpha, std::pmr::memory_resource* heap)
        : from_(from),
          places_(places),
          rank_(rank),
          scale_(static_cast<float>(alpha / static_cast<double>(rank))),
          to_(heap),
          renamed_(from.values.size(), -1, heap),
          pairs_(places.size(), Pair(), heap) {}

    Graph build() {
        for (NodeId id = 0; id < static_cast<NodeId>(from_.nodes.size()); ++id) {
            copy_node(from_, id, to_, renamed_);
            const Node& node = from_.node(id);
            if (node.op != Op::matmul) continue;
            const std::size_t first = first_place(node.inputs[1]);
            if (first == places_.size() || !is_product_with(from_, node, node.inputs[1])) continue;
            ValueId& result = renamed_[at(node.first_output)];
            result = to_.apply(Op::add, {result, change(renamed_[at(node.inputs[0])], first)});
        }
        for (const GraphOutput& output : from_.outputs)
            to_.output(output.name.c_str(), renamed_[at(output.value)]);
        return std::move(to_);
    }

  private:
    struct Pair {
        ValueId a = -1, b = -1;
    };

    std::size_t first_place(ValueId weight) const {
        std::size_t i = 0;
        while (i < places_.size() && places_[i].weight != weight) ++i;
        return i;
    }

    // What all adapters of one weight add to its product with x; columns without one get +0.
    ValueId change(ValueId x, std::size_t first) {
        const ValueId weight = places_[first].weight;
        const std::int64_t outputs = outputs_of(places_[first]);
        std::pmr::vector<ValueId> pieces(to_.heap());
        std::int64_t done = 0;
        for (std::size_t i = first; i < places_.size() && places_[i].weight == weight; ++i) {
            const bool is_last = i + 1 == places_.size() || places_[i + 1].weight != weight;
            pieces.push_back(
                padded(change_of(x, i), places_[i].begin - done, is_last ? outputs - places_[i].end : 0));
            done = places_[i].end;
        }
        if (pieces.size() == 1) return pieces[0];
        const Attribute axis = number(Attr::axis, to_.shape(x).rank - 1);
        return to_.apply(Op::concat, pieces.data(), static_cast<int>(pieces.size()), &axis, 1, Phase::each);
    }

    std::int64_t outputs_of(const AdapterPlace& place) const {
        return from_.shape(place.weight)[place.transposed ? 0 : 1];
    }

    ValueId change_of(ValueId x, std::size_t place) {
        const Pair& pair = pair_of(place);
        ValueId narrow = to_.apply(Op::matmul, {x, pair.a});
        if (scale_ != 1) narrow = to_.apply(Op::mul, {narrow, to_.scalar(scale_)});
        return to_.apply(Op::matmul, {narrow, pair.b});
    }

    const Pair& pair_of(std::size_t place) {
        Pair& pair = pairs_[place];
        if (pair.a >= 0) return pair;
        const AdapterPlace& own = places_[place];
        const double bound = 1 / std::sqrt(static_cast<double>(own.inputs));
        pair.a = to_.parameter(own.a.c_str(), {own.inputs, rank_}, {VOLTA_INIT_UNIFORM, -bound, bound});
        pair.b = to_.parameter(own.b.c_str(), {rank_, own.end - own.begin}, {VOLTA_INIT_CONSTANT, 0, 0});
        return pair;
    }

    ValueId padded(ValueId x, std::int64_t before, std::int64_t after) {
        if (before == 0 && after == 0) return x;
        Shape pads;
        pads.rank = 2;
        pads[0] = before;
        pads[1] = after;
        return to_.apply(Op::pad, {x}, {list(Attr::pads, pads)});
    }

    const Graph& from_;
    const std::pmr::vector<AdapterPlace>& places_;
    const std::int64_t rank_;
    const float scale_;
    Graph to_;
    std::pmr::vector<ValueId> renamed_;
    std::pmr::vector<Pair> pairs_;
};

void check_options(const AdapterOptions& options) {
    require(options.rank >= 1 && options.rank <= kMostAdapterRank,
            "rank is %" PRId64 "; it must be from 1 to %" PRId64, options.rank, kMostAdapterRank);
    require(options.alpha > 0 && options.alpha <= kMostAdapterAlpha,
            "alpha is %g; it must be above 0 and at most %g", options.alpha, kMostAdapterAlpha);
}

void describe(const AdapterOptions& options, const Model& base, const char* base_hash, Model& model) {
    model.set_metadata(kArchitectureKey, adapter_architecture(base));
    char text[32];
    std::snprintf(text, sizeof text, "%" PRId64, options.rank);
    model.set_metadata(kRankKey, text);
    *std::to_chars(text, text + sizeof text - 1, options.alpha).ptr = '\0';
    model.set_metadata(kAlphaKey, text);
    model.set_metadata(kTargetsKey, std::pmr::string(options.targets, model.structures()).c_str());
    model.set_metadata(kBaseKey, base_hash);
}

// A model of the base's graph with adapters, whose own parameters have their places and no values yet.
HeapPtr<Model> adapted_model(const std::shared_ptr<const Model>& base, const AdapterOptions& options,
                             const char* base_hash, std::pmr::memory_resource* structures,
                             std::pmr::memory_resource* tensors) {
    check_options(options);
    if (base->base != nullptr)
        fail(VOLTA_INVALID_ARGUMENT, "the base has adapters itself: merge them into it first");
    const auto places = adapter_places(*base, options.targets, structures);
    HeapPtr<Model> made = make_on<Model>(structures, structures, tensors);
    made->graph = AdaptedGraph(base->graph, places, options.rank, options.alpha, structures).build();
    made->arithmetic = base->arithmetic;
    made->base = held(base, structures);
    for (const SourceInfo& source : made->graph.sources) {
        const Node& node = made->graph.node(source.node);
        if (node.op != Op::parameter) continue;
        const Value& value = made->graph.value(node.first_output);
        NamedTensor& parameter = made->parameters.emplace_back(NamedTensor{
            std::pmr::string(node.name, structures), value.dtype, value.shape, nullptr, Buffer()});
        const NamedTensor* const lent = base->find_parameter(node.name.c_str());
        if (lent == nullptr) continue;
        parameter.data = lent->data;
        parameter.is_lent = true;
    }
    made->allocate_parameters(true);
    if (base->tokenizer) made->tokenizer.emplace(*base->tokenizer, structures);
    for (const Metadata& entry : base->metadata) made->set_metadata(entry.key.c_str(), entry.value.c_str());
    describe(options, *base, base_hash, *made);
    return made;
}

const std::pmr::string& told(const Model& file, const char* key) {
    const std::pmr::string* const value = file.find_metadata(key);
    if (value == nullptr)
        fail(VOLTA_CORRUPT_MODEL, "the file holds no adapters: it lacks the metadata '%s'", key);
    return *value;
}

template <class Number>
Number told_number(const Model& file, const char* key) {
    const std::pmr::string& text = told(file, key);
    Number value = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end) {
        const ShownName part = shown(text);
        fail(VOLTA_CORRUPT_MODEL, "the adapters' '%s' is '%.*s', which is no number of its kind", key,
             part.bytes, part.text);
    }
    return value;
}

// What a file says of its adapters is the file's fault.
template <class Body>
HeapPtr<Model> of_file(Body body) {
    try {
        return body();
    } catch (const Error& error) {
        if (error.status() != VOLTA_INVALID_ARGUMENT && error.status() != VOLTA_SHAPE_MISMATCH) throw;
        fail(VOLTA_CORRUPT_MODEL, "the adapters do not fit their base: %s", error.what());
    }
}

void take_values(const Model& file, Model& made) {
    std::size_t taken = 0;
    for (std::size_t i = 0; i < made.parameters.size(); ++i) {
        const NamedTensor& wanted = made.parameters[i];
        if (wanted.is_lent) continue;
        const NamedTensor* const given = file.find_parameter(wanted.name.c_str());
        if (given == nullptr) fail(VOLTA_CORRUPT_MODEL, "the adapters lack '%s'", wanted.name.c_str());
        if (given->dtype != wanted.dtype || given->shape != wanted.shape)
            fail(VOLTA_CORRUPT_MODEL, "the adapter '%s' is %s%s, its base takes %s%s", wanted.name.c_str(),
                 dtype_name(given->dtype), to_text(given->shape).text, dtype_name(wanted.dtype),
                 to_text(wanted.shape).text);
        if (given->bytes() > 0) std::memcpy(made.place_of(i), given->data, given->bytes());
        ++taken;
    }
    if (taken == file.parameters.size()) return;
    for (const NamedTensor& given : file.parameters) {
        const NamedTensor* const known = made.find_parameter(given.name.c_str());
        if (known != nullptr && !known->is_lent) continue;
        const ShownName name = shown(given.name);
        fail(VOLTA_CORRUPT_MODEL, "'%.*s' is no adapter of the targets '%s'", name.bytes, name.text,
             told(file, kTargetsKey).c_str());
    }
}

void copy_training(const TrainingState& from, Model& to) {
    std::pmr::memory_resource* const heap = to.structures();
    TrainingState& state = to.training.emplace(heap);
    for (const NamedNumber& number : from.numbers)
        state.numbers.push_back({std::pmr::string(number.name, heap), number.value});
    for (const NamedInteger& integer : from.integers)
        state.integers.push_back({std::pmr::string(integer.name, heap), integer.value});
    for (const NamedTensor& tensor : from.tensors) {
        NamedTensor& copy = state.tensors.emplace_back(
            NamedTensor{std::pmr::string(tensor.name, heap), tensor.dtype, tensor.shape, nullptr, Buffer()});
        copy.owned = Buffer(to.tensors(), tensor.bytes());
        if (tensor.bytes() > 0) std::memcpy(copy.owned.data(), tensor.data, tensor.bytes());
        copy.data = copy.owned.data();
    }
}

bool is_of_library(const Metadata& entry) { return entry.key.compare(0, 6, "volta.") == 0; }
bool is_of_adapters(const Metadata& entry) { return entry.key.compare(0, 14, "volta.adapter.") == 0; }

}  // namespace

bool has_other_modules(std::string_view model_type) {
    for (const char* others : {"phi3", "gpt_neox", "roberta", "xlm-roberta", "distilbert"})
        if (model_type == others) return true;
    return false;
}

// A decoder's names are those of its next of kin; some families have others for the same graph.
const char* adapter_architecture(const Model& base) {
    if (const std::pmr::string* const type = base.find_metadata("volta.model_type")) return type->c_str();
    const std::pmr::string* const own = base.find_metadata("volta.architecture");
    if (own == nullptr || *own != "decoder") return own == nullptr ? "graph" : own->c_str();
    if (base.find_parameter("block.0.gate_up.weight") != nullptr) return "llama";
    return base.find_parameter("position_embedding") != nullptr ? "gpt" : "decoder";
}

std::pmr::string adapter_parts(std::pmr::memory_resource* heap) {
    std::pmr::string parts(heap);
    for (const Part& part : kParts) {
        if (!parts.empty()) parts += ", ";
        parts += part.name;
    }
    return parts;
}

std::pmr::vector<AdapterPlace> adapter_places(const Model& base, std::string_view targets,
                                              std::pmr::memory_resource* heap) {
    return TargetReader(base, heap).read(targets);
}

AdapterOptions adapter_options(const Model& model) {
    AdapterOptions options;
    options.rank = told_number<std::int64_t>(model, kRankKey);
    options.alpha = told_number<double>(model, kAlphaKey);
    options.targets = told(model, kTargetsKey);
    return options;
}

HeapPtr<Model> empty_adapters(const std::shared_ptr<const Model>& base, const AdapterOptions& options,
                              std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors) {
    const HashText hash = to_text(hash_parameters(*base, structures));
    return adapted_model(base, options, hash.text, structures, tensors);
}

HeapPtr<Model> add_adapters(const std::shared_ptr<const Model>& base, const AdapterOptions& options,
                            std::uint64_t seed, std::pmr::memory_resource* structures,
                            std::pmr::memory_resource* tensors, const InitMachine& machine) {
    check_options(options);
    HeapPtr<Model> made = empty_adapters(base, options, structures, tensors);
    Initialiser initialiser(machine, seed, structures);
    std::size_t place = 0;
    for (const SourceInfo& source : made->graph.sources) {
        if (made->graph.node(source.node).op != Op::parameter) continue;
        if (!made->parameters[place].is_lent)
            initialiser.fill(static_cast<float*>(made->place_of(place)), made->parameters[place].shape,
                             source.init, source.stream);
        ++place;
    }
    return made;
}

HeapPtr<Model> open_adapters(const std::shared_ptr<const Model>& base, const Model& file,
                             std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors) {
    const AdapterOptions options = adapter_options(file);
    const std::pmr::string& made_on = told(file, kBaseKey);
    const HashText hash = to_text(hash_parameters(*base, structures));
    const ShownName other = shown(made_on);
    require(made_on == hash.text,
            "the adapters are of another base, whose parameters have the hash %.*s, not %s", other.bytes,
            other.text, hash.text);
    HeapPtr<Model> made =
        of_file([&] { return adapted_model(base, options, hash.text, structures, tensors); });
    made->arithmetic = file.arithmetic;
    take_values(file, *made);
    for (const Metadata& entry : file.metadata)
        if (!is_of_library(entry)) made->set_metadata(entry.key.c_str(), entry.value.c_str());
    if (file.training) copy_training(*file.training, *made);
    return made;
}

HeapPtr<Model> adapters_alone(const Model& adapted, std::pmr::memory_resource* heap) {
    HeapPtr<Model> made = make_on<Model>(heap, heap, heap);
    made->arithmetic = adapted.arithmetic;
    for (const AdapterPlace& place : adapter_places(*adapted.base, told(adapted, kTargetsKey), heap)) {
        ValueId values[2];
        int count = 0;
        for (const std::pmr::string* name : {&place.a, &place.b}) {
            const NamedTensor& own = *adapted.find_parameter(name->c_str());
            values[count++] = made->graph.parameter(
                name->c_str(), own.shape,
                adapted.graph.source(adapted.graph.value(adapted.graph.find_source(name->c_str())).producer)
                    .init);
            made->parameters.push_back(
                NamedTensor{std::pmr::string(*name, heap), own.dtype, own.shape, own.data, Buffer()});
        }
        const std::pmr::string output(std::string_view(place.a).substr(0, place.a.size() - 2), heap);
        made->graph.output(output.c_str(), made->graph.apply(Op::matmul, {values[0], values[1]}));
    }
    for (const Metadata& entry : adapted.metadata) {
        const std::pmr::string* const of_base = adapted.base->find_metadata(entry.key.c_str());
        const bool is_own = of_base == nullptr || *of_base != entry.value;
        if (is_of_adapters(entry) || (is_own && !is_of_library(entry)))
            made->set_metadata(entry.key.c_str(), entry.value.c_str());
    }
    return made;
}

}  // namespace volta
