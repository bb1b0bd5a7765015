// Which CUDA module is loaded is decided by where the library lies, as the system knows it, never by what a
// program was called by, by the working folder, or by a path that was relative when the library was opened.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/support/cmocka_cpp.h"
#include "tests/support/weight_files.h"
#include "volta.h"

namespace {
using namespace volta::test;

void shell(const std::string& command) { assert_int_equal(system(command.c_str()), 0); }
bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// Asks for a device of CUDA: by the library that this program carries, or by one that it opens as `library`.
int ask(const char* library) {
    auto* count_devices = &volta_device_count;
    if (library != nullptr) {
        void* const opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        void* const symbol = opened != nullptr ? dlsym(opened, "volta_device_count") : nullptr;
        if (symbol == nullptr) return 2;
        std::memcpy(&count_devices, &symbol, sizeof symbol);
    }
    uint32_t count = 0;
    const volta_status status = count_devices("cuda", &count);
    if (library == nullptr) print_message("%s: %s\n", volta_status_name(status), volta_last_error());
    return status == VOLTA_INTERNAL;
}

// This program, under another name, in a folder, and with a file that the loud module makes. True: it was
// loaded.
bool loads(const std::string& program, const char* called, const std::string& folder, const char* library,
           const std::string& mark) {
    unlink(mark.c_str());
    const pid_t child = fork();
    if (child == 0) {
        setenv("VOLTA_LOUD_MODULE", mark.c_str(), 1);
        unsetenv("LD_LIBRARY_PATH");
        if (chdir(folder.c_str()) == 0) execl(program.c_str(), called, "ask", library, nullptr);
        _exit(3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return exists(mark);
}

// good/ has the program or library and the module beside it, foreign/ only a module.
struct Folders {
    TemporaryFolder temporary;
    std::string good = temporary.file("good"), foreign = temporary.file("foreign"),
                mark = temporary.file("mark");
    std::string program = temporary.file("good/program"), library = temporary.file("good/libvolta.so.1");
    Folders() {
        char self[4096] = "";
        assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
        shell("mkdir " + good + " " + foreign);
        shell("cp " + std::string(self) + " " + program);
        shell("cp " SHARED_LIBRARY " " + library);
        shell("cp " LOUD_MODULE " " + foreign + "/libvolta_cuda.so.1");
    }
};

void test_a_program_that_carries_the_library(void**) {
    const Folders made;
    const std::string in_foreign = made.foreign + "/program";
    for (const char* const called : {"program", "./program", "foreign/program", "../foreign/program", "",
                                     in_foreign.c_str(), "/libvolta_cuda.so.1"})
        for (const std::string& folder : {made.good, made.foreign, std::string("/")})
            assert_false(loads(made.program, called, folder, nullptr, made.mark));
    // Its own folder is what counts, however it is called.
    shell("cp " LOUD_MODULE " " + made.good + "/libvolta_cuda.so.1 && rm " + made.foreign + "/*");
    for (const char* const called : {"program", in_foreign.c_str(), ""})
        assert_true(loads(made.program, called, "/", nullptr, made.mark));
    shell("mkdir " + made.good + "/bin " + made.good + "/lib && mv " + made.program + " " + made.good +
          "/bin && mv " + made.good + "/libvolta_cuda.so.1 " + made.good + "/lib");
    assert_true(loads(made.good + "/bin/program", "program", "/", nullptr, made.mark));
}

void test_a_library_that_was_opened_by_a_relative_path(void**) {
    const Folders made;
    assert_false(loads(made.program, "program", made.good, "./libvolta.so.1", made.mark));
    assert_false(loads(made.program, "program", made.foreign, "../good/libvolta.so.1", made.mark));
    shell("cp " LOUD_MODULE " " + made.good + "/libvolta_cuda.so.1");
    assert_true(loads(made.program, "program", made.good, "./libvolta.so.1", made.mark));
    assert_true(loads(made.program, "program", "/", made.library.c_str(), made.mark));
}

}  // namespace

int main(int count, char** arguments) {
    if (count > 1 && strcmp(arguments[1], "ask") == 0) return ask(count > 2 ? arguments[2] : nullptr);
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_a_program_that_carries_the_library),
        cmocka_unit_test(test_a_library_that_was_opened_by_a_relative_path),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
