#include "engine/runtime/sharded_step.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <tuple>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/graph/step_input.h"
#include "engine/plan/memory_planner.h"
#include "engine/runtime/agreement.h"
#include "engine/runtime/gateway.h"
#include "engine/runtime/profile.h"
#include "engine/runtime/session.h"
#include "engine/runtime/training_graph.h"

namespace volta {

namespace {

bool begins_with(const std::pmr::string& text, const char* prefix) {
    return text.compare(0, std::strlen(prefix), prefix) == 0;
}

std::uint32_t log2_of(std::uint32_t power) {
    std::uint32_t exponent = 0;
    while ((std::uint32_t{1} << exponent) < power) ++exponent;
    return exponent;
}

// Of a shard behind `index` others of its process: how many sums it completes.
std::uint32_t completed_sums(std::uint32_t index) {
    std::uint32_t count = 0;
    for (; (index & 1) != 0; index >>= 1) ++count;
    return count;
}

int find(const ProgramMemory& memory, RegionKind kind, const char* prefix, const std::pmr::string& name) {
    std::pmr::string whole(prefix, name.get_allocator());
    whole += name;
    const int found = memory.find(kind, whole.c_str());
    if (found < 0) fail(VOLTA_INTERNAL, "the update's plan has no region %s", whole.c_str());
    return found;
}

const char* prefix_of(bool is_statistic) { return is_statistic ? kStatistic : kGradient; }

// A call of the profile that also counts its seconds.
class Timer {
  public:
    Timer(Context& context, const char* what, double& seconds)
        : call_(context, what), seconds_(seconds), begin_(monotonic_ns()) {}
    ~Timer() { seconds_ += static_cast<double>(monotonic_ns() - begin_) * 1e-9; }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

