// A tape: operators on tensors, recorded as a graph and computed as plans. The same calls give the same bits
// whether each is computed at once, or all together when the host reads a result, or as a session or trainer
// of the same graph: all are graph -> passes -> plan -> gateway.
//
// A record is what is called between two resets. A trace is its structure, kept: the next record that makes
// the same calls walks along it, builds no node and finds its plans there.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/tape/buffer_pool.h"
#include "engine/tape/flush_reason.h"
#include "engine/tape/tape_optimizer.h"
#include "engine/tape/tensor.h"
#include "engine/tape/trace.h"

namespace volta {

struct ParameterGradient;  // engine/graph/gradient.h

struct TapeOptions {
    bool is_eager = true;
    bool one_segment = false;         // a second flush of a record is an error
    std::uint64_t seed = 0;           // of what operators draw
    std::uint64_t most_plans = 4096;  // the one that was used the longest ago makes room for another
};

// Where the host called from; file NULL: unknown.
struct CallPlace {
    const char* file = nullptr;
    std::int32_t line = 0;
};

// The error with the place behind its sentence, if that is known.
Error at_place(const Error& error, CallPlace place);

// One time that a tape computed.
struct FlushEvent {
    FlushReason reason = FlushReason::eager;
    char place[64] = "";
    std::uint64_t record = 0;
    std::uint32_t calls = 0;                          // recorded since the flush before
    std::uint32_t nodes = 0;                          // that ran
    std::uint32_t repeated = 0;                       // of these, how many had run before in this record
    bool was_known = false;                           // the plan was there
    std::uint64_t bytes_read = 0, bytes_written = 0;  // of what lies between plans
    char difference[200] = "";  // of a new plan: the first difference to the trace that came nearest
};

struct TapeCounts {
    std::uint64_t records = 0, calls = 0, flushes = 0, plans_known = 0, plans_made = 0, repeated_nodes = 0;
    std::uint64_t plans_released = 0;
    std::uint64_t by_reason[kFlushReasonCount] = {};
};

class Tape final {
  public:
    Tape(const ContextRef& context, const TapeOptions& options);
    ~Tape();
    Tape(const Tape&) = delete;
    Tape& operator=(const Tape&) = delete;

    // The operator of the call that the trace has next, if it has this name; NULL: look it up.
    const OpRow* expected(const char* op) const;
    // Records an operator; results[0 .. result_count-1] become handles that the tape owns. On failure they
    // are the poison tensor, and the first failure is kept: every later call throws it until reset().
    void apply(const OpRow& row, Tensor* const* inputs, std::size_t input_count, const Attribute* attributes,
               std::size_t attribute_count, Tensor** results, std::size_t result_count, CallPlace place);
    Tensor* detach(Tensor* tensor, CallPlace place);
    // Adds the loss's gradient to that of every tensor that requires one.
    void backward(Tensor* loss, CallPlace place);
    // One update of the optimizer's tensors that have a gradient, computed with all that is recorded.
    struct StepResult {
        std::uint64_t step = 0;
        float loss = 0, gradient_norm = 0;
        double learning_rate = 0;
    };
    StepResult step(TapeOptimizer& optimizer, CallPlace place);
    // Computes the elements of a result or gradient, if they are not there.
    void read(Tensor* tensor, CallPlace place);
    // Computes all results that the host holds.
    void flush(CallPlace place);
    void keep(Tensor* tensor);
    // Ends the record: results are gone but for those that are kept.
    void reset();

    // Ends the record and all results, kept ones apart: nothing is asked of the tape any more.
    void end() noexcept;

    void zero_gradient(Tensor* tensor);
    bool gradients_enabled = true;

    void add(TapeOptimizer& optimizer);
    void remove(const TapeOptimizer& optimizer) noexcept;

    const Trace& trace() const { return *trace_; }
    // What fills source i of the trace in this record; NULL: the tape's own, or nothing yet.
    const std::pmr::vector<Tensor*>& leaves() const { return bound_; }
    bool is_of_record(const Tensor* tensor) const { return is_bound(tensor); }

