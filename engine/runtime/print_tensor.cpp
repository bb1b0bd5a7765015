// The layout is NumPy's: words of one width in rows of brackets, which are wrapped; of a large tensor the
// corners alone. Digits are the shortest that read back as the same f32; numbers go through std::to_chars,
// which knows no locale.
#include "engine/runtime/print_tensor.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

namespace volta {
namespace {

constexpr std::int64_t kMostWhole = 1000;  // elements; of more than these only the corners are shown
constexpr std::int64_t kEdge = 3;          // elements of an axis at each end, where it is cut
constexpr std::size_t kLineColumns = 75;
constexpr int kMostDigits = 8;  // behind the point

// Of magnitudes: beyond these an array is in scientific notation, where 1e-4 is an f32.
constexpr float kLeastPositional = 1e-4f, kMostPositional = 1e6f, kMostRatio = 1000.0f;
// Of a number that stands alone, where it is a double.
constexpr double kLeastAlone = 1e-4, kMostAlone = 1e6;

// A word of at most 64 bytes: 47 of f32's in positional notation is the longest.
struct Word {
    char text[96];
    std::size_t bytes = 0;
    std::string_view view() const { return {text, bytes}; }
    void add(char c, std::size_t count = 1) {
        std::memset(text + bytes, c, count);
        bytes += count;
    }
    void add(std::string_view part) {
        std::memcpy(text + bytes, part.data(), part.size());
        bytes += part.size();
    }
};

// The shortest digits that read back as the same f32: d.ddd times ten to the exponent.
struct Digits {
    char text[16];
    int count = 0, exponent = 0;
    std::string_view view() const { return {text, static_cast<std::size_t>(count)}; }
};

Digits shortest_digits(float magnitude) {
    char buffer[32];
    const char* const end =
        std::to_chars(buffer, buffer + sizeof buffer, magnitude, std::chars_format::scientific).ptr;
    Digits digits;
    const char* at = buffer;
    for (; *at != 'e'; ++at)
        if (*at != '.') digits.text[digits.count++] = *at;
    ++at;
    if (*at == '+') ++at;  // which from_chars does not take
    std::from_chars(at, end, digits.exponent);
    return digits;
}

void add_shortest_positional(Word& word, const Digits& digits) {
    const std::string_view text = digits.view();
    const int whole = digits.exponent + 1;  // digits before the point
    if (whole <= 0) {
        word.add("0.");
        word.add('0', static_cast<std::size_t>(-whole));
        return word.add(text);
    }
    const auto before = static_cast<std::size_t>(std::min(whole, digits.count));
    word.add(text.substr(0, before));
    word.add('0', static_cast<std::size_t>(whole) - before);
    word.add('.');
    word.add(text.substr(before));
}

// At most kMostDigits behind the point and no zeros at the end; the point stays.
Word positional_word(float value) {
    Word word;
    if (std::signbit(value)) word.add('-');
    const float magnitude = std::fabs(value);
    const Digits digits = shortest_digits(magnitude);
    if (digits.count - 1 - digits.exponent <= kMostDigits) {
        add_shortest_positional(word, digits);
    } else {
        char* const end = word.text + sizeof word.text;
        word.bytes = static_cast<std::size_t>(std::to_chars(word.text + word.bytes, end,
                                                            static_cast<double>(magnitude),
                                                            std::chars_format::fixed, kMostDigits)
                                                  .ptr -
                                              word.text);
    }
    while (word.view().back() == '0' && word.view().find('.') != std::string_view::npos) --word.bytes;
    return word;
}

// The nearest number of so many digits behind the point; NumPy takes those of the exact value, not zeros.
// Beside a power of two, whose lower neighbour is the closer one, that may be another f32: there the shortest
// digits are meant.
Word scientific_word(float value, int precision) {
    const float magnitude = std::fabs(value);
    char buffer[48];
    char* const end = std::to_chars(buffer, buffer + sizeof buffer, static_cast<double>(magnitude),
                                    std::chars_format::scientific, precision)
                          .ptr;
    float read = 0;
    std::from_chars(buffer, end, read);
    Word word;
    if (std::signbit(value)) word.add('-');
    const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
    const std::size_t exponent = text.find('e');
    if (read == magnitude) {
        word.add(text.substr(0, exponent));
        if (precision == 0) word.add('.');
        word.add(text.substr(exponent));
        return word;
    }
    const Digits digits = shortest_digits(magnitude);
    word.add(digits.view().substr(0, 1));
    word.add('.');
    word.add(digits.view().substr(1));
    word.add('0', static_cast<std::size_t>(precision + 1 - digits.count));
    word.add(digits.exponent < 0 ? "e-" : "e+");
    if (std::abs(digits.exponent) < 10) word.add('0');
    char number[8];
    char* const number_end = std::to_chars(number, number + sizeof number, std::abs(digits.exponent)).ptr;
    word.add({number, static_cast<std::size_t>(number_end - number)});
    return word;
}

std::string_view special_word(float value) {
    if (std::isnan(value)) return "nan";
    return value < 0 ? "-inf" : "inf";
}

// How the elements that are shown become words of one width.
class Reals final {
  public:
    template <class ForEach>  // for_each(visit): visit(float) for every element that is shown
    explicit Reals(ForEach for_each) {
        for_each([&](float value) { find_range(value); });
        is_scientific_ = most_ >= kMostPositional ||
                         (most_ > 0 && (least_ < kLeastPositional || most_ / least_ > kMostRatio));
        for_each([&](float value) { measure(value); });
        if (is_scientific_) right_ = static_cast<std::size_t>(precision_) + 4;  // and the exponent
        // Words without a point take the width of the others, or their own.
        const std::size_t point = right_ + 1;
        if (special_bytes_ > left_ + point) left_ = special_bytes_ - point;
    }

