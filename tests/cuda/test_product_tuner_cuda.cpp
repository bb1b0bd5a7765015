// The search on simulated devices, its choices as text, and its file: no device is needed.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "engine/backend/cuda/product_tuner.h"
#include "engine/backend/cuda/tuning_table.h"
#include "engine/base/error.h"
#include "tests/support/cmocka_cpp.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::cuda;
using namespace volta::test;

constexpr int kMultiprocessors = 132;

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

ProductShape shape_of(std::int64_t m, std::int64_t n, std::int64_t k, bool ta = false) {
    ProductShape shape;
    shape.m = m;
    shape.n = shape.ldb = shape.ldc = n;
    shape.k = k;
    shape.a_transposed = ta;
    shape.lda = ta ? m : k;
    return shape;
}

// ---- Choices

struct Resolved {
    std::int64_t m, n, k;
    bool ta;
    const char *asked, *way;
};
constexpr Resolved kResolved[] = {
    // The rules: few rows, tiles that fill the device, shared segments where they do not.
    {16, 3072, 768, false, "", "form=rows"},
    {16, 3072, 768, true, "", "form=segments tile=64"},
    {17, 96, 768, false, "", "form=segments tile=64"},
    {17, 96, 512, false, "", "form=tiles tile=64"},
    {4096, 4096, 4096, false, "", "form=tiles tile=128"},
    {1024, 1024, 1024, false, "", "form=tiles tile=64"},
    // What is asked, where it can be had.
    {16, 3072, 768, false, "form=tiles tile=64", "form=tiles tile=64"},
    {16, 3072, 768, false, "tile=128", "form=segments tile=128"},
    {4096, 4096, 4096, false, "tile=64", "form=tiles tile=64"},
    {1024, 1024, 1024, false, "form=segments", "form=segments tile=64"},
    {1024, 1024, 1024, false, "form=segments tile=128", "form=segments tile=128"},
    {17, 96, 768, false, "form=tiles", "form=tiles tile=64"},
    // And where it cannot: too many rows, one segment, 512 MiB of scratch.
    {17, 96, 768, false, "form=rows", "form=segments tile=64"},
    {16, 96, 768, true, "form=rows", "form=segments tile=64"},
    {1024, 1024, 512, false, "form=segments tile=128", "form=tiles tile=128"},
    {4096, 4096, 4096, false, "form=segments tile=128", "form=tiles tile=128"}};

void test_resolve(void**) {
    int wrong = 0;
    for (const Resolved& row : kResolved) {
        const ProductChoice way = resolve(parse_choice(row.asked), shape_of(row.m, row.n, row.k, row.ta),
                                          DType::f32, kMultiprocessors);
        if (std::strcmp(to_text(way).text, row.way) == 0) continue;
        ++wrong;
        print_error("%lldx%lldx%lld '%s': expected %s, got %s\n", static_cast<long long>(row.m),
                    static_cast<long long>(row.n), static_cast<long long>(row.k), row.asked, row.way,
                    to_text(way).text);
    }
    assert_int_equal(wrong, 0);
    const ProductChoice stored =
        resolve(parse_choice("form=tiles"), shape_of(100, 100, 100), DType::int8, kMultiprocessors);
    assert_string_equal(to_text(stored).text, "form=rows");
}

void test_text_of_choices(void**) {
    for (const char* text : {"", "form=rows", "form=tiles tile=64", "form=segments tile=128", "tile=64"})
        assert_string_equal(to_text(parse_choice(text)).text, text);
    const char* const refused[][2] = {
        {"form=squares", "form is 'squares', which is none of rows, tiles and segments"},
        {"tile=96", "a product's choice has no word 'tile=96'"},
        {"form=tiles k_block=64", "a product's choice has no word 'k_block=64'"},
        {"f32_gemm_8x48_avx512", "a product's choice has no word 'f32_gemm_8x48_avx512'"}};
    for (const auto& row : refused) {
        std::string sentence;
        try {
            parse_choice(row[0]);
        } catch (const Error& error) {
            sentence = error.what();
        }
        assert_string_equal(sentence.c_str(), row[1]);
    }
}

