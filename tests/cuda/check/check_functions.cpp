// Unary functions over all 2^32 inputs (small: every 65521st). Where there is a golden hash of all results it
// is the witness, and the processor computes nothing; else the processor computes the same inputs.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "engine/base/hash.h"
#include "tests/cuda/check/check.h"

namespace volta::check {
namespace {

constexpr std::uint64_t kAllInputs = std::uint64_t{1} << 32;
constexpr std::int64_t kBlock = 1 << 24;  // inputs of one run
constexpr std::int64_t kSmallBlock = 1 << 16;
constexpr std::uint64_t kSmallStride = 65521;  // a prime, so that no pattern of bits is left out
constexpr std::int64_t kColumns = 4096;

struct Function {
    const char* name;  // of the operator
    bool is_gradient;  // (x, dy) with dy = 1
};
constexpr Function kFunctions[] = {
    {"exp", false},      {"log", false},          {"tanh", false},      {"erf", false},
    {"sigmoid", false},  {"sin", false},          {"cos", false},       {"rsqrt", false},
    {"silu", false},     {"silu_grad", true},     {"gelu_tanh", false}, {"gelu_tanh_grad", true},
    {"gelu_erf", false}, {"gelu_erf_grad", true}, {"relu", false},      {"relu_grad", true},
    {"sqrt", false},     {"neg", false},          {"abs", false},
};

using Hashes = std::map<std::string, std::string>;

// "name error unit at hash" per line; # begins a remark.
Hashes read_golden(const std::string& path) {
    Hashes hashes;
    if (path.empty()) return hashes;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string name, error, unit, at, hash;
        if (words >> name >> error >> unit >> at >> hash && name[0] != '#') hashes[name] = hash;
    }
    if (hashes.empty()) std::printf("%s has no hashes\n", path.c_str());
    return hashes;
}

// Several functions of the same inputs on one device.
class Table {
  public:
    Table(const std::string& device, const std::vector<Function>& functions, std::int64_t block)
        : context_(make_context(device)), shape_{block / kColumns, kColumns} {
        volta_graph* made = nullptr;
        require(volta_graph_create(context_.get(), &made));
        const Graph graph(made);
        const volta_value inputs[] = {input(graph, "x", shape_), input(graph, "dy", shape_)};
        for (const Function& function : functions) {
            volta_value y = {-1};
            require(volta_graph_apply(made, function.name, inputs, function.is_gradient ? 2 : 1, nullptr, 0,
                                      &y, 1));
            require(volta_graph_output(made, function.name, y));
            results_.emplace_back(static_cast<std::size_t>(block));
        }
        session_ = make_session(graph);
        for (std::vector<float>& result : results_) outputs_.push_back(wrap(context_, shape_, result));
    }
    void run(std::vector<float>& x, std::vector<float>& ones) {
        const Tensor in = wrap(context_, shape_, x), dy = wrap(context_, shape_, ones);
        std::vector<const Tensor*> outputs;
        for (const Tensor& output : outputs_) outputs.push_back(&output);
        check::run(session_, {&in, &dy}, outputs);
    }
    const std::vector<float>& result(std::size_t i) const { return results_[i]; }

  private:
    Context context_;
    Extents shape_;
    Session session_;
    std::vector<std::vector<float>> results_;
    std::vector<Tensor> outputs_;
};

float input_of(std::uint64_t number, std::uint64_t stride) {
    const auto bits = static_cast<std::uint32_t>(number * stride);
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

}  // namespace

int check_functions(const Settings& settings) {
    const std::uint64_t stride = settings.small ? kSmallStride : 1;
    const std::int64_t block = settings.small ? kSmallBlock : kBlock;
    const Hashes golden = settings.small ? Hashes() : read_golden(settings.golden);
    std::vector<Function> hashed, compared;
    for (const Function& function : kFunctions)
        (golden.count(function.name) > 0 ? hashed : compared).push_back(function);
    std::vector<Function> all = compared;  // first, as the processor's table has them
    all.insert(all.end(), hashed.begin(), hashed.end());

    Table device(settings.device, all, block), processor("cpu", compared, block);
    std::vector<Hasher> hashers(hashed.size());
    std::vector<bool> told(compared.size());
    std::vector<float> x(static_cast<std::size_t>(block)), ones(x.size(), 1.0f);
    int failures = 0;
    const std::uint64_t count = kAllInputs / stride / x.size() * x.size();
    for (std::uint64_t first = 0; first < count; first += x.size()) {
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = input_of(first + i, stride);
        device.run(x, ones);
        std::vector<std::thread> threads;
        for (std::size_t k = 0; k < hashed.size(); ++k)
            threads.emplace_back(
                [&, k] { hashers[k].add_floats(device.result(compared.size() + k).data(), x.size()); });
        processor.run(x, ones);
        for (std::size_t k = 0; k < compared.size(); ++k) {
            const std::int64_t at = first_difference(processor.result(k), device.result(k));
            if (at < 0 || told[k]) continue;
            const auto i = static_cast<std::size_t>(at);
            std::printf("%s(%a): %a on the processor, %a on %s\n", compared[k].name,
                        static_cast<double>(x[i]), static_cast<double>(processor.result(k)[i]),
                        static_cast<double>(device.result(k)[i]), settings.device.c_str());
            told[k] = true;
            ++failures;
        }
        for (std::thread& thread : threads) thread.join();
    }
    for (std::size_t k = 0; k < hashed.size(); ++k) {
        const std::string hash = to_text(hashers[k].result()).text, &expected = golden.at(hashed[k].name);
        if (hash == expected) continue;
        std::printf("%s: all results hash to %s, expected %s\n", hashed[k].name, hash.c_str(),
                    expected.c_str());
        ++failures;
    }
    std::printf("%zu functions on %llu inputs, %zu against golden hashes, %d differ\n", all.size(),
                static_cast<unsigned long long>(count), hashed.size(), failures);
    return failures;
}

}  // namespace volta::check
