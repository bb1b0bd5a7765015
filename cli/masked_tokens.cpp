// Tokens that are hidden and asked for: the lesson of a bert.
#include <algorithm>
#include <cmath>

#include "cli/lesson.h"

namespace voltac {
namespace {

using Tensor = std::unique_ptr<volta_tensor, Release<volta_tensor, volta_tensor_release>>;

// SplitMix64 of a seed and two counters: the same numbers in any order of asking.
class Draws {
  public:
    Draws(std::uint64_t seed, std::uint64_t step, std::uint64_t row)
        : state_(seed * 0xd1342543de82ef95u + step * 0x2545f4914f6cdd1du + row * 0x9e6c63d0876a9a47u) {
        next();
    }
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }
    std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }

  private:
    std::uint64_t state_;
};

// Rows of `time` tokens, and what is asked for: -1 where nothing is.
struct Batch {
    std::int64_t rows, time;
    std::vector<std::int32_t> tokens, targets;
    Tensor token_tensor, target_tensor;

    Batch(const Context& context, std::int64_t row_count, std::int64_t length)
        : rows(row_count), time(length) {
        tokens.resize(static_cast<std::size_t>(rows * time));
        targets.resize(tokens.size());
        token_tensor = wrapped(context, tokens);
        target_tensor = wrapped(context, targets);
    }
    Tensor wrapped(const Context& context, std::vector<std::int32_t>& values) const {
        const std::int64_t shape[] = {rows, time};
        volta_tensor* tensor = nullptr;
        check(volta_tensor_wrap(context.get(), VOLTA_I32, shape, 2, values.data(), &tensor));
        return Tensor(tensor);
    }
};

class MaskedTokens final : public Lesson {
  public:
    MaskedTokens(const Context& context, Model model, const volta_trainer_options& options, MaskToken mask,
                 std::vector<std::int32_t> train, std::vector<std::int32_t> validation)
        : context_(context),
          model_(std::move(model)),
          mask_(mask),
          train_(std::move(train)),
          validation_(std::move(validation)),
          seed_(options.seed),
          batch_(context, options.input_shapes[0] * static_cast<std::int64_t>(options.micro_batches),
                 options.input_shapes[1]) {
        for (const auto* tokens : {&train_, &validation_})
            if (tokens->size() < static_cast<std::size_t>(batch_.time))
                failure(formatted("%zu tokens are fewer than a window of %lld", tokens->size(),
                                  static_cast<long long>(batch_.time)));
    }

    volta_status step(volta_trainer* trainer, volta_step_report* report) override {
        const std::uint64_t step = volta_trainer_current_step(trainer);
        for (std::int64_t row = 0; row < batch_.rows; ++row) {
            Draws draws(seed_ + 1, step, static_cast<std::uint64_t>(row));
            const std::size_t windows = train_.size() - static_cast<std::size_t>(batch_.time) + 1;
            fill(batch_, row, train_.data() + draws.below(windows), draws);
        }
        const volta_tensor* const inputs[] = {batch_.token_tensor.get()};
        return volta_trainer_step(trainer, inputs, 1, batch_.target_tensor.get(), report);
    }

    double validation_loss(volta_trainer* trainer) override {
        check(volta_trainer_update_model(trainer));
        Batch window(context_, 1, batch_.time);
        const std::int64_t input_shape[] = {1, window.time},
                           logits_shape[] = {1, window.time, mask_.vocabulary};
        std::vector<float> logits(static_cast<std::size_t>(window.time * mask_.vocabulary));
        volta_tensor* made = nullptr;
        check(volta_tensor_wrap(context_.get(), VOLTA_F32, logits_shape, 3, logits.data(), &made));
        const Tensor output(made);
        volta_session_options options = VOLTA_SESSION_OPTIONS_INIT;
        options.input_shapes = input_shape;
        options.input_extent_count = 2;
        volta_session* created = nullptr;
        check(volta_session_create(model_.get(), &options, &created));
        const Session session(created);
        double sum = 0;
        std::int64_t count = 0;
        const auto time = static_cast<std::size_t>(window.time);
        for (std::size_t begin = 0; begin + time <= validation_.size(); begin += time) {
            Draws draws(0, 0, begin);
            fill(window, 0, validation_.data() + begin, draws);
            const volta_tensor* const inputs[] = {window.token_tensor.get()};
            check(volta_session_run(session.get(), inputs, 1, &made, 1));
            for (std::size_t i = 0; i < time; ++i) {
                if (window.targets[i] < 0) continue;
                sum += cross_entropy(logits.data() + i * static_cast<std::size_t>(mask_.vocabulary),
                                     mask_.vocabulary, window.targets[i]);
                ++count;
            }
        }
        return sum / static_cast<double>(count);
    }

