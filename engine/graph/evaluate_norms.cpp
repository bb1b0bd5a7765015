// Norms of channels, their gradients and their running statistics.
#include <algorithm>

#include "engine/graph/evaluate_node.h"
#include "engine/graph/forms.h"
#include "engine/graph/rules.h"
#include "engine/numerics/define_norms.h"

namespace volta {
namespace {

template <class T>
T rounded(const NodeRun<T>& run, Attr key) {
    return ScalarMachine<T>::real(run.node.number(key));
}

template <class T>
void batch_norm(const NodeRun<T>& run) {
    define::batch_norm(channel_planes(run.in_shape(0)), run.in(0), run.in(1), run.in(2), run.in(3), run.in(4),
                       rounded(run, Attr::epsilon), run.out());
}

template <class T>
void batch_statistics(const NodeRun<T>& run) {
    define::batch_statistics(channel_planes(run.in_shape(0)), run.in(0), run.out(0), run.out(1));
}

template <class T>
void batch_norm_grad(const NodeRun<T>& run) {
    define::batch_norm_grad(channel_planes(run.in_shape(1)), run.in(0), run.in(1), run.in(2), run.in(3),
                            run.in(4), rounded(run, Attr::epsilon), run.node.flag(Attr::frozen), run.out(0),
                            run.out(1), run.out(2));
}

// The first micro-batch joins what the inputs hold, later ones what the earlier ones left.
template <class T>
void running_statistics(const NodeRun<T>& run) {
    const std::int64_t channels = run.in_shape(0).elements();
    if (run.micro_index == 0)
        for (int i = 0; i < 2; ++i) std::copy_n(run.in(i), channels, run.out(i));
    define::running_statistics(channels, rounded(run, Attr::momentum), run.node.number(Attr::elements),
                               run.in(2), run.in(3), run.out(0), run.out(1));
}

template <class T>
void assign(const NodeRun<T>& run) {
    std::copy_n(run.in(1), run.in_shape(1).elements(), run.out());
}

template <class T>
void group_norm(const NodeRun<T>& run) {
    const ChannelPlanes planes = channel_planes(run.in_shape(0));
    define::group_norm(planes, norm_groups(run.node, planes), run.in(0), run.in(1), run.in(2),
                       rounded(run, Attr::epsilon), run.out(0), run.out(1), run.out(2));
}

template <class T>
void group_norm_grad(const NodeRun<T>& run) {
    const ChannelPlanes planes = channel_planes(run.in_shape(1));
    define::group_norm_grad(planes, norm_groups(run.node, planes), run.in(0), run.in(1), run.in(2), run.in(3),
                            run.in(4), run.out(0), run.out(1), run.out(2));
}

}  // namespace

namespace evaluations {
constexpr Evaluation batch_norm = {volta::batch_norm<float>};
constexpr Evaluation batch_statistics = {volta::batch_statistics<float>};
constexpr Evaluation batch_norm_grad = {volta::batch_norm_grad<float>};
constexpr Evaluation running_statistics = {volta::running_statistics<float>};
constexpr Evaluation assign = {volta::assign<float>};
constexpr Evaluation group_norm = {volta::group_norm<float>};
constexpr Evaluation group_norm_grad = {volta::group_norm_grad<float>};

constexpr InDouble kInDouble[] = {
    {&batch_norm, volta::batch_norm<double>},
    {&batch_statistics, volta::batch_statistics<double>},
    {&batch_norm_grad, volta::batch_norm_grad<double>},
    {&running_statistics, volta::running_statistics<double>},
    {&assign, volta::assign<double>},
    {&group_norm, volta::group_norm<double>},
    {&group_norm_grad, volta::group_norm_grad<double>},
};
InDoubleList norms_in_double() { return {kInDouble, sizeof kInDouble / sizeof *kInDouble}; }
}  // namespace evaluations

}  // namespace volta
