// The kernels of a context's plans: texts are collected while a plan is lowered, compiled together when it is
// complete, and shared by all plans of the context that want the same.
#pragma once

#include <list>
#include <map>
#include <string>

#include "engine/backend/cuda/kernel_store.h"
#include "jitgen/row_plan.h"

namespace volta::cuda {

// What stands before the kernels of a text (jitgen/cuda); row kernels need nothing more than what is always
// there.
enum Prelude : unsigned {
    kRows = 0,
    kProducts = 1,
    kRowsProducts = 2,
    kAttention = 4,
    kCachedAttention = 8,
    kTensorAttention = 16  // with kAttention
};

class KernelBatch final {
  public:
    KernelBatch(KernelStore& store, std::pmr::memory_resource* heap)
        : store_(store),
          heap_(heap),
          fixed_text_(heap),
          texts_(heap),
          units_(heap),
          kernels_(heap),
          pending_(heap) {}

    // The kernels that `append(name, text)` writes, under a name that stands for their text.
    template <class Append>
    std::pmr::string add(unsigned preludes, Append append) {
        std::pmr::string text(heap_);
        append("k", text);
        std::pmr::string name = name_of(text);  // moved out
        if (units_.count(name) == 0) {
            text.clear();
            append(name.c_str(), text);
            preludes_ |= preludes;
            pending_ += text;
            units_.emplace(name, nullptr);
        }
        return name;
    }
    // The entry point NAME_form of kernels that were added, or one of the fixed kernels (form NULL):
    // move_copy, gather_f32, rotary_rows. Filled by build(); lasts as long as the batch.
    const Kernel* entry(const char* name, const char* form = nullptr);
    // Compiles what is new. Throws as KernelStore::kernel.
    // What was added and not built when a plan could not be made is forgotten.
    void build();
    void forget_pending() noexcept;

  private:
    struct Entry {
        explicit Entry(std::pmr::memory_resource* heap) : unit(heap) {}
        Kernel kernel;
        std::pmr::string unit;  // "": one of the fixed kernels
        bool built = false;
    };
    static std::pmr::string name_of(const std::pmr::string& text);

    KernelStore& store_;
    std::pmr::memory_resource* heap_;
    std::pmr::string fixed_text_;
    std::pmr::list<std::pmr::string> texts_;  // that were compiled: one per plan that had new kernels
    std::pmr::map<std::pmr::string, const std::pmr::string*>
        units_;                                       // the text that holds it; NULL: the pending one
    std::pmr::map<std::pmr::string, Entry> kernels_;  // by entry point
    std::pmr::string pending_;                        // kernels of units without a text
    unsigned preludes_ = kRows;                       // which that text needs
};

}  // namespace volta::cuda
