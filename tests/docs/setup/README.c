#include <stdio.h>
static int32_t tokens[4096]; /* ids of a text */
static const size_t token_count = 4096;
/* in main */
for (int i = 0; i < 4096; ++i) tokens[i] = "In the beginning was the word. "[i % 31];
