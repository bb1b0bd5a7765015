#include "engine/backend/cuda/product_tuner.h"

#include <algorithm>
#include <iterator>

namespace volta::cuda {
namespace {

constexpr double kDropAtOnce = 1.5;  // slower than the best after warm-up: out of the race
constexpr double kRaceShare = 0.6;   // of the budget
constexpr int kFewestRuns = 3;       // whatever the budget is

class Search {
  public:
    Search(const Contenders& contenders, ContenderTimer& timer, const TunerOptions& options)
        : contenders_(contenders), timer_(timer), options_(options) {
        options_.runs = std::clamp(options.runs, 1, kMostTimedRuns);
        options_.warmup = std::max(1, options.warmup);
    }

    TunerResult run() {
        TunerResult result;
        result.contenders = contenders_.count;
        const int winner = race();
        if (cancelled_) {
            result.cancelled = true;
            return result;
        }
        play_off(winner, result);
        return result;
    }

  private:
    bool over(double share, int done) const {
        return done >= kFewestRuns && timer_.elapsed() >= share * options_.budget_seconds;
    }

    // The default never drops out: the others are measured against it.
    int race() {
        TimedRuns racers[Contenders::kMost];
        const int count = contenders_.count;
        double first[Contenders::kMost] = {};
        for (int w = 0; w < options_.warmup; ++w)
            for (int i = 0; i < count; ++i) first[i] = timer_.run(i);
        const double best_first = *std::min_element(first, first + count);
        for (int i = 1; i < count; ++i) racers[i].out = first[i] > kDropAtOnce * best_first;
        for (int round = 0; round < options_.runs && !cancelled_ && !over(kRaceShare, round); ++round) {
            for (int i = 0; i < count; ++i)
                if (!racers[i].out) racers[i].add(timer_.run(i));
            if (options_.progress && !options_.progress(options_.user, (round + 1.0) / options_.runs))
                cancelled_ = true;
        }
        int best = 0;
        for (int i = 1; i < count; ++i)
            if (!racers[i].out && racers[i].median() < racers[best].median()) best = i;
        return best;
    }

    // Default, winner and the classic choice in turns, those that are different.
    void play_off(int winner, TunerResult& result) {
        TimedRuns runs[Contenders::kMost];
        const int players[] = {0, winner, contenders_.classic};
        const int most = std::min(kMostTimedRuns, std::max(2 * options_.runs, 7));
        for (int round = 0; round < most && !over(1, round); ++round)
            for (int i = 0; i < contenders_.count; ++i)
                if (std::find(std::begin(players), std::end(players), i) != std::end(players))
                    runs[i].add(timer_.run(i));
        result.default_seconds = result.tuned_seconds = runs[0].median();
        result.classic_seconds = runs[contenders_.classic].median();
        if (!(runs[winner].median() < kDefaultStays * runs[0].median())) return;
        result.choice = contenders_.choices[winner];
        result.tuned_seconds = runs[winner].median();
    }

    const Contenders& contenders_;
    ContenderTimer& timer_;
    TunerOptions options_;
    bool cancelled_ = false;
};

}  // namespace

Contenders contenders_of(const ProductShape& shape, int multiprocessors) {
    Contenders all;
    ProductChoice ways[Contenders::kMost];  // without rules
    const auto way_of = [&](const ProductChoice& choice) {
        return resolve(choice, shape, DType::f32, multiprocessors);
    };
    const auto enter = [&](const ProductChoice& choice) {
        const ProductChoice way = way_of(choice);
        if (std::find(ways, ways + all.count, way) != ways + all.count) return;
        ways[all.count] = way;
        all.choices[all.count++] = choice;
    };
    enter(ProductChoice());
    enter({ProductForm::rows, 0});
    for (const ProductForm form : {ProductForm::tiles, ProductForm::segments})
        for (const std::int32_t tile : {64, 128}) enter({form, tile});
    const ProductChoice classic = way_of({ProductForm::tiles, 64});
    all.classic = static_cast<int>(std::find(ways, ways + all.count, classic) - ways);
    return all;
}

TunerResult tune_product(const Contenders& contenders, ContenderTimer& timer, const TunerOptions& options) {
    return Search(contenders, timer, options).run();
}

}  // namespace volta::cuda
