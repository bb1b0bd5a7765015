// The safetensors container: what it gives, and one refusal per way to be wrong.
#include "engine/import/safetensors.h"

#include "tests/model/test_heap.h"
#include "tests/support/errors.h"
#include "tests/support/weight_files.h"

namespace {
using namespace volta;
using namespace volta::test;

const std::string kTwo = R"({"__metadata__":{"format":"pt","by":"h\u00e4nd"},)"
                         R"("b":{"dtype":"F32","shape":[2,2],"data_offsets":[8,24]},)"
                         R"("a":{"data_offsets":[0,8],"dtype":"F16","shape":[4]}}   )";

void test_tensors_and_texts_are_read(void**) {
    TemporaryFolder folder;
    TestHeap heap;
    {
        const std::string path = folder.write("m.safetensors", safetensors(kTwo, std::string(24, 'x')));
        const WeightSource source = read_safetensors(path.c_str(), heap.structures());
        assert_int_equal(source.tensors.size(), 2);
        assert_string_equal(source.tensors[0].name.c_str(), "a");
        assert_string_equal(source.tensors[0].type->name, "F16");
        assert_true(source.tensors[0].shape == Shape{4});
        assert_int_equal(source.tensors[0].bytes, 8);
        assert_true(source.find("b")->shape == (Shape{2, 2}));
        assert_ptr_equal(source.find("b")->data, source.find("a")->data + 8);
        assert_null(source.find("c"));
        assert_string_equal(source.find_text("by")->c_str(), "h\xc3\xa4nd");
    }
    assert_int_equal(heap.held, 0);
}

struct Refusal {
    const char* name;
    std::string bytes;
    volta_status status;
    const char* text;
};

std::string one(const char* fields, std::size_t data_bytes = 16) {
    return safetensors(std::string("{\"w\":{") + fields + "}}", std::string(data_bytes, '\0'));
}

const std::string kDeep = std::string(40, '[');
const Refusal kRefusals[] = {
    {"empty file", "", VOLTA_CORRUPT_MODEL, "it is empty"},
    {"header beyond the file", std::string("\x10\0\0\0\0\0\0\0{}", 10), VOLTA_CORRUPT_MODEL,
     "it is cut: its header makes a file of at least 24 bytes, it has 10"},
    {"header above the limit", std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10), VOLTA_CORRUPT_MODEL,
     "18446744073709551615 bytes"},
    {"no header", safetensors("", ""), VOLTA_CORRUPT_MODEL, "its header is no valid JSON at byte"},
    {"cut JSON", safetensors("{\"w\":{", ""), VOLTA_CORRUPT_MODEL, "its header is no valid JSON at byte"},
    {"text behind the JSON", safetensors("{} {}", ""), VOLTA_CORRUPT_MODEL, "no valid JSON"},
    {"bad UTF-8", safetensors("{\"\xff\":{}}", ""), VOLTA_CORRUPT_MODEL, "no valid JSON"},
    {"a list", safetensors("[]", ""), VOLTA_CORRUPT_MODEL, "the header is no object"},
    {"deep", safetensors("{\"w\":" + kDeep, ""), VOLTA_CORRUPT_MODEL, "a member of the header is no object"},
    {"deep in a field", safetensors("{\"w\":{\"shape\":" + kDeep, ""), VOLTA_CORRUPT_MODEL,
     "no list of extents"},
    {"number as tensor", safetensors("{\"w\":3}", ""), VOLTA_CORRUPT_MODEL,
     "a member of the header is no object"},
    {"number as text", safetensors("{\"__metadata__\":{\"a\":1}}", ""), VOLTA_CORRUPT_MODEL,
     "a member of '__metadata__' is no text"},
    {"empty name", safetensors("{\"\":{\"dtype\":\"F32\"}}", ""), VOLTA_CORRUPT_MODEL, "is empty"},
    {"control character", safetensors("{\"a\\n\":{\"dtype\":\"F32\"}}", ""), VOLTA_CORRUPT_MODEL,
     "control character"},
    {"foreign field", one("\"bits\":4"), VOLTA_CORRUPT_MODEL, "tensor 'w' has a field that is neither"},
    {"no dtype", one("\"shape\":[4],\"data_offsets\":[0,16]"), VOLTA_CORRUPT_MODEL,
     "tensor 'w' has no dtype"},
    {"unknown dtype", one("\"dtype\":\"F7\""), VOLTA_UNSUPPORTED, "tensor 'w' has the dtype 'F7'"},
    {"number as dtype", one("\"dtype\":7"), VOLTA_CORRUPT_MODEL, "a dtype that is no text"},
    {"two dtypes", one("\"dtype\":\"F32\",\"dtype\":\"F32\""), VOLTA_CORRUPT_MODEL, "two dtypes"},
    {"no shape", one("\"dtype\":\"F32\",\"data_offsets\":[0,16]"), VOLTA_CORRUPT_MODEL,
     "tensor 'w' has no shape"},
    {"negative extent", one("\"shape\":[-4]"), VOLTA_CORRUPT_MODEL, "no list of extents"},
    {"fraction as extent", one("\"shape\":[4.0]"), VOLTA_CORRUPT_MODEL, "no list of extents"},
    {"extent of 2^64", one("\"shape\":[18446744073709551616]"), VOLTA_CORRUPT_MODEL, "no list of extents"},
    {"nine extents", one("\"shape\":[1,1,1,1,1,1,1,1,1]"), VOLTA_CORRUPT_MODEL, "more than 8 extents"},
    {"product overflows", one("\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,16]"),
     VOLTA_CORRUPT_MODEL, "[4294967296, 4294967296] of tensor 'w' is too large"},
    {"no offsets", one("\"dtype\":\"F32\",\"shape\":[4]"), VOLTA_CORRUPT_MODEL, "has no data_offsets"},
    {"one offset", one("\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0]"), VOLTA_CORRUPT_MODEL,
     "has no data_offsets"},
    {"three offsets", one("\"data_offsets\":[0,16,16]"), VOLTA_CORRUPT_MODEL, "no list of two offsets"},
    {"offsets turned round", one("\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[16,0]"),
     VOLTA_CORRUPT_MODEL, "lies at bytes 16 to 0 of 16"},
    {"beyond the file", one("\"dtype\":\"F32\",\"shape\":[5],\"data_offsets\":[0,20]"), VOLTA_CORRUPT_MODEL,
     "it is cut: its tensors make a file of"},
    {"shape and bytes disagree", one("\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,16]"),
     VOLTA_CORRUPT_MODEL, "has 16 bytes, it needs 12"},
    {"bytes at the end", one("\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]", 17),
     VOLTA_CORRUPT_MODEL, "1 bytes at the end of the file belong to no tensor"},
    {"a hole", one("\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[4,20]", 20), VOLTA_CORRUPT_MODEL,
     "tensor 'w' lies behind bytes that belong to none"},
    {"overlap",
     safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                 R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                 std::string(12, '\0')),
     VOLTA_CORRUPT_MODEL, "tensor 'b' overlaps another"},
    {"a name twice",
     safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                 R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                 std::string(8, '\0')),
     VOLTA_CORRUPT_MODEL, "tensor 'a' is there twice"},
};

