#include "engine/import/assemble.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>

#include "engine/base/error.h"
#include "engine/import/make_parameter.h"
#include "engine/import/other_tensors.h"
#include "engine/import/weight_shapes.h"
#include "engine/model/text.h"
#include "engine/numerics/double_functions.h"

namespace volta {
namespace {

bool by_place(const Assignment& a, const Assignment& b) {
    return a.slot != b.slot ? a.slot < b.slot : a.span.first < b.span.first;
}

std::pmr::vector<Slot> slots_of(const Graph& graph, std::pmr::memory_resource* heap) {
    const auto layouts = weight_layouts(graph, heap);
    std::pmr::vector<Slot> slots(heap);
    for (const SourceInfo& source : graph.sources) {
        const Node& node = graph.node(source.node);
        if (node.op == Op::parameter)
            slots.push_back({node.name, graph.shape(node.first_output),
                             layouts[static_cast<std::size_t>(node.first_output)]});
    }
    return slots;
}

class Assigner {
  public:
    Assigner(const WeightSource& source, const KeyMap& keys, const Architecture& architecture,
             const std::pmr::vector<Slot>& slots, std::pmr::deque<WeightTensor>& pieces,
             std::pmr::memory_resource* heap)
        : source_(source),
          keys_(keys),
          architecture_(architecture),
          slots_(slots),
          pieces_(pieces),
          by_name_(heap),
          heap_(heap) {
        for (std::size_t i = 0; i < slots.size(); ++i) by_name_.push_back(i);
        std::sort(by_name_.begin(), by_name_.end(),
                  [&](std::size_t a, std::size_t b) { return slots[a].name < slots[b].name; });
    }

    std::pmr::vector<Assignment> assign() {
        std::pmr::vector<Assignment> all(heap_);
        for (const WeightTensor& tensor : source_.tensors) assign(tensor, all);
        std::sort(all.begin(), all.end(), by_place);
        auto next = all.cbegin();
        for (std::size_t slot = 0; slot < slots_.size(); ++slot) check_covered(slot, next, all.cend());
        return all;
    }

  private:
    using Iterator = std::pmr::vector<Assignment>::const_iterator;

    std::optional<std::size_t> find_slot(std::string_view name) const {
        const auto at =
            std::lower_bound(by_name_.begin(), by_name_.end(), name,
                             [&](std::size_t a, std::string_view b) { return slots_[a].name < b; });
        if (at == by_name_.end() || slots_[*at].name != name) return std::nullopt;
        return *at;
    }

    // The model has parameters of the block that this one is of: "block.3.".
    bool has_block(std::string_view name) const {
        constexpr std::string_view kBlock = "block.";
        if (name.substr(0, kBlock.size()) != kBlock) return false;
        const std::string_view block = name.substr(0, name.find('.', kBlock.size()) + 1);
        return std::any_of(slots_.begin(), slots_.end(),
                           [&](const Slot& slot) { return slot.name.substr(0, block.size()) == block; });
    }

    void assign(const WeightTensor& tensor, std::pmr::vector<Assignment>& all) const {
        const ShownName name = shown(tensor.name);
        const auto match = keys_.match(tensor.name, heap_);
        if (!match || match->parameter.empty()) return leave_out(tensor, match);
        auto slot = find_slot(match->parameter);
        if (!slot && match->parameter == "head.weight") {
            slot = embedding_of(tensor);
            if (!slot) return;
        }
        if (!slot && of_another_head(architecture_, match->parameter)) return;
        if (!slot && has_block(match->parameter) && find_other_tensor(tensor) != nullptr)
            return leave_out(tensor, std::nullopt);  // the config says that the block has none of it
        const ShownName ours = shown(match->parameter);
        if (!slot)
            fail(VOLTA_CORRUPT_MODEL, "tensor '%.*s' would be '%.*s', which a model of these sizes has not",
                 name.bytes, name.text, ours.bytes, ours.text);
        if (match->parameter == "head.bias")  // of a BERT: some programs write it under two names
            for (const Assignment& other : all)
                if (other.slot == *slot) return check_same(tensor, *other.tensor, "both are the head's bias");
        if (match->part == Part::by_head) return assign_by_head(tensor, *slot, match->transposed, all);
        if (match->part == Part::last_rows) return assign_last_rows(tensor, *slot, all);
        const ColumnSpan span = columns_of(architecture_, match->part, slots_[*slot].columns());
        check_fits(tensor, slots_[*slot], span, match->transposed);
        all.push_back({*slot, span, match->transposed, &tensor});
    }

