// Kernels that are written by hand: which text they are in, and each entry point as a function of its
// argument. generate_kernels.cpp writes the text; tests find an entry point by its name.
#pragma once

#include <string>
#include <vector>

#include "engine/base/arithmetic.h"
#include "jitgen/cuda/attention_source.h"
#include "jitgen/cuda/cached_attention_source.h"
#include "tests/support/simt_emulation.h"

namespace volta::test {

// One translation unit for device compilers, and behind the emulation.
struct EntryFile {
    std::string name;  // of the file
    std::string text;
    std::vector<std::pair<std::string, std::string>> entries;  // name, struct of its argument
};
std::vector<EntryFile> entry_files();

// Attention with narrow and wide heads, with and without a structure and dropout.
struct NamedAttention {
    const char* name;
    jit::CudaAttentionForm form;
};
const std::vector<NamedAttention>& attentions();

// Attention on tensor cores. check_ptx.sh knows by their names, tensor_..., that they are not strict.
struct NamedTensorAttention {
    const char* name;
    jit::CudaAttentionForm form;
    Precision precision;
};
const std::vector<NamedTensorAttention>& tensor_attentions();

struct NamedCachedAttention {
    const char* name;
    jit::CudaCachedAttentionForm form;
};
const std::vector<NamedCachedAttention>& cached_attentions();

struct EmulatedEntry {
    const char* name;
    void (*run)(const void* args);
};
struct EmulatedEntryTable {
    const EmulatedEntry* entries;
    int count;
};
extern const EmulatedEntryTable kEmulatedEntryTables[];  // generated, as all that it names
extern const int kEmulatedEntryTableCount;

// Runs an entry point with its argument. "" or what went wrong: no such entry point, or what simt::run says.
std::string run_entry(const std::string& name, const simt::Launch& launch, const void* args);

}  // namespace volta::test