  private:
    const ProfileCall call_;
    double& seconds_;
    const std::uint64_t begin_;
};

}  // namespace

ShardedStep::ShardedStep(Context& context, const TrainerOptions& options, ProgramMemory& shard)
    : context_(context),
      shard_(shard),
      shards_(options.shards),
      local_shards_(options.local_shards()),
      micro_batches_(options.spec.micro_batches),
      summed_(context.structures()),
      ends_(context.structures()),
      levels_(context.structures()),
      on_device_(context.structures()),
      owned_(context.structures()),
      inputs_(context.structures()),
      staged_(context.structures()),
      counts_(local_shards_, 0, context.structures()),
      exchanged_(context.structures()),
      parameters_(context.structures()),
      norms_(context.structures()),
      programs_(context.structures()),
      on_devices_(context.structures()) {
    if (options.group && options.group->size() > 1) ranks_ = {options.group->rank(), options.group->size()};
    find_inputs();
    find_results();
    if (ranks_.size > 1) divide();
    lay_out();
    plan_update(options.spec);
    if (is_on_device() && local_shards_ > 1) addition_.emplace(context, level_bytes_ / sizeof(float));
    if (ranks_.size > 1 && options.group->device() != nullptr)  // that of this context
        devices_.emplace(context, options.group, padded(sizeof(float)), ends_);
}

void ShardedStep::join(const Model& model, const TrainerOptions& options) {
    if (ranks_.size == 1) return;
    collective_.emplace(options.group, context_.pool(), context_.tensors());
    require_agreement(context_, *collective_, model, options);
}

void ShardedStep::find_inputs() {
    const auto& regions = shard_.program().plan().regions;
    for (std::size_t i = 0; i < regions.size(); ++i) {
        if (regions[i].kind != RegionKind::input || is_step_input(regions[i].name.c_str())) continue;
        inputs_.push_back(static_cast<int>(i));
        shard_.lend(i, nullptr);
    }
}

void ShardedStep::find_results() {
    const Plan& plan = shard_.program().plan();
    std::pmr::memory_resource* const heap = context_.structures();
    for (std::size_t i = 0; i < plan.regions.size(); ++i) {
        const Region& region = plan.regions[i];
        if (region.kind != RegionKind::output && region.kind != RegionKind::gradient) continue;
        const bool is_loss = region.name == kLossSum, is_statistic = begins_with(region.name, kStatistic);
        const char* const name = is_loss ? "" : region.name.c_str() + std::strlen(prefix_of(is_statistic));
        summed_.push_back({std::pmr::string(name, heap), plan.graph.shape(region.source), is_statistic,
                           static_cast<int>(i), 0, region.bytes / sizeof(float), 0, 0});
        shard_.lend_in_place(i, nullptr);
    }
    const auto loss =
        std::find_if(summed_.begin(), summed_.end(), [](const Summed& one) { return one.name.empty(); });
    std::rotate(summed_.begin(), loss, loss + 1);  // stable_partition has memory that is not the host's
}

// Parameters among the ranks.
void ShardedStep::divide() {
    std::pmr::memory_resource* const heap = context_.structures();
    std::pmr::vector<std::uint64_t> elements(heap), bytes(ranks_.size, 0, heap);  // of the parameters of each
    for (const Summed& one : summed_) elements.push_back(one.name.empty() ? 0 : one.elements);
    const auto owners = share_out(elements, ranks_.size, heap);
    for (std::size_t i = 0; i < summed_.size(); ++i) {
        Summed& one = summed_[i];
        if (one.name.empty()) continue;
        one.owner = owners[i];
        one.parameter_offset = bytes[one.owner];
        bytes[one.owner] += padded(one.elements * sizeof(float));
        if (one.owner == ranks_.rank && !is_on_device())
            shard_.lend(static_cast<std::size_t>(find(shard_, RegionKind::parameter, "", one.name)), nullptr);
    }
    parameter_bytes_ = bytes[ranks_.rank];
    most_parameter_bytes_ = *std::max_element(bytes.begin(), bytes.end());
    all_parameter_bytes_ = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

// The loss, and then the sums by owner. Behind them lie the parameters that the rank owns, for the others to
// read.
void ShardedStep::lay_out() {
    const auto place = [&](Summed& one) {
        one.offset = level_bytes_;
        level_bytes_ += padded(one.elements * sizeof(float));
    };
    place(summed_[0]);
    for (std::uint32_t position = 0; position < ranks_.size; ++position) {
        for (Summed& one : summed_)
            if (!one.name.empty() && DeviceExchange::position_of(one.owner, ranks_.size) == position)
                place(one);
        ends_.push_back(level_bytes_);
    }
    for (Summed& one : summed_) one.parameter_offset += level_bytes_;
}

void ShardedStep::plan_update(const TrainingSpec& spec) {
    std::pmr::memory_resource* const heap = context_.structures();
    std::pmr::vector<SummedTensor> owned(heap);
    std::int64_t gradients = 0;
    bool owns_gradients = false;
    for (const Summed& one : summed_) {
        if (one.name.empty()) continue;
        gradients += one.is_statistic ? 0 : 1;
        if (one.owner != rank()) continue;
        owns_gradients = owns_gradients || !one.is_statistic;
        owned.push_back({std::pmr::string(one.name, heap), one.shape, one.is_statistic});
    }
    if (owns_gradients) {
        squares_.emplace(context_.plans().prepare(build_square_sums_graph(owned, heap), {}), heap);
        for (const SummedTensor& tensor : owned)
            if (!tensor.is_statistic)
                squares_->lend_in_place(
                    static_cast<std::size_t>(find(*squares_, RegionKind::input, kGradient, tensor.name)),
                    nullptr);
    }
    update_.emplace(context_.plans().prepare(build_update_graph(owned, gradients, shards_, spec, heap), {}),
                    heap);
    const auto& regions = update_->program().plan().regions;
    for (std::size_t i = 0; i < regions.size(); ++i) {
        const bool is_sum = regions[i].kind == RegionKind::input &&
                            (regions[i].name == kLossSum || begins_with(regions[i].name, kGradient) ||
                             begins_with(regions[i].name, kStatistic));
        if (is_sum || regions[i].kind == RegionKind::parameter) update_->lend_in_place(i, nullptr);
    }
}

// A copy of what ranks exchange of a device: the whole sums, and all parameters.
std::uint64_t ShardedStep::mirrored_bytes() const {
    return is_on_device() && ranks_.size > 1 && !devices_ ? level_bytes_ + all_parameter_bytes_ : 0;
}

void ShardedStep::add_to(volta_bill& bill) const {
    const std::uint64_t levels = level_bytes_ * (log2_of(local_shards_) + 1);
    const std::uint64_t parameters = is_on_device() ? 0 : parameter_bytes_;
    std::uint64_t staging = mirrored_bytes() + (ranks_.size > 1 ? Collective::bytes() : 0);
    for (const int input : inputs_)
        staging += local_shards_ * shard_.program().plan().regions[static_cast<std::size_t>(input)].bytes;
    bill.gradients += levels;
    bill.parameters += parameters;
    bill.staging += staging;
    bill.total += levels + parameters + staging;
    if (addition_) addition_->add_to(bill);
    if (devices_) devices_->add_to(bill);
    if (squares_) squares_->add_to(bill);
    update_->add_to(bill);
}

std::uint64_t ShardedStep::needed_bytes() const {
    volta_bill own = {};
    add_to(own);
    return own.total;
}

void ShardedStep::require_room() const {
    if (!is_on_device()) return shard_.require_room();
    const std::uint64_t needed = shard_.needed_bytes() + level_bytes_ * (log2_of(local_shards_) + 1) +
                                 (addition_ ? addition_->needed_bytes() : 0) +
                                 (devices_ ? devices_->needed_bytes() : 0) +
                                 (squares_ ? squares_->needed_bytes() : 0) + update_->needed_bytes();
    const std::uint64_t available = context_.memory().available();
    if (needed > available)
        fail(VOLTA_OUT_OF_MEMORY, "the trainer needs %llu bytes of the device for its shards, which has %llu",
             static_cast<unsigned long long>(needed), static_cast<unsigned long long>(available));
}

unsigned char* ShardedStep::sum_of(const Summed& tensor) const { return levels_.back() + tensor.offset; }

float* ShardedStep::exchanged(const Summed& tensor) const {
    return reinterpret_cast<float*>(exchanged_memory_ + tensor.offset);
}

// Zeros: what lies between tensors is added with them.
unsigned char* ShardedStep::own(std::uint64_t bytes) {
    owned_.emplace_back(context_.staging(), static_cast<std::size_t>(bytes), true);
    return static_cast<unsigned char*>(owned_.back().data());
}

// The whole sums, and behind them the parameters that this rank owns.
unsigned char* ShardedStep::exchanged_memory() {
    unsigned char* shared = nullptr;
    if (collective_) {
        shared = collective_->share(level_bytes_ + most_parameter_bytes_, level_bytes_ + parameter_bytes_);
        if (shared == nullptr && collective_->group().can_share())
            context_.log()(
                VOLTA_LOG_WARNING,
                "the ranks cannot share %llu bytes of memory each: what they would read of each other is "
                "sent, which is slower",
                static_cast<unsigned long long>(level_bytes_ + most_parameter_bytes_));
    }
    is_shared_ = shared != nullptr;
    const std::uint64_t bytes = is_shared_ ? 0 : level_bytes_ + parameter_bytes_;
    if (!is_on_device()) return is_shared_ ? shared : own(bytes);
    mirror_ = Block(context_.staging(), bytes + all_parameter_bytes_ - parameter_bytes_, true);
    return is_shared_ ? shared : static_cast<unsigned char*>(mirror_.data());
}

void ShardedStep::allocate_levels() {
    const std::uint32_t others = log2_of(local_shards_);
    if (!is_on_device()) {
        for (std::uint32_t level = 0; level < others; ++level) levels_.push_back(own(level_bytes_));
        exchanged_memory_ = exchanged_memory();
        return levels_.push_back(exchanged_memory_);
    }
    for (std::uint32_t level = 0; level <= others; ++level) {
        on_device_.emplace_back(context_.memory(), static_cast<std::size_t>(level_bytes_), true);
        levels_.push_back(static_cast<unsigned char*>(on_device_.back().data()));
    }
    if (addition_) addition_->allocate();
    if (devices_) return devices_->allocate(summed_.size());
    if (collective_) exchanged_memory_ = exchanged_memory();
}

// Where programs have them, and where ranks exchange them: in the same place, or in the copy of a device's.
void ShardedStep::place_parameters() {
    const bool is_mirrored = mirrored_bytes() > 0;
    unsigned char* others = nullptr;
    if (is_mirrored)
        others =
            static_cast<unsigned char*>(mirror_.data()) + (is_shared_ ? 0 : level_bytes_ + parameter_bytes_);
    for (const Summed& one : summed_) {
        if (one.name.empty()) continue;
        const auto region = static_cast<std::size_t>(find(shard_, RegionKind::parameter, "", one.name));
        const std::uint64_t bytes = one.elements * sizeof(float);
        const bool is_own = collective_ && one.owner == rank();
        if (is_own && !is_on_device()) shard_.lend(region, exchanged_memory_ + one.parameter_offset);
        void* values = shard_.address(region);
        programs_.push_back(values);
        if (devices_) on_devices_.push_back({{values, static_cast<std::size_t>(bytes)}, one.owner});
        if (is_mirrored) {
            values = is_own ? exchanged_memory_ + one.parameter_offset : others;
            if (!is_own) others += padded(bytes);
        }
        parameters_.push_back({static_cast<float*>(values), one.elements, one.owner,
                               is_shared_ ? one.parameter_offset : Portion::kNowhere});
    }
}

void ShardedStep::allocate() {
    allocate_levels();
    for (const int input : inputs_)
        staged_.emplace_back(
            context_.staging(),
            static_cast<std::size_t>(local_shards_ *
                                     shard_.program().plan().regions[static_cast<std::size_t>(input)].bytes),
            true);
    place_results(log2_of(local_shards_));
    place_parameters();

    const auto lend = [](ProgramMemory& memory, int region, void* address) {
        memory.lend_in_place(static_cast<std::size_t>(region), address);
    };
    lend(*update_, update_->find(RegionKind::input, kLossSum), sum_of(summed_[0]));
    for (std::size_t i = 1; i < summed_.size(); ++i) {
        const Summed& one = summed_[i];
        if (one.owner != rank()) continue;
        const char* const prefix = prefix_of(one.is_statistic);
        lend(*update_, find(*update_, RegionKind::input, prefix, one.name), sum_of(one));
        lend(*update_, find(*update_, RegionKind::parameter, "", one.name), programs_[i - 1]);
        if (!one.is_statistic)
            lend(*squares_, find(*squares_, RegionKind::input, kGradient, one.name), sum_of(one));
    }
    if (squares_) squares_->allocate();
    update_->allocate();
    if (collective_ && !devices_) prepare_exchange();
    auto* norms = update_->at<float>(update_->find(RegionKind::input, "square_sums"));
    for (const Summed& one : summed_)
        if (!one.name.empty() && !one.is_statistic) norms_.push_back({norms++, 1, one.owner});
}

void* ShardedStep::staged(int region) const {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
        if (inputs_[i] == region) return const_cast<void*>(staged_[i].data());
    fail(VOLTA_INTERNAL, "region %d of the shard's plan is no input of the host's", region);
}

const float* ShardedStep::square_sums() const {
    return update_->at<const float>(update_->find(RegionKind::input, "square_sums"));
}

void ShardedStep::place_inputs(std::uint32_t shard) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        const auto region = static_cast<std::size_t>(inputs_[i]);
        auto* const all = static_cast<unsigned char*>(staged_[i].data());
        shard_.lend(region, all + shard * shard_.program().plan().regions[region].bytes);
    }
}

