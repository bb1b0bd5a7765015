// cuBLASLt as it is opened and asked: what is missing or too new has a sentence, an algorithm is chosen once,
// failures are statuses and spoil nothing. On the fakes.
//     test_cublaslt_library [none|lacking]    which machine the environment makes this (default: a whole one)
#include <dlfcn.h>

#include <vector>

#include "engine/backend/cuda/cublaslt_product.h"
#include "engine/backend/cuda/graph_capture.h"
#include "tests/support/errors.h"
#include "tests/support/fake_cuda/fake_access.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;
using cuda::CublasLtLibrary;
using cuda::CublasLtProblem;
using cuda::CublasLtProduct;
using cuda::DeviceMemory;
using cuda::Driver;
using cuda::Gpu;
using cuda::Graph;

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

Failure failure_of_library(Level level = Level::repeatable) {
    return failure_of([&] {
        const Driver driver;
        Gpu gpu(driver, {}, heap());
        const CublasLtLibrary library(gpu, level, heap());
    });
}

int version_of_library() {
    const Driver driver;
    Gpu gpu(driver, {}, heap());
    return CublasLtLibrary(gpu, Level::repeatable, heap()).version();
}

void test_version(void**) {
    assert_int_equal(version_of_library(), 13000);
    {
        const Setting patch("VOLTA_FAKE_CUBLASLT_VERSION", "130102");
        assert_int_equal(version_of_library(), 13010);
    }
    // Code of a toolkit that is newer than the driver would not load.
    const Setting older("VOLTA_FAKE_CUDA_DRIVER", "12040");
    assert_int_equal(version_of_library(), 12000);
    const Setting newer("VOLTA_FAKE_CUBLASLT_VERSION", "130000");
    assert_failure(
        failure_of_library(), VOLTA_UNSUPPORTED,
        "level repeatable: no cuBLASLt: cuBLASLt 13.0 is too new for the driver, which is made for "
        "CUDA 12.4");
    assert_true(nothing_is_left());
}

void test_missing(void**) {
    if (dlopen("libcublasLt.so.13", RTLD_NOW) != nullptr || dlopen("libcublasLt.so.12", RTLD_NOW) != nullptr)
        skip();  // this machine has one of its own
    assert_failure(failure_of_library(), VOLTA_UNSUPPORTED,
                   "level repeatable: no cuBLASLt: none of libcublasLt.so.13, libcublasLt.so.12 and "
                   "libcublasLt.so can be opened (cannot open shared object file");
    const Setting older("VOLTA_FAKE_CUDA_DRIVER", "12040");
    assert_failure(failure_of_library(Level::fast), VOLTA_UNSUPPORTED,
                   "level fast: no cuBLASLt: none of libcublasLt.so.12 and libcublasLt.so can be opened");
    assert_true(nothing_is_left());
}

void test_lacking(void**) {
    assert_failure(failure_of_library(), VOLTA_UNSUPPORTED,
                   "level repeatable: no cuBLASLt: CUDA: cuBLASLt has no function cublasLtMatmul");
    assert_true(nothing_is_left());
}

// A product of 40 x 24 x 64 on a device, with what it needs; from numbers in [-1, 1).
struct Problem {
    static constexpr std::int64_t kM = 40, kN = 24, kK = 64;
    Problem()
        : gpu(driver, {}, heap()),
          library(gpu, Level::repeatable, heap()),
          a(upload(kM * kK, 1)),
          b(upload(kK * kN, 2)),
          c(upload(kM * kN, 3)),
          workspace(gpu.allocate(1 << 20, "a test")) {}

    static CublasLtProblem description(std::size_t workspace = 1 << 20) {
        CublasLtProblem problem{{}, Precision::fp32, {16, 16, 16}, workspace};
        problem.shape.m = kM, problem.shape.n = problem.shape.ldb = problem.shape.ldc = kN;
        problem.shape.k = problem.shape.lda = kK;
        return problem;
    }
    volta_status run(const CublasLtProduct& product, bool adds = false) {
        return product.run(a.as<float>(), b.as<float>(), c.as<float>(), adds, workspace.as<void>());
    }
    std::vector<float> result() {
        std::vector<float> values(kM * kN);
        gpu.require(gpu.download(values.data(), c.address(), values.size() * sizeof(float)));
        return values;
    }
    std::vector<float> result_of(const CublasLtProduct& product) {
        gpu.require(run(product));
        return result();
    }

