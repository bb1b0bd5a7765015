// What volta.hpp costs over C per run of a tiny model: overhead_cpp ROUNDS RUNS. One line of JSON:
// nanoseconds of each round.
#include "bench/overhead/loop.h"

#include <volta.hpp>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

double loop(volta::session& session, const volta::tensor& x, const volta::tensor& y, long runs) {
    const double begin = volta_overhead_now();
    for (long i = 0; i < runs; ++i) session.run(x, y);
    return (volta_overhead_now() - begin) / static_cast<double>(runs);
}

void print(const char* name, const std::vector<double>& values) {
    std::printf("\"%s\": [", name);
    for (std::size_t i = 0; i < values.size(); ++i) std::printf("%s%.2f", i > 0 ? ", " : "", values[i]);
    std::printf("]");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return std::fprintf(stderr, "usage: overhead_cpp ROUNDS RUNS\n"), 2;
    auto options = volta::options<volta_context_options>();
    options.thread_count = 1;
    const volta::context context(options);
    volta::graph graph(context);
    graph.output("y", graph.linear("fc", graph.input("x", {1, 4}), 4));
    const volta::model model(graph, 1);
    volta::session session(model);
    const volta::tensor x(context, {1, 4}), y(context, {1, 4});

    const long rounds = std::atol(argv[1]), runs = std::atol(argv[2]);
    std::vector<double> c, own;
    for (long round = 0; round < rounds; ++round) {
        c.push_back(volta_overhead_loop(session, x, y, runs));
        own.push_back(loop(session, x, y, runs));
    }
    std::printf("{\"language\": \"C++\", ");
    print("c", c);
    std::printf(", ");
    print("own", own);
    std::printf("}\n");
}