void ShardedStep::place_results(std::uint32_t level) {
    for (const Summed& one : summed_)
        shard_.lend_in_place(static_cast<std::size_t>(one.region), levels_[level] + one.offset);
}

// levels_[end] = the sum of all that is complete below it and its own, the earlier shards in front. pool:
// NULL: by this thread alone.
void ShardedStep::add_levels(std::uint32_t end, std::uint64_t offset, std::uint64_t elements,
                             ThreadPool* pool) noexcept {
    auto* const sum = reinterpret_cast<float*>(levels_[end] + offset);
    for (std::uint32_t level = 0; level < end; ++level) {
        const auto* const earlier = reinterpret_cast<const float*>(levels_[level] + offset);
        const auto add = [&](int worker, int workers) noexcept {
            const Range range = part_of(static_cast<long long>(elements), 1024, worker, workers);
            for (long long i = range.begin; i < range.end; ++i) sum[i] = earlier[i] + sum[i];
        };
        if (pool != nullptr)
            pool->run(pool->thread_count(), add);
        else
            add(0, 1);
    }
}

void ShardedStep::complete(std::size_t part, ThreadPool* pool) noexcept {
    if (is_on_device()) return;  // it is
    const Summed& one = summed_[exchanged_[part]];
    add_levels(log2_of(local_shards_), one.offset, one.elements, pool);
}

