// Compiles generated kernels as the runtime will: from memory, by NVRTC, without an include path.
//
//     compile_nvrtc FOLDER ARCHITECTURE FILE.cu...      writes FOLDER/FILE_nvrtc_ARCHITECTURE.ptx
//
// Exit status 77 (skipped) and a line where this machine has no NVRTC.
#include <dlfcn.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

using Program = void*;

// The part of nvrtc.h that is used here.
struct Nvrtc {
    int (*version)(int* major, int* minor);
    int (*create)(Program*, const char* source, const char* name, int headers, const char* const*,
                  const char* const*);
    int (*compile)(Program, int options, const char* const* texts);
    int (*destroy)(Program*);
    int (*log_size)(Program, std::size_t*);
    int (*log)(Program, char*);
    int (*ptx_size)(Program, std::size_t*);
    int (*ptx)(Program, char*);
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

bool open_library(Nvrtc& nvrtc) {
    void* library = nullptr;
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12"})
        if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    return library != nullptr && find(library, "nvrtcVersion", nvrtc.version) &&
           find(library, "nvrtcCreateProgram", nvrtc.create) &&
           find(library, "nvrtcCompileProgram", nvrtc.compile) &&
           find(library, "nvrtcDestroyProgram", nvrtc.destroy) &&
           find(library, "nvrtcGetProgramLogSize", nvrtc.log_size) &&
           find(library, "nvrtcGetProgramLog", nvrtc.log) &&
           find(library, "nvrtcGetPTXSize", nvrtc.ptx_size) && find(library, "nvrtcGetPTX", nvrtc.ptx);
}

bool read(const char* path, std::string& text) {
    std::FILE* file = std::fopen(path, "rb");
    if (file == nullptr) return false;
    char piece[65536];
    for (std::size_t n; (n = std::fread(piece, 1, sizeof piece, file)) > 0;) text.append(piece, n);
    return std::fclose(file) == 0;
}

bool compile(const Nvrtc& nvrtc, const char* path, const std::string& architecture,
             const std::string& folder) {
    std::string source;
    if (!read(path, source)) return std::fprintf(stderr, "%s: cannot be read\n", path), false;
    const std::string target = "--gpu-architecture=compute_" + architecture;
    const char* const options[] = {target.c_str(), "--std=c++17", "--fmad=false"};
    Program program = nullptr;
    bool good = nvrtc.create(&program, source.c_str(), path, 0, nullptr, nullptr) == 0 &&
                nvrtc.compile(program, 3, options) == 0;
    std::size_t size = 0;
    if (nvrtc.log_size(program, &size) == 0 && size > 1) {  // of a warning too
        std::vector<char> log(size);
        if (nvrtc.log(program, log.data()) == 0) std::fprintf(stderr, "%s\n", log.data());
        good = false;
    }
    if (good && nvrtc.ptx_size(program, &size) == 0) {
        std::vector<char> ptx(size);
        nvrtc.ptx(program, ptx.data());
        const std::string base = std::string(path).substr(std::string(path).find_last_of('/') + 1);
        const std::string out =
            folder + "/" + base.substr(0, base.size() - 3) + "_nvrtc_" + architecture + ".ptx";
        std::FILE* file = std::fopen(out.c_str(), "wb");
        good = file != nullptr && std::fwrite(ptx.data(), 1, size - 1, file) == size - 1 &&
               std::fclose(file) == 0;
    }
    nvrtc.destroy(&program);
    return good;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) return std::fprintf(stderr, "usage: compile_nvrtc FOLDER ARCHITECTURE FILE...\n"), 2;
    Nvrtc nvrtc;
    if (!open_library(nvrtc)) return std::puts("skipped: no libnvrtc.so.13 or .12 on this machine"), 77;
    int major = 0, minor = 0;
    nvrtc.version(&major, &minor);
    bool good = true;
    for (int i = 3; i < argc; ++i) good = compile(nvrtc, argv[i], argv[2], argv[1]) && good;
    if (good) std::printf("NVRTC %d.%d compiled %d files\n", major, minor, argc - 3);
    return good ? 0 : 1;
}
