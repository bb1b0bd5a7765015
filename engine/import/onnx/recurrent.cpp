// LSTM, GRU and RNN, written out step by step.
#include <algorithm>

#include "engine/import/onnx/rules.h"

namespace volta::onnx {
namespace {

using Whole = std::int64_t;
constexpr Whole kMostTime = 512;

enum class Cell { lstm, gru, rnn };

class Recurrence {
  public:
    explicit Recurrence(Call& call)
        : call_(call),
          name_(call.node().op),
          cell_(name_ == "LSTM"  ? Cell::lstm
                : name_ == "GRU" ? Cell::gru
                                 : Cell::rnn),
          gates_(cell_ == Cell::lstm  ? 4
                 : cell_ == Cell::gru ? 3
                                      : 1) {}

    void run() {
        const std::string_view direction = call_.text("direction");
        directions_ = direction == "bidirectional" ? 2 : 1;
        batch_first_ = call_.opset() >= 14 && call_.integer("layout") != 0;
        check();
        ValueId x = call_.real(0);
        if (batch_first_) x = swapped(x);
        const Extents from = call_.extents_of(x);
        if (from.rank() != 3 || from.is_open(0) || from.now[0] < 1 || from.now[0] > kMostTime)
            call_.refuse("its input is %s; 1 to %lld known steps are imported", to_text(from.now).text,
                         static_cast<long long>(kMostTime));
        steps_ = from.now[0];
        std::pmr::vector<ValueId> all(call_.heap()), last(call_.heap()), cells(call_.heap());
        for (int d = 0; d < directions_; ++d) {
            const bool reverse = direction == "reverse" || d == 1;
            run_direction(x, d, reverse);
            all.push_back(joined(outputs_, 0));  // [time, batch, H]
            last.push_back(state_);
            cells.push_back(memory_);
        }
        give_results(all, last, cells);
    }

  private:
    void check() {
        for (const char* name : {"activation_alpha", "activation_beta", "clip"})
            if (call_.given(name)) call_.refuse("it has the attribute '%s'", name);
        std::pmr::vector<std::string_view> functions(call_.heap());
        if (const AttributeView* attribute = call_.find("activations")) texts_of(*attribute, functions);
        constexpr std::string_view kLstm[] = {"Sigmoid", "Tanh", "Tanh"}, kRnn[] = {"Tanh"};
        const std::string_view* const usual = cell_ == Cell::rnn ? kRnn : kLstm;
        const std::size_t each = cell_ == Cell::lstm ? 3 : cell_ == Cell::gru ? 2 : 1;
        for (std::size_t i = 0; i < functions.size(); ++i)
            if (functions[i] != usual[i % each]) call_.refuse("its activations are not the usual ones");
        if (cell_ == Cell::lstm && call_.integer("input_forget") != 0) call_.refuse("its input_forget is 1");
        hidden_ = call_.extents(2).now.last();
        const Extents w = call_.extents(1), r = call_.extents(2);
        if (w.rank() != 3 || r.rank() != 3 || w.has_open() || r.has_open() || w.now[0] != directions_ ||
            r.now != Shape({directions_, gates_ * hidden_, hidden_}) || w.now[1] != gates_ * hidden_)
            call_.refuse("its weights are %s and %s", to_text(w.now).text, to_text(r.now).text);
        if (call_.has(4)) {
            const Extents x = call_.extents(0);
            const Whole time = x.now[batch_first_ ? 1 : 0];
            for (const Whole length : call_.integers_in(4, "sequence_lens"))
                if (length != time) call_.refuse("its sequences have different lengths");
        }
    }

