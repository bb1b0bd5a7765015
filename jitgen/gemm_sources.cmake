# Generators of the products and of the loops that measure the machine, part of the module jitgen.
set(VOLTA_GEMM_SOURCES gemm_f32.cpp gemm_dots.cpp gemm_pack.cpp gemm_stored.cpp gemm_sweep.cpp machine_kernels.cpp)
