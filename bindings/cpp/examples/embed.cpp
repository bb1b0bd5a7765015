// Embeddings: a line of text in, a line of numbers out. Of any language model: the mean of its tokens' states, of length 1,
// so that the product of two vectors says how alike their texts are.
//     embed MODEL.volta      reads standard input, writes standard output
#include <volta.hpp>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>

namespace {

constexpr std::size_t kMostTokens = 512;

class embedder {
  public:
    explicit embedder(const char* path) : model_(volta::model::open(context_, path)), states_(model_.hidden_states()) {
        tokenizer_ = model_.get_tokenizer();
        if (!tokenizer_) throw volta::error(VOLTA_INVALID_STATE, "the model has no tokenizer");
    }
    const std::vector<float>& operator()(std::string_view text) {
        std::vector<std::int32_t> tokens = tokenizer_.encode(text);
        if (tokens.size() > kMostTokens) tokens.resize(kMostTokens);  // the beginning of a long text
        const auto count = static_cast<std::int64_t>(tokens.size());
        const auto x = volta::tensor::wrap(context_, tokens.data(), {1, count});
        volta::session& session = of_length(count);
        const volta::tensor y(context_, session.output_shape(0));
        session.run(x, y);

        const auto hidden = y.elements();
        const std::size_t width = hidden.size() / tokens.size();
        vector_.assign(width, 0.0f);
        double square = 0;
        for (std::size_t j = 0; j < width; ++j) {
            double sum = 0;
            for (std::size_t i = 0; i < tokens.size(); ++i) sum += static_cast<double>(hidden[i * width + j]);
            vector_[j] = static_cast<float>(sum / static_cast<double>(tokens.size()));
            square += static_cast<double>(vector_[j]) * static_cast<double>(vector_[j]);
        }
        for (float& one : vector_) one = static_cast<float>(static_cast<double>(one) / std::sqrt(square));
        return vector_;
    }

  private:
    // One for each length, made when a text first has it.
    volta::session& of_length(std::int64_t count) {
        const auto found = sessions_.find(count);
        if (found != sessions_.end()) return found->second;
        return sessions_.emplace(count, volta::session(states_, {1, count})).first->second;
    }
    volta::context context_;
    volta::model model_, states_;  // states_: tokens in, states out
    volta::tokenizer tokenizer_;
    std::map<std::int64_t, volta::session> sessions_;
    std::vector<float> vector_;
};

void serve(embedder& embed) {
    for (std::string line; std::getline(std::cin, line);) {
        if (line.empty()) {
            std::puts("error: an empty line");
            continue;
        }
        try {
            const std::vector<float>& vector = embed(line);
            for (std::size_t j = 0; j < vector.size(); ++j)
                std::printf("%.6g%c", static_cast<double>(vector[j]), j + 1 == vector.size() ? '\n' : ' ');
        } catch (const volta::error& error) {  // an answer, not the end
            std::printf("error: %s\n", error.what());
        }
        std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return std::fprintf(stderr, "usage: embed MODEL.volta\n"), 2;
    try {
        embedder embed(argv[1]);
        serve(embed);
    } catch (const volta::error& error) {
        return std::fprintf(stderr, "embed: %s\n", error.what()), 1;
    }
    return 0;
}
