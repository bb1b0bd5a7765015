// The compiler on a real NVRTC, which needs no GPU: skipped where there is none.
#include <dlfcn.h>

#include <cstring>

#include "engine/backend/cuda/compiler.h"
#include "jitgen/cuda/row_source.h"
#include "tests/jitgen/corpus.h"
#include "tests/support/errors.h"

namespace {
using namespace volta;
using namespace volta::test;

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

void skip_without_nvrtc() {
    if (failure_of([] { cuda::Compiler compiler(0, heap()); }).status == VOLTA_UNSUPPORTED) skip();
}

bool holds(const cuda::KernelImage& image, const char* text) {
    const auto* const bytes = static_cast<const char*>(image.bytes.data());
    const std::size_t length = std::strlen(text);
    for (std::size_t at = 0; at + length <= image.bytes.bytes(); ++at)
        if (std::memcmp(bytes + at, text, length) == 0) return true;
    return false;
}

void test_cubin_and_ptx(void**) {
    skip_without_nvrtc();
    const cuda::Compiler compiler(0, heap());
    assert_true(compiler.version() >= 12000);
    const std::pmr::string text = jit::row_source(build(row_programs().front(), heap()), "row", heap());
    for (const int architecture : {80, 90, 100}) {
        const cuda::KernelImage cubin = compiler.compile(text.c_str(), "row", architecture);
        assert_int_equal(cubin.architecture, architecture);
        assert_false(cubin.is_ptx);
        assert_memory_equal(cubin.bytes.data(), "\177ELF", 4);
        assert_true(holds(cubin, "row_warps") && holds(cubin, "row_blocks"));
    }
    const cuda::KernelImage ptx = compiler.compile(text.c_str(), "row", 990);  // a device of the future
    assert_true(ptx.is_ptx && ptx.architecture >= 100 && ptx.architecture < 990);
    assert_true(holds(ptx, ".target sm_") && holds(ptx, ".entry row_warps"));
    assert_int_equal(static_cast<const char*>(ptx.bytes.data())[ptx.bytes.bytes() - 1], 0);
}

void test_errors(void**) {
    skip_without_nvrtc();
    static const cuda::Compiler* compiler;
    compiler = new cuda::Compiler(0, heap());
    const Failure wrong = failure_of(
        [] { compiler->compile("extern \"C\" __global__ void f(float* x) {\n    x[0] = y;\n}\n", "f", 90); });
    const Failure old = failure_of([] { compiler->compile("", "f", 30); });
    delete compiler;
    assert_failure(wrong, VOLTA_INTERNAL,
                   "CUDA: NVRTC does not compile f: f(2): error: identifier \"y\" is undefined");
    assert_failure(old, VOLTA_UNSUPPORTED, "makes no code for the device's sm_30");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(test_cubin_and_ptx), cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
