#include "engine/model/split_words.h"

#include <cstdint>
#include <new>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "engine/base/error.h"
#include "engine/model/text.h"

namespace volta {
namespace {

// What GPT-2 was trained with: contractions, letters, numbers and the rest, each with the space before it,
// then white space, of which the last one goes to the word that follows.
constexpr const char kGpt2[] =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// The expression needs a few steps for each character; a text is cut off from more.
constexpr std::uint32_t kMatchLimit = 100'000'000, kDepthLimit = 1000, kHeapLimitKiB = 1024;

// PCRE2 frees without saying how much, so each block knows it.
struct alignas(16) BlockHeader {
    std::size_t bytes;
};

void* allocate(std::size_t bytes, void* heap) {
    try {
        const std::size_t whole = sizeof(BlockHeader) + bytes;
        if (whole < bytes) return nullptr;
        void* block = static_cast<std::pmr::memory_resource*>(heap)->allocate(whole, alignof(BlockHeader));
        return new (block) BlockHeader{whole} + 1;
    } catch (...) {
        return nullptr;  // no exception may pass through C; the caller sees the NULL
    }
}

void give_back(void* pointer, void* heap) {
    if (pointer == nullptr) return;
    BlockHeader* header = static_cast<BlockHeader*>(pointer) - 1;
    static_cast<std::pmr::memory_resource*>(heap)->deallocate(header, header->bytes, alignof(BlockHeader));
}

template <class T>
T* allocated(T* made) {
    if (made == nullptr) throw std::bad_alloc();
    return made;
}

pcre2_code* compile(const char* expression, pcre2_general_context* memory) {
    pcre2_compile_context* context = allocated(pcre2_compile_context_create(memory));
    int error = 0;
    std::size_t offset = 0;
    pcre2_code* code =
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression), PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | PCRE2_UCP | PCRE2_NO_START_OPTIMIZE, &error, &offset, context);
    pcre2_compile_context_free(context);
    if (code == nullptr && error != PCRE2_ERROR_HEAP_FAILED)
        fail(VOLTA_INTERNAL, "the expression that splits words is wrong at %zu (%d)", offset, error);
    return allocated(code);
}

}  // namespace

WordSplitter::WordSplitter(WordSplit split, std::pmr::memory_resource* heap) : heap_(heap) {
    if (split == WordSplit::none) return;
    try {
        memory_ = allocated(pcre2_general_context_create(allocate, give_back, heap_));
        limits_ = allocated(pcre2_match_context_create(memory_));
        pcre2_set_match_limit(limits_, kMatchLimit);
        pcre2_set_depth_limit(limits_, kDepthLimit);
        pcre2_set_heap_limit(limits_, kHeapLimitKiB);
        code_ = compile(kGpt2, memory_);
    } catch (...) {
        release();
        throw;
    }
}

void WordSplitter::release() noexcept {
    pcre2_code_free(code_);
    pcre2_match_context_free(limits_);
    pcre2_general_context_free(memory_);
}

WordSplitter::Walk::Walk(const WordSplitter& splitter, std::string_view text)
    : splitter_(splitter), text_(text), match_(nullptr) {
    if (splitter.code_ != nullptr) match_ = allocated(pcre2_match_data_create(1, splitter.memory_));
}

WordSplitter::Walk::~Walk() { pcre2_match_data_free(match_); }

std::string_view WordSplitter::Walk::next() {
    if (splitter_.code_ == nullptr) {
        const std::string_view all = text_;
        text_ = {};
        return all;
    }
    if (at_ == valid_.size()) {  // the checks of UTF-8 and the matching each see every byte once
        text_.remove_prefix(at_);
        at_ = 0;
        valid_ = text_.substr(0, find_invalid_utf8(text_));
        if (valid_.empty()) return next_invalid();
    }
    const std::size_t start = at_;
    at_ = match(start);
    return valid_.substr(start, at_ - start);
}

std::string_view WordSplitter::Walk::next_invalid() {
    std::size_t bytes = 0;
    while (bytes < text_.size() && read_character(text_, bytes).bytes == 0) ++bytes;
    const std::string_view word = text_.substr(0, bytes);
    text_.remove_prefix(bytes);
    return word;
}

// Where the word at `at` ends.
std::size_t WordSplitter::Walk::match(std::size_t at) {
    const int result =
        pcre2_match(splitter_.code_, reinterpret_cast<PCRE2_SPTR>(valid_.data()), valid_.size(), at,
                    PCRE2_ANCHORED | PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, match_, splitter_.limits_);
    if (result == PCRE2_ERROR_NOMEMORY) throw std::bad_alloc();
    if (result < 0 && result != PCRE2_ERROR_NOMATCH)
        fail(VOLTA_INVALID_ARGUMENT, "the text cannot be split into words at offset %zu (%d)", at, result);
    const std::size_t end = result < 0 ? at : pcre2_get_ovector_pointer(match_)[1];
    return end > at ? end : at + read_character(valid_, at).bytes;  // what no word begins with is one
}

}  // namespace volta
