#include "engine/runtime/gateway.h"

#include <cinttypes>
#include <cstdio>

#include "engine/base/error.h"
#include "engine/base/fp_environment.h"
#include "engine/graph/print.h"
#include "engine/passes/pass.h"
#include "engine/plan/live_bytes.h"
#include "engine/runtime/activation_budget.h"
#include "engine/runtime/profile.h"

namespace volta {

// ---- Program --------------------------------------------------------------------------------------------

Program::Program(HeapPtr<Plan> plan, ExecutablePtr executable, Context* context) noexcept
    : plan_(std::move(plan)),
      executable_(std::move(executable)),
      context_(context),
      facts_(context->structures()) {}

volta_status Program::run(Phase phase, const RunState& state) const noexcept {
    const ContractScope contract;
    context_->pool().begin_hot();
    Profile* const profile = context_->recording();
    const volta_status status =
        profile == nullptr ? executable_->run(phase, state) : run_recorded(phase, state, *profile);
    context_->pool().end_hot();
    return status;
}

volta_status Program::run_training(const RunState& state, TrainingRun& training) const noexcept {
    const ContractScope contract;
    context_->pool().begin_hot();
    Profile* const profile = context_->recording();
    const auto recorded = [&](Phase phase, const RunState& part) noexcept {
        return run_recorded(phase, part, *profile);
    };
    const auto see = [&]() noexcept -> volta_status {
        if (training.seen_bytes == 0) return VOLTA_OK;
        const volta_status status = memory().read_later(training.seen, training.written, training.seen_bytes);
        return status == VOLTA_OK ? memory().wait() : status;
    };
    const volta_status status = profile == nullptr ? executable_->run_training(state, training)
                                                   : run_training_phases(state, training, recorded, see);
    context_->pool().end_hot();
    return status;
}

namespace {

class StepRecorder final : public StepObserver {
  public:
    // `other` observes too; NULL: nobody else does.
    StepRecorder(Profile& profile, const Program& program, StepObserver* other)
        : profile_(profile), program_(program), other_(other) {}
    void begin(std::size_t step) noexcept override { profile_.begin_step(program_, step); }
    void end(std::size_t step) noexcept override {
        profile_.end_step();
        if (other_ != nullptr) other_->end(step);
    }

