// What nccl.h needs of CUDA's headers, for comparing it where those are not installed.
#pragma once

#include <stddef.h>

typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
