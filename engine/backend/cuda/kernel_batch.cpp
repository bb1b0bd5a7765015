#include "engine/backend/cuda/kernel_batch.h"

#include <cinttypes>
#include <cstdio>

#include "engine/base/hash.h"
#include "jitgen/cuda/attention_source.h"
#include "jitgen/cuda/cached_attention_source.h"
#include "jitgen/cuda/embedding_source.h"
#include "jitgen/cuda/move_source.h"
#include "jitgen/cuda/product_source.h"
#include "jitgen/cuda/rotary_source.h"
#include "jitgen/cuda/row_source.h"
#include "jitgen/cuda/rows_product_source.h"
#include "jitgen/cuda/stored_source.h"
#include "jitgen/cuda/tensor_attention_source.h"

namespace volta::cuda {

std::pmr::string KernelBatch::name_of(const std::pmr::string& text) {
    const Hash128 hash = hash_bytes(text.data(), text.size());
    char name[40];
    std::snprintf(name, sizeof name, "k%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
    return std::pmr::string(name, text.get_allocator());
}

const Kernel* KernelBatch::entry(const char* name, const char* form) {
    std::pmr::string full(name, heap_);
    if (form != nullptr) (full += '_') += form;
    const auto [at, is_new] = kernels_.try_emplace(std::move(full), heap_);
    if (is_new && form != nullptr) at->second.unit = name;
    return &at->second.kernel;
}

void KernelBatch::build() {
    if (!pending_.empty()) {
        std::pmr::string& text = texts_.emplace_back();
        jit::append_row_prelude(text);
        const auto wants = [&](unsigned which) { return (preludes_ & which) != 0; };
        if (wants(kRowsProducts)) jit::append_stored_prelude(text);
        if (wants(kProducts | kRowsProducts | kAttention)) jit::append_product_prelude(text);
        if (wants(kRowsProducts)) jit::append_rows_product_prelude(text);
        if (wants(kAttention | kCachedAttention)) jit::append_attention_functions(text);
        if (wants(kAttention)) jit::append_attention_prelude(text);
        if (wants(kTensorAttention)) jit::append_tensor_attention_prelude(text);
        if (wants(kCachedAttention)) jit::append_cached_attention_prelude(text);
        text += pending_;
        for (auto& [name, compiled] : units_)
            if (compiled == nullptr) compiled = &text;
        pending_.clear();
        preludes_ = kRows;
    }
    if (fixed_text_.empty()) {
        jit::append_row_prelude(fixed_text_);
        jit::append_stored_prelude(fixed_text_);
        jit::append_move_kernels(fixed_text_);
        jit::append_embedding_kernels(fixed_text_);
        jit::append_rotary_kernels(fixed_text_);
    }
    for (auto& [name, entry] : kernels_) {
        if (entry.built) continue;
        const std::pmr::string& text = entry.unit.empty() ? fixed_text_ : *units_.at(entry.unit);
        entry.kernel = store_.kernel(text.c_str(), name.c_str());
        entry.built = true;
    }
}

void KernelBatch::forget_pending() noexcept {
    pending_.clear();
    preludes_ = kRows;
    for (auto at = units_.begin(); at != units_.end();)
        at = at->second != nullptr ? std::next(at) : units_.erase(at);
    for (auto at = kernels_.begin(); at != kernels_.end();)
        at = at->second.built ? std::next(at) : kernels_.erase(at);
}

}  // namespace volta::cuda
