// OpenBLAS, cblas_sgemm. Its core type is chosen by the driver (OPENBLAS_CORETYPE), because a version that
// does not know the processor falls back to kernels of another age without a word; the one in use is printed.
#include <cblas.h>

#include <cstdlib>
#include <stdexcept>

#include "bench/peers/peer.h"

namespace {
using namespace peers;

class OpenBlasProduct : public Product {
  public:
    explicit OpenBlasProduct(const Operands& operands) : o_(operands) {}
    void run() override {
        const auto size = [](std::int64_t extent) { return static_cast<blasint>(extent); };
        cblas_sgemm(CblasRowMajor, o_.a_transposed() ? CblasTrans : CblasNoTrans,
                    o_.b_transposed() ? CblasTrans : CblasNoTrans, size(o_.shape.m), size(o_.shape.n),
                    size(o_.shape.k), 1.0f, o_.a, size(o_.lda()), o_.b, size(o_.ldb()), 0.0f, o_.c,
                    size(o_.shape.n));
    }

  private:
    Operands o_;
};

class OpenBlasLibrary : public Library {
  public:
    explicit OpenBlasLibrary(const Settings& settings) { openblas_set_num_threads(settings.threads); }

    // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...": the second word.
    std::string version() const override {
        const std::string config = openblas_get_config();
        const std::size_t start = config.find(' ') + 1;
        return config.substr(start, config.find(' ', start) - start);
    }

    std::string detail() const override {
        const char* asked = std::getenv("OPENBLAS_CORETYPE");
        const std::string core = openblas_get_corename();
        if (asked == nullptr) return "core " + core + ", its own choice";
        return "core " + core + (core == asked ? "" : std::string(" although asked for ") + asked);
    }

    std::unique_ptr<Product> prepare(const Operands& operands, Mode mode) override {
        if (mode == Mode::packed) return nullptr;
        return std::make_unique<OpenBlasProduct>(operands);
    }
};

std::unique_ptr<Library> open(const Settings& settings) {
    return std::make_unique<OpenBlasLibrary>(settings);
}
}  // namespace

int main(int argc, char** argv) { return peers::serve(argc, argv, open); }
