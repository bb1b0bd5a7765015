// Which tensor of a file is which parameter: one table per naming. The tables are the whole knowledge about
// other programs' names; docs/import.md is printed from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace volta {

// Which columns of a parameter a tensor holds: parameters that are computed as one product are one here.
// by_head: all of q, k and v, but those of each head side by side; last_rows: those of the tensor, as many as
// the parameter has.
enum class Part : std::uint8_t { whole, q, k, v, gate, up, by_head, last_rows };
const char* part_name(Part part);  // "", "q", "k", "v", "gate", "up", "by head", "the last rows"

// What a tensor holds that no model of Volta needs: it is left out only where it is what its name says, so
// that nothing that changes results is lost without a word (assemble.cpp).
enum class Unneeded : std::uint8_t {
    no,
    mask,         // who sees whom, which the model knows: [1, 1, n, n], or the one value behind it
    frequencies,  // of rotary positions: those that the config's base gives
    positions,    // 0, 1, 2, ...
    head,         // of a task that is no head of Volta's
    count,        // of batches that a norm has seen: one whole number
    factors       // of rotary positions, which the architecture has been read with
};
const char* unneeded_name(Unneeded unneeded);  // "not needed: a mask"; "" for `no`

// "%d" in a pattern stands for a layer, the same one in both names; a pattern that begins with "*" fits every
// name that ends as it does, and has no parameter.
struct KeyRule {
    std::string_view pattern;    // the file's name, without the naming's prefix
    std::string_view parameter;  // ours; "": the tensor holds nothing that Volta needs
    Part part = Part::whole;
    bool transposed = false;  // stored [out, in]; ours are [in, out]
    Unneeded unneeded = Unneeded::no;
};

// One program's names for one architecture.
struct Naming {
    const char* name;          // "huggingface", "gguf", ...
    const char* architecture;  // "gpt", "resnet", ...: the value of "volta.architecture"
    std::string_view prefix;   // every name may begin with it or not; written ones do but for kOutsidePrefix
    const KeyRule* rules;      // NULL: Volta's own names, each is its parameter
    std::size_t rule_count;
    bool own_otherwise = false;       // names without a rule are Volta's own
    const KeyRule* shared = nullptr;  // behind `rules`: those of another naming, which they precede
    std::size_t shared_count = 0;

    std::size_t count() const { return rule_count + shared_count; }
    const KeyRule& rule(std::size_t i) const { return i < rule_count ? rules[i] : shared[i - rule_count]; }
};
struct Namings {
    const Naming* first;
    std::size_t count;
    const Naming* begin() const { return first; }
    const Naming* end() const { return first + count; }
};
Namings all_namings();
// Begins a name that the model with a head has beside the one without, and so never behind the prefix.
inline constexpr std::string_view kOutsidePrefix[] = {"lm_head.", "cls.", "classifier."};
const Naming& find_naming(std::string_view name, std::string_view architecture);  // it must be there

// The layer that `name` has under `pattern`: -1 when the pattern has none, nothing when they do not match.
std::optional<std::int64_t> match_pattern(std::string_view pattern, std::string_view name);
std::pmr::string fill_pattern(std::string_view pattern, std::int64_t layer, std::pmr::memory_resource* heap);

// What a file's tensor is.
struct KeyMatch {
    std::pmr::string parameter;  // "": nothing that is needed
    Part part;
    bool transposed;
    Unneeded unneeded;
    bool given;  // by the host's text
};

// A naming, and before it the rules of a text that the host gave, line by line:
//
//     # comment
//     their.%d.weight = block.%d.proj.weight transpose
//     their.%d.wq     = block.%d.qkv.weight:q
//     their.mask      = -
class KeyMap final {
  public:
    // `text` is kept. Throws INVALID_ARGUMENT with the line's number.
    KeyMap(const Naming& naming, std::string_view text, std::pmr::memory_resource* heap);
    // What every name of the file begins with, in whole parts ("_orig_mod.", "module.model."): programs that
    // wrap a model put their own names before it. The tables' names are looked for behind any of the parts.
    void set_wrapper(std::string_view wrapper) { wrapper_ = wrapper; }
    KeyMap(const KeyMap&) = delete;  // rules point into text_
    KeyMap& operator=(const KeyMap&) = delete;

    std::optional<KeyMatch> match(std::string_view name, std::pmr::memory_resource* heap) const;
    // What a file would call the tensor of this parameter and part, for messages; the parameter's own name
    // when no rule says.
    std::pmr::string name_of(std::string_view parameter, Part part, std::pmr::memory_resource* heap) const;

  private:
    void read_line(std::string_view line, int number);
    std::optional<KeyMatch> match_table(std::string_view name, std::pmr::memory_resource* heap) const;
    const Naming& naming_;
    std::pmr::string text_, wrapper_;
    std::pmr::vector<KeyRule> extra_;
};

}  // namespace volta
