// Any bytes as the other files of tokenizers. The first byte chooses: 'l', a tokenizer of llama2.c; 'j', a
// tokenizer.json; 'v', a vocab.txt of BERT; 's', a tokenizer.model; anything else, GPT-2's pair of files,
// encoder.json up to the first zero byte and vocab.bpe behind it.
#include "fuzz/open_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const std::string folder = fuzz::folder();
    if (size == 0) return 0;
    const char kind = static_cast<char>(data[0]);
    ++data;
    --size;
    const struct {
        char kind;
        const char* name;
        volta_tokenizer_format format;
    } single[] = {{'l', "/tokenizer.bin", VOLTA_TOKENIZER_LLAMA2C},
                  {'j', "/tokenizer.json", VOLTA_TOKENIZER_JSON},
                  {'v', "/vocab.txt", VOLTA_TOKENIZER_BERT},
                  {'s', "/tokenizer.model", VOLTA_TOKENIZER_SENTENCEPIECE}};
    for (const auto& row : single) {
        if (row.kind != kind) continue;
        fuzz::write_file(folder + row.name, data, size);
        fuzz::open_and_use(folder + row.name, row.format, data, size);
        return 0;
    }
    const void* zero = size > 0 ? memchr(data, 0, size) : nullptr;
    const size_t cut = zero != nullptr ? static_cast<size_t>(static_cast<const uint8_t*>(zero) - data) : size;
    fuzz::write_file(folder + "/encoder.json", data, cut);
    const size_t merges = zero != nullptr ? cut + 1 : size;
    fuzz::write_file(folder + "/vocab.bpe", data + merges, size - merges);
    fuzz::open_and_use(folder, VOLTA_TOKENIZER_GPT2, data, size);
    return 0;
}
