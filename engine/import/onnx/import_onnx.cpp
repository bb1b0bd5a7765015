#include "engine/import/onnx/import_onnx.h"

#include <algorithm>
#include <deque>
#include <map>
#include <queue>

#include "engine/base/error.h"
#include "engine/import/json_writer.h"
#include "engine/import/onnx/call.h"
#include "engine/import/onnx/patterns.h"
#include "engine/import/onnx/restore.h"
#include "engine/import/onnx/table.h"
#include "engine/model/text.h"

namespace volta::onnx {
namespace {

constexpr int kMostDepth = 16;              // of graphs in graphs
constexpr std::size_t kMostOutputs = 1024;  // of a model file
// Extents of the second lane: no extent that anybody means, and small, so that products stay in range.
constexpr std::int64_t kPrimes[] = {13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73};

std::string_view view_of(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.data()), file.bytes()};
}

struct LastFirst {  // of a queue that gives the first
    bool operator()(std::size_t a, std::size_t b) const { return a > b; }
};

class Importer {
  public:
    Importer(std::string_view bytes, const char* path, const OnnxOptions& options,
             std::pmr::memory_resource* heap)
        : heap_(heap),
          options_(options),
          file_(read_file_view(bytes, heap)),
          files_(path, heap),
          building_(files_, heap),
          producer_(heap),
          symbols_(heap),
          readers_(heap),
          branches_(heap),
          recognised_(heap) {}

    // The graph, and which parameters it reads. What the graph itself objects to, as two outputs of one name,
    // is the file's fault.
    void build() {
        opset_ = default_opset();
        if (file_.sparse) fail(VOLTA_UNSUPPORTED, "it has sparse initialisers, which are not imported");
        add_initializers(file_);
        check_bindings();
        try {
            add_inputs();
            std::size_t ran = 0;
            for (const std::size_t index : ordered()) {
                options_.stop->ask("node", ran++, file_.nodes.size());
                run(file_.nodes[index], index, 0);
            }
            add_outputs();
            if (!options_.exact_graph) recognised_ = recognise(building_);
        } catch (const Error& error) {
            if (error.status() != VOLTA_INVALID_ARGUMENT) throw;
            fail(VOLTA_CORRUPT_MODEL, "%s", error.what());
        }
    }

    HeapPtr<Model> model(std::pmr::memory_resource* tensors) {
        HeapPtr<Model> model = make_on<Model>(heap_, heap_, tensors);
        model->graph = std::move(building_.graph);
        for (const Weight& weight : building_.weights) {
            const Node& source = model->graph.producer(weight.id);
            model->parameters.push_back(
                {std::pmr::string(source.name, heap_), DType::f32, weight.tensor->shape, nullptr, Buffer()});
        }
        model->allocate_parameters(false);
        for (std::size_t i = 0; i < building_.weights.size(); ++i) {
            options_.stop->ask("parameter", i, building_.weights.size());
            fill_affine(*building_.weights[i].tensor, files_, building_.weights[i].affine,
                        static_cast<float*>(model->place_of(i)));
        }
        return model;
    }

    // A model that Volta wrote; NULL: another, or one whose open extents are to be given.
    HeapPtr<Model> restored(std::size_t bytes, std::pmr::memory_resource* tensors) {
        if (options_.shape_count > 0 || options_.exact_graph) return nullptr;
        return restore_model(file_, files_, default_opset(), bytes, heap_, tensors, *options_.stop);
    }
    // Of such a model, without its data.
    HeapPtr<Model> restored_graph(std::size_t bytes) {
        if (options_.shape_count > 0 || options_.exact_graph) return nullptr;
        return restore_graph(file_, default_opset(), bytes, heap_, heap_);
    }

