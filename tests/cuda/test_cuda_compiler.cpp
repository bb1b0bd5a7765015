// From text to kernels that run: NVRTC, the files that keep what it made, and launches. On the fakes.
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "jitgen/cuda/row_source.h"
#include "tests/cuda/device_kernel.h"
#include "tests/jitgen/compare.h"
#include "tests/jitgen/corpus.h"
#include "tests/support/errors.h"
#include "tests/support/fake_cuda/fake_access.h"

namespace {
using namespace volta;
using namespace volta::test;
using cuda::Driver;
using cuda::Gpu;
using cuda::KernelStore;

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

std::string failure;  // of the test at hand: no object with a destructor is alive where an assertion leaves
std::string logged;   // all lines

const Log& collecting() {
    static const Log log{[](void*, std::int32_t, const char* line) { logged = logged + line + "\n"; },
                         nullptr};
    return log;
}

// A folder that is not there yet; gone with all files in it.
class Folder final {
  public:
    Folder() {
        char text[] = "/tmp/volta_kernels_XXXXXX";
        parent_ = mkdtemp(text);
        path = parent_ + "/kernels";
    }
    ~Folder() {
        for (const std::string& file : files()) unlink(file.c_str());
        rmdir(path.c_str());
        rmdir(parent_.c_str());
    }
    std::vector<std::string> files() const {
        std::vector<std::string> list;
        DIR* const folder = opendir(path.c_str());
        if (folder == nullptr) return list;
        while (const dirent* const entry = readdir(folder))
            if (entry->d_name[0] != '.') list.push_back(path + "/" + entry->d_name);
        closedir(folder);
        return list;
    }
    std::string path;

  private:
    std::string parent_;
};

constexpr char kText[] = R"(
extern "C" __global__ void __launch_bounds__(64) twice(float* x, const int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) x[i] = __fmul_rn(2.0f, x[i]);
}
extern "C" __global__ void fill(float* x, float value, long long count) {  // no __global__ function of its own
    for (long long i = threadIdx.x; i < count; i += blockDim.x) x[i] = value;
}
)";

// Fills 100 floats and doubles them; "" or what went wrong.
std::string run_text(Gpu& gpu, KernelStore& store) {
    const cuda::DeviceMemory memory = gpu.allocate(400, "a test");
    float* x = memory.as<float>();
    float value = 1.5f, out[100];
    long long many = 100;
    int count = 99;
    void *fill[] = {&x, &value, &many}, *twice[] = {&x, &count};
    gpu.require(gpu.launch(store.kernel(kText, "fill"), {1, 1, 1, 32}, fill));
    gpu.require(gpu.launch(store.kernel(kText, "twice"), {2, 1, 1, 64}, twice));
    gpu.require(gpu.download(out, memory.address(), sizeof out));
    for (int i = 0; i < 100; ++i)
        if (out[i] != (i < 99 ? 3.0f : 1.5f))
            return "element " + std::to_string(i) + " is " + std::to_string(out[i]);
    return "";
}

bool has(KernelStore& store, std::uint64_t compiled, std::uint64_t from_disk, std::uint64_t ignored) {
    const cuda::StoreFigures figures = store.figures();
    if (figures.compiled == compiled && figures.from_disk == from_disk && figures.ignored_files == ignored)
        return true;
    print_error("compiled %d, from disk %d, ignored %d\n%s", static_cast<int>(figures.compiled),
                static_cast<int>(figures.from_disk), static_cast<int>(figures.ignored_files), logged.c_str());
    return false;
}

void skip_without_fibers() {
#if defined(VOLTA_NO_FIBERS)
    skip();
#endif
}