// The step of the shard's plan that writes it last. What a device makes is fetched when it is through.
std::size_t ShardedStep::last_step_of(const Summed& tensor) const {
    if (is_on_device()) return GradientExchange::kBehind;
    const Plan& plan = shard_.program().plan();
    const NodeId writer =
        plan.graph.value(plan.regions[static_cast<std::size_t>(tensor.region)].source).producer;
    std::size_t last = GradientExchange::kBehind;
    for (std::size_t step = 0; step < plan.steps.size(); ++step)
        if (plan.steps[step].node == writer) last = step;
    return last;
}

// In the order in which rank 0's backward pass makes them: of another budget, another rank's plan has another
// one.
void ShardedStep::prepare_exchange() {
    std::pmr::memory_resource* const heap = context_.structures();
    const Plan& plan = shard_.program().plan();
    std::pmr::vector<std::size_t> last_steps(heap);
    for (const Summed& one : summed_) last_steps.push_back(last_step_of(one));
    for (std::uint32_t i = 1; i < summed_.size(); ++i) exchanged_.push_back(i);
    const auto moment = [&](std::uint32_t i) {
        const std::size_t step = last_steps[i];
        const bool is_behind = step == GradientExchange::kBehind;
        return std::make_tuple(is_behind, is_behind ? Phase::reduce : plan.steps[step].phase, step, i);
    };
    std::sort(exchanged_.begin(), exchanged_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return moment(a) < moment(b); });
    collective_->adopt(exchanged_.data(), exchanged_.size());
    std::pmr::vector<GradientExchange::Part> parts(heap);
    parts.reserve(exchanged_.size());
    for (const std::uint32_t i : exchanged_) {
        if (i == 0 || i >= summed_.size()) fail(VOLTA_IO_ERROR, "rank 0 sent an order with a number %u", i);
        const Summed& one = summed_[i];
        parts.push_back(
            {{exchanged(one), one.elements, one.owner, is_shared_ ? one.offset : Portion::kNowhere},
             last_steps[i]});
    }
    exchange_.emplace(context_, *collective_, parts, static_cast<LocalSums&>(*this));
}

