// Something to measure on the one path of the library: a graph, the model made of it, a session, and tensors
// of seeded random values for its inputs and outputs.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "cli/support.h"

namespace voltac::bench {

using Graph = std::unique_ptr<volta_graph, Release<volta_graph, volta_graph_release>>;
using Tensor = std::unique_ptr<volta_tensor, Release<volta_tensor, volta_tensor_release>>;
using Extents = std::vector<std::int64_t>;

std::int64_t elements_of(const Extents& shape);

// SplitMix64: the same values on every machine.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next();
    float uniform();  // in [-1, 1)
    std::int32_t below(std::int64_t n) {
        return static_cast<std::int32_t>(next() % static_cast<std::uint64_t>(n));
    }

  private:
    std::uint64_t state_;
};

Tensor random_tensor(const Context& context, const Extents& shape, Random& random);                   // f32
Tensor random_ids(const Context& context, const Extents& shape, std::int64_t below, Random& random);  // i32
Tensor zero_tensor(const Context& context, const Extents& shape);

// A number, or a list of integers, for an attribute of an operator.
volta_attribute attribute(const char* name, double number);

// A graph under construction.
class GraphBuilder {
  public:
    explicit GraphBuilder(const Context& context);
    volta_value input(const char* name, const Extents& shape);
    volta_value parameter(const char* name, const Extents& shape);  // uniform in [-1, 1)
    volta_value apply(const char* op, const std::vector<volta_value>& inputs,
                      const std::vector<volta_attribute>& attributes = {});
    volta_value linear(const char* name, volta_value x, std::int64_t out_features);
    void output(volta_value value, const char* name = "y");
    Model model(std::uint64_t seed = 1) const;

  private:
    Graph graph_;
};

// A session with tensors of its own, ready to be run again and again.
class SessionCase {
  public:
    // Inputs have the model's own shapes; those of i32 hold ids below `ids_below`. extents: of all inputs,
    // where the model leaves them open.
    SessionCase(const Context& context, Model model, Extents extents = {}, std::int64_t ids_below = 1);
    void run() {
        check(volta_session_run(session_.get(), inputs_.data(), inputs_.size(), outputs_.data(),
                                outputs_.size()));
    }
    const Session& session() const { return session_; }

  private:
    Model model_;
    Session session_;
    std::vector<Tensor> tensors_;
    std::vector<const volta_tensor*> inputs_;
    std::vector<volta_tensor*> outputs_;
};

}  // namespace voltac::bench