    void add_word(std::pmr::string& out, float value) const {
        if (!std::isfinite(value)) return add_at_right(out, special_word(value));
        if (is_scientific_) return add_at_right(out, scientific_word(value, precision_).view());
        const Word word = positional_word(value);
        const std::size_t point = word.view().find('.');
        out.append(left_ - point, ' ');
        out += word.view();
        out.append(right_ - (word.bytes - point - 1), ' ');
    }
    std::size_t width() const { return left_ + 1 + right_; }

  private:
    void find_range(float value) {
        if (!std::isfinite(value) || value == 0) return;
        const float magnitude = std::fabs(value);
        least_ = most_ == 0 ? magnitude : std::min(least_, magnitude);
        most_ = std::max(most_, magnitude);
    }
    void measure(float value) {
        if (!std::isfinite(value)) {
            special_bytes_ = std::max(special_bytes_, special_word(value).size());
        } else if (is_scientific_) {
            precision_ = std::max(precision_, shortest_digits(std::fabs(value)).count - 1);
            left_ = std::max<std::size_t>(left_, std::signbit(value) ? 2 : 1);
        } else {
            const Word word = positional_word(value);
            const std::size_t point = word.view().find('.');
            left_ = std::max(left_, point);
            right_ = std::max(right_, word.bytes - point - 1);
        }
    }
    void add_at_right(std::pmr::string& out, std::string_view word) const {
        out.append(width() - word.size(), ' ');
        out += word;
    }

    float least_ = 0, most_ = 0;  // magnitudes of what is finite and not 0
    bool is_scientific_ = false;
    int precision_ = 0;
    std::size_t left_ = 0, right_ = 0;  // columns before and behind the point
    std::size_t special_bytes_ = 0;
};

struct IntegerText {
    char text[16];
    std::size_t bytes;
};
IntegerText text_of(std::int32_t value) {
    IntegerText number;
    number.bytes = static_cast<std::size_t>(
        std::to_chars(number.text, number.text + sizeof number.text, value).ptr - number.text);
    return number;
}

class Integers final {
  public:
    template <class ForEach>
    explicit Integers(ForEach for_each) {
        for_each([&](std::int32_t value) { width_ = std::max(width_, text_of(value).bytes); });
    }
    void add_word(std::pmr::string& out, std::int32_t value) const {
        const IntegerText number = text_of(value);
        out.append(width_ - number.bytes, ' ');
        out.append(number.text, number.bytes);
    }
    std::size_t width() const { return width_; }

  private:
    std::size_t width_ = 0;
};

constexpr std::int64_t kGap = -1;  // in place of an index: "..."

// The elements that are shown, and the text of them.
template <class T, class Words>
class Printer final {
  public:
    Printer(const TensorView& tensor, std::pmr::memory_resource* heap)
        : shape_(tensor.shape),
          data_(static_cast<const T*>(tensor.data)),
          is_cut_(tensor.shape.elements() > kMostWhole),
          words_([this](auto visit) { this->for_each(0, 0, visit); }),
          out_(heap) {}