double ShardedStep::add_counts(bool stops) {
    double* const counts = counts_.data();
    for (std::uint32_t h = 1; h < local_shards_; h *= 2)
        for (std::uint32_t s = 0; s < local_shards_; s += 2 * h) counts[s] = counts[s] + counts[s + h];
    if (!collective_) return counts[0];
    double who = stops ? rank() + 1.0 : 0;
    times_ = {};
    const Timer timer(context_, "wait", times_.wait);
    collective_->add_for_all(counts, 1);
    collective_->largest(&who, 1);
    if (who == 0) return counts[0];
    if (stops) context_.stop().ask("the step");  // whatever it answers now, the others do not go on
    fail(VOLTA_CANCELLED, "stopped before the step: rank %.0f was asked to", who - 1);
}

void ShardedStep::check_inputs() {
    for (std::uint32_t shard = 0; shard < local_shards_; ++shard) {
        place_inputs(shard);
        check_limits(shard_);
    }
}

void ShardedStep::compute_shard(std::uint32_t shard) {
    place_inputs(shard);
    place_results(completed_sums(shard));
    shard_.begin_at((rank() * local_shards_ + shard) * micro_batches_);
    for (std::uint32_t i = 0; i < micro_batches_; ++i) {
        if (!collective_)  // where others wait, they were asked in the beginning
            context_.stop().ask("micro-batch", shard * micro_batches_ + i,
                                std::size_t{local_shards_} * micro_batches_);
        if (exchange_ && shard == local_shards_ - 1 && i == micro_batches_ - 1)
            shard_.observe(exchange_->begin());
        shard_.run(Phase::each, i);
    }
    shard_.run(Phase::reduce, 0);
    shard_.observe(nullptr);
}

// Until the last shard is there. What ranks add is completed part by part, the loss with the numbers of all.
void ShardedStep::compute_shards() {
    for (std::uint32_t shard = 0; shard < local_shards_; ++shard) {
        compute_shard(shard);
        const std::uint32_t level = completed_sums(shard);
        if (is_on_device()) {
            for (std::uint32_t earlier = 0; earlier < level; ++earlier)
                addition_->run(levels_[earlier], levels_[level], levels_[level]);
            continue;
        }
        const bool is_last = shard == local_shards_ - 1;
        const std::uint64_t bytes = is_last && exchange_ ? padded(sizeof(float)) : level_bytes_;
        add_levels(level, is_last && exchange_ ? summed_[0].offset : 0, bytes / sizeof(float),
                   &context_.pool());
    }
}

