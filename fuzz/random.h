// The numbers that mutators draw: of a seed, the same everywhere.
#pragma once

#include <stddef.h>
#include <stdint.h>

class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next() {  // SplitMix64
        uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }
    size_t below(size_t n) { return n == 0 ? 0 : next() % n; }
    bool one_in(size_t n) { return below(n) == 0; }

  private:
    uint64_t state_;
};
