// The only place of this library where a C++ failure becomes a C status, and where the host's floating-point
// environment is put aside: what engine/api/guard.h is to libvolta, with a text of its own.
#pragma once

#include <new>

#include "engine/base/error.h"
#include "engine/base/fp_environment.h"
#include "engine/base/memory.h"

namespace volta::data {

// Stores the calling thread's text and returns `status`.
volta_status set_last_error(volta_status status, const char* text) noexcept;

template <class Body>
volta_status guarded(Body&& body) noexcept {
    const FpEnvironment contract;
    const HostEnvironmentScope host(contract.host());
    try {
        body();
        return set_last_error(VOLTA_OK, "");
    } catch (const Error& e) {
        return set_last_error(e.status(), e.what());
    } catch (const HostRefusal& e) {
        return set_last_error(VOLTA_OUT_OF_MEMORY, e.what());
    } catch (const std::bad_alloc&) {  // whose size is not known here
        return set_last_error(VOLTA_OUT_OF_MEMORY, "the host allocator returned NULL");
    } catch (const std::exception& e) {
        return set_last_error(VOLTA_INTERNAL, e.what());
    } catch (...) {
        return set_last_error(VOLTA_INTERNAL, "an exception of unknown type; please report it");
    }
}

// For functions that end objects and cannot fail.
template <class Body>
void unfailing(Body&& body) noexcept {
    const FpEnvironment contract;
    const HostEnvironmentScope host(contract.host());
    body();
}

}  // namespace volta::data