// Every way once, the rule first.
void test_contenders(void**) {
    const auto count = [](const ProductShape& shape) { return contenders_of(shape, kMultiprocessors).count; };
    assert_int_equal(count(shape_of(8, 3072, 768)), 5);
    assert_int_equal(count(shape_of(8, 3072, 512)), 3);  // one segment
    assert_int_equal(count(shape_of(1024, 1024, 1024)), 4);
    assert_int_equal(count(shape_of(4096, 4096, 4096)), 2);  // more scratch than may be chosen
    const Contenders few = contenders_of(shape_of(8, 3072, 768), kMultiprocessors);
    assert_true(few.choices[0] == ProductChoice());
    assert_string_equal(to_text(few.choices[few.classic]).text, "form=tiles tile=64");
    assert_int_equal(contenders_of(shape_of(1024, 1024, 1024), kMultiprocessors).classic, 0);
}

// ---- The search

// Seconds per contender, with noise and hiccups.
class Simulation final : public ContenderTimer {
  public:
    explicit Simulation(std::initializer_list<double> seconds, double noise = 0)
        : seconds_(seconds), noise_(noise), random_(7) {}
    double run(int contender) override {
        const double error = 2 * static_cast<double>(random_.uniform()) - 1;
        const double hiccup = noise_ > 0 && random_.below(10) == 0 ? 0.3 : 0;
        const double time = seconds_.at(static_cast<std::size_t>(contender)) * (1 + noise_ * error + hiccup);
        elapsed_ += time;
        ++runs;
        return time;
    }
    double elapsed() const noexcept override { return elapsed_; }
    int runs = 0;

  private:
    std::vector<double> seconds_;
    double noise_, elapsed_ = 0;
    Random random_;
};

// Of the product of eight rows: the rule, and the four forms of tiles.
TunerResult search(Simulation& timer, const TunerOptions& options = {}) {
    return tune_product(contenders_of(shape_of(8, 3072, 768), kMultiprocessors), timer, options);
}

void test_planted_optima_are_found(void**) {
    const Contenders all = contenders_of(shape_of(8, 3072, 768), kMultiprocessors);
    for (int best = 1; best < all.count; ++best) {
        std::vector<double> seconds(static_cast<std::size_t>(all.count), 1e-3);
        seconds[static_cast<std::size_t>(best)] = 0.9e-3;
        Simulation timer({seconds[0], seconds[1], seconds[2], seconds[3], seconds[4]}, 0.02);
        TunerOptions options;
        options.runs = 15;
        const TunerResult result = search(timer, options);
        assert_true(result.choice == all.choices[best]);
        assert_true(result.tuned_seconds < result.default_seconds);
        assert_int_equal(result.contenders, 5);
        assert_true(result.classic_seconds > 0);
    }
}

void test_default_stays_unless_beaten_by_two_percent(void**) {
    Simulation stays{1e-3, 0.981e-3, 1e-3, 1e-3, 1e-3}, goes{1e-3, 0.979e-3, 1e-3, 1e-3, 1e-3};
    const TunerResult kept = search(stays), taken = search(goes);
    assert_true(kept.choice == ProductChoice());
    assert_true(kept.tuned_seconds == kept.default_seconds);
    assert_false(taken.choice == ProductChoice());
}

// Who is far behind after the warm-up is not run again, but for what is reported.
void test_slow_ones_leave(void**) {
    Simulation timer{1e-3, 1, 1, 1, 1e-3};
    TunerOptions options;
    options.budget_seconds = 100;
    const TunerResult result = search(timer, options);
    assert_true(result.choice == ProductChoice());
    // Five warm up, two race five times; default and the classic choice play off ten times.
    assert_int_equal(timer.runs, 5 + 2 * 5 + 2 * 10);
}

