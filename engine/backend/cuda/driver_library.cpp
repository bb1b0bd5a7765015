#include "engine/backend/cuda/driver_library.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

namespace volta::cuda {

void* library_symbol(void* library, const char* name, const char* product) {
    void* const symbol = dlsym(library, name);
    if (symbol == nullptr) fail(VOLTA_UNSUPPORTED, "CUDA: %s has no function %s", product, name);
    return symbol;
}

void* open_library(const char* const* names, std::size_t count, char* why, std::size_t why_bytes) noexcept {
    why[0] = '\0';
    for (std::size_t i = 0; i < count; ++i) {
        void* const library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (library != nullptr) return library;
        const char* const said = dlerror();
        if (why[0] != '\0' || said == nullptr) continue;
        const std::size_t length = std::strlen(names[i]);  // the loader begins with the name
        const bool named = std::strncmp(said, names[i], length) == 0 && said[length] == ':';
        std::snprintf(why, why_bytes, "%s", named ? said + length + 2 : said);
    }
    return nullptr;
}

}  // namespace volta::cuda
