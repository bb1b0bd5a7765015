// Functions of CUDA's library that approximate, and a sum whose order nobody knows.
extern "C" __global__ void approximate(float* x, float* y) {
    y[0] = __expf(x[0]);
    y[1] = __fdividef(x[0], x[1]);
    atomicAdd(y + 2, x[0]);
}