void test_budget_and_cancelling(void**) {
    Simulation hasty{1e-3, 1e-3, 1e-3, 1e-3, 1e-3};
    TunerOptions options;
    options.budget_seconds = 0;
    assert_true(search(hasty, options).default_seconds > 0);
    assert_int_equal(hasty.runs, 5 + 5 * 3 + 2 * 3);
    int calls = 0;
    options.budget_seconds = 10;
    options.user = &calls;
    options.progress = [](void* user, double share) {
        return share >= 0 && share <= 1 && ++*static_cast<int*>(user) < 3;
    };
    Simulation stopped{1e-3, 0.5e-3, 1e-3, 1e-3, 1e-3};
    const TunerResult result = search(stopped, options);
    assert_true(result.cancelled && result.choice == ProductChoice());
    assert_int_equal(calls, 3);
}

// ---- The file

DeviceFacts facts_of(const char* name) {
    DeviceFacts facts = {};
    std::snprintf(facts.name, sizeof facts.name, "%s", name);
    facts.capability_major = 9;
    facts.multiprocessors = 132;
    facts.l2_bytes = 52428800;
    facts.shared_bytes_per_multiprocessor = 233472;
    return facts;
}

void test_signature(void**) {
    assert_string_equal(device_signature(facts_of("NVIDIA H100/../80GB")).text,
                        "NVIDIA_H100____80GB-sm_90-132-l2_52428800-shared_233472-contract_1");
    assert_string_equal(device_signature(facts_of("")).text,
                        "unknown-sm_90-132-l2_52428800-shared_233472-contract_1");
}

TuningEntry entry_of(std::int64_t m, const char* choice) {
    TuningEntry entry;
    entry.key = key_of(shape_of(m, 384, 1536), m % 2 == 0);
    entry.choice = parse_choice(choice);
    entry.default_seconds = 1.0 / 3;
    entry.tuned_seconds = 0.25;
    return entry;
}

void test_keys(void**) {
    const ProductShape shape = shape_of(64, 384, 1536);
    TuningTable table(heap());
    table.set({key_of(shape, false), parse_choice("tile=64"), 2, 1});
    assert_int_equal(table.find(key_of(shape, false)).tile, 64);
    assert_int_equal(table.find(key_of(shape, true)).tile, 0);
    ProductShape odd = shape;
    odd.ldb = 385;  // four elements at once cannot be loaded
    assert_int_equal(table.find(key_of(odd, false)).tile, 0);
    odd = shape;
    odd.a_transposed = true;
    assert_int_equal(table.find(key_of(odd, false)).tile, 0);
}

void test_round_trip(void**) {
    char name[] = "/tmp/volta_tuning_XXXXXX";
    const std::string top = mkdtemp(name);
    const std::string folder = top + "/a/b";  // made by the first write
    std::size_t first = 0, second = 0;
    {
        const DeviceFacts here = facts_of("here"), there = facts_of("there");
        const TuningFolder own(folder.c_str(), here, Log(), heap());
        own.check_writable();
        std::pmr::vector<TuningEntry> entries(heap());
        entries.push_back(entry_of(64, "form=segments tile=128"));
        entries.push_back(entry_of(65, ""));
        own.add(entries);
        TuningTable table(heap());
        TuningFolder(folder.c_str(), here, Log(), heap()).load(table);
        const auto read = table.entries(heap());
        first = read.size();
        for (std::size_t i = 0; i < read.size(); ++i) {
            assert_true(read[i].key == entries[i].key && read[i].choice == entries[i].choice);
            assert_true(read[i].default_seconds == entries[i].default_seconds);
        }
        TuningTable other(heap());
        TuningFolder(folder.c_str(), there, Log(), heap()).load(other);
        second = other.entries(heap()).size();
    }
    std::filesystem::remove_all(top);
    assert_int_equal(first, 2);
    assert_int_equal(second, 0);  // another device has a file of its own
}

