// In front of every file that tools/mutants.py changes, in its own build alone: whether a planted fault is
// on. VOLTA_MUTANT=17 switches mutant 17 on for the process and its children. With VOLTA_MUTANT_TRACE=FILE
// each place that is reached sets its byte of the file, which is mapped, so that the marks of processes that
// crash or are killed stay too.
#pragma once
#ifdef __cplusplus
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

struct VoltaMutantSwitch {
    int chosen = -1;
    unsigned char* marks = nullptr;
    long count = 0;

    VoltaMutantSwitch() {
        if (const char* id = std::getenv("VOLTA_MUTANT")) chosen = std::atoi(id);
        const char* name = std::getenv("VOLTA_MUTANT_TRACE");
        if (name == nullptr) return;
        const int file = ::open(name, O_RDWR | O_CLOEXEC);
        if (file < 0) return;
        struct stat about = {};
        if (::fstat(file, &about) == 0 && about.st_size > 0) {
            void* mapped = ::mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ | PROT_WRITE,
                                  MAP_SHARED, file, 0);
            if (mapped != MAP_FAILED) {
                marks = static_cast<unsigned char*>(mapped);
                count = about.st_size;
            }
        }
        ::close(file);
    }
};

inline bool volta_mutant(int id) {
    static const VoltaMutantSwitch state;
    if (__builtin_expect(state.marks != nullptr && id < state.count, 0)) {
        __atomic_store_n(state.marks + id, static_cast<unsigned char>(1), __ATOMIC_RELAXED);
    }
    return id == state.chosen;
}
#endif
