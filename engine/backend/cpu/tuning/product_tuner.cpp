#include "engine/backend/cpu/tuning/product_tuner.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/backend/cpu/gemm/cost.h"
#include "engine/backend/cpu/tuning/product_grid.h"

namespace volta::cpu {
namespace {

constexpr int kMostContenders = 24;      // of one race, the leader included
constexpr double kHopeless = 1.6;        // expected by the cost model: not timed at all
constexpr double kDropAtOnce = 1.3;      // slower than the best after warm-up: out of the race
constexpr double kDropLater = 1.06;      // slower than the best after two timed runs
constexpr double kTakesTheLead = 0.998;  // a new leader gains at least so much: noise moves in small steps
constexpr int kMostRounds = 4;           // of all axes
constexpr double kRaceShare = 0.6;       // of the budget
constexpr int kFewestFinalRuns = 3;
constexpr int kFewRuns = 40;  // a budget of fewer finds little

struct Contender {
    ProductChoice choice;
    PlanKey key;
    double cycles = 0;  // as the cost model expects
    TimedRuns runs;
};

class Search {
  public:
    Search(const ProductShape& shape, bool whole_rows, const CompileContext& context, ProductTimer& timer,
           const TunerOptions& options)
        : shape_(shape),
          whole_rows_(whole_rows),
          context_(context),
          timer_(timer),
          options_(options),
          seen_(context.compiler.heap),
          field_(context.compiler.heap) {
        options_.runs = std::clamp(options.runs, 1, kMostTimedRuns);
        leader_ = made(ProductChoice());
        default_cycles_ = leader_.cycles;
        seen_.insert(leader_.key);
    }

    TunerResult run() {
        time_leader();
        sweep_tiles();
        for (int round = 0; round < kMostRounds && !over(); ++round) {
            const ProductChoice before = leader_.choice;
            sweep_axes();
            if (leader_.choice == before) sweep_pairs();
            if (leader_.choice == before) break;
        }
        return play_off();
    }

  private:
    const ProductShape& shape_;
    const bool whole_rows_;
    const CompileContext& context_;
    ProductTimer& timer_;
    TunerOptions options_;
    Contender leader_;
    double default_cycles_ = 0;
    double leader_seconds_ = 0, turn_seconds_ = 0;
    std::pmr::set<PlanKey> seen_;
    std::pmr::vector<Contender> field_;  // waiting for the next races
    int timed_ = 1;
    bool cancelled_ = false;

    bool over() const { return cancelled_ || timer_.elapsed() >= race_seconds(); }
    double race_seconds() const { return kRaceShare * options_.budget_seconds; }
    // What a run takes of the budget: it may repeat the product, or pack B before.
    double turn() const { return std::max(leader_seconds_, turn_seconds_); }

    Contender made(const ProductChoice& choice) const {
        const Problem problem =
            problem_of(shape_, whole_rows_ ? EpilogueKind::rows : EpilogueKind::none, context_.request);
        const Schedule schedule = blocked_schedule(problem, context_, choice);
        Contender contender;
        contender.choice = choice;
        contender.key = key_of(problem.shape, schedule);
        contender.cycles = expected_cycles(context_.machine, problem.shape, schedule);
        return contender;
    }

    // Puts a choice into the field, if it can be had, is new, and has hope.
    void enter(const ProductChoice& choice) {
        if (choice.pack_b == Toggle::no && shape_.b_transposed) return;
        const Contender contender = made(choice);
        if (contender.cycles > kHopeless * default_cycles_) return;
        if (!seen_.insert(contender.key).second) return;
        field_.push_back(contender);
    }

    // Before the first race, which must know how many runs the budget is; where those are few, it is raised.
    void time_leader() {
        timer_.open(&leader_.choice, 1);
        const double start = timer_.elapsed();
        leader_seconds_ = timer_.run(0);
        turn_seconds_ = timer_.elapsed() - start;
        const double wanted = std::min(kFewRuns * turn(), options_.most_seconds);
        options_.budget_seconds = std::max(options_.budget_seconds, wanted);
    }

    // --- races

    // Everyone in the field against the leader, the most promising first, some at a time.
    void race() {
        std::sort(field_.begin(), field_.end(),
                  [](const Contender& x, const Contender& y) { return x.cycles < y.cycles; });
        for (std::size_t first = 0; first < field_.size() && !over();) {
            const std::size_t count = std::min(field_.size() - first, heat_size());
            if (count == 0) break;
            heat(&field_[first], static_cast<int>(count));
            first += count;
            const double share = std::min(1.0, timer_.elapsed() / race_seconds());
            if (options_.progress && !options_.progress(options_.user, share)) cancelled_ = true;
        }
        field_.clear();
    }