    // Pieces of the tensor's rows, each a tensor of its own.
    void assign_by_head(const WeightTensor& tensor, std::size_t slot, bool transposed,
                        std::pmr::vector<Assignment>& all) const {
        const std::int64_t columns = slots_[slot].columns(), pieces = pieces_by_head(architecture_);
        check_fits(tensor, slots_[slot], {0, columns}, transposed);
        const ShownName name = shown(tensor.name);
        if (tensor.shape.rank == 2 ? !transposed : tensor.type->block_values > 1)
            fail(VOLTA_UNSUPPORTED,
                 "tensor '%.*s' has q, k and v of each head side by side, which are not whole rows of it",
                 name.bytes, name.text);
        for (std::int64_t piece = 0; piece < pieces; ++piece) {
            const ColumnSpan span = columns_of_head(architecture_, piece, columns);
            WeightTensor part = tensor;
            part.shape[0] = span.width;
            part.bytes = tensor.bytes / static_cast<std::uint64_t>(pieces);
            part.data = tensor.data + part.bytes * static_cast<std::uint64_t>(piece);
            pieces_.push_back(std::move(part));
            all.push_back({slot, span, transposed, &pieces_.back()});
        }
    }

    void assign_last_rows(const WeightTensor& tensor, std::size_t slot,
                          std::pmr::vector<Assignment>& all) const {
        WeightTensor part = tensor;
        const std::int64_t rows = slots_[slot].rows();
        if (part.shape.rank == 2 && part.shape[0] > rows) {
            const std::uint64_t row = tensor.bytes / static_cast<std::uint64_t>(part.shape[0]);
            part.shape[0] = rows;
            part.bytes = row * static_cast<std::uint64_t>(rows);
            part.data = tensor.data + (tensor.bytes - part.bytes);
        }
        const ColumnSpan span = {0, slots_[slot].columns()};
        check_fits(part, slots_[slot], span, false);
        pieces_.push_back(std::move(part));
        all.push_back({slot, span, false, &pieces_.back()});
    }

    // A tensor that the tables, or the host, say is not needed, or that nobody knows: it must be one whose
    // absence changes no result, as far as can be seen.
    void leave_out(const WeightTensor& tensor, const std::optional<KeyMatch>& match) const {
        const ShownName name = shown(tensor.name);
        if (match && !match->given) return check_unneeded(tensor, match->unneeded);
        if (const OtherTensor* other = find_other_tensor(tensor)) {
            if (is_neutral(tensor, other->neutral)) return;
            fail(VOLTA_UNSUPPORTED, "tensor '%.*s' %s, which no model of Volta does", name.bytes, name.text,
                 other->does);
        }
        if (!match)
            fail(VOLTA_UNSUPPORTED, "tensor '%.*s' is not known; a key map can say which parameter it is",
                 name.bytes, name.text);
    }

    void check_unneeded(const WeightTensor& tensor, Unneeded unneeded) const {
        const Shape& shape = tensor.shape;
        const std::int64_t values = shape.elements();
        const bool square =
            shape.rank >= 2 && shape.last() == shape[shape.rank - 2] && values == shape.last() * shape.last();
        const bool fits = unneeded == Unneeded::mask          ? values == 1 || square
                          : unneeded == Unneeded::positions   ? values == shape.last()
                          : unneeded == Unneeded::frequencies ? are_frequencies(tensor)
                          : unneeded == Unneeded::count       ? values == 1
                                                              : true;
        const ShownName name = shown(tensor.name);
        if (!fits)
            fail(VOLTA_UNSUPPORTED, "tensor '%.*s' of shape %s is not %s, which no model of Volta needs",
                 name.bytes, name.text, to_text(shape).text,
                 unneeded == Unneeded::mask        ? "a mask"
                 : unneeded == Unneeded::positions ? "a row of positions"
                 : unneeded == Unneeded::count     ? "a count"
                                                   : "the frequencies that its rotary positions have");
    }

