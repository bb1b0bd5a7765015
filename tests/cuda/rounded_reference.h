// What products may be at levels other than strict: every node in doubles, with operands rounded where the
// precision says so, and how far sums in fp32 may lie from that, whatever their order.
#pragma once

#include <map>

#include "tests/runtime/reference_run.h"

namespace volta::test {

class RoundedReference final : public ReferenceRun<double> {
  public:
    RoundedReference(const FilledGraph& filled, Precision precision)
        : ReferenceRun<double>(filled), precision_(precision) {}

    // Does the library compute this node? Products of few rows, without k or of stored weights it does not.
    static bool is_by_library(const Graph& graph, const Node& node);

    // "" or the first element of an output of a product that is further away than it may be. Other outputs
    // are not looked at. `compared`: grows by the elements that were.
    std::string compare(const std::vector<Bits>& results, std::size_t* compared) const;

  protected:
    void evaluate(const Node& node, const Tensor* const* inputs, Tensor* const* outputs,
                  std::uint32_t micro) override;

  private:
    struct Product {
        Tensor magnitudes = empty_tensor();  // sums of |a b|, over all micro-batches
        double additions = 0;                // of one element, so far
        bool rounds_inside = false;          // tf32: the operands are the library's to round
        bool has_body = false;
    };
    const Precision precision_;
    std::map<ValueId, Product> products_;  // by the node's first output
};

}  // namespace volta::test
