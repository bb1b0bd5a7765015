// The generated kernels, built for the processor: which function is which program's.
#pragma once

namespace volta::test {

// Each takes a CudaRowArgs. Of programs with column sums: segments and close, else warps and blocks.
struct EmulatedKernels {
    const char* name;
    void (*first)(const void* args);
    void (*second)(const void* args);
};

// Each takes a CudaProductArgs.
struct EmulatedProduct {
    const char* name;
    void (*tiles)(const void* args);
    void (*segments)(const void* args);
    void (*close)(const void* args);
};
extern const EmulatedProduct kEmulatedProducts[];  // generated
extern const int kEmulatedProductCount;

struct EmulatedTable {
    const EmulatedKernels* kernels;
    int count;
};
extern const EmulatedTable kEmulatedTables[];  // generated, as all that it names
extern const int kEmulatedTableCount;

}  // namespace volta::test
