// Decoders as other programs write them: the logits that transformers gives (tests/golden/decoders.txt, made
// by tests/parity/parity_decoders.py --golden), the same bits token by token, saved, and through Volta's own
// names.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/api/foreign_models.h"

namespace {
using namespace volta::test;

constexpr const char* kGoldenFile = "golden/decoders.txt";
constexpr std::size_t kVocabulary = 97, kGolden = 16;

// Logits of all tokens.
std::vector<float> logits_of(Host& host, volta_model* model, const std::vector<std::int32_t>& tokens) {
    return run_tokens(host, model, tokens,
                      {1, static_cast<std::int64_t>(tokens.size()), static_cast<std::int64_t>(kVocabulary)});
}

// Logits of the last token, each token entered by itself.
std::vector<float> decoded(volta_model* model, const std::vector<std::int32_t>& tokens) {
    volta_generator* generator = nullptr;
    volta_sequence* sequence = nullptr;
    check(volta_generator_create(model, nullptr, &generator));
    check(volta_sequence_create(generator, nullptr, &sequence));
    for (std::size_t t = 0; t < tokens.size(); ++t) {
        std::int32_t drawn = 0;
        check(volta_sequence_append(sequence, &tokens[t], 1));
        check(volta_generator_step(generator, &sequence, 1, &drawn));
        if (t + 1 < tokens.size()) check(volta_sequence_rewind(sequence, t + 1));
    }
    const float* logits = nullptr;
    std::size_t count = 0;
    check(volta_sequence_logits(sequence, &logits, &count));
    std::vector<float> copy(logits, logits + count);
    volta_sequence_release(sequence);
    volta_generator_release(generator);
    return copy;
}

bool same_bits(const std::vector<float>& a, const float* b) {
    return std::memcmp(a.data(), b, a.size() * sizeof(float)) == 0;
}

// ---- What of a family goes on to other programs: the table "handed" of docs/import.md

struct HandedOn {
    std::string type;
    int tried = 0, hugging_face = 0, gguf = 0, peft = 0;  // configurations
};

bool is_written(volta_status status, const Case& one, const char* what) {
    if (status != VOLTA_OK && status != VOLTA_UNSUPPORTED)
        failed("%s: %s: %s", one.name.c_str(), what, volta_last_error());
    return status == VOLTA_OK;
}

// Of what is written the logits are the model's, but that GGUF files may have another order of sums.
void check_written(Host& host, const Golden& golden, const Case& one, const std::vector<float>& logits,
                   const std::string& path) {
    volta_model* read = nullptr;
    check(volta_model_import(host.context, path.c_str(), nullptr, &read));
    const std::vector<float> again = logits_of(host, read, golden.tokens);
    float largest = 0, difference = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        largest = std::fmax(largest, std::fabs(logits[i]));
        difference = std::fmax(difference, std::fabs(logits[i] - again[i]));
    }
    if (!(difference <= kMostDifference * largest))
        failed("%s: what is written as %s is another model", one.name.c_str(), path.c_str());
    volta_model_release(read);
}

void hand_on(Host& host, const Golden& golden, const Case& one, HandedOn& family) {
    TemporaryFolder folder;
    volta_model *model = nullptr, *adapters = nullptr;
    check(volta_model_import(host.context, write_case(folder, one, one.config).c_str(), nullptr, &model));
    const std::vector<float> logits = logits_of(host, model, golden.tokens);
    ++family.tried;
    const std::string weights = folder.file("theirs.safetensors"), config = folder.file("theirs.json"),
                      gguf = folder.file("theirs.gguf");
    const volta_export_options names = {sizeof names, VOLTA_NAMES_HUGGING_FACE, config.c_str()};
    if (is_written(volta_model_export_safetensors_with(model, &names, weights.c_str()), one, "names")) {
        ++family.hugging_face;
        volta_import_options options = {};
        options.struct_size = sizeof options;
        options.config_path = config.c_str();
        volta_model* read = nullptr;
        check(volta_model_import(host.context, weights.c_str(), &options, &read));
        if (!same_bits(logits_of(host, read, golden.tokens), logits.data()))
            failed("%s: under Hugging Face's names it is another model", one.name.c_str());
        volta_model_release(read);
    }
    if (is_written(volta_model_export_gguf(model, nullptr, gguf.c_str()), one, "GGUF")) {
        ++family.gguf;
        check_written(host, golden, one, logits, gguf);
    }
    check(volta_model_add_lora(model, nullptr, &adapters));
    family.peft += is_written(volta_model_export_peft(adapters, folder.file("").c_str()), one, "PEFT");
    volta_model_release(adapters);
    volta_model_release(model);
}

std::string share(int count, int tried) {
    return count == tried ? "yes"
           : count == 0   ? "no"
                          : std::to_string(count) + " of " + std::to_string(tried);
}

std::string table_of(const std::vector<HandedOn>& families) {
    std::string table =
        "| `model_type` | configurations tried | Hugging Face's names | GGUF | adapters for PEFT "
        "|\n|---|---|---|---|---|\n";
    for (const HandedOn& family : families)
        table += "| `" + family.type + "` | " + std::to_string(family.tried) + " | " +
                 share(family.hugging_face, family.tried) + " | " + share(family.gguf, family.tried) + " | " +
                 share(family.peft, family.tried) + " |\n";
    return table;
}