    const FileView& file() const { return file_; }
    const PatternCounts& recognised() const { return recognised_; }
    // Whether an input of integers is f32 in the model: it is only moved, compared, or made real.
    bool becomes_real(const PortView& port) {
        if (is_narrow(port.type)) return true;
        if (!is_whole(port.type) || port.type == Type::flag) return false;
        find_readers();
        std::pmr::vector<std::string_view> left({port.name}, heap_), seen(heap_);
        bool is_used = false;
        while (!left.empty()) {
            const std::string_view name = left.back();
            left.pop_back();
            if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
            seen.push_back(name);
            const auto before = [](const Reader& reader, std::string_view wanted) {
                return reader.first < wanted;
            };
            auto at = std::lower_bound(readers_.begin(), readers_.end(), name, before);
            for (; at != readers_.end() && at->first == name; ++at) {
                const NodeView& node = file_.nodes[at->second];
                const Use use = use_of(node);
                if (use == Use::other || seen.size() > kMostOpenExtents) return false;
                if (use == Use::real) is_used = true;
                if (use == Use::moved && !node.outputs.empty()) left.push_back(node.outputs[0]);
            }
        }
        return is_used;
    }
    // An output, where it was made.
    bool became_real(const PortView& port) const {
        const auto at = building_.values.find(port.name);
        if (at == building_.values.end() || at->second.id < 0) return is_narrow(port.type);
        return building_.graph.value(at->second.id).dtype == DType::f32;
    }
    int default_opset() const {
        for (const OpsetView& opset : file_.opsets) {
            if (!opset.domain.empty() && opset.domain != "ai.onnx") continue;
            if (opset.version < kOldestOpset || opset.version > kNewestOpset)
                fail(VOLTA_UNSUPPORTED, "it is written for opset %lld; those from %d to %d are imported",
                     static_cast<long long>(opset.version), kOldestOpset, kNewestOpset);
            return static_cast<int>(opset.version);
        }
        if (file_.opsets.empty()) return 1;  // files of before there were any
        const ShownName domain = shown(file_.opsets.front().domain);
        fail(VOLTA_UNSUPPORTED, "it has operators of '%.*s' and none of ONNX itself", domain.bytes,
             domain.text);
    }

  private:
    using Reader = std::pair<std::string_view, std::size_t>;  // a value, and a node that reads it
    enum class Use { moved, real, extents, other };

    static Use use_of(const NodeView& node) {
        for (const AttributeView& attribute : node.attributes) {
            const auto type = static_cast<Type>(attribute.name == "to" ? integer_of(attribute) : 0);
            if (node.op == "Cast" && is_whole(type) && type != Type::flag) return Use::moved;
        }
        constexpr struct {
            const char* op;
            Use use;
        } kUses[] = {{"Cast", Use::real},
                     {"Equal", Use::real},
                     {"Less", Use::real},
                     {"Greater", Use::real},
                     {"LessOrEqual", Use::real},
                     {"GreaterOrEqual", Use::real},
                     {"DequantizeLinear", Use::real},
                     {"Shape", Use::extents},
                     {"Size", Use::extents},
                     {"Unsqueeze", Use::moved},
                     {"Squeeze", Use::moved},
                     {"Reshape", Use::moved},
                     {"Expand", Use::moved},
                     {"Transpose", Use::moved},
                     {"Identity", Use::moved},
                     {"Flatten", Use::moved},
                     {"Slice", Use::moved}};
        for (const auto& row : kUses)
            if (node.op == row.op) return row.use;
        return Use::other;
    }

    void find_readers() {
        if (!readers_.empty()) return;
        for (std::size_t i = 0; i < file_.nodes.size(); ++i)
            each_read(file_.nodes[i], 0, [&](std::string_view name, bool) {
                if (!name.empty()) readers_.emplace_back(name, i);
            });
        std::sort(readers_.begin(), readers_.end());
    }

    [[noreturn]] static void fail_twice(std::string_view name) {
        const ShownName text = shown(name);
        fail(VOLTA_CORRUPT_MODEL, "two values have the name '%.*s'", text.bytes, text.text);
    }

