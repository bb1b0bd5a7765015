// A host whose locale writes 0,5 for a half: every text and file of the library, and whatever it reads, is
// what it is in the locale C. The locale is the system's, or one that localedef makes here.
#include <clocale>
#include <cstring>
#include <functional>
#include <regex>
#include <string>
#include <vector>

#include <locale.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/cmocka_cpp.h"
#include "volta.h"

namespace {

std::string folder;

std::string contents(const std::string& path) {
    std::string text;
    FILE* const file = fopen(path.c_str(), "rb");
    if (file == nullptr) return "none";
    char block[4096];
    for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;) text.append(block, n);
    fclose(file);
    return text;
}

bool writes_commas() {
    char text[16];
    snprintf(text, sizeof text, "%.1f", 0.5);
    return strcmp(text, "0,5") == 0;
}

// One that the system has, else one that is made; false: neither.
bool set_comma_locale() {
    for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "fr_FR"})
        if (setlocale(LC_ALL, name) != nullptr && writes_commas()) return true;
    const std::string make =
        "localedef -c -i de_DE -f UTF-8 '" + folder + "/de_DE.UTF-8' >/dev/null 2>&1 || true";
    if (system(make.c_str()) != 0) return false;
    setenv("LOCPATH", folder.c_str(), 1);
    return setlocale(LC_ALL, "de_DE.UTF-8") != nullptr && writes_commas();
}

// What was said and written, piece by piece.
class Record {
  public:
    void add(const char* what, const std::string& text) {
        pieces_.push_back(std::string(what) + ": " + text);
    }
    void status(const char* what, volta_status status) {
        add(what, status == VOLTA_OK ? "ok" : volta_last_error());
    }
    const std::vector<std::string>& pieces() const { return pieces_; }
    std::string log;

  private:
    std::vector<std::string> pieces_;
};

void hear(void* user, volta_log_level, const char* line) {
    static_cast<Record*>(user)->log += line + std::string("\n");
}

std::string hash_of(const volta_model* model) {
    char text[33] = "";
    volta_model_hash(model, text);
    return text;
}

void record_messages(Record& record, volta_context* context, volta_model* model) {
    volta_generator_options generating = VOLTA_GENERATOR_OPTIONS_INIT;
    volta_generator* generator = nullptr;
    generating.temperature = 1234.5;
    record.status("temperature", volta_generator_create(model, &generating, &generator));
    const int64_t shape[] = {2, 16};
    volta_trainer_options training = VOLTA_TRAINER_OPTIONS_INIT;
    volta_trainer* trainer = nullptr;
    training.input_shapes = shape;
    training.input_extent_count = 2;
    training.beta1 = 1.5;
    record.status("beta", volta_trainer_create(model, &training, &trainer));
    volta_stop_options stop = VOLTA_STOP_OPTIONS_INIT;
    stop.max_seconds = -0.25;
    record.status("stop", volta_context_set_stop(context, &stop));
    const volta_tune_shape one = {64, 64, 64, 0, 0, 0, 0, 0};
    char text[16384] = "";
    size_t bytes = 0;
    record.status("explain",
                  volta_explain_matmul(context, &one, VOLTA_EXPLAIN_FROM_MEMORY, text, sizeof text, &bytes));
    record.add("explanation", text);
}

void record_training(Record& record, volta_model* model) {
    const int64_t shape[] = {2, 16};
    volta_trainer_options training = VOLTA_TRAINER_OPTIONS_INIT;
    volta_trainer* trainer = nullptr;
    std::vector<int32_t> tokens(200);
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * i % 61);
    training.input_shapes = shape;
    training.input_extent_count = 2;
    training.learning_rate = 1.5e-3;
    training.clip_norm = 0.5;
    record.status("trainer", volta_trainer_create(model, &training, &trainer));
    record.status("tokens", volta_trainer_set_tokens(trainer, tokens.data(), tokens.size()));
    for (int i = 0; i < 2; ++i) record.status("step", volta_trainer_step_tokens(trainer, nullptr));
    const char* plan = "";
    record.status("plan", volta_trainer_print_plan(trainer, &plan));
    record.add("plan", plan);
    const std::string path = folder + "/checkpoint.volta";
    record.status("save", volta_trainer_save(trainer, path.c_str()));
    record.add("checkpoint", contents(path));
    volta_trainer_release(trainer);
}

