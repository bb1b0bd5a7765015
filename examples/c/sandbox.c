/* Writing a text in a sandbox: everything is opened and made first, then seccomp leaves the process the locks
 * of its threads, memory, and its own output. Whatever else is called ends the process.
 *   sandbox MODEL.volta PROMPT
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <volta.h>

#define CHECK(call)                                                          \
    do {                                                                     \
        if ((call) != VOLTA_OK) {                                            \
            fprintf(stderr, "sandbox: %s: %s\n", #call, volta_last_error()); \
            exit(1);                                                         \
        }                                                                    \
    } while (0)

#define ALLOW(number) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* For all threads of the process at once. */
static int enter_sandbox(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_futex),         /* threads wait for work, and for each other */
        ALLOW(SYS_write),         /* the program's own output */
        ALLOW(SYS_clock_gettime), /* where there is no vDSO */
        ALLOW(SYS_brk),           /* memory: a few allocations when a text begins, */
        ALLOW(SYS_mmap),          /* and what is given back at the end */
        ALLOW(SYS_munmap),
        ALLOW(SYS_madvise),
        ALLOW(SYS_rt_sigprocmask), /* threads end */
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_fprog program = {.len = sizeof rules / sizeof *rules, .filter = rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0;
}

int main(int argc, char** argv) {
    if (argc != 3) return fprintf(stderr, "usage: sandbox MODEL.volta PROMPT\n"), 2;
    volta_context* context;
    volta_model* model;
    volta_tokenizer* tokenizer;
    volta_generator* generator;
    volta_context_options options = VOLTA_CONTEXT_OPTIONS_INIT;
    options.thread_count = 2;
    CHECK(volta_context_create(&options, &context)); /* starts threads */
    CHECK(volta_model_open(context, argv[1], NULL, &model));
    CHECK(volta_model_get_tokenizer(model, &tokenizer));
    if (tokenizer == NULL) return fprintf(stderr, "sandbox: %s has no tokenizer\n", argv[1]), 1;
    CHECK(volta_generator_create(model, NULL, &generator)); /* generates machine code */

    static char text[1024];
    static int32_t prompt[256];
    size_t count, bytes = 0;
    CHECK(volta_tokenizer_encode(tokenizer, argv[2], strlen(argv[2]), prompt, 256, &count));
    if (count == 0 || count > 256) return fprintf(stderr, "sandbox: the prompt has %zu tokens\n", count), 1;

    if (enter_sandbox()) {
        perror("sandbox: seccomp");
        return 77; /* a system without it: nothing was shown */
    }

    CHECK(volta_generator_start(generator, prompt, count));
    for (int32_t i = 0, token, before = prompt[count - 1]; i < 16; ++i, before = token) {
        const char* piece;
        size_t length;
        CHECK(volta_generator_next(generator, &token));
        CHECK(volta_tokenizer_decode_after(tokenizer, before, token, &piece, &length));
        if (length > sizeof text - bytes) break;
        memcpy(text + bytes, piece, length);
        bytes += length;
    }
    const char head[] = "in the sandbox: ";
    if (write(1, head, sizeof head - 1) < 0 || write(1, text, bytes) < 0 || write(1, "\n", 1) < 0) return 1;

    volta_generator_release(generator);
    volta_tokenizer_release(tokenizer);
    volta_model_release(model);     /* unmaps the file */
    volta_context_release(context); /* ends the threads */
    return 0;
}