    // PyTorch's newer exporter makes initialisers [1] of numbers in the code, and calls them val_7.
    bool is_number_of_pytorch(const TensorView& tensor) const {
        const std::string_view name = tensor.name;
        return file_.producer == "pytorch" && tensor.shape.elements() == 1 && name.substr(0, 4) == "val_" &&
               name.find_first_not_of("0123456789", 4) == name.npos;
    }

    void add_initializers(const FileView& from) {
        for (const TensorView& tensor : from.initializers) {
            Value value;
            value.type = tensor.type;
            value.tensor = &tensor;
            value.is_weight = is_real(tensor.type) && !is_number_of_pytorch(tensor);
            if (!building_.values.emplace(tensor.name, value).second) fail_twice(tensor.name);
        }
    }

    const volta_input_shape* binding_of(std::string_view name) const {
        for (std::size_t i = 0; i < options_.shape_count; ++i)
            if (options_.shapes[i].name == name) return &options_.shapes[i];
        return nullptr;
    }

    // An open extent has a prime for each name; one without a name is like no other.
    std::int64_t prime_of(std::string_view symbol) {
        if (!symbol.empty()) {
            const auto at = symbols_.find(symbol);
            if (at != symbols_.end()) return at->second;
        }
        if (next_prime_ == sizeof kPrimes / sizeof *kPrimes)
            fail(VOLTA_UNSUPPORTED,
                 "more than %zu extents of its inputs are open: shapes can be given (--shape)",
                 sizeof kPrimes / sizeof *kPrimes);
        const std::int64_t prime = kPrimes[next_prime_++];
        if (!symbol.empty()) symbols_.emplace(symbol, prime);
        return prime;
    }

    void check_bindings() const {
        for (std::size_t i = 0; i < options_.shape_count; ++i) {
            const std::string_view name = options_.shapes[i].name;
            const auto is_meant = [&](const PortView& port) { return port.name == name; };
            if (std::any_of(file_.inputs.begin(), file_.inputs.end(), is_meant) &&
                building_.values.find(name) == building_.values.end())
                continue;
            const ShownName text = shown(name);
            fail(VOLTA_INVALID_ARGUMENT, "a shape is given for '%.*s', which is no input of the model",
                 text.bytes, text.text);
        }
    }

    void add_inputs() {
        for (const PortView& port : file_.inputs)
            if (building_.values.find(port.name) == building_.values.end()) add_input(port);
    }

    void add_input(const PortView& port) {
        const ShownName name = shown(port.name);
        if (port.other != nullptr)
            fail(VOLTA_UNSUPPORTED, "the input '%.*s' is %s, no tensor", name.bytes, name.text, port.other);
        if (!is_real(port.type) && !is_whole(port.type))
            fail(VOLTA_UNSUPPORTED, "the input '%.*s' is of %s, which is not imported", name.bytes, name.text,
                 type_name(port.type));
        const volta_input_shape* const binding = binding_of(port.name);
        if (!port.has_shape && binding == nullptr)
            fail(VOLTA_UNSUPPORTED, "the input '%.*s' has no shape: it can be given (--shape %.*s=...)",
                 name.bytes, name.text, name.bytes, name.text);
        if (port.has_shape && binding != nullptr && binding->rank != port.rank)
            fail(VOLTA_SHAPE_MISMATCH, "the input '%.*s' has %d axes, the shape that is given has %d",
                 name.bytes, name.text, port.rank, binding->rank);
        Extents extents;
        const int rank = binding != nullptr ? binding->rank : port.rank;
        std::pmr::string text(port.name.substr(0, 64), heap_);
        text += '[';
        for (int axis = 0; axis < rank; ++axis) {
            const ExtentView& own = port.extents[axis];
            std::int64_t extent = binding != nullptr ? binding->shape[axis] : own.extent;
            if (binding != nullptr && port.has_shape && own.extent >= 0 && extent >= 0 &&
                extent != own.extent)
                fail(VOLTA_SHAPE_MISMATCH,
                     "axis %d of the input '%.*s' has the extent %lld, the shape that is given has %lld",
                     axis, name.bytes, name.text, static_cast<long long>(own.extent),
                     static_cast<long long>(extent));
            if (extent < 0 && port.has_shape) extent = own.extent;
            if (axis > 0) text += ", ";
            extents.append(std::max<std::int64_t>(extent, 0));
            if (extent < 0) {
                extents.now[axis] = 1;
                extents.later[axis] = prime_of(own.symbol);
                const ShownName symbol = shown(own.symbol);
                text.append(own.symbol.empty() ? "?" : symbol.text,
                            own.symbol.empty() ? 1 : static_cast<std::size_t>(std::min(symbol.bytes, 24)));
            } else {
                add_json_number(text, extent);
            }
        }
        text += ']';
        const ShownName whole_text = shown(text);  // cut at a whole character
        if (extents.has_open()) {
            if (!building_.open_text.empty()) building_.open_text += ", ";
            if (building_.open_text.size() < 160)
                building_.open_text.append(whole_text.text, static_cast<std::size_t>(whole_text.bytes));
            else
                building_.open_text += "...";
        }
        Value value;
        value.type = port.type;
        value.id =
            building_.input(std::pmr::string(port.name, heap_).c_str(),
                            is_real(port.type) || becomes_real(port) ? DType::f32 : DType::i32, extents);
        building_.values.emplace(port.name, value);
    }