    std::pmr::string print() {
        print_axis(0, 0);
        return std::move(out_);
    }

  private:
    // Calls visit(index, is_last) for the indices of an axis that are shown.
    template <class Visit>
    void for_indices(int axis, Visit visit) const {
        const std::int64_t extent = shape_[axis];
        const bool has_gap = is_cut_ && extent > 2 * kEdge;
        const std::int64_t head = has_gap ? kEdge : extent;
        for (std::int64_t i = 0; i < head; ++i) visit(i, i + 1 == extent);
        if (!has_gap) return;
        visit(kGap, false);
        for (std::int64_t i = extent - kEdge; i < extent; ++i) visit(i, i + 1 == extent);
    }

    template <class Visit>
    void for_each(int axis, std::int64_t place, Visit visit) const {  // place: of the sub-tensor, in elements
        if (axis == shape_.rank) return visit(data_[place]);
        for_indices(axis, [&](std::int64_t index, bool) {
            if (index != kGap) for_each(axis + 1, place * shape_[axis] + index, visit);
        });
    }

    void print_axis(int axis, std::int64_t place) {
        out_ += '[';
        if (axis + 1 == shape_.rank)
            print_row(axis, place);
        else
            print_rows(axis, place);
        out_ += ']';
    }

    void print_rows(int axis, std::int64_t place) {
        const auto indent = static_cast<std::size_t>(axis + 1);
        const auto breaks = static_cast<std::size_t>(shape_.rank - axis - 1);
        for_indices(axis, [&](std::int64_t index, bool is_last) {
            if (index != 0) out_.append(indent, ' ');
            if (index == kGap)
                out_ += "...";
            else
                print_axis(axis + 1, place * shape_[axis] + index);
            if (!is_last) out_.append(breaks, '\n');
        });
    }

    void print_row(int axis, std::int64_t place) {
        const auto indent = static_cast<std::size_t>(axis + 1);
        const std::size_t most = kLineColumns - static_cast<std::size_t>(axis) - 1;
        std::size_t column = indent;
        for_indices(axis, [&](std::int64_t index, bool is_last) {
            const std::size_t width = index == kGap ? 3 : words_.width();
            if (column + width > most && column > indent) {
                while (out_.back() == ' ') out_.pop_back();
                out_ += '\n';
                out_.append(indent, ' ');
                column = indent;
            }
            if (index == kGap)
                out_ += "...";
            else
                words_.add_word(out_, data_[place * shape_[axis] + index]);
            if (!is_last) out_ += ' ';
            column += width + 1;
        });
    }

    const Shape shape_;
    const T* const data_;
    const bool is_cut_;
    const Words words_;
    std::pmr::string out_;
};

// A number alone has all of its digits.
Word word_alone(float value) {
    Word word;
    if (!std::isfinite(value)) {
        word.add(special_word(value));
        return word;
    }
    if (std::signbit(value)) word.add('-');
    const float magnitude = std::fabs(value);
    const Digits digits = shortest_digits(magnitude);
    if (magnitude == 0 ||
        (static_cast<double>(magnitude) >= kLeastAlone && static_cast<double>(magnitude) < kMostAlone)) {
        add_shortest_positional(word, digits);
        if (word.view().back() == '.') word.add('0');
        return word;
    }
    const Word scientific = scientific_word(magnitude, digits.count - 1);
    const std::string_view text = scientific.view();
    const std::size_t exponent = text.find('e');
    word.add(text.substr(0, digits.count == 1 ? 1 : exponent));
    word.add(text.substr(exponent));
    return word;
}

}  // namespace

std::pmr::string print_tensor(const TensorView& tensor, std::pmr::memory_resource* heap) {
    if (tensor.shape.elements() == 0) return std::pmr::string("[]", heap);
    const bool is_real = tensor.dtype == DType::f32;
    if (tensor.shape.rank == 0) {
        if (is_real)
            return std::pmr::string(word_alone(*static_cast<const float*>(tensor.data)).view(), heap);
        const IntegerText number = text_of(*static_cast<const std::int32_t*>(tensor.data));
        return std::pmr::string(number.text, number.bytes, heap);
    }
    return is_real ? Printer<float, Reals>(tensor, heap).print()
                   : Printer<std::int32_t, Integers>(tensor, heap).print();
}

}  // namespace volta
