// Sums over ranks and what all have of each: the tree of docs/numerics.md, whether it is sent or read where
// it lies.
#include <cmath>
#include <cstring>
#include <vector>

#include "engine/group/collective.h"
#include "tests/group/processes.h"

using namespace volta;
using namespace volta::test;

namespace {

// A chunk and around it, several, none, and more than a bucket has.
constexpr std::size_t kElements[] = {1, 255, 256, 257, 5000, 0, 16384, 1300003};
constexpr std::size_t kParts = sizeof kElements / sizeof kElements[0];

// Of very different sizes, so that the order of a sum is seen in it.
float value(std::uint32_t rank, std::size_t part, std::size_t i, int round) {
    const auto mixed = (rank * 2654435761u + static_cast<std::uint32_t>(part * 40503 + i * 9973) +
                        static_cast<std::uint32_t>(round) * 97u) ^
                       0x9e3779b9u;
    const float sign = mixed % 2 == 0 ? 1.0f : -1.0f;
    return sign *
           std::ldexp(1.0f + static_cast<float>(mixed % 1009) / 1009.0f, static_cast<int>(mixed % 25) - 12);
}

float tree(std::uint32_t first, std::uint32_t ranks, std::size_t part, std::size_t i, int round) {
    if (ranks == 1) return value(first, part, i, round);
    return tree(first, ranks / 2, part, i, round) + tree(first + ranks / 2, ranks / 2, part, i, round);
}

bool is_same(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

class Numbers {
  public:
    // In memory that the ranks share, where they do.
    Numbers(Collective& collective, std::uint32_t ranks) {
        for (const std::size_t elements : kElements) all_ += (elements + 15) / 16 * 16;
        const std::uint64_t bytes = all_ * sizeof(float);
        auto* data = reinterpret_cast<float*>(collective.share(bytes, bytes));
        is_shared = data != nullptr;
        if (data == nullptr) {
            own_.resize(all_);
            data = own_.data();
        }
        std::size_t offset = 0;
        for (std::size_t part = 0; part < kParts; ++part) {
            portions.push_back({data + offset, kElements[part], static_cast<std::uint32_t>(part) % ranks,
                                is_shared ? offset * sizeof(float) : Portion::kNowhere});
            offset += (kElements[part] + 15) / 16 * 16;
        }
    }
    std::vector<Portion> portions;
    bool is_shared = false;

  private:
    std::size_t all_ = 0;
    std::vector<float> own_;
};

// Sums to their owners; what they make of them to all.
void run_rounds(Collective& collective, Numbers& numbers, std::uint32_t rank, std::uint32_t ranks,
                Outcome& outcome) {
    std::vector<std::vector<float>> copies;  // of what others own
    std::vector<Portion> given = numbers.portions;
    for (std::size_t part = 0; part < kParts; ++part) {
        copies.emplace_back(kElements[part]);
        if (given[part].owner != rank) given[part].data = copies.back().data();
    }
    std::uint32_t numbers_of_rank[] = {rank * 3, 100 - rank, 7};
    collective.adopt(numbers_of_rank, 3);
    outcome.is_right &= numbers_of_rank[0] == 0 && numbers_of_rank[1] == 100 && numbers_of_rank[2] == 7;
    for (int round = 0; round < 3; ++round, ++outcome.steps) {
        for (std::size_t part = 0; part < kParts; ++part)
            for (std::size_t i = 0; i < kElements[part]; ++i)
                numbers.portions[part].data[i] = value(rank, part, i, round);
        collective.add(numbers.portions.data(), kParts);
        for (std::size_t part = 0; part < kParts; ++part) {
            if (numbers.portions[part].owner != rank) continue;
            for (std::size_t i = 0; i < kElements[part]; ++i) {
                float& sum = numbers.portions[part].data[i];
                outcome.is_right &= is_same(sum, tree(0, ranks, part, i, round));
                sum = value(rank + 100, part, i, round);
            }
        }
        collective.gather(given.data(), kParts);
        for (std::size_t part = 0; part < kParts; ++part)
            for (std::size_t i = 0; i < kElements[part]; ++i)
                outcome.is_right &=
                    is_same(given[part].data[i], value(given[part].owner + 100, part, i, round));
    }
}

void test_one_tree(void**) {
    for (const char* const transport : {"local", "tcp"})
        for (const std::uint32_t ranks : {1u, 2u, 4u, 8u})
            for (const auto& [threads, bucket_bytes] :
                 {std::pair<int, std::size_t>{1, Collective::kBucketBytes}, {3, 4096}, {1, 1 << 16}}) {
                const Place place(transport);
                Processes processes(ranks, [&, threads = threads, bytes = bucket_bytes](std::uint32_t rank,
                                                                                        Outcome& outcome) {
                    std::pmr::memory_resource* const heap = std::pmr::new_delete_resource();
                    ThreadPool pool(threads, heap);
                    Collective collective(join(place, rank, ranks), pool, heap, bytes);
                    Numbers numbers(collective, ranks);
                    outcome.is_right = numbers.is_shared == (strcmp(transport, "local") == 0 && ranks > 1);
                    run_rounds(collective, numbers, rank, ranks, outcome);
                });
                processes.wait();
                for (std::uint32_t rank = 0; rank < ranks; ++rank) {
                    if (processes[rank].failure.status != VOLTA_OK)
                        print_error("rank %u: %s\n", rank, processes[rank].failure.text);
                    assert_true(processes[rank].has_returned && processes[rank].is_right);
                    assert_int_equal(processes[rank].steps.load(), 3);
                }
            }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(test_one_tree)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
