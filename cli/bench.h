// The benchmarks, one per row of the table in cmd_bench.cpp.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"

namespace voltac::bench {

const std::vector<Command>& benchmarks();

int run_matmul(const std::vector<std::string>& arguments);
int run_train(const std::vector<std::string>& arguments);
int run_infer(const std::vector<std::string>& arguments);
int run_ops(const std::vector<std::string>& arguments);
int run_conv(const std::vector<std::string>& arguments);
int run_memory(const std::vector<std::string>& arguments);

}  // namespace voltac::bench
