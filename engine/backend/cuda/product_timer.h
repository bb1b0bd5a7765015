// The timer of a real device: contenders as graphs of launches, as plans run them, between two events.
#pragma once

#include <deque>

#include "engine/backend/cuda/graph_capture.h"
#include "engine/backend/cuda/product_tuner.h"
#include "engine/base/memory.h"

namespace volta::cuda {

class DeviceTimer final : public ContenderTimer {
  public:
    // Matrices lie on the device; `tensors` has their numbers until they are there. With an epilogue,
    // tuning_stand_in() stands for whatever the product will carry. Throws OUT_OF_MEMORY, DEVICE_ERROR.
    DeviceTimer(const ProductShape& shape, bool has_epilogue, const Contenders& contenders, Gpu& gpu,
                KernelBatch& kernels, std::pmr::memory_resource* heap, std::pmr::memory_resource* tensors);

    double run(int contender) override;  // throws DEVICE_ERROR
    double elapsed() const noexcept override;

  private:
    struct Contender {
        Contender(const Product& ready, Gpu& gpu) : product(ready), graph(gpu) {}
        Product product;
        Graph graph;  // of repeats_ launches
    };
    void make_matrices(const ProductShape& shape, std::pmr::memory_resource* tensors);
    void record_graphs();
    jit::CudaProductArgs arguments(const Product& product, int launch) const;

    Gpu& gpu_;
    const bool has_epilogue_;
    std::pmr::deque<Contender> contenders_;
    DeviceMemory a_, b_, c_, bias_, scratch_;
    std::size_t b_bytes_ = 0;  // of one B
    int b_count_ = 1;          // so many that they evict each other from the LLC
    int repeats_ = 1;          // launches per timed run, so that the clock's grain does not matter
    Event begin_, end_;
    double start_;
};

}  // namespace volta::cuda
