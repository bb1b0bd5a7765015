// What the parts of cuda_check share. Everything goes through volta.h, as a host would: two contexts, one on
// the processor and one on the device, and bits that must be equal.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "include/volta.h"

namespace volta::check {

struct Settings {
    std::string device = "cuda";
    std::string golden;  // hashes of the functions' results over all inputs; "": compare with the processor
    std::string folder = ".";  // checkpoints are written there, and removed; the levels keep kernels there
    int steps = 200;
    std::string record;  // where a process writes what the process that began it compares; "": it compares
    bool small = false;  // sizes for a device that is emulated
};

// A part that cannot be tried here: what() says why. It is no failure.
struct NotRun : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// One part of the check: prints a line for each thing that differs, and returns how many do. Throws
// std::runtime_error with the library's sentence when a call fails, NotRun where the device lacks what is
// tried.
using Part = int (*)(const Settings& settings);
int check_functions(const Settings& settings);
int check_products(const Settings& settings);
int check_choices(const Settings& settings);  // of products, as tuning has them
int check_training(const Settings& settings);
int check_shards(const Settings& settings);
int check_level(const Settings& settings, volta_precision precision);  // repeatable
int check_memory(const Settings& settings);

template <class T, void (*release)(T*)>
struct Release {
    void operator()(T* handle) const { release(handle); }
};
using Context = std::unique_ptr<volta_context, Release<volta_context, volta_context_release>>;
using Graph = std::unique_ptr<volta_graph, Release<volta_graph, volta_graph_release>>;
using Model = std::unique_ptr<volta_model, Release<volta_model, volta_model_release>>;
using Session = std::unique_ptr<volta_session, Release<volta_session, volta_session_release>>;
using Trainer = std::unique_ptr<volta_trainer, Release<volta_trainer, volta_trainer_release>>;
using Tensor = std::unique_ptr<volta_tensor, Release<volta_tensor, volta_tensor_release>>;

void require(volta_status status);  // throws volta_last_error() unless OK
// Where a part computes, and which bits it may have.
struct Place {
    std::string device;
    volta_level level = VOLTA_STRICT;
    volta_precision precision = VOLTA_PRECISION_FP32;
    std::string kernels;  // a folder where compiled kernels are kept; "": nowhere
    std::string tuning;   // a folder of tuning results; "": nowhere
};
// Throws NotRun where the device does not offer the level in that precision.
Context make_context(const Place& place);
inline Context make_context(const std::string& device) { return make_context(Place{device, {}, {}, {}, {}}); }
volta_device_info device_of(const Context& context);

using Extents = std::vector<std::int64_t>;
volta_value input(const Graph& graph, const char* name, const Extents& shape);
Tensor wrap(const Context& context, const Extents& shape, std::vector<float>& data);
// A model of `graph`, and a session that runs it. The model keeps the parameters of seed 1.
Session make_session(const Graph& graph);
void run(const Session& session, const std::vector<const Tensor*>& inputs,
         const std::vector<const Tensor*>& outputs);

// Numbers in [-1, 1) that are the same everywhere.
std::vector<float> numbers(std::int64_t count, std::uint32_t seed);
// The first element whose bits differ, any NaN being equal to any; -1: none.
std::int64_t first_difference(const std::vector<float>& a, const std::vector<float>& b);

// The two models that are trained: a GPT with dropout, and a Llama whose heads share keys.
struct Subject {
    const char* name;
    std::int64_t vocabulary, layers, dim, heads, kv_heads, time, batch;  // kv_heads 0: the GPT
    double dropout;
};
std::vector<Subject> subjects(bool small);
Model make_model(const Context& context, const Subject& subject);
// Two micro-batches, or as many as shards, clipping, a schedule over `steps`.
Trainer make_trainer(const Model& model, const Subject& subject, int steps, std::uint32_t shards = 1);
void set_tokens(const Trainer& trainer, const Subject& subject);
std::string hash_of(const Trainer& trainer);

}  // namespace volta::check