    // So few that one heat does not overdraw the budget; most drop out of it early.
    std::size_t heat_size() const {
        const double left = race_seconds() - timer_.elapsed(), warmup = std::max(1, options_.warmup);
        const double leaders = turn() * (warmup + options_.runs), each = turn() * (warmup + 2);
        const double fit = each > 0 ? (left - leaders) / each : kMostContenders - 1;
        return static_cast<std::size_t>(std::clamp(fit, 0.0, kMostContenders - 1.0));
    }

    // One race: the leader and `count` challengers, runs interleaved.
    void heat(Contender* challengers, int count) {
        Contender* racers[kMostContenders] = {&leader_};
        ProductChoice choices[kMostContenders] = {leader_.choice};
        for (int i = 0; i < count; ++i) {
            racers[i + 1] = &challengers[i];
            choices[i + 1] = challengers[i].choice;
        }
        leader_.runs = TimedRuns();
        timed_ += count;
        run_all(racers, choices, count + 1, options_.runs, true);
        Contender* best = &leader_;
        for (int i = 1; i <= count; ++i) {
            const double mark =
                best == &leader_ ? leader_.runs.median() * kTakesTheLead : best->runs.median();
            if (!racers[i]->runs.out && racers[i]->runs.median() < mark) best = racers[i];
        }
        leader_ = *best;
        leader_.runs.out = false;
        leader_seconds_ = leader_.runs.median();
    }

    // Runs in turns. drops: who is slow leaves.
    void run_all(Contender** racers, const ProductChoice* choices, int count, int rounds, bool drops) {
        timer_.open(choices, count);
        double first[kMostContenders] = {};
        for (int w = 0; w < std::max(1, options_.warmup); ++w)
            for (int i = 0; i < count; ++i) first[i] = timer_.run(i);
        // The leader never drops out: the others are measured against it.
        const double best_first = *std::min_element(first, first + count);
        for (int i = 1; i < count; ++i) racers[i]->runs.out = drops && first[i] > kDropAtOnce * best_first;
        for (int round = 0; round < rounds; ++round) {
            for (int i = 0; i < count; ++i)
                if (!racers[i]->runs.out) racers[i]->runs.add(timer_.run(i));
            if (drops && round == 1) drop_slow(racers, count);
        }
    }

    static void drop_slow(Contender** racers, int count) {
        double best = racers[0]->runs.fastest();
        for (int i = 1; i < count; ++i)
            if (!racers[i]->runs.out) best = std::min(best, racers[i]->runs.fastest());
        for (int i = 1; i < count; ++i)
            if (!racers[i]->runs.out) racers[i]->runs.out = racers[i]->runs.fastest() > kDropLater * best;
    }

    // --- sweeps: choices that differ from the leader on some axes

    template <class Values, class Field>
    void vary(const Values& values, Field ProductChoice::*field) {
        if (over()) return;
        vary_more(leader_.choice, values, field, [this](const ProductChoice& choice) { enter(choice); });
        race();
    }
    template <class ValuesA, class FieldA, class ValuesB, class FieldB>
    void vary_both(const ValuesA& values_a, FieldA ProductChoice::*a, const ValuesB& values_b,
                   FieldB ProductChoice::*b) {
        if (over()) return;
        vary_more(leader_.choice, values_a, a, [&](const ProductChoice& choice) {
            vary_more(choice, values_b, b, [this](const ProductChoice& both) { enter(both); });
        });
        race();
    }
    template <class Values, class Field, class Body>
    static void vary_more(ProductChoice choice, const Values& values, Field ProductChoice::*field,
                          Body body) {
        for (const auto value : values) {
            choice.*field = value;
            body(choice);
        }
    }

    // Tiles as values of the axis `tile`: usable here, 0 for the rule.
    struct Tiles {
        std::int32_t rows[64];
        int count = 0;
        const std::int32_t* begin() const { return rows; }
        const std::int32_t* end() const { return rows + count; }
    };
    Tiles tiles() const {
        Tiles list;
        list.rows[list.count++] = 0;
        for (const GemmTile& tile : gemm_tiles())
            if (usable(tile, context_.machine) &&
                (tile.isa != Isa::scalar || context_.machine.isa == Isa::scalar))
                list.rows[list.count++] = 1 + tile_row(tile);
        return list;
    }

    void sweep_tiles() {
        for (const std::int32_t tile : tiles()) {
            ProductChoice choice = leader_.choice;
            choice.tile = tile;
            enter(choice);
        }
        race();
    }

    void sweep_axes() {
        vary(kPackings, &ProductChoice::pack_b);
        vary(kTileOrders, &ProductChoice::order);
        vary(kBlocksOfK, &ProductChoice::k_block);
        vary(kBlocksOfN, &ProductChoice::n_block);
        vary(kBlocksOfM, &ProductChoice::m_block);
        vary(kPackings, &ProductChoice::pack_a);
        vary(kUnrolls, &ProductChoice::unroll);
        vary(kPrefetches, &ProductChoice::prefetch);
        vary(tiles(), &ProductChoice::tile);
        slide();
    }

