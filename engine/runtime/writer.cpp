#include "engine/runtime/writer.h"

#include <algorithm>
#include <chrono>

#include "engine/base/host_call.h"
#include "engine/model/text.h"
#include "engine/runtime/text_stream.h"

namespace volta {
namespace {

using Clock = std::chrono::steady_clock;

std::size_t longest_piece(const Tokenizer& tokenizer) {
    std::size_t longest = 0;
    for (std::int32_t id = 0; id < tokenizer.size(); ++id)
        longest = std::max(longest, tokenizer.piece(id).size());
    return longest;
}

class Writer {
  public:
    Writer(Generator& generator, const WriteRequest& request, std::pmr::memory_resource* heap,
           volta_write_result& result)
        : generator_(generator),
          request_(request),
          options_(*request.options),
          tokenizer_(*request.tokenizer),
          text_(request.stop_texts, options_.stop_text_count, longest_piece(tokenizer_), heap),
          result_(result) {
        std::size_t count = 0;
        const std::int32_t* tokens = generator.tokens(request.sequence, &count);
        if (count > 0) previous_ = tokens[count - 1];
    }

    void run() {
        for (;;) {
            const volta_stop_reason reason = interruption();
            if (reason != VOLTA_STOP_NONE) return end(reason);
            if (generator_.prepare_piece(request_.sequence)) continue;
            std::int32_t token = -1;
            generator_.step(&request_.sequence, 1, &token);
            if (write(token)) return;
        }
    }

  private:
    // What may be true before a token is drawn.
    volta_stop_reason interruption() const {
        if (generator_.is_full(request_.sequence)) return VOLTA_STOP_CONTEXT_FULL;
        if (options_.cancel != nullptr && __atomic_load_n(&options_.cancel->requested, __ATOMIC_ACQUIRE) != 0)
            return VOLTA_STOP_CANCELLED;
        const Stop::Reason wish = generator_.stop().reason();
        if (wish != Stop::Reason::none)
            return wish == Stop::Reason::deadline ? VOLTA_STOP_DEADLINE : VOLTA_STOP_CANCELLED;
        const std::chrono::duration<double> passed = Clock::now() - start_;
        const bool is_late = options_.max_seconds > 0 && passed.count() >= options_.max_seconds;
        return is_late ? VOLTA_STOP_DEADLINE : VOLTA_STOP_NONE;
    }

    // True: this token was the last one.
    bool write(std::int32_t token) {
        ++result_.token_count;
        result_.last_token = token;
        const volta_stop_reason reason = read(token);
        const bool goes_on = give(reason == VOLTA_STOP_NONE ? text_.take() : text_.take_rest(), token);
        previous_ = token;
        result_.reason = reason != VOLTA_STOP_NONE ? reason : goes_on ? VOLTA_STOP_NONE : VOLTA_STOP_CALLBACK;
        return result_.reason != VOLTA_STOP_NONE;
    }

    // Adds what the token says to the text, and finds what ends it there.
    volta_stop_reason read(std::int32_t token) {
        const std::int32_t* const stops = options_.stop_tokens;
        const std::int32_t* const stops_end = stops + options_.stop_token_count;
        const std::int32_t* const stop = std::find(stops, stops_end, token);
        if (stop != stops_end) {
            result_.stop_index = static_cast<std::int32_t>(stop - stops);
            return VOLTA_STOP_TOKEN;
        }
        const TokenizerOptions& ids = tokenizer_.vocabulary().options;
        if ((options_.flags & VOLTA_WRITE_PAST_END) == 0 && (token == ids.bos || token == ids.eos))
            return VOLTA_STOP_END_OF_TEXT;
        text_.add(tokenizer_.piece_after(previous_, token));
        result_.stop_index = text_.stop();
        if (text_.stop() >= 0) return VOLTA_STOP_TEXT;
        if (result_.token_count == options_.max_tokens) return VOLTA_STOP_MAX_TOKENS;
        return generator_.is_full(request_.sequence) ? VOLTA_STOP_CONTEXT_FULL : VOLTA_STOP_NONE;
    }

    // Ends between two tokens: nobody hears whether the host would go on.
    void end(volta_stop_reason reason) {
        const std::string_view rest = text_.take_rest();
        if (!rest.empty()) give(rest, -1);
        result_.reason = reason;
    }

    // True: the host would like more.
    bool give(std::string_view text, std::int32_t token) {
        result_.text_bytes += text.size();
        result_.unfinished_bytes = static_cast<std::int32_t>(unfinished_bytes(text));
        if (options_.on_text == nullptr) return true;
        std::int32_t answer = 0;
        if (const HostException thrown =
                call_host([&] { answer = options_.on_text(options_.user, text.data(), text.size(), token); }))
            fail_thrown(HostFunction::on_text, thrown);
        return answer == 0;
    }

    Generator& generator_;
    const WriteRequest& request_;
    const volta_write_options& options_;
    const Tokenizer& tokenizer_;
    const Clock::time_point start_ = Clock::now();
    TextStream text_;
    std::int32_t previous_ = -1;  // token
    volta_write_result& result_;
};

}  // namespace

void write_text(Generator& generator, const WriteRequest& request, std::pmr::memory_resource* heap,
                volta_write_result& result) {
    Writer(generator, request, heap, result).run();
}

}  // namespace volta
