// Sizes that a config says, and for what it leaves out the shapes of the weights.
#pragma once

#include <cstdio>
#include <initializer_list>

#include "engine/base/error.h"
#include "engine/import/config_file.h"
#include "engine/import/weight_shapes.h"

namespace volta {

class ConfigSizes {
  public:
    ConfigSizes(const ConfigFile& config, const WeightShapes& shapes) : config_(config), shapes_(shapes) {}

    using Names = std::initializer_list<std::string_view>;  // of one thing, by different programs
    std::int64_t size(Names names, std::string_view parameter, int axis, Part part = Part::whole) const {
        const std::string_view name = config_.first_of(names);
        if (config_.has(name)) return config_.integer(name);
        return shapes_.extent(parameter, axis, part, Lacks(name).text);
    }
    std::int64_t layers(Names names) const {
        const std::string_view name = config_.first_of(names);
        return config_.has(name) ? config_.integer(name) : shapes_.layers(Lacks(name).text);
    }
    std::int64_t heads(Names names) const {
        const std::string_view name = config_.first_of(names);
        if (!config_.has(name))
            fail(VOLTA_CORRUPT_MODEL,
                 "the config has no '%.*s': the number of heads cannot be seen in the weights",
                 static_cast<int>(name.size()), name.data());
        return config_.integer(name);
    }

  private:
    struct Lacks {
        explicit Lacks(std::string_view name) {
            std::snprintf(text, sizeof text, "the config has no '%.*s'", static_cast<int>(name.size()),
                          name.data());
        }
        char text[64];
    };
    const ConfigFile& config_;
    const WeightShapes& shapes_;
};

}  // namespace volta
