#include "engine/base/format.h"

#include <locale.h>

#include <cstdio>

namespace volta {
namespace {

// The C locale for the calling thread, for its scope. The C library has that one ready: nothing is loaded.
// Where it has not, numbers are written as the host's locale has them.
class PlainLocale final {
  public:
    PlainLocale() noexcept : plain_(::newlocale(LC_ALL_MASK, "C", static_cast<locale_t>(nullptr))) {
        if (plain_ != static_cast<locale_t>(nullptr)) host_ = ::uselocale(plain_);
    }
    ~PlainLocale() {
        if (plain_ == static_cast<locale_t>(nullptr)) return;
        ::uselocale(host_);
        ::freelocale(plain_);
    }
    PlainLocale(const PlainLocale&) = delete;
    PlainLocale& operator=(const PlainLocale&) = delete;

  private:
    locale_t plain_, host_ = static_cast<locale_t>(nullptr);
};

}  // namespace

int vformat(char* out, std::size_t size, const char* format, va_list arguments) {
    const PlainLocale locale;
    return std::vsnprintf(out, size, format, arguments);
}

int format_text(char* out, std::size_t size, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int bytes = vformat(out, size, format, arguments);
    va_end(arguments);
    return bytes;
}

}  // namespace volta
