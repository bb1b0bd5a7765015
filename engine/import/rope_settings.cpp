// The formulas are those of transformers' modeling_rope_utils.py, in double.
#include "engine/import/rope_settings.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/base/error.h"
#include "engine/model/text.h"
#include "engine/numerics/double_functions.h"

namespace volta {
namespace {

constexpr double kPi = 3.14159265358979323846, kLn2 = 0.69314718055994530942;

double natural_log(double x) { return log2d(x) * kLn2; }

// A setting of the positions: programs keep them in "rope_parameters" or "rope_scaling".
class RopeSettings {
  public:
    RopeSettings(const ConfigFile& config, std::string_view layers) : config_(config), layers_(layers) {}

    bool has(std::string_view name) const { return config_.has(Places(*this, name).first()); }
    double number(std::string_view name, double fallback) const {
        return config_.number(Places(*this, name).first(), fallback);
    }
    bool truth(std::string_view name, bool fallback) const {
        return config_.truth(Places(*this, name).first(), fallback);
    }
    // One that may stand outside as well, by one of two names; all of them must say the same.
    double anywhere(std::string_view name, std::string_view older, double fallback) const {
        const Places places(*this, name);
        return config_.number(config_.first_of({name, older, places.name[0], places.name[1]}), fallback);
    }
    // One that a type cannot be without.
    double needed(std::string_view type, std::string_view name) const {
        if (!has(name))
            fail(VOLTA_CORRUPT_MODEL, "the config's rotary positions are of type '%.*s', but have no '%.*s'",
                 static_cast<int>(type.size()), type.data(), static_cast<int>(name.size()), name.data());
        return number(name, 0);
    }
    std::pmr::vector<double> numbers(std::string_view name, std::pmr::memory_resource* heap) const {
        return config_.numbers(Places(*this, name).first(), heap);
    }
    std::string_view type() const {
        const Places now(*this, "rope_type"), older(*this, "type");
        return config_.text(config_.first_of({now.name[0], older.name[0], now.name[1], older.name[1]}),
                            "default");
    }
    void expect_nothing_else() const {  // without a type, what else stands there may mean anything
        for (const char* object : {"rope_parameters", "rope_scaling"})
            if (layers_.empty() && !has("rope_type") && !has("type"))
                config_.expect_only(object, "rope_theta");
    }

