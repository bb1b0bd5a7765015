// The official conformance cases of ONNX through the public header: each is imported, run on its inputs and
// compared with its outputs, by values and not by types, at the tolerance of the official runner; and what
// came of it is compared with a list, in which every case stands as `pass` or as `refused` with a sentence.
//
//     run_cases LIST [--write] [--only TEXT] NAME=FOLDER...
//
// A case is a folder with model.onnx and test_data_set_*/{input,output}_N.pb, or a file X.onnx beside
// X_output_N.pb, whose input is 0/n, 1/n, ... Its line in LIST: NAME/folder, result, largest error in ulp,
// and what was done or why not. Volta's results have the same bits everywhere, so the error is part of the
// list.
//
// Inputs as constants: shapes, axes and the like must be known when a model is imported, but the cases give
// them when it runs. Where the file as it is is refused, the case is tried again with inputs bound to the
// case's values, as initialisers of their names: all integers but the first input, then all but the first
// input, then all integers. The line says which (`bound 1 2`). The library itself never does this.
//
// Each case runs in a process of its own, so that a crash is a result like any other.
#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "include/volta.h"
#include "tests/onnx/tensor_file.h"

namespace {
using cases::Tensor;

constexpr double kRelative = 1e-3, kAbsolute = 1e-7;
constexpr unsigned kSecondsEach = 120;

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}
bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

struct Case {
    std::string key, model;         // path of the model
    std::vector<std::string> sets;  // folders; of a file beside its output: none
};

std::vector<std::string> entries(const std::string& folder) {
    std::vector<std::string> names;
    DIR* const open = opendir(folder.c_str());
    if (open == nullptr) return names;
    while (const dirent* entry = readdir(open))
        if (entry->d_name[0] != '.') names.push_back(entry->d_name);
    closedir(open);
    std::sort(names.begin(), names.end());
    return names;
}

std::string below(std::string folder, const std::string& name) { return (folder += '/') += name; }

void find_cases(const std::string& folder, const std::string& key, int depth, std::vector<Case>& found) {
    if (exists(folder + "/model.onnx")) {
        Case one = {key, folder + "/model.onnx", {}};
        for (const std::string& name : entries(folder))
            if (name.rfind("test_data_set_", 0) == 0) one.sets.push_back(below(folder, name));
        found.push_back(one);
        return;
    }
    if (depth == 0) return;
    for (const std::string& name : entries(folder)) {
        const std::string path = below(folder, name);
        struct stat info = {};
        if (stat(path.c_str(), &info) != 0) continue;
        if (S_ISDIR(info.st_mode)) {
            find_cases(path, below(key, name), depth - 1, found);
        } else if (name.size() > 5 && name.substr(name.size() - 5) == ".onnx") {
            const std::string stem = name.substr(0, name.size() - 5);
            if (exists(below(folder, stem + "_output_0.pb"))) found.push_back({below(key, stem), path, {}});
        }
    }
}

// ---- One case --------------------------------------------------------------------------------------------

// What is told of a library's sentence: without the path, which is not the same everywhere.
std::string sentence() {
    std::string text = volta_last_error();
    const std::string prefix = "cannot import the model: ";
    if (text.rfind(prefix, 0) == 0) text = text.substr(prefix.size());
    const std::size_t path = text.rfind(" ('");
    if (path != text.npos && text.size() > 2 && text.substr(text.size() - 2) == "')") text.resize(path);
    std::replace(text.begin(), text.end(), '\t', ' ');
    return text;
}

std::int64_t ordered(float value) {
    std::int32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits < 0 ? -std::int64_t{bits & 0x7fffffff} : bits;
}

class Runner {
  public:
    explicit Runner(const Case& one)
        : case_(one), bytes_(read_file(one.model)), ports_(cases::read_ports(bytes_)) {}

