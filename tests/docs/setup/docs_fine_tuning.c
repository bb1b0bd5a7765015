#include <stdio.h>
#include <volta.h>
/* in main */
volta_context* context;
static int32_t tokens[4096];
const size_t count = 4096;
for (int i = 0; i < 4096; ++i) tokens[i] = "In the beginning was the word. "[i % 31];
if (volta_context_create(NULL, &context) != VOLTA_OK) return 1;