    ValueId swapped(ValueId x) {
        std::pmr::vector<Whole> order({1, 0, 2}, call_.heap());
        return call_.transpose(x, order);
    }
    ValueId part(ValueId x, int axis, Whole begin, Whole count) {
        const Extents from = call_.extents_of(x);
        if (begin == 0 && !from.is_open(axis) && count == from.now[axis]) return x;  // a weight stays one
        return call_.apply(Op::slice, {x},
                           {number(Attr::axis, axis), number(Attr::begin, static_cast<double>(begin)),
                            number(Attr::end, static_cast<double>(begin + count))});
    }
    // Without its axis of one element.
    ValueId squeezed(ValueId x, int axis) {
        const Extents from = call_.extents_of(x);
        Extents to;
        for (int k = 0; k < from.rank(); ++k)
            if (k != axis) to.append(from, k);
        return call_.reshape(x, to);
    }
    ValueId unsqueezed(ValueId x, int axis) {
        const Extents from = call_.extents_of(x);
        Extents to;
        for (int k = 0; k <= from.rank(); ++k) {
            if (k == axis) to.append(1);
            if (k < from.rank()) to.append(from, k);
        }
        return call_.reshape(x, to);
    }
    ValueId joined(const std::pmr::vector<ValueId>& parts, int axis) {
        if (parts.size() == 1) return parts[0];
        const Attribute attribute = number(Attr::axis, axis);
        return call_.graph().apply(Op::concat, parts.data(), static_cast<int>(parts.size()), &attribute, 1);
    }
    ValueId of_direction(ValueId x, int d) { return squeezed(part(x, 0, d, 1), 0); }
    // As exporters write it, for as many sequences as there are.
    bool is_zero(int input) {
        if (!call_.is_known(input)) return false;
        const KnownPair& known = *call_.find_known(input);
        for (const int lane : {0, 1})
            for (const double element : known.at(lane).real)
                if (element != 0) return false;
        return true;
    }
    ValueId initial(int input, int d) {
        if (!call_.has(input) || is_zero(input)) return -1;
        return squeezed(part(call_.real(input), batch_first_ ? 1 : 0, d, 1), batch_first_ ? 1 : 0);
    }
    ValueId product(ValueId x, ValueId w) {
        return call_.apply(Op::matmul, {x, w}, {number(Attr::transpose_b, 1)});
    }
    ValueId add(ValueId a, ValueId b) { return call_.apply(Op::add, {a, b}); }
    ValueId mul(ValueId a, ValueId b) { return call_.apply(Op::mul, {a, b}); }
    ValueId sigmoid(ValueId x) { return call_.apply(Op::sigmoid, {x}); }
    ValueId tanh(ValueId x) { return call_.apply(Op::tanh, {x}); }
    ValueId gate(ValueId x, Whole index) { return part(x, 1, index * hidden_, hidden_); }

    void run_direction(ValueId x, int d, bool reverse) {
        const ValueId w = of_direction(call_.real(1), d);
        recurrent_ = of_direction(call_.real(2), d);
        ValueId projected = product(x, w);
        own_bias_ = -1;
        if (call_.has(3)) {
            const ValueId biases = of_direction(call_.real(3), d);
            const Whole width = gates_ * hidden_;
            ValueId of_state = part(biases, 0, width, width);
            projected = add(projected, part(biases, 0, 0, width));
            if (cell_ == Cell::gru && call_.integer("linear_before_reset") != 0)
                own_bias_ = of_state;  // inside the reset
            else
                projected = add(projected, of_state);
        }
        peepholes_ = cell_ == Cell::lstm && call_.has(7) ? of_direction(call_.real(7), d) : -1;
        state_ = initial(5, d);
        memory_ = cell_ == Cell::lstm ? initial(6, d) : -1;
        outputs_.assign(static_cast<std::size_t>(steps_), -1);
        for (Whole i = 0; i < steps_; ++i) {
            const Whole t = reverse ? steps_ - 1 - i : i;
            const ValueId now = squeezed(part(projected, 0, t, 1), 0);  // [batch, gates * H]
            if (cell_ == Cell::lstm)
                lstm(now);
            else if (cell_ == Cell::gru)
                gru(now);
            else
                state_ = tanh(state_ < 0 ? now : add(now, product(state_, recurrent_)));
            outputs_[static_cast<std::size_t>(t)] = unsqueezed(state_, 0);
        }
    }

