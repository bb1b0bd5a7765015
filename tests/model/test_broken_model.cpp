// Hostile files: every defect of the table is named, every truncation and every flipped bit is noticed.
#include <cstring>
#include <string>

#include "engine/model/model_file.h"
#include "tests/model/defects.h"
#include "tests/model/expect_error.h"
#include "tests/model/model_editor.h"
#include "tests/model/test_heap.h"
#include "tests/support/cmocka_cpp.h"

namespace {
using namespace volta;
using namespace volta::test;

const std::string& base_bytes(Base base) {
    static const std::string gpt = read_bytes("golden/models/gpt_v1.0.volta");
    static const std::string graph = read_bytes("golden/models/graph_v1.0.volta");
    return base == Base::gpt ? gpt : graph;
}

// The bytes end where an allocation ends, so that AddressSanitizer sees any read beyond them.
class Exact {
  public:
    explicit Exact(std::string_view bytes) : bytes_(bytes.size()) {
        const std::size_t whole = (bytes.size() + 63) / 64 * 64;
        if (posix_memalign(&block_, 64, whole == bytes.size() && whole > 0 ? whole : bytes.size() + 1) != 0)
            std::abort();
        std::memcpy(block_, bytes.data(), bytes.size());
    }
    ~Exact() { std::free(block_); }
    Exact(const Exact&) = delete;
    Exact& operator=(const Exact&) = delete;
    Failure load(const ReadOptions& options, TestHeap& heap) const {
        return failure_of([&] { read_model(block_, bytes_, options, heap.structures(), heap.tensors()); });
    }

  private:
    void* block_ = nullptr;
    std::size_t bytes_;
};

const ReadOptions kWays[] = {{LoadMode::map, false}, {LoadMode::map, true}, {LoadMode::copy, false}};

bool is_refusal(volta_status status) { return status == VOLTA_CORRUPT_MODEL || status == VOLTA_UNSUPPORTED; }

void expect_defect(const Defect& defect, const std::string& bytes) {
    TestHeap heap;
    const Exact file(bytes);
    for (const ReadOptions& way : kWays) {
        const bool looks = !defect.only_verified || way.verify_checksums || way.mode == LoadMode::copy;
        const Failure failure = file.load(way, heap);
        const bool right = looks ? failure.status == defect.status && failure.mentions(defect.reason)
                                 : failure.status == VOLTA_OK;
        if (!right)
            print_error("%s: expected %d \"%s\", got %d \"%s\"\n", defect.name,
                        static_cast<int>(defect.status), looks ? defect.reason : "",
                        static_cast<int>(failure.status), failure.text);
        assert_true(right);
    }
    assert_int_equal(heap.held, 0);
}

void test_the_bases_are_whole(void**) {
    for (const Base base : {Base::graph, Base::gpt}) {
        TestHeap heap;
        ModelEditor editor;
        assert_true(take_apart(base_bytes(base), &editor));
        const Exact rebuilt(put_together(editor));  // so a defect's file is broken by the defect alone
        for (const ReadOptions& way : kWays) {
            const Failure failure = rebuilt.load(way, heap);
            if (failure.status != VOLTA_OK) print_error("%s\n", failure.text);
            assert_int_equal(failure.status, VOLTA_OK);
        }
    }
}

void test_defect_is_named(void** state) {
    const auto& defect = *static_cast<const Defect*>(*state);
    expect_defect(defect, make_broken(defect, base_bytes(defect.base)));
    if (!defect.committed) return;
    const std::string committed = read_bytes("golden/models/" + broken_path(defect));
    assert_true(!committed.empty() || std::strcmp(defect.name, "empty") == 0);
    expect_defect(defect, committed);
}

// Strings that a million tables share cost nothing in the file and gigabytes in memory.
void test_shared_strings_are_refused(void**) {
    flatbuffers::FlatBufferBuilder builder;
    const auto big = builder.CreateString(std::string(4096, 'x'));
    std::vector<flatbuffers::Offset<object::KeyValue>> entries;
    for (int i = 0; i < 10000; ++i) {
        const auto key = builder.CreateString("key" + std::to_string(100000 + i));
        entries.push_back(object::CreateKeyValue(builder, key, big));
    }
    const auto metadata = builder.CreateVector(entries);
    const auto producer = builder.CreateString("Volta 0.1.0");
    const auto tensors = builder.CreateVector(std::vector<flatbuffers::Offset<object::Tensor>>());
    const auto nodes = builder.CreateVector(std::vector<flatbuffers::Offset<object::Node>>());
    const auto outputs = builder.CreateVector(std::vector<flatbuffers::Offset<object::Output>>());
    const auto graph = object::CreateGraph(builder, nodes, outputs);
    object::FinishModelBuffer(builder, object::CreateModel(builder, producer, 0, 1, object::Level::strict, 0,
                                                           tensors, graph, 0, metadata));
    const Exact file(
        frame({reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()}, ""));
    TestHeap heap;
    const Failure failure = file.load(kWays[0], heap);
    assert_int_equal(failure.status, VOLTA_CORRUPT_MODEL);
    assert_true(failure.mentions("overlap"));
    assert_true(heap.calls < 100);  // refused before anything was made of it
}

void test_every_truncation_is_noticed(void**) {
    const std::string& whole = base_bytes(Base::graph);
    TestHeap heap;
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const Exact file(std::string_view(whole).substr(0, size));
        for (const ReadOptions& way : kWays) {
            const Failure failure = file.load(way, heap);
            if (failure.status != VOLTA_CORRUPT_MODEL) print_error("%zu bytes: %s\n", size, failure.text);
            assert_int_equal(failure.status, VOLTA_CORRUPT_MODEL);
        }
    }
}