void ShardedStep::compute() {
    try {
        compute_shards();
    } catch (...) {
        shard_.observe(nullptr);
        if (exchange_) exchange_->abandon();
        throw;
    }
    if (collective_) exchange_sums();
    exchange_norms();
    update_->run(Phase::each, 0);
    update_->run(Phase::reduce, 0);
    if (!collective_) context_.stop().ask("the update");
}

void ShardedStep::fetch(void* to, const void* from, std::uint64_t bytes) {
    shard_.program().require_ran(context_.memory().read_later(to, from, static_cast<std::size_t>(bytes)));
}
void ShardedStep::send(void* to, const void* from, std::uint64_t bytes) {
    shard_.program().require_ran(context_.memory().write_later(to, from, static_cast<std::size_t>(bytes)));
}
void ShardedStep::wait() { shard_.program().require_ran(context_.memory().wait()); }

void ShardedStep::exchange_on_devices() {
    {
        const Timer timer(context_, "wait", times_.wait);
        collective_->meet();
    }
    const Timer timer(context_, "exchange", times_.exchange);
    devices_->add(levels_.back());
    float loss = 0;
    shard_.program().require_ran(context_.memory().read(&loss, sum_of(summed_[0]), sizeof loss));
    collective_->add_for_all(&loss, 1);
    shard_.program().require_ran(context_.memory().write(sum_of(summed_[0]), &loss, sizeof loss));
}

// To a device go back those that this rank owns, which lie together, and the loss.
void ShardedStep::exchange_sums() {
    if (devices_) return exchange_on_devices();
    const ProfileCall call(context_, "exchange");
    if (is_on_device()) {
        fetch(exchanged_memory_, levels_.back(), level_bytes_);
        wait();
    }
    const GradientExchange::Times times = exchange_->end();
    times_.wait += times.wait;
    times_.exchange += times.exchange;
    collective_->add_for_all(exchanged(summed_[0]), 1);
    if (!is_on_device()) return;
    for (const Summed& one : summed_)
        if (one.name.empty() || one.owner == rank())
            send(sum_of(one), exchanged(one), one.elements * sizeof(float));
    wait();
}

void ShardedStep::exchange_norms() {
    if (squares_) {
        squares_->run(Phase::each, 0);
        squares_->run(Phase::reduce, 0);
        const auto* own = squares_->at<const float>(squares_->find(RegionKind::output, "square_sums"));
        for (const Portion& norm : norms_)
            if (norm.owner == rank()) *norm.data = *own++;
    }
    if (!collective_) return;
    const Timer timer(context_, "wait", times_.wait);
    collective_->gather(norms_.data(), norms_.size());
}

void ShardedStep::apply() {
    update_->run(Phase::update, 0);
    if (!collective_) return;
    const Timer timer(context_, "exchange", times_.exchange);
    exchange_parameters();
}

void ShardedStep::exchange_parameters() {
    if (devices_) return devices_->gather(on_devices_);
    if (!is_on_device()) return collective_->gather(parameters_.data(), parameters_.size());
    const auto for_each = [&](const auto& visit) {
        for (std::size_t i = 0; i < parameters_.size(); ++i)
            visit(parameters_[i], programs_[i], parameters_[i].elements * sizeof(float));
        wait();
    };
    for_each([&](const Portion& one, const void* from, std::uint64_t bytes) {
        if (one.owner == rank()) fetch(one.data, from, bytes);
    });
    collective_->gather(parameters_.data(), parameters_.size());
    for_each([&](const Portion& one, void* to, std::uint64_t bytes) {
        if (one.owner != rank()) send(to, one.data, bytes);
    });
}

std::uint32_t ShardedStep::owner(const char* parameter) const {
    for (const Summed& one : summed_)
        if (one.name == parameter) return one.owner;
    return 0;
}

void ShardedStep::fetch(const char* parameter, const void* own, void* to, std::size_t bytes) {
    if (collective_) collective_->fetch(owner(parameter), own, to, bytes);
}

void ShardedStep::agree_on_save(bool is_saved) {
    if (!collective_) return;
    double failed = is_saved ? 0 : 1;
    collective_->largest(&failed, 1);
    if (failed != 0 && is_saved) fail(VOLTA_IO_ERROR, "rank 0 could not save: see what it says");
}

void ShardedStep::leave(const char* why) noexcept {
    if (collective_) collective_->group().leave(why);
}

}  // namespace volta
