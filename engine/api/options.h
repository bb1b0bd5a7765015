// Options and reports of volta.h (engine/base/option_structs.h), with their fields.
#pragma once

#include "engine/api/struct_fields.h"
#include "engine/base/option_structs.h"
