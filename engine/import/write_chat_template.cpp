// A format's row as a text of jinja, for files that carry their template.
#include "engine/import/chat_template.h"

namespace volta {
namespace {

constexpr char kEndIf[] = "{% endif %}";

class Writer {
  public:
    Writer(const ChatFormat& format, const char* system, std::pmr::memory_resource* heap)
        : format_(format), system_(system != nullptr ? system : format.system_default), out_(heap) {}

    std::pmr::string write() {
        const bool merges = format_.system_place == SystemPlace::first_user;
        print(format_.begin);
        if (merges)
            set_apart();
        else if (system_ != nullptr)
            say_unless_given();
        out_ += merges ? "{% for message in rest %}" : "{% for message in messages %}";
        if (format_.system_place == SystemPlace::turn) turn("if", "system", format_.system);
        turn(format_.system_place == SystemPlace::turn ? "elif" : "if", "user", format_.user, merges);
        turn("elif", "assistant", format_.assistant);
        out_ += kEndIf;
        out_ += "{% endfor %}";
        if (format_.prompt[0] != '\0') {
            out_ += "{% if add_generation_prompt %}";
            print(format_.prompt);
            out_ += kEndIf;
        }
        return std::move(out_);
    }

  private:
    // Between quotes.
    void quoted(std::string_view text) {
        for (const char c : text) {
            if (c == '\'' || c == '\\') out_ += '\\';
            if (c == '\n')
                out_ += "\\n";
            else
                out_ += c;
        }
    }
    // A text of the format, with what begins and ends a text by the names that templates have for it.
    void quoted_marks(std::string_view text) {
        for (const char& c : text) {
            if (c == VOLTA_CHAT_BOS[0])
                out_ += "' + bos_token + '";
            else if (c == VOLTA_CHAT_EOS[0])
                out_ += "' + eos_token + '";
            else
                quoted(std::string_view(&c, 1));
        }
    }
    void literal(std::string_view text) {
        out_ += '\'';
        quoted_marks(text);
        out_ += '\'';
    }

    void print(std::string_view text) {
        if (text.empty()) return;
        out_ += "{{ ";
        literal(text);
        out_ += " }}";
    }

    // As one text, by which the template is recognised again.
    void say_unless_given() {
        out_ += "{% if messages[0]['role'] != 'system' %}{{ '";
        quoted_marks(format_.system.before);
        quoted(system_);
        quoted_marks(format_.system.after);
        out_ += "' }}{% endif %}";
    }

    // The system's text into `said`, all other messages into `rest`: it stands in the first of the user.
    void set_apart() {
        out_ +=
            "{% if messages[0]['role'] == 'system' %}{% set said = messages[0]['content'] %}"
            "{% set rest = messages[1:] %}{% else %}{% set said = ";
        if (system_ != nullptr) {
            out_ += '\'';
            quoted(system_);
            out_ += '\'';
        } else {
            out_ += "false";
        }
        out_ += " %}{% set rest = messages %}{% endif %}";
    }

    void turn(const char* condition, const char* role, const ChatTurn& turn, bool merges = false) {
        out_ += "{% ";
        out_ += condition;
        out_ += " message['role'] == '";
        out_ += role;
        out_ += "' %}{{ ";
        literal(turn.before);
        out_ += " + ";
        if (merges)
            merged_content();
        else
            content(true);
        out_ += " + ";
        literal(turn.after);
        out_ += " }}";
    }

    void content(bool trims) {
        out_ +=
            trims && format_.trim != ChatTrim::none ? "(message['content'] | trim)" : "message['content']";
    }

    void merged_content() {
        const bool trims_all = format_.trim == ChatTrim::merged;
        out_ += trims_all ? "((" : "(";
        literal(format_.system.before);
        out_ += " + said + ";
        literal(format_.system.after);
        out_ += " + ";
        content(!trims_all);
        out_ += " if loop.first and said is string else ";
        content(true);
        out_ += trims_all ? ") | trim)" : ")";
    }

    const ChatFormat& format_;
    const char* system_;  // NULL: it says nothing
    std::pmr::string out_;
};

}  // namespace

std::pmr::string write_chat_template(const ChatFormat& format, const char* system,
                                     std::pmr::memory_resource* heap) {
    return Writer(format, system, heap).write();
}

}  // namespace volta