// Bits of the frame and the metadata always; bits of tensors when checksums are compared.
void test_every_flipped_bit_is_noticed(void**) {
    const std::string& whole = base_bytes(Base::graph);
    std::uint32_t metadata_bytes;
    std::memcpy(&metadata_bytes, whole.data() + 12, sizeof metadata_bytes);
    const std::size_t data = (32 + metadata_bytes + 63) / 64 * 64;
    TestHeap heap;
    for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
        std::string flipped = whole;
        flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
        const Exact file(flipped);
        const volta_status mapped = file.load(kWays[0], heap).status,
                           copied = file.load(kWays[2], heap).status;
        const bool in_metadata = bit / 8 < data;
        const bool right = is_refusal(copied) && (is_refusal(mapped) || (!in_metadata && mapped == VOLTA_OK));
        if (!right)
            print_error("bit %zu: mapped %d, copied %d\n", bit, static_cast<int>(mapped),
                        static_cast<int>(copied));
        assert_true(right);
    }
}

// The same bits with the checksum made right again: whatever the parser makes of them, it does so safely.
void test_flipped_bits_behind_a_right_checksum_are_harmless(void**) {
    const std::string& whole = base_bytes(Base::graph);
    std::uint32_t metadata_bytes;
    std::memcpy(&metadata_bytes, whole.data() + 12, sizeof metadata_bytes);
    const std::string metadata = whole.substr(16, metadata_bytes);
    const std::string data = whole.substr((32 + metadata_bytes + 63) / 64 * 64);
    int loaded = 0;
    for (std::size_t bit = 0; bit < metadata.size() * 8; ++bit) {
        std::string flipped = metadata;
        flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
        TestHeap heap;
        const Exact file(frame(flipped, data));
        const Failure failure = file.load(kWays[bit % 3], heap);
        assert_true(failure.status == VOLTA_OK || is_refusal(failure.status));
        assert_int_equal(heap.held, 0);
        loaded += failure.status == VOLTA_OK;
    }
    print_message("%d of %zu changed files still are models\n", loaded, metadata.size() * 8);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_the_bases_are_whole),
        cmocka_unit_test(test_shared_strings_are_refused),
        cmocka_unit_test(test_every_truncation_is_noticed),
        cmocka_unit_test(test_every_flipped_bit_is_noticed),
        cmocka_unit_test(test_flipped_bits_behind_a_right_checksum_are_harmless),
    };
    struct Rows {
        const Defect* begin() const { return kDefects; }
        const Defect* end() const { return kDefects + kDefectCount; }
    };
    const int failed =
        run_rows("defects", Rows(), test_defect_is_named, [](const Defect& d) { return d.name; });
    return failed + cmocka_run_group_tests(tests, nullptr, nullptr);
}
