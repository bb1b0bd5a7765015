// voltac embed: a vector for each line of a text, of the states that a language model has of its tokens.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/architectures.h"
#include "cli/commands.h"
#include "cli/npy.h"
#include "cli/options.h"

namespace voltac {
namespace {

using Tensor = std::unique_ptr<volta_tensor, Release<volta_tensor, volta_tensor_release>>;
using Ids = std::vector<std::int32_t>;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::size_t next = end + 1;
        if (end > begin && text[end - 1] == '\r') --end;
        lines.push_back(text.substr(begin, end - begin));
        begin = next;
    }
    return lines;
}

// The vector of a line's states [time, dim].
using Pool = void (*)(const float* states, std::size_t time, std::size_t dim, float* row);

// Added in double, in the order of the tokens: no other line and no batch has a part in it.
void mean(const float* states, std::size_t time, std::size_t dim, float* row) {
    for (std::size_t d = 0; d < dim; ++d) {
        double sum = 0;
        for (std::size_t t = 0; t < time; ++t) sum += static_cast<double>(states[t * dim + d]);
        row[d] = static_cast<float>(sum / static_cast<double>(time));
    }
}
void first(const float* states, std::size_t, std::size_t dim, float* row) { std::copy_n(states, dim, row); }
void largest(const float* states, std::size_t time, std::size_t dim, float* row) {
    std::copy_n(states, dim, row);
    for (std::size_t t = 1; t < time; ++t)
        for (std::size_t d = 0; d < dim; ++d) row[d] = std::max(row[d], states[t * dim + d]);
}

constexpr struct {
    const char* name;
    Pool pool;
} kPools[] = {{"mean", mean}, {"first", first}, {"max", largest}};

// The model that gives states, on lines of one length at a time: none is padded.
class Embedder {
  public:
    Embedder(const Context& context, const Model& model) : context_(context) {
        volta_model* made = nullptr;
        check(volta_model_hidden_states(model.get(), &made));
        states_.reset(made);
        volta_tensor_info info = {};
        check(volta_model_output_info(made, 0, &info));
        dim_ = static_cast<std::size_t>(info.shape[2]);
        for (std::size_t i = 0; i < volta_model_input_count(made); ++i) {
            check(volta_model_input_info(made, i, &info));
            const std::string name = info.name;
            if (name != "tokens" && name != "segments" && name != "mask")
                failure("the model has an input '" + one_line(name) + "', which a text does not give");
            inputs_.push_back(name);
        }
    }
    std::size_t dim() const { return dim_; }

    // states [rows, time, dim] of tokens [rows, time], which stay until the next call.
    const float* run(Ids& tokens, std::int64_t rows, std::int64_t time) {
        const std::int64_t shape[] = {rows, time, static_cast<std::int64_t>(dim_)};
        Ids segments(tokens.size(), 0), mask(tokens.size(), 1);
        std::vector<Tensor> owned;
        std::vector<const volta_tensor*> in;
        std::vector<std::int64_t> extents;
        for (const std::string& name : inputs_) {
            Ids& values = name == "tokens" ? tokens : name == "segments" ? segments : mask;
            owned.push_back(wrap(VOLTA_I32, shape, 2, values.data()));
            in.push_back(owned.back().get());
            extents.insert(extents.end(), shape, shape + 2);
        }
        if (rows != rows_ || time != time_) {
            volta_session_options options = VOLTA_SESSION_OPTIONS_INIT;
            options.input_shapes = extents.data();
            options.input_extent_count = extents.size();
            volta_session* made = nullptr;
            check(volta_session_create(states_.get(), &options, &made));
            session_.reset(made);
            rows_ = rows;
            time_ = time;
        }
        values_.resize(static_cast<std::size_t>(rows * time) * dim_);
        const Tensor out = wrap(VOLTA_F32, shape, 3, values_.data());
        volta_tensor* outputs[] = {out.get()};
        check(volta_session_run(session_.get(), in.data(), in.size(), outputs, 1));
        return values_.data();
    }

  private:
    Tensor wrap(volta_dtype dtype, const std::int64_t* shape, std::int32_t rank, void* data) const {
        volta_tensor* made = nullptr;
        check(volta_tensor_wrap(context_.get(), dtype, shape, rank, data, &made));
        return Tensor(made);
    }