    // ---- Order

    void find_producers() {
        for (std::size_t i = 0; i < file_.nodes.size(); ++i)
            for (const std::string_view name : file_.nodes[i].outputs) {
                if (name.empty()) continue;
                if (building_.values.find(name) != building_.values.end() ||
                    !producer_.emplace(name, i).second)
                    fail_twice(name);
            }
    }

    // Nodes that the outputs need, each behind those that it reads; else as in the file.
    std::pmr::vector<std::size_t> ordered() {
        find_producers();
        const std::pmr::vector<bool> needed = find_needed();
        std::pmr::vector<std::pair<std::size_t, std::size_t>> edges(heap_);  // producer, reader
        std::pmr::vector<std::size_t> waits(file_.nodes.size(), 0, heap_);
        for (std::size_t i = 0; i < file_.nodes.size(); ++i) {
            if (!needed[i]) continue;
            each_read(file_.nodes[i], 0, [&](std::string_view name, bool) {
                const auto given = building_.values.find(name);
                if (given != building_.values.end()) ++given->second.uses;
                const auto at = producer_.find(name);
                if (name.empty() || at == producer_.end()) return;
                edges.emplace_back(at->second, i);
                ++waits[i];
            });
        }
        std::sort(edges.begin(), edges.end());
        std::priority_queue<std::size_t, std::pmr::vector<std::size_t>, LastFirst> ready{
            LastFirst(), std::pmr::vector<std::size_t>(heap_)};
        std::size_t count = 0;
        for (std::size_t i = 0; i < file_.nodes.size(); ++i) {
            count += needed[i];
            if (needed[i] && waits[i] == 0) ready.push(i);
        }
        std::pmr::vector<std::size_t> order(heap_);
        while (!ready.empty()) {
            const std::size_t index = ready.top();
            ready.pop();
            order.push_back(index);
            const auto first =
                std::lower_bound(edges.begin(), edges.end(), std::make_pair(index, std::size_t{0}));
            for (auto edge = first; edge != edges.end() && edge->first == index; ++edge)
                if (--waits[edge->second] == 0) ready.push(edge->second);
        }
        if (order.size() < count) fail_cycle(waits);
        return order;
    }

    [[noreturn]] void fail_cycle(const std::pmr::vector<std::size_t>& waits) const {
        const auto at = std::find_if(waits.begin(), waits.end(), [](std::size_t left) { return left > 0; });
        const auto index = static_cast<std::size_t>(at - waits.begin());
        const ShownName op = shown(file_.nodes[index].op);
        fail(VOLTA_CORRUPT_MODEL, "its nodes go in a circle: node %zu (%.*s) needs its own result", index,
             op.bytes, op.text);
    }

