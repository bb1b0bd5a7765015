// BLIS, bli_sgemm. Version 0.9 gives processors that it does not know its portable C kernels, and ends the
// process when asked for kernels that were not built in: the best that runs is found by trying, in child
// processes.
#include <blis.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "bench/peers/peer.h"

namespace {
using namespace peers;

void multiply(const Operands& o) {
    float one = 1.0f, zero = 0.0f;
    bli_sgemm(o.a_transposed() ? BLIS_TRANSPOSE : BLIS_NO_TRANSPOSE,
              o.b_transposed() ? BLIS_TRANSPOSE : BLIS_NO_TRANSPOSE, o.shape.m, o.shape.n, o.shape.k, &one,
              const_cast<float*>(o.a), o.lda(), 1, const_cast<float*>(o.b), o.ldb(), 1, &zero, o.c, o.shape.n,
              1);
}

class BlisProduct : public Product {
  public:
    explicit BlisProduct(const Operands& operands) : operands_(operands) {}
    void run() override { multiply(operands_); }

  private:
    Operands operands_;
};

void ask_for(arch_t arch) { setenv("BLIS_ARCH_TYPE", std::to_string(static_cast<int>(arch)).c_str(), 1); }

// A product of 64^3 on these kernels in a child, whose end tells whether they exist and run here.
bool works(arch_t arch) {
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("cannot start a process to try BLIS kernels");
    if (child == 0) {
        const int null = ::open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        ask_for(arch);
        std::vector<float> a(64 * 64, 1.0f), b(64 * 64, 1.0f), c(64 * 64);
        multiply({{64, 64, 64, Form::nn}, a.data(), b.data(), c.data()});
        _exit(c[0] == 64.0f && bli_arch_query_id() == arch ? 0 : 1);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

arch_t best_arch(Isa isa) {
    __builtin_cpu_init();
    std::vector<arch_t> wanted;
    if (isa == Isa::avx512) wanted.push_back(BLIS_ARCH_SKX);
    if (__builtin_cpu_is("amd")) wanted.insert(wanted.end(), {BLIS_ARCH_ZEN3, BLIS_ARCH_ZEN2, BLIS_ARCH_ZEN});
    wanted.push_back(BLIS_ARCH_HASWELL);
    for (const arch_t arch : wanted)
        if (works(arch)) return arch;
    throw std::runtime_error("this BLIS has no AVX2 kernels that run here");
}

class BlisLibrary : public Library {
  public:
    explicit BlisLibrary(const Settings& settings) {
        ask_for(best_arch(settings.isa));
        bli_init();
        bli_thread_set_num_threads(settings.threads);
    }
    std::string version() const override { return bli_info_get_version_str(); }
    std::string detail() const override {
        return std::string("kernels ") + bli_arch_string(bli_arch_query_id());
    }

    std::unique_ptr<Product> prepare(const Operands& operands, Mode mode) override {
        if (mode == Mode::packed) return nullptr;
        return std::make_unique<BlisProduct>(operands);
    }
};

std::unique_ptr<Library> open(const Settings& settings) { return std::make_unique<BlisLibrary>(settings); }
}  // namespace

int main(int argc, char** argv) { return peers::serve(argc, argv, open); }