  private:
    struct Places {
        Places(const RopeSettings& settings, std::string_view setting) : config(settings.config_) {
            const std::string_view layers = settings.layers_;
            std::snprintf(name[0], sizeof name[0], "rope_parameters.%.*s%s%.*s",
                          static_cast<int>(layers.size()), layers.data(), layers.empty() ? "" : ".",
                          static_cast<int>(setting.size()), setting.data());
            std::snprintf(name[1], sizeof name[1], "rope_scaling.%.*s", static_cast<int>(setting.size()),
                          setting.data());
        }
        std::string_view first() const { return config.first_of({name[0], name[1]}); }
        const ConfigFile& config;
        char name[2][96];
    };
    const ConfigFile& config_;
    const std::string_view layers_;
};

// Of pair i, unscaled.
double frequency_of(const DecoderConfig& decoder, std::int64_t i) {
    return rotary_frequency(i, decoder.turned, decoder.rope_base);
}

void add(DecoderConfig& decoder, float frequency) {
    decoder.frequencies.values[decoder.frequencies.count++] = frequency;
}

void scale_linear(const RopeSettings& rope, DecoderConfig& decoder) {
    const double factor = rope.needed("linear", "factor");
    for (std::int64_t i = 0; i < decoder.turned / 2; ++i)
        add(decoder, static_cast<float>(frequency_of(decoder, i) / factor));
}

void scale_llama3(const RopeSettings& rope, DecoderConfig& decoder) {
    const double factor = rope.needed("llama3", "factor"), low = rope.needed("llama3", "low_freq_factor"),
                 high = rope.needed("llama3", "high_freq_factor"),
                 original = rope.needed("llama3", "original_max_position_embeddings");
    for (std::int64_t i = 0; i < decoder.turned / 2; ++i) {
        const double frequency = frequency_of(decoder, i), length = 2 * kPi / frequency;
        const double smooth = (original / length - low) / (high - low);
        const double between = (1 - smooth) * frequency / factor + smooth * frequency;
        add(decoder, static_cast<float>(length < original / high  ? frequency
                                        : length > original / low ? frequency / factor
                                                                  : between));
    }
}

// Between pairs that turn `fast` times over the original length, and those that turn `slow` times.
void scale_yarn(const RopeSettings& rope, DecoderConfig& decoder) {
    const double original = rope.needed("yarn", "original_max_position_embeddings");
    const double factor = rope.number("factor", static_cast<double>(decoder.context) / original);
    const auto width = static_cast<double>(decoder.turned);
    const auto pair_of = [&](double turns) {
        return width * natural_log(original / (turns * 2 * kPi)) / (2 * natural_log(decoder.rope_base));
    };
    double low = pair_of(rope.number("beta_fast", 32)), high = pair_of(rope.number("beta_slow", 1));
    if (rope.truth("truncate", true)) {
        low = std::floor(low);
        high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, width - 1);
    if (low == high) high += 0.001;
    for (std::int64_t i = 0; i < decoder.turned / 2; ++i) {
        const double frequency = frequency_of(decoder, i);
        const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
        add(decoder, static_cast<float>(frequency / factor * ramp + frequency * (1 - ramp)));
    }
    const auto by = [&](double scale) { return factor <= 1 ? 1.0 : 0.1 * scale * natural_log(factor) + 1; };
    const double scale = rope.number("mscale", 0), scale_all = rope.number("mscale_all_dim", 0);
    decoder.rope_scale =
        rope.number("attention_factor", scale != 0 && scale_all != 0 ? by(scale) / by(scale_all) : by(1));
}

// Short factors hold up to the original length.
void scale_long(const RopeSettings& rope, const ConfigFile& config, DecoderConfig& decoder,
                std::pmr::memory_resource* heap) {
    const double original =
        rope.number("original_max_position_embeddings",
                    config.number("original_max_position_embeddings", static_cast<double>(decoder.context)));
    const auto factors = rope.numbers("short_factor", heap);
    if (static_cast<std::int64_t>(factors.size()) != decoder.turned / 2)
        fail(VOLTA_CORRUPT_MODEL,
             "the config's rotary positions have %zu of 'short_factor' for %lld pairs of a head",
             factors.size(), static_cast<long long>(decoder.turned / 2));
    for (std::int64_t i = 0; i < decoder.turned / 2; ++i)
        add(decoder, static_cast<float>(frequency_of(decoder, i) / factors[static_cast<std::size_t>(i)]));
    const double factor = rope.number("factor", static_cast<double>(decoder.context) / original);
    decoder.rope_scale = rope.number(
        "attention_factor", factor <= 1 ? 1 : std::sqrt(1 + natural_log(factor) / natural_log(original)));
    decoder.context = std::min(decoder.context, static_cast<std::int64_t>(original));
    rope.numbers("long_factor", heap);  // of longer texts
}

}  // namespace

void read_rope(const ConfigFile& config, std::string_view layers, DecoderConfig& decoder,
               std::pmr::memory_resource* heap) {
    const RopeSettings rope(config, layers);
    const std::string_view type = rope.type();
    rope.expect_nothing_else();
    decoder.frequencies.count = 0;
    decoder.rope_scale = 1;
    decoder.rope_base = rope.anywhere("rope_theta", "rotary_emb_base", decoder.rope_base);
    const double part = rope.anywhere("partial_rotary_factor", "rotary_pct", decoder.turned < 0 ? 0.25 : 1.0);
    const std::int64_t width = decoder.head_dim > 0 ? decoder.head_dim
                               : decoder.heads > 0  ? decoder.dim / decoder.heads
                                                    : 0;
    decoder.turned = 0;
    if (!(part > 0 && part <= 1))
        fail(VOLTA_UNSUPPORTED,
             "the config's rotary positions turn %g of each head; it must be more than 0 and at most 1",
             part);
    decoder.turned = static_cast<std::int64_t>(static_cast<double>(width) * part);
    if (type == "default" || type == "dynamic") {  // which scales nothing up to the original length
        for (const char* object : {"rope_parameters", "rope_scaling"}) config.set_read(object);
        return;
    }
    if (decoder.turned < 2 || !(decoder.rope_base >= 1)) return;  // the decoder's own check tells of it
    if (decoder.turned > 2 * kMostFrequencies)
        fail(VOLTA_UNSUPPORTED,
             "the config's rotary positions are scaled and turn %lld elements of a head; the most are %lld",
             static_cast<long long>(decoder.turned), static_cast<long long>(2 * kMostFrequencies));
    if (type == "linear") return scale_linear(rope, decoder);
    if (type == "llama3") return scale_llama3(rope, decoder);
    if (type == "yarn") return scale_yarn(rope, decoder);
    if (type == "longrope" || type == "su") return scale_long(rope, config, decoder, heap);
    const ShownName shown_type = shown(type);
    fail(VOLTA_UNSUPPORTED,
         "the config's rotary positions are of type '%.*s'; Volta knows default, linear, dynamic, llama3, "
         "yarn and longrope",
         shown_type.bytes, shown_type.text);
}

double read_local_base(const ConfigFile& config, double fallback) {
    config.expect("rope_parameters.sliding_attention.rope_type", std::string_view("default"));
    return config.number(
        config.first_of({"rope_local_base_freq", "rope_parameters.sliding_attention.rope_theta"}), fallback);
}

}  // namespace volta
