// What a call of `voltac train` says, for the command that starts several of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace voltac {

struct TrainCall {
    std::string out;          // the checkpoint that it writes
    bool is_sharded = false;  // as a folder
    std::int64_t shards = 0;  // 0: those of the checkpoint that it resumes
    bool reads_input = false, extends = false, has_threads = false;
    bool has_adapters = false;  // so that a checkpoint needs --from too
};

// Throws Stop as the call itself would: for --help, a wrong call, or an output that cannot be written.
TrainCall read_train_call(const std::vector<std::string>& arguments);

// The same call, going on from its checkpoint.
std::vector<std::string> resumed_call(const std::vector<std::string>& arguments, const TrainCall& call);

}  // namespace voltac
