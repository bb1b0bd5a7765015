// How the fake cuBLASLt multiplies: its algorithms, and what a product is when a stream comes to it.
#pragma once

#include "engine/backend/cuda/cublaslt_api.h"
#include "tests/support/fake_cuda/fake_driver.h"

namespace volta::fake {

struct Matrix {  // column by column
    int type;
    std::uint64_t rows, columns;
    std::int64_t stride;  // elements from column to column
    std::int32_t batch = 1;
    std::int64_t batch_stride = 0;

    std::size_t element_bytes() const { return type == kLtBfloat16 ? 2 : 4; }
    std::size_t bytes() const;  // from the first element to the end of the last
};

struct Description {
    int compute_type;
    int transposed[2] = {};  // A, B
    Matrix a, b, c;

    std::uint64_t m() const { return c.rows; }
    std::uint64_t n() const { return c.columns; }
    std::uint64_t k() const { return transposed[0] != 0 ? a.rows : a.columns; }
    std::uint64_t hash() const;
};

// What LtAlgorithm::data holds.
struct Algorithm {
    char magic[4];
    std::uint16_t id, tile, stages, inner_shape, cluster_shape;
    std::uint8_t splits, reduction, swizzle, option;
    std::uint16_t lanes;         // chains that share a part of k
    std::uint16_t alignment[4];  // that the caller has promised
    std::uint16_t needs;         // alignment without which it does not work
    std::uint64_t description;   // the hash of what it was chosen for
    std::uint64_t workspace_bytes;
};
static_assert(sizeof(Algorithm) <= sizeof(LtAlgorithm));

// The i-th algorithm for a description; false: there are no more. Algorithms differ in the order in which
// they add, and all from the contract's; that which adds in place adds in another order every time.
bool algorithm_for(const Description& description, int i, Algorithm* algorithm);

struct Product {
    Description description;
    Algorithm algorithm;
    const unsigned char *a, *b;
    unsigned char *c, *workspace;
    float alpha, beta;
};
CUresult run_product(const void* product);  // as LibraryWork::run

}  // namespace volta::fake
