// The commands, one per row of the table in main.cpp.
#pragma once

#include <string>
#include <vector>

namespace voltac {

int run_train(const std::vector<std::string>& arguments);
int run_generate(const std::vector<std::string>& arguments);
int run_eval(const std::vector<std::string>& arguments);
int run_classify(const std::vector<std::string>& arguments);
int run_run(const std::vector<std::string>& arguments);
int run_embed(const std::vector<std::string>& arguments);
int run_convert(const std::vector<std::string>& arguments);
int run_quantize(const std::vector<std::string>& arguments);
int run_info(const std::vector<std::string>& arguments);
int run_hash(const std::vector<std::string>& arguments);
int run_bench(const std::vector<std::string>& arguments);
int run_tune(const std::vector<std::string>& arguments);
int run_doctor(const std::vector<std::string>& arguments);
int run_version(const std::vector<std::string>& arguments);

}  // namespace voltac