  private:
    void fill(Batch& batch, std::int64_t row, const std::int32_t* window, Draws& draws) const {
        const auto time = static_cast<std::size_t>(batch.time);
        std::int32_t* const tokens = batch.tokens.data() + static_cast<std::size_t>(row) * time;
        std::int32_t* const targets = batch.targets.data() + static_cast<std::size_t>(row) * time;
        const std::size_t certain = draws.below(time);  // no window asks for nothing
        for (std::size_t i = 0; i < time; ++i) {
            const bool hidden = draws.below(100) < 15 || i == certain;
            const std::size_t kind = draws.below(10);
            const auto other =
                static_cast<std::int32_t>(draws.below(static_cast<std::size_t>(mask_.vocabulary)));
            tokens[i] = !hidden || kind == 9 ? window[i] : kind == 8 ? other : mask_.id;
            targets[i] = hidden ? window[i] : -1;
        }
    }

    const Context& context_;
    Model model_;
    MaskToken mask_;
    std::vector<std::int32_t> train_, validation_;
    std::uint64_t seed_;
    Batch batch_;
};

class NextTokens final : public Lesson {
  public:
    explicit NextTokens(std::vector<std::int32_t> validation) : validation_(std::move(validation)) {}
    volta_status step(volta_trainer* trainer, volta_step_report* report) override {
        return volta_trainer_step_tokens(trainer, report);
    }
    double validation_loss(volta_trainer* trainer) override {
        double loss = 0;
        check(volta_trainer_evaluate_tokens(trainer, validation_.data(), validation_.size(), &loss));
        return loss;
    }

  private:
    std::vector<std::int32_t> validation_;
};

}  // namespace

std::unique_ptr<Lesson> next_tokens(volta_trainer* trainer, const std::string& text_path,
                                    const std::vector<std::int32_t>& train,
                                    std::vector<std::int32_t> validation) {
    const volta_status status = volta_trainer_set_tokens(trainer, train.data(), train.size());
    if (status != VOLTA_OK) failure(text_path + ": " + volta_last_error());
    return std::make_unique<NextTokens>(std::move(validation));
}

double cross_entropy(const float* logits, std::int64_t count, std::int32_t target) {
    const double most = static_cast<double>(*std::max_element(logits, logits + count));
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += std::exp(static_cast<double>(logits[i]) - most);
    return std::log(sum) + most - static_cast<double>(logits[target]);
}

MaskToken mask_token(const Tokenizer& tokenizer) {
    volta_encode_options options = VOLTA_ENCODE_OPTIONS_INIT;
    options.special = 1;
    const std::string name = "[MASK]";
    std::int32_t id = 0;
    std::size_t count = 0;
    const std::int32_t size = volta_tokenizer_size(tokenizer.get());
    const volta_status status =
        volta_tokenizer_encode_with(tokenizer.get(), &options, name.data(), name.size(), &id, 1, &count);
    if (status == VOLTA_OK && count == 1) return {id, size};
    return {size, std::int64_t{size} + 1};
}

std::string text_mark(const std::vector<std::int32_t>& tokens) {
    std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a over the ids
    for (const std::int32_t token : tokens)
        hash = (hash ^ static_cast<std::uint32_t>(token)) * 0x100000001b3u;
    return formatted("%zu tokens %016llx", tokens.size(), static_cast<unsigned long long>(hash));
}

std::unique_ptr<Lesson> masked_tokens(const Context& context, Model model, volta_trainer* trainer,
                                      MaskToken mask, std::vector<std::int32_t> train,
                                      std::vector<std::int32_t> validation) {
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    check(volta_trainer_get_options(trainer, &options));
    return std::make_unique<MaskedTokens>(context, std::move(model), options, mask, std::move(train),
                                          std::move(validation));
}

}  // namespace voltac
