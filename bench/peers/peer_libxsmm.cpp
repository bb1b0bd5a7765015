// libxsmm's JIT kernels under the simplest driver: C in tiles of 64 x 64, all of K in one kernel call, A read
// in place, tiles dealt out to the threads beforehand. Plain: B read in place. Packed: B as
// [ceil(N/64)][K][64].
//
// libxsmm counts columns first: the row-major C = A B is C^T = B^T A^T to it, so that its M is our N.
#include <libxsmm.h>
#include <omp.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "bench/peers/peer.h"

namespace {
using namespace peers;

constexpr std::int64_t kTile = 64;

struct Tile {
    libxsmm_smmfunction kernel;
    const float *a, *b;
    float* c;
};

class LibxsmmProduct : public Product {
  public:
    LibxsmmProduct(const Operands& o, Mode mode, int threads) : threads_(threads) {
        if (mode == Mode::packed) pack(o);
        for (std::int64_t j = 0; j < o.shape.n; j += kTile)
            for (std::int64_t i = 0; i < o.shape.m; i += kTile) tiles_.push_back(tile(o, i, j));
        deal(o);
    }

    void run() override {
        if (threads_ == 1) return run_share(0);
#pragma omp parallel num_threads(threads_)
        run_share(omp_get_thread_num());
    }

  private:
    void run_share(int thread) const {
        for (std::size_t t = shares_[thread]; t < shares_[thread + 1]; ++t)
            tiles_[t].kernel(tiles_[t].b, tiles_[t].a, tiles_[t].c);
    }

    Tile tile(const Operands& o, std::int64_t i, std::int64_t j) {
        const std::int64_t rows = std::min(kTile, o.shape.m - i), columns = std::min(kTile, o.shape.n - j);
        const bool packed = !panels_.empty();
        const auto size = [](std::int64_t extent) { return static_cast<libxsmm_blasint>(extent); };
        const libxsmm_blasint ldb = size(packed ? kTile : o.ldb()), lda = size(o.lda()),
                              ldc = size(o.shape.n);
        const float one = 1.0f, zero = 0.0f;
        const int flags = o.a_transposed() ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
        const libxsmm_smmfunction kernel = libxsmm_smmdispatch(
            size(columns), size(rows), size(o.shape.k), &ldb, &lda, &ldc, &one, &zero, &flags, nullptr);
        if (kernel == nullptr) throw std::runtime_error("libxsmm has no kernel for a tile of this product");
        return {kernel, o.a + (o.a_transposed() ? i : i * o.lda()),
                packed ? &panels_[j * o.shape.k] : o.b + j, o.c + i * o.shape.n + j};
    }

    // The last panel has 64 columns too, so that every panel has the same stride; only what exists is read.
    void pack(const Operands& o) {
        panels_.assign((o.shape.n + kTile - 1) / kTile * kTile * o.shape.k, 0.0f);
        for (std::int64_t j = 0; j < o.shape.n; ++j)
            for (std::int64_t p = 0; p < o.shape.k; ++p)
                panels_[(j / kTile * o.shape.k + p) * kTile + j % kTile] =
                    o.b[o.b_transposed() ? j * o.ldb() + p : p * o.ldb() + j];
    }

    // Consecutive tiles of equal work to each thread. Columns count in whole vectors of 16.
    void deal(const Operands& o) {
        std::vector<double> done{0};
        for (std::int64_t j = 0; j < o.shape.n; j += kTile)
            for (std::int64_t i = 0; i < o.shape.m; i += kTile) {
                const std::int64_t vectors = (std::min(kTile, o.shape.n - j) + 15) / 16;
                done.push_back(done.back() + static_cast<double>(vectors * std::min(kTile, o.shape.m - i)));
            }
        for (int t = 0; t < threads_; ++t) {
            const auto first = std::lower_bound(done.begin(), done.end(), done.back() * t / threads_);
            shares_.push_back(static_cast<std::size_t>(first - done.begin()));
        }
        shares_.push_back(tiles_.size());
    }

    int threads_;
    std::vector<float> panels_;  // [ceil(n/64)][k][64]
    std::vector<Tile> tiles_;
    std::vector<std::size_t> shares_;  // thread t runs tiles [shares_[t], shares_[t + 1])
};

class LibxsmmLibrary : public Library {
  public:
    explicit LibxsmmLibrary(const Settings& settings) : threads_(settings.threads) { libxsmm_init(); }
    ~LibxsmmLibrary() override { libxsmm_finalize(); }
    std::string version() const override { return LIBXSMM_VERSION; }
    std::string detail() const override {
        return std::string("kernels for ") + libxsmm_get_target_arch() + ", tiles 64 x 64";
    }

    std::unique_ptr<Product> prepare(const Operands& operands, Mode mode) override {
        // Its kernels read no W^T in place, and X^T dY has no weight that could be packed.
        const Form form = operands.shape.form;
        if (form == (mode == Mode::packed ? Form::tn : Form::nt)) return nullptr;
        return std::make_unique<LibxsmmProduct>(operands, mode, threads_);
    }

  private:
    int threads_;
};

std::unique_ptr<Library> open(const Settings& settings) { return std::make_unique<LibxsmmLibrary>(settings); }
}  // namespace

int main(int argc, char** argv) { return peers::serve(argc, argv, open); }
