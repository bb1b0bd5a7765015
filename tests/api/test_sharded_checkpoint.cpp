// Checkpoints in parts: merged they are the file of one process, byte for byte, whoever wrote them; any
// number of ranks goes on from them; what is damaged is named; and a save that fails, or is killed, leaves
// the one that was there. Ranks are threads here, and processes where they die.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/cmocka_cpp.h"
#include "tests/support/fake_transport.h"
#include "volta.h"

namespace {

using volta::test::FakeFaults;
using volta::test::FakeTransport;

constexpr int64_t kRows = 2, kTime = 16;
constexpr int32_t kVocabulary = 61;
constexpr uint64_t kShards = 4;

// ---- Folders ----

std::string path_in(const std::string& folder, const std::string& name) {
    std::string path(folder);
    path += '/';
    path += name;
    return path;
}

class Folder {
  public:
    Folder() {
        if (mkdtemp(path_) == nullptr) std::abort();
    }
    ~Folder() { remove(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string operator/(const std::string& name) const { return std::string(path_) + "/" + name; }

    static std::vector<std::string> names(const std::string& path) {
        std::vector<std::string> names;
        DIR* const folder = opendir(path.c_str());
        if (folder == nullptr) return names;
        while (const dirent* entry = readdir(folder))
            if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
        closedir(folder);
        std::sort(names.begin(), names.end());
        return names;
    }

  private:
    static void remove(const std::string& path) {
        chmod(path.c_str(), 0700);
        for (const std::string& name : names(path)) {
            const std::string inner = path_in(path, name);
            if (unlink(inner.c_str()) != 0) remove(inner);
        }
        rmdir(path.c_str());
    }
    char path_[40] = "/tmp/volta-parts-XXXXXX";
};

std::string bytes_of(const std::string& path) {
    std::string bytes;
    FILE* const file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) return bytes;
    char block[4096];
    for (size_t got; (got = std::fread(block, 1, sizeof block, file)) > 0;) bytes.append(block, got);
    std::fclose(file);
    return bytes;
}

void put_bytes(const std::string& path, const std::string& bytes) {
    FILE* const file = std::fopen(path.c_str(), "wb");
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fclose(file);
}

const char kManifest[] = "volta.manifest";

std::vector<std::string> parts_in(const std::string& folder) {
    std::vector<std::string> parts;
    for (const std::string& name : Folder::names(folder))
        if (name != kManifest) parts.push_back(name);
    return parts;
}

// ---- Ranks ----

struct Result {
    volta_status status = VOLTA_OK;
    std::string text, hash;
};

class Rank {
  public:
    explicit Rank(const volta_group_options* group = nullptr, const volta_allocator* allocator = nullptr) {
        volta_context_options options = VOLTA_CONTEXT_OPTIONS_INIT;
        options.thread_count = 1;
        options.allocator = allocator;
        check(volta_context_create(&options, &context_));
        if (group != nullptr) check(volta_group_create(context_, group, &group_));
    }
    ~Rank() {
        volta_trainer_release(trainer_);
        volta_group_release(group_);
        volta_model_release(model_);
        volta_context_release(context_);
    }
    Rank(const Rank&) = delete;
    Rank& operator=(const Rank&) = delete;

    void make_model(int32_t layers = 2) {
        volta_gpt_options options = VOLTA_GPT_OPTIONS_INIT;
        options.vocabulary = kVocabulary;
        options.layers = layers;
        options.dim = 32;
        options.heads = 2;
        options.context = kTime;
        check(volta_model_create_gpt(context_, &options, 7, &model_));
    }
    void open(const std::string& path, int32_t verify = 1) {
        volta_open_options options = VOLTA_OPEN_OPTIONS_INIT;
        options.verify = verify;
        check(volta_model_open(context_, path.c_str(), &options, &model_));
    }
    void make_trainer(uint64_t shards = kShards) {
        const int64_t shape[] = {kRows, kTime};
        volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
        options.input_shapes = shape;
        options.input_extent_count = 2;
        options.shards = shards;
        options.micro_batches = kShards;
        options.learning_rate = 1e-2;
        options.seed = 3;
        options.group = group_;
        if (is_ok()) check(volta_trainer_create(model_, &options, &trainer_));
        set_tokens();
    }
    void resume() {
        volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
        options.group = group_;
        if (is_ok()) check(volta_trainer_resume(model_, &options, &trainer_));
        set_tokens();
    }
    void train(int steps) {
        for (int i = 0; i < steps && is_ok(); ++i) check(volta_trainer_step_tokens(trainer_, nullptr));
    }
    void save_sharded(const std::string& folder) {
        if (is_ok()) check(volta_trainer_save_sharded(trainer_, folder.c_str()));
    }
    std::string hash() {
        char hash[33] = "";
        if (is_ok())
            check(trainer_ != nullptr ? volta_trainer_hash(trainer_, hash) : volta_model_hash(model_, hash));
        return hash;
    }
    void check(volta_status status) {
        if (status == VOLTA_OK || !is_ok()) return;
        result.status = status;
        result.text = volta_last_error();
    }
    bool is_ok() const { return result.status == VOLTA_OK; }
    volta_context* context() { return context_; }
    volta_model* model() { return model_; }
    volta_trainer* trainer() { return trainer_; }

