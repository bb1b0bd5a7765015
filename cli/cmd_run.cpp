// voltac run: any model on NumPy files.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/npy.h"
#include "cli/options.h"
#include "cli/suggest.h"

namespace voltac {
namespace {

using Json = nlohmann::ordered_json;

struct Given {
    std::string name, path;
    bool is_taken = false;
};

std::vector<Given> parse_inputs(const std::vector<std::string>& texts) {
    std::vector<Given> inputs;
    for (const std::string& text : texts) {
        const std::size_t equals = text.find('=');
        if (equals == 0 || equals == text.npos || equals + 1 == text.size())
            usage_error("voltac run: --input: '" + one_line(text) + "' is not NAME=FILE.npy");
        const std::string name = text.substr(0, equals);
        for (const Given& other : inputs)
            if (other.name == name)
                usage_error("voltac run: --input: '" + one_line(name) + "' is given twice");
        inputs.push_back({name, text.substr(equals + 1)});
    }
    return inputs;
}

// What the model takes and gives.
struct Info {
    std::string name;
    volta_dtype dtype = 0;
    std::vector<std::int64_t> shape;
};
using Describe = volta_status (*)(const volta_model*, size_t, volta_tensor_info*);
std::vector<Info> describe(const Model& model, std::size_t count, Describe call) {
    std::vector<Info> rows;
    for (std::size_t i = 0; i < count; ++i) {
        volta_tensor_info info = {};
        check(call(model.get(), i, &info));
        rows.push_back(
            {info.name, info.dtype, std::vector<std::int64_t>(info.shape, info.shape + info.rank)});
    }
    return rows;
}

// A tensor with the memory that it lies over.
struct Array {
    std::vector<std::int64_t> shape;
    std::vector<std::uint32_t> elements;
    std::unique_ptr<volta_tensor, Release<volta_tensor, volta_tensor_release>> tensor;

    void wrap(const Context& context, volta_dtype dtype) {
        if (elements.empty()) elements.resize(1);  // memory to point to
        volta_tensor* made = nullptr;
        check(volta_tensor_wrap(context.get(), dtype, shape.data(), static_cast<std::int32_t>(shape.size()),
                                elements.data(), &made));
        tensor.reset(made);
    }
};

bool fits(const std::vector<std::int64_t>& declared, const std::vector<std::int64_t>& given) {
    return declared.size() == given.size() && std::equal(declared.begin(), declared.end(), given.begin(),
                                                         [](std::int64_t wanted, std::int64_t extent) {
                                                             return wanted < 0 || wanted == extent;
                                                         });
}

Array read_input(const Context& context, const Info& info, const std::string& path) {
    const std::string shown = one_line(path), what = "input '" + one_line(info.name) + "'";
    const std::string bytes = read_text(path);
    const NpyView file = parse_npy(shown, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    if (!fits(info.shape, file.shape))
        failure(shown + ": the array is " + shape_text(file.shape.data(), file.shape.size()) + ", but " +
                what + " takes " + shape_text(info.shape.data(), info.shape.size()));
    Array array;
    array.shape = file.shape;
    array.elements = npy_elements(shown, file, info.dtype, what);
    array.wrap(context, info.dtype);
    return array;
}

std::vector<Array> read_inputs(const Context& context, const std::vector<Info>& infos,
                               std::vector<Given>& given) {
    std::vector<std::string> names;
    names.reserve(infos.size());
    for (const Info& info : infos) names.push_back(info.name);
    for (const Given& one : given)
        if (std::find(names.begin(), names.end(), one.name) == names.end())
            failure("the model has no input '" + one_line(one.name) + "'" + did_you_mean(one.name, names));
    std::vector<Array> arrays;
    for (const Info& info : infos) {
        const auto found =
            std::find_if(given.begin(), given.end(), [&](const Given& one) { return one.name == info.name; });
        if (found == given.end())
            failure("input '" + one_line(info.name) + "' is not given: --input " + one_line(info.name) +
                    "=FILE.npy of " + shape_text(info.shape.data(), info.shape.size()));
        arrays.push_back(read_input(context, info, found->path));
    }
    return arrays;
}

// A file for each output. Names come from the model, as "/head/Add_output_0" of other programs: none may lead
// out of the folder, so what a file's name cannot hold becomes "_"; a name that is taken then gets the
// output's number.
std::vector<std::string> file_names(const std::vector<Info>& outputs) {
    constexpr std::size_t kLongest = 200;  // bytes: file systems take 255
    std::vector<std::string> names;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        std::string name = one_line(outputs[i].name);
        std::replace(name.begin(), name.end(), '/', '_');
        if (name.empty()) name = "_";
        if (name[0] == '.') name[0] = '_';
        if (name.size() > kLongest) name.resize(kLongest);
        if (std::find(names.begin(), names.end(), name) != names.end()) name += "_" + std::to_string(i);
        while (std::find(names.begin(), names.end(), name) != names.end()) name += "_";
        names.push_back(name);
    }
    return names;
}

[[noreturn]] void refuse_folder(const std::string& path) {
    failure("--out: cannot make the folder " + one_line(path) + ": " + std::strerror(errno));
}

// Before the work: a folder that can be written, or a place where one can be made.
void check_folder(const std::string& path) {
    if (access(path.c_str(), F_OK) == 0) {
        if (!is_folder(path)) failure("--out: " + one_line(path) + " is not a folder");
        if (access(path.c_str(), W_OK | X_OK) != 0)
            failure("--out: cannot write into " + one_line(path) + ": " + std::strerror(errno));
        return;
    }
    const std::size_t slash = path.find_last_of('/', path.find_last_not_of('/'));
    const std::string above = slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    if (access(above.c_str(), W_OK | X_OK) != 0) refuse_folder(path);
}

void make_folder(const std::string& path) {
    if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) refuse_folder(path);
}

}  // namespace