    // "pass\tulp\tnote", "refused\t\tsentence" or "wrong\t\twhat".
    std::string run() {
        volta_context_options options = {};
        options.struct_size = sizeof options;
        options.thread_count = 1;
        if (volta_context_create(&options, &context_) != VOLTA_OK) return "wrong\t\tno context";
        read_first_set();
        if (!import({})) {
            std::string refusal = std::string("refused\t\t") + sentence();
            if (status_ == VOLTA_INTERNAL || status_ == VOLTA_OUT_OF_MEMORY) return "wrong\t\t" + sentence();
            for (const std::vector<std::size_t>& bound : ways_to_bind()) {
                if (import(bound)) return finish(bound);
                if (status_ == VOLTA_INTERNAL || status_ == VOLTA_OUT_OF_MEMORY)
                    return "wrong\t\t" + sentence();
                refusal = "refused\t\t" + sentence() + " (" + note_of(bound) + ")";
            }
            return refusal;
        }
        return finish({});
    }

  private:
    static std::string note_of(const std::vector<std::size_t>& bound) {
        std::string note;
        for (const std::size_t index : bound) note += (note.empty() ? "bound " : " ") + std::to_string(index);
        return note;
    }

    // What can be imported can be kept.
    bool save() const {
        char name[] = "/tmp/volta-onnx-XXXXXX";
        const int file = mkstemp(name);
        if (file < 0) return false;
        close(file);
        const bool saved = volta_model_save(model_, name) == VOLTA_OK;
        unlink(name);
        return saved;
    }

    std::string finish(const std::vector<std::size_t>& bound) {
        if (!save()) return "wrong\t\tit cannot be saved: " + sentence();
        std::string note = note_of(bound);
        if (case_.sets.empty()) {
            std::string problem = compare_files(
                ports_.inputs, {}, case_.model.substr(0, case_.model.size() - 5) + "_output_", note);
            if (!problem.empty()) return problem;
        }
        for (const std::string& set : case_.sets) {
            std::string problem = compare_files(ports_.inputs, read_inputs(set), set + "/output_", note);
            if (!problem.empty()) return problem;
        }
        if (!compares_) note = "it runs; there is nothing to compare with";
        return "pass\t" + std::to_string(ulps_) + "\t" + note;
    }

    void read_first_set() {
        if (!case_.sets.empty()) first_ = read_inputs(case_.sets.front());
    }

    std::vector<std::pair<std::string, Tensor>> read_inputs(const std::string& set) const {
        std::vector<std::pair<std::string, Tensor>> inputs;  // raw bytes, values
        for (std::size_t i = 0; i < ports_.inputs.size(); ++i) {
            const std::string path = set + "/input_" + std::to_string(i) + ".pb";
            if (!exists(path)) break;
            const std::string bytes = read_file(path);
            Tensor tensor;
            try {
                tensor = cases::read_tensor(bytes);
            } catch (const protozero::exception&) {
                tensor.readable = false;
            }
            if (ports_.types[i] == cases::kBf16 &&
                tensor.type == cases::kU16) {  // so the suite of 1.12 writes them
                tensor.type = cases::kBf16;
                for (double& value : tensor.values)
                    value = cases::half(static_cast<std::uint16_t>(value), true);
            }
            inputs.emplace_back(bytes, tensor);
        }
        return inputs;
    }

    std::vector<std::vector<std::size_t>> ways_to_bind() const {
        std::vector<std::size_t> later_integers, later, integers;
        for (std::size_t i = 0; i < first_.size(); ++i) {
            const Tensor& tensor = first_[i].second;
            if (!tensor.readable) return {};
            if (i > 0) later.push_back(i);
            if (tensor.is_whole() && i > 0) later_integers.push_back(i);
            if (tensor.is_whole()) integers.push_back(i);
        }
        std::vector<std::vector<std::size_t>> ways;
        for (const auto& way : {later_integers, later, integers})
            if (!way.empty() && std::find(ways.begin(), ways.end(), way) == ways.end()) ways.push_back(way);
        return ways;
    }

