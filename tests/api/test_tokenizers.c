/* Tokenizers through the public header: learnt from a text, opened from files, carried by models. */
#include "tests/api/api_test.h"

static const char* const kModel = "test_tokenizers.volta";
static const char* const kFile = "test_tokenizers.bin";
static const char* const kText = "the cat and the hat and the rat sat on the mat, the cat said\n";

/* The ids of a text in `ids`; how many. */
static size_t encode(const volta_tokenizer* tokenizer, const volta_encode_options* options, const char* text,
                     int32_t* ids, size_t capacity) {
    size_t count = 0;
    assert_ok(volta_tokenizer_encode_with(tokenizer, options, text, strlen(text), ids, capacity, &count));
    assert_true(count <= capacity);
    return count;
}

static void assert_comes_back(const volta_tokenizer* tokenizer, const char* text) {
    int32_t ids[256], previous = -1;
    char out[1024] = "";
    const size_t count = encode(tokenizer, NULL, text, ids, 256);
    for (size_t i = 0; i < count; ++i) {
        const char* piece;
        size_t bytes;
        assert_ok(volta_tokenizer_decode_after(tokenizer, previous, ids[i], &piece, &bytes));
        strncat(out, piece, bytes);
        previous = ids[i];
    }
    assert_string_equal(out, text);
}

/* A file of llama2.c: <unk>, <s>, </s>, a byte, and three pieces. */
static void write_llama2c(void) {
    static const struct {
        float score;
        const char* piece;
    } pieces[] = {{0, "<unk>"}, {0, "\n<s>\n"}, {0, "\n</s>\n"}, {0, "<0x0A>"},
                  {-1, " "},    {-2, "a"},      {-3, " a"}};
    const int32_t longest = 6;
    FILE* file = fopen(kFile, "wb");
    assert_non_null(file);
    fwrite(&longest, sizeof longest, 1, file);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; ++i) {
        const int32_t bytes = (int32_t)strlen(pieces[i].piece);
        fwrite(&pieces[i].score, sizeof(float), 1, file);
        fwrite(&bytes, sizeof bytes, 1, file);
        fwrite(pieces[i].piece, 1, strlen(pieces[i].piece), file);
    }
    assert_int_equal(fclose(file), 0);
}

static volta_model* small_model(volta_context* context, const volta_tokenizer* tokenizer) {
    volta_model* model = NULL;
    volta_gpt_options gpt = {0};
    gpt.struct_size = sizeof gpt;
    gpt.vocabulary = volta_tokenizer_size(tokenizer);
    gpt.layers = gpt.heads = 1;
    gpt.dim = gpt.context = 4;
    assert_ok(volta_model_create_gpt(context, &gpt, 1, &model));
    assert_ok(volta_model_set_tokenizer(model, tokenizer));
    return model;
}

static void test_a_learnt_vocabulary_lives_in_a_model(void** state) {
    (void)state;
    volta_context* context = NULL;
    volta_tokenizer *learnt, *loaded;
    volta_model* opened;
    int32_t a[64], b[64];
    assert_ok(volta_context_create(NULL, &context));
    assert_ok(volta_tokenizer_train_bpe(context, kText, strlen(kText), 262, &learnt));
    assert_string_equal(volta_tokenizer_kind(learnt), "bpe");
    assert_int_equal(volta_tokenizer_size(learnt), 262);
    assert_comes_back(learnt, kText);
    assert_comes_back(learnt, "anything \xff else");
    const size_t count = encode(learnt, NULL, "the cat and", a, 64);
    assert_true(count < 11);
    volta_model* model = small_model(context, learnt);
    assert_ok(volta_model_save(model, kModel));
    assert_ok(volta_model_open(context, kModel, NULL, &opened));
    assert_ok(volta_model_get_tokenizer(opened, &loaded));
    assert_string_equal(volta_tokenizer_kind(loaded), "bpe");
    assert_int_equal(encode(loaded, NULL, "the cat and", b, 64), count);
    assert_memory_equal(a, b, count * sizeof *a);
    volta_tokenizer_release(loaded);
    volta_tokenizer_release(learnt);
    volta_model_release(opened);
    volta_model_release(model);
    volta_context_release(context);
    remove(kModel);
}