    const Driver driver;
    Gpu gpu;
    const CublasLtLibrary library;
    DeviceMemory a, b, c, workspace;

  private:
    DeviceMemory upload(std::int64_t count, std::uint64_t seed) {
        DeviceMemory memory = gpu.allocate(static_cast<std::size_t>(count) * sizeof(float), "a test");
        gpu.require(gpu.upload(memory.address(), random_floats(count, seed).data(), memory.bytes()));
        return memory;
    }
};

// What the library would choose later changes nothing; another algorithm has another name, and other bits.
void test_algorithm_is_pinned(void**) {
    static std::vector<float> first, again, other, split;
    static std::string names[3];
    {
        Problem problem;
        const CublasLtProduct product(problem.library, Problem::description());
        names[0] = product.name();
        first = problem.result_of(product);
        {
            const Setting shuffled("VOLTA_FAKE_CUBLASLT_ORDER", "1");
            again = problem.result_of(product);
            const CublasLtProduct second(problem.library, Problem::description());
            names[1] = second.name();
            other = problem.result_of(second);
        }
        const Setting last("VOLTA_FAKE_CUBLASLT_ORDER", "2");
        const CublasLtProduct third(problem.library, Problem::description());
        names[2] = third.name();
        assert_int_equal(third.workspace_bytes(), 3 * 40 * 24 * 4);
        split = problem.result_of(third);
    }
    assert_string_equal(names[0].c_str(), "cublaslt fp32 algo 21 tile 18 stages 12 splits 1");
    assert_string_equal(names[1].c_str(), "cublaslt fp32 algo 21 tile 20 stages 12 splits 1 swizzle 1");
    assert_string_equal(names[2].c_str(), "cublaslt fp32 algo 6 tile 15 stages 8 splits 3 reduction 2");
    assert_true(first == again);
    assert_true(first != other);
    assert_true(first != split && other != split);
    assert_true(nothing_is_left());
}

// The heuristic has what needs more workspace, or more alignment than there is; neither is taken.
void test_what_runs_can_keep(void**) {
    static std::string name;
    {
        const Setting last("VOLTA_FAKE_CUBLASLT_ORDER", "2");
        Problem problem;
        name = CublasLtProduct(problem.library, Problem::description(1000)).name();
        assert_true(name.find("algo 21 tile 18") != std::string::npos);
    }
    {
        Problem problem;
        CublasLtProblem description = Problem::description();
        description.alignment[2] = 4;
        name = CublasLtProduct(problem.library, description).name();
        assert_true(name.find("algo 21 tile 20") != std::string::npos);
        description.alignment[0] = 2;
        assert_failure(failure_of([&] { CublasLtProduct(problem.library, description); }), VOLTA_UNSUPPORTED,
                       "cuBLASLt has no algorithm for fp32 products of 40 x 24 x 64, 1 of them");
    }
    name = std::string();
    assert_true(nothing_is_left());
}

// What the heuristic offers against the wishes is not taken: an order of additions that depends on who is
// first, and more workspace than there is.
void test_wishes_are_checked(void**) {
    static std::string names[2];
    {
        const Setting deaf("VOLTA_FAKE_CUBLASLT_DEAF", "1");
        Problem problem;
        names[0] = CublasLtProduct(problem.library, Problem::description()).name();
        const Setting last("VOLTA_FAKE_CUBLASLT_ORDER", "3");
        names[1] = CublasLtProduct(problem.library, Problem::description(1000)).name();
    }
    for (const std::string& name : names)
        assert_string_equal(name.c_str(), "cublaslt fp32 algo 21 tile 18 stages 12 splits 1");
    assert_true(nothing_is_left());
}

bool near(const std::vector<float>& actual, const std::vector<float>& expected, float factor) {
    for (std::size_t i = 0; i < actual.size(); ++i)
        if (std::fabs(actual[i] - factor * expected[i]) > 1e-4f) return false;
    return true;
}