int run_run(const std::vector<std::string>& arguments) {
    std::string path, out, load = kLoadNames[VOLTA_LOAD_MAP];
    std::vector<std::string> texts;
    bool json = false;
    Machine machine;
    Options options("run", "Runs a model once on NumPy files, and writes every output as one.");
    options.positional("model", path, "a model file");
    options.texts("--input", texts,
                  "NAME=FILE.npy for each input (voltac info names them): float32 or what is exactly that, "
                  "integers where the model takes int32; in C order");
    options.text("--out", out,
                 "the folder for NAME.npy of every output, with _ for /; it is made where it is not there");
    options.require("--out");
    options.load(load);
    options.flag("--json", json, "one JSON object per output and line");
    options.machine(machine);
    options.config();
    options.parse(arguments);
    std::vector<Given> given = parse_inputs(texts);
    check_folder(out);

    const Context context = make_context(machine);
    const Model model = open_model(context, path, load);
    const std::vector<Info> inputs =
        describe(model, volta_model_input_count(model.get()), volta_model_input_info);
    const std::vector<Info> outputs =
        describe(model, volta_model_output_count(model.get()), volta_model_output_info);
    const std::vector<std::string> files = file_names(outputs);
    const std::vector<Array> taken = read_inputs(context, inputs, given);

    std::vector<std::int64_t> extents;
    std::vector<const volta_tensor*> in;
    for (const Array& array : taken) {
        extents.insert(extents.end(), array.shape.begin(), array.shape.end());
        in.push_back(array.tensor.get());
    }
    volta_session_options wanted = VOLTA_SESSION_OPTIONS_INIT;
    wanted.input_shapes = extents.data();
    wanted.input_extent_count = extents.size();
    volta_session* made = nullptr;
    check(volta_session_create(model.get(), &wanted, &made));
    const Session session(made);
    std::vector<Array> results(outputs.size());
    std::vector<volta_tensor*> to;
    for (std::size_t i = 0; i < results.size(); ++i) {
        std::int64_t shape[VOLTA_MAX_RANK];
        std::int32_t rank = 0;
        check(volta_session_output_shape(made, i, shape, &rank));
        results[i].shape.assign(shape, shape + rank);
        std::size_t elements = 1;
        for (const std::int64_t extent : results[i].shape) elements *= static_cast<std::size_t>(extent);
        results[i].elements.resize(elements);
        results[i].wrap(context, outputs[i].dtype);
        to.push_back(results[i].tensor.get());
    }
    check(volta_session_run(made, in.data(), in.size(), to.data(), to.size()));
    make_folder(out);
    for (std::size_t i = 0; i < results.size(); ++i) {
        const std::string file = out + "/" + files[i] + ".npy";
        write_text(file, npy_text(outputs[i].dtype, results[i].shape, results[i].elements.data()));
        const std::string shape = shape_text(results[i].shape.data(), results[i].shape.size());
        if (json)
            print(json_text(Json{{"output", outputs[i].name},
                                 {"dtype", dtype_name(outputs[i].dtype)},
                                 {"shape", results[i].shape},
                                 {"file", file}}) +
                  "\n");
        else
            print(one_line(outputs[i].name) + "  " + dtype_name(outputs[i].dtype) + " " + shape + "  " +
                  one_line(file) + "\n");
    }
    return 0;
}

}  // namespace voltac
