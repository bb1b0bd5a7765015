# shellcheck shell=sh
cat >program.c <<'C'
#include <stdio.h>
#include <volta.h>

int main(void) {
    volta_context *context;
    if (volta_context_create(NULL, &context) != VOLTA_OK) return 1;
    volta_context_release(context);
    return printf("%s\n", volta_version()) < 0;
}
C