static void test_a_file_of_llama2c_is_opened(void** state) {
    (void)state;
    volta_context* context = NULL;
    volta_tokenizer* tokenizer;
    volta_special_ids special = {sizeof special, 0, 0, 0, 0, 0, 0};
    volta_encode_options ends = VOLTA_ENCODE_OPTIONS_INIT, with_special = VOLTA_ENCODE_OPTIONS_INIT;
    ends.ends = 1;
    with_special.special = 1;
    int32_t ids[16];
    const char* text;
    size_t bytes;
    write_llama2c();
    assert_ok(volta_context_create(NULL, &context));
    assert_ok(volta_tokenizer_open(context, kFile, VOLTA_TOKENIZER_AUTO, &tokenizer));
    assert_string_equal(volta_tokenizer_kind(tokenizer), "spm");
    assert_ok(volta_tokenizer_special(tokenizer, &special));
    assert_int_equal(special.bos, 1);
    assert_int_equal(special.eos, 2);
    assert_int_equal(special.unk, 0);
    assert_int_equal(special.pad, -1);
    assert_int_equal(special.adds_bos, 1);
    assert_int_equal(special.adds_eos, 0);
    assert_int_equal(encode(tokenizer, &ends, "a a", ids, 16), 3);
    assert_int_equal(ids[0], 1);
    assert_int_equal(ids[1], 6);
    assert_int_equal(ids[2], 6);
    assert_int_equal(encode(tokenizer, &with_special, "a</s>a", ids, 16), 3);
    assert_int_equal(ids[1], 2);
    assert_ok(volta_tokenizer_decode(tokenizer, 6, &text, &bytes));
    assert_true(bytes == 2 && memcmp(text, " a", 2) == 0);
    assert_ok(volta_tokenizer_decode(tokenizer, 1, &text, &bytes));
    assert_int_equal(bytes, 0);
    assert_comes_back(tokenizer, "a a\na");
    volta_tokenizer_release(tokenizer);
    volta_context_release(context);
    remove(kFile);
}

/* Two texts beside each other, at most so many ids, and the segment of each. */
static void test_a_pair_of_texts(void** state) {
    (void)state;
    static const char kPieces[] = "[UNK]\n[CLS]\n[SEP]\na\nb\n";
    static const int32_t kWhole[] = {1, 3, 3, 2, 4, 4, 4, 2}, kSegments[] = {0, 0, 0, 0, 1, 1, 1, 1},
                         kCut[] = {1, 3, 2, 4, 4, 2}, kOfCut[] = {0, 0, 0, 1, 1, 1}, kAlone[] = {1, 3, 2};
    volta_context* context = NULL;
    volta_tokenizer* tokenizer;
    volta_encode_options options = VOLTA_ENCODE_OPTIONS_INIT;
    int32_t ids[16], segments[16];
    size_t count = 9;
    FILE* file = fopen(kFile, "wb");
    assert_true(file != NULL && fwrite(kPieces, 1, sizeof kPieces - 1, file) == sizeof kPieces - 1 &&
                fclose(file) == 0);
    assert_ok(volta_context_create(NULL, &context));
    assert_ok(volta_tokenizer_open(context, kFile, VOLTA_TOKENIZER_BERT, &tokenizer));
    options.ends = 1;
    options.pair = "b b b!";
    options.pair_bytes = 5;
    options.segments = segments;
    assert_int_equal(encode(tokenizer, &options, "a a", ids, 16), 8);
    assert_memory_equal(ids, kWhole, sizeof kWhole);
    assert_memory_equal(segments, kSegments, sizeof kSegments);
    options.max_tokens = 6;
    assert_int_equal(encode(tokenizer, &options, "a a", ids, 16), 6);
    assert_memory_equal(ids, kCut, sizeof kCut);
    assert_memory_equal(segments, kOfCut, sizeof kOfCut);
    segments[1] = 7;
    assert_ok(volta_tokenizer_encode_with(tokenizer, &options, "a a", 3, ids, 1, &count));
    assert_int_equal(count, 6); /* no more than there is room for */
    assert_int_equal(segments[1], 7);
    options.pair = NULL;
    assert_int_equal(volta_tokenizer_encode_with(tokenizer, &options, "a a", 3, ids, 16, &count),
                     VOLTA_INVALID_ARGUMENT);
    assert_non_null(strstr(volta_last_error(), "pair is NULL and pair_bytes is 5"));
    assert_int_equal(count, 0);
    options.pair_bytes = 0;
    options.max_tokens = 3;
    assert_int_equal(encode(tokenizer, &options, "a a", ids, 16), 3);
    assert_memory_equal(ids, kAlone, sizeof kAlone);
    options.max_tokens = 1;
    assert_int_equal(volta_tokenizer_encode_with(tokenizer, &options, "a a", 3, ids, 16, &count),
                     VOLTA_INVALID_ARGUMENT);
    assert_non_null(strstr(volta_last_error(), "max_tokens is 1, and 2 ids stand around the text"));
    volta_tokenizer_release(tokenizer);
    volta_context_release(context);
    remove(kFile);
}

