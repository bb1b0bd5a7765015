// open_nccl FILE: opens an NCCL as transport nccl does, and says which version it is.
#include <cstdio>

#include "engine/base/error.h"
#include "engine/group/nccl_library.h"

int main(int count, char** arguments) {
    if (count != 2) return 2;
    try {
        const volta::NcclLibrary library = volta::open_nccl_library(arguments[1]);
        std::printf("NCCL %s: every function is there, and 7 is \"%s\"\n",
                    volta::NcclVersion(library.version).text, library.error_string(volta::kNcclInProgress));
    } catch (const volta::Error& error) {
        std::printf("%s\n", error.what());
        return 1;
    }
    return 0;
}
