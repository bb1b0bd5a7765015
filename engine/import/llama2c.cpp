#include "engine/import/llama2c.h"

#include <algorithm>
#include <cstring>

#include "engine/base/error.h"
#include "engine/import/key_map.h"

namespace volta {
namespace {

constexpr std::uint32_t kLaterMagic = 0x616b3432;  // "ak42": versions 1 and up
constexpr std::int64_t kMostLayers = 512;

// As they stand in the file. A negative vocabulary says that the head is a weight of its own.
struct Header {
    std::int32_t dim, hidden, layers, heads, kv_heads, vocabulary, context;
};

struct SizeRow {
    const char* name;
    std::int64_t value, most;
};
constexpr std::int64_t kMostSize = INT32_MAX;

// The first size that cannot be; NULL: none.
const char* wrong_size(const Header& h, std::int64_t* value) {
    const SizeRow sizes[] = {
        {"dim", h.dim, kMostSize},
        {"hidden_dim", h.hidden, kMostSize},
        {"n_layers", h.layers, kMostLayers},
        {"n_heads", h.heads, kMostSize},
        {"n_kv_heads", h.kv_heads, kMostSize},
        {"vocab_size", h.vocabulary < 0 ? -std::int64_t{h.vocabulary} : h.vocabulary, kMostSize},
        {"seq_len", h.context, kMostSize}};
    for (const SizeRow& size : sizes)
        if (size.value < 1 || size.value > size.most) return *value = size.value, size.name;
    if (h.dim % h.heads != 0) return *value = h.dim, "dim, which is no multiple of n_heads,";
    if (h.heads % h.kv_heads != 0) return *value = h.heads, "n_heads, which is no multiple of n_kv_heads,";
    if (h.dim / h.heads % 2 != 0) return *value = h.dim, "dim, whose heads have an odd size,";
    return nullptr;
}

// What no model has come near yet. Texts, pictures, archives and arrays of other kinds that happen to begin
// with seven numbers of `wrong_size` do not keep to it.
bool is_likely(const Header& h) {
    return h.dim <= 1 << 16 && h.hidden <= 1 << 20 && h.heads <= 1 << 12 && h.context <= 1 << 24 &&
           h.vocabulary <= 1 << 20 && h.vocabulary >= -(1 << 20);
}

// Whether what stands behind the header, at most its first 256 values, can be weights: finite, and zero or
// normal. Small integers are subnormal as f32.
bool has_weights(const unsigned char* data, std::size_t bytes) {
    const std::size_t values = std::min<std::size_t>(256, (bytes - sizeof(Header)) / sizeof(std::uint32_t));
    for (std::size_t i = 0; i < values; ++i) {
        std::uint32_t bits;
        std::memcpy(&bits, data + sizeof(Header) + i * sizeof bits, sizeof bits);
        const std::uint32_t exponent = bits >> 23 & 0xff, fraction = bits & 0x7fffff;
        if (exponent == 0xff || (exponent == 0 && fraction != 0)) return false;
    }
    return true;
}

// One run of equal tensors: `count` times [rows, columns], or [columns] where rows is 0.
struct Section {
    const char* pattern;
    std::int64_t count, rows, columns;
    std::uint64_t values() const {  // of one; each factor is below 2^31
        return static_cast<std::uint64_t>(rows == 0 ? 1 : rows) * static_cast<std::uint64_t>(columns);
    }
};

constexpr std::size_t kSections = 13;
struct Layout {
    Section sections[kSections];
    std::size_t count;
};

Layout layout_of(const Header& h) {
    const std::int64_t dim = h.dim, hidden = h.hidden, layers = h.layers, head = dim / h.heads;
    const std::int64_t kv = head * h.kv_heads,
                       vocabulary = h.vocabulary < 0 ? -std::int64_t{h.vocabulary} : h.vocabulary;
    Layout layout = {{{"tok_embeddings.weight", 1, vocabulary, dim},
                      {"layers.%d.attention_norm.weight", layers, 0, dim},
                      {"layers.%d.attention.wq.weight", layers, dim, dim},
                      {"layers.%d.attention.wk.weight", layers, kv, dim},
                      {"layers.%d.attention.wv.weight", layers, kv, dim},
                      {"layers.%d.attention.wo.weight", layers, dim, dim},
                      {"layers.%d.ffn_norm.weight", layers, 0, dim},
                      {"layers.%d.feed_forward.w1.weight", layers, hidden, dim},
                      {"layers.%d.feed_forward.w2.weight", layers, dim, hidden},
                      {"layers.%d.feed_forward.w3.weight", layers, hidden, dim},
                      {"norm.weight", 1, 0, dim},
                      {"", 1, h.context, head},  // two tables of rotary angles, which are computed anew
                      {"output.weight", 1, vocabulary, dim}},
                     kSections};
    if (h.vocabulary > 0) --layout.count;  // the head is the embedding
    return layout;
}

// The bytes of a whole file; false: they do not fit in 62 bits.
bool file_bytes(const Layout& layout, std::uint64_t* bytes) {
    *bytes = sizeof(Header);
    for (std::size_t i = 0; i < layout.count; ++i) {
        const Section& section = layout.sections[i];
        std::uint64_t run = 0;
        if (multiply_overflows(section.values(), 4 * static_cast<std::uint64_t>(section.count), &run) ||
            add_overflows(*bytes, run, bytes) || *bytes >> 62 != 0)
            return false;
    }
    return true;
}

Header read_header(const unsigned char* data) {
    Header header;
    std::memcpy(&header, data, sizeof header);
    return header;
}

void check(const MappedFile& file) {
    if (file.bytes() < sizeof(Header))
        fail(VOLTA_CORRUPT_MODEL, "a llama2.c file has at least %zu bytes, this one %zu", sizeof(Header),
             file.bytes());
    const Header header = read_header(file.data());
    if (static_cast<std::uint32_t>(header.dim) == kLaterMagic)
        fail(VOLTA_UNSUPPORTED, "it is a llama2.c file of version %d; version 0 is read", header.hidden);
    std::int64_t value = 0;
    if (const char* name = wrong_size(header, &value))
        fail(VOLTA_CORRUPT_MODEL, "its %s is %lld", name, static_cast<long long>(value));
    std::uint64_t bytes = 0;
    if (!file_bytes(layout_of(header), &bytes))
        fail(VOLTA_CORRUPT_MODEL, "its sizes are too large for any file");
    if (bytes != file.bytes())
        fail(VOLTA_CORRUPT_MODEL, "its sizes make a file of %llu bytes, it has %zu",
             static_cast<unsigned long long>(bytes), file.bytes());
}

void add_section(WeightSource& source, const Section& section, const unsigned char*& data,
                 std::pmr::memory_resource* heap) {
    const std::uint64_t bytes = 4 * section.values();
    for (std::int64_t layer = 0; layer < section.count; ++layer, data += bytes) {
        const Shape shape = section.rows == 0 ? Shape{section.columns} : Shape{section.rows, section.columns};
        if (*section.pattern != '\0')
            add_tensor(source, {fill_pattern(section.pattern, layer, heap), find_stored_type("F32"), shape,
                                data, bytes});
    }
}

}  // namespace

bool looks_like_llama2c(const unsigned char* data, std::size_t bytes) noexcept {
    if (bytes < sizeof(Header)) return false;
    const Header header = read_header(data);
    if (static_cast<std::uint32_t>(header.dim) == kLaterMagic) return true;  // read_llama2c says why not
    std::int64_t value = 0;
    std::uint64_t expected = 0;
    if (wrong_size(header, &value) != nullptr || !file_bytes(layout_of(header), &expected)) return false;
    return expected == bytes || (is_likely(header) && has_weights(data, bytes));
}

Llama2c read_llama2c(MappedFile&& file, std::pmr::memory_resource* heap) {
    check(file);
    const Header header = read_header(file.data());
    Llama2c result{WeightSource(heap), {}};
    const Layout layout = layout_of(header);
    const unsigned char* data = file.data() + sizeof(Header);
    for (std::size_t i = 0; i < layout.count; ++i) add_section(result.source, layout.sections[i], data, heap);
    finish_tensors(result.source);
    result.source.files.push_back(std::move(file));

    LlamaConfig& config = result.config;  // what the header does not say is fixed in llama2.c
    config.vocabulary = layout.sections[0].rows;
    config.layers = header.layers;
    config.dim = header.dim;
    config.heads = header.heads;
    config.kv_heads = header.kv_heads;
    config.hidden = header.hidden;
    config.context = header.context;
    config.rope_base = 10000;
    config.epsilon = 1e-5;
    config.tied = header.vocabulary > 0;
    config.interleaved = true;
    return result;
}

}  // namespace volta