    // Axes that share a cache, or change what the other one means.
    void sweep_pairs() {
        vary_both(kPackings, &ProductChoice::pack_b, kTileOrders, &ProductChoice::order);
        vary_both(tiles(), &ProductChoice::tile, kTileOrders, &ProductChoice::order);
        vary_both(tiles(), &ProductChoice::tile, kPackings, &ProductChoice::pack_b);
        vary_both(kBlocksOfK, &ProductChoice::k_block, kBlocksOfN, &ProductChoice::n_block);
        vary_both(kBlocksOfK, &ProductChoice::k_block, kBlocksOfM, &ProductChoice::m_block);
        vary_both(kPackings, &ProductChoice::pack_a, kBlocksOfM, &ProductChoice::m_block);
        vary_both(kPackings, &ProductChoice::pack_a, kTileOrders, &ProductChoice::order);
        vary_both(tiles(), &ProductChoice::tile, kBlocksOfK, &ProductChoice::k_block);
        vary_both(tiles(), &ProductChoice::tile, kBlocksOfN, &ProductChoice::n_block);
        vary_both(kBlocksOfM, &ProductChoice::m_block, kBlocksOfN, &ProductChoice::n_block);
    }

    // Along the ridge of constant working sets: shorter blocks of k with longer ones of m and n, and back.
    void slide() {
        if (over()) return;
        const Problem problem =
            problem_of(shape_, whole_rows_ ? EpilogueKind::rows : EpilogueKind::none, context_.request);
        const Schedule plan = blocked_schedule(problem, context_, leader_.choice);
        for (const std::int32_t k_block : kBlocksOfK) {
            const std::int64_t depth = std::min<std::int64_t>(k_block, shape_.k);
            if (depth <= 0) continue;
            const double scale = static_cast<double>(plan.kc) / static_cast<double>(depth);
            ProductChoice choice = leader_.choice;
            choice.k_block = k_block;
            choice.m_block = nearest(kBlocksOfM, scale * static_cast<double>(plan.mc));
            enter(choice);
            choice.n_block = nearest(kBlocksOfN, scale * static_cast<double>(plan.nc));
            enter(choice);
            choice.m_block = leader_.choice.m_block;
            enter(choice);
        }
        race();
    }
    template <std::size_t N>
    static std::int32_t nearest(const std::int32_t (&blocks)[N], double wanted) {
        std::int32_t best = kWholeExtent;
        for (const std::int32_t block : blocks)
            if (block > 0 && std::fabs(block - wanted) < std::fabs(best - wanted)) best = block;
        return best;
    }

    // --- the end

    // More than a race has, where the budget allows.
    int final_runs() const {
        const double left = options_.budget_seconds - timer_.elapsed();
        const int most = std::min(kMostTimedRuns, std::max(2 * options_.runs, 7));
        if (turn() <= 0) return kFewestFinalRuns;
        return static_cast<int>(
            std::clamp(left / (4 * turn()), double{kFewestFinalRuns}, static_cast<double>(most)));
    }

    // Leader, default and the classic choice in turns.
    TunerResult play_off() {
        TunerResult result;
        result.contenders = timed_;
        result.cancelled = cancelled_;
        if (cancelled_) return result;
        Contender three[3] = {made(ProductChoice()), leader_, made(classic_choice(context_))};
        Contender* racers[] = {&three[0], &three[1], &three[2]};
        three[1].runs = TimedRuns();
        const ProductChoice choices[] = {three[0].choice, three[1].choice, three[2].choice};
        run_all(racers, choices, 3, final_runs(), false);
        result.default_seconds = result.tuned_seconds = three[0].runs.median();
        result.classic_seconds = three[2].runs.median();
        if (three[0].key == three[1].key ||
            !(three[1].runs.median() < kDefaultStays * three[0].runs.median()))
            return result;
        result.choice = three[1].choice;
        result.tuned_seconds = three[1].runs.median();
        return result;
    }
};

}  // namespace

ProductChoice classic_choice(const CompileContext& context) {
    ProductChoice choice;
    const GemmTile* const tile = find_tile("f32_gemm_8x8_avx2");
    choice.tile = 1 + tile_row(usable(*tile, context.machine) ? *tile : *find_tile("f32_gemm_4x4_scalar"));
    choice.k_block = 128;
    choice.m_block = 64;
    choice.pack_a = choice.pack_b = Toggle::yes;
    return choice;
}

TunerResult tune_product(const ProductShape& shape, bool whole_rows, const CompileContext& context,
                         ProductTimer& timer, const TunerOptions& options) {
    return Search(shape, whole_rows, context, timer, options).run();
}

}  // namespace volta::cpu
