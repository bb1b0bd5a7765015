#include "data/pack_documents.h"

#include <algorithm>
#include <vector>

#include "engine/base/error.h"

namespace volta::data {
namespace {

constexpr std::uint64_t kMostDocuments = std::uint64_t{1} << 32, kMostRowTokens = INT32_MAX;

// What is free in each row, below the most that is free in either half of them, and so on: the first row with
// room is found from the top.
class FreeTokens {
  public:
    FreeTokens(std::uint64_t rows, std::uint32_t each, std::pmr::memory_resource* heap) : most_(heap) {
        while (leaves_ < rows) leaves_ *= 2;
        most_.assign(2 * leaves_, each);
    }
    // There is one: as many rows as documents.
    std::uint64_t first_with(std::uint64_t tokens) const {
        std::uint64_t at = 1;
        while (at < leaves_) at = 2 * at + (most_[2 * at] < tokens ? 1 : 0);
        return at - leaves_;
    }
    std::uint64_t in(std::uint64_t row) const { return most_[leaves_ + row]; }
    void take(std::uint64_t row, std::uint64_t tokens) {
        std::uint64_t at = leaves_ + row;
        most_[at] -= static_cast<std::uint32_t>(tokens);
        for (at /= 2; at > 0; at /= 2) most_[at] = std::max(most_[2 * at], most_[2 * at + 1]);
    }

  private:
    std::uint64_t leaves_ = 1;
    std::pmr::vector<std::uint32_t> most_;  // [1]: of all; [leaves_ + i]: of row i
};

}  // namespace

std::uint64_t pack_documents(const std::uint64_t* lengths, std::uint64_t count, std::uint64_t row_tokens,
                             std::uint64_t* rows, std::uint64_t* places, std::pmr::memory_resource* heap) {
    const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
    require(row_tokens > 0 && row_tokens <= kMostRowTokens, "row_tokens is %llu, it must be 1 to %llu",
            number(row_tokens), number(kMostRowTokens));
    require(count <= kMostDocuments, "there are %llu documents, the most are %llu", number(count),
            number(kMostDocuments));
    for (std::uint64_t i = 0; i < count; ++i)
        require(lengths[i] > 0 && lengths[i] <= row_tokens,
                "document %llu has %llu tokens, a row takes 1 to %llu", number(i), number(lengths[i]),
                number(row_tokens));
    FreeTokens free(count, static_cast<std::uint32_t>(row_tokens), heap);
    std::uint64_t used = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        rows[i] = free.first_with(lengths[i]);
        places[i] = row_tokens - free.in(rows[i]);
        free.take(rows[i], lengths[i]);
        used = std::max(used, rows[i] + 1);
    }
    return used;
}

}  // namespace volta::data