    bool import(const std::vector<std::size_t>& bound) {
        std::string path = case_.model;
        if (!bound.empty()) {
            std::string bytes = bytes_;
            for (const std::size_t index : bound)
                bytes += cases::bound(ports_.inputs[index], first_[index].first);
            char name[] = "/tmp/volta-onnx-XXXXXX";
            const int file = mkstemp(name);
            if (file < 0 || write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
                return false;
            close(file);
            path = name;
        }
        status_ = volta_model_import(context_, path.c_str(), nullptr, &model_);
        const bool done = status_ == VOLTA_OK;
        if (!bound.empty()) unlink(path.c_str());
        return done;
    }

    // "" or the line of a failure.
    std::string compare_files(const std::vector<std::string>& names,
                              const std::vector<std::pair<std::string, Tensor>>& given,
                              const std::string& outputs, const std::string& note) {
        std::vector<std::int64_t> extents;
        std::vector<volta_tensor*> inputs, results;
        for (std::size_t i = 0; i < volta_model_input_count(model_); ++i) {
            volta_tensor_info info = {};
            volta_model_input_info(model_, i, &info);
            Tensor tensor;
            const auto at = std::find(names.begin(), names.end(), info.name);
            const auto index = static_cast<std::size_t>(at - names.begin());
            if (index < given.size()) {
                tensor = given[index].second;
            } else if (given.empty()) {  // 0/n, 1/n, ...
                std::int64_t count = 1;
                for (int axis = 0; axis < info.rank; ++axis) {
                    tensor.shape.push_back(info.shape[axis] < 0 ? 1 : info.shape[axis]);
                    count *= tensor.shape.back();
                }
                for (std::int64_t k = 0; k < count; ++k)
                    tensor.values.push_back(
                        static_cast<double>(static_cast<float>(k) / static_cast<float>(count)));
            }
            if (!tensor.readable || (index >= given.size() && !given.empty()))
                return std::string("wrong\t\tno values for the input ") + info.name;
            const auto is_too_large = [&](double value) {
                return info.dtype == VOLTA_F32
                           ? std::isfinite(value) && !std::isfinite(static_cast<float>(value))
                           : !(value >= INT32_MIN && value <= INT32_MAX);
            };
            if (std::any_of(tensor.values.begin(), tensor.values.end(), is_too_large))
                return std::string("refused\t\twhen it is fed: a value of the input '") + info.name +
                       "' is none of " + (info.dtype == VOLTA_F32 ? "float" : "int32");
            extents.insert(extents.end(), tensor.shape.begin(), tensor.shape.end());
            inputs.push_back(make(info.dtype, tensor));
            if (inputs.back() == nullptr) return "wrong\t\tan input: " + sentence();
        }
        volta_session_options options = {};
        options.struct_size = sizeof options;
        options.input_shapes = extents.data();
        options.input_extent_count = extents.size();
        volta_session* session = nullptr;
        if (volta_session_create(model_, &options, &session) != VOLTA_OK)
            return "refused\t\twhen it is compiled: " + sentence();
        std::vector<Tensor> expected;
        for (std::size_t i = 0; i < volta_model_output_count(model_); ++i) {
            const std::string path = outputs + std::to_string(i) + ".pb";
            volta_tensor_info info = {};
            volta_model_output_info(model_, i, &info);
            if (exists(path)) {
                expected.push_back(cases::read_tensor(read_file(path)));
            } else if (case_.sets.empty() &&
                       std::find(info.shape, info.shape + info.rank, -1) == info.shape + info.rank) {
                expected.emplace_back();  // that it runs, to finite numbers, is all that can be told
                expected.back().type = cases::kF32;
                std::size_t count = 1;
                for (int axis = 0; axis < info.rank; ++axis) {
                    expected.back().shape.push_back(info.shape[axis]);
                    count *= static_cast<std::size_t>(info.shape[axis]);
                }
                expected.back().values.assign(count, 0);
                compares_ = false;
            } else {
                return "wrong\t\tthere is no " + path;
            }
            if (!expected.back().readable)
                return std::string("wrong\t\tno values for the output ") + info.name;
            results.push_back(make(info.dtype, expected.back()));
            if (results.back() == nullptr) return "wrong\t\tan output: " + sentence();
            std::memset(volta_tensor_data(results.back()), 0x55, expected.back().values.size() * 4);
        }
        if (volta_session_run(session, inputs.data(), inputs.size(), results.data(), results.size()) !=
            VOLTA_OK) {
            const std::string text = sentence();
            return text.find("output") == 0 ? "wrong\t\t" + text : "refused\t\twhen it runs: " + text;
        }
        for (std::size_t i = 0; i < results.size(); ++i)
            for (std::size_t k = 0; k < expected[i].values.size(); ++k) {
                const double want = expected[i].values[k];
                const void* const data = volta_tensor_data(results[i]);
                const bool real = volta_tensor_dtype(results[i]) == VOLTA_F32;
                const double got = real ? static_cast<double>(static_cast<const float*>(data)[k])
                                        : static_cast<double>(static_cast<const std::int32_t*>(data)[k]);
                if (!compares_ && std::isfinite(got)) continue;
                if (std::isnan(want) && std::isnan(got)) continue;
                if (want == got) continue;
                if (!(std::fabs(want - got) <= kAbsolute + kRelative * std::fabs(want))) {
                    std::ostringstream text;
                    text << "wrong\t\toutput " << i << ", element " << k << ": " << got << ", expected "
                         << want << " " << note;
                    return text.str();
                }
                if (std::fabs(want - got) > kAbsolute)
                    ulps_ = std::max(ulps_, std::llabs(ordered(static_cast<float>(got)) -
                                                       ordered(static_cast<float>(want))));
            }
        volta_session_release(session);
        return "";
    }

    volta_tensor* make(volta_dtype dtype, const Tensor& from) {
        volta_tensor* tensor = nullptr;
        if (volta_tensor_create(context_, dtype, from.shape.data(), static_cast<int32_t>(from.shape.size()),
                                &tensor) != VOLTA_OK)
            return nullptr;
        for (std::size_t k = 0; k < from.values.size(); ++k) {
            if (dtype == VOLTA_F32)
                static_cast<float*>(volta_tensor_data(tensor))[k] = static_cast<float>(from.values[k]);
            else
                static_cast<std::int32_t*>(volta_tensor_data(tensor))[k] =
                    static_cast<std::int32_t>(from.values[k]);
        }
        return tensor;
    }

    const Case& case_;
    std::string bytes_;
    cases::Ports ports_;
    std::vector<std::pair<std::string, Tensor>> first_;
    volta_context* context_ = nullptr;
    volta_model* model_ = nullptr;
    volta_status status_ = VOLTA_OK;
    long long ulps_ = 0;
    bool compares_ = true;
};

// ---- All of them
// -------------------------------------------------------------------------------------------

// A case's process ends with what it holds; where lines are counted it ends in order, or what it ran is not.
#ifdef VOLTA_COVERAGE
constexpr auto end_process = &std::exit;
#else
constexpr auto end_process = &_exit;
#endif

struct Child {
    pid_t process = 0;
    int pipe = -1;
    std::size_t index = 0;
};

Child start(const Case& one, std::size_t index) {
    int ends[2];
    if (pipe(ends) != 0) std::exit(2);
    const pid_t process = fork();
    if (process == 0) {
        close(ends[0]);
        alarm(kSecondsEach);
        std::string line;
        try {
            line = Runner(one).run();
        } catch (const std::exception& error) {
            line = std::string("wrong\t\t") + error.what();
        }
        std::replace(line.begin(), line.end(), '\n', ' ');
        const bool told = write(ends[1], line.data(), line.size()) == static_cast<ssize_t>(line.size());
        end_process(told ? 0 : 3);
    }
    close(ends[1]);
    return {process, ends[0], index};
}

std::string finish(const Child& child) {
    std::string line;
    char part[4096];
    for (ssize_t count; (count = read(child.pipe, part, sizeof part)) > 0;)
        line.append(part, static_cast<std::size_t>(count));
    close(child.pipe);
    int status = 0;
    waitpid(child.process, &status, 0);
    if (WIFSIGNALED(status)) return "crash\t\tsignal " + std::to_string(WTERMSIG(status));
    return WEXITSTATUS(status) != 0 || line.empty() ? "crash\t\tit ended without a word" : line;
}

std::vector<std::string> run_all(const std::vector<Case>& all) {
    const auto at_once = static_cast<std::size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    std::vector<std::string> lines(all.size());
    std::vector<Child> running;
    for (std::size_t next = 0; next < all.size() || !running.empty();) {
        while (next < all.size() && running.size() < at_once) {
            running.push_back(start(all[next], next));
            ++next;
        }
        lines[running.front().index] = finish(running.front());
        running.erase(running.begin());
    }
    return lines;
}

}  // namespace

