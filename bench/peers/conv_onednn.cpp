// oneDNN's convolutions for bench/conv_peers.py, with operands in the layouts that the library chooses,
// reordered before the clock starts.
//
//     conv_onednn THREADS       prints one line about itself, then answers lines
//     PASS BATCH CHANNELS SIDE FILTERS KERNEL STRIDE GROUPS RUNS SECONDS
//                               with {"us": the median of RUNS runs, each repeating the call for SECONDS}
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <oneapi/dnnl/dnnl.hpp>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace {
using dnnl::memory;

struct Layer {
    std::string pass;
    memory::dim batch, channels, side, filters, kernel, stride, groups;
};

using Arguments = std::unordered_map<int, memory>;
struct Call {
    dnnl::primitive primitive;
    Arguments arguments;
};

memory::desc any(const memory::dims& extents) {
    return memory::desc(extents, memory::data_type::f32, memory::format_tag::any);
}

memory filled(const memory::desc& description, const dnnl::engine& engine) {
    memory made(description, engine);
    float* values = static_cast<float*>(made.get_data_handle());
    std::fill(values, values + description.get_size() / sizeof(float), 0.5f);
    return made;
}

using Forward = dnnl::convolution_forward;
using Data = dnnl::convolution_backward_data;
using Weights = dnnl::convolution_backward_weights;

Call call_of(const Forward::primitive_desc& d, const dnnl::engine& engine) {
    return {Forward(d),
            {{DNNL_ARG_SRC, filled(d.src_desc(), engine)},
             {DNNL_ARG_WEIGHTS, filled(d.weights_desc(), engine)},
             {DNNL_ARG_DST, filled(d.dst_desc(), engine)}}};
}
Call call_of(const Data::primitive_desc& d, const dnnl::engine& engine) {
    return {Data(d),
            {{DNNL_ARG_DIFF_DST, filled(d.diff_dst_desc(), engine)},
             {DNNL_ARG_WEIGHTS, filled(d.weights_desc(), engine)},
             {DNNL_ARG_DIFF_SRC, filled(d.diff_src_desc(), engine)}}};
}
Call call_of(const Weights::primitive_desc& d, const dnnl::engine& engine) {
    return {Weights(d),
            {{DNNL_ARG_DIFF_DST, filled(d.diff_dst_desc(), engine)},
             {DNNL_ARG_SRC, filled(d.src_desc(), engine)},
             {DNNL_ARG_DIFF_WEIGHTS, filled(d.diff_weights_desc(), engine)}}};
}

Call prepare(const Layer& l, const dnnl::engine& engine) {
    const memory::dim pad = l.kernel / 2, out = (l.side + 2 * pad - l.kernel) / l.stride + 1;
    const memory::desc x = any({l.batch, l.channels, l.side, l.side}),
                       y = any({l.batch, l.filters, out, out});
    const memory::desc w =
        l.groups == 1 ? any({l.filters, l.channels, l.kernel, l.kernel})
                      : any({l.groups, l.filters / l.groups, l.channels / l.groups, l.kernel, l.kernel});
    const memory::dims strides = {l.stride, l.stride}, pads = {pad, pad};
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const auto kind =
        l.pass == "forward" ? dnnl::prop_kind::forward_inference : dnnl::prop_kind::forward_training;
#if DNNL_VERSION_MAJOR >= 3
    const Forward::primitive_desc forward(engine, kind, algorithm, x, w, y, strides, pads, pads);
    const auto data = [&] {
        return Data::primitive_desc(engine, algorithm, x, w, y, strides, pads, pads, forward);
    };
    const auto weights = [&] {
        return Weights::primitive_desc(engine, algorithm, x, w, y, strides, pads, pads, forward);
    };
#else
    const Forward::primitive_desc forward(Forward::desc(kind, algorithm, x, w, y, strides, pads, pads),
                                          engine);
    const auto data = [&] {
        return Data::primitive_desc(Data::desc(algorithm, x, w, y, strides, pads, pads), engine, forward);
    };
    const auto weights = [&] {
        return Weights::primitive_desc(Weights::desc(algorithm, x, w, y, strides, pads, pads), engine,
                                       forward);
    };
#endif
    if (l.pass == "data") return call_of(data(), engine);
    if (l.pass == "weights") return call_of(weights(), engine);
    return call_of(forward, engine);
}

// Seconds of `calls` calls.
double seconds_of(const Call& call, dnnl::stream& stream, long calls) {
    const auto start = std::chrono::steady_clock::now();
    for (long i = 0; i < calls; ++i) call.primitive.execute(stream, call.arguments);
    stream.wait();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median_us(const Call& call, dnnl::stream& stream, int runs, double run_seconds) {
    seconds_of(call, stream, 2);
    const auto best_of_three = [&](long calls) {
        return std::min({seconds_of(call, stream, calls), seconds_of(call, stream, calls),
                         seconds_of(call, stream, calls)});
    };
    long calls = 1;
    double seconds = best_of_three(calls);
    while (seconds < run_seconds / 4) seconds = best_of_three(calls *= 2);
    calls = std::max(1L, static_cast<long>(run_seconds / seconds * static_cast<double>(calls)));
    std::vector<double> times;
    for (int run = 0; run < runs; ++run)
        times.push_back(seconds_of(call, stream, calls) / static_cast<double>(calls));
    std::sort(times.begin(), times.end());
    return times[times.size() / 2] * 1e6;
}

}  // namespace

int main(int argc, char** argv) {
    const int threads = argc == 2 ? std::atoi(argv[1]) : 0;
    if (threads < 1) {
        std::cerr << "usage: conv_onednn THREADS\n";
        return 2;
    }
    omp_set_num_threads(threads);
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(engine);
    const dnnl_version_t* v = dnnl_version();
    std::cout << "{\"version\": \"oneDNN " << v->major << "." << v->minor << "." << v->patch << "\"}"
              << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        Layer l;
        int runs = 0;
        double seconds = 0;
        if (!(words >> l.pass >> l.batch >> l.channels >> l.side >> l.filters >> l.kernel >> l.stride >>
              l.groups >> runs >> seconds)) {
            std::cerr << "no question: " << line << "\n";
            return 1;
        }
        try {
            std::cout << "{\"us\": " << median_us(prepare(l, engine), stream, runs, seconds) << "}"
                      << std::endl;
        } catch (const dnnl::error& error) {
            std::cerr << "oneDNN: " << error.what() << "\n";
            return 1;
        }
    }
    return 0;
}
