// A host that set FTZ, DAZ, another rounding mode or unmasked exceptions gets the same bits, and its own
// settings back, in its callbacks too. And the header is C++ as well as C.
#include <xmmintrin.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/support/cmocka_cpp.h"
#include "volta.h"

namespace {

constexpr unsigned kSettings[] = {0x1F80, 0x9FC0 /* FTZ, DAZ */, 0x7F80 /* toward zero */, 0x3F80 /* down */,
                                  0x5F80 /* up */};
unsigned seen_in_allocator = 0;

void* allocate(void*, size_t size, size_t alignment, volta_memory_kind) {
    seen_in_allocator = _mm_getcsr() & ~0x3Fu;  // without the sticky flags
    void* memory = nullptr;
    return posix_memalign(&memory, alignment < 8 ? 8 : alignment, size ? size : 1) == 0 ? memory : nullptr;
}

void release(void*, void* pointer, size_t, size_t, volta_memory_kind) { free(pointer); }

// Three training steps under `mxcsr`; the hash of the parameters.
std::string train_under(unsigned mxcsr, uint32_t threads) {
    char hash[33] = "";
    const volta_allocator allocator = {allocate, release, nullptr};
    volta_context_options options = {};
    options.struct_size = sizeof options;
    options.allocator = &allocator;
    options.thread_count = threads;
    volta_gpt_options gpt = {};
    gpt.struct_size = sizeof gpt;
    gpt.vocabulary = 17;
    gpt.layers = 1;
    gpt.dim = 32;
    gpt.heads = 2;
    gpt.context = 16;
    const int64_t shape[] = {2, 16};
    volta_trainer_options training = {};
    training.struct_size = sizeof training;
    training.input_shapes = shape;
    training.input_extent_count = 2;
    training.learning_rate = 1e-2;
    std::vector<int32_t> tokens(200);
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * i % 17);
    volta_context* context = nullptr;
    volta_model* model = nullptr;
    volta_trainer* trainer = nullptr;

    _mm_setcsr(mxcsr);
    volta_status status = volta_context_create(&options, &context);
    const bool callback_saw_host = (seen_in_allocator & ~0x3Fu) == (mxcsr & ~0x3Fu);
    if (status == VOLTA_OK) status = volta_model_create_gpt(context, &gpt, 1, &model);
    if (status == VOLTA_OK) status = volta_trainer_create(model, &training, &trainer);
    if (status == VOLTA_OK) status = volta_trainer_set_tokens(trainer, tokens.data(), tokens.size());
    bool flags_restored = true;
    for (int step = 0; step < 3 && status == VOLTA_OK; ++step) {
        _mm_setcsr(mxcsr);
        status = volta_trainer_step_tokens(trainer, nullptr);
        flags_restored = flags_restored && _mm_getcsr() == mxcsr;  // computing raised sticky flags of its own
    }
    if (status == VOLTA_OK) status = volta_trainer_hash(trainer, hash);
    const bool restored = flags_restored && (_mm_getcsr() & ~0x3Fu) == (mxcsr & ~0x3Fu);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
    _mm_setcsr(0x1F80);
    if (status != VOLTA_OK) return volta_last_error();
    return callback_saw_host && restored ? hash : "the host's MXCSR was not given back";
}

void test_host_environment(void**) {
    const std::string expected = train_under(0x1F80, 1);
    bool same = expected.size() == 32;
    for (unsigned mxcsr : kSettings)
        for (uint32_t threads : {1u, 2u}) {
            const std::string hash = train_under(mxcsr, threads);
            if (hash != expected)
                print_error("MXCSR %04x, %u threads: %s, expected %s\n", mxcsr, threads, hash.c_str(),
                            expected.c_str());
            same = same && hash == expected;
        }
    assert_true(same);
}

int32_t hear(void* user, const char*, size_t, int32_t) {
    *static_cast<unsigned*>(user) = _mm_getcsr() & ~0x3Fu;
    return 0;
}

// Text is told in the host's environment, and has the same tokens in every one.
void test_callback_of_writing(void**) {
    int32_t expected = -1;
    for (unsigned mxcsr : kSettings) {
        unsigned seen = 0;
        const int32_t prompt = 'x';
        volta_context* context = nullptr;
        volta_model* model = nullptr;
        volta_tokenizer* tokenizer = nullptr;
        volta_generator* generator = nullptr;
        volta_gpt_options gpt = {};
        gpt.struct_size = sizeof gpt;
        gpt.vocabulary = 256;
        gpt.layers = 1;
        gpt.dim = 32;
        gpt.heads = 2;
        gpt.context = 16;
        volta_generator_options options = {};
        options.struct_size = sizeof options;
        options.temperature = 1;
        volta_write_options writing = {};
        writing.struct_size = sizeof writing;
        writing.on_text = hear;
        writing.user = &seen;
        volta_write_result result = {};
        result.struct_size = sizeof result;
        assert_int_equal(volta_context_create(nullptr, &context), VOLTA_OK);
        assert_int_equal(volta_model_create_gpt(context, &gpt, 1, &model), VOLTA_OK);
        assert_int_equal(volta_tokenizer_create_byte(context, &tokenizer), VOLTA_OK);
        assert_int_equal(volta_generator_create(model, &options, &generator), VOLTA_OK);
        assert_int_equal(volta_generator_start(generator, &prompt, 1), VOLTA_OK);
        _mm_setcsr(mxcsr);
        const volta_status status = volta_generator_write(generator, nullptr, tokenizer, &writing, &result);
        const unsigned after = _mm_getcsr() & ~0x3Fu;
        _mm_setcsr(0x1F80);
        assert_int_equal(status, VOLTA_OK);
        assert_int_equal(seen, mxcsr);
        assert_int_equal(after, mxcsr);
        if (expected < 0) expected = result.last_token;
        assert_int_equal(result.last_token, expected);
        volta_generator_release(generator);
        volta_tokenizer_release(tokenizer);
        volta_model_release(model);
        volta_context_release(context);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(test_host_environment),
                                cmocka_unit_test(test_callback_of_writing)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