    std::pmr::vector<bool> find_needed() {
        std::pmr::vector<bool> needed(file_.nodes.size(), false, heap_);
        std::pmr::vector<std::size_t> left(heap_);
        const auto need = [&](std::string_view name, const char* what, std::string_view who) {
            if (name.empty() || building_.values.find(name) != building_.values.end()) return;
            const auto at = producer_.find(name);
            if (at == producer_.end()) {
                const ShownName text = shown(name), reader = shown(who);
                fail(VOLTA_CORRUPT_MODEL, "no node writes '%.*s', which %s '%.*s' %s", text.bytes, text.text,
                     what, reader.bytes, reader.text, what[0] == 'a' ? "needs" : "is");
            }
            if (needed[at->second]) return;
            needed[at->second] = true;
            left.push_back(at->second);
        };
        for (const PortView& port : file_.outputs) need(port.name, "the output", port.name);
        while (!left.empty()) {
            const NodeView& node = file_.nodes[left.back()];
            left.pop_back();
            each_read(node, 0, [&](std::string_view name, bool inside) {
                // A branch has values of its own too.
                if (!inside || producer_.find(name) != producer_.end())
                    need(name, "a node of operator", node.op);
            });
        }
        return needed;
    }

    // read(name, whether a branch reads it) for all that a node needs, and the graphs in it.
    template <class Read>
    void each_read(const NodeView& node, int depth, const Read& read) const {
        for (const std::string_view name : node.inputs) read(name, depth > 0);
        if (node.op != "If") return;
        if (depth == kMostDepth)
            fail(VOLTA_UNSUPPORTED, "its graphs lie deeper than %d in each other", kMostDepth);
        for (const AttributeView& attribute : node.attributes) {
            if (attribute.kind != AttributeKind::graph) continue;
            const FileView branch = read_graph_view(bytes_of(attribute), heap_);
            for (const NodeView& inner : branch.nodes) each_read(inner, depth + 1, read);
            for (const PortView& port : branch.outputs) read(port.name, true);
        }
    }

    void run(const NodeView& node, std::size_t index, int depth) {
        const ShownName op = shown(node.op), domain = shown(node.domain);
        const NodePlace place = place_of(node, index);
        if (!node.domain.empty())
            fail(VOLTA_UNSUPPORTED, "%s (%.*s of the domain %.*s): its operators are not imported",
                 place.text, op.bytes, op.text, domain.bytes, domain.text);
        const OperatorRow* const row = find_operator(node.op);
        if (row == nullptr)
            fail(VOLTA_UNSUPPORTED, "%s (%.*s, opset %d): the operator is not imported", place.text, op.bytes,
                 op.text, opset_);
        if (version_at(*row, opset_) == 0)
            fail(VOLTA_UNSUPPORTED, "%s (%.*s, opset %d): the operator is not in this opset", place.text,
                 op.bytes, op.text, opset_);
        if (node.op == "If") return run_branch(node, place, depth);
        Call(building_, node, index, *row, opset_).run();
    }

    // The branch that its condition takes, in the place of the node.
    void run_branch(const NodeView& node, const NodePlace& place, int depth) {
        const auto refuse = [&](const char* why) {
            fail(VOLTA_UNSUPPORTED, "%s (If, opset %d): %s", place.text, opset_, why);
        };
        const auto at =
            node.inputs.size() == 1 ? building_.values.find(node.inputs[0]) : building_.values.end();
        const bool is_known = at != building_.values.end() && building_.is_known(at->second);
        const KnownPair* const condition = is_known ? building_.find_known(at->second) : nullptr;
        if (condition == nullptr || condition->now.type != Type::flag || condition->now.count() != 1)
            return refuse("its condition is not known before the model runs");
        if (condition->later) return refuse("its condition depends on extents that are open");
        const std::string_view wanted = condition->now.whole[0] != 0 ? "then_branch" : "else_branch";
        for (const AttributeView& attribute : node.attributes) {
            if (attribute.name != wanted || attribute.kind != AttributeKind::graph) continue;
            branches_.push_back(read_graph_view(bytes_of(attribute), heap_));
            const FileView& branch = branches_.back();
            if (branch.sparse || branch.outputs.size() != node.outputs.size())
                return refuse("its branch has sparse initialisers, or other results");
            add_initializers(branch);
            for (std::size_t i = 0; i < branch.nodes.size(); ++i) {
                for (const std::string_view name : branch.nodes[i].outputs)
                    if (!name.empty() && (building_.values.find(name) != building_.values.end() ||
                                          producer_.find(name) != producer_.end()))
                        fail_twice(name);
                run(branch.nodes[i], i, depth + 1);
            }
            for (std::size_t i = 0; i < branch.outputs.size(); ++i)
                give(branch.outputs[i].name, node.outputs[i]);
            return;
        }
        refuse("it has no graph for its condition");
    }