    Result result;

  private:
    void set_tokens() {
        std::vector<int32_t> tokens;
        tokens.reserve(3000);
        for (int i = 0; i < 3000; ++i) tokens.push_back((i * 7 + i / 5) % kVocabulary);
        if (is_ok()) check(volta_trainer_set_tokens(trainer_, tokens.data(), tokens.size()));
    }
    volta_context* context_ = nullptr;
    volta_group* group_ = nullptr;
    volta_model* model_ = nullptr;
    volta_trainer* trainer_ = nullptr;
};

volta_group_options group_options(FakeTransport& transport, uint32_t rank, uint32_t size) {
    volta_group_options options = VOLTA_GROUP_OPTIONS_INIT;
    options.transport = "host";
    options.rank = rank;
    options.size = size;
    options.exchange = FakeTransport::exchange;
    options.user = transport.user(rank);
    return options;
}

// Size 1: without a group.
std::vector<Result> together(uint32_t size, const std::function<void(Rank&, uint32_t)>& body,
                             FakeTransport& transport) {
    std::vector<Result> results(size);
    std::vector<std::thread> threads;
    for (uint32_t r = 0; r < size; ++r)
        threads.emplace_back([&, r] {
            const volta_group_options options = group_options(transport, r, size);
            Rank rank(size > 1 ? &options : nullptr);
            body(rank, r);
            results[r] = rank.result;
            if (!rank.is_ok()) transport.end(r);
        });
    for (std::thread& thread : threads) thread.join();
    return results;
}

std::vector<Result> together(uint32_t size, const std::function<void(Rank&, uint32_t)>& body) {
    FakeTransport transport(size);
    return together(size, body, transport);
}

void expect_ok(const std::vector<Result>& results) {
    for (const Result& result : results) {
        if (result.status != VOLTA_OK) print_error("%s\n", result.text.c_str());
        assert_int_equal(result.status, VOLTA_OK);
    }
}

void save_steps(uint32_t ranks, int steps, const std::string& folder) {
    expect_ok(together(ranks, [&](Rank& rank, uint32_t) {
        rank.make_model();
        rank.make_trainer();
        rank.train(steps);
        rank.save_sharded(folder);
    }));
}

// Of one process, in one file.
std::string whole_file(const Folder& folder, int steps) {
    std::string path = folder / "whole.volta";
    expect_ok(together(1, [&](Rank& rank, uint32_t) {
        rank.make_model();
        rank.make_trainer();
        rank.train(steps);
        rank.check(volta_trainer_save(rank.trainer(), path.c_str()));
    }));
    return path;
}

Result opened(const std::string& path) {
    Rank rank;
    rank.open(path);
    rank.result.hash = rank.hash();
    return rank.result;
}

std::string merged(const std::string& folder, const std::string& file) {
    Rank rank;
    rank.open(folder);
    if (rank.is_ok()) rank.check(volta_model_save(rank.model(), file.c_str()));
    if (!rank.is_ok()) print_error("%s\n", rank.result.text.c_str());
    return rank.is_ok() ? bytes_of(file) : "";
}

// What every refusal has in common: its status, and the words that it must have.
void expect_failure(const Result& result, volta_status status, const std::vector<std::string>& words) {
    for (const std::string& word : words)
        if (result.status != status || result.text.find(word) == std::string::npos)
            print_error("'%s' has no '%s'\n", result.text.c_str(), word.c_str());
    assert_int_equal(result.status, status);
    for (const std::string& word : words) assert_true(result.text.find(word) != std::string::npos);
}

// ---- Tests ----

void test_parts_of_a_model(void**) {
    const Folder folder;
    const std::string path = whole_file(folder, 1), parts = folder / "parts/in/here",
                      again = folder / "again.volta";
    const std::string whole = bytes_of(path);
    Rank rank;
    rank.open(path);
    for (const uint32_t count : {1u, 2u, 3u, 7u, 300u}) {
        rank.check(volta_model_save_sharded(rank.model(), count, parts.c_str()));
        expect_ok({rank.result});
        const std::vector<std::string> names = parts_in(parts);
        assert_int_equal(names.size(), count);  // and none of the save before
        size_t sum = 0, most = 0;
        for (const std::string& name : names) {
            const size_t bytes = bytes_of(path_in(parts, name)).size();
            sum += bytes;
            most = std::max(most, bytes);
        }
        assert_int_equal(sum, whole.size());
        assert_true(most < whole.size() / count + 65);
        assert_true(merged(parts, again) == whole);
    }
    // The same again: the same files.
    rank.check(volta_model_save_sharded(rank.model(), 3, parts.c_str()));
    const std::vector<std::string> before = Folder::names(parts);
    const std::string manifest = bytes_of(parts + "/" + kManifest);
    rank.check(volta_model_save_sharded(rank.model(), 3, parts.c_str()));
    expect_ok({rank.result});
    assert_true(Folder::names(parts) == before);
    assert_true(bytes_of(parts + "/" + kManifest) == manifest);
}

void test_what_else_is_in_the_folder_stays(void**) {
    const Folder folder;
    const std::string parts = folder / "parts";
    const char* const others[] = {"notes.txt", "volta.part", "volta-1-of-2.part",
                                  "volta-00112233445566778899aabbccddeeff-2-of-2.part",
                                  "volta-00112233445566778899aabbccddeeff-0-of-2.part.old"};
    mkdir(parts.c_str(), 0777);
    for (const char* name : others) put_bytes(parts + "/" + name, "mine");
    put_bytes(parts + "/volta-00112233445566778899aabbccddeeff-0-of-2.part",
              "left by a save that was killed");
    put_bytes(parts + "/volta-00112233445566778899aabbccddeeff-1-of-2.part.tmp-999999999-0", "and this");
    save_steps(2, 1, parts);
    for (const char* name : others) assert_string_equal(bytes_of(path_in(parts, name)).c_str(), "mine");
    assert_int_equal(Folder::names(parts).size(), 5 + 3);
}

void test_any_ranks_write_the_same_file(void**) {
    const Folder folder;
    const std::string whole = bytes_of(whole_file(folder, 2));
    for (const uint32_t ranks : {1u, 2u, 4u}) {
        const std::string parts = folder / ("of" + std::to_string(ranks));
        save_steps(ranks, 2, parts);
        assert_int_equal(parts_in(parts).size(), ranks);
        assert_true(merged(parts, folder / "merged.volta") == whole);
        for (const std::string& name : parts_in(parts))
            assert_true(ranks == 1 || bytes_of(path_in(parts, name)).size() < whole.size() * 3 / 4);
    }
}

void test_without_shards(void**) {
    const Folder folder;
    const std::string parts = folder / "parts";
    std::string whole;
    expect_ok(together(1, [&](Rank& rank, uint32_t) {
        rank.make_model();
        rank.make_trainer(1);
        rank.train(2);
        rank.save_sharded(parts);
        rank.check(volta_trainer_save(rank.trainer(), (folder / "whole.volta").c_str()));
    }));
    assert_int_equal(parts_in(parts).size(), 1);
    assert_true(merged(parts, folder / "merged.volta") == bytes_of(folder / "whole.volta"));
}

void test_any_ranks_go_on(void**) {
    const Folder folder;
    std::string expected;
    expect_ok(together(1, [&](Rank& rank, uint32_t) {
        rank.make_model();
        rank.make_trainer();
        rank.train(4);
        expected = rank.hash();
    }));
    for (const uint32_t before : {1u, 2u, 4u}) {
        const std::string parts = folder / std::to_string(before);
        save_steps(before, 2, parts);
        for (const uint32_t after : {4u, 2u, 1u}) {
            std::vector<std::string> hashes(after);
            expect_ok(together(after, [&](Rank& rank, uint32_t r) {
                rank.open(parts);
                rank.resume();
                rank.train(2);
                hashes[r] = rank.hash();
            }));
            for (const std::string& hash : hashes) assert_string_equal(hash.c_str(), expected.c_str());
        }
    }
}

// Ranks tell each other checksums, and nobody makes room for another's moments.
struct Counting {
    FakeTransport* transport;
    uint32_t rank;
    std::atomic<uint64_t> sent{0};
    std::atomic<size_t> tensor_allocations{0};
};
volta_status counting_exchange(void* user, uint32_t peer, const void* send, size_t send_bytes, void* receive,
                               size_t receive_bytes, char* text, size_t text_bytes) {
    Counting& counting = *static_cast<Counting*>(user);
    counting.sent += send_bytes;
    return FakeTransport::exchange(counting.transport->user(counting.rank), peer, send, send_bytes, receive,
                                   receive_bytes, text, text_bytes);
}
void* counting_allocate(void* user, size_t size, size_t alignment, volta_memory_kind kind) {
    if (kind == VOLTA_MEMORY_TENSOR) ++static_cast<Counting*>(user)->tensor_allocations;
    void* memory = nullptr;
    return posix_memalign(&memory, std::max(alignment, sizeof(void*)), size) == 0 ? memory : nullptr;
}
void counting_release(void*, void* pointer, size_t, size_t, volta_memory_kind) { free(pointer); }

// Memory that one rank is refused in a save, wherever: it says so, the others which it was, and the folder
// has what it had.
struct RefusingHost {
    std::atomic<bool> counts{false};
    uint64_t count = 0, refused = 0;
};
void* refusing_allocate(void* user, size_t size, size_t alignment, volta_memory_kind) {
    RefusingHost& host = *static_cast<RefusingHost*>(user);
    if (host.counts && ++host.count == host.refused) return nullptr;
    void* memory = nullptr;
    return posix_memalign(&memory, std::max(alignment, sizeof(void*)), size) == 0 ? memory : nullptr;
}
void refusing_release(void*, void* pointer, size_t, size_t, volta_memory_kind) { free(pointer); }

void test_a_rank_without_memory(void**) {
    const Folder folder;
    const std::string parts = folder / "parts";
    save_steps(2, 1, parts);
    const std::string before = opened(parts).hash;
    bool was_whole = false;
    int refusals = 0;
    for (uint64_t refused = 1; !was_whole; refused += refused < 8 ? 1 : 9) {
        FakeTransport transport(2);
        RefusingHost hosts[2];
        hosts[1].refused = refused;
        std::vector<Result> results(2);
        std::vector<std::thread> threads;
        for (uint32_t r = 0; r < 2; ++r)
            threads.emplace_back([&, r] {
                const volta_allocator allocator = {refusing_allocate, refusing_release, &hosts[r]};
                const volta_group_options options = group_options(transport, r, 2);
                Rank rank(&options, &allocator);
                rank.make_model();
                rank.make_trainer();
                rank.train(2);
                hosts[r].counts = true;
                rank.save_sharded(parts);
                hosts[r].counts = false;
                results[r] = rank.result;
                if (!rank.is_ok()) transport.end(r);
            });
        for (std::thread& thread : threads) thread.join();
        was_whole = hosts[1].count < refused;
        if (was_whole) {
            expect_ok(results);
            continue;
        }
        ++refusals;
        assert_int_equal(results[1].status, VOLTA_OUT_OF_MEMORY);
        expect_failure(results[0], VOLTA_IO_ERROR, {"rank 1"});
        assert_string_equal(opened(parts).hash.c_str(), before.c_str());
    }
    assert_true(refusals > 8);
    assert_true(opened(parts).hash != before);
}

void test_no_rank_has_the_whole(void**) {
    const Folder folder;
    const std::string parts = folder / "parts";
    FakeTransport transport(2);
    Counting counting[2] = {{&transport, 0, {}, {}}, {&transport, 1, {}, {}}};
    std::vector<Result> results(2);
    uint64_t sent[2];
    size_t allocated[2];
    std::vector<std::thread> threads;
    for (uint32_t r = 0; r < 2; ++r)
        threads.emplace_back([&, r] {
            const volta_allocator allocator = {counting_allocate, counting_release, &counting[r]};
            volta_group_options options = group_options(transport, r, 2);
            options.exchange = counting_exchange;
            options.user = &counting[r];
            Rank rank(&options, &allocator);
            rank.make_model();
            rank.make_trainer();
            rank.train(1);
            sent[r] = counting[r].sent;
            allocated[r] = counting[r].tensor_allocations;
            rank.save_sharded(parts);
            sent[r] = counting[r].sent - sent[r];
            allocated[r] = counting[r].tensor_allocations - allocated[r];
            results[r] = rank.result;
        });
    for (std::thread& thread : threads) thread.join();
    expect_ok(results);
    for (uint32_t r = 0; r < 2; ++r) {
        assert_int_equal(allocated[r], 0);
        assert_true(sent[r] < 8192);  // of some 170,000 bytes of moments
    }
}

void test_damage(void**) {
    const Folder folder;
    const std::string parts = folder / "parts", other = folder / "other", manifest = parts + "/" + kManifest;
    save_steps(2, 1, parts);
    save_steps(2, 2, other);
    const std::string text = bytes_of(manifest);
    const std::vector<std::string> names = parts_in(parts);
    assert_int_equal(opened(parts).status, VOLTA_OK);
    for (const std::string& name : names) {
        const std::string path = path_in(parts, name), good = bytes_of(path);
        for (size_t at = 0; at < good.size(); at += good.size() / 7) {
            std::string bad = good;
            bad[at] = static_cast<char>(bad[at] ^ 16);
            put_bytes(path, bad);
            expect_failure(opened(parts), VOLTA_CORRUPT_MODEL,
                           {"the checksum of part '" + name + "' is not that of 'volta.manifest'"});
        }
        put_bytes(path, good.substr(0, good.size() - 1));
        expect_failure(opened(parts), VOLTA_CORRUPT_MODEL,
                       {"part '" + name + "' has " + std::to_string(good.size() - 1) + " bytes",
                        "says " + std::to_string(good.size())});
        put_bytes(path, good + "x");
        expect_failure(opened(parts), VOLTA_CORRUPT_MODEL,
                       {"part '" + name + "' has " + std::to_string(good.size() + 1) + " bytes"});
        unlink(path.c_str());
        expect_failure(opened(parts), VOLTA_IO_ERROR, {name, "No such file"});
        mkdir(path.c_str(), 0777);
        expect_failure(opened(parts), VOLTA_IO_ERROR, {name, "it is a directory"});
        rmdir(path.c_str());
        // The part of another save that has as many bytes, as both have here.
        const std::string its = bytes_of(other + "/" + parts_in(other)[&name - names.data()]);
        assert_int_equal(its.size(), good.size());
        put_bytes(path, its);
        expect_failure(opened(parts), VOLTA_CORRUPT_MODEL,
                       {"part '" + name + "'", "it is damaged, or of another save"});
        put_bytes(path, good);
        assert_int_equal(opened(parts).status, VOLTA_OK);
    }
    for (size_t at = 0; at < text.size(); at += static_cast<size_t>(sample_stride())) {
        std::string bad = text;
        bad[at] = static_cast<char>(bad[at] ^ 1);
        put_bytes(manifest, bad);
        const Result result = opened(parts);
        assert_true(result.status == VOLTA_CORRUPT_MODEL || result.status == VOLTA_UNSUPPORTED);
        assert_true(result.text.find("'volta.manifest'") != std::string::npos);
    }
    put_bytes(manifest, bytes_of(other + "/" + kManifest));  // its parts are in the other folder
    expect_failure(opened(parts), VOLTA_IO_ERROR, {parts_in(other)[0], "No such file"});
    unlink(manifest.c_str());
    expect_failure(opened(parts), VOLTA_IO_ERROR, {"it is a directory without 'volta.manifest'", parts});
}

// One rank cannot write: all say which and why, what was there stays, and the group goes on.
void test_a_rank_that_cannot_write(void**) {
    const Folder folder;
    const std::string parts = folder / "parts";
    for (const uint32_t size : {2u, 4u})
        for (uint32_t bad = 0; bad < size; ++bad) {
            save_steps(size, 1, parts);
            const std::string before = opened(parts).hash;
            const std::vector<std::string> names = Folder::names(parts);
            std::vector<Result> failures(size);
            put_bytes(folder / "file", "no folder");
            expect_ok(together(size, [&](Rank& rank, uint32_t r) {
                rank.make_model();
                rank.make_trainer();
                rank.train(2);
                rank.save_sharded(r == bad ? folder / "file" : parts);
                failures[r] = rank.result;
                rank.result = {};
                rank.save_sharded(folder / "later");
            }));
            for (const Result& failure : failures)
                expect_failure(failure, VOLTA_IO_ERROR,
                               {"rank " + std::to_string(bad) + " could not save: ", "Not a directory"});
            assert_string_equal(opened(parts).hash.c_str(), before.c_str());
            assert_true(Folder::names(parts) == names);
            assert_int_equal(opened(folder / "later").status, VOLTA_OK);
        }
}

// At each message of a save: the others say who it was, and the folder has one of the two, whole.
void test_a_rank_that_ends_in_a_save(void**) {
    const Folder folder;
    const std::string parts = folder / "parts";
    uint64_t before = 0, after = 0;
    FakeTransport counting(2);
    expect_ok(together(
        2,
        [&](Rank& rank, uint32_t r) {
            rank.make_model();
            rank.make_trainer();
            rank.train(2);
            if (r == 0) before = counting.calls(0);
            rank.save_sharded(parts);
            if (r == 0) after = counting.calls(0);
        },
        counting));
    const std::string newer = opened(parts).hash;
    save_steps(2, 1, parts);
    const std::string older = opened(parts).hash;
    assert_true(after > before + 5);
    bool has_been_older = false, has_been_newer = false;
    for (uint32_t dead = 0; dead < 2; ++dead)
        for (uint64_t call = before; call < after; ++call) {
            FakeFaults faults;
            faults.kill = {dead, call};
            FakeTransport transport(2, faults);
            const std::vector<Result> results = together(
                2,
                [&](Rank& rank, uint32_t) {
                    rank.make_model();
                    rank.make_trainer();
                    rank.train(2);
                    rank.save_sharded(parts);
                },
                transport);
            for (const Result& result : results)
                expect_failure(result, VOLTA_IO_ERROR, {"rank " + std::to_string(dead)});
            const Result found = opened(parts);
            expect_ok({found});
            assert_true(found.hash == older || found.hash == newer);
            has_been_older = has_been_older || found.hash == older;
            has_been_newer = has_been_newer || found.hash == newer;
            save_steps(2, 1, parts);
            assert_int_equal(Folder::names(parts).size(), 3);
        }
    assert_true(has_been_older && has_been_newer);
}

// One whose host wants an end: it says so, the others which it was.
void test_a_rank_that_is_asked_to_end(void**) {
    const Folder folder;
    const std::string parts = folder / "parts";
    save_steps(2, 1, parts);
    const std::string before = opened(parts).hash;
    const std::vector<Result> results = together(2, [&](Rank& rank, uint32_t r) {
        rank.make_model();
        rank.make_trainer();
        rank.train(2);
        volta_stop_options stop = VOLTA_STOP_OPTIONS_INIT;
        stop.should_stop = [](void*) -> int32_t { return 1; };
        if (r == 1) rank.check(volta_context_set_stop(rank.context(), &stop));
        rank.save_sharded(parts);
    });
    expect_failure(results[0], VOLTA_IO_ERROR, {"rank 1 could not save: stopped before "});
    expect_failure(results[1], VOLTA_CANCELLED, {"rank 1 could not save: stopped before "});
    assert_string_equal(opened(parts).hash.c_str(), before.c_str());
    assert_int_equal(Folder::names(parts).size(), 3);
}

void test_a_rank_in_another_folder(void**) {
    const Folder folder;
    const std::string parts = folder / "parts", elsewhere = folder / "elsewhere";
    save_steps(2, 1, parts);
    save_steps(2, 1, elsewhere);
    const std::string before = opened(parts).hash;
    const std::vector<Result> results = together(2, [&](Rank& rank, uint32_t r) {
        rank.make_model();
        rank.make_trainer();
        rank.train(2);
        rank.save_sharded(r == 0 ? parts : elsewhere);
    });
    for (const Result& result : results)
        expect_failure(result, VOLTA_IO_ERROR,
                       {"rank 0 could not save: part '", "-1-of-2.part' is not in '" + parts + "'"});
    assert_string_equal(opened(parts).hash.c_str(), before.c_str());
    assert_int_equal(Folder::names(parts).size(), 3);
}

// A limit of a file's size is a full disk at that byte: parts of one rank, of all, and the manifest.
void test_a_full_disk(void**) {
    const Folder folder;
    const std::string parts = folder / "parts";
    save_steps(2, 1, parts);
    const std::string before = opened(parts).hash;
    const std::vector<std::string> names = Folder::names(parts);
    std::vector<size_t> sizes;
    sizes.reserve(names.size());
    for (const std::string& name : names) sizes.push_back(bytes_of(path_in(parts, name)).size());
    const size_t most = *std::max_element(sizes.begin(), sizes.end());
    signal(SIGXFSZ, SIG_IGN);  // so that a write reports it
    rlimit unlimited;
    getrlimit(RLIMIT_FSIZE, &unlimited);
    for (const size_t limit : {size_t{0}, size_t{100}, most - 1}) {
        std::vector<Result> failures(2);
        std::atomic<int> ready{0}, through{0};
        expect_ok(together(2, [&](Rank& rank, uint32_t r) {
            rank.make_model();
            rank.make_trainer();
            rank.train(2);
            ++ready;
            while (ready < 2) std::this_thread::yield();
            if (r == 0) {
                const rlimit small = {static_cast<rlim_t>(limit), unlimited.rlim_max};
                setrlimit(RLIMIT_FSIZE, &small);
            }
            ++ready;
            while (ready < 4) std::this_thread::yield();
            rank.save_sharded(parts);
            failures[r] = rank.result;
            rank.result = {};
            ++through;
            while (through < 2) std::this_thread::yield();
            if (r == 0) setrlimit(RLIMIT_FSIZE, &unlimited);
        }));
        for (const Result& failure : failures)
            expect_failure(failure, VOLTA_IO_ERROR, {"could not save: cannot write '", "File too large"});
        assert_string_equal(opened(parts).hash.c_str(), before.c_str());
        assert_true(Folder::names(parts) == names);
    }
    // And of one process, in its first part and in its second.
    Rank rank;
    rank.make_model();
    const rlimit small = {static_cast<rlim_t>(most / 4), unlimited.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    rank.check(volta_model_save_sharded(rank.model(), 2, parts.c_str()));
    setrlimit(RLIMIT_FSIZE, &unlimited);
    expect_failure(rank.result, VOLTA_IO_ERROR, {"cannot write '", "File too large"});
    assert_int_equal(volta_model_save_sharded(rank.model(), 2, (folder / "elsewhere").c_str()), VOLTA_OK);
    const std::string in_the_way = parts + "/" + parts_in(folder / "elsewhere")[1];
    mkdir(in_the_way.c_str(), 0777);
    rank.result.status = volta_model_save_sharded(rank.model(), 2, parts.c_str());
    rank.result.text = volta_last_error();
    rmdir(in_the_way.c_str());
    expect_failure(rank.result, VOLTA_IO_ERROR, {"cannot write '" + in_the_way + "'", "it is a directory"});
    assert_string_equal(opened(parts).hash.c_str(), before.c_str());
    assert_true(Folder::names(parts) == names);
    save_steps(2, 2, parts);
    assert_true(opened(parts).hash != before);
}

void test_two_savers(void**) {
    const Folder folder;
    const std::string parts = folder / "parts";
    save_steps(1, 1, parts);
    const int lock = open(parts.c_str(), O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    for (const uint32_t ranks : {1u, 2u}) {
        const std::vector<Result> results = together(ranks, [&](Rank& rank, uint32_t) {
            rank.make_model();
            rank.make_trainer();
            rank.train(2);
            rank.save_sharded(parts);
        });
        for (const Result& result : results)
            expect_failure(result, VOLTA_IO_ERROR, {"another process or thread is saving there"});
    }
    close(lock);
    save_steps(2, 2, parts);
}

// Between the manifest and the first part another save takes both away: what it has written is read.
struct Saver {
    Rank rank;
    std::string folder;
    int calls = 0;
    static int32_t save(void* user) {
        Saver& saver = *static_cast<Saver*>(user);
        if (saver.calls++ == 0) saver.rank.save_sharded(saver.folder);
        return 0;
    }
};

void test_a_save_while_it_is_read(void**) {
    const Folder folder;
    const std::string parts = folder / "parts";
    save_steps(2, 1, parts);
    Saver saver;
    saver.folder = parts;
    saver.rank.make_model();
    saver.rank.make_trainer();
    saver.rank.train(2);
    Rank reader;
    volta_stop_options stop = VOLTA_STOP_OPTIONS_INIT;
    stop.should_stop = Saver::save;
    stop.user = &saver;
    reader.check(volta_context_set_stop(reader.context(), &stop));
    reader.open(parts, 0);
    expect_ok({reader.result, saver.rank.result});
    assert_true(saver.calls > 1);
    assert_string_equal(reader.hash().c_str(), saver.rank.hash().c_str());
}

// Whoever opens it while it is written over and over has one save or the other.
void test_readers_during_saves(void**) {
    const Folder folder;
    const std::string parts = folder / "parts";
    std::vector<std::string> hashes;
    std::atomic<bool> is_over{false};
    save_steps(1, 1, parts);
    hashes.push_back(opened(parts).hash);
    save_steps(1, 2, parts);
    hashes.push_back(opened(parts).hash);
    Result saver;
    std::thread thread([&] {
        Rank one, two;
        for (Rank* rank : {&one, &two}) {
            rank->make_model();
            rank->make_trainer();
            rank->train(rank == &one ? 1 : 2);
        }
        while (!is_over && one.is_ok() && two.is_ok()) {
            one.save_sharded(parts);
            two.save_sharded(parts);
        }
        saver = one.is_ok() ? two.result : one.result;
    });
    Result reader;
    bool is_one_of_them = true;
    for (int i = 0; i < 300 && reader.status == VOLTA_OK && is_one_of_them; ++i) {
        reader = opened(parts);
        is_one_of_them = std::count(hashes.begin(), hashes.end(), reader.hash) == 1;
    }
    is_over = true;
    thread.join();
    expect_ok({saver, reader});
    assert_true(is_one_of_them);
}

// ---- Processes that are killed while they save ----

void sleep_us(long us) {
    const timespec time = {0, us * 1000};
    nanosleep(&time, nullptr);
}

// Rank `rank` of 2 steps and saves until it is killed, or the other is.
[[noreturn]] void save_until_killed(uint32_t r, const std::string& address, const std::string& parts,
                                    int began) {
    volta_group_options options = VOLTA_GROUP_OPTIONS_INIT;
    options.transport = "local";
    options.address = address.c_str();
    options.rank = r;
    options.size = 2;
    options.timeout = 5;
    Rank rank(&options);
    rank.open(parts);
    rank.resume();
    while (rank.is_ok()) {
        rank.train(1);
        if (write(began, "s", 1) != 1) break;
        rank.save_sharded(parts);
    }
    _exit(0);
}

void test_kills_during_saves(void**) {
    const Folder folder;
    const std::string parts = folder / "parts";
    save_steps(2, 1, parts);
    uint64_t state = 7;
    int moved = 0;
    const int kills = 60 / sample_stride();
    for (int kill = 0; kill < kills; ++kill) {
        const std::string address = folder / ("meet" + std::to_string(kill));
        mkdir(address.c_str(), 0777);
        int began[2];
        assert_int_equal(pipe(began), 0);
        const std::string before = opened(parts).hash;
        pid_t ranks[2];
        for (uint32_t r = 0; r < 2; ++r) {
            ranks[r] = fork();
            if (ranks[r] == 0) save_until_killed(r, address, parts, began[1]);
        }
        close(began[1]);
        char sign;
        for (int i = 0; i < 2 + kill % 5; ++i)
            if (read(began[0], &sign, 1) != 1) break;
        state = state * 6364136223846793005u + 1442695040888963407u;
        sleep_us(static_cast<long>((state >> 33) % 3000));
        const auto victim = ranks[kill % 2], survivor = ranks[1 - kill % 2];
        ::kill(victim, SIGKILL);
        if (kill % 3 == 0) ::kill(survivor, SIGKILL);
        for (const pid_t rank : ranks) waitpid(rank, nullptr, 0);
        close(began[0]);
        const Result after = opened(parts);
        if (after.status != VOLTA_OK) print_error("kill %d: %s\n", kill, after.text.c_str());
        assert_int_equal(after.status, VOLTA_OK);
        moved += after.hash != before;
    }
    assert_true(moved > kills / 4);  // else none of them came to save
    save_steps(2, 3, parts);         // and the next one has taken away what they left
    assert_int_equal(Folder::names(parts).size(), 3);
}

void test_arguments(void**) {
    const Folder folder;
    Rank rank;
    rank.make_model();
    rank.make_trainer();
    const std::string parts = folder / "parts";
    assert_int_equal(volta_model_save_sharded(rank.model(), 0, parts.c_str()), VOLTA_INVALID_ARGUMENT);
    assert_string_equal(volta_last_error(), "parts is 0, it must be in 1 .. 4096");
    assert_int_equal(volta_model_save_sharded(rank.model(), 4097, parts.c_str()), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(volta_model_save_sharded(rank.model(), 2, ""), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(volta_model_save_sharded(rank.model(), 2, nullptr), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(volta_model_save_sharded(nullptr, 2, parts.c_str()), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(volta_trainer_save_sharded(rank.trainer(), nullptr), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(volta_trainer_save_sharded(nullptr, parts.c_str()), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(volta_model_save_sharded(rank.model(), 2, (folder / "a file/in").c_str()), VOLTA_OK);
    put_bytes(folder / "file", "");
    assert_int_equal(volta_model_save_sharded(rank.model(), 2, (folder / "file").c_str()), VOLTA_IO_ERROR);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_kills_during_saves),  // first: it forks
        cmocka_unit_test(test_parts_of_a_model),
        cmocka_unit_test(test_what_else_is_in_the_folder_stays),
        cmocka_unit_test(test_any_ranks_write_the_same_file),
        cmocka_unit_test(test_without_shards),
        cmocka_unit_test(test_any_ranks_go_on),
        cmocka_unit_test(test_a_rank_without_memory),
        cmocka_unit_test(test_no_rank_has_the_whole),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_a_rank_that_cannot_write),
        cmocka_unit_test(test_a_rank_that_ends_in_a_save),
        cmocka_unit_test(test_a_rank_that_is_asked_to_end),
        cmocka_unit_test(test_a_rank_in_another_folder),
        cmocka_unit_test(test_a_full_disk),
        cmocka_unit_test(test_two_savers),
        cmocka_unit_test(test_a_save_while_it_is_read),
        cmocka_unit_test(test_readers_during_saves),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
