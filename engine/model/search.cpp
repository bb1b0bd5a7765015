// Runs the program of an expression over a text.
#include <algorithm>

#include "engine/base/error.h"
#include "engine/model/expression.h"
#include "engine/model/text.h"

namespace volta {
namespace {

// Words of real texts take some ten steps a byte; what a hostile expression can take ends after a second or
// so.
constexpr std::uint64_t kLeastSteps = 1u << 22, kStepsPerByte = 512;
constexpr std::size_t kMostChoices = 1u << 20;

}  // namespace

SearchBudget::SearchBudget(std::size_t text_bytes)
    : all(kLeastSteps + kStepsPerByte * text_bytes), left(all) {}

Search::Search(const Expression& expression, std::string_view text, SearchBudget& budget,
               std::pmr::memory_resource* heap)
    : expression_(expression), text_(text), choices_(heap), budget_(budget) {}

bool Search::next(Match* match) {
    while (at_ <= text_.size()) {
        const std::size_t begin = at_, end = this->match(0, begin);
        std::size_t bytes = 1;
        if (begin < text_.size()) point_at(begin, &bytes);
        at_ = end == kNowhere || end == begin ? begin + bytes : end;
        if (end == kNowhere || (end == begin && begin == last_end_)) continue;  // nothing, or nothing new
        last_end_ = end;
        *match = {begin, end};
        return true;
    }
    return false;
}

std::uint32_t Search::point_at(std::size_t at, std::size_t* bytes) const {
    const auto byte = [&](std::size_t i) {
        return static_cast<std::uint32_t>(static_cast<unsigned char>(text_[at + i]));
    };
    const std::uint32_t lead = byte(0);
    if (lead < 0x80) return *bytes = 1, lead;
    if (lead < 0xe0) return *bytes = 2, (lead & 0x1f) << 6 | (byte(1) & 0x3f);
    if (lead < 0xf0) return *bytes = 3, (lead & 0xf) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
    return *bytes = 4, (lead & 7) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
}

std::size_t Search::take(std::uint32_t set, std::size_t at) const {
    if (at >= text_.size()) return kNowhere;
    std::size_t bytes = 0;
    const std::uint32_t c = point_at(at, &bytes);
    return expression_.sets_[set].has(c) ? at + bytes : kNowhere;
}

std::size_t Search::before(std::size_t at) const {
    do --at;
    while ((static_cast<unsigned char>(text_[at]) & 0xc0) == 0x80);
    return at;
}

void Search::count_step() {
    if (budget_.left > 0) {
        --budget_.left;
        return;
    }
    const ShownName name = shown(expression_.text());
    fail(VOLTA_INVALID_ARGUMENT, "the expression '%.*s' takes too many steps on the text, more than %llu",
         name.bytes, name.text, static_cast<unsigned long long>(budget_.all));
}

bool Search::holds(const Expression::Instruction& assertion, std::size_t at) const {
    using I = Expression::Instruction;
    const auto word_at = [&](std::size_t place) {
        std::size_t bytes = 0;
        return is_word_character(point_at(place, &bytes));
    };
    switch (assertion.op) {
        case I::behind:
            return (at > 0 && take(assertion.a, before(at)) != kNowhere) != assertion.negated;
        case I::line_begins:
            return at == 0 || (text_[at - 1] == '\n' && at < text_.size());
        case I::line_ends:
            return at == text_.size() || text_[at] == '\n';
        case I::text_begins:
            return at == 0;
        case I::text_ends:
            return at == text_.size();
        default:  // word_edge
            return ((at > 0 && word_at(before(at))) != (at < text_.size() && word_at(at))) !=
                   assertion.negated;
    }
}

// Takes as many as it must, and of the others all or none; what it may do otherwise becomes a choice.
bool Search::enter_loop(std::uint32_t* instruction, std::size_t* at) {
    const Expression::Instruction& loop = expression_.program_[*instruction];
    std::uint32_t count = 0;
    std::size_t low = *at;
    const bool few = loop.greed == Expression::Instruction::lazy;
    for (std::size_t end = *at; count < (few ? loop.b : loop.c); ++count) {
        end = take(loop.a, *at);
        if (end == kNowhere) break;
        count_step();
        *at = end;
        if (count < loop.b) low = end;
    }
    if (count < loop.b) return false;
    if (few && count < loop.c) choices_.push_back({*instruction, *at, *at, loop.c - count});
    if (loop.greed == Expression::Instruction::greedy && low < *at)
        choices_.push_back({*instruction + 1, *at, low, 0});
    ++*instruction;
    return true;
}

// One instruction; false: it does not match here.
bool Search::step(std::uint32_t* instruction, std::size_t* at) {
    using I = Expression::Instruction;
    const I& now = expression_.program_[*instruction];
    count_step();
    switch (now.op) {
        case I::set: {
            const std::size_t end = take(now.a, *at);
            if (end == kNowhere) return false;
            *at = end;
            break;
        }
        case I::loop:
            return enter_loop(instruction, at);
        case I::either:
            choices_.push_back({now.b, *at, *at, 0});
            *instruction = now.a;
            return true;
        case I::jump:
            *instruction = now.a;
            return true;
        case I::look:
        case I::atom: {
            const std::size_t end = match(*instruction + 1, *at);
            if ((end != kNowhere) == now.negated) return false;
            if (now.op == I::atom) *at = end;
            *instruction = now.a;
            return true;
        }
        default:
            if (!holds(now, *at)) return false;
    }
    ++*instruction;
    return true;
}

// To the latest choice that is not used up.
bool Search::go_back(std::size_t base, std::uint32_t* instruction, std::size_t* at) {
    for (; choices_.size() > base; choices_.pop_back()) {
        Choice& choice = choices_.back();
        *instruction = choice.instruction;
        if (choice.left > 0) {  // a lazy loop takes one more
            *at = take(expression_.program_[choice.instruction].a, choice.at);
            if (*at == kNowhere) continue;
            choice.at = *at;
            ++*instruction;
            if (--choice.left == 0) choices_.pop_back();
            return true;
        }
        if (choice.low < choice.at) choice.at = before(choice.at);  // a greedy one gives one back
        *at = choice.at;
        if (choice.low >= choice.at) choices_.pop_back();
        return true;
    }
    return false;
}

std::size_t Search::match(std::uint32_t instruction, std::size_t at) {
    const std::size_t base = choices_.size();
    for (;;) {
        if (expression_.program_[instruction].op == Expression::Instruction::done) break;
        if (step(&instruction, &at)) {
            if (choices_.size() > kMostChoices) budget_.left = 0;  // as if it had taken too many steps
            continue;
        }
        count_step();
        if (!go_back(base, &instruction, &at)) return kNowhere;
    }
    choices_.resize(base);
    return at;
}

}  // namespace volta
