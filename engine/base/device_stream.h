// What a library that works on a device besides must know of it: where work is put in order.
#pragma once

namespace volta {

// Thread: one call at a time, as the context it belongs to.
class DeviceStream {
  public:
    // function(user, stream) with the device current on this thread; a stream of CUDA's. What the function
    // throws comes through. Throws DEVICE_ERROR where there is no device any more.
    virtual void call(void (*function)(void* user, void* stream), void* user) = 0;
    // Whether all is done that was put into the stream. Throws DEVICE_ERROR, as what failed there.
    virtual bool is_idle() = 0;

  protected:
    ~DeviceStream() = default;
};

}  // namespace volta
