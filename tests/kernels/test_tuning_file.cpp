// Tuning results on disk: what is written is read again, two writers lose nothing, and a file with anything
// wrong in it is left out whole, with one line that says why.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "engine/backend/cpu/tuning/tuning_file.h"
#include "engine/base/error.h"
#include "engine/base/file.h"
#include "tests/support/cmocka_cpp.h"

namespace {
using namespace volta;
using namespace volta::cpu;

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

// A folder of the test's own below the system's, and the lines that were logged.
struct Place {
    std::string folder;
    std::string log;
    Place() {
        char name[] = "/tmp/volta_tuning_XXXXXX";
        folder = std::string(mkdtemp(name)) + "/a/b";  // made by the first write
    }
    ~Place() {
        const std::string command = "rm -rf '" + folder.substr(0, folder.size() - 4) + "'";
        if (std::system(command.c_str()) != 0) print_error("%s failed\n", command.c_str());
    }
    Log logger() {
        Log log_to;
        log_to.user = this;
        log_to.write = [](void* self, int32_t, const char* line) {
            static_cast<Place*>(self)->log += std::string(line) + "\n";
        };
        return log_to;
    }
    TuningFolder open() { return TuningFolder(folder.c_str(), logger(), heap()); }
    std::size_t load() {
        TuningTable table(heap());
        open().load(table);
        return table.entries(heap()).size();
    }
    void write(const std::string& text) {
        make_folders(folder.c_str(), heap());
        std::FILE* file = std::fopen(open().path(), "wb");
        assert_non_null(file);
        std::fwrite(text.data(), 1, text.size(), file);
        std::fclose(file);
    }
    std::size_t lines() const { return static_cast<std::size_t>(std::count(log.begin(), log.end(), '\n')); }
};

TuningEntry entry_of(std::int64_t m, const char* choice) {
    TuningEntry entry;
    entry.key.m = m;
    entry.key.n = 384;
    entry.key.k = 1536;
    entry.key.b_transposed = m % 2 != 0;
    entry.key.c_stride = 2;
    entry.key.epilogue = EpilogueKind::rows;
    entry.key.isa = Isa::avx512;
    entry.key.threads = 2;
    entry.key.prepacked_b = m % 3 == 0;
    entry.key.sums_b = m % 5 == 0;
    entry.key.cache = static_cast<std::uint8_t>(m % 4);
    entry.choice = parse_choice(choice);
    entry.default_seconds = 1.0 / 3;
    entry.tuned_seconds = 0.25;
    return entry;
}

std::pmr::vector<TuningEntry> list_of(std::initializer_list<TuningEntry> entries) {
    return std::pmr::vector<TuningEntry>(entries, heap());
}

void assert_same(const TuningEntry& x, const TuningEntry& y) {
    assert_true(x.key == y.key);
    assert_true(x.choice == y.choice);
    assert_true(x.default_seconds == y.default_seconds && x.tuned_seconds == y.tuned_seconds);
}

void test_round_trip(void**) {
    Place place;
    assert_int_equal(place.load(), 0);
    assert_string_equal(place.log.c_str(), "");  // a missing file is no news
    const auto entries =
        list_of({entry_of(64, ""), entry_of(65, "f32_gemm_8x48_avx512 k_block=all prefetch=none"),
                 entry_of(66, "m_block=96 n_block=192 order=rows unroll=8 pack_a=yes pack_b=no")});
    place.open().add(entries);
    TuningTable table(heap());
    place.open().load(table);
    const auto read = table.entries(heap());
    assert_int_equal(read.size(), 3);
    for (std::size_t i = 0; i < 3; ++i) assert_same(read[i], entries[i]);
    assert_string_equal(place.log.c_str(), "");
}

// A write keeps what another process has added since, and the later result of a product counts.
void test_writes_are_merged(void**) {
    Place place;
    place.open().add(list_of({entry_of(1, "unroll=2"), entry_of(2, "unroll=2")}));
    place.open().add(list_of({entry_of(2, "unroll=8"), entry_of(3, "unroll=8")}));
    TuningTable table(heap());
    place.open().load(table);
    assert_int_equal(table.entries(heap()).size(), 3);
    assert_int_equal(table.find(entry_of(1, "").key).unroll, 2);
    assert_int_equal(table.find(entry_of(2, "").key).unroll, 8);
    assert_int_equal(table.find(entry_of(3, "").key).unroll, 8);
}

// Four processes add ten products each at once: none is lost.
void test_concurrent_writers_lose_nothing(void**) {
    Place place;
    pid_t children[4];
    for (int c = 0; c < 4; ++c) {
        children[c] = fork();
        assert_true(children[c] >= 0);
        if (children[c] != 0) continue;
        int status = 0;
        try {
            for (int i = 0; i < 10; ++i) place.open().add(list_of({entry_of(1 + 10 * c + i, "unroll=2")}));
        } catch (const std::exception&) {
            status = 1;
        }
        _exit(status);
    }
    for (const pid_t child : children) {
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    assert_int_equal(place.load(), 40);
}

std::string good_text(const char* signature) {
    return std::string(
        print_tuning(list_of({entry_of(64, "unroll=2"), entry_of(66, "k_block=96")}), signature, heap()));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    assert_true(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

// One row per reason: the text that is replaced, by what, and what the reason says.
struct Damage {
    const char *from, *to, *reason;
};
constexpr Damage kDamages[] = {
    {"\"unroll=2\"", "\"unroll=9\"", "it is damaged: unroll is '9', it must be in 0 .. 8"},
    {"\"unroll=2\"", "\"k_block=-64\"", "it is damaged: k_block is '-64', it must be in 0 .. 1048576"},
    {"\"unroll=2\"", "\"k_block=99999999999999999999\"", "it is damaged: k_block is"},
    {"\"unroll=2\"", "\"f32_gemm_9x9_avx512\"", "it is damaged: there is no product tile named"},
    {"\"unroll=2\"", "\"frequency=9\"", "it is damaged: a product's choice has no field 'frequency'"},
    {"\"unroll=2\"", "17", "it is damaged: 'choice' is no text"},
    {"\"m\":64", "\"m\":0", "it is damaged: m is 0, it must be in 1 .. 2^40"},
    {"\"m\":64", "\"m\":-64", "it is damaged: m is -64"},
    {"\"m\":64", "\"m\":64.5", "it is damaged: 'm' is no whole number"},
    {"\"m\":64", "\"m\":18446744073709551615", "it is damaged: 'm' is too large"},
    {"\"m\":64", "\"m\":1e30", "it is damaged: 'm' is no whole number"},
    {"\"m\":64", "\"m\":\"64\"", "it is damaged: 'm' is no whole number"},
    {"\"m\":64,", "", "it is damaged: 'm' is missing"},
    {"\"threads\":2", "\"threads\":100000", "it is damaged: 'threads' is 100000"},
    {"\"threads\":2", "\"threads\":0", "it is damaged: threads is 0"},
    {"\"c_stride\":2", "\"c_stride\":258", "it is damaged: 'c_stride' is 258"},
    {"\"cache\":0", "\"cache\":4", "it is damaged: 'cache' is 4"},
    {"\"keeps_b\":false", "\"keeps_b\":0", "it is damaged: 'keeps_b' is neither true nor false"},
    {"\"avx512\"", "\"avx1024\"", "it is damaged: 'isa' is 'avx1024'"},
    {"\"avx512\"", "\"\"", "it is damaged: 'isa' is ''"},
    {"\"rows\"", "\"columns\"", "it is damaged: 'epilogue' is 'columns'"},
    {"\"a_transposed\":false", "\"a_transposed\":0",
     "it is damaged: 'a_transposed' is neither true nor false"},
    {"\"tuned_seconds\":0.25", "\"tuned_seconds\":0", "it is damaged: tuned_seconds is 0"},
    {"\"tuned_seconds\":0.25", "\"tuned_seconds\":-1", "it is damaged: tuned_seconds is -1"},
    {"\"tuned_seconds\":0.25", "\"tuned_seconds\":1e999", "it is damaged: it is no JSON object"},
    {"\"tuned_seconds\":0.25", "\"tuned_seconds\":null", "it is damaged: 'tuned_seconds' is no number"},
    {"{\"m\":64", "[], {\"m\":64", "it is damaged: an entry is no object"},
    {"\"products\"", "\"product\"", "it is damaged: 'products' is missing"},
    {"volta matmul tuning", "volta\xff", "it is damaged: it is no JSON object"},
    {"volta matmul tuning", "other", "it is damaged: 'format' is not"},
    {"]}", "", "it is damaged: it is no JSON object"},
    {"{\"format\"", "[{\"format\"", "it is damaged: it is no JSON object"},
    {"\"version\": 1", "\"version\": 2", "it is of version 2, this program reads version 1"},
    {"\"contract\": 1", "\"contract\": 0",
     "it is stale: measured under numeric contract 0, this is contract 1"},
    {"\"cpu\": \"here\"", "\"cpu\": \"there\"", "it is foreign: measured on the processor there"},
};

void test_every_damage_has_its_reason(void**) {
    const std::string good = good_text("here");
    assert_int_equal(parse_tuning(good.data(), good.size(), "here", heap()).entries.size(), 2);
    for (const Damage& damage : kDamages) {
        const std::string text = replaced(good, damage.from, damage.to);
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
    const std::string good = good_text("here");
    for (std::size_t i = 0; i < good.size(); ++i) {
        const TuningFile cut = parse_tuning(good.data(), i, "here", heap());
        assert_true(cut.entries.empty() == (cut.reason[0] != '\0'));
        std::string changed = good;
        changed[i] = static_cast<char>(changed[i] ^ 0x15);
        const TuningFile file = parse_tuning(changed.data(), changed.size(), "here", heap());
        for (const TuningEntry& entry : file.entries) check(entry);
    }
}

// A file that was written before it said how a plan uses its products: they were timed with a B that was not
// packed before, summed or from memory.
void test_files_without_uses_are_read(void**) {
    TuningEntry plain = entry_of(64, "unroll=2");
    plain.key.prepacked_b = plain.key.sums_b = false;
    plain.key.cache = 0;
    std::string text(print_tuning(list_of({plain}), "here", heap()));
    for (const char* member : {"\"keeps_b\":false,", "\"sums_b\":false,", "\"cache\":0,"})
        text = replaced(text, member, "");
    const TuningFile file = parse_tuning(text.data(), text.size(), "here", heap());
    assert_string_equal(file.reason, "");
    assert_int_equal(file.entries.size(), 1);
    assert_same(file.entries[0], plain);
}

// One line of the log for each open, and the next write starts afresh.
void test_damaged_file_is_logged_and_replaced(void**) {
    for (const char* text : {"", "{}", "nonsense", "[[[[[[[["}) {
        Place place;
        place.write(text);
        assert_int_equal(place.load(), 0);
        assert_int_equal(place.lines(), 1);
        assert_non_null(std::strstr(place.log.c_str(), "the tuning file '/tmp/volta_tuning_"));
        assert_non_null(std::strstr(place.log.c_str(), "is ignored: it is damaged"));
        place.open().add(list_of({entry_of(5, "unroll=2")}));
        place.log.clear();
        assert_int_equal(place.load(), 1);
        assert_string_equal(place.log.c_str(), "");
    }
}

// Who opens, writes and opens again tells of the damaged file once, and of the next one again.
void test_one_folder_warns_once(void**) {
    Place place;
    TuningTable table(heap());
    const TuningFolder folder(place.folder.c_str(), place.logger(), heap());
    for (std::size_t lines = 1; lines <= 2; ++lines) {
        place.write("nonsense");
        folder.load(table);
        assert_int_equal(place.lines(), lines);
        folder.load(table);
        folder.add(list_of({entry_of(5, "unroll=2")}));
        assert_int_equal(place.lines(), lines);
    }
}

// A lock that somebody else holds longer than half a second is one line, which names the file.
void test_waiting_is_told(void**) {
    Place place;
    const TuningFolder folder(place.folder.c_str(), place.logger(), heap());
    folder.check_writable();
    assert_string_equal(place.log.c_str(), "");
    int held[2];
    assert_int_equal(pipe(held), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const FileLock lock((std::string(folder.path()) + ".lock").c_str());
        const bool told = write(held[1], "x", 1) == 1;
        usleep(900'000);
        _exit(told ? 0 : 1);
    }
    char byte = 0;
    assert_int_equal(read(held[0], &byte, 1), 1);
    folder.add(list_of({entry_of(5, "unroll=2")}));
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(held[0]);
    close(held[1]);
    assert_int_equal(place.lines(), 1);
    assert_non_null(std::strstr(place.log.c_str(), "waiting for another process"));
    assert_non_null(std::strstr(place.log.c_str(), folder.path()));
    assert_int_equal(place.load(), 1);
}

void test_oversized_file_is_not_read(void**) {
    Place place;
    place.write(std::string(kMostTuningBytes + 1, ' '));
    assert_int_equal(place.load(), 0);
    assert_int_equal(place.lines(), 1);
    assert_non_null(std::strstr(place.log.c_str(), "it has 4194305 bytes, at most 4194304 are read"));
}

void test_too_many_products(void**) {
    std::string text = good_text("here");
    const std::size_t at = text.find("  {\"m\":64");
    const std::string one = text.substr(at, text.find('\n', at) + 1 - at);
    std::string many;
    for (std::size_t i = 0; i <= kMostTuningEntries; ++i) many += one;
    text.insert(at, many);
    const TuningFile file = parse_tuning(text.data(), text.size(), "here", heap());
    assert_int_equal(file.entries.size(), 0);
    assert_non_null(std::strstr(file.reason, "at most 4096 are read"));
}

void test_too_many_members(void**) {
    std::string many;
    for (int i = 0; i < 65; ++i) many += "\"a" + std::to_string(i) + "\":1,";
    for (const char* const object : {"\"m\":64", "\"version\""}) {  // of a product, and of the file
        const std::string text = replaced(good_text("here"), object, many + object);
        assert_string_equal(parse_tuning(text.data(), text.size(), "here", heap()).reason,
                            "it is damaged: an object has more than 64 members");
    }
}

// The oldest go where there are more than a file holds.
void test_oldest_products_go(void**) {
    std::pmr::vector<TuningEntry> all(heap());
    for (std::size_t i = 0; i < kMostTuningEntries; ++i)
        all.push_back(entry_of(static_cast<std::int64_t>(i) + 1, ""));
    Place place;
    place.open().add(all);
    place.open().add(list_of({entry_of(5000, ""), entry_of(3, "unroll=2")}));
    TuningTable table(heap());
    place.open().load(table);
    const auto kept = table.entries(heap());
    assert_int_equal(kept.size(), kMostTuningEntries);
    assert_int_equal(kept.front().key.m, 2);
    assert_int_equal(kept[kept.size() - 2].key.m, 5000);
    assert_same(kept.back(), entry_of(3, "unroll=2"));
}

// Deep nesting exhausts no stack, and is refused before memory is taken for it.
void test_deep_nesting(void**) {
    const std::string objects = "{\"a\":";
    std::string mixed;
    while (mixed.size() < 1 << 20) mixed += objects + "[";
    for (const std::string& deep : {std::string(kMostTuningBytes, '['), mixed})
        assert_string_equal(parse_tuning(deep.data(), deep.size(), "here", heap()).reason,
                            "it is damaged: its lists and objects lie more than 8 deep");
}

volta_status write_status(const char* folder) {
    Place place;
    const TuningFolder there(folder, place.logger(), heap());
    try {
        there.check_writable();
    } catch (const Error& error) {
        return error.status();
    }
    return VOLTA_OK;
}

// A folder that cannot be: known before anything is timed. (Permissions do not stop the superuser.)
void test_unwritable_folders(void**) {
    assert_int_equal(write_status("/proc/nowhere"), VOLTA_IO_ERROR);
    assert_int_equal(write_status("/dev/null"), VOLTA_IO_ERROR);
    assert_int_equal(write_status("/dev/null/below"), VOLTA_IO_ERROR);
    Place place;
    make_folders(place.folder.c_str(), heap());
    assert_int_equal(chmod(place.folder.c_str(), 0555), 0);
    const volta_status status = write_status(place.folder.c_str());
    assert_int_equal(status, geteuid() == 0 ? VOLTA_OK : VOLTA_IO_ERROR);
    assert_int_equal(chmod(place.folder.c_str(), 0755), 0);
}

// The check of the folder changes nothing but for the lock.
void test_check_leaves_the_file(void**) {
    Place place;
    place.open().add(list_of({entry_of(5, "unroll=2")}));
    place.open().check_writable();
    assert_int_equal(place.load(), 1);
}

void test_signature(void**) {
    CpuInfo info = {};
    std::snprintf(info.vendor, sizeof info.vendor, "Genu/../X");
    info.family = 6;
    info.model = 207;
    info.stepping = 2;
    info.features = 0xabc;
    info.l1_bytes = 49152;
    info.l2_bytes = 2097152;
    info.l3_bytes = 1;
    assert_string_equal(cpu_signature(info).text,
                        "GenuX-6-207-2-0000000000000abc-l1_49152-l2_2097152-l3_1-contract_1");
    assert_true(std::strlen(cpu_signature(host_cpu()).text) > 20);
}
}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_writes_are_merged),
        cmocka_unit_test(test_concurrent_writers_lose_nothing),
        cmocka_unit_test(test_every_damage_has_its_reason),
        cmocka_unit_test(test_cut_and_changed_files),
        cmocka_unit_test(test_files_without_uses_are_read),
        cmocka_unit_test(test_damaged_file_is_logged_and_replaced),
        cmocka_unit_test(test_one_folder_warns_once),
        cmocka_unit_test(test_waiting_is_told),
        cmocka_unit_test(test_oversized_file_is_not_read),
        cmocka_unit_test(test_too_many_members),
        cmocka_unit_test(test_oldest_products_go),
        cmocka_unit_test(test_too_many_products),
        cmocka_unit_test(test_deep_nesting),
        cmocka_unit_test(test_unwritable_folders),
        cmocka_unit_test(test_check_leaves_the_file),
        cmocka_unit_test(test_signature),
    };
    return cmocka_run_group_tests_name("tuning file", tests, nullptr, nullptr);
}
