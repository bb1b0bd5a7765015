// W^X pages. One mapping per kernel: a context has some dozens of kernels of a few KB, and a page that was
// executable once is never writable again.
#include "jitgen/code.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>

#include "engine/base/error.h"

namespace volta::jit {

struct CodeArena::Block {
    Block* next;
    void* pages;
    std::size_t page_bytes, code_bytes;
    char name[64];
};

namespace {

// RW, filled, then RX; NULL when the system refuses either step.
void* map_code(const void* code, std::size_t bytes, std::size_t page_bytes) {
    void* pages = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return nullptr;
    std::memcpy(pages, code, bytes);
    std::memset(static_cast<char*>(pages) + bytes, 0xCC, page_bytes - bytes);  // int3
    if (mprotect(pages, page_bytes, PROT_READ | PROT_EXEC) == 0) {
        __builtin___clear_cache(static_cast<char*>(pages), static_cast<char*>(pages) + bytes);
        return pages;
    }
    munmap(pages, page_bytes);
    return nullptr;
}

}  // namespace

CodeArena::CodeArena(std::pmr::memory_resource* heap, bool refuse) : heap_(heap), available_(false) {
    if (refuse) return;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const char code = static_cast<char>(0xC3);
    void* const pages = map_code(&code, 1, page);
    if (pages == nullptr) return;
    munmap(pages, page);
    available_ = true;
}

CodeArena::~CodeArena() {
    while (blocks_) {
        Block* const block = blocks_;
        blocks_ = block->next;
        munmap(block->pages, block->page_bytes);
        heap_->deallocate(block, sizeof(Block), alignof(Block));
    }
}

const void* CodeArena::publish(const void* code, std::size_t bytes, const char* name) {
    if (!available_ || bytes == 0) return nullptr;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t page_bytes = (bytes + page - 1) / page * page;
    void* const place = heap_->allocate(sizeof(Block), alignof(Block));  // first: it may throw
    void* const pages = map_code(code, bytes, page_bytes);
    if (!pages) {
        heap_->deallocate(place, sizeof(Block), alignof(Block));
        fail(VOLTA_OUT_OF_MEMORY, "the system refused %zu bytes of executable memory", page_bytes);
    }
    Block* const block = new (place) Block{blocks_, pages, page_bytes, bytes, {}};
    std::strncpy(block->name, name ? name : "", sizeof block->name - 1);
    blocks_ = block;
    bytes_ += page_bytes;
    return pages;
}

void CodeArena::visit(Visitor visitor, void* data) const {
    for (const Block* block = blocks_; block; block = block->next)
        visitor(data, block->pages, block->code_bytes, block->name);
}

}  // namespace volta::jit
