// Files that are no model: what a checkout, a server or another program leaves under its name is said.
#include "engine/import/file_kind.h"
#include "engine/import/import_error.h"
#include "engine/import/import_model.h"
#include "engine/import/tokenizer_files.h"
#include "tests/import/gpt_files.h"
#include "tests/model/test_heap.h"
#include "tests/support/errors.h"

namespace {
using namespace volta;
using namespace volta::test;
using namespace std::string_literals;

const std::string kPointer =
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
const std::string kFill(64, '\x55');

struct Kind {
    std::string bytes;
    const char* text;
};
const Kind kKinds[] = {
    {kPointer,
     "it is a pointer of git LFS, which stands for a file that was not fetched: run 'git lfs pull'"},
    {"<!DOCTYPE html>\n<html><head>" + kFill, "it is a page of HTML"},
    {"<!doctype html><html>" + kFill, "it is a page of HTML"},
    {"\n\n  <html lang=\"en\">" + kFill, "it is a page of HTML"},
    {"<HTML>" + kFill, "it is a page of HTML"},
    {"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>", "it is XML"},
    {"PK\3\4"s + kFill,
     "it is a zip archive, as PyTorch writes them: convert it first with tools/pt_to_safetensors.py"},
    {"\x80\x02}q\x01"s + kFill, "it is a pickle, as PyTorch writes them: convert it first"},
    {"\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19."s + kFill, "it is a pickle"},
    {"\x80\2ccollections\nOrderedDict\n"s + kFill, "it is a pickle"},
    {"\x80\x04\x95\x10\0\0\0\0\0\0\0"s + kFill, "it is a pickle"},
    {"\x1f\x8b\x08\0\0\0\0\0"s + kFill, "it is compressed by gzip: unpack it first"},
    {"\x28\xb5\x2f\xfd"s + kFill, "it is compressed by zstd"},
    {"\xfd\x37zXZ\0"s + kFill, "it is compressed by xz"},
    {"BZh91AY&SY"s + kFill, "it is compressed by bzip2"},
    {"\x89HDF\r\n\x1a\n"s + kFill, "it is an HDF5 file"},
    {"\x93NUMPY\1\0"s + kFill, "it is an array of NumPy"},
    {"tjgg\3\0\0\0"s + kFill, "it is a GGML file of before GGUF"},
    {"lmgg"s + kFill, "it is a GGML file of before GGUF"},
    {std::string(257, 'a') + "ustar" + kFill, "it is a tar archive"},
    {"", "it is empty"},
    {"Entry not found", "it is no file of weights that is known"},
    {std::string(4096, '\0'), "it begins with zeros"},
    {R"({"error": "Repository not found"})", "it is JSON but no index of weights: it has no weight_map"},
    {"{\"a\": ", "it is no valid JSON at byte"},
};

void test_a_file_that_is_none_of_weights(void**) {
    TestHeap heap;
    TemporaryFolder folder;
    folder.write("config.json", R"({"model_type": "gpt2", "n_head": 4})");
    for (const Kind& kind : kKinds) {
        const std::string path = folder.write("model.safetensors", kind.bytes);
        const Failure failure =
            failure_of([&] { import_model(path.c_str(), {}, heap.structures(), heap.tensors()); });
        assert_failure(failure, failure.status, kind.text);
        assert_true(failure.status == VOLTA_UNSUPPORTED || failure.status == VOLTA_CORRUPT_MODEL);
    }
    assert_int_equal(heap.held, 0);
}

// Its first byte is the least of the header's length: a brace, of 123 bytes and of every 256 more.
void test_a_length_that_is_a_brace(void**) {
    TestHeap heap;
    TemporaryFolder folder;
    folder.write("config.json", R"({"model_type": "gpt2", "n_head": 4})");
    const auto model = create_gpt(small_gpt(), 7, heap.structures(), heap.tensors());
    const std::string bytes = safetensors_of(gpt2_tensors(*model, 2, ""));
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    std::string header = bytes.substr(8, length);
    while (header.size() % 256 != '{') header += ' ';
    const std::string path = folder.write("m.safetensors", safetensors(header, bytes.substr(8 + length)));
    import_model(path.c_str(), {}, heap.structures(), heap.tensors());
}

// The same beside the weights: a part of several, the config, the index, the tokenizer's files.
void test_a_pointer_anywhere_is_named(void**) {
    TestHeap heap;
    TemporaryFolder folder;
    const auto model = create_gpt(small_gpt(), 7, heap.structures(), heap.tensors());
    const std::string weights = folder.write("m.safetensors", safetensors_of(gpt2_tensors(*model, 2, "")));
    const auto refusal = [&](const std::string& path) {
        return failure_of([&] { import_model(path.c_str(), {}, heap.structures(), heap.tensors()); });
    };
    folder.write("part", kPointer);
    const std::string index = folder.write("m.index.json", R"({"weight_map": {"wte.weight": "part"}})");
    assert_failure(refusal(index), VOLTA_UNSUPPORTED, "in its file 'part': it is a pointer of git LFS");
    folder.write("part", "<html>");
    assert_failure(refusal(index), VOLTA_UNSUPPORTED, "in its file 'part': it is a page of HTML");
    folder.write("part", "");
    assert_failure(refusal(index), VOLTA_CORRUPT_MODEL, "in its file 'part': it is empty");
    folder.write("part", kFill);
    assert_failure(refusal(index), VOLTA_CORRUPT_MODEL,
                   "in its file 'part': it is no safetensors file: its header would have");
    const std::string config = folder.write("config.json", kPointer);
    const Failure failure = refusal(weights);
    assert_failure(failure, VOLTA_UNSUPPORTED, "the config is a pointer of git LFS");
    assert_failure(failure, VOLTA_UNSUPPORTED, config.c_str());
    for (const WeightFormat format :
         {WeightFormat::safetensors, WeightFormat::gguf, WeightFormat::llama2c}) {  // as the host says
        ImportOptions options;
        options.format = format;
        const std::string path = folder.write("named", kPointer);
        assert_failure(
            failure_of([&] { import_model(path.c_str(), options, heap.structures(), heap.tensors()); }),
            VOLTA_UNSUPPORTED, "it is a pointer of git LFS");
    }
    for (const TokenizerFormat format :
         {TokenizerFormat::automatic, TokenizerFormat::json, TokenizerFormat::gguf, TokenizerFormat::llama2c,
          TokenizerFormat::bert}) {
        const std::string path = folder.write("tokenizer.json", kPointer);
        assert_failure(failure_of([&] { open_tokenizer(path.c_str(), format, heap.structures()); }),
                       VOLTA_UNSUPPORTED, "it is a pointer of git LFS");
    }
    folder.write("vocab.json", kPointer);
    const std::string merges = folder.write("merges.txt", "a b\n");
    const std::string pieces = folder.file("vocab.json");
    const auto pair = [&] {
        return failure_of(
            [&] { open_tokenizer(pieces.c_str(), TokenizerFormat::automatic, heap.structures()); });
    };
    assert_failure(pair(), VOLTA_UNSUPPORTED, "the file of pieces is a pointer of git LFS");
    folder.write("vocab.json", R"({"a": 0, "b": 1, "ab": 2})");
    folder.write("merges.txt", kPointer);
    assert_failure(pair(), VOLTA_UNSUPPORTED, "the file of merges is a pointer of git LFS");
    for (const char* bytes : {"", "\n \n"}) {
        const std::string path = folder.write("t", bytes);
        assert_failure(
            failure_of([&] { open_tokenizer(path.c_str(), TokenizerFormat::automatic, heap.structures()); }),
            VOLTA_CORRUPT_MODEL, "it is empty");
    }
}

// A path is said once: in the sentence itself, in quotes, or behind it.
void test_a_path_is_said_once(void**) {
    const auto about = [](const char* text) {
        return failure_of([&] { fail_about(Error(VOLTA_IO_ERROR, text), "cannot open", "a.b"); });
    };
    assert_string_equal(about("cannot read 'a.b'").text, "cannot open: cannot read 'a.b'");
    assert_string_equal(about("a.b or 'a.b' is wrong").text, "cannot open: a.b or 'a.b' is wrong");
    assert_string_equal(about("'a.bc' is wrong").text, "cannot open: 'a.bc' is wrong ('a.b')");
    assert_string_equal(about("it is empty").text, "cannot open: it is empty ('a.b')");
    assert_int_equal(about("it is empty").status, VOLTA_IO_ERROR);
}

void test_a_survey_is_of_onnx(void**) {
    TestHeap heap;
    TemporaryFolder folder;
    const auto survey = [&](const std::string& bytes) {
        const std::string path = folder.write("m.onnx", bytes);
        return failure_of([&] { survey_model(path.c_str(), {}, heap.structures()); });
    };
    assert_failure(survey("<!DOCTYPE html>\n<html>" + kFill), VOLTA_UNSUPPORTED,
                   "cannot survey the model: it is a page of HTML, as a server sends");
    assert_failure(survey(kFill), VOLTA_UNSUPPORTED, "cannot survey the model: it is no ONNX file ('");
    assert_int_equal(heap.held, 0);
}

// A download that stopped: how long the file is, and how long it would be.
void test_a_download_that_stopped(void**) {
    TestHeap heap;
    TemporaryFolder folder;
    const auto model = create_gpt(small_gpt(), 7, heap.structures(), heap.tensors());
    folder.write("config.json", R"({"model_type": "gpt2", "n_head": 4})");
    const std::string whole = safetensors_of(gpt2_tensors(*model, 2, ""));
    for (const std::size_t bytes : {whole.size() - 1, whole.size() / 2}) {
        const std::string path = folder.write("m.safetensors", whole.substr(0, bytes));
        char text[96];
        std::snprintf(text, sizeof text, "it is cut: its tensors make a file of %zu bytes, it has %zu",
                      whole.size(), bytes);
        assert_failure(failure_of([&] { import_model(path.c_str(), {}, heap.structures(), heap.tensors()); }),
                       VOLTA_CORRUPT_MODEL, text);
    }
}

// The first bytes of files that are read are none of another kind; a llama2.c file of 640 columns begins like
// a pickle.
void test_files_that_are_read_are_no_other_kind(void**) {
    for (const std::string& bytes :
         {"GGUF\3\0\0\0"s, "{\"a\": 1}"s, "\x60\0\0\0\0\0\0\0{\"__"s, "VOLTA"s, "\x80\2\0\0\0\7\0\0"s,
          "\x80\2"s, "[PAD]\n"s, "#version: 0.2\n"s, "<s>\n</s>\n"s, "<unk>"s, "<|endoftext|>"s, "a b\n"s,
          "\x1f\x8b\0\0"s, ""s, "\n"s})
        assert_null(other_file_kind(bytes));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_that_is_none_of_weights),
        cmocka_unit_test(test_a_length_that_is_a_brace),
        cmocka_unit_test(test_a_pointer_anywhere_is_named),
        cmocka_unit_test(test_a_path_is_said_once),
        cmocka_unit_test(test_a_survey_is_of_onnx),
        cmocka_unit_test(test_a_download_that_stopped),
        cmocka_unit_test(test_files_that_are_read_are_no_other_kind),
    };
    return cmocka_run_group_tests_name("import_files", tests, nullptr, nullptr);
}