static void test_wrong_calls_are_told(void** state) {
    (void)state;
    volta_context* context = NULL;
    volta_tokenizer* tokenizer = (volta_tokenizer*)1;
    volta_special_ids special = {0, 0, 0, 0, 0, 0, 0};
    const char* text;
    size_t bytes;
    assert_ok(volta_context_create(NULL, &context));
    assert_fails(volta_tokenizer_open(context, "none.bin", 7, &tokenizer), VOLTA_INVALID_ARGUMENT,
                 "format is 7, which is no format of tokenizers");
    assert_null(tokenizer);
    assert_fails(volta_tokenizer_open(context, NULL, 0, &tokenizer), VOLTA_INVALID_ARGUMENT, "path is NULL");
    assert_fails(volta_tokenizer_open(context, "x", 0, NULL), VOLTA_INVALID_ARGUMENT,
                 "out_tokenizer is NULL");
    assert_int_equal(volta_tokenizer_open(context, "none.bin", 0, &tokenizer), VOLTA_IO_ERROR);
    assert_fails(volta_tokenizer_train_bpe(context, "a", 1, 3, &tokenizer), VOLTA_INVALID_ARGUMENT,
                 "the vocabulary to learn has 3 pieces; it may have 256 to 1048576");
    assert_fails(volta_tokenizer_special(NULL, &special), VOLTA_INVALID_ARGUMENT, "tokenizer is NULL");
    assert_ok(volta_tokenizer_create_byte(context, &tokenizer));
    assert_fails(volta_tokenizer_special(tokenizer, &special), VOLTA_INVALID_ARGUMENT,
                 "volta_special_ids.struct_size is 0: set it to sizeof(volta_special_ids)");
    assert_fails(volta_tokenizer_decode_after(tokenizer, -1, 256, &text, &bytes), VOLTA_INVALID_ARGUMENT,
                 "token id 256 is outside the vocabulary [0, 256)");
    volta_tokenizer_release(tokenizer);
    volta_context_release(context);
}

/* Open, learn, encode and save on a heap that refuses one allocation. */
static volta_status use_tokenizers(struct counting_heap* heap) {
    volta_context* context = NULL;
    volta_tokenizer *opened = NULL, *learnt = NULL;
    volta_model* model = NULL;
    volta_gpt_options gpt = {0};
    int32_t ids[64];
    size_t count;
    volta_status status = context_on(heap, 1, 0, 0, &context);
    gpt.struct_size = sizeof gpt;
    gpt.vocabulary = 260;
    gpt.layers = gpt.heads = 1;
    gpt.dim = gpt.context = 4;
#define then(call) \
    if (status == VOLTA_OK) status = (call)
    then(volta_tokenizer_open(context, kFile, VOLTA_TOKENIZER_LLAMA2C, &opened));
    then(volta_tokenizer_encode(opened, "a a\n", 4, ids, 64, &count));
    then(volta_tokenizer_train_bpe(context, kText, strlen(kText), 260, &learnt));
    then(volta_tokenizer_encode(learnt, kText, strlen(kText), ids, 64, &count));
    then(volta_model_create_gpt(context, &gpt, 1, &model));
    then(volta_model_set_tokenizer(model, learnt));
    then(volta_model_save(model, kModel));
#undef then
    volta_model_release(model);
    volta_tokenizer_release(opened);
    volta_tokenizer_release(learnt);
    volta_context_release(context);
    return status;
}

static void test_every_allocation_may_be_refused(void** state) {
    (void)state;
    struct counting_heap whole = {0};
    write_llama2c();
    assert_ok(use_tokenizers(&whole));
    assert_int_equal(whole.live_bytes, 0);
    const uint64_t stride = whole.count > 2000 ? whole.count / 1000 : 1;
    for (uint64_t n = 1; n <= whole.count; n += stride) {
        struct counting_heap heap = {0};
        heap.fail_at = n;
        const volta_status status = use_tokenizers(&heap);
        if (status != VOLTA_OUT_OF_MEMORY)
            print_error("allocation %llu: %s\n", (unsigned long long)n, volta_last_error());
        assert_int_equal(status, VOLTA_OUT_OF_MEMORY);
        assert_int_equal(heap.live_bytes, 0);
    }
    remove(kFile);
    remove(kModel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_learnt_vocabulary_lives_in_a_model),
        cmocka_unit_test(test_a_pair_of_texts),
        cmocka_unit_test(test_a_file_of_llama2c_is_opened),
        cmocka_unit_test(test_wrong_calls_are_told),
        cmocka_unit_test(test_every_allocation_may_be_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
