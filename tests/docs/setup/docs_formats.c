#include <stdio.h>
#include <volta.h>
/* in main */
volta_context* context;
if (volta_context_create(NULL, &context) != VOLTA_OK) return 1;
