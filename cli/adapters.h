// LoRA adapters in commands: how they are asked for, and where they come from.
#pragma once

#include <cstdint>
#include <string>

#include "cli/options.h"
#include "cli/support.h"

namespace voltac {

// --adapter FILE beside a model that is its base.
struct AdapterFile {
    std::string path;

    void declare(Options& options);
    // The base with the adapters of the file; the base itself where there is none.
    Model on(Model base) const;
};

// --lora r=8,alpha=16,targets=q+v.
struct LoraChoice {
    const char* command;  // for messages
    std::string text = {};

    void declare(Options& options, const char* what);
    bool is_given() const { return !text.empty(); }
    void check() const;  // usage error unless the text is such a list
    Model on(Model base, std::uint64_t seed) const;
};

// PEFT's folder of two files: from a model file that adapters are, and to one on `base`.
void export_adapter(const Model& adapter, const std::string& folder);
void import_adapter(const Model& base, const std::string& folder, const std::string& out);

// Failure, with what the library says, unless the file holds adapters of this base.
Model open_adapter(const Model& base, const std::string& path);

}  // namespace voltac