    ValueId peephole(ValueId sum, Whole index, ValueId memory) {
        if (peepholes_ < 0 || memory < 0) return sum;
        return add(sum, mul(part(peepholes_, 0, index * hidden_, hidden_), memory));
    }

    // Gates in the order i, o, f, c.
    void lstm(ValueId now) {
        const ValueId sums = state_ < 0 ? now : add(now, product(state_, recurrent_));
        const ValueId input = sigmoid(peephole(gate(sums, 0), 0, memory_));
        const ValueId forget = sigmoid(peephole(gate(sums, 2), 2, memory_));
        const ValueId fresh = mul(input, tanh(gate(sums, 3)));
        memory_ = memory_ < 0 ? fresh : add(mul(forget, memory_), fresh);
        const ValueId output = sigmoid(peephole(gate(sums, 1), 1, memory_));
        state_ = mul(output, tanh(memory_));
    }

    // Gates in the order z, r, h.
    void gru(ValueId now) {
        const bool linear = call_.integer("linear_before_reset") != 0;
        const auto weight = [&](Whole index) { return part(recurrent_, 0, index * hidden_, hidden_); };
        const auto bias = [&](ValueId x, Whole index) {
            return own_bias_ < 0 ? x : add(x, part(own_bias_, 0, index * hidden_, hidden_));
        };
        const auto from_state = [&](ValueId x, Whole index) {
            const ValueId sum = bias(x, index);
            return state_ < 0 ? sum : add(sum, product(state_, weight(index)));
        };
        const ValueId update = sigmoid(from_state(gate(now, 0), 0));
        const ValueId reset = sigmoid(from_state(gate(now, 1), 1));
        ValueId fresh = gate(now, 2);
        if (linear && (state_ >= 0 || own_bias_ >= 0)) {
            ValueId inner = state_ < 0 ? -1 : product(state_, weight(2));
            if (inner < 0)
                inner = part(own_bias_, 0, 2 * hidden_, hidden_);
            else
                inner = bias(inner, 2);
            fresh = add(fresh, mul(reset, inner));
        } else if (state_ >= 0) {
            fresh = add(fresh, product(mul(reset, state_), weight(2)));
        }
        fresh = mul(call_.apply(Op::sub, {call_.scalar(1), update}), tanh(fresh));
        state_ = state_ < 0 ? fresh : add(fresh, mul(update, state_));
    }

    void give_results(const std::pmr::vector<ValueId>& all, const std::pmr::vector<ValueId>& last,
                      const std::pmr::vector<ValueId>& cells) {
        // [time, directions, batch, H], or batch first [batch, time, directions, H].
        const auto stacked = [&](const std::pmr::vector<ValueId>& parts, int axis) {
            std::pmr::vector<ValueId> apart(call_.heap());
            for (const ValueId one : parts) apart.push_back(unsqueezed(one, axis));
            return joined(apart, axis);
        };
        ValueId y = stacked(all, 1);
        if (batch_first_) y = call_.transpose(y, std::pmr::vector<Whole>({2, 0, 1, 3}, call_.heap()));
        call_.give(0, y, call_.type(0));
        call_.give(1, stacked(last, batch_first_ ? 1 : 0), call_.type(0));
        if (cell_ == Cell::lstm) call_.give(2, stacked(cells, batch_first_ ? 1 : 0), call_.type(0));
    }

    Call& call_;
    std::string_view name_;
    Cell cell_;
    Whole gates_, hidden_ = 0, steps_ = 0;
    int directions_ = 1;
    bool batch_first_ = false;
    ValueId recurrent_ = -1, own_bias_ = -1, peepholes_ = -1, state_ = -1, memory_ = -1;
    std::pmr::vector<ValueId> outputs_{call_.heap()};
};

}  // namespace

namespace build {

void recurrent(Call& call) { Recurrence(call).run(); }

}  // namespace build
}  // namespace volta::onnx
