// What a scenario works in: the host's allocator, which counts and refuses, a folder, and a digest of all
// that it gave.
#pragma once

#include <volta.h>
#include <volta_data.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace volta::faults {

struct HostHeap {
    std::uint64_t calls = 0, refuse_at = 0, refuse_from = 0;  // numbers of calls, 1 is the first; 0: none
    std::int64_t live_bytes = 0;
};

class World final {
  public:
    // `folder`: of files that scenarios read, and write to; `root`: the repository's.
    World(const char* folder, const char* root);
    HostHeap heap;
    volta_allocator allocator;
    std::uint32_t threads = 1;

    volta_status context(volta_context** out, const char* tuning_folder = nullptr);
    const char* file(const char* name);    // in the folder. Lent until four more were asked for
    const char* corpus(const char* name);  // in fuzz/corpus
    const char* sample(const char* name);  // in tests/data/files

    void mix(const void* data, std::size_t bytes) noexcept;
    void mix_text(const char* text) noexcept;
    void mix_file(const char* path) noexcept;  // its bytes, or that it is not there
    std::uint64_t digest() const noexcept { return digest_; }
    void begin() noexcept { digest_ = 1469598103934665603u; }

  private:
    const char* path(const char* folder, const char* name);
    const char *folder_, *root_;
    char paths_[4][4096];
    unsigned next_path_ = 0;
    std::uint64_t digest_ = 0;
};

// Ends what it holds.
template <class T, void (*release)(T*)>
class Owned final {
  public:
    Owned() = default;
    ~Owned() { release(object_); }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    T** out() { return &object_; }
    operator T*() const { return object_; }

  private:
    T* object_ = nullptr;
};
using Context = Owned<volta_context, volta_context_release>;
using Tensor = Owned<volta_tensor, volta_tensor_release>;
using Tensors = Owned<volta_tensors, volta_tensors_release>;
using Graph = Owned<volta_graph, volta_graph_release>;
using Tokenizer = Owned<volta_tokenizer, volta_tokenizer_release>;
using Model = Owned<volta_model, volta_model_release>;
using Session = Owned<volta_session, volta_session_release>;
using Group = Owned<volta_group, volta_group_release>;
using Trainer = Owned<volta_trainer, volta_trainer_release>;
using Generator = Owned<volta_generator, volta_generator_release>;
using Sequence = Owned<volta_sequence, volta_sequence_release>;
using DataSet = Owned<volta_dataset, volta_dataset_release>;
using Picture = Owned<volta_picture, volta_picture_release>;
using Text = Owned<volta_text, volta_text_release>;
using Loader = Owned<volta_loader, volta_loader_release>;

// One use of the libraries, from the first object to the last release, without memory of its own.
struct Scenario {
    const char* name;
    volta_status (*run)(World&);
    const char* output;  // the file of the folder that it replaces; NULL: none
    bool is_timed;       // what it finds depends on the clock: it has no digest, and no number of calls
    bool is_data;        // of libvolta_data: its error is told by that
};
extern const Scenario kScenarios[];
extern const std::size_t kScenarioCount;

// The files that scenarios read. False: it says what went wrong.
bool prepare(World& world);

inline const char* error_of(const Scenario& scenario) {
    return scenario.is_data ? volta_data_last_error() : volta_last_error();
}

}  // namespace volta::faults