void test_refusal(void** state) {
    const auto& refusal = *static_cast<const Refusal*>(*state);
    TemporaryFolder folder;
    TestHeap heap;
    const std::string path = folder.write("m.safetensors", refusal.bytes);
    assert_failure(failure_of([&] { read_safetensors(path.c_str(), heap.structures()); }), refusal.status,
                   refusal.text);
    assert_int_equal(heap.held, 0);
}

void test_real_files(void**) {
    const struct {
        const char* name;
        std::size_t tensors;
    } files[] = {{"safetensors/iree_empty.safetensors", 0},
                 {"safetensors/iree_single.safetensors", 1},
                 {"safetensors/iree_multiple.safetensors", 3},
                 {"safetensors/iree_parameter_weight_bias_1.safetensors", 2},
                 {"safetensors/silero_vad_16k.safetensors", 15},
                 {"safetensors/cifar10_resnet20.safetensors", 97}};
    for (const auto& file : files) {
        const std::string path = real_file(file.name);
        if (path.empty()) skip();
        TestHeap heap;
        const WeightSource source = read_safetensors(path.c_str(), heap.structures());
        assert_int_equal(source.tensors.size(), file.tensors);
    }
}

std::string shard(const char* name, float value) {
    SafetensorsWriter writer;
    writer.add(name, {1}, {value});
    return writer.bytes();
}

void test_an_index_joins_its_files(void**) {
    TemporaryFolder folder;
    TestHeap heap;
    folder.write("m-1.safetensors", shard("b", 1));
    folder.write("m-2.safetensors", shard("a", 2));
    const std::string path =
        folder.write("m.safetensors.index.json", R"({"metadata":{"total_size":8},"weight_map":)"
                                                 R"({"a":"m-2.safetensors","b":"m-1.safetensors"}})");
    const WeightSource source = read_safetensors_index(path.c_str(), heap.structures());
    assert_int_equal(source.tensors.size(), 2);
    assert_int_equal(source.files.size(), 2);
    float values[2];
    std::memcpy(values, source.find("a")->data, 4);
    std::memcpy(values + 1, source.find("b")->data, 4);
    assert_true(values[0] == 2 && values[1] == 1);
}

