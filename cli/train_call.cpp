#include "cli/train_call.h"

#include <algorithm>

namespace voltac {
namespace {

// What a checkpoint says itself, and refuses beside --resume.
constexpr const char* kOfNewRuns[] = {"--resume", "--freeze", "--classes", "--lora", "--tokenizer"};

bool begins_a_run(const std::string& name, const TrainCall& call) {
    if (name == "--from") return !call.has_adapters;
    return std::find(std::begin(kOfNewRuns), std::end(kOfNewRuns), name) != std::end(kOfNewRuns);
}

}  // namespace

std::vector<std::string> resumed_call(const std::vector<std::string>& arguments, const TrainCall& call) {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::size_t sign = arguments[i].find('=');
        if (!begins_a_run(arguments[i].substr(0, sign), call))
            words.push_back(arguments[i]);
        else if (sign == std::string::npos)
            ++i;  // its value
    }
    words.insert(words.end(), {"--resume", call.out});
    return words;
}

}  // namespace voltac
