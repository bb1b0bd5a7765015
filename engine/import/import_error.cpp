#include "engine/import/import_error.h"

#include <cstring>

namespace volta {
namespace {

bool names_path(const char* text, const char* path) {
    const std::size_t bytes = std::strlen(path);
    for (const char* at = std::strstr(text, path); at != nullptr && *at != '\0';
         at = std::strstr(at + 1, path))
        if (at > text && at[-1] == '\'' && at[bytes] == '\'') return true;
    return false;
}

}  // namespace

void fail_about(const Error& error, const char* what, const char* path) {
    if (names_path(error.what(), path)) fail(error.status(), "%s: %s", what, error.what());
    fail(error.status(), "%s: %s ('%s')", what, error.what(), path);
}

}  // namespace volta
