// How a test sees the fake driver: settings for a while, and what is there.
#pragma once

#include <dlfcn.h>
#include <stdlib.h>

#include <cstring>
#include <string>

#include "tests/support/cmocka_cpp.h"
#include "tests/support/fake_cuda/fake_counts.h"

namespace volta::test {

// An environment variable, as it was before when this goes. The fake driver reads it when a Driver is made.
class Setting final {
  public:
    Setting(const char* name, const std::string& value) : name_(name) {
        const char* const old = getenv(name);
        had_ = old != nullptr;
        if (had_) old_ = old;
        setenv(name, value.c_str(), 1);
    }
    ~Setting() {
        if (had_)
            setenv(name_, old_.c_str(), 1);
        else
            unsetenv(name_);
    }
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;

  private:
    const char* name_;
    std::string old_;
    bool had_ = false;
};

// A function of the fake driver, or of the driver API; NULL: this is no fake.
template <class Function>
Function* fake_function(const char* name) {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return library != nullptr ? reinterpret_cast<Function*>(dlsym(library, name)) : nullptr;
}

inline fake::Counts fake_counts() {
    fake::Counts counts{};
    fake_function<void(fake::Counts*)>("volta_fake_cuda_counts")(&counts);
    return counts;
}
inline int fake_calls(const char* name) {
    return fake_function<int(const char*)>("volta_fake_cuda_calls")(name);
}
inline int fake_kernels() { return fake_function<int()>("volta_fake_cuda_kernels")(); }

// Everything that was made on a device is gone, and was given back by whom it was made.
inline bool nothing_is_left() {
    const fake::Counts counts = fake_counts();
    if (counts.contexts + counts.streams + counts.events + counts.modules + counts.graphs +
            counts.executables + counts.allocations + counts.pinned + counts.library_objects +
            counts.leaked ==
        0)
        return true;
    print_error(
        "left: %d contexts, %d streams, %d events, %d modules, %d graphs, %d executables, %d allocations, "
        "%d pinned, %d of libraries; leaked: %d\n",
        counts.contexts, counts.streams, counts.events, counts.modules, counts.graphs, counts.executables,
        counts.allocations, counts.pinned, counts.library_objects, counts.leaked);
    return false;
}

}  // namespace volta::test
