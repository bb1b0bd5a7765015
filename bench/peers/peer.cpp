// The part that all peers share: the protocol of peer.h, operands, the check of results, the clock.
#include "bench/peers/peer.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <new>
#include <sstream>
#include <stdexcept>

namespace peers {
namespace {

constexpr std::size_t kAlignment = 4096;
constexpr int kCheckedElements = 512;
// Error of an element over sum |a b|. Peers stay below 2e-7; one dropped term of 10^5 would show.
constexpr double kTolerance = 1e-6;

// SplitMix64: the same operands in every peer.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    float uniform() { return static_cast<float>(next() >> 40) * 0x1p-23f - 1.0f; }
    std::int64_t below(std::int64_t n) {
        return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n));
    }

  private:
    std::uint64_t state_;
};

struct Free {
    void operator()(float* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<float, Free>;

Buffer allocate(std::int64_t elements) {
    const std::size_t bytes = static_cast<std::size_t>(elements) * sizeof(float);
    void* p = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (p == nullptr) throw std::bad_alloc();
    return Buffer(static_cast<float*>(p));
}

Buffer random_matrix(std::int64_t elements, std::uint64_t seed) {
    Buffer buffer = allocate(elements);
    Random random(seed);
    for (std::int64_t i = 0; i < elements; ++i) buffer.get()[i] = random.uniform();
    return buffer;
}

struct Check {
    double error = 0;   // largest |c - reference| / sum |a b| of the elements looked at
    std::string wrong;  // what is wrong with the result; "" if it is right
};

struct Element {
    double value, magnitude;  // sum a b; sum |a b|
};

Element reference(const Operands& o, std::int64_t i, std::int64_t j) {
    Element sum{0, 0};
    for (std::int64_t p = 0; p < o.shape.k; ++p) {
        const double a = o.a[o.a_transposed() ? p * o.lda() + i : i * o.lda() + p];
        const double b = o.b[o.b_transposed() ? j * o.ldb() + p : p * o.ldb() + j];
        sum.value += a * b;
        sum.magnitude += std::fabs(a * b);
    }
    return sum;
}

void check_element(const Operands& o, std::int64_t i, std::int64_t j, Check& check) {
    const float actual = o.c[i * o.shape.n + j];
    const Element expected = reference(o, i, j);
    const double error = std::fabs(actual - expected.value) / expected.magnitude;
    if (error > check.error) check.error = error;
    if (check.wrong.empty() && !(error <= kTolerance)) {
        std::ostringstream text;
        text << "element (" << i << ", " << j << ") is " << actual << ", should be " << expected.value;
        check.wrong = text.str();
    }
}

// C was NaN before the run: every element must have been written, the corners and a sample must be right.
Check check_result(const Operands& o) {
    Check check;
    const std::int64_t m = o.shape.m, n = o.shape.n;
    for (std::int64_t e = 0; e < m * n && check.wrong.empty(); ++e)
        if (!std::isfinite(o.c[e])) check.wrong = "element " + std::to_string(e) + " was not written";
    for (const std::int64_t i : {std::int64_t{0}, m - 1})
        for (const std::int64_t j : {std::int64_t{0}, n - 1}) check_element(o, i, j, check);
    Random random(3);
    for (int e = 0; e < kCheckedElements; ++e) {
        const std::int64_t i = random.below(m);
        check_element(o, i, random.below(n), check);
    }
    return check;
}

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return out + "\"";
}

class Server {
  public:
    Server(Library& library, int threads) : library_(library), threads_(threads) {}

    std::string answer(const std::string& line) {
        std::istringstream words(line);
        std::string verb;
        words >> verb;
        if (verb == "load") return load(words);
        if (verb == "time") return time(words);
        throw std::runtime_error("unknown question: " + line);
    }

  private:
    static constexpr double kWarmUpOfThreads = 0.1;  // seconds
    static constexpr const char* kModeNames[] = {"plain", "packed"};

