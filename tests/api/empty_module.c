/* A shared library with the name of the CUDA module, which is none. */
int volta_nothing(void);
int volta_nothing(void) { return 0; }
