// A fake libnvrtc: the text of kernels, behind the emulation's header, through the C++ compiler that built
// this. The "cubin" is a shared library that the fake driver opens.
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "fake_config.h"
#include "tests/support/fake_cuda/fake_entry.h"
#include "tests/support/fake_cuda/fake_source.h"

extern char** environ;

namespace {
using namespace volta::fake;

enum Result {
    kSuccess = 0,
    kInvalidInput = 3,
    kInvalidProgram = 4,
    kInvalidOption = 5,
    kCompilation = 6,
    kInternal = 11
};
constexpr int kArchitectures[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

struct Program {
    std::string text, name, log, image;
    bool is_ptx = false;
};

std::string read_file(const std::string& path) {
    std::string text;
    std::FILE* const file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) return text;
    char piece[65536];
    for (std::size_t n; (n = std::fread(piece, 1, sizeof piece, file)) > 0;) text.append(piece, n);
    std::fclose(file);
    return text;
}

bool write_file(const std::string& path, const std::string& text) {
    std::FILE* const file = std::fopen(path.c_str(), "wb");
    if (file == nullptr) return false;
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    return std::fclose(file) == 0 && written;
}

// Whoever reads `path` finds all of the text or, before, none.
void publish_file(const std::string& path, const std::string& text) {
    const std::string beside = path + "." + std::to_string(getpid());
    if (!write_file(beside, text) || std::rename(beside.c_str(), path.c_str()) != 0) unlink(beside.c_str());
}

// True when the command ended with 0. What it says goes into the file `log`.
bool run(std::vector<std::string> command, const std::string& log) {
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 2, 1);
    pid_t child = 0;
    const bool started =
        posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    return started && waitpid(child, &status, 0) == child && status == 0;
}

// A folder that is gone with the scope.
struct Folder {
    Folder() {
        char text[] = "/tmp/fake_nvrtc_XXXXXX";
        if (mkdtemp(text) != nullptr) path = text;
    }
    ~Folder() {
        for (const char* name : {"/kernel.cpp", "/kernel.so", "/log"}) unlink((path + name).c_str());
        rmdir(path.c_str());
    }
    std::string path;
};

// What NVRTC would refuse is refused. `architecture`: 0 without an option for it.
bool read_options(int count, const char* const* options, Program& program, int& architecture) {
    const std::set<std::string> known = {"--fmad=false", "--fmad=true", "--std=c++17",
                                         "--use_fast_math=false"};
    for (int i = 0; i < count; ++i) {
        const std::string option = options[i], prefix = "--gpu-architecture=";
        if (option.compare(0, prefix.size(), prefix) == 0) {
            char kind[16];
            if (std::sscanf(option.c_str() + prefix.size(), "%15[a-z]_%d", kind, &architecture) != 2)
                return false;
            program.is_ptx = std::strcmp(kind, "compute") == 0;
            bool found = program.is_ptx || std::strcmp(kind, "sm") == 0;
            const auto* const end = std::end(kArchitectures);
            found = found && std::find(std::begin(kArchitectures), end, architecture) != end;
            if (found) continue;
        }
        if (known.count(option) != 0) continue;
        program.log = "nvrtc: error: invalid value or unrecognized option '" + option + "'\n";
        return false;
    }
    return true;
}

// Libraries of texts that were compiled before, in any process: tests compile the same kernels over and over.
// CMake empties the folder when what stands in front of every text changes.
class Compiled {
  public:
    explicit Compiled(const std::string& text) {
        for (const char* word : kCompilerCommand) key_ += std::string("// ") + word + "\n";
        key_ += text;
        path_ = kCompiledFolder + ("/" + std::to_string(std::hash<std::string>()(key_)));
    }
    // Empty where there is none.
    std::string library() const {
        return read_file(path_ + ".cpp") == key_ ? read_file(path_ + ".so") : std::string();
    }
    void add(const std::string& library) const {
        publish_file(path_ + ".so", library);
        publish_file(path_ + ".cpp", key_);
    }

  private:
    std::string key_, path_;
};