    // The same value under another name.
    void give(std::string_view from, std::string_view to) {
        if (to.empty()) return;
        const auto at = building_.values.find(from);
        const ShownName name = shown(from);
        if (at == building_.values.end())
            fail(VOLTA_CORRUPT_MODEL, "no node writes '%.*s', which a branch gives", name.bytes, name.text);
        if (!building_.is_known(at->second)) building_.materialise(at->second, from);
        const Value value = at->second;
        building_.values[to] = value;
    }

    void add_outputs() {
        if (file_.outputs.empty()) fail(VOLTA_CORRUPT_MODEL, "its graph has no outputs");
        if (file_.outputs.size() > kMostOutputs)
            fail(VOLTA_UNSUPPORTED, "it has more than %zu outputs", kMostOutputs);
        for (const PortView& port : file_.outputs) {
            const auto at = building_.values.find(port.name);
            const ShownName name = shown(port.name);
            if (at == building_.values.end())
                fail(VOLTA_CORRUPT_MODEL, "no node writes the output '%.*s'", name.bytes, name.text);
            if (const char* problem = name_problem(port.name))
                fail(VOLTA_UNSUPPORTED, "the name '%.*s' %s", name.bytes, name.text, problem);
            building_.graph.output(std::pmr::string(port.name, heap_).c_str(),
                                   building_.materialise(at->second, port.name));
        }
    }

    std::pmr::memory_resource* heap_;
    const OnnxOptions& options_;
    FileView file_;
    ExternalFiles files_;
    Building building_;
    std::pmr::map<std::string_view, std::size_t> producer_;
    std::pmr::map<std::string_view, std::int64_t> symbols_;
    std::pmr::vector<Reader> readers_;    // sorted; by becomes_real
    std::pmr::deque<FileView> branches_;  // that were taken: values point to their tensors
    PatternCounts recognised_;
    std::size_t next_prime_ = 0;
    int opset_ = 0;
};

// Names and types of inputs that are no initialisers, or of outputs, and what they become.
void add_ports(std::pmr::string& json, const char* what, const std::pmr::vector<PortView>& ports,
               Importer& importer, bool is_own) {
    const FileView& file = importer.file();
    std::pmr::vector<std::string_view> given(json.get_allocator());
    for (const TensorView& tensor : file.initializers) given.push_back(tensor.name);
    std::sort(given.begin(), given.end());
    json += ", \"";
    json += what;
    json += "\": [";
    const char* separator = "";
    for (const PortView& port : ports) {
        if (&ports == &file.inputs && std::binary_search(given.begin(), given.end(), port.name)) continue;
        const ShownName name = shown(port.name);
        json += separator;
        json += "{\"name\": ";
        add_json_text(json, {name.text, static_cast<std::size_t>(name.bytes)});
        json += ", \"type\": ";
        add_json_text(json, port.other != nullptr ? port.other : type_name(port.type));
        json += ", \"becomes\": ";
        const bool is_input = &ports == &file.inputs;
        const bool real = is_real(port.type) ||
                          (!is_own && (is_input ? importer.becomes_real(port) : importer.became_real(port)));
        add_json_text(json, port.other != nullptr ? "" : real ? "f32" : is_whole(port.type) ? "i32" : "");
        json += '}';
        separator = ", ";
    }
    json += ']';
}

