// Models of other programs that tests/parity/parity_decoders.py and parity_encoders.py describe: config,
// names and shapes of tensors, whose numbers follow from their names, and what transformers gives.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/cmocka_cpp.h"
#include "tests/support/weight_files.h"
#include "volta.h"

namespace volta::test {

constexpr float kMostDifference = 1e-5f;  // of the largest output

struct Case {
    std::string name, config;
    std::vector<PlainTensor> tensors;
    std::vector<std::int64_t> shape;  // of the output, where the file says it
    std::vector<float> values;        // some of the output, then the largest of all
};
struct Golden {
    std::vector<std::int32_t> tokens;
    std::vector<Case> cases;
};

inline std::uint64_t splitmix(std::uint64_t seed, std::uint64_t index) {
    std::uint64_t z = seed + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

// As words_of() of the script draws them.
inline PlainTensor tensor_of(std::istringstream& line) {
    PlainTensor tensor;
    float base = 0;
    line >> tensor.name >> base;
    std::size_t count = 1;
    for (std::int64_t extent; line >> extent; count *= static_cast<std::size_t>(extent))
        tensor.shape.push_back(extent);
    std::uint64_t seed = UINT64_C(0xcbf29ce484222325);
    for (const char c : tensor.name) seed = (seed ^ static_cast<unsigned char>(c)) * UINT64_C(0x100000001b3);
    for (std::size_t i = 0; i < count; ++i) {
        const float unit = static_cast<float>(splitmix(seed, i) >> 40) / 16777216.0f - 0.5f;
        tensor.values.push_back(unit * 0.5f + base);
    }
    return tensor;
}

inline Golden read_golden(const char* path) {
    Golden golden;
    std::ifstream file(path);  // ctest runs tests in the folder tests
    for (std::string text; std::getline(file, text);) {
        std::istringstream line(text);
        std::string word;
        line >> word;
        if (word == "tokens")
            for (std::int32_t token; line >> token;) golden.tokens.push_back(token);
        if (word == "case") line >> golden.cases.emplace_back().name;
        if (word == "config") golden.cases.back().config = text.substr(7);
        if (word == "tensor") golden.cases.back().tensors.push_back(tensor_of(line));
        if (word == "shape")
            for (std::int64_t extent; line >> extent;) golden.cases.back().shape.push_back(extent);
        if (word == "logits" || word == "outputs")
            for (float value; line >> value;) golden.cases.back().values.push_back(value);
    }
    return golden;
}

__attribute__((format(printf, 1, 2))) inline void failed(const char* format, ...) {
    char text[512];
    va_list values;
    va_start(values, format);
    std::vsnprintf(text, sizeof text, format, values);
    va_end(values);
    print_error("%s\n", text);
    assert_true(false);
}

inline void check(volta_status status) {
    if (status != VOLTA_OK) failed("%s", volta_last_error());
}

struct Host {
    Host() {
        volta_context_options options = {};
        options.struct_size = sizeof options;
        options.thread_count = 2;
        check(volta_context_create(&options, &context));
    }
    ~Host() { volta_context_release(context); }
    volta_context* context = nullptr;
};

// The folder as the program writes it; the path of its weights.
inline std::string write_case(TemporaryFolder& folder, const Case& one, const std::string& config) {
    folder.write("config.json", config);
    return folder.write("model.safetensors", safetensors_of(one.tensors));
}

// "model_type" of its config.
inline std::string type_of(const Case& one) {
    constexpr char kKey[] = "\"model_type\": \"";
    const std::size_t at = one.config.find(kKey);
    assert_true(at != std::string::npos);
    const std::size_t begin = at + sizeof kKey - 1;
    return one.config.substr(begin, one.config.find('"', begin) - begin);
}

// Adapters go to PEFT by the names of the model's modules, which some families have otherwise than the
// architecture that computes them: these are refused by their name.
inline void check_peft(TemporaryFolder& folder, const Case& one, volta_model* model) {
    const std::string type = type_of(one);
    bool others = false;
    for (const char* name : {"phi3", "gpt_neox", "roberta", "xlm-roberta", "distilbert"})
        others = others || type == name;
    volta_model* adapters = nullptr;
    check(volta_model_add_lora(model, nullptr, &adapters));
    const volta_status status = volta_model_export_peft(adapters, folder.file("").c_str());
    const std::string said = volta_last_error(),
                      expected = "of the architecture '" + type + "' have no names";
    if (others ? status != VOLTA_UNSUPPORTED || said.find(expected) == said.npos : status != VOLTA_OK)
        failed("%s: adapters for PEFT: %s, %s", one.name.c_str(), volta_status_name(status), said.c_str());
    volta_model_release(adapters);
}

// Output 0 of a run over one sequence of tokens.
inline std::vector<float> run_tokens(Host& host, volta_model* model, std::vector<std::int32_t> tokens,
                                     const std::vector<std::int64_t>& shape) {
    const std::int64_t in_shape[] = {1, static_cast<std::int64_t>(tokens.size())};
    std::size_t count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
    std::vector<float> values(count);
    volta_tensor *in = nullptr, *out = nullptr;
    check(volta_tensor_wrap(host.context, VOLTA_I32, in_shape, 2, tokens.data(), &in));
    check(volta_tensor_wrap(host.context, VOLTA_F32, shape.data(), static_cast<int32_t>(shape.size()),
                            values.data(), &out));
    volta_session_options options = {};
    options.struct_size = sizeof options;
    options.input_shapes = in_shape;
    options.input_extent_count = 2;
    volta_session* session = nullptr;
    check(volta_session_create(model, &options, &session));
    check(volta_session_run(session, &in, 1, &out, 1));
    volta_session_release(session);
    volta_tensor_release(in);
    volta_tensor_release(out);
    return values;
}

}  // namespace volta::test
