// What an exchange takes, by its size: not a test. `measure_exchange [TRANSPORT]` prints GB/s each way beside
// a copy's and the checksum's.
#include <sys/resource.h>

#include <vector>

#include "engine/base/hash.h"
#include "tests/group/processes.h"

using namespace volta;
using namespace volta::test;

namespace {

constexpr std::size_t kSizes[] = {
    8, 4096, 65536, std::size_t{1} << 20, std::size_t{4} << 20, std::size_t{64} << 20};

double processor_seconds() {  // of this process: others on the machine do not count
    rusage use = {};
    getrusage(RUSAGE_SELF, &use);
    return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

struct Times {
    double clock, processor;
};
template <class Body>
Times seconds_each(int count, Body body) {
    body();
    const double before = seconds_now(), processor_before = processor_seconds();
    for (int i = 0; i < count; ++i) body();
    return {(seconds_now() - before) / count, (processor_seconds() - processor_before) / count};
}

void measure_here() {
    const std::size_t bytes = std::size_t{64} << 20, piece = std::size_t{1} << 20;
    std::vector<unsigned char> from(bytes, 1), to(bytes, 2);
    const Times copy = seconds_each(10, [&] { memcpy(to.data(), from.data(), bytes); });
    std::uint64_t sum = 0;
    const Times check = seconds_each(10, [&] {
        for (std::size_t at = 0; at < bytes; at += piece) sum += hash_bytes(to.data() + at, piece).low;
    });
    printf("copy %.2f GB/s, checksum %.2f GB/s (%llx)\n", 1e-9 * bytes / copy.processor,
           1e-9 * bytes / check.processor, static_cast<unsigned long long>(sum));
}

}  // namespace

int main(int count, char** words) {
    const char* const transport = count > 1 ? words[1] : "local";
    measure_here();
    const Place place(transport);
    Processes processes(2, [&](std::uint32_t rank, Outcome&) {
        const GroupRef group = join(place, rank, 2);
        std::vector<unsigned char> sent(kSizes[5], 1), came(kSizes[5], 2);
        for (const std::size_t bytes : kSizes) {
            const int repeats =
                static_cast<int>(std::min<std::size_t>(2000, (std::size_t{512} << 20) / bytes));
            const Times each = seconds_each(
                repeats, [&] { group->exchange(1 - rank, sent.data(), bytes, came.data(), bytes); });
            const double gigabytes = 1e-9 * static_cast<double>(bytes);
            if (rank == 0)
                printf(
                    "%s %9zu bytes: %9.1f us, %5.2f GB/s each way; of the processor %9.1f us, %5.2f GB/s\n",
                    transport, bytes, each.clock * 1e6, gigabytes / each.clock, each.processor * 1e6,
                    gigabytes / each.processor);
        }
        fflush(stdout);
    });
    processes.wait();
    if (processes[0].failure.status != VOLTA_OK) printf("%s\n", processes[0].failure.text);
    return 0;
}