    const Context& context_;
    Model states_;
    std::vector<std::string> inputs_;
    std::size_t dim_ = 0;
    std::int64_t rows_ = 0, time_ = 0;
    Session session_;
    std::vector<float> values_;
};

// Each line's tokens, none of them empty, and none longer than the model takes.
std::vector<Ids> tokens_of(const Model& model, const std::string& name, const std::vector<std::string>& lines,
                           bool cut) {
    const Tokenizer tokenizer = tokenizer_of(model);
    const std::string text = model_size(model, "context");
    const std::size_t most = text.empty() ? SIZE_MAX : std::strtoull(text.c_str(), nullptr, 10);
    std::vector<Ids> all;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        Ids ids = encode(tokenizer, lines[i], true);
        if (ids.empty()) failure(name + formatted(", line %zu: it is empty, and has no tokens", i + 1));
        if (ids.size() > most && !cut)
            failure(name + formatted(", line %zu: its %zu tokens are more than the %zu that the model takes; "
                                     "--cut leaves the rest out",
                                     i + 1, ids.size(), most));
        if (ids.size() > most) {  // what ends a text stays its end
            volta_special_ids special = VOLTA_SPECIAL_IDS_INIT;
            check(volta_tokenizer_special(tokenizer.get(), &special));
            ids.resize(most);
            if (special.adds_eos != 0) ids.back() = special.eos;
        }
        all.push_back(std::move(ids));
    }
    return all;
}

}  // namespace

int run_embed(const std::vector<std::string>& arguments) {
    std::string path, text, out, pool = kPools[0].name, load = kLoadNames[VOLTA_LOAD_MAP];
    std::int64_t batch = 32;
    bool cut = false, json = false;
    Machine machine;
    Options options(
        "embed",
        "A vector for each line of a text: the states that a BERT, GPT or Llama has of the line's "
        "tokens, as one.");
    options.positional("model", path, "a model file with a tokenizer");
    options.input("--text", text, kText, "a line for each vector; - is standard input");
    options.require("--text");
    options.output("--out", out, kArrayOutput, "the NumPy file to write: float32 [lines, width]");
    options.require("--out");
    options.choice(
        "--pool", pool, {kPools[0].name, kPools[1].name, kPools[2].name},
        "how the tokens' states, those that begin and end a text among them, become one: their mean "
        "(default), the first, or the largest of each component");
    options.integer("--batch", batch, 1, 65536,
                    "lines of one length at a time; no bit depends on it (default: 32)");
    options.flag("--cut", cut, "a line that is longer than the model takes is cut; else it is refused");
    options.load(load);
    options.flag("--json", json, "one JSON object on standard output");
    options.machine(machine);
    options.config();
    options.parse(arguments);

    const std::vector<std::string> lines = lines_of(read_text(text));
    const Context context = make_context(machine);
    const Model model = open_model(context, path, load);
    Embedder embedder(context, model);
    const std::vector<Ids> tokens = tokens_of(model, shown_name(text), lines, cut);
    std::vector<std::size_t> order(lines.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return tokens[a].size() < tokens[b].size(); });
    Pool pooled = nullptr;
    for (const auto& row : kPools)
        if (pool == row.name) pooled = row.pool;
    const std::size_t dim = embedder.dim();
    std::vector<float> vectors(lines.size() * dim);
    for (std::size_t begin = 0; begin < order.size();) {
        const std::size_t time = tokens[order[begin]].size();
        Ids ids;
        std::size_t rows = 0;
        while (begin + rows < order.size() && rows < static_cast<std::size_t>(batch) &&
               tokens[order[begin + rows]].size() == time) {
            const Ids& line = tokens[order[begin + rows++]];
            ids.insert(ids.end(), line.begin(), line.end());
        }
        const float* const states =
            embedder.run(ids, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(time));
        for (std::size_t row = 0; row < rows; ++row)
            pooled(states + row * time * dim, time, dim, vectors.data() + order[begin + row] * dim);
        begin += rows;
    }
    write_text(out,
               npy_text(VOLTA_F32, {static_cast<std::int64_t>(lines.size()), static_cast<std::int64_t>(dim)},
                        vectors.data()));
    if (json)
        print(json_text({{"lines", lines.size()}, {"width", dim}, {"out", out}}) + "\n");
    else
        print(formatted("lines              %zu\nwidth              %zu\n", lines.size(), dim));
    return 0;
}

}  // namespace voltac
