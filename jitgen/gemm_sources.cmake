# Generators of the products, part of the module jitgen.
set(VOLTA_GEMM_SOURCES gemm_f32.cpp gemm_plain.cpp gemm_pack.cpp)
