# Generators of the products and of the loops that measure the machine, part of the module jitgen.
set(VOLTA_GEMM_SOURCES x86/gemm/tile.cpp x86/gemm/axpy.cpp x86/gemm/dot.cpp x86/gemm/packed.cpp x86/gemm/transpose.cpp
    x86/lane_chains.cpp x86/lane_windows.cpp x86/peak_kernels.cpp)
