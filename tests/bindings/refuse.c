/* Loaded before a program (LD_PRELOAD), it refuses one allocation of libvolta and libvolta_data, whatever
 * language the program is written in:
 *     VOLTA_REFUSE_AT=N      the N-th from 1, once; 0: none
 *     VOLTA_REFUSE_ALL=1     and all that come after it
 *     VOLTA_REFUSE_COUNT=F   how many there were goes into file F when the program ends
 * An allocation is the libraries' if the code that asks for it is theirs; what Python, Go or Rust allocate is
 * not counted. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void* __libc_malloc(size_t);
void* __libc_memalign(size_t, size_t);

#define LIBRARIES 2
static struct { atomic_uintptr_t first, last; /* its code; 0: not loaded yet */ } code[LIBRARIES];
static const char* const names[LIBRARIES] = {"/libvolta.so", "/libvolta_data.so"};

static atomic_ulong calls, refuse_at;
static atomic_int refuse_all;

static int note_library(struct dl_phdr_info* info, size_t size, void* unused) {
    (void)size, (void)unused;
    for (int i = 0; i < LIBRARIES; ++i) {
        if (strstr(info->dlpi_name, names[i]) == NULL) continue;
        for (int part = 0; part < info->dlpi_phnum; ++part)
            if (info->dlpi_phdr[part].p_type == PT_LOAD && (info->dlpi_phdr[part].p_flags & PF_X) != 0) {
                const uintptr_t first = info->dlpi_addr + info->dlpi_phdr[part].p_vaddr;
                atomic_store(&code[i].last, first + info->dlpi_phdr[part].p_memsz);
                atomic_store(&code[i].first, first);
            }
    }
    return 0;
}

/* A library may come late (dlopen), and asks for memory as soon as it is there. */
void* dlopen(const char* path, int flags) {
    static void* (*next)(const char*, int);
    if (next == NULL) {
        void* found = dlsym(RTLD_NEXT, "dlopen");
        memcpy(&next, &found, sizeof next);
    }
    void* library = next(path, flags);
    dl_iterate_phdr(note_library, NULL);
    return library;
}

__attribute__((constructor)) static void begin(void) {
    const char* at = getenv("VOLTA_REFUSE_AT");
    atomic_store(&refuse_at, at == NULL ? 0 : strtoul(at, NULL, 10));
    atomic_store(&refuse_all, getenv("VOLTA_REFUSE_ALL") != NULL);
    dl_iterate_phdr(note_library, NULL);
}

__attribute__((destructor)) static void end(void) {
    const char* path = getenv("VOLTA_REFUSE_COUNT");
    FILE* file = path == NULL ? NULL : fopen(path, "w");
    if (file == NULL) return;
    fprintf(file, "%lu\n", atomic_load(&calls));
    fclose(file);
}

static int is_refused(const void* caller) {
    const uintptr_t address = (uintptr_t)caller;
    for (int i = 0; i < LIBRARIES; ++i) {
        const uintptr_t first = atomic_load(&code[i].first);
        if (first == 0 || address < first || address >= atomic_load(&code[i].last)) continue;
        const unsigned long at = atomic_load(&refuse_at), call = atomic_fetch_add(&calls, 1) + 1;
        return at != 0 && (call == at || (call > at && atomic_load(&refuse_all)));
    }
    return 0;
}

void* malloc(size_t bytes) {
    if (!is_refused(__builtin_return_address(0))) return __libc_malloc(bytes);
    errno = ENOMEM;
    return NULL;
}

int posix_memalign(void** block, size_t alignment, size_t bytes) {
    if (is_refused(__builtin_return_address(0))) return ENOMEM;
    void* memory = __libc_memalign(alignment, bytes);
    if (memory == NULL) return ENOMEM;
    *block = memory;
    return 0;
}
