#include "engine/runtime/trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "engine/base/error.h"
#include "engine/base/format.h"
#include "engine/base/fp_environment.h"
#include "engine/graph/step_input.h"
#include "engine/model/gpt.h"
#include "engine/model/model_file.h"
#include "engine/plan/memory_planner.h"
#include "engine/runtime/checkpoint.h"
#include "engine/runtime/loss.h"
#include "engine/runtime/packed_graph.h"
#include "engine/runtime/profile.h"
#include "engine/runtime/save_parts.h"
#include "engine/runtime/token_loss.h"
#include "engine/runtime/training_graph.h"
#include "engine/runtime/training_plan.h"

namespace volta {

namespace {

// Everything of a model but its values.
void copy_description(const Model& from, Model& to, std::pmr::memory_resource* heap) {
    to.graph = Graph(from.graph, heap);
    for (const NamedTensor& parameter : from.parameters) {
        NamedTensor copy{std::pmr::string(parameter.name, heap), parameter.dtype, parameter.shape, nullptr,
                         Buffer()};
        copy.is_lent = parameter.is_lent;
        to.parameters.push_back(std::move(copy));
    }
    to.base = from.base;
    if (from.tokenizer) to.tokenizer.emplace(*from.tokenizer, heap);
    for (const Metadata& entry : from.metadata) to.set_metadata(entry.key.c_str(), entry.value.c_str());
    to.arithmetic = from.arithmetic;
}

// Of each value of the plan's graph: whether it is a parameter that has a gradient or an update.
std::pmr::vector<bool> trained_values(const Plan& plan) {
    const Graph& graph = plan.graph;
    std::pmr::vector<bool> trained(graph.values.size(), false, graph.heap());
    for (const Node& node : graph.nodes)
        if (op_row(node.op).lowering == Lowering::update && node.op != Op::assign)
            trained[static_cast<std::size_t>(node.inputs[0])] = true;
    for (const Region& region : plan.regions) {
        if (region.kind != RegionKind::gradient) continue;
        const ValueId parameter = graph.find_source(region.name.c_str() + std::strlen(kGradient));
        if (parameter >= 0) trained[static_cast<std::size_t>(parameter)] = true;
    }
    return trained;
}

Shape times(const Shape& shape, std::uint32_t micro_batches) {
    Shape whole = shape;
    if (whole.rank > 0) whole[0] *= micro_batches;
    return whole;
}

}  // namespace

Trainer::Trainer(const ContextRef& context, const ModelRef& model, TrainerOptions options)
    : context_(context),
      model_(model),
      description_(context->structures(), context->tensors()),
      options_(std::move(options)),
      programs_(prepare_training(*context, *model, options_)),
      memory_(programs_.step, context->structures()),
      fetched_(memory_.program().plan().regions.size(), context->structures()),
      fetched_states_(context->structures()),
      input_regions_(context->structures()),
      parameter_regions_(context->structures()),
      trained_(context->structures()),
      extents_(context->structures()),
      frozen_(context->structures()),
      plan_text_(context->structures()) {
    std::pmr::memory_resource* heap = context->structures();
    copy_description(*model, description_, heap);
    for (const Shape& shape : options_.input_shapes) {
        require(options_.spec.micro_batches == 1 || shape.rank > 0,
                "an input of rank 0 cannot be cut into micro-batches");
        extents_.insert(extents_.end(), shape.extent, shape.extent + shape.rank);
    }
    for (const std::int32_t place : options_.spec.frozen)
        frozen_.push_back(description_.parameters[static_cast<std::size_t>(place)].name.c_str());
    lend_others(*model, options_, memory_);
    if (programs_.norm != nullptr) norm_.emplace(*programs_.norm, memory_, heap);
    if (options_.shards > 1) sharded_.emplace(*context, options_, memory_);
    lend_states();
    if (sharded_) sharded_->join(*model, options_);
    if (sharded_) sharded_->require_room();
    memory_.allocate();
    if (norm_) norm_->allocate();
    if (sharded_) sharded_->allocate();
    for (ValueId input : host_inputs(model->graph, heap))
        input_regions_.push_back(region(RegionKind::input, model->graph.producer(input).name.c_str()));
    if (options_.packed) input_regions_.push_back(region(RegionKind::input, kStartsInput));
    targets_region_ = region(RegionKind::input, "targets");
    const Plan& plan = memory_.program().plan();
    const std::pmr::vector<bool> trained = trained_values(plan);
    for (const NamedTensor& parameter : model->parameters) {
        const int own = region(RegionKind::parameter, parameter.name.c_str());
        parameter_regions_.push_back(own);
        if (!is_in_place(parameter, memory_.program()))
            memory_.store(static_cast<std::size_t>(own), parameter.data);
        if (trained[static_cast<std::size_t>(plan.regions[static_cast<std::size_t>(own)].source)])
            trained_.emplace_back(parameter.name);
    }
}

void Trainer::lend_states() {
    if (options_.state_folder.empty()) return;
    ProgramMemory& memory = update_memory();
    const auto& regions = memory.program().plan().regions;
    std::uint64_t bytes = 0;
    const auto for_each_state = [&](const auto& visit) {
        for (std::size_t i = 0; i < regions.size(); ++i)
            if (regions[i].kind == RegionKind::state) visit(i);
    };
    for_each_state([&](std::size_t i) { bytes += padded(regions[i].bytes); });
    states_ = ScratchFile(options_.state_folder.c_str(), bytes, context_->structures());
    std::uint64_t offset = 0;
    for_each_state([&](std::size_t i) {
        memory.lend(i, states_.data() + offset);
        offset += padded(regions[i].bytes);
    });
}

int Trainer::region(RegionKind kind, const char* name) const {
    const int found = memory_.find(kind, name);
    if (found < 0) fail(VOLTA_INTERNAL, "the training plan has no region %s", name);
    return found;
}

const void* Trainer::fetch(int region) const {
    require_whole();
    const auto index = static_cast<std::size_t>(region);
    return memory_.fetch(index, fetched_[index]);
}

const Model& Trainer::described() const {
    for (std::size_t i = 0; i < parameter_regions_.size(); ++i)
        description_.parameters[i].data = const_cast<void*>(fetch(parameter_regions_[i]));
    return description_;
}

Trainer::Lent Trainer::lend(int region) const {
    const std::uint64_t bytes = memory_.program().plan().regions[static_cast<std::size_t>(region)].bytes;
    return {static_cast<const float*>(fetch(region)), static_cast<std::size_t>(bytes / sizeof(float))};
}

// What loss and gradient of the whole step are divided by: elements, or targets that count, each with its
// class's weight.
double Trainer::count_targets(const void* first) const {
    const Region& region = memory_.program().plan().regions[static_cast<std::size_t>(targets_region_)];
    const std::uint64_t elements = region.bytes / sizeof(float);
    if (!loss_row(options_.spec.loss).has_classes) return static_cast<double>(elements);
    const auto* targets = static_cast<const std::int32_t*>(first);
    const auto& weights = options_.spec.class_weights;
    if (weights.empty()) {
        std::uint64_t count = 0;
        for (std::uint64_t i = 0; i < elements; ++i) count += targets[i] >= 0;
        return static_cast<double>(count);
    }
    double sum = 0;
    for (std::uint64_t i = 0; i < elements; ++i)
        if (targets[i] >= 0)
            sum += static_cast<double>(static_cast<float>(weights[static_cast<std::size_t>(targets[i])]));
    return sum;
}

double Trainer::agree_on_count() {
    if (!sharded_) return count_targets(given(targets_region_));
    const auto* targets = static_cast<const unsigned char*>(given(targets_region_));
    const std::uint64_t bytes = given_bytes(targets_region_) / options_.local_shards();
    for (std::uint32_t shard = 0; shard < options_.local_shards(); ++shard)
        sharded_->counts()[shard] = count_targets(targets + shard * bytes);
    return sharded_->add_counts(context_->stop().reason() != Stop::Reason::none);
}

void Trainer::write_step_inputs(double count, double learning_rate, double beta1_product,
                                double beta2_product) {
    require(count > 0, "step %llu has no target that counts: all are -1%s",
            static_cast<unsigned long long>(step_ + 1),
            options_.spec.class_weights.empty() ? "" : " or of classes without weight");
    const double factor = loss_row(options_.spec.loss).slope;
    *memory_.at<float>(region(RegionKind::input, name_of(StepInput::gradient_scale))) =
        static_cast<float>(factor / count);
    ProgramMemory& update = update_memory();
    const auto of_update = [&](StepInput input) {
        return update.at<float>(update.find(RegionKind::input, name_of(input)));
    };
    *of_update(StepInput::count) = static_cast<float>(count);

    const Hyper hyper{learning_rate,         options_.beta1,    options_.beta2, options_.epsilon,
                      options_.weight_decay, options_.momentum, beta1_product,  beta2_product};
    const OptimizerRow& optimizer = optimizer_row(options_.spec.optimizer, options_.spec.has_momentum);
    optimizer.factors(hyper, options_.weight_decay, of_update(StepInput::factors));
    optimizer.factors(hyper, 0, of_update(StepInput::factors_plain));

    const int random = memory_.find(RegionKind::input, name_of(StepInput::random));
    if (random < 0) return;
    auto* words = memory_.at<std::uint32_t>(random);
    words[0] = static_cast<std::uint32_t>(options_.seed);
    words[1] = static_cast<std::uint32_t>(options_.seed >> 32);
    words[2] = static_cast<std::uint32_t>(step_);
}

// Names what is not finite. The sums of squares are one per gradient: they tell which tensor it is.
void Trainer::check_finite(const StepReport& report) {
    char text[256] = "";
    const auto step = static_cast<unsigned long long>(report.step);
    if (!std::isfinite(report.loss)) {
        const auto loss = static_cast<double>(report.loss);
        if (std::isnan(loss))  // printf would tell its sign, which says nothing
            std::snprintf(text, sizeof text, "step %llu: the loss is nan (not a number)", step);
        else
            format_text(text, sizeof text, "step %llu: the loss is %g", step, loss);
    } else if (!std::isfinite(report.gradient_norm)) {
        const ProgramMemory& results = result_memory();
        const float* sums = sharded_ ? sharded_->square_sums()
                                     : results.at<float>(results.find(RegionKind::output, "square_sums"));
        std::size_t tensor = 0;
        while (tensor < trained_.size() && std::isfinite(sums[tensor])) ++tensor;
        const char* name = tensor < trained_.size() ? trained_[tensor].c_str() : "all parameters together";
        std::snprintf(text, sizeof text,
                      "step %llu: the gradient of %s has a sum of squares that is not finite", step, name);
    } else {
        return;
    }
    if (options_.nonfinite == VOLTA_NONFINITE_STOP) {
        if (options_.spec.update_in_backward && !norm_) tear(VOLTA_NOT_FINITE, text);
        fail(VOLTA_NOT_FINITE, "%s", text);
    }
    context_->log()(VOLTA_LOG_WARNING, "%s", text);
}

// The parameters are the context's from now on. They are numbers, which any level may go on from; that a run
// is no longer of one level is said.
void Trainer::note_arithmetic() {
    const Arithmetic before = description_.arithmetic, now = context_->arithmetic();
    if (now == before) return;
    description_.arithmetic = now;
    if (step_ == 0) return;  // the run begins
    context_->log()(
        VOLTA_LOG_WARNING,
        "the checkpoint was trained at level %s in precision %s, and goes on at level %s in precision %s",
        level_name(before.level), precision_name(before.precision), level_name(now.level),
        precision_name(now.precision));
}

void Trainer::require_whole() const {
    if (torn_) throw Error(*torn_);
}

namespace {

// Whether a step goes on between its phases, where nothing of the trainer has changed: unless the host wants
// an end, or its threads have failed.
class StepQuestions {
  public:
    StepQuestions(Context& context, std::uint32_t micro_batches)
        : context_(context), micro_batches_(micro_batches) {}
    void ask(std::uint32_t micro_batch) {
        const bool is_update = micro_batch == micro_batches_;
        context_.stop().ask(is_update ? "the update" : "micro-batch", micro_batch,
                            is_update ? 0 : micro_batches_);
        context_.pool().check_host();
    }
    static bool goes_on(void* self, std::uint32_t micro_batch) noexcept {
        StepQuestions& questions = *static_cast<StepQuestions*>(self);
        try {
            questions.ask(micro_batch);
        } catch (const Error& error) {
            questions.answer_.emplace(error);
        }
        return !questions.answer_;
    }
    const std::optional<Error>& answer() const { return answer_; }

