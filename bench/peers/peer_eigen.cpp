// Eigen, expressions over maps of the operands. A header library: its instruction set is that of this file's
// compilation, so there is one program per instruction set.
#include <Eigen/Core>
#include <stdexcept>

#include "bench/peers/peer.h"

namespace {
using namespace peers;

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

class EigenProduct : public Product {
  public:
    explicit EigenProduct(const Operands& o)
        : form_(o.shape.form),
          a_(o.a, o.a_transposed() ? o.shape.k : o.shape.m, o.lda()),
          b_(o.b, o.b_transposed() ? o.shape.n : o.shape.k, o.ldb()),
          c_(o.c, o.shape.m, o.shape.n) {}

    void run() override {
        switch (form_) {
            case Form::nn:
                c_.noalias() = a_ * b_;
                break;
            case Form::nt:
                c_.noalias() = a_ * b_.transpose();
                break;
            case Form::tn:
                c_.noalias() = a_.transpose() * b_;
                break;
        }
    }

  private:
    Form form_;
    Eigen::Map<const Matrix, Eigen::Aligned64> a_, b_;
    Eigen::Map<Matrix, Eigen::Aligned64> c_;
};

class EigenLibrary : public Library {
  public:
    std::string version() const override {
        return std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
               std::to_string(EIGEN_MINOR_VERSION);
    }
    std::string detail() const override { return Eigen::SimdInstructionSetsInUse(); }

    std::unique_ptr<Product> prepare(const Operands& operands, Mode mode) override {
        if (mode == Mode::packed) return nullptr;
        return std::make_unique<EigenProduct>(operands);
    }
};

std::unique_ptr<Library> open(const Settings& settings) {
#ifdef __AVX512F__
    const bool matches = settings.isa == Isa::avx512;
#else
    const bool matches = settings.isa == Isa::avx2;
#endif
    if (!matches) throw std::runtime_error("compiled for the other instruction set");
    Eigen::setNbThreads(settings.threads);
    return std::make_unique<EigenLibrary>();
}
}  // namespace

int main(int argc, char** argv) { return peers::serve(argc, argv, open); }
