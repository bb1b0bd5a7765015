#include "cli/fine_tuning.h"

#include <algorithm>

#include "cli/architectures.h"

namespace voltac {
namespace {

constexpr std::int64_t kUsualWindow = 256;

std::vector<std::string> patterns_of(const std::vector<std::string>& given) {
    std::vector<std::string> patterns;
    for (const std::string& text : given)
        for (std::size_t begin = 0; begin <= text.size();) {
            const std::size_t end = std::min(text.find(',', begin), text.size());
            if (end == begin)
                usage_error("voltac train: --freeze: '" + one_line(text) + "' has an empty pattern");
            patterns.push_back(text.substr(begin, end - begin));
            begin = end + 1;
        }
    return patterns;
}

}  // namespace

void FineTuning::declare(Options& options) {
    options.input("--from", from, kModel,
                  "a model file whose weights a new run begins with: one that was trained, or imported; "
                  "its tokenizer, sizes and preprocessing stay");
    options.texts(
        "--freeze", freeze,
        "with --from: parameters that keep their bits, by name or pattern, as 'layer1.*' or "
        "'*.bias,token_embedding'; as often as wanted. A batch norm whose statistics are frozen uses "
        "them");
    lora.declare(options, "with --from: train small matrices beside frozen weights, and write them alone");
    options.integer("--classes", classes, 1, 1 << 20,
                    "pictures, with --from: a new last layer of so many classes, drawn from --seed");
}

void FineTuning::check(const Options& options, bool of_pictures) const {
    for (const char* name : {"--freeze", "--classes", "--lora"})
        if (options.given(name) && !is_given())
            usage_error(std::string("voltac train: ") + name + " needs --from");
    if (!is_given()) return;
    lora.check();
    for (const char* name : {"--freeze", "--classes", "--lora"})
        if (options.given("--resume") && options.given(name))
            usage_error(std::string("voltac train: ") + name + " begins a run and --resume goes on with one");
    if (options.given("--classes") && lora.is_given())
        usage_error(
            "voltac train: --classes makes another base of --from, which --lora would not find again");
    for (const char* name : {"--preset", "--architecture", "--layers", "--dim", "--heads", "--kv-heads",
                             "--hidden", "--dropout", "--tokenizer", "--model"})
        if (options.given(name))
            usage_error(std::string("voltac train: ") + name + " is what --from says itself: leave it out");
    if (options.given("--classes") && !of_pictures)
        usage_error("voltac train: --classes is of pictures and needs --dataset");
    patterns_of(freeze);
}

Model FineTuning::open(const Context& context, std::uint64_t seed) const {
    Model model = open_model(context, from);
    if (lora.is_given()) return lora.on(std::move(model), seed);
    if (classes == 0) return model;
    volta_model* made = nullptr;
    if (volta_model_replace_head(model.get(), classes, seed, &made) != VOLTA_OK)
        failure("--from " + from + ": " + volta_last_error());
    return Model(made);
}

Model FineTuning::resumed(const Context& context, const std::string& checkpoint) const {
    return is_given() ? open_adapter(open_model(context, from), checkpoint) : open_model(context, checkpoint);
}

Trainer FineTuning::train(volta_model* model, volta_trainer_options options) const {
    const std::vector<std::string> patterns = patterns_of(freeze);
    std::vector<const char*> names;
    names.reserve(patterns.size());
    for (const std::string& pattern : patterns) names.push_back(pattern.c_str());
    options.frozen = names.empty() ? nullptr : names.data();
    options.frozen_count = names.size();
    volta_trainer* trainer = nullptr;
    if (volta_trainer_create(model, &options, &trainer) != VOLTA_OK)
        failure((is_given() ? "--from " + from + ": " : std::string()) + volta_last_error());
    return Trainer(trainer);
}

std::int64_t window_of(const Model& model, std::int64_t given) {
    const std::string text = model_size(model, "context");
    const std::int64_t most = text.empty() ? 0 : std::strtoll(text.c_str(), nullptr, 10);
    if (given == 0) return most > 0 ? std::min(most, kUsualWindow) : kUsualWindow;
    if (most > 0 && given > most)
        usage_error(
            formatted("voltac train: --context %lld is more than the %lld tokens that the model takes",
                      static_cast<long long>(given), static_cast<long long>(most)));
    return given;
}

void check_of_text(const Model& model, const std::string& path) {
    volta_tensor_info in = {}, out = {};
    bool fits = volta_model_input_count(model.get()) == 1;
    if (fits) {
        check(volta_model_input_info(model.get(), 0, &in));
        check(volta_model_output_info(model.get(), 0, &out));
        fits = in.dtype == VOLTA_I32 && in.rank == 2 && out.rank == 3 && out.dtype == VOLTA_F32;
    }
    if (!fits)
        failure(
            "--from " + path +
            ": the model does not say which token comes next, or is hidden: it needs one input [-1, -1] of "
            "tokens and logits of each");
}

}  // namespace voltac