  private:
    Profile& profile_;
    const Program& program_;
    StepObserver* const other_;
};

}  // namespace

volta_status Program::run_recorded(Phase phase, const RunState& state, Profile& profile) const noexcept {
    StepRecorder recorder(profile, *this, state.observer);
    RunState recorded = state;
    recorded.observer = &recorder;
    const Profile::Place place = profile.begin_phase(*this, phase, state.micro_index);
    const volta_status status = executable_->run(phase, recorded);
    profile.end(place);
    return status;
}

void Program::require_ran(volta_status status) const {
    if (status != VOLTA_OK) fail(status, "%s", context_->plans().device().failure());
}

void Program::require_at_rest() const {
    if (context_->pool().was_left_amid())
        fail(
            VOLTA_INVALID_STATE,
            "another thread was computing with this context when the process forked: here it can be released "
            "alone");
}

void Program::describe() {
    if (!facts_.empty()) return;
    std::pmr::vector<StepFacts> facts(facts_.get_allocator());
    facts.reserve(plan_->steps.size());
    const std::pmr::vector<std::uint64_t> live = live_bytes(*plan_, context_->structures());
    for (std::size_t i = 0; i < plan_->steps.size(); ++i)
        facts.push_back({live[i], node_cost(plan_->graph, plan_->graph.node(plan_->steps[i].node))});
    facts_ = std::move(facts);
}

void Program::keep(const RunState& state) const noexcept {
    if (kept_bytes() == 0) return;
    const ContractScope contract;
    executable_->keep(state);
}

std::pmr::string Program::print(std::pmr::memory_resource* heap) const {
    std::pmr::string text(plan_->text, heap);
    text += "hash ";
    text += to_text(plan_->hash).text;
    char line[256];
    // The processor's text is the same on all machines, and says nothing of them.
    if (memory().is_host()) {
        text += "\nkernels\n";
    } else {
        std::snprintf(line, sizeof line, "\nkernels on %s\n", context_->plans().device().info().name);
        text += line;
    }
    for (std::size_t i = 0; i < plan_->steps.size(); ++i) {
        const Node& node = plan_->graph.nodes[static_cast<std::size_t>(plan_->steps[i].node)];
        std::snprintf(line, sizeof line, "  %zu %%%d %s: %s\n", i, node.first_output, op_row(node.op).name,
                      executable_->kernel_name(i));
        text += line;
    }
    std::snprintf(line, sizeof line, "workspace %zu bytes\n", executable_->workspace_bytes());
    text += line;
    if (kept_bytes() > 0) {
        std::snprintf(line, sizeof line, "kept %zu bytes\n", kept_bytes());
        text += line;
    }
    return text;
}

// ---- PlanCache ------------------------------------------------------------------------------------------

struct PlanCache::Entry {
    Entry(std::pmr::string&& text, Hash128 text_hash, HeapPtr<Plan> plan, ExecutablePtr executable,
          Context* context)
        : key(std::move(text)), hash(text_hash), program(std::move(plan), std::move(executable), context) {}
    std::pmr::string key;  // complete: equal text, equal program
    Hash128 hash;
    Program program;
    bool is_lasting = false;      // somebody has it who does not give it back
    std::uint32_t borrowers = 0;  // who do
};

namespace {

// Everything that a program depends on and that can differ within one context.
std::pmr::string key_of(const Graph& graph, const PrepareOptions& options, const BackendContext& backend,
                        std::uint64_t tuning, std::pmr::memory_resource* heap) {
    char head[128];
    std::snprintf(head, sizeof head,
                  "micro_batches=%" PRIu32 " passes=%08" PRIx32 " keep=%d tuning=%" PRIu64 " tile=",
                  options.micro_batches, options.passes, options.keep_weights, tuning);
    std::pmr::string key(head, heap);
    if (backend.forced_tile != nullptr) key += backend.forced_tile;
    if (backend.forced_choice != nullptr) (key += " choice=") += backend.forced_choice;
    if (options.update_in_backward) key += " updates=early";
    if (options.activation_budget != 0) {
        std::snprintf(head, sizeof head, " activations=%" PRIu64, options.activation_budget);
        key += head;
    }
    key += '\n';
    key += print(graph, heap);
    return key;
}

}  // namespace

namespace {

DevicePtr device_of(Context& context, const ContextOptions& options) {
    DeviceOptions device;
    device.structures = context.structures();
    device.tensors = context.tensors();
    device.host_budget = options.host_budget;
    device.device_budget = options.device_budget;
    device.kernel_folder = options.kernel_folder;
    device.arithmetic = options.arithmetic;
    device.log = context.log();
    return open_device(options.device, device);
}

}  // namespace

PlanCache::PlanCache(Context& context, const ContextOptions& options)
    : context_(context), device_(device_of(context, options)), entries_(context.structures()) {}

PlanCache::~PlanCache() = default;

PlanCache::Entry* PlanCache::find(const std::pmr::string& key, Hash128 hash) const noexcept {
    for (const HeapPtr<Entry>& entry : entries_)
        if (entry->hash == hash && entry->key == key) return entry.get();
    return nullptr;
}

// Once: the host asked for speed and gets the same bits slowly.
void PlanCache::tell_interpreted() noexcept {
    if (told_interpreted_ || context_.isa() == Isa::scalar || context_.code().available()) return;
    if (!context_.memory().is_host()) return;  // nothing runs here
    told_interpreted_ = true;
    context_.log()(VOLTA_LOG_WARNING, "executable memory is refused: kernels are interpreted, which is slow");
}

BackendContext PlanCache::backend_context(const PrepareOptions& options) const {
    BackendContext backend = {};
    backend.isa = context_.isa();
    backend.pool = &context_.pool();
    backend.arena = &context_.code();
    backend.heap = context_.structures();
    backend.forced_tile = context_.forced_tile;
    backend.forced_choice = context_.forced_choice;
    backend.keep_weights = options.keep_weights;
    return backend;
}

void PlanCache::open_tuning_folder(const char* folder) {
    device_->open_tuning_folder(folder, context_.log());
}

void PlanCache::tune(TuneRequest request, const Program* const* programs, std::size_t count) {
    std::pmr::vector<const Executable*> executables(context_.structures());
    for (std::size_t i = 0; i < count; ++i)
        if (programs[i] != nullptr) executables.push_back(&programs[i]->executable());
    request.executables = executables.data();
    request.executable_count = executables.size();
    request.tensors = context_.tensors();
    device_->tune(request, backend_context());
    context_.pool().check_host();
}

std::pmr::string PlanCache::explain(const ExplainRequest& request) {
    std::pmr::string text(context_.structures());
    device_->explain(request, backend_context(), text);
    return text;
}

PlanOptions PlanCache::plan_options(const PrepareOptions& options) const {
    PlanOptions plan;
    plan.micro_batches = options.micro_batches;
    plan.arithmetic = context_.arithmetic();
    plan.update_in_backward = options.update_in_backward;
    plan.order = context_.step_order();
    return plan;
}

HeapPtr<PlanCache::Entry> PlanCache::make(std::pmr::string&& key, Hash128 hash, const Graph& graph,
                                          const PrepareOptions& options) {
    std::pmr::memory_resource* heap = context_.structures();
    const PlanOptions planned = plan_options(options);
    // run_passes verifies its input and every pass's result, make_plan verifies what it made.
    HeapPtr<Plan> plan = options.activation_budget == 0
                             ? make_plan(run_passes(graph, options.passes, heap), planned, heap)
                             : plan_within(graph, options.passes, planned, options.activation_budget, heap);
    ExecutablePtr executable = device_->compile(*plan, backend_context(options));
    tell_interpreted();
    return make_on<Entry>(heap, std::move(key), hash, std::move(plan), std::move(executable), &context_);
}

void PlanCache::describe() {
    for (const HeapPtr<Entry>& entry : entries_) entry->program.describe();
}

PlanCache::Entry& PlanCache::find_or_make(const Graph& graph, const PrepareOptions& options) {
    const ContractScope contract;  // passes fold constants
    std::pmr::string key =
        key_of(graph, options, backend_context(options), device_->tuning_version(), context_.structures());
    const Hash128 hash =
        hash_override ? hash_override(key.data(), key.size()) : hash_bytes(key.data(), key.size());
    if (Entry* known = find(key, hash)) {
        ++hits_;
        return *known;
    }
    HeapPtr<Entry> made = make(std::move(key), hash, graph, options);
    if (context_.recording() != nullptr) made->program.describe();
    entries_.push_back(std::move(made));
    ++misses_;
    return *entries_.back();
}

const Program& PlanCache::prepare(const Graph& graph, const PrepareOptions& options) {
    Entry& entry = find_or_make(graph, options);
    entry.is_lasting = true;
    return entry.program;
}

BorrowedProgram PlanCache::borrow(const Graph& graph, const PrepareOptions& options) {
    Entry& entry = find_or_make(graph, options);
    ++entry.borrowers;
    return BorrowedProgram(*this, entry.program);
}

void PlanCache::give_back(const Program& program) noexcept {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        Entry& entry = *entries_[i];
        if (&entry.program != &program) continue;
        if (context_.has_profile()) entry.is_lasting = true;  // its events point to programs
        if (--entry.borrowers > 0 || entry.is_lasting) return;
        std::swap(entries_[i], entries_.back());
        entries_.pop_back();
        return;
    }
}

BorrowedProgram::~BorrowedProgram() {
    if (program_ != nullptr) of_->give_back(*program_);
}

}  // namespace volta
