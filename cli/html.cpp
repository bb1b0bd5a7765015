#include "cli/html.h"

#include <cstdint>

#include "cli/text.h"

namespace voltac {

std::string escaped(const std::string& text) {
    std::string safe;
    for (const char c : as_utf8(text)) {
        if (c == '&')
            safe += "&amp;";
        else if (c == '<')
            safe += "&lt;";
        else if (c == '>')
            safe += "&gt;";
        else if (c == '"')
            safe += "&quot;";
        else if (c == '\'')
            safe += "&#39;";
        else
            safe += c;
    }
    return safe;
}

std::string base64(const std::string& bytes) {
    constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t group = 0;
        for (std::size_t j = 0; j < 3; ++j)
            group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
        for (std::size_t j = 0; j < 4; ++j)
            text += i + j <= bytes.size() ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
    return text;
}

Table::Table(const std::vector<std::string>& heads) {
    html_ = "<table><tr>";
    for (const std::string& head : heads) {
        const bool is_text = !head.empty() && head.back() == '<';
        is_text_.push_back(is_text);
        html_ +=
            (is_text ? "<th class=t>" : "<th>") + escaped(is_text ? head.substr(0, head.size() - 1) : head);
    }
}

void Table::row(const std::vector<std::string>& cells) {
    html_ += "\n<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i)
        html_ += (is_text_[i] ? "<td class=t>" : "<td>") + escaped(cells[i]);
}

std::string Table::take() const { return html_ + "\n</table>\n"; }

}  // namespace voltac