void test_an_index_is_as_hostile_as_its_files(void**) {
    const struct {
        const char *index, *text;
        volta_status status;
    } cases[] = {
        {"[]", "the index is no object", VOLTA_CORRUPT_MODEL},
        {"{}", "it has no weight_map", VOLTA_CORRUPT_MODEL},
        {R"({"weight_map":[]})", "no object of file names", VOLTA_CORRUPT_MODEL},
        {R"({"weight_map":{"a":{}}})", "no object of file names", VOLTA_CORRUPT_MODEL},
        {R"({"weight_map":{"a":"../m-1.safetensors"}})", "'../m-1.safetensors', which is no plain file name",
         VOLTA_CORRUPT_MODEL},
        {R"({"weight_map":{"a":"/etc/passwd"}})", "no plain file name", VOLTA_CORRUPT_MODEL},
        {R"({"weight_map":{"a":".."}})", "no plain file name", VOLTA_CORRUPT_MODEL},
        {R"({"weight_map":{"a":""}})", "no plain file name", VOLTA_CORRUPT_MODEL},
        {R"({"weight_map":{"b":"missing"}})", "missing", VOLTA_IO_ERROR},
        {R"({"weight_map":{"a":"m-1.safetensors"}})", "tensor 'b' of its file 'm-1.safetensors' is not in",
         VOLTA_CORRUPT_MODEL},
        {R"({"weight_map":{"a":"m-1.safetensors","b":"m-1.safetensors"}})",
         "puts tensor 'a' into 'm-1.safetensors'", VOLTA_CORRUPT_MODEL},
        {R"({"weight_map":{"b":"bad"}})", "in its file 'bad': ", VOLTA_CORRUPT_MODEL},
    };
    for (const auto& test : cases) {
        TemporaryFolder folder;
        TestHeap heap;
        folder.write("m-1.safetensors", shard("b", 1));
        folder.write("bad", "bad");
        const std::string path = folder.write("m.index.json", test.index);
        assert_failure(failure_of([&] { read_safetensors_index(path.c_str(), heap.structures()); }),
                       test.status, test.text);
        assert_int_equal(heap.held, 0);
    }
}

// "prefix0":value,"prefix1":value,...
std::string members(const char* prefix, int count, const std::string& value) {
    std::string json;
    for (int i = 0; i < count; ++i)
        json += (i > 0 ? ",\"" : "\"") + (prefix + std::to_string(i)) + "\":" + value;
    return json;
}

// Lists end before they cost more than a model of that size could.
void test_lists_have_a_limit(void**) {
    TemporaryFolder folder;
    TestHeap heap;
    const auto read = [&](const std::string& header) {
        const std::string path = folder.write("m.safetensors", safetensors(header, ""));
        return failure_of([&] { read_safetensors(path.c_str(), heap.structures()); });
    };
    const std::string empty = R"({"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
    const auto texts = [&](int count) { return "{\"__metadata__\":{" + members("t", count, "\"x\"") + "}}"; };
    assert_failure(read(texts(4096)), VOLTA_OK, "");
    assert_failure(read(texts(4097)), VOLTA_CORRUPT_MODEL, "'__metadata__' has more than 4096 members");
    assert_failure(read("{" + members("t", 16384, empty) + "}"), VOLTA_OK, "");
    assert_failure(read("{" + members("t", 16385, empty) + "}"), VOLTA_CORRUPT_MODEL,
                   "it has more than 16384 tensors");

    const auto join = [&](const std::string& places) {
        const std::string path = folder.write("m.index.json", "{\"weight_map\":{" + places + "}}");
        return failure_of([&] { read_safetensors_index(path.c_str(), heap.structures()); });
    };
    assert_failure(join(members("t", 16385, "\"m\"")), VOLTA_CORRUPT_MODEL, "it has more than 16384 tensors");
    std::string places;
    for (int i = 0; i < 1025; ++i)
        places += (i > 0 ? ",\"t" : "\"t") + std::to_string(i) + "\":\"f" + std::to_string(i) + "\"";
    assert_failure(join(places), VOLTA_CORRUPT_MODEL,
                   "its weight_map names 1025 files, at most 1024 are read");
    assert_int_equal(heap.held, 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors_and_texts_are_read),
        cmocka_unit_test(test_real_files),
        cmocka_unit_test(test_an_index_joins_its_files),
        cmocka_unit_test(test_an_index_is_as_hostile_as_its_files),
        cmocka_unit_test(test_lists_have_a_limit),
    };
    const int failed = cmocka_run_group_tests_name("safetensors", tests, nullptr, nullptr);
    return failed + run_rows("safetensors_refusals", kRefusals, test_refusal,
                             [](const Refusal& refusal) { return refusal.name; });
}
