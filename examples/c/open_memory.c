/* A model that is no file of the library's: bytes that the host has, here a mapping of its own. They may as
 * well be an array of the program (xxd -i), a section of it (ld -r -b binary), or a part of an archive. Where
 * they begin at a multiple of 64 bytes nothing is copied.
 *   open_memory MODEL.volta
 */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <volta.h>

#define CHECK(call)                                                              \
    do {                                                                         \
        if ((call) != VOLTA_OK) {                                                \
            fprintf(stderr, "open_memory: %s: %s\n", #call, volta_last_error()); \
            exit(1);                                                             \
        }                                                                        \
    } while (0)

int main(int argc, char** argv) {
    if (argc != 2) return fprintf(stderr, "usage: open_memory MODEL.volta\n"), 2;
    const int file = open(argv[1], O_RDONLY);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0 || status.st_size == 0)
        return fprintf(stderr, "open_memory: cannot read %s\n", argv[1]), 1;
    const size_t bytes = (size_t)status.st_size;
    void* data = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    close(file); /* the mapping stays */
    if (data == MAP_FAILED) return fprintf(stderr, "open_memory: cannot map %s\n", argv[1]), 1;

    volta_context* context;
    volta_model *model, *same;
    volta_context_info before = VOLTA_CONTEXT_INFO_INIT, after = VOLTA_CONTEXT_INFO_INIT;
    CHECK(volta_context_create(NULL, &context));
    CHECK(volta_context_get_info(context, &before));
    CHECK(volta_model_open_memory(context, data, bytes, NULL,
                                  &model)); /* `data` stays as it is until release */
    CHECK(volta_context_get_info(context, &after));
    CHECK(volta_model_open(context, argv[1], NULL, &same));
    printf("%zu bytes of model, %llu bytes of tensors copied\n", bytes,
           (unsigned long long)(after.tensor_bytes - before.tensor_bytes));
    char hash[33], hash_of_file[33];
    CHECK(volta_model_hash(model, hash));
    CHECK(volta_model_hash(same, hash_of_file));
    printf("hash %s, of the file %s\n", hash, hash_of_file);

    volta_model_release(same);
    volta_model_release(model);
    volta_context_release(context);
    munmap(data, bytes);
    return strcmp(hash, hash_of_file) == 0 && after.tensor_bytes == before.tensor_bytes ? 0 : 1;
}
