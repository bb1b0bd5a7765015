// The commands, one per row of the table in command_table.cpp.
#pragma once

#include <string>
#include <vector>

namespace voltac {

// One command: `voltac <name> ...`; or one part of a command: `voltac bench <name> ...`.
struct Command {
    const char* name;
    const char* usage;                                      // "train --text FILE --out model.volta [options]"
    const char* summary;                                    // one line
    int (*run)(const std::vector<std::string>& arguments);  // nullptr: help, which is main.cpp's
    const std::vector<Command>& (*parts)() = nullptr;       // of a command that is a table of its own
};

const std::vector<Command>& commands();
const std::vector<Command>& tunings();              // of `voltac tune`
const std::vector<Command>& checkpoint_commands();  // of `voltac checkpoint`

int run_train(const std::vector<std::string>& arguments);
int run_launch(const std::vector<std::string>& arguments);
int run_generate(const std::vector<std::string>& arguments);
int run_chat(const std::vector<std::string>& arguments);
int run_tokenize(const std::vector<std::string>& arguments);
int run_eval(const std::vector<std::string>& arguments);
int run_classify(const std::vector<std::string>& arguments);
int run_run(const std::vector<std::string>& arguments);
int run_embed(const std::vector<std::string>& arguments);
int run_convert(const std::vector<std::string>& arguments);
int run_quantize(const std::vector<std::string>& arguments);
int run_merge(const std::vector<std::string>& arguments);
int run_info(const std::vector<std::string>& arguments);
int run_plan(const std::vector<std::string>& arguments);
int run_hash(const std::vector<std::string>& arguments);
int run_checkpoint(const std::vector<std::string>& arguments);
int run_bench(const std::vector<std::string>& arguments);
int run_tune(const std::vector<std::string>& arguments);
int run_tune_matmul(const std::vector<std::string>& arguments);
int run_doctor(const std::vector<std::string>& arguments);
int run_version(const std::vector<std::string>& arguments);

}  // namespace voltac
