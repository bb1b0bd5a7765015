// Some 700 products around every threshold of the rules and from the layers of models, and how plans use
// them: what golden schedules are of, and what rules are measured on.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "engine/backend/lower/problem_shapes.h"
#include "engine/base/shape.h"

namespace volta::test {

[[gnu::format(printf, 2, 3)]] inline void append(std::string& text, const char* format, ...) {
    char line[2048];
    std::va_list values;
    va_start(values, format);
    std::vsnprintf(line, sizeof line, format, values);
    va_end(values);
    text += line;
}

struct Use {
    const char* name;
    bool prepacked;
    double cache_use;
};
inline constexpr Use kUses[] = {
    {"plain", false, 0}, {"prepacked", true, 0.3}, {"in DRAM", false, 2}, {"prepacked in DRAM", true, 2}};

enum class Follows { nothing, blocks, rows };
inline constexpr const char* kFollows[] = {"none", "blocks", "rows"};

struct GoldenCase {
    ProductShape shape;
    Follows follows = Follows::nothing;
    bool sums = false;
    const DType* stored = nullptr;  // the format of a packed weight; NULL: B is f32

    std::string text() const {
        std::string line;
        if (shape.batch > 1) append(line, "%lldx", static_cast<long long>(shape.batch));
        append(line, "%lldx%lldx%lld %c%c ld=%lld,%lld,%lld %s%s", static_cast<long long>(shape.m),
               static_cast<long long>(shape.n), static_cast<long long>(shape.k),
               shape.a_transposed ? 't' : 'n', shape.b_transposed ? 't' : 'n',
               static_cast<long long>(shape.lda), static_cast<long long>(shape.ldb),
               static_cast<long long>(shape.ldc),
               stored ? dtype_name(*stored) : kFollows[static_cast<int>(follows)], sums ? " sums" : "");
        return line;
    }
};

inline ProductShape shape_of(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
                             bool a_transposed, bool b_transposed, std::int64_t pad) {
    ProductShape shape;
    shape.batch = batch;
    shape.m = m;
    shape.n = n;
    shape.k = k;
    shape.a_transposed = a_transposed;
    shape.b_transposed = b_transposed;
    shape.lda = (a_transposed ? m : k) + pad;
    shape.ldb = (b_transposed ? k : n) + pad;
    shape.ldc = n + pad;
    shape.batch_stride_a = m * k;
    shape.batch_stride_c = m * shape.ldc;
    return shape;
}

// Around every threshold of the rules, and the layers of models.
inline std::vector<GoldenCase> cases() {
    struct Extents {
        std::int64_t n, k;
    };
    constexpr std::int64_t kRows[] = {1,  2,  3,  4,  5,  6,   7,   8,   12,  13,
                                      16, 17, 32, 48, 64, 128, 129, 192, 193, 1024};
    constexpr Extents kExtents[] = {{64, 64},    {100, 30},    {128, 128},  {384, 384},   {768, 768},
                                    {3072, 768}, {768, 3072},  {1008, 512}, {1009, 512},  {1024, 1024},
                                    {1040, 512}, {4, 384},     {7, 100},    {1, 300},     {16, 2048},
                                    {65, 384},   {2048, 2048}, {8200, 512}, {50257, 768}, {777, 333},
                                    {257, 5000}, {16400, 64},  {1536, 130}, {96, 20},     {512, 9001}};
    std::vector<GoldenCase> all;
    const auto add = [&](std::int64_t i, std::int64_t j, bool a_transposed, bool b_transposed) {
        GoldenCase one;
        const std::int64_t pad = (i + 2 * j) % 7 == 0 ? 16 : 0;
        one.shape = shape_of(1, kRows[i], kExtents[j].n, kExtents[j].k, a_transposed, b_transposed, pad);
        one.follows = static_cast<Follows>((3 * i + j) % 5 < 3 ? 0 : (3 * i + j) % 5 - 2);
        one.sums = (i + j) % 6 == 1;
        all.push_back(one);
    };
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(std::size(kRows)); ++i)
        for (std::int64_t j = 0; j < static_cast<std::int64_t>(std::size(kExtents)); ++j) {
            const std::int64_t way = (i + j) % 4;
            if (way == 0 || way == 1) add(i, j, false, false);
            if (way == 1 || way == 2) add(i, j, false, true);
            if (way == 3) add(i, j, true, j % 5 == 2);
        }
    for (const std::int64_t m : {1, 9, 40, 300})
        for (const bool shares_b : {false, true}) {
            GoldenCase one;
            one.shape = shape_of(3, m, 200, 333, false, m == 9, 0);
            one.shape.batch_stride_b = shares_b ? 0 : 200 * 333;
            all.push_back(one);
        }
    static constexpr DType kFormats[] = {DType::bf16, DType::f16, DType::int8, DType::int4,
                                         DType::f32_panels};
    for (const DType& format : kFormats)
        for (const std::int64_t m : {1, 2, 4, 5, 13, 48, 100})
            for (const Extents& extents : {Extents{768, 768}, Extents{50257, 768}, Extents{100, 64}}) {
                GoldenCase one;
                one.shape = shape_of(1, m, extents.n, extents.k, false, true, 0);
                one.stored = &format;
                all.push_back(one);
            }
    return all;
}

}  // namespace volta::test
