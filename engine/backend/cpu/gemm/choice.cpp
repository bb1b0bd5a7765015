#include "engine/backend/cpu/gemm/choice.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/backend/cpu/gemm/tiles.h"
#include "engine/base/error.h"

namespace volta::cpu {
namespace {

constexpr const char* kOrders[] = {"rule", "columns", "rows"};
constexpr const char* kToggles[] = {"rule", "yes", "no"};

void check_block(const char* name, std::int32_t block) {
    require(block >= 0 && block <= kWholeExtent, "%s is %d, it must be in 0 .. %d", name, block,
            kWholeExtent);
}

// Appends to a text of fixed size; what does not fit is cut, and everything fits.
class Writer {
  public:
    explicit Writer(ChoiceText& text) : text_(text) { text_.text[0] = '\0'; }
    void word(const char* name, const char* value) {
        if (used_ > 0) append(" ");
        append(name);
        if (*name != '\0') append("=");
        append(value);
    }
    void block(const char* name, std::int32_t value) {
        char number[16];
        std::snprintf(number, sizeof number, "%d", value);
        if (value != 0) word(name, value == kWholeExtent ? "all" : number);
    }

  private:
    void append(const char* part) {
        for (; *part != '\0' && used_ + 1 < sizeof text_.text; ++part) text_.text[used_++] = *part;
        text_.text[used_] = '\0';
    }
    ChoiceText& text_;
    std::size_t used_ = 0;
};

std::int32_t read_number(const char* field, const char* value, std::int32_t most) {
    char* end = nullptr;
    const long number = std::strtol(value, &end, 10);
    require(end != value && *end == '\0' && number >= 0 && number <= most,
            "%s is '%s', it must be in 0 .. %d", field, value, most);
    return static_cast<std::int32_t>(number);
}

template <class Enum, std::size_t N>
Enum read_name(const char* field, const char* value, const char* const (&names)[N]) {
    for (std::size_t i = 0; i < N; ++i)
        if (std::strcmp(names[i], value) == 0) return static_cast<Enum>(i);
    fail(VOLTA_INVALID_ARGUMENT, "%s is '%s', which is none of %s, %s and %s", field, value, names[0],
         names[1], names[2]);
}

void read_word(ProductChoice& choice, char* word) {
    char* const equals = std::strchr(word, '=');
    if (equals == nullptr) {
        const GemmTile* const tile = find_tile(word);
        require(tile != nullptr, "there is no product tile named \"%s\"", word);
        choice.tile = 1 + tile_row(*tile);
        return;
    }
    *equals = '\0';
    const char* const value = equals + 1;
    const auto named = [&](const char* name) { return std::strcmp(word, name) == 0; };
    const auto block = [&] {
        return std::strcmp(value, "all") == 0 ? kWholeExtent : read_number(word, value, kWholeExtent);
    };
    if (named("k_block")) {
        choice.k_block = block();
    } else if (named("m_block")) {
        choice.m_block = block();
    } else if (named("n_block")) {
        choice.n_block = block();
    } else if (named("order")) {
        choice.order = read_name<TileOrder>(word, value, kOrders);
    } else if (named("prefetch")) {
        choice.prefetch = std::strcmp(value, "none") == 0
                              ? kNoPrefetch
                              : static_cast<std::uint8_t>(read_number(word, value, kMostPrefetch));
    } else if (named("unroll")) {
        choice.unroll = static_cast<std::uint8_t>(read_number(word, value, jit::kMaxUnroll));
    } else if (named("pack_a")) {
        choice.pack_a = read_name<Toggle>(word, value, kToggles);
    } else if (named("pack_b")) {
        choice.pack_b = read_name<Toggle>(word, value, kToggles);
    } else {
        fail(VOLTA_INVALID_ARGUMENT, "a product's choice has no field '%s'", word);
    }
}

}  // namespace

bool operator==(const ProductChoice& x, const ProductChoice& y) {
    return x.tile == y.tile && x.k_block == y.k_block && x.m_block == y.m_block && x.n_block == y.n_block &&
           x.order == y.order && x.prefetch == y.prefetch && x.unroll == y.unroll && x.pack_a == y.pack_a &&
           x.pack_b == y.pack_b;
}

void check(const ProductChoice& choice) {
    require(choice.tile >= 0 && choice.tile <= gemm_tiles().count,
            "the tile is row %d of the table, which has %d", choice.tile, gemm_tiles().count);
    check_block("k_block", choice.k_block);
    check_block("m_block", choice.m_block);
    check_block("n_block", choice.n_block);
    require(choice.order <= TileOrder::rows, "order is %d, it must be in 0 .. 2",
            static_cast<int>(choice.order));
    require(choice.prefetch <= kMostPrefetch || choice.prefetch == kNoPrefetch,
            "prefetch is %d, it must be in 0 .. %d or none", choice.prefetch, kMostPrefetch);
    require(choice.unroll <= jit::kMaxUnroll, "unroll is %d, it must be in 0 .. %d", choice.unroll,
            jit::kMaxUnroll);
    require(choice.pack_a <= Toggle::no && choice.pack_b <= Toggle::no,
            "packing is %d and %d, it must be in 0 .. 2", static_cast<int>(choice.pack_a),
            static_cast<int>(choice.pack_b));
}

ChoiceText to_text(const ProductChoice& choice) {
    ChoiceText text;
    Writer writer(text);
    if (choice.tile > 0 && choice.tile <= gemm_tiles().count)
        writer.word("", gemm_tiles().rows[choice.tile - 1].name);
    writer.block("k_block", choice.k_block);
    writer.block("m_block", choice.m_block);
    writer.block("n_block", choice.n_block);
    if (choice.order != TileOrder::rule) writer.word("order", kOrders[static_cast<int>(choice.order)]);
    if (choice.prefetch == kNoPrefetch) {
        writer.word("prefetch", "none");
    } else {
        writer.block("prefetch", choice.prefetch);
    }
    writer.block("unroll", choice.unroll);
    if (choice.pack_a != Toggle::rule) writer.word("pack_a", kToggles[static_cast<int>(choice.pack_a)]);
    if (choice.pack_b != Toggle::rule) writer.word("pack_b", kToggles[static_cast<int>(choice.pack_b)]);
    return text;
}

ProductChoice parse_choice(const char* text) {
    ProductChoice choice;
    each_word(text, [&](char* word) { read_word(choice, word); });
    check(choice);
    return choice;
}

}  // namespace volta::cpu