void test_the_page_says_what_is_handed_on(void**) {
    const Golden golden = read_golden(kGoldenFile);
    Host host;
    std::vector<HandedOn> families;
    for (const Case& one : golden.cases) {
        const std::string type = type_of(one);
        if (families.empty() || families.back().type != type) families.push_back({type});
        hand_on(host, golden, one, families.back());
    }
    const std::string table = table_of(families);
    std::ifstream file("../docs/import.md");
    std::stringstream page;
    page << file.rdbuf();
    const bool is_said =
        page.str().find("<!-- handed:begin -->\n" + table + "<!-- handed:end -->") != std::string::npos;
    if (!is_said) print_error("docs/import.md has another table than this one:\n%s", table.c_str());
    assert_true(is_said);
}

void check_case(Host& host, const Golden& golden, const Case& one) {
    TemporaryFolder folder;
    const std::string path = write_case(folder, one, one.config);
    volta_model *model = nullptr, *opened = nullptr, *again = nullptr;
    check(volta_model_import(host.context, path.c_str(), nullptr, &model));
    const std::vector<float> logits = logits_of(host, model, golden.tokens);
    const float* const last = logits.data() + logits.size() - kVocabulary;
    assert_int_equal(one.values.size(), kGolden + 1);
    for (std::size_t i = 0; i < kGolden; ++i)
        if (!(std::fabs(last[i] - one.values[i]) <= kMostDifference * one.values[kGolden]))
            failed("%s: logit %zu is %.9g, transformers gives %.9g", one.name.c_str(), i,
                   static_cast<double>(last[i]), static_cast<double>(one.values[i]));
    const std::vector<float> alone = decoded(model, golden.tokens);
    if (alone.size() != kVocabulary || !same_bits(alone, last))
        failed("%s: token by token other bits than at once", one.name.c_str());

    const std::string own = folder.file("m.volta"), exported = folder.file("own.safetensors");
    check(volta_model_save(model, own.c_str()));
    check(volta_model_open(host.context, own.c_str(), nullptr, &opened));
    assert_true(same_bits(logits_of(host, opened, golden.tokens), logits.data()));
    check(volta_model_export_safetensors(model, exported.c_str()));
    check(volta_model_import(host.context, exported.c_str(), nullptr, &again));
    if (!same_bits(logits_of(host, again, golden.tokens), logits.data()))
        failed("%s: what Volta exported gives other bits", one.name.c_str());
    check_peft(folder, one, model);
    for (volta_model* each : {model, opened, again}) volta_model_release(each);
}

void test_decoders_give_the_logits_of_transformers(void**) {
    const Golden golden = read_golden(kGoldenFile);
    assert_true(golden.cases.size() >= 48 && golden.tokens.size() == 16);
    Host host;
    for (const Case& one : golden.cases) check_case(host, golden, one);
}

// A setting that is dropped, or read as another, is seen in the logits.
void test_every_setting_counts(void**) {
    const struct {
        const char *name, *from, *to;
    } rows[] = {
        {"llama3", "\"factor\": 8.0", "\"factor\": 2.0"},
        {"llama-yarn", "\"factor\": 4.0", "\"factor\": 2.0"},
        {"phi3-long", "1.1, 1.3", "1.1, 1.2"},
        {"phi3-part", "\"partial_rotary_factor\": 0.75", "\"partial_rotary_factor\": 0.5"},
        {"granite", "\"attention_multiplier\": 0.015625", "\"attention_multiplier\": 0.5"},
        {"granite", "\"residual_multiplier\": 0.22", "\"residual_multiplier\": 0.23"},
        {"granite", "\"logits_scaling\": 8.0", "\"logits_scaling\": 4.0"},
        {"olmo-clip", "\"clip_qkv\": 0.05", "\"clip_qkv\": 0.06"},
        {"smollm3-two", "[1, 0, 1]", "[1, 1, 1]"},
        {"gemma2-cap", "\"attn_logit_softcapping\": 0.5", "\"attn_logit_softcapping\": 0.4"},
        {"gemma2-cap", "\"final_logit_softcapping\": 1.0", "\"final_logit_softcapping\": 2.0"},
        {"gemma2", "\"query_pre_attn_scalar\": 20", "\"query_pre_attn_scalar\": 40"},
        {"mistral-window", "\"sliding_window\": 9", "\"sliding_window\": 8"},
        {"gpt_neox", "\"use_parallel_residual\": true", "\"use_parallel_residual\": false"},
        {"qwen3", "\"rms_norm_eps\": 1e-06", "\"rms_norm_eps\": 1e-02"},
    };
    const Golden golden = read_golden(kGoldenFile);
    Host host;
    for (const auto& row : rows) {
        const Case* found = nullptr;
        for (const Case& one : golden.cases)
            if (one.name == row.name) found = &one;
        assert_non_null(found);
        std::string config = found->config;
        const std::size_t at = config.find(row.from);
        if (at == config.npos) failed("%s has no %s: %s", row.name, row.from, config.c_str());
        config.replace(at, std::strlen(row.from), row.to);
        TemporaryFolder folder;
        const std::string path = write_case(folder, *found, config);
        volta_model* model = nullptr;
        check(volta_model_import(host.context, path.c_str(), nullptr, &model));
        const std::vector<float> logits = logits_of(host, model, golden.tokens);
        const float* const last = logits.data() + logits.size() - kVocabulary;
        float most = 0;
        for (std::size_t i = 0; i < kGolden; ++i)
            most = std::fmax(most, std::fabs(last[i] - found->values[i]));
        if (!(most > 10 * kMostDifference * found->values[kGolden]))
            failed("%s: %s changes nothing", row.name, row.to);
        volta_model_release(model);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_decoders_give_the_logits_of_transformers),
        cmocka_unit_test(test_every_setting_counts),
        cmocka_unit_test(test_the_page_says_what_is_handed_on),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