// Every row program of the corpus, as one text: forms and widths, with the oracle's bits.
void run_program(const CorpusRow& row, const std::pmr::string& text, Gpu& gpu, KernelStore& store) {
    DeviceKernel kernel(build(row, heap()), text.c_str(), row.name, gpu, store, heap());
    std::uint64_t seed = 1;
    for (const auto form : {jit::RowForm::warps, jit::RowForm::blocks, jit::RowForm::segments})
        for (const std::int64_t columns : {1, 33, 100}) {
            if (!kernel.takes(form) || !failure.empty()) continue;
            kernel.form = form;
            Layout layout{};
            layout.rows = 5;
            layout.columns = columns;
            layout.row_gap = 3;
            layout.seed = ++seed;
            layout.in_place = seed % 2 == 0;
            const Difference difference = compare(kernel, layout);
            failure = !kernel.error.empty() ? kernel.error : difference.found ? difference.text : "";
            if (!failure.empty()) failure.insert(0, std::string(row.name) + ": ");
        }
}

void test_row_programs(void**) {
    skip_without_fibers();
    failure.clear();
    {
        const Driver driver;
        Gpu gpu(driver, {}, heap());
        KernelStore store(gpu, "", {}, heap());
        std::pmr::string text(heap());
        jit::append_row_prelude(text);
        for (const CorpusRow& row : row_programs())
            jit::append_row_kernels(jit::cuda_plan(build(row, heap()), heap()), row.name, text);
        for (const CorpusRow& row : row_programs())
            if (failure.empty()) run_program(row, text, gpu, store);
        if (store.figures().compiled != 1) failure = "compiled more than once";
        if (gpu.figures().kernel_launches < 100) failure = "hardly any kernel ran";
    }
    if (!failure.empty()) print_error("%s\n", failure.c_str());
    assert_true(failure.empty());
    assert_true(nothing_is_left());
}

void test_kept_in_memory(void**) {
    skip_without_fibers();
    {
        const Driver driver;
        Gpu gpu(driver, {}, heap());
        KernelStore store(gpu, "", collecting(), heap());
        failure = run_text(gpu, store) + run_text(gpu, store);
        assert_string_equal(failure.c_str(), "");
        assert_true(has(store, 1, 0, 0));
        assert_int_equal(store.figures().from_memory, 3);
        assert_int_equal(gpu.figures().kernel_launches, 4);
        assert_int_equal(fake_kernels(), 4);
        const cuda::Kernel kernel = store.kernel(kText, "twice");
        assert_string_equal(kernel.name, "twice");
        assert_int_equal(kernel.max_threads, 64);
        assert_int_equal(fake_calls("cuModuleLoadDataEx"), 1);
    }
    assert_true(nothing_is_left());
}

// A store of its own, as another process would have it.
bool fetch(const std::string& folder, std::uint64_t compiled, std::uint64_t from_disk,
           std::uint64_t ignored) {
    logged.clear();
    const Driver driver;
    Gpu gpu(driver, {}, heap());
    KernelStore store(gpu, folder.c_str(), collecting(), heap());
    store.kernel(kText, "twice");
    store.kernel(kText, "fill");
    return has(store, compiled, from_disk, ignored);
}

std::vector<char> bytes_of(const std::string& path) {
    std::vector<char> bytes(1 << 20);
    std::FILE* const file = std::fopen(path.c_str(), "rb");
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
    std::fclose(file);
    return bytes;
}
void write(const std::string& path, const char* bytes, std::size_t count) {
    std::FILE* const file = std::fopen(path.c_str(), "wb");
    std::fwrite(bytes, 1, count, file);
    std::fclose(file);
}

bool says(const char* part) {
    if (logged.find(part) != std::string::npos) return true;
    print_error("expected '%s' in\n%s", part, logged.c_str());
    return false;
}

