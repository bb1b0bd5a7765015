// A machine without CUDA, which is most: one sentence each. Skipped where there is a driver, or an NVRTC.
#include <dlfcn.h>

#include "engine/backend/cuda/compiler.h"
#include "engine/backend/cuda/driver.h"
#include "tests/support/errors.h"

namespace {
using namespace volta;
using namespace volta::test;

void test_no_driver(void**) {
    if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr) skip();
    assert_failure(failure_of([] { cuda::Driver driver; }), VOLTA_UNSUPPORTED,
                   "CUDA: no driver: libcuda.so.1 cannot be opened (cannot open shared object file: ");
}

void test_no_nvrtc(void**) {
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
        if (dlopen(name, RTLD_NOW | RTLD_LOCAL) != nullptr) skip();
    assert_failure(
        failure_of([] { cuda::Compiler compiler(0, std::pmr::new_delete_resource()); }), VOLTA_UNSUPPORTED,
        "CUDA: no NVRTC: none of libnvrtc.so.13, libnvrtc.so.12 and libnvrtc.so can be opened (cannot open");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(test_no_driver), cmocka_unit_test(test_no_nvrtc)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