void record_files(Record& record, volta_context* context, volta_model* model) {
    const std::string weights = folder + "/model.safetensors", config = folder + "/config.json",
                      graph = folder + "/graph.onnx";
    volta_export_options names = VOLTA_EXPORT_OPTIONS_INIT;
    names.names = VOLTA_NAMES_HUGGING_FACE;
    names.config_path = config.c_str();
    record.status("export", volta_model_export_safetensors_with(model, &names, weights.c_str()));
    record.add("config", contents(config));
    record.add("weights", contents(weights));
    volta_model* imported = nullptr;
    record.status("import", volta_model_import(context, weights.c_str(), nullptr, &imported));
    record.add("imported", imported != nullptr ? hash_of(imported) : "");
    const char* epsilon = nullptr;
    record.status("metadata", volta_model_get_metadata(imported, "volta.llama.epsilon", &epsilon));
    record.add("epsilon", epsilon != nullptr ? epsilon : "none");
    volta_model_release(imported);
    record.status("onnx", volta_model_export_onnx(model, nullptr, graph.c_str()));
    record.add("graph", contents(graph));
    char text[16384] = "";
    size_t bytes = 0;
    record.status("survey", volta_model_survey(context, graph.c_str(), nullptr, text, sizeof text, &bytes));
    record.add("survey", text);
    imported = nullptr;
    record.status("import onnx", volta_model_import(context, graph.c_str(), nullptr, &imported));
    record.add("imported", imported != nullptr ? hash_of(imported) : "");
    volta_model_release(imported);
}

// Times differ: what is looked for in these files is a number with a comma.
bool has_decimal_comma(const std::string& json) {
    return std::regex_search(json, std::regex(":[ ]*-?[0-9]+,[0-9]"));
}

void record_measured_files(Record& record) {
    const std::string tuning = folder + "/tuning", trace = folder + "/trace.json";
    volta_context_options options = VOLTA_CONTEXT_OPTIONS_INIT;
    options.thread_count = 1;
    options.log = hear;
    options.log_user = &record;
    options.tuning_folder = tuning.c_str();
    volta_context* context = nullptr;
    record.status("context", volta_context_create(&options, &context));
    const volta_tune_shape one = {16, 64, 64, 0, 0, 0, 0, 0};
    volta_tune_options tune = VOLTA_TUNE_OPTIONS_INIT;
    tune.shapes = &one;
    tune.shape_count = 1;
    tune.seconds = 0.02;
    record.status("profile", volta_profile_start(context, nullptr));
    record.status("tune", volta_tune(context, &tune));
    record.status("stop", volta_profile_stop(context));
    record.status("trace", volta_profile_write_trace(context, trace.c_str()));
    volta_context_release(context);
    record.add("commas in the trace", has_decimal_comma(contents(trace)) ? "some" : "none");
    const std::string list = "cat '" + tuning + "'/*.json > '" + folder + "/tuned' 2>/dev/null";
    record.add("tuning files", system(list.c_str()) == 0 ? "there" : "none");
    record.add("commas in them", has_decimal_comma(contents(folder + "/tuned")) ? "some" : "none");
    record.status("again",
                  volta_context_create(&options, &context));  // which reads the file, and logs nothing
    volta_context_release(context);
}

Record record_all() {
    Record record;
    const std::string clean = "rm -rf '" + folder + "'/[a-ce-z]*";  // not the locale
    if (system(clean.c_str()) != 0) record.add("folder", "not cleaned");
    volta_context_options options = VOLTA_CONTEXT_OPTIONS_INIT;
    options.thread_count = 1;
    options.log = hear;
    options.log_user = &record;
    volta_context* context = nullptr;
    volta_model* model = nullptr;
    volta_llama_options llama = VOLTA_LLAMA_OPTIONS_INIT;
    llama.vocabulary = 64;
    llama.layers = 1;
    llama.dim = 32;
    llama.heads = 2;
    llama.context = 16;
    llama.rope_base = 12345.5;
    llama.epsilon = 2.5e-6;
    record.status("context", volta_context_create(&options, &context));
    record.status("model", volta_model_create_llama(context, &llama, 3, &model));
    record.add("hash", hash_of(model));
    record_messages(record, context, model);
    record_training(record, model);
    record_files(record, context, model);
    volta_model_release(model);
    volta_context_release(context);
    record_measured_files(record);
    record.add("log", record.log);
    return record;
}

void test_a_decimal_comma_changes_nothing(void**) {
    char name[] = "/tmp/volta-locale-XXXXXX";
    folder = mkdtemp(name) != nullptr ? name : ".";
    const Record expected = record_all();
    const bool has_locale = set_comma_locale();
    const Record found = has_locale ? record_all() : expected;
    const bool stays = !has_locale || writes_commas();  // the host's locale is as it was
    setlocale(LC_ALL, "C");
    const std::string clean = "rm -rf '" + folder + "'";
    const bool cleaned = system(clean.c_str()) == 0;
    int different = 0;
    for (size_t i = 0; i < expected.pieces().size() && i < found.pieces().size(); ++i)
        if (expected.pieces()[i] != found.pieces()[i]) {
            print_error("differs: %.200s\n", found.pieces()[i].c_str());
            ++different;
        }
    bool commas = false;
    for (const std::string& piece : expected.pieces())
        commas = commas || piece.find(": some") != std::string::npos;
    if (!has_locale)
        print_message("skipped: the system has no locale with a decimal comma, and localedef makes none\n");
    assert_true(cleaned && stays);
    assert_int_equal(different, 0);
    assert_false(commas);
    assert_true(expected.pieces().size() == found.pieces().size());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(test_a_decimal_comma_changes_nothing)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
