#include "engine/model/model.h"

#include <algorithm>
#include <cstring>

#include "engine/base/error.h"
#include "engine/model/text.h"

namespace volta {
namespace {

constexpr std::int64_t kCounterLimit = std::int64_t{1} << 32;  // rows and columns are 32-bit Philox counters

NamedTensor describe_parameter(const Graph& graph, const SourceInfo& source,
                               std::pmr::memory_resource* structures) {
    const Node& node = graph.node(source.node);
    const Shape& shape = graph.shape(node.first_output);
    require(shape.rows() < kCounterLimit && shape.last() < kCounterLimit,
            "parameter '%s' has the shape %s; rows and columns must each be fewer than 2^32",
            node.name.c_str(), to_text(shape).text);
    return {std::pmr::string(node.name, structures), DType::f32, shape, nullptr, Buffer()};
}

}  // namespace

Model::Model(std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors)
    : graph(structures),
      parameters(structures),
      metadata(structures),
      structures_(structures),
      tensors_(tensors) {}

HeapPtr<Model> Model::create(const Graph& graph, std::uint64_t seed, std::pmr::memory_resource* structures,
                             std::pmr::memory_resource* tensors, const InitMachine& machine) {
    HeapPtr<Model> model = make_on<Model>(structures, structures, tensors);
    model->graph = Graph(graph, structures);
    std::pmr::vector<const SourceInfo*> sources(structures);
    for (const SourceInfo& source : model->graph.sources)
        if (model->graph.node(source.node).op == Op::parameter) sources.push_back(&source);
    for (const SourceInfo* source : sources)
        model->parameters.push_back(describe_parameter(model->graph, *source, structures));
    model->allocate_parameters(false);
    Initialiser initialiser(machine, seed, structures);
    for (std::size_t i = 0; i < sources.size(); ++i)
        initialiser.fill(static_cast<float*>(model->place_of(i)), model->parameters[i].shape,
                         sources[i]->init, sources[i]->stream);
    return model;
}

void Model::allocate_parameters(bool zeroed) {
    const auto padded = [](const NamedTensor& parameter) {
        return (parameter.bytes() + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
    };
    std::uint64_t bytes = 0;
    for (const NamedTensor& parameter : parameters) {
        if (parameter.is_lent) continue;
        if (padded(parameter) < parameter.bytes() || add_overflows(bytes, padded(parameter), &bytes))
            throw std::bad_alloc();
    }
    block = Buffer(tensors_, static_cast<std::size_t>(bytes), zeroed);
    auto* place = static_cast<unsigned char*>(block.data());
    for (NamedTensor& parameter : parameters) {
        if (parameter.is_lent) continue;
        parameter.data = place;
        place += padded(parameter);
    }
}

bool Model::owns(const NamedTensor& parameter) const {
    const auto data = reinterpret_cast<std::uintptr_t>(parameter.data),
               begin = reinterpret_cast<std::uintptr_t>(block.data());
    return parameter.owned.data() != nullptr ||
           (block.data() != nullptr && data >= begin && data - begin < block.bytes());
}

const NamedTensor* Model::find_parameter(const char* name) const {
    for (const NamedTensor& parameter : parameters)
        if (parameter.name == name) return &parameter;
    return nullptr;
}

float* Model::mutable_parameter(std::size_t index) {
    NamedTensor& parameter = parameters.at(index);
    if (parameter.is_lent)
        fail(VOLTA_INVALID_STATE,
             "parameter %s is of the base that the adapters are on, which keeps its values",
             parameter.name.c_str());
    if (holders_ > 0)
        fail(VOLTA_INVALID_STATE, "parameter %s cannot be set: there are adapters on the model",
             parameter.name.c_str());
    ++version_;
    if (!owns(parameter) && parameter.bytes() > 0) {
        parameter.owned = Buffer(tensors_, parameter.bytes());
        std::memcpy(parameter.owned.data(), parameter.data, parameter.bytes());
        parameter.data = parameter.owned.data();
    }
    return static_cast<float*>(const_cast<void*>(parameter.data));
}

const std::pmr::string* Model::find_metadata(const char* key) const {
    for (const Metadata& entry : metadata)
        if (entry.key == key) return &entry.value;
    return nullptr;
}

void Model::set_metadata(const char* key, const char* value) {
    if (const char* problem = name_problem(key)) fail(VOLTA_INVALID_ARGUMENT, "the metadata key %s", problem);
    const auto before = [](const Metadata& entry, const char* wanted) { return entry.key < wanted; };
    const auto at = std::lower_bound(metadata.begin(), metadata.end(), key, before);
    const bool exists = at != metadata.end() && at->key == key;
    if (value == nullptr) {
        if (exists) metadata.erase(at);
        return;
    }
    const std::string_view text(value);
    const std::size_t invalid = find_invalid_utf8(text);
    require(invalid == text.size(), "the metadata value of '%s' is not UTF-8: byte 0x%02x at offset %zu", key,
            static_cast<unsigned>(static_cast<unsigned char>(value[invalid])), invalid);
    if (exists)
        at->value.assign(value);
    else
        metadata.insert(at,
                        Metadata{std::pmr::string(key, structures_), std::pmr::string(value, structures_)});
}

std::shared_ptr<const Model> held(const std::shared_ptr<const Model>& model,
                                  std::pmr::memory_resource* heap) {
    struct Hold {
        explicit Hold(const std::shared_ptr<const Model>& held) : model(held) { ++model->holders_; }
        ~Hold() { --model->holders_; }
        std::shared_ptr<const Model> model;
    };
    const auto hold = std::allocate_shared<Hold>(std::pmr::polymorphic_allocator<Hold>(heap), model);
    return std::shared_ptr<const Model>(hold, hold->model.get());
}

Hash128 hash_parameters(const Model& model, std::pmr::memory_resource* heap) {
    std::pmr::vector<const NamedTensor*> by_name(heap);
    by_name.reserve(model.parameters.size());
    for (const NamedTensor& parameter : model.parameters) by_name.push_back(&parameter);
    std::sort(by_name.begin(), by_name.end(),
              [](const NamedTensor* a, const NamedTensor* b) { return a->name < b->name; });
    Hasher hasher;
    for (const NamedTensor* parameter : by_name) {
        hasher.add(parameter->name.c_str(), parameter->name.size() + 1);  // the zero ends the name
        const std::int64_t rank = parameter->shape.rank;
        hasher.add(&rank, sizeof rank);
        hasher.add(parameter->shape.extent, static_cast<std::size_t>(rank) * sizeof(std::int64_t));
        if (is_stored(parameter->dtype)) {
            hasher.add(&parameter->dtype, sizeof parameter->dtype);
            hasher.add(parameter->data, parameter->bytes());
            continue;
        }
        hasher.add_floats(static_cast<const float*>(parameter->data),
                          static_cast<std::size_t>(parameter->shape.elements()));
    }
    return hasher.result();
}

}  // namespace volta
