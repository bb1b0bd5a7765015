// Any bytes as a GGUF file: the container, and the tokenizer in it.
#include "fuzz/open_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const std::string path = fuzz::folder() + "/file.gguf";
    fuzz::write_file(path, data, size);
    fuzz::open_and_use(path, VOLTA_TOKENIZER_GGUF, data, size);
    return 0;
}
