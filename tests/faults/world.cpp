#include "tests/faults/world.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "tests/faults/interpose.h"

namespace volta::faults {
namespace {

void* allocate(void* user, std::size_t size, std::size_t alignment, volta_memory_kind) {
    auto& heap = *static_cast<HostHeap*>(user);
    ++heap.calls;
    if (heap.calls == heap.refuse_at || (heap.refuse_from != 0 && heap.calls >= heap.refuse_from))
        return nullptr;
    void* const block = host_take(size, alignment);
    if (block != nullptr) heap.live_bytes += static_cast<std::int64_t>(size);
    return block;
}

void release(void* user, void* block, std::size_t size, std::size_t, volta_memory_kind) {
    static_cast<HostHeap*>(user)->live_bytes -= static_cast<std::int64_t>(size);
    host_give(block);
}

}  // namespace

World::World(const char* folder, const char* root)
    : allocator{allocate, release, &heap}, folder_(folder), root_(root) {}

volta_status World::context(volta_context** out, const char* tuning_folder) {
    volta_context_options options = VOLTA_CONTEXT_OPTIONS_INIT;
    options.allocator = &allocator;
    options.thread_count = threads;
    options.tuning_folder = tuning_folder;
    return volta_context_create(&options, out);
}

const char* World::path(const char* folder, const char* name) {
    char* const text = paths_[next_path_++ % 4];
    std::snprintf(text, sizeof paths_[0], "%s/%s", folder, name);
    return text;
}
const char* World::file(const char* name) { return path(folder_, name); }
const char* World::corpus(const char* name) {
    char inner[256];
    std::snprintf(inner, sizeof inner, "fuzz/corpus/%s", name);
    return path(root_, inner);
}
const char* World::sample(const char* name) {
    char inner[256];
    std::snprintf(inner, sizeof inner, "tests/data/files/%s", name);
    return path(root_, inner);
}

void World::mix(const void* data, std::size_t bytes) noexcept {
    for (std::size_t i = 0; i < bytes; ++i)
        digest_ = (digest_ ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211u;
}
void World::mix_text(const char* text) noexcept { mix(text, std::strlen(text)); }
void World::mix_file(const char* path) noexcept {
    const Aside aside;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return mix_text("no file");
    char bytes[4096];
    for (;;) {
        const ssize_t n = read(file, bytes, sizeof bytes);
        if (n <= 0) break;
        mix(bytes, static_cast<std::size_t>(n));
    }
    close(file);
}

}  // namespace volta::faults
