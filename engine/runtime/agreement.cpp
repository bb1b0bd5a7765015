#include "engine/runtime/agreement.h"

#include <cstring>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/graph/print.h"
#include "engine/runtime/checkpoint.h"
#include "engine/runtime/session.h"

namespace volta {

namespace {

// What all ranks must have in common, a row each: its name, and how it is told apart.
struct Common {
    const char* what;
    Hash128 hash;
};

Hash128 hash_options(const TrainerOptions& options, std::pmr::memory_resource* heap) {
    TrainingState state(heap);
    describe_options(options, state);
    std::pmr::string text(heap);
    const auto add = [&](const std::pmr::string& name, const void* value) {
        text += name;
        text.push_back('\0');
        text.append(static_cast<const char*>(value), 8);
    };
    for (const NamedNumber& number : state.numbers) add(number.name, &number.value);
    for (const NamedInteger& integer : state.integers) add(integer.name, &integer.value);
    return hash_bytes(text.data(), text.size());
}

}  // namespace

void require_agreement(Context& context, Collective& collective, const Model& model,
                       const TrainerOptions& options) {
    std::pmr::memory_resource* const heap = context.structures();
    const Arithmetic arithmetic = context.arithmetic();
    const int level[] = {static_cast<int>(arithmetic.level), static_cast<int>(arithmetic.precision)};
    const std::pmr::string graph = print(model.graph, heap);
    const Common own[] = {
        {"another version of the library", hash_bytes(VOLTA_VERSION_TEXT, std::strlen(VOLTA_VERSION_TEXT))},
        {"another level of determinism", hash_bytes(level, sizeof level)},
        {"other options of the trainer", hash_options(options, heap)},
        {"another model", hash_bytes(graph.data(), graph.size())},
        {"a model of other parameters", hash_parameters(model, heap)},
    };
    constexpr std::size_t kRows = sizeof own / sizeof own[0];
    const std::uint32_t ranks = collective.group().size(), rank = collective.group().rank();
    std::pmr::vector<Hash128> all(ranks * kRows, Hash128{}, heap);
    std::pmr::vector<Portion> portions(heap);
    for (std::uint32_t r = 0; r < ranks; ++r)
        portions.push_back(
            {reinterpret_cast<float*>(&all[r * kRows]), kRows * sizeof(Hash128) / sizeof(float), r});
    for (std::size_t i = 0; i < kRows; ++i) all[rank * kRows + i] = own[i].hash;
    collective.gather(portions.data(), portions.size());
    double all_have_it = 0;  // before the first of them ends
    collective.largest(&all_have_it, 1);
    for (std::uint32_t r = 1; r < ranks; ++r)
        for (std::size_t i = 0; i < kRows; ++i)
            if (all[r * kRows + i] != all[i])
                fail(VOLTA_INVALID_ARGUMENT, "rank %u has %s than rank 0 (%s, %s)", r, own[i].what,
                     to_text(all[r * kRows + i]).text, to_text(all[i]).text);
}

}  // namespace volta