    // Others than the base gives are those of scaled positions. Wide enough for values of 16 bits.
    bool are_frequencies(const WeightTensor& tensor) const {
        const StoredType& type = *tensor.type;
        const std::int64_t pairs = turning_pairs(architecture_), count = tensor.shape.elements();
        if (pairs == 0 || count != pairs || type.widen == nullptr || type.block_values != 1) return false;
        for (std::int64_t i = 0; i < count; ++i) {
            float value = 0;
            type.widen(tensor.data + i * type.block_bytes, 1, &value);
            const double expected = turning_of(architecture_, i);
            const double distance = std::abs(static_cast<double>(value) - expected);
            if (!(distance <= expected / 200 + 1e-7)) return false;
        }
        return true;
    }

    // Where the embedding of a model whose head is its embedding is assigned to when the file has it under
    // the head's name; nothing when it has both: then they must be the same numbers, or the model is none
    // that Volta can build.
    std::optional<std::size_t> embedding_of(const WeightTensor& head) const {
        const WeightTensor* embedding = WeightShapes(source_, keys_, heap_).find("token_embedding");
        if (embedding == nullptr) return find_slot("token_embedding");
        if (!of_another_head(architecture_, "head.weight"))
            check_same(head, *embedding, "this model's head is its embedding");
        return std::nullopt;
    }

    static void check_fits(const WeightTensor& tensor, const Slot& slot, ColumnSpan span, bool transposed) {
        const ShownName name = shown(tensor.name), ours = shown(slot.name);
        if (tensor.type->widen == nullptr)
            fail(VOLTA_UNSUPPORTED, "tensor '%.*s' is stored as %s, which is not read", name.bytes, name.text,
                 tensor.type->name);
        Shape expected{span.width};
        if (slot.shape.rank == 2)
            expected = transposed ? Shape{span.width, slot.rows()} : Shape{slot.rows(), span.width};
        if (slot.shape.rank > 2) expected = slot.shape;  // in one piece
        if (tensor.shape != expected)
            fail(VOLTA_SHAPE_MISMATCH, "tensor '%.*s' has the shape %s, '%.*s' needs %s", name.bytes,
                 name.text, to_text(tensor.shape).text, ours.bytes, ours.text, to_text(expected).text);
    }

    static void check_same(const WeightTensor& a, const WeightTensor& b, const char* reason) {
        const ShownName name = shown(a.name), other = shown(b.name);
        if (a.type != b.type || a.shape != b.shape ||
            (a.bytes > 0 && std::memcmp(a.data, b.data, a.bytes) != 0))
            fail(VOLTA_UNSUPPORTED, "tensor '%.*s' differs from '%.*s'; %s", name.bytes, name.text,
                 other.bytes, other.text, reason);
    }

    // The assignments of one slot, from `next` on, are all of its columns, each once.
    void check_covered(std::size_t slot, Iterator& next, Iterator end) const {
        std::int64_t column = 0;
        for (; next != end && next->slot == slot; ++next) {
            if (next->span.first > column) fail_missing(slots_[slot], column);
            if (next->span.first < column) fail_twice(slots_[slot], *(next - 1), *next);
            column += next->span.width;
        }
        if (column < slots_[slot].columns()) fail_missing(slots_[slot], column);
    }

    [[noreturn]] void fail_missing(const Slot& slot, std::int64_t column) const {
        std::pmr::string theirs(slot.name, heap_);
        for (const Part part : {Part::up, Part::gate, Part::v, Part::k, Part::q, Part::whole}) {
            const auto name = keys_.name_of(slot.name, part, heap_);
            if (name != slot.name && columns_of(architecture_, part, slot.columns()).first == column)
                theirs = name;
        }
        const ShownName name = shown(theirs), ours = shown(slot.name);
        fail(VOLTA_CORRUPT_MODEL, "tensor '%.*s' is missing ('%.*s' of the model)", name.bytes, name.text,
             ours.bytes, ours.text);
    }

    [[noreturn]] static void fail_twice(const Slot& slot, const Assignment& a, const Assignment& b) {
        const ShownName first = shown(a.tensor->name), second = shown(b.tensor->name),
                        ours = shown(slot.name);
        fail(VOLTA_CORRUPT_MODEL, "the tensors '%.*s' and '%.*s' both are '%.*s'", first.bytes, first.text,
             second.bytes, second.text, ours.bytes, ours.text);
    }