void test_recorded(void**) {
    static std::vector<float> once, thrice;
    {
        Problem problem;
        const CublasLtProduct product(problem.library, Problem::description());
        once = problem.result_of(product);
        Graph graph(problem.gpu);
        const std::uint64_t before = problem.gpu.figures().kernel_launches;
        assert_int_equal(graph.record([&] { return problem.run(product, true); }), VOLTA_OK);
        assert_int_equal(problem.gpu.figures().kernel_launches, before);
        assert_int_equal(graph.run(), VOLTA_OK);
        assert_int_equal(graph.run(), VOLTA_OK);
        assert_int_equal(problem.gpu.figures().kernel_launches, before + 2);
        thrice = problem.result();
    }
    assert_true(near(thrice, once, 3));
    assert_true(once.front() != 0);
    assert_true(nothing_is_left());
}

void test_failures(void**) {
    {
        const Setting fails("VOLTA_FAKE_CUDA_FAIL", "cublasLtCreate:1:1");
        assert_failure(failure_of_library(), VOLTA_DEVICE_ERROR,
                       "cuBLASLt: cublasLtCreate: CUBLAS_STATUS_NOT_INITIALIZED 1");
    }
    // Every call of making a product, failing in turn: nothing is left behind.
    for (const char* call :
         {"cublasLtMatmulDescCreate:1", "cublasLtMatmulDescSetAttribute:1", "cublasLtMatrixLayoutCreate:1",
          "cublasLtMatrixLayoutCreate:3", "cublasLtMatmulPreferenceCreate:1",
          "cublasLtMatmulPreferenceSetAttribute:2", "cublasLtMatmulAlgoGetHeuristic:1"}) {
        const Setting fails("VOLTA_FAKE_CUDA_FAIL", std::string(call) + ":13");
        Problem problem;
        const Failure told = failure_of([&] { CublasLtProduct(problem.library, Problem::description()); });
        assert_failure(told, VOLTA_DEVICE_ERROR, "CUBLAS_STATUS_EXECUTION_FAILED 13");
    }
    assert_true(nothing_is_left());
}

// A status of the library is a failed call, and the next one works; a fault is the end of the device.
void test_failures_of_runs(void**) {
    {
        const Setting fails("VOLTA_FAKE_CUDA_FAIL", "cublasLtMatmul:2:13");
        Problem problem;
        const CublasLtProduct product(problem.library, Problem::description());
        assert_int_equal(problem.run(product), VOLTA_OK);
        assert_int_equal(problem.run(product), VOLTA_DEVICE_ERROR);
        assert_string_equal(problem.gpu.failure().what(),
                            "cuBLASLt: cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED 13");
        assert_false(problem.gpu.lost());
        assert_int_equal(problem.run(product), VOLTA_OK);
        assert_int_equal(problem.gpu.wait(), VOLTA_OK);
        assert_int_equal(problem.gpu.figures().kernel_launches, 2);

        const float* const nowhere = problem.a.as<float>() + (std::size_t{1} << 40);
        assert_int_equal(product.run(nowhere, problem.b.as<float>(), problem.c.as<float>(), false, nullptr),
                         VOLTA_OK);
        assert_int_equal(problem.gpu.wait(), VOLTA_DEVICE_ERROR);
        assert_true(problem.gpu.lost());
        assert_int_equal(problem.run(product), VOLTA_DEVICE_ERROR);
        assert_failure(failure_of([&] { throw problem.gpu.failure(); }), VOLTA_DEVICE_ERROR,
                       "ILLEGAL_ADDRESS 700");
    }
    assert_true(nothing_is_left());
    Problem problem;
    const CublasLtProduct product(problem.library, Problem::description());
    assert_int_equal(problem.run(product), VOLTA_OK);
    assert_int_equal(problem.gpu.wait(), VOLTA_OK);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string machine = argc > 1 ? argv[1] : "";
    const CMUnitTest whole[] = {
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_algorithm_is_pinned),
        cmocka_unit_test(test_what_runs_can_keep),
        cmocka_unit_test(test_wishes_are_checked),
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_failures_of_runs),
    };
    const CMUnitTest none[] = {cmocka_unit_test(test_missing)};
    const CMUnitTest lacking[] = {cmocka_unit_test(test_lacking)};
    if (machine == "none") return cmocka_run_group_tests(none, nullptr, nullptr);
    if (machine == "lacking") return cmocka_run_group_tests(lacking, nullptr, nullptr);
    return cmocka_run_group_tests(whole, nullptr, nullptr);
}
