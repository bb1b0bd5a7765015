#include "engine/base/error.h"
#include "engine/group/transport.h"

namespace volta {

GroupRef open_local_group(const GroupOptions&, std::pmr::memory_resource*) {
    fail(VOLTA_UNSUPPORTED, "transport local is not there yet");
}

GroupRef open_tcp_group(const GroupOptions&, std::pmr::memory_resource*) {
    fail(VOLTA_UNSUPPORTED, "transport tcp is not there yet");
}

}  // namespace volta