    const WeightSource& source_;
    const KeyMap& keys_;
    const Architecture& architecture_;
    const std::pmr::vector<Slot>& slots_;
    std::pmr::deque<WeightTensor>& pieces_;  // of tensors that lie in several places of a parameter
    std::pmr::vector<std::size_t> by_name_;
    std::pmr::memory_resource* heap_;
};

// The assignments of one slot, from `next` on.
Assignments take_slot(const std::pmr::vector<Assignment>& all, std::size_t slot, std::size_t& next) {
    const std::size_t first = next;
    while (next < all.size() && all[next].slot == slot) ++next;
    return {all.data() + first, all.data() + next};
}

// One line about tensors whose type has values that f32 has not.
void tell_rounded(const std::pmr::vector<Assignment>& assignments, const Log& log) {
    const WeightTensor* first = nullptr;
    std::size_t count = 0;
    for (const Assignment& assignment : assignments) {
        if (!assignment.tensor->type->rounds) continue;
        if (first == nullptr) first = assignment.tensor;
        ++count;
    }
    if (first == nullptr) return;
    const ShownName name = shown(first->name);
    log(VOLTA_LOG_WARNING, "%zu %s of %s and %s rounded to f32, '%.*s' the first", count,
        count == 1 ? "tensor is" : "tensors are", first->type->name, count == 1 ? "was" : "were", name.bytes,
        name.text);
}

// One line about all that were stored, and the one that lost most.
class RoundingReport {
  public:
    void add(const Slot& slot, const Rounding& rounding) {
        if (rounding.of_values == 0) return;  // exact
        all_.add(rounding);
        if (worst_ == nullptr || rounding.share() > worst_share_) {
            worst_ = &slot;
            worst_share_ = rounding.share();
        }
    }
    void tell(DType dtype, const Log& log) const {
        if (worst_ == nullptr) return;
        const ShownName name = shown(worst_->name);
        log(VOLTA_LOG_INFO,
            "weights as %s differ from the file's by %.3g of their root mean square, most in '%.*s', by %.3g",
            dtype_name(dtype), all_.share(), name.bytes, name.text, worst_share_);
    }

  private:
    Rounding all_;
    const Slot* worst_ = nullptr;
    double worst_share_ = 0;
};

void add_parameters(Model& model, const std::pmr::vector<Slot>& slots,
                    const std::pmr::vector<Assignment>& assignments, std::optional<DType> wanted,
                    const Stop& stop, const Log& log) {
    std::pmr::vector<DType> dtypes(model.structures());
    std::size_t next = 0;
    for (std::size_t i = 0; i < slots.size(); ++i)
        dtypes.push_back(choose_dtype(slots[i], take_slot(assignments, i, next), wanted));
    const bool stores = std::any_of(dtypes.begin(), dtypes.end(), is_stored);
    require(
        !wanted || !is_stored(*wanted) || stores,
        "the model has no weight to store as %s: none of its parameters is read by products alone and has "
        "%lld inputs or more",
        wanted ? dtype_name(*wanted) : "", static_cast<long long>(kStoredGroup));
    next = 0;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const Shape& shape = is_stored(dtypes[i]) ? slots[i].stored_shape() : slots[i].shape;
        model.parameters.push_back(
            {std::pmr::string(slots[i].name, model.structures()), dtypes[i], shape, nullptr, Buffer()});
    }
    model.allocate_parameters(stores);  // the last panel may have rows that are none
    RoundingReport report;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        stop.ask("parameter", i, slots.size());
        const Rounding rounding = fill_parameter(slots[i], take_slot(assignments, i, next), dtypes[i],
                                                 model.place_of(i), model.structures(), model.tensors());
        if (is_stored(dtypes[i])) report.add(slots[i], rounding);
    }
    tell_rounded(assignments, log);
    if (wanted) report.tell(*wanted, log);
    if (stores)
        model.graph = stored_graph(model.graph, weight_layouts(model.graph, model.structures()), dtypes,
                                   model.structures());
}

}  // namespace

HeapPtr<Model> assemble(const WeightSource& source, const KeyMap& keys, const Architecture& architecture,
                        Graph&& graph, std::optional<DType> weights, std::pmr::memory_resource* structures,
                        std::pmr::memory_resource* tensors, const Stop& stop, const Log& log) {
    HeapPtr<Model> model = make_on<Model>(structures, structures, tensors);
    model->graph = std::move(graph);
    const std::pmr::vector<Slot> slots = slots_of(model->graph, structures);
    std::pmr::deque<WeightTensor> pieces(structures);
    const auto assignments = Assigner(source, keys, architecture, slots, pieces, structures).assign();
    add_parameters(*model, slots, assignments, weights, stop, log);
    describe(architecture, *model);
    return model;
}

}  // namespace volta
