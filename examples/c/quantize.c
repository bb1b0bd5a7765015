/* What a language model loses with fewer bits: its size and its loss on a text, type by type. Writes the one
 * that is asked for.
 *   quantize MODEL.volta TEXT OUT.volta bf16|f16|int8|int4|f32_panels
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volta.h>

#define CHECK(call)                                                           \
    do {                                                                      \
        if ((call) != VOLTA_OK) {                                             \
            fprintf(stderr, "quantize: %s: %s\n", #call, volta_last_error()); \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

enum { kMostBytes = 1 << 16 };

static const struct type {
    const char* name;
    volta_dtype dtype;
} types[] = {{"f32_panels", VOLTA_F32_PANELS},
             {"bf16", VOLTA_BF16},
             {"f16", VOLTA_F16},
             {"int8", VOLTA_INT8},
             {"int4", VOLTA_INT4}};

static long file_bytes(const char* path) {
    FILE* file = fopen(path, "rb");
    const long bytes = file != NULL && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (file != NULL) fclose(file);
    return bytes;
}

int main(int argc, char** argv) {
    if (argc != 5) return fprintf(stderr, "usage: quantize MODEL.volta TEXT OUT.volta TYPE\n"), 2;
    static char text[kMostBytes];
    static int32_t tokens[kMostBytes];
    FILE* file = fopen(argv[2], "rb");
    const size_t bytes = file != NULL ? fread(text, 1, sizeof text, file) : 0;
    if (bytes == 0) return fprintf(stderr, "quantize: cannot read %s\n", argv[2]), 1;
    fclose(file);

    volta_context* context;
    volta_model* model;
    volta_tokenizer* tokenizer;
    CHECK(volta_context_create(NULL, &context));
    CHECK(volta_model_open(context, argv[1], NULL, &model));
    CHECK(volta_model_get_tokenizer(model, &tokenizer));
    if (tokenizer == NULL) return fprintf(stderr, "quantize: %s has no tokenizer\n", argv[1]), 1;
    size_t count;
    CHECK(volta_tokenizer_encode(tokenizer, text, bytes, tokens, kMostBytes, &count));
    if (count > kMostBytes) count = kMostBytes;

    double loss, loss_of_type;
    int found = 0;
    CHECK(volta_model_evaluate_tokens(model, tokens, count, &loss));
    printf("%-10s %10ld bytes  loss %.4f\n", "f32", file_bytes(argv[1]), loss);
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
        volta_model* small;
        CHECK(volta_model_quantize(model, types[i].dtype, &small));
        CHECK(volta_model_evaluate_tokens(small, tokens, count, &loss_of_type));
        const int wanted = strcmp(types[i].name, argv[4]) == 0;
        if (wanted) CHECK(volta_model_save(small, argv[3]));
        printf("%-10s ", types[i].name);
        if (wanted)
            printf("%10ld bytes", file_bytes(argv[3]));
        else
            printf("%10s      ", "");
        printf("  loss %.4f\n", loss_of_type);
        found |= wanted;
        volta_model_release(small);
    }
    volta_tokenizer_release(tokenizer);
    volta_model_release(model);
    volta_context_release(context);
    if (!found) return fprintf(stderr, "quantize: %s is no type\n", argv[4]), 2;
    return 0;
}