  private:
    Context& context_;
    const std::uint32_t micro_batches_;
    std::optional<Error> answer_;
};

}  // namespace

// Some parameters may have made a step that others have not.
void Trainer::tear(volta_status status, const char* what) {
    char text[640];
    std::snprintf(text, sizeof text,
                  "step %llu failed while it changed the parameters, go on from a checkpoint: %s",
                  static_cast<unsigned long long>(step_ + 1), what);
    torn_.emplace(status, text);
    throw Error(*torn_);
}

// Where a step may be tried again after a failure, nothing of the trainer has changed.
void Trainer::run_phases() {
    std::array<int, 2> finite = {-1, -1};
    if (options_.nonfinite == VOLTA_NONFINITE_STOP)
        finite = {region(RegionKind::output, "loss"), region(RegionKind::output, "gradient_norm")};
    StepQuestions questions(*context_, options_.spec.micro_batches);
    questions.ask(0);
    TrainingRun training;
    if (!options_.spec.update_in_backward) training.goes_on = StepQuestions::goes_on;  // else it has changed
    training.user = &questions;
    try {
        memory_.run_training(finite, training);
    } catch (const Error& error) {
        if (questions.answer()) throw Error(*questions.answer());
        if (!training.is_updating && !options_.spec.update_in_backward) throw;
        tear(error.status(), error.what());
    }
}

// All is known before anything changes: the norm, and whether it is finite. Only the second pass tears.
void Trainer::run_two_passes(StepReport& report) {
    StepQuestions questions(*context_, 1);
    questions.ask(0);
    norm_->run();
    read_results(report);
    check_finite(report);
    questions.ask(1);
    norm_->tell_clip_factor();
    TrainingRun training;
    try {
        memory_.run_training({-1, -1}, training);
    } catch (const Error& error) {
        tear(error.status(), error.what());
    }
}

void Trainer::read_results(StepReport& report) const {
    const ProgramMemory& results = result_memory();
    report.loss = *results.at<float>(results.find(RegionKind::output, "loss"));
    report.gradient_norm = *results.at<float>(results.find(RegionKind::output, "gradient_norm"));
}

// A rank that fails alone tells the others, who wait for it.
void Trainer::run_shards(StepReport& report) {
    bool is_updating = false;
    try {
        sharded_->compute();
        read_results(report);
        check_finite(report);
        is_updating = true;
        sharded_->apply();
        report.wait_seconds = sharded_->times().wait;
        report.exchange_seconds = sharded_->times().exchange;
    } catch (const Error& error) {
        if (!is_updating && error.status() == VOLTA_NOT_FINITE) throw;  // as on all ranks
        sharded_->leave(error.what());
        if (!is_updating) throw;
        tear(error.status(), error.what());
    }
}

void Trainer::extend(std::uint64_t steps) {
    std::uint64_t& planned = options_.schedule.steps;
    require(planned != 0, "the run has no planned end to be extended");
    require(steps >= planned && steps < (std::uint64_t{1} << 32),
            "steps is %llu, it must be at least the %llu that are planned and below 2^32",
            static_cast<unsigned long long>(steps), static_cast<unsigned long long>(planned));
    planned = steps;
}

// The step on what stands in the input and target regions.
StepReport Trainer::run_step() {
    require_whole();
    require(step_ < 0xffffffffu, "the trainer has made 2^32 - 1 steps, the most there can be");
    const ProfileCall call(*context_, "train_step", static_cast<std::int64_t>(step_ + 1));
    const ContractScope contract;
    if (sharded_)
        sharded_->check_inputs();
    else
        check_limits(memory_);
    for (Block& copy : fetched_) copy = Block();  // a device's: the host had them until now
    fetched_states_.clear();
    StepReport report;
    report.step = step_ + 1;
    report.learning_rate = learning_rate_at(options_.schedule, step_);
    const double beta1_product = beta1_product_ * options_.beta1,
                 beta2_product = beta2_product_ * options_.beta2;
    write_step_inputs(agree_on_count(), report.learning_rate, beta1_product, beta2_product);

    if (sharded_) {
        run_shards(report);
    } else if (norm_) {
        run_two_passes(report);
    } else {
        run_phases();
        read_results(report);
        check_finite(report);  // where it throws the update has changed nothing
    }

    note_arithmetic();
    step_ += 1;
    beta1_product_ = beta1_product;
    beta2_product_ = beta2_product;
    context_->pool().check_host();  // the step is made, whatever happened in its update
    return report;
}

std::uint64_t Trainer::given_bytes(int region) const {
    const std::uint64_t of_plan = memory_.program().plan().regions[static_cast<std::size_t>(region)].bytes;
    return of_plan * (sharded_ ? options_.local_shards() : 1);
}

Trainer::Rows Trainer::rows() const {
    const auto& shapes = options_.input_shapes;
    require(!shapes.empty() && shapes[0].rank > 0, "the model has no input with rows");
    const std::uint64_t of_shard = static_cast<std::uint64_t>(shapes[0][0]) * options_.spec.micro_batches;
    const std::uint32_t shards = options_.local_shards();
    return {of_shard * shards * (options_.group ? options_.group->rank() : 0), of_shard * shards};
}

StepReport Trainer::step(const TensorView* const* inputs, std::size_t input_count,
                         const TensorView& targets) {
    require(input_count == input_regions_.size(), "%zu inputs are given, %s %zu", input_count,
            options_.packed ? "tokens and where their documents begin are" : "the model has",
            input_regions_.size());
    const Plan& plan = memory_.program().plan();
    const auto take = [&](const char* what, std::size_t index, int to, const TensorView& tensor) {
        const Region& place = plan.regions[static_cast<std::size_t>(to)];
        const Value& value = plan.graph.value(place.source);
        check_tensor(what, index, value.dtype,
                     times(value.shape, options_.spec.micro_batches * options_.shards), tensor);
        const std::uint64_t bytes = given_bytes(to), rank = options_.group ? options_.group->rank() : 0;
        const auto* const own = static_cast<const unsigned char*>(tensor.data) + rank * bytes;
        if (place.bytes != 0) std::memcpy(given(to), own, bytes);
    };
    for (std::size_t i = 0; i < input_count; ++i) take("input", i, input_regions_[i], *inputs[i]);
    take("targets", 0, targets_region_, targets);
    if (options_.packed) {
        const Shape& rows = inputs[1]->shape;
        check_starts(static_cast<const std::int32_t*>(given(input_regions_[1])),
                     rows[0] * options_.local_shards() / options_.shards, rows[1]);
    }
    return run_step();
}

void Trainer::set_tokens(const std::int32_t* tokens, std::size_t count) {
    require(options_.spec.loss == VOLTA_LOSS_CROSS_ENTROPY, "a token stream needs the cross-entropy loss");
    require(!options_.packed, "a token stream has no documents, and the trainer packs them");
    const LanguageModel shape = language_model(description_.graph);
    const std::int64_t rows = options_.input_shapes[0][0], time = options_.input_shapes[0][1];
    require(rows > 0 && time > 0, "a batch of %lld sequences of %lld tokens has nothing to learn from",
            static_cast<long long>(rows), static_cast<long long>(time));
    // Targets stand where the loss's output has a prediction: one for each token, or the stream does not fit.
    const Plan& plan = memory_.program().plan();
    const Value& targets = plan.graph.value(plan.regions[static_cast<std::size_t>(targets_region_)].source);
    require(targets.shape == Shape{rows, time},
            "a token stream needs a target for each token: those are %s, of %s tokens",
            to_text(targets.shape).text, to_text(Shape{rows, time}).text);
    TokenStream stream(tokens, count, time, shape.vocabulary, options_.seed, context_->tensors());
    const Hash128 hash = hash_bytes(tokens, count * sizeof(std::int32_t));
    if (resumed_) {
        require(hash == resumed_->hash,
                "the text is not the one that the checkpoint was trained on (%s, now %s)",
                to_text(resumed_->hash).text, to_text(hash).text);
        stream.set(resumed_->epoch, resumed_->cursor);
        resumed_.reset();
    }
    stream_.reset();
    stream_.emplace(std::move(stream));
    stream_bytes_ = TokenStream::bytes_for(count, time);
    stream_hash_ = hash;
}

StepReport Trainer::step_tokens() {
    if (!stream_) fail(VOLTA_INVALID_STATE, "the trainer has no tokens: call volta_trainer_set_tokens first");
    const std::uint64_t epoch = stream_->epoch(), cursor = stream_->cursor(), made = step_;
    const std::int64_t of_shard = options_.input_shapes[0][0] * options_.spec.micro_batches;
    const Rows own = rows();
    const auto first = static_cast<std::int64_t>(own.first), count = static_cast<std::int64_t>(own.count);
    try {
        stream_->skip(first);
        stream_->next(count, static_cast<std::int32_t*>(given(input_regions_[0])),
                      static_cast<std::int32_t*>(given(targets_region_)));
        stream_->skip(of_shard * options_.shards - first - count);
        return run_step();
    } catch (...) {
        if (step_ == made) stream_->set(epoch, cursor);  // a step that failed has read nothing
        throw;
    }
}

double Trainer::evaluate_tokens(const std::int32_t* tokens, std::size_t count) {
    require_whole();
    const LanguageModel shape = language_model(description_.graph);
    TokenLossJob job = {};
    job.context = context_.get();
    job.graph = &description_.graph;
    job.time = std::min(shape.context, options_.input_shapes[0][1]);
    job.rows = options_.input_shapes[0][0];
    job.tokens = tokens;
    job.count = count;
    job.owner = this;
    job.lend_parameters = [](void* self, ProgramMemory& memory) {
        const Trainer& trainer = *static_cast<Trainer*>(self);
        const auto& regions = memory.program().plan().regions;
        for (std::size_t i = 0; i < regions.size(); ++i)
            if (regions[i].kind == RegionKind::parameter)
                memory.lend(i, trainer.memory_.address(static_cast<std::size_t>(
                                   trainer.region(RegionKind::parameter, regions[i].name.c_str()))));
    };
    job.arena = memory_.address(0);
    job.arena_bytes = memory_.arena_bytes();
    job.workspace = memory_.workspace();
    job.workspace_bytes = memory_.workspace_bytes();
    return mean_token_loss(job);
}

void Trainer::update_model() {
    const ModelRef model = model_.lock();
    if (!model) fail(VOLTA_INVALID_STATE, "the model has been released");
    require_whole();
    for (std::size_t i = 0; i < parameter_regions_.size(); ++i)
        if (!model->parameters[i].is_lent)
            memory_.load(static_cast<std::size_t>(parameter_regions_[i]), model->mutable_parameter(i));
    model->arithmetic = description_.arithmetic;
}

void Trainer::capture(TrainingState& state) {
    std::pmr::memory_resource* heap = context_->structures();
    describe_options(options_, state);
    add_number(state, "beta1_product", beta1_product_);
    add_number(state, "beta2_product", beta2_product_);
    add_integer(state, "step", step_);
    const bool pending = resumed_.has_value();  // resumed, but the tokens have not been given again
    const Hash128 hash = pending ? resumed_->hash : stream_hash_;
    add_integer(state, "data_epoch", pending ? resumed_->epoch : stream_ ? stream_->epoch() : 0);
    add_integer(state, "data_cursor", pending ? resumed_->cursor : stream_ ? stream_->cursor() : 0);
    add_integer(state, "data_hash_high", hash.high);
    add_integer(state, "data_hash_low", hash.low);
    if (sharded_) return sort_by_name(state);  // list_states() has them
    const Plan& plan = memory_.program().plan();
    for (std::size_t i = 0; i < plan.regions.size(); ++i) {
        if (plan.regions[i].kind != RegionKind::state) continue;
        const Shape& shape = plan.graph.shape(plan.regions[i].source);
        state.tensors.push_back(NamedTensor{std::pmr::string(plan.regions[i].name, heap), DType::f32, shape,
                                            fetch(static_cast<int>(i)), Buffer()});
    }
    sort_by_name(state);
}

const void* Trainer::fetch_state(std::size_t region) {
    fetched_states_.resize(sharded_->update().program().plan().regions.size());
    return sharded_->update().fetch(region, fetched_states_[region]);
}

// Those of all ranks, on rank 0, which has the others' in `copies`; on the others there are their own. copies
// NULL: on all ranks, without the values of those that another one has.
void Trainer::list_states(TrainingState& state, std::pmr::vector<Buffer>* copies) {
    std::pmr::memory_resource* heap = context_->structures();
    const ProgramMemory& update = sharded_->update();
    const OptimizerRow& optimizer = optimizer_row(options_.spec.optimizer, options_.spec.has_momentum);
    for (const std::pmr::string& parameter : trained_)
        for (int s = 0; s < optimizer.state_count; ++s) {
            std::pmr::string name(parameter, heap);
            name += optimizer.state_suffix[s];
            const int values = region(RegionKind::parameter, parameter.c_str());
            const Region& place = memory_.program().plan().regions[static_cast<std::size_t>(values)];
            const int own = update.find(RegionKind::state, name.c_str());
            const void* data = own >= 0 ? fetch_state(static_cast<std::size_t>(own)) : nullptr;
            void* copy = nullptr;
            if (copies != nullptr && own < 0 && sharded_->rank() == 0) {
                copies->emplace_back(context_->tensors(), place.bytes);
                data = copy = copies->back().data();
            }
            if (copies != nullptr) sharded_->fetch(parameter.c_str(), data, copy, place.bytes);
            if (copies != nullptr && data == nullptr) continue;
            state.tensors.push_back(NamedTensor{std::move(name), DType::f32,
                                                memory_.program().plan().graph.shape(place.source), data,
                                                Buffer()});
        }
    sort_by_name(state);
}

void Trainer::save(const char* path) {
    std::pmr::memory_resource* heap = context_->structures();
    require_whole();
    TrainingState state(heap);
    std::pmr::vector<Buffer> copies(heap);
    capture(state);
    if (sharded_) list_states(state, &copies);
    if (sharded_ && sharded_->rank() != 0) return sharded_->agree_on_save(true);
    SaveSource source;
    source.model = &described();
    source.training = &state;
    source.stop = &context_->stop();
    try {
        write_model(source, path, heap);
    } catch (...) {
        if (sharded_) sharded_->agree_on_save(false);
        throw;
    }
    if (sharded_) sharded_->agree_on_save(true);
}

void Trainer::save_sharded(const char* folder) {
    std::pmr::memory_resource* heap = context_->structures();
    require_whole();
    TrainingState state(heap);
    SaveSource source;
    try {
        capture(state);
        if (sharded_) list_states(state, nullptr);
        source.model = &described();
    } catch (const std::exception& error) {  // before the others could be told in the save itself
        if (sharded_) sharded_->leave(error.what());
        throw;
    }
    source.training = &state;
    source.stop = &context_->stop();
    save_parts(source, sharded_ ? &*sharded_ : nullptr, folder, heap);
}

Hash128 Trainer::hash() const { return hash_parameters(described(), context_->structures()); }

void Trainer::restore(const TrainingState& state) {
    beta1_product_ = number_of(state, "beta1_product");
    beta2_product_ = number_of(state, "beta2_product");
    step_ = integer_of(state, "step");
    Resumed resumed;
    resumed.epoch = integer_of(state, "data_epoch");
    resumed.cursor = integer_of(state, "data_cursor");
    resumed.hash = Hash128{integer_of(state, "data_hash_high"), integer_of(state, "data_hash_low")};
    if (resumed.hash != Hash128{}) resumed_ = resumed;
    ProgramMemory& update = update_memory();
    const Plan& plan = update.program().plan();
    std::pmr::vector<const NamedTensor*> by_name(context_->structures());
    by_name.reserve(state.tensors.size());
    for (const NamedTensor& tensor : state.tensors) by_name.push_back(&tensor);
    std::sort(by_name.begin(), by_name.end(),
              [](const NamedTensor* a, const NamedTensor* b) { return a->name < b->name; });
    for (std::size_t i = 0; i < plan.regions.size(); ++i) {
        const std::pmr::string& name = plan.regions[i].name;
        if (plan.regions[i].kind != RegionKind::state) continue;
        const auto place = std::lower_bound(
            by_name.begin(), by_name.end(), name,
            [](const NamedTensor* one, const std::pmr::string& wanted) { return one->name < wanted; });
        const NamedTensor* const found = place != by_name.end() && (*place)->name == name ? *place : nullptr;
        if (found == nullptr || found->dtype != DType::f32 || found->bytes() != plan.regions[i].bytes)
            fail(VOLTA_CORRUPT_MODEL, "the checkpoint has no optimizer state %s of %llu bytes",
                 plan.regions[i].name.c_str(), static_cast<unsigned long long>(plan.regions[i].bytes));
        update.store(i, found->data);
    }
}

HeapPtr<Trainer> Trainer::resume(const ContextRef& context, const ModelRef& model,
                                 const volta_trainer_options* given, const GroupRef& group) {
    if (!model->training) fail(VOLTA_INVALID_STATE, "the model is no checkpoint: it has no training state");
    if (model->base == nullptr && model->find_metadata("volta.adapter.base") != nullptr)
        fail(VOLTA_INVALID_STATE,
             "the checkpoint is of adapters, which go on beside their base: volta_model_open_adapter first");
    std::pmr::memory_resource* heap = context->structures();
    TrainerOptions options = options_of_checkpoint(*model->training, *model, heap);
    if (given != nullptr) {
        if (given->input_shapes != nullptr)
            require_same_options(read_trainer_options(*given, *model, heap), options, *model, heap);
        read_run_options(*given, options);
    }
    options.group = group;
    require_group_fits(options);
    HeapPtr<Trainer> trainer = make_on<Trainer>(heap, context, model, std::move(options));
    trainer->restore(*model->training);
    return trainer;
}

namespace {

int find_parameter(const ProgramMemory& memory, const char* name) {
    require(name != nullptr, "name is NULL");
    const int found = memory.find(RegionKind::parameter, name);
    require(found >= 0, "the model has no parameter %s", name);
    return found;
}

}  // namespace

Trainer::Lent Trainer::parameter(const char* name) const { return lend(find_parameter(memory_, name)); }

Trainer::Lent Trainer::gradient(const char* name) const {
    find_parameter(memory_, name);
    for (const char* const frozen : frozen_)
        if (std::strcmp(frozen, name) == 0)
            fail(VOLTA_INVALID_STATE, "parameter %s is frozen: it has no gradient", name);
    if (step_ == 0) fail(VOLTA_INVALID_STATE, "there is no gradient before the first step");
    if (sharded_ && !sharded_->is_owner(name))
        fail(VOLTA_INVALID_STATE, "the gradient of %s is on rank %u, which updates it", name,
             sharded_->owner(name));
    if (options_.spec.update_in_backward)
        fail(VOLTA_INVALID_STATE, "with update_in_backward no gradient is kept");
    char full[512];
    std::snprintf(full, sizeof full, "gradient/%s", name);
    const int found = memory_.find(RegionKind::gradient, full);
    if (found < 0) fail(VOLTA_INVALID_STATE, "the loss does not depend on %s: it has no gradient", name);
    return lend(found);
}

volta_bill Trainer::bill() const {
    volta_bill bill = {};
    memory_.add_to(bill);
    if (norm_) norm_->add_to(bill);
    if (sharded_) sharded_->add_to(bill);
    bill.staging += stream_bytes_;
    bill.total += stream_bytes_;
    return bill;
}

const char* Trainer::plan_text() {
    plan_text_.clear();
    if (norm_) plan_text_ = norm_->program().print(context_->structures());
    plan_text_ += memory_.program().print(context_->structures());
    return plan_text_.c_str();
}

}  // namespace volta
