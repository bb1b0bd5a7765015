// What a host's worst day does to the libraries (docs/testing.md, "Faults"):
//     faults REPOSITORY heap|allocations|io|kills [POINTS]
// POINTS: about so many, spread over all; without it 20,000 allocations, all calls of the system, 10,000
// kills.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/faults/campaigns.h"

namespace {
using namespace volta::faults;

// In memory where that is a folder: what is tried are programs that die, not disks.
std::string make_folder() {
    char text[] = "/dev/shm/volta-faults-XXXXXX";
    if (mkdtemp(text) != nullptr) return text;
    char other[] = "/tmp/volta-faults-XXXXXX";
    return mkdtemp(other) != nullptr ? other : "";
}

bool run(const char* campaign, std::uint64_t points, const char* root, const std::string& folder) {
    static World world(folder.c_str(), root);
    const std::string killed = folder + "/killed";
    mkdir(killed.c_str(), 0777);
    if (std::strcmp(campaign, "kills") == 0)
        return kill_saves(world, killed.c_str(), points == 0 ? 10000 : points);
    if (!prepare(world)) return false;
    if (std::strcmp(campaign, "heap") == 0) return count_heap_use(world);
    if (std::strcmp(campaign, "allocations") == 0)
        return refuse_allocations(world, points == 0 ? 20000 : points);
    if (std::strcmp(campaign, "io") == 0) return fail_io(world, points);
    std::printf("%s is no campaign\n", campaign);
    return false;
}

}  // namespace

int main(int count, char** words) {
    if (count < 3) {
        std::puts("faults REPOSITORY heap|allocations|io|kills [POINTS]");
        return 2;
    }
    std::setvbuf(stdout, nullptr, _IOLBF, 1 << 12);
    char* end = nullptr;
    const std::uint64_t points = count > 3 ? std::strtoull(words[3], &end, 10) : 0;
    if (count > 3 && (end == words[3] || *end != '\0')) {
        std::fprintf(stderr, "faults: the number of points is '%s', it must be a number\n", words[3]);
        return 2;
    }
    const std::string folder = make_folder();
    const bool good = !folder.empty() && run(words[2], points, words[1], folder);
    if (std::system(("rm -rf '" + folder + "'").c_str()) != 0) return 1;
    return good ? 0 : 1;
}
