// Where a C++ failure becomes a C status, and where the host's floating-point environment is put aside: what
// the interfaces of the libraries are made with, each with a text of its own for the calling thread.
#pragma once

#include <new>

#include "engine/base/error.h"
#include "engine/base/fp_environment.h"
#include "engine/base/memory.h"

namespace volta {

// `tell`(status, text) stores the calling thread's text and returns the status.
template <class Tell, class Body>
volta_status to_status(Tell tell, Body&& body) noexcept {
    const FpEnvironment contract;
    const HostEnvironmentScope host(contract.host());
    try {
        body();
        return tell(VOLTA_OK, "");
    } catch (const Error& e) {
        return tell(e.status(), e.what());
    } catch (const HostRefusal& e) {
        return tell(VOLTA_OUT_OF_MEMORY, e.what());
        // unreachable: the host refuses by a HostRefusal, and no call asks the C heap
    } catch (const std::bad_alloc&) {  // whose size is not known here
        return tell(VOLTA_OUT_OF_MEMORY, "the host allocator returned NULL");
        // unreachable: a mistake of the library alone throws anything else
    } catch (const std::exception& e) {
        return tell(VOLTA_INTERNAL, e.what());
    } catch (...) {
        // unreachable: as above
        return tell(VOLTA_INTERNAL, "an exception of unknown type; please report it");
    }
}

// For functions that cannot fail: release and accessors that end objects.
template <class Body>
void unfailing(Body&& body) noexcept {
    const FpEnvironment contract;
    const HostEnvironmentScope host(contract.host());
    body();
}

}  // namespace volta
