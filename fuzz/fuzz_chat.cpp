// Any bytes as a chat template beside a tokenizer and, behind its first zero byte, as the messages of a
// conversation, each up to another zero byte. The model is imported whatever the template says; the
// conversation becomes tokens of the vocabulary, of which no message makes more than one begin an answer, or
// is refused by a sentence.
#include <stdint.h>
#include <string.h>

#include <string>
#include <vector>

#include "fuzz/files.h"
#include "fuzz/import_file.h"
#include "fuzz/limits.h"

namespace {
using fuzz::expect;

constexpr size_t kMostMessages = 6;

// A model in a folder, with pieces that several formats need.
std::string make_folder() {
    const std::string& folder = fuzz::folder();
    volta_gpt_options gpt = {};
    gpt.struct_size = sizeof gpt;
    gpt.vocabulary = 300;
    gpt.layers = gpt.heads = 1;
    gpt.dim = 4;
    gpt.context = 3;
    volta_model* model = nullptr;
    expect(volta_model_create_gpt(fuzz::context(), &gpt, 1, &model) == VOLTA_OK, "gpt");
    const volta_export_options options = {sizeof options, VOLTA_NAMES_OWN, nullptr};
    const std::string weights = folder + "/model.safetensors";
    expect(volta_model_export_safetensors_with(model, &options, weights.c_str()) == VOLTA_OK, "export");
    volta_model_release(model);
    std::string vocabulary = "[UNK]\n[CLS]\n[SEP]\n";
    for (int letter = 33; letter < 127; ++letter)
        vocabulary += std::string(1, static_cast<char>(letter)) + "\n##" + static_cast<char>(letter) + "\n";
    fuzz::write_file(folder + "/vocab.txt", reinterpret_cast<const uint8_t*>(vocabulary.data()),
                     vocabulary.size());
    return folder;
}

// Up to the next zero byte, which is taken too.
std::string take_text(const uint8_t*& data, size_t& size) {
    const void* const zero = size > 0 ? memchr(data, 0, size) : nullptr;
    const size_t bytes =
        zero != nullptr ? static_cast<size_t>(static_cast<const uint8_t*>(zero) - data) : size;
    std::string text(reinterpret_cast<const char*>(data), bytes);
    const size_t taken = bytes + (zero != nullptr ? 1 : 0);
    data += taken;
    size -= taken;
    return text;
}

void encode(const volta_model* model, const std::vector<volta_chat_message>& messages, uint32_t flags) {
    std::vector<int32_t> ids(4096);
    std::vector<uint8_t> answers(4096);
    size_t count = 0;
    const volta_status status = volta_model_encode_chat(model, messages.data(), messages.size(), flags,
                                                        ids.data(), answers.data(), ids.size(), &count);
    if (status != VOLTA_OK) fuzz::expect_sentence();
    expect(status == VOLTA_OK || status == VOLTA_UNSUPPORTED || status == VOLTA_INVALID_ARGUMENT,
           "another status");
    int32_t end = -1;
    expect(status != VOLTA_OK || volta_model_get_chat_end(model, &end) == VOLTA_OK, "no end");
    size_t ends = 0;
    for (size_t i = 0; status == VOLTA_OK && i < count && i < ids.size(); ++i) {
        expect(ids[i] >= 0 && ids[i] < 300 && answers[i] <= 1, "another id");
        ends += ids[i] == end;
    }
    expect(ends <= messages.size() * 2, "a message has forged the end of another");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const std::string folder = make_folder();
    const fuzz::Limits limits(size + (size_t{1} << 20));
    const size_t whole = size;
    const std::string jinja = take_text(data, size);
    fuzz::write_file(folder + "/chat_template.jinja", reinterpret_cast<const uint8_t*>(jinja.data()),
                     jinja.size());
    volta_model* const model = fuzz::import_file(folder, fuzz::import_options(nullptr));
    expect(model != nullptr, "a template refuses the model");
    std::vector<std::string> contents;
    while (size > 0 && contents.size() < kMostMessages) contents.push_back(take_text(data, size));
    contents.push_back("last");
    std::vector<volta_chat_message> messages;
    for (size_t i = 0; i < contents.size(); ++i)
        messages.push_back({i % 2 == 0 ? "user" : "assistant", contents[i].c_str()});
    encode(model, messages, 0);
    encode(model, messages, VOLTA_CHAT_WHOLE);
    // One of the formats, whatever the template says; all of them take what most of the time would go to.
    static const size_t formats = [] {
        size_t count = 0;
        while (volta_chat_format_name(count) != nullptr) ++count;
        return count;
    }();
    if (volta_model_set_chat_format(model, volta_chat_format_name(whole % formats), nullptr) == VOLTA_OK)
        encode(model, messages, VOLTA_CHAT_WHOLE);
    limits.check_time();
    volta_model_release(model);
    return 0;
}