void test_kept_on_disk(void**) {
    static Folder* folder;
    folder = new Folder;
    assert_true(fetch(folder->path, 1, 0, 0));
    assert_true(fetch(folder->path, 0, 1, 0));
    assert_true(logged.empty());

    // Any damage is seen, told, and repaired by the next compilation.
    const std::string path = folder->files().front();
    assert_true(path.find("_sm_90.cubin") != std::string::npos);
    const std::vector<char> good = bytes_of(path);
    for (const std::size_t at :
         {std::size_t{0}, std::size_t{8}, std::size_t{16}, std::size_t{40}, std::size_t{50}, std::size_t{64},
          std::size_t{72}, good.size() / 2, good.size() - 1}) {
        std::vector<char> bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 1);
        write(path, bad.data(), bad.size());
        assert_true(fetch(folder->path, 1, 0, 1));
        assert_true(says(at == 0   ? "it is no file of kernels"
                         : at == 8 ? "it is of format 0"
                                   : "it is damaged: "));
        assert_true(fetch(folder->path, 0, 1, 0));
    }
    for (const std::size_t length : {std::size_t{0}, std::size_t{30}, std::size_t{72}, good.size() - 1}) {
        write(path, good.data(), length);
        assert_true(fetch(folder->path, 1, 0, 1));
        assert_true(says("it is damaged: "));
    }
    assert_true(fetch(folder->path, 0, 1, 0));

    // A file that is whole, and whose kernels the driver does not take.
    {
        const Setting fault("VOLTA_FAKE_CUDA_FAIL", "cuModuleLoadDataEx:1:209");
        assert_true(fetch(folder->path, 1, 0, 1));
        assert_true(says("a file of kernels is ignored: CUDA: cuModuleLoadDataEx: "));
    }

    delete folder;
}

// A file of another kernel, driver, toolkit or device.
void test_foreign_files(void**) {
    static Folder* folder;
    folder = new Folder;
    assert_true(fetch(folder->path, 1, 0, 0));
    const std::string path = folder->files().front();
    {
        const Setting newer("VOLTA_FAKE_CUDA_DRIVER", "13010");
        assert_true(fetch(folder->path, 1, 0, 1));
        assert_true(says("it is stale: made with driver 13.0, this is 13.1"));
        assert_true(fetch(folder->path, 0, 1, 0));
    }
    {
        const Setting older("VOLTA_FAKE_NVRTC_VERSION", "12080");
        assert_true(fetch(folder->path, 1, 0, 1));
        const Setting same("VOLTA_FAKE_CUDA_DRIVER", "13000");
        assert_true(fetch(folder->path, 0, 1, 0));
    }
    {
        const Setting other("VOLTA_FAKE_CUDA_CAPABILITY", "100");
        assert_true(fetch(folder->path, 1, 0, 0));
        assert_int_equal(folder->files().size(), 2);
        const std::string of_other =
            folder->files().front() == path ? folder->files().back() : folder->files().front();
        assert_true(of_other.find("_sm_100.cubin") != std::string::npos);
        rename(path.c_str(), of_other.c_str());
        assert_true(fetch(folder->path, 1, 0, 1));
        assert_true(says("it is "));
    }
    {  // nothing is kept, and that is told
        assert_true(fetch("/proc/volta", 1, 0, 0));
        assert_true(says("a compiled kernel is not kept: "));
    }
    delete folder;
}

// A device that is newer than the toolkit gets PTX; one that is older gets a sentence.
void test_architectures(void**) {
    static Folder* folder;
    folder = new Folder;
    {
        const Setting newer("VOLTA_FAKE_CUDA_CAPABILITY", "130");
        assert_true(fetch(folder->path, 1, 0, 0));
        assert_true(folder->files().front().find("_compute_121.ptx") != std::string::npos);
        assert_true(fetch(folder->path, 0, 1, 0));
    }
    const Setting older("VOLTA_FAKE_CUDA_CAPABILITY", "70");
    const Failure told = failure_of([] { fetch("", 0, 0, 0); });
    delete folder;
    assert_failure(told, VOLTA_UNSUPPORTED,
                   "CUDA: NVRTC 13.0 makes no code for the device's sm_70, sm_75 is the least it knows");
}

