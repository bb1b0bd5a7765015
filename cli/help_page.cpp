#include "cli/help_page.h"

#include <algorithm>

#include "cli/support.h"
#include "cli/text.h"

namespace voltac {

void show_help(const HelpPage& page) {
    const int columns = std::max(columns_of(1), 40);
    std::string usage = "Usage: " + page.command;
    std::vector<Entry> places, options;
    for (const HelpOption& place : page.places) {
        usage.append(place.required ? " " : " [").append(place.name).append(place.required ? "" : "]");
        places.push_back({place.name, place.meaning});
    }
    for (const HelpOption& option : page.options) {
        const std::string shown = option.name + (option.type.empty() ? "" : " " + option.type);
        if (option.required) usage.append(" ").append(shown);
        options.push_back({shown, option.meaning});
    }
    options.push_back({"-h, --help", "this text"});
    print(wrapped(page.description, columns, 0) + "\n\n" + wrapped(usage + " [options]", columns, 4) +
          "\n\n" + (places.empty() ? "" : listed(places, columns) + "\n") + "Options:\n" +
          listed(options, columns));
}

}  // namespace voltac