    // Where the host calls from next, copied, and what it said then: once.
    void come_from(CallPlace place) noexcept;
    CallPlace take_place() noexcept;

    Tensor* poison() const { return poison_; }
    // Throws the failure that the record has, if it has one.
    void require_whole() const;
    // Keeps the first failure, with the place, and throws it.
    [[noreturn]] void fail_record(const Error& error, CallPlace place);

    const TapeOptions& options() const { return options_; }
    const ContextRef& context() const { return context_; }
    const TapeCounts& counts() const { return counts_; }
    // The latest kMostEvents, a ring: the one of number n, from 0 on, lies at n % kMostEvents.
    static constexpr std::size_t kMostEvents = 256;
    const std::pmr::vector<FlushEvent>& events() const { return events_; }
    std::uint64_t event_count() const { return event_count_; }
    std::size_t trace_count() const { return traces_.size(); }
    std::uint64_t plan_count() const { return plan_count_; }
    std::uint64_t held_bytes() const {
        return pool_.free_bytes() + pool_.used_bytes() + arena_.bytes() + workspace_.bytes();
    }

  private:
    struct ValueState {
        Tensor* handle = nullptr;  // of a result, made once per place
        void* data = nullptr;      // NULL: not there
        Buffer buffer;
    };
    // What a trained batch norm has made of a running mean or variance, which takes it over with the next
    // step.
    struct Following {
        Tensor* tensor;
        ValueId value;
    };
    struct PendingGradient {
        Tensor* leaf;
        ValueId value;
        ValueId held;  // of the record: what the gradient's memory has until then; -1: nothing of it
    };

    ValueState& state(ValueId value) { return values_[static_cast<std::size_t>(value)]; }
    const ValueState& state(ValueId value) const { return values_[static_cast<std::size_t>(value)]; }

    // ---- sources ----
    void bind(Tensor* tensor, ValueId value);
    void bind_own(const TraceSource& source);
    void unbind_from(std::size_t source_count) noexcept;
    // Which value of the record the tensor is; -1: none. A tensor names one record; where it names another
    // tape's, this one is searched.
    ValueId value_of(const Tensor* tensor) const {
        if (tensor->tape == this) return tensor->value;
        return tensor->holders == 0 ? -1 : search(tensor);
    }
    ValueId search(const Tensor* tensor) const;
    bool is_bound(const Tensor* tensor) const { return value_of(tensor) >= 0; }
    Tensor* bound_tensor(ValueId source) const;  // the leaf that it is
    void unbind(Tensor* tensor, ValueId value) noexcept;
    void require_own_gradient(const Tensor& leaf, const char* what) const;
    void require_changeable(const Tensor& leaf) const;
    void check_operand(const Tensor* tensor, std::size_t index, const char* op) const;
    bool follows(Tensor* tensor, ValueId expected);
    bool follows_random(ValueId expected);
    ValueId record_leaf(Tensor* tensor);
    ValueId record_own(SourceKind kind, const char* name, DType dtype, const Shape& shape, bool is_state,
                       std::uint32_t optimizer, std::uint32_t index);
    ValueId record_random();