// The library of a text; empty with a log, or without one where files could not be written.
std::string library_of(const std::string& text, std::string& log) {
    const Compiled compiled(text);
    std::string library = compiled.library();
    if (!library.empty()) return library;
    const Folder folder;
    const std::string source = folder.path + "/kernel.cpp", made = folder.path + "/kernel.so";
    if (folder.path.empty() || !write_file(source, text)) return "";
    std::vector<std::string> command(std::begin(kCompilerCommand), std::end(kCompilerCommand));
    for (const std::string& word : {source, std::string("-o"), made, std::string(kKernelLibrary)})
        command.push_back(word);
    const bool good = run(command, folder.path + "/log");
    log = read_file(folder.path + "/log");
    if (!good) return "";
    library = read_file(made);
    compiled.add(library);
    return library;
}

int compile(Program& program, int architecture) {
    const std::string bytes = library_of(with_entries(program.text, program.name), program.log);
    if (bytes.empty()) return program.log.empty() ? kInternal : kCompilation;
    ImageHeader header{};
    std::memcpy(header.magic, kImageMagic, sizeof kImageMagic);
    header.architecture = architecture;
    header.is_ptx = program.is_ptx;
    header.bytes = bytes.size();
    program.image.assign(reinterpret_cast<const char*>(&header), sizeof header);
    program.image += bytes;
    return kSuccess;
}

int size_of(const Program* program, bool ptx, std::size_t* bytes) {
    if (program == nullptr || program->image.empty()) return kInvalidProgram;
    *bytes = program->is_ptx == ptx ? program->image.size() : 0;
    return kSuccess;
}

int image_of(const Program* program, bool ptx, char* bytes) {
    if (program == nullptr || program->image.empty() || program->is_ptx != ptx) return kInvalidProgram;
    std::copy(program->image.begin(), program->image.end(), bytes);
    return kSuccess;
}

Program* program_of(void* handle) { return static_cast<Program*>(handle); }

}  // namespace

extern "C" {

const char* nvrtcGetErrorString(int result) {
    switch (result) {
        case kSuccess:
            return "NVRTC_SUCCESS";
        case kInvalidInput:
            return "NVRTC_ERROR_INVALID_INPUT";
        case kInvalidProgram:
            return "NVRTC_ERROR_INVALID_PROGRAM";
        case kInvalidOption:
            return "NVRTC_ERROR_INVALID_OPTION";
        case kCompilation:
            return "NVRTC_ERROR_COMPILATION";
        default:
            return "NVRTC_ERROR_INTERNAL_ERROR";
    }
}

int nvrtcVersion(int* major, int* minor) {
    const char* const text = getenv("VOLTA_FAKE_NVRTC_VERSION");
    const int version = text != nullptr ? atoi(text) : VOLTA_FAKE_NVRTC_DEFAULT;
    *major = version / 1000;
    *minor = version % 1000 / 10;
    return kSuccess;
}

int nvrtcGetNumSupportedArchs(int* count) {
    *count = static_cast<int>(std::size(kArchitectures));
    return kSuccess;
}

int nvrtcGetSupportedArchs(int* architectures) {
    std::memcpy(architectures, kArchitectures, sizeof kArchitectures);
    return kSuccess;
}

int nvrtcCreateProgram(void** program, const char* text, const char* name, int headers, const char* const*,
                       const char* const*) {
    if (text == nullptr || headers != 0) return kInvalidInput;
    *program = new Program{text, name != nullptr ? name : "default_program", "", ""};
    return kSuccess;
}

int nvrtcDestroyProgram(void** program) {
    delete program_of(*program);
    *program = nullptr;
    return kSuccess;
}

int nvrtcCompileProgram(void* program, int count, const char* const* options) {
    if (program == nullptr) return kInvalidProgram;
    int architecture = 75;
    if (!read_options(count, options, *program_of(program), architecture)) return kInvalidOption;
    return compile(*program_of(program), architecture);
}

int nvrtcGetProgramLogSize(void* program, std::size_t* bytes) {
    *bytes = program_of(program)->log.size() + 1;
    return kSuccess;
}

int nvrtcGetProgramLog(void* program, char* log) {
    std::memcpy(log, program_of(program)->log.c_str(), program_of(program)->log.size() + 1);
    return kSuccess;
}

int nvrtcGetCUBINSize(void* program, std::size_t* bytes) {
    return size_of(program_of(program), false, bytes);
}
int nvrtcGetCUBIN(void* program, char* bytes) { return image_of(program_of(program), false, bytes); }
int nvrtcGetPTXSize(void* program, std::size_t* bytes) { return size_of(program_of(program), true, bytes); }
int nvrtcGetPTX(void* program, char* bytes) { return image_of(program_of(program), true, bytes); }

}  // extern "C"
