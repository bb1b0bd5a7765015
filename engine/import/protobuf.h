// The wire format of protocol buffers, by protozero: fields of one message, pulled one after the other.
// Nothing is copied, and no declared length is believed before it is inside the bytes at hand. A field of
// another wire type than it should have, and one that is damaged, is CORRUPT_MODEL.
#pragma once

// protozero's checks of its caller, which Fields makes itself: a library must not end the process.
#define protozero_assert(x) static_cast<void>(0)
#include <cstdint>
#include <cstring>
#include <protozero/pbf_reader.hpp>
#include <string_view>

#include "engine/base/error.h"

namespace volta {

class Fields {
    template <class Body>
    static auto guarded(Body body) -> decltype(body()) {
        try {
            return body();
        } catch (const protozero::exception&) {
            fail(VOLTA_CORRUPT_MODEL, "its protobuf messages are damaged or cut off");
        }
    }
    template <class Body>
    auto take(Body body) -> decltype(body()) {
        pending_ = false;
        return guarded(body);
    }

  public:
    explicit Fields(std::string_view message) : reader_(message.data(), message.size()) {}

    // To the next field; one that nobody asks for a value of is skipped.
    bool next() {
        return guarded([&] {
            if (pending_) reader_.skip();
            return pending_ = reader_.next();
        });
    }
    std::uint32_t number() const { return reader_.tag(); }
    bool is_bytes() const { return has(protozero::pbf_wire_type::length_delimited); }

    std::string_view bytes() {
        expect(protozero::pbf_wire_type::length_delimited);
        return take([&] {
            const protozero::data_view view = reader_.get_view();
            return std::string_view(view.data(), view.size());
        });
    }
    std::int64_t integer() {
        expect(protozero::pbf_wire_type::varint);
        return take([&] { return reader_.get_int64(); });
    }
    float real() {
        expect(protozero::pbf_wire_type::fixed32);
        return take([&] { return reader_.get_float(); });
    }
    double wide_real() {
        expect(protozero::pbf_wire_type::fixed64);
        return take([&] { return reader_.get_double(); });
    }

    // Each value of a repeated field, packed or not.
    template <class Take>
    void integers(Take value) {
        if (!is_bytes()) return value(integer());
        const std::string_view packed = bytes();
        guarded([&] {
            const char* at = packed.data();
            const char* const end = at + packed.size();
            while (at < end) value(static_cast<std::int64_t>(protozero::decode_varint(&at, end)));
            return true;
        });
    }
    template <class Take>
    void reals(Take value) {
        if (!is_bytes()) return value(real());
        fixed<float>(value);
    }
    template <class Take>
    void wide_reals(Take value) {
        if (!is_bytes()) return value(wide_real());
        fixed<double>(value);
    }

  private:
    bool has(protozero::pbf_wire_type type) const { return reader_.wire_type() == type; }
    void expect(protozero::pbf_wire_type type) const {
        if (!has(type))
            fail(VOLTA_CORRUPT_MODEL, "field %u of a protobuf message has the wire type %u, not %u", number(),
                 static_cast<unsigned>(reader_.wire_type()), static_cast<unsigned>(type));
    }
    template <class T, class Take>
    void fixed(Take value) {
        const std::string_view packed = bytes();
        if (packed.size() % sizeof(T) != 0)
            fail(VOLTA_CORRUPT_MODEL, "field %u of a protobuf message has %zu bytes, no multiple of %zu",
                 number(), packed.size(), sizeof(T));
        for (std::size_t at = 0; at < packed.size(); at += sizeof(T)) {
            T number;
            std::memcpy(&number, packed.data() + at, sizeof number);
            value(number);
        }
    }

    protozero::pbf_reader reader_;
    bool pending_ = false;  // the field has not been read
};

}  // namespace volta
