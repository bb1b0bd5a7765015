// One product library as a process of its own, which bench/peers/run.py asks for times round by round. A peer
// implements Library; serve() is everything else: operands, the check against a double reference, the clock.
//
//     peer_NAME --threads T --isa avx2|avx512        prints one line about itself, then answers lines:
//     load M N K FORM                                which modes it offers for this product, each checked once
//     time MODE SAMPLES MICROSECONDS                 SAMPLES times of one call in ns, each from a batch that long
//
// Answers are one JSON object a line. Between two questions the process is blocked in read.
#ifndef BENCH_PEERS_PEER_H
#define BENCH_PEERS_PEER_H

#include <cstdint>
#include <memory>
#include <string>

namespace peers {

enum class Form { nn, nt, tn };     // X W | dY W^T | X^T dY
enum class Mode { plain, packed };  // B in place | B is a weight: arranged once, outside the clock
enum class Isa { avx2, avx512 };    // the widest vectors this process may use

struct Shape {
    std::int64_t m, n, k;
    Form form;
};

// Dense, row-major, 4096-byte aligned; values in [-1, 1).
struct Operands {
    Shape shape;
    const float* a;  // nn, nt: [m, k]; tn: [k, m]
    const float* b;  // nn, tn: [k, n]; nt: [n, k]
    float* c;        // [m, n]

    bool a_transposed() const { return shape.form == Form::tn; }
    bool b_transposed() const { return shape.form == Form::nt; }
    std::int64_t lda() const { return a_transposed() ? shape.m : shape.k; }
    std::int64_t ldb() const { return b_transposed() ? shape.k : shape.n; }
};

// C = A B, ready to run again and again.
class Product {
  public:
    virtual ~Product() = default;
    virtual void run() = 0;
};

class Library {
  public:
    virtual ~Library() = default;
    virtual std::string version() const = 0;
    virtual std::string detail() const = 0;  // which kernels it really uses
    // NULL: this library does not offer that product in that mode.
    virtual std::unique_ptr<Product> prepare(const Operands& operands, Mode mode) = 0;
};

struct Settings {
    int threads;
    Isa isa;
};

// main() of a peer. `open` may throw std::runtime_error: the reason why there is no such peer here.
int serve(int argc, char** argv, std::unique_ptr<Library> (*open)(const Settings& settings));

}  // namespace peers

#endif
