#include "engine/backend/cuda/driver_library.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <iterator>

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

void* open_toolkit_library(const char* const (&names)[3], int driver_version, const char* what) {
    char why[256];
    const bool skips_first = driver_version != 0 && driver_version < 13000;
    void* const library = open_library(names + skips_first, std::size(names) - skips_first, why, sizeof why);
    if (library == nullptr)
        fail(VOLTA_UNSUPPORTED, "%s: none of %s%s%s and %s can be opened (%s)", what,
             skips_first ? "" : names[0], skips_first ? "" : ", ", names[1], names[2], why);
    return library;
}

void require_not_newer(const char* what, int version, int driver_version) {
    if (driver_version == 0 || version / 1000 <= driver_version / 1000) return;
    fail(VOLTA_UNSUPPORTED, "%s %d.%d is too new for the driver, which is made for CUDA %d.%d", what,
         version / 1000, version % 1000 / 10, driver_version / 1000, driver_version % 1000 / 10);
}

}  // namespace volta::cuda
