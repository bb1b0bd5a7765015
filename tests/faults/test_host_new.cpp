// A host with an operator new and a default memory_resource of its own: the libraries use neither, shared and
// static, nor does the host's code run into the libraries'.
#include <cstdlib>
#include <map>
#include <memory_resource>
#include <new>
#include <string>
#include <vector>

#include "tests/support/cmocka_cpp.h"
#include "tests/support/weight_files.h"
#include "volta.h"
#include "volta_data.h"

namespace {

// Blocks lie behind a mark, so that one that another operator new gave is found out.
constexpr std::size_t kMark = 64;
constexpr std::uint64_t kMine = 0x6d696e65206f6e6c;
long host_calls = 0;
bool is_foreign_freed = false;

void* take(std::size_t bytes) {
    ++host_calls;
    char* const block = static_cast<char*>(std::malloc(bytes + kMark));
    if (block == nullptr) throw std::bad_alloc();
    std::memcpy(block, &kMine, sizeof kMine);
    return block + kMark;
}
void give(void* block) noexcept {
    if (block == nullptr) return;
    char* const place = static_cast<char*>(block) - kMark;
    std::uint64_t mark;
    std::memcpy(&mark, place, sizeof mark);
    is_foreign_freed = is_foreign_freed || mark != kMine;
    if (mark == kMine) std::free(place);
}

}  // namespace

void* operator new(std::size_t bytes) { return take(bytes); }
void* operator new[](std::size_t bytes) { return take(bytes); }
void operator delete(void* block) noexcept { give(block); }
void operator delete[](void* block) noexcept { give(block); }
void operator delete(void* block, std::size_t) noexcept { give(block); }
void operator delete[](void* block, std::size_t) noexcept { give(block); }

namespace {

constexpr const char* kPath = "test_host_new.safetensors";

volta_status train_and_import() {
    volta_context_options options = VOLTA_CONTEXT_OPTIONS_INIT;
    options.thread_count = 2;
    volta_context* context = nullptr;
    volta_model *model = nullptr, *imported = nullptr;
    volta_trainer* trainer = nullptr;
    volta_gpt_options gpt = VOLTA_GPT_OPTIONS_INIT;
    gpt.vocabulary = 30;
    gpt.layers = 1;
    gpt.dim = 32;
    gpt.heads = 2;
    gpt.context = 12;
    const std::int64_t shape[] = {2, 8};
    static std::int32_t tokens[64] = {1, 2, 3};
    volta_trainer_options training = VOLTA_TRAINER_OPTIONS_INIT;
    training.input_shapes = shape;
    training.input_extent_count = 2;
    volta_status status = volta_context_create(&options, &context);
    const auto then = [&](auto call) {
        if (status == VOLTA_OK) status = call();
    };
    then([&] { return volta_model_create_gpt(context, &gpt, 5, &model); });
    then([&] { return volta_trainer_create(model, &training, &trainer); });
    then([&] { return volta_trainer_set_tokens(trainer, tokens, 64); });
    then([&] { return volta_trainer_step_tokens(trainer, nullptr); });
    then([&] { return volta_model_export_safetensors(model, kPath); });
    then([&] { return volta_model_import(context, kPath, nullptr, &imported); });
    volta_model_release(imported);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
    return status;
}

void test_the_libraries_use_their_own(void**) {
    std::pmr::memory_resource* const before =
        std::pmr::set_default_resource(std::pmr::null_memory_resource());
    host_calls = 0;
    const volta_status status = train_and_import();
    const long calls = host_calls;
    std::pmr::set_default_resource(before);
    remove(kPath);
    if (status != VOLTA_OK) print_error("%s\n", volta_last_error());
    assert_int_equal(status, VOLTA_OK);
    assert_int_equal(calls, 0);
    assert_false(is_foreign_freed);
}

void test_the_data_library_too(void**) {
    std::pmr::memory_resource* const before =
        std::pmr::set_default_resource(std::pmr::null_memory_resource());
    host_calls = 0;
    volta_picture* picture = nullptr;
    const volta_status status = volta_picture_open("data/files/rgb.png", nullptr, &picture);
    volta_picture_release(picture);
    const long calls = host_calls;
    std::pmr::set_default_resource(before);
    if (status != VOLTA_OK) print_error("%s\n", volta_data_last_error());
    assert_int_equal(status, VOLTA_OK);
    assert_int_equal(calls, 0);
}

// Damaged JSON, whose parser makes an exception of the C++ library's with a text: that one is the host's, and
// no block goes to another heap than its own.
void test_a_refusal_crosses_nothing(void**) {
    const volta::test::TemporaryFolder folder;
    const std::string path = folder.write("bad.safetensors", volta::test::safetensors("{\"a\":[1,2", ""));
    volta_context* context = nullptr;
    volta_model* model = nullptr;
    assert_int_equal(volta_context_create(nullptr, &context), VOLTA_OK);
    host_calls = 0;
    assert_int_equal(volta_model_import(context, path.c_str(), nullptr, &model), VOLTA_CORRUPT_MODEL);
    print_message("the C++ library allocated %ld times for the parser's exception\n", host_calls);
    assert_true(host_calls <= 1);
    volta_context_release(context);
    assert_false(is_foreign_freed);
}

// The templates that both sides have are each side's own: strings and maps of the host stay the host's.
void test_the_hosts_containers_are_its_own(void**) {
    host_calls = 0;
    {
        std::map<std::string, std::vector<int>> table;
        for (int i = 0; i < 100; ++i)
            table["a key that is too long for the string itself " + std::to_string(i)].resize(10);
        assert_true(host_calls > 200);
        train_and_import();
    }
    remove(kPath);
    assert_false(is_foreign_freed);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(test_the_libraries_use_their_own),
                                cmocka_unit_test(test_the_data_library_too),
                                cmocka_unit_test(test_a_refusal_crosses_nothing),
                                cmocka_unit_test(test_the_hosts_containers_are_its_own)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