// Code of a toolkit that is newer than the driver would not load.
void test_toolkit_of_the_driver(void**) {
    const Setting older("VOLTA_FAKE_CUDA_DRIVER", "12040");
    assert_true(fetch("", 1, 0, 0));
    const Failure of_store = failure_of([] {
        const Setting newer("VOLTA_FAKE_NVRTC_VERSION", "13000");
        fetch("", 0, 0, 0);
    });
    assert_failure(of_store, VOLTA_UNSUPPORTED,
                   "CUDA: NVRTC 13.0 is too new for the driver, which is made for CUDA 12.4");
}

Failure failure_of_text(const char* text, const char* entry, unsigned shared_bytes = 0) {
    return failure_of([&] {
        const Driver driver;
        Gpu gpu(driver, {}, heap());
        KernelStore store(gpu, "", {}, heap());
        store.kernel(text, entry, shared_bytes);
    });
}

void test_texts_that_are_wrong(void**) {
    const Failure wrong =
        failure_of_text("extern \"C\" __global__ void f(float* x) {\n    x[0] = y;\n}\n", "f");
    assert_failure(wrong, VOLTA_INTERNAL, "CUDA: NVRTC does not compile f: f:2:");
    assert_failure(wrong, VOLTA_INTERNAL, "error");
    assert_failure(failure_of_text(kText, "thrice"), VOLTA_INTERNAL,
                   "CUDA: the text of kernels has no entry point thrice");
    assert_failure(
        failure_of_text(kText, "fill", 300000), VOLTA_UNSUPPORTED,
        "CUDA: the kernel fill needs 300000 bytes of shared memory, Fake device 0 has 232448 for a block");
    assert_true(nothing_is_left());
}

// What a driver refuses is a status, and the device goes on; what a kernel breaks is the end of it.
void test_launches_that_fail(void**) {
    skip_without_fibers();
    {
        const Driver driver;
        Gpu gpu(driver, {}, heap());
        KernelStore store(gpu, "", {}, heap());
        const cuda::DeviceMemory memory = gpu.allocate(400, "a test");
        float* x = memory.as<float>();
        int count = 100;
        void* twice[] = {&x, &count};
        const cuda::Kernel kernel = store.kernel(kText, "twice");
        assert_int_equal(gpu.launch(kernel, {1, 1, 1, 65}, twice), VOLTA_DEVICE_ERROR);
        assert_int_equal(gpu.launch(kernel, {0, 1, 1, 64}, twice), VOLTA_DEVICE_ERROR);
        assert_false(gpu.lost());
        assert_int_equal(gpu.launch(kernel, {2, 1, 1, 64}, twice), VOLTA_OK);
        assert_int_equal(gpu.wait(), VOLTA_OK);
        assert_int_equal(gpu.figures().kernel_launches, 1);
        count = 1 << 20;
        assert_int_equal(gpu.launch(kernel, {100, 1, 1, 64}, twice), VOLTA_OK);
        assert_int_equal(gpu.wait(), VOLTA_DEVICE_ERROR);
        assert_true(gpu.lost());
        assert_int_equal(gpu.launch(kernel, {1, 1, 1, 64}, twice), VOLTA_DEVICE_ERROR);
        assert_failure(failure_of([&] { store.kernel(kText, "twice"); }), VOLTA_DEVICE_ERROR,
                       "ILLEGAL_ADDRESS 700");
    }
    assert_true(nothing_is_left());
    const Driver driver;
    Gpu gpu(driver, {}, heap());
    KernelStore store(gpu, "", {}, heap());
    failure = run_text(gpu, store);
    assert_string_equal(failure.c_str(), "");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_row_programs),         cmocka_unit_test(test_kept_in_memory),
        cmocka_unit_test(test_kept_on_disk),         cmocka_unit_test(test_foreign_files),
        cmocka_unit_test(test_architectures),        cmocka_unit_test(test_toolkit_of_the_driver),
        cmocka_unit_test(test_texts_that_are_wrong), cmocka_unit_test(test_launches_that_fail),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