int main(int count, char** arguments) {
    bool writes = false;
    std::string list, only;
    std::vector<Case> all;
    std::vector<std::string> sets;
    for (int i = 1; i < count; ++i) {
        const std::string word = arguments[i];
        const std::size_t equals = word.find('=');
        if (word == "--write")
            writes = true;
        else if (word == "--only" && i + 1 < count)
            only = arguments[++i];
        else if (list.empty())
            list = word;
        else if (equals != word.npos) {
            sets.push_back(word.substr(0, equals));
            find_cases(word.substr(equals + 1), sets.back(), 3, all);
        }
    }
    if (sets.empty()) {
        std::fprintf(stderr, "usage: run_cases LIST [--write] [--only TEXT] NAME=FOLDER...\n");
        return 2;
    }
    if (!only.empty())
        all.erase(std::remove_if(all.begin(), all.end(),
                                 [&](const Case& one) { return one.key.find(only) == one.key.npos; }),
                  all.end());
    const std::vector<std::string> lines = run_all(all);

    std::map<std::string, std::string> expected, seen, kept;
    std::ifstream file(list);
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#') continue;
        const std::size_t tab = line.find('\t');
        const std::string key = line.substr(0, tab), set = key.substr(0, key.find('/'));
        if (std::find(sets.begin(), sets.end(), set) == sets.end() ||
            (!only.empty() && key.find(only) == key.npos))
            kept[key] = line.substr(tab + 1);
        else
            expected[key] = line.substr(tab + 1);
    }
    std::map<std::string, int> results;
    int differences = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        seen[all[i].key] = lines[i];
        ++results[lines[i].substr(0, lines[i].find('\t'))];
        const auto at = expected.find(all[i].key);
        const bool bad = lines[i].rfind("pass", 0) != 0 && lines[i].rfind("refused", 0) != 0;
        if (at != expected.end() && at->second == lines[i] && !bad) continue;
        if (!writes || bad) {
            ++differences;
            std::printf("%s: %s\n    in the list: %s\n", all[i].key.c_str(), lines[i].c_str(),
                        at == expected.end() ? "(not there)" : at->second.c_str());
        }
    }
    for (const auto& [key, line] : expected)
        if (seen.find(key) == seen.end()) {
            ++differences;
            std::printf("%s is in the list, but there is no such case: %s\n", key.c_str(), line.c_str());
        }
    std::printf("%zu cases", all.size());
    for (const auto& [result, number] : results) std::printf(", %d %s", number, result.c_str());
    std::printf("\n");
    if (writes) {
        for (const auto& [key, line] : kept) seen.emplace(key, line);
        std::ofstream out(list);
        out << "# Every case of ONNX's conformance suite: case, result, largest error in ulp, what was bound "
               "or why it is refused.\n"
               "# Written by `make onnx-list`; `make onnx-verify` compares (tests/onnx/run_cases.cpp, "
               "docs/onnx.md).\n";
        for (const auto& [key, line] : seen) out << key << '\t' << line << '\n';
        return results.count("wrong") + results.count("crash") > 0 ? 1 : 0;
    }
    return differences > 0 ? 1 : 0;
}