// Operators that were recognised in several nodes, with counts.
void add_recognised(std::pmr::string& json, const PatternCounts& counts) {
    json += ", \"recognised\": [";
    const char* separator = "";
    int rows = 0;
    const PatternRow* const row = pattern_rows(&rows);
    for (int i = 0; i < static_cast<int>(counts.size()); ++i) {
        std::size_t count = 0;  // of all ways of writing it, by the first
        bool is_first = true;
        for (int k = 0; k < rows; ++k) {
            if (row[k].op != row[i].op) continue;
            count += counts[static_cast<std::size_t>(k)];
            is_first = is_first && k >= i;
        }
        if (count == 0 || !is_first) continue;
        json += separator;
        json += "{\"operator\": ";
        add_json_text(json, op_row(row[i].op).name);
        json += ", \"count\": ";
        add_json_number(json, count);
        json += '}';
        separator = ", ";
    }
    json += ']';
}

}  // namespace

HeapPtr<Model> import_onnx(MappedFile&& file, const char* path, const OnnxOptions& options,
                           std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors) {
    const MappedFile held = std::move(file);
    Importer importer(view_of(held), path, options, structures);
    if (HeapPtr<Model> model = importer.restored(held.bytes(), tensors)) return model;
    importer.build();
    return importer.model(tensors);
}

std::pmr::string survey_onnx(const MappedFile& file, const char* path, const OnnxOptions& options,
                             std::pmr::memory_resource* structures) {
    Importer importer(view_of(file), path, options, structures);
    std::pmr::string json(structures);
    std::pmr::map<std::pair<std::string_view, std::string_view>, std::size_t> counts(structures);
    for (const NodeView& node : importer.file().nodes) ++counts[{node.domain, node.op}];
    json += "{\"ir_version\": ";
    add_json_number(json, importer.file().ir_version);
    json += ", \"producer\": ";
    const ShownName producer = shown(importer.file().producer);
    add_json_text(json, {producer.text, static_cast<std::size_t>(producer.bytes)});
    json += ", \"opsets\": {";
    const char* separator = "";
    for (const OpsetView& opset : importer.file().opsets) {
        const ShownName domain = shown(opset.domain.empty() ? "ai.onnx" : opset.domain);
        json += separator;
        add_json_text(json, {domain.text, static_cast<std::size_t>(domain.bytes)});
        json += ": ";
        add_json_number(json, opset.version);
        separator = ", ";
    }
    json += "}, \"nodes\": ";
    add_json_number(json, importer.file().nodes.size());
    json += ", \"operators\": [";
    separator = "";
    for (const auto& [key, count] : counts) {
        const ShownName domain = shown(key.first), op = shown(key.second);
        json += separator;
        json += "{\"operator\": ";
        add_json_text(json, {op.text, static_cast<std::size_t>(op.bytes)});
        json += ", \"domain\": ";
        add_json_text(json, {domain.text, static_cast<std::size_t>(domain.bytes)});
        json += ", \"count\": ";
        add_json_number(json, count);
        json += ", \"imported\": ";
        json += key.first.empty() && find_operator(key.second) != nullptr ? "true" : "false";
        json += '}';
        separator = ", ";
    }
    json += ']';
    bool is_own = false;
    std::pmr::string refused(structures);
    try {
        is_own = importer.restored_graph(file.bytes()) != nullptr;
        if (!is_own) importer.build();
    } catch (const Error& error) {
        refused = error.what();
    }
    add_ports(json, "inputs", importer.file().inputs, importer, is_own);
    add_ports(json, "outputs", importer.file().outputs, importer, is_own);
    json += ", \"volta\": ";
    json += is_own ? "true" : "false";
    add_recognised(json, importer.recognised());
    json += ", \"refused\": ";
    add_json_text(json, refused);
    json += '}';
    return json;
}

}  // namespace volta::onnx