struct Damage {
    const char *from, *to, *reason;
};
constexpr Damage kDamages[] = {
    {"\"tile=64\"", "\"tile=65\"", "it is damaged: a product's choice has no word 'tile=65'"},
    {"\"tile=64\"", "64", "it is damaged: 'choice' is no text"},
    {"\"m\":64", "\"m\":0", "it is damaged: m is 0, it must be in 1 .. 2^40"},
    {"\"a_fours\":true", "\"a_fours\":1", "it is damaged: 'a_fours' is neither true nor false"},
    {"\"epilogue\":true", "\"epilogue\":\"blocks\"", "it is damaged: 'epilogue' is neither true nor false"},
    {"\"tuned_seconds\":0.25", "\"tuned_seconds\":0", "it is damaged: tuned_seconds is 0"},
    {"\"b_fours\":true,", "", "it is damaged: 'b_fours' is missing"},
    {"\"gpu\": \"here\"", "\"gpu\": \"there\"", "it is foreign: measured on the device there"},
    {"\"gpu\": \"here\"", "\"cpu\": \"here\"", "it is damaged: 'gpu' is missing"},
    {"\"contract\": 1", "\"contract\": 0", "it is stale: measured under numeric contract 0"}};

void test_every_damage_has_its_reason(void**) {
    std::pmr::vector<TuningEntry> entries(heap());
    entries.push_back(entry_of(64, "tile=64"));
    const std::string good(print_tuning(entries, "here", heap()));
    assert_int_equal(parse_tuning(good.data(), good.size(), "here", heap()).entries.size(), 1);
    for (const Damage& damage : kDamages) {
        std::string text = good;
        const std::size_t at = text.find(damage.from);
        assert_true(at != std::string::npos);
        text.replace(at, std::strlen(damage.from), damage.to);
        const TuningFile file = parse_tuning(text.data(), text.size(), "here", heap());
        if (std::strncmp(file.reason, damage.reason, std::strlen(damage.reason)) != 0)
            print_error("%s -> %s: expected '%s', got '%s'\n", damage.from, damage.to, damage.reason,
                        file.reason);
        assert_memory_equal(file.reason, damage.reason, std::strlen(damage.reason));
        assert_int_equal(file.entries.size(), 0);
    }
}

// Cut at every byte and with every byte changed: never anything but a good file or a reason.
void test_cut_and_changed_files(void**) {
    std::pmr::vector<TuningEntry> entries(heap());
    entries.push_back(entry_of(64, "tile=64"));
    entries.push_back(entry_of(65, "form=segments tile=128"));
    const std::string good(print_tuning(entries, "here", heap()));
    for (std::size_t i = 0; i < good.size(); ++i) {
        const TuningFile cut = parse_tuning(good.data(), i, "here", heap());
        assert_true(cut.entries.empty() == (cut.reason[0] != '\0'));
        std::string changed = good;
        changed[i] = static_cast<char>(changed[i] ^ 0x15);
        const TuningFile file = parse_tuning(changed.data(), changed.size(), "here", heap());
        for (const TuningEntry& entry : file.entries) check(entry);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_resolve),
        cmocka_unit_test(test_text_of_choices),
        cmocka_unit_test(test_contenders),
        cmocka_unit_test(test_planted_optima_are_found),
        cmocka_unit_test(test_default_stays_unless_beaten_by_two_percent),
        cmocka_unit_test(test_slow_ones_leave),
        cmocka_unit_test(test_budget_and_cancelling),
        cmocka_unit_test(test_signature),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_every_damage_has_its_reason),
        cmocka_unit_test(test_cut_and_changed_files),
    };
    return cmocka_run_group_tests_name("product tuner of devices", tests, nullptr, nullptr);
}
