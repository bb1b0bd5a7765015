#include "cli/adapters.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "cli/commands.h"
#include "cli/text.h"

namespace voltac {
namespace {

constexpr Input kAdapter = {"adapters", false, true};

// The library checks ranges; here words become numbers.
struct Lora {
    std::int64_t rank = 0;
    double alpha = 0;
    std::string targets;
};

class LoraReader {
  public:
    LoraReader(const char* command, const std::string& text) : command_(command), text_(text) {}

    Lora read() const {
        Lora lora;
        for (std::size_t begin = 0; begin <= text_.size();) {
            const std::size_t end = std::min(text_.find(',', begin), text_.size());
            const std::string entry = text_.substr(begin, end - begin);
            const std::size_t equals = entry.find('=');
            const std::string key = entry.substr(0, equals);
            if (equals == std::string::npos || equals + 1 == entry.size() ||
                (key != "r" && key != "alpha" && key != "targets"))
                refuse("has '" + one_line(entry) + "'; it takes r=N, alpha=X and targets=PART+PART");
            const std::string value = entry.substr(equals + 1);
            if (key == "r") lora.rank = number<std::int64_t>(key, value);
            if (key == "alpha") lora.alpha = number<double>(key, value);
            if (key == "targets") lora.targets = value;
            begin = end + 1;
        }
        return lora;
    }

  private:
    [[noreturn]] void refuse(const std::string& why) const {
        usage_error(std::string(command_) + ": --lora '" + one_line(text_) + "' " + why);
    }

    template <class Number>
    Number number(const std::string& key, const std::string& value) const {
        Number number = 0;
        const char* const end = value.data() + value.size();
        const auto read = std::from_chars(value.data(), end, number);
        if (read.ec != std::errc() || read.ptr != end || !(number > 0))
            refuse("gives " + key + " as '" + one_line(value) + "', which is no number above 0");
        return number;
    }

    const char* command_;
    const std::string& text_;
};

}  // namespace

void AdapterFile::declare(Options& options) {
    options.input(
        "--adapter", path, kAdapter,
        "LoRA adapters that voltac train --lora has made of this model: they are used beside its weights");
}

Model open_adapter(const Model& base, const std::string& path) {
    volta_model* made = nullptr;
    if (volta_model_open_adapter(base.get(), path.c_str(), nullptr, &made) != VOLTA_OK)
        failure(path + ": " + volta_last_error());
    return Model(made);
}

Model AdapterFile::on(Model base) const { return path.empty() ? std::move(base) : open_adapter(base, path); }

void LoraChoice::declare(Options& options, const char* what) {
    options.text("--lora", text,
                 (std::string(what) +
                  ": r=8,alpha=16,targets=q+v; targets are parts, q, k, v, o, gate, up, down, fc, "
                  "fc_proj, or names of weights, joined by + (default of each: r=8, alpha twice r, "
                  "q+v)")
                     .c_str());
}

void LoraChoice::check() const {
    if (is_given()) LoraReader(command, text).read();
}

Model LoraChoice::on(Model base, std::uint64_t seed) const {
    if (!is_given()) return base;
    const Lora lora = LoraReader(command, text).read();
    volta_lora_options options = VOLTA_LORA_OPTIONS_INIT;
    options.rank = lora.rank;
    options.alpha = lora.alpha;
    options.targets = lora.targets.empty() ? nullptr : lora.targets.c_str();
    options.seed = seed;
    volta_model* made = nullptr;
    if (volta_model_add_lora(base.get(), &options, &made) != VOLTA_OK)
        failure("--lora " + text + ": " + volta_last_error());
    return Model(made);
}

void export_adapter(const Model& adapter, const std::string& folder) {
    if (metadata(adapter, "volta.adapter.rank").empty())
        usage_error("voltac convert: --out " + folder +
                    " is a folder, as adapters are written for PEFT; the model has none");
    if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
        failure("--out: cannot make '" + folder + "': " + std::strerror(errno));
    check(volta_model_export_peft(adapter.get(), folder.c_str()));
}

void import_adapter(const Model& base, const std::string& folder, const std::string& out) {
    volta_model* made = nullptr;
    check(volta_model_import_peft(base.get(), folder.c_str(), &made));
    const Model adapted(made);
    check(volta_model_save(made, out.c_str()));
}

int run_merge(const std::vector<std::string>& arguments) {
    std::string base, adapter, out;
    Machine machine;
    Options options(
        "merge",
        "Adds LoRA adapters to the weights of their base. Prints the largest difference of a merged "
        "weight, as it is stored, from the sum in f64: the merged model computes the same within "
        "rounding, and no more is promised.");
    options.positional("base", base, "the model file that the adapters were made of");
    options.positional("adapter", adapter, "adapters, as voltac train --lora writes them");
    options.output("--out", out, kModelOutput, "the model file to write");
    options.require("--out");
    options.tuning(machine);
    options.parse(arguments);
    if (same_file(out, base) || same_file(out, adapter))
        usage_error("voltac merge: --out is one of the files that are merged, '" + out + "'");

    const Context context = make_context(machine);
    const Model adapted = open_adapter(open_model(context, base), adapter);
    volta_model* made = nullptr;
    double difference = 0;
    check(volta_model_merge_adapter(adapted.get(), &difference, &made));
    const Model merged(made);
    check(volta_model_save(made, out.c_str()));
    char hash[33];
    check(volta_model_hash(made, hash));
    print(formatted("largest difference of a weight  %.9g\nhash                            %s\n", difference,
                    hash));
    return 0;
}

}  // namespace voltac