    std::string load(std::istream& words) {
        Shape shape{};
        std::string form;
        if (!(words >> shape.m >> shape.n >> shape.k >> form)) throw std::runtime_error("load M N K FORM");
        if (form != "nn" && form != "nt" && form != "tn") throw std::runtime_error("no such form: " + form);
        shape.form = form == "nn" ? Form::nn : form == "nt" ? Form::nt : Form::tn;
        for (auto& product : products_) product.reset();
        // The old operands go before the new ones come: the largest shape exists once.
        a_.reset(), b_.reset(), c_.reset();
        a_ = random_matrix(shape.m * shape.k, 1);
        b_ = random_matrix(shape.k * shape.n, 2);
        c_ = allocate(shape.m * shape.n);
        operands_ = {shape, a_.get(), b_.get(), c_.get()};
        std::string modes;
        for (const Mode mode : {Mode::plain, Mode::packed}) {
            const std::string found = prepare(mode);
            if (!found.empty()) modes += (modes.empty() ? "" : ", ") + found;
        }
        return "{\"modes\": {" + modes + "}}";
    }

    std::string prepare(Mode mode) {
        auto& product = products_[static_cast<int>(mode)];
        product = library_.prepare(operands_, mode);
        if (!product) return "";
        for (std::int64_t e = 0; e < operands_.shape.m * operands_.shape.n; ++e)
            operands_.c[e] = std::numeric_limits<float>::quiet_NaN();
        product->run();
        const Check check = check_result(operands_);
        std::ostringstream text;
        text << quoted(kModeNames[static_cast<int>(mode)]) << ": {\"error\": " << check.error;
        if (!check.wrong.empty()) text << ", \"wrong\": " << quoted(check.wrong);
        text << "}";
        return text.str();
    }

    std::string time(std::istream& words) {
        std::string mode;
        int samples = 0;
        double microseconds = 0;
        if (!(words >> mode >> samples >> microseconds))
            throw std::runtime_error("time MODE SAMPLES MICROSECONDS");
        Product* product = products_[mode == "packed"].get();
        if (product == nullptr) throw std::runtime_error("nothing loaded for mode " + mode);
        const double batch = microseconds * 1e-6;
        const std::int64_t calls = warm_up(*product, batch);
        std::ostringstream text;
        text.precision(12);
        text << "{\"calls\": " << calls << ", \"ns\": [";
        for (int s = 0; s < samples; ++s) {
            const double start = seconds_now();
            for (std::int64_t i = 0; i < calls; ++i) product->run();
            text << (s ? ", " : "") << (seconds_now() - start) * 1e9 / static_cast<double>(calls);
        }
        text << "]}";
        return text.str();
    }

    // Fills the caches for half a batch, and for several threads until each has a core of its own, which may
    // take tens of milliseconds after a pause; returns how many calls make a whole batch.
    std::int64_t warm_up(Product& product, double batch) const {
        const double least = threads_ > 1 ? std::max(batch / 2, kWarmUpOfThreads) : batch / 2;
        double start = seconds_now();
        product.run();
        if (seconds_now() - start >= std::max(batch, least)) return 1;
        start = seconds_now();
        std::int64_t calls = 0;
        double elapsed = 0;
        do {
            product.run();
            ++calls;
            elapsed = seconds_now() - start;
        } while (elapsed < least);
        return static_cast<std::int64_t>(std::ceil(batch / elapsed * static_cast<double>(calls)));
    }

    Library& library_;
    const int threads_;
    Buffer a_, b_, c_;
    Operands operands_{};
    std::unique_ptr<Product> products_[2];
};

Settings parse(int argc, char** argv) {
    Settings settings{1, Isa::avx2};
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i], value = argv[i + 1];
        if (name == "--threads" && std::atoi(value.c_str()) > 0)
            settings.threads = std::atoi(value.c_str());
        else if (name == "--isa" && (value == "avx2" || value == "avx512"))
            settings.isa = value == "avx512" ? Isa::avx512 : Isa::avx2;
        else
            throw std::runtime_error("unknown argument " + name + " " + value);
    }
    return settings;
}

}  // namespace

int serve(int argc, char** argv, std::unique_ptr<Library> (*open)(const Settings& settings)) {
    try {
        const Settings settings = parse(argc, argv);
        const std::unique_ptr<Library> library = open(settings);
        std::cout << "{\"version\": " << quoted(library->version())
                  << ", \"detail\": " << quoted(library->detail()) << "}" << std::endl;
        Server server(*library, settings.threads);
        for (std::string line; std::getline(std::cin, line);) std::cout << server.answer(line) << std::endl;
        return 0;
    } catch (const std::exception& error) {
        std::cout << "{\"error\": " << quoted(error.what()) << "}" << std::endl;
        return 1;
    }
}

}  // namespace peers
