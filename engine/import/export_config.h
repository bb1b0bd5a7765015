// The config.json by which Hugging Face's programs, and the importer, know what a model is.
#pragma once

#include <memory_resource>
#include <string>

#include "engine/import/architecture.h"

namespace volta {

std::pmr::string config_json(const Architecture& architecture, std::pmr::memory_resource* heap);

}  // namespace volta