    // ---- calls ----
    // Tries the trace's next call, then those of other traces with the same beginning: `matches(call)` binds
    // sources and says whether it is the one. NULL: there is none, and the trace ends here, for a new call.
    template <class Matches, class Describe>
    const Call* next_call(const Matches& matches, const Describe& describe);
    // For the report: what this record asks for where the trace that it followed has another call.
    void describe_apply(const Call& known, const OpRow& row, Tensor* const* inputs, std::size_t input_count);
    void describe_other(const Call& known, const char* now);
    void begin_trace();
    const Call& complete(Call&& call);
    void grow_values();
    Tensor* hand_out(ValueId value);
    const Call& record_apply(const OpRow& row, Tensor* const* inputs, std::size_t input_count,
                             const Attribute* attributes, std::size_t attribute_count);
    bool matches_apply(const Call& call, const OpRow& row, Tensor* const* inputs, std::size_t input_count,
                       const Attribute* attributes, std::size_t attribute_count);
    void record_batch_norm(Call& call);
    void follow(const Call& call);
    ValueId follower_of(const Tensor* running) const;
    void check_batch_norm(Tensor* const* inputs, std::size_t input_count) const;
    const Call& record_backward(Tensor* loss);
    bool matches_backward(const Call& call, Tensor* loss);
    const Call& record_step(TapeOptimizer& optimizer);
    bool matches_step(const Call& call, TapeOptimizer& optimizer);
    ValueId gradient_before(Tensor* leaf) const;
    PendingGradient* pending(const Tensor* leaf);
    ValueId total(const ParameterGradient& parameter);
    void compute_backward_now(const Call& call, CallPlace place);

    // ---- computing ----
    SegmentRequest& new_request();  // the tape's one, empty: a known record allocates nothing
    void want_call(SegmentRequest& request, const Call& call) const;
    void want_gradients(SegmentRequest& request) const;
    enum class Results : std::uint8_t { kept, kept_and_scalars, all };  // that the host holds
    void want_results(SegmentRequest& request, Results which) const;
    Segment* compute(SegmentRequest& request, FlushReason reason, CallPlace place);
    Segment& find_segment(const SegmentRequest& request, bool* was_known);
    void release_oldest_plan();
    void run(Segment& segment);
    void deliver_gradients();
    std::uint32_t count_repeated(const Segment& segment);
    void note_flush(const Segment& segment, FlushReason reason, CallPlace place, bool was_known);
    void require_available(ValueId value) const;
    void end_record() noexcept;
    StepResult finish_step(const Call& call, TapeOptimizer& optimizer, CallPlace place);
    void check_step(const TapeOptimizer& optimizer) const;
    void store_running_statistics();
    void forget(ValueId value);
    void end_update(const Call& call);

    ContextRef context_;
    TapeOptions options_;
    std::pmr::vector<HeapPtr<Trace>> traces_;
    Trace* trace_ = nullptr;
    std::size_t cursor_ = 0;           // calls of the record so far
    bool has_recorded_ = false;        // this record has added a call to its trace
    std::size_t flushed_ = 0;          // calls of the record at the last flush
    std::size_t segments_run_ = 0;     // in this record
    std::size_t segment_hint_ = 0;     // of the trace: where the next flush is likely to be found
    std::uint64_t plan_count_ = 0;     // segments of all traces
    std::pmr::vector<Tensor*> bound_;  // per source of the record: the leaf, kept alive; NULL: the tape's own
    std::pmr::vector<ValueState> values_;
    std::pmr::vector<char> ran_;  // per node of the record: it has been computed
    ValueId stepped_ = 0;         // values of the record at the last step
    std::pmr::vector<PendingGradient> pending_;
    std::pmr::vector<Following> following_;
    ValueId loss_ = -1;  // of the latest backward()
    ValueId random_ = -1;
    std::uint32_t random_words_[3] = {};
    std::uint32_t streams_ = 0;  // of calls of the record that draw
    std::uint64_t draws_ = 0;    // steps and records that have drawn
    std::pmr::vector<TapeOptimizer*> optimizers_;
    std::uint32_t next_optimizer_ = 1;
    std::optional<Error> failure_;
    char from_file_[80] = "";  // that come_from() has named; empty: unknown
    std::int32_t from_line_ = 0;
    SegmentRequest request_;
    Tensor* poison_ = nullptr;
    BufferPool pool_;
    Block arena_, workspace_;
    std::uint64_t record_ = 1;
    TapeCounts counts_;
    std::pmr::vector<FlushEvent> events_;
    std::uint64_t event_count_ = 0;
    char difference_[200] = "";
};

}  // namespace volta
