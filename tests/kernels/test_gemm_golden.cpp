// What is decided about products, and what machine code their kernels are, pinned: golden/gemm_schedules.txt
// has hashes of the schedules of some 700 products on several machines, golden/gemm_code.txt of the bytes of
// every family of kernels. Neither asks the processor that it runs on. `test_gemm_golden --print` prints the
// schedules in full, to compare two versions with diff; VOLTA_UPDATE_GOLDEN=1 writes both files.
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>

#include "engine/backend/cpu/gemm/product.h"
#include "engine/numerics/stored_weights.h"
#include "tests/kernels/product_cases.h"
#include "tests/kernels/product_problem.h"
#include "tests/support/golden.h"

namespace {
using namespace volta;
using namespace volta::cpu;
using namespace volta::test;

std::uint64_t hash_of(const void* bytes, std::size_t count, std::uint64_t hash = 0xcbf29ce484222325u) {
    for (std::size_t i = 0; i < count; ++i)
        hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3u;
    return hash;
}

// ---- Schedules -----------------------------------------------------------------------------------------

Machine machine(const char* name, std::size_t l2_kib, std::size_t l3_mib, bool double_pumped) {
    CpuInfo cpu = {};
    cpu.l2_bytes = l2_kib << 10;
    cpu.l3_bytes = l3_mib << 20;
    cpu.double_pumped_avx512 = double_pumped;
    Machine made = machine_of(cpu, Isa::scalar, 1);
    made.name = name;
    return made;
}
struct Place {
    Isa isa;
    Machine machine;
};
std::vector<Place> places() {
    std::vector<Place> all = {{Isa::scalar, machine("zen4", 1024, 32, true)}};
    for (const Isa isa : {Isa::avx2, Isa::avx512}) {
        all.push_back({isa, machine("zen3", 512, 32, true)});
        all.push_back({isa, machine("zen4", 1024, 32, true)});
        all.push_back({isa, machine("golden_cove", 2048, 36, false)});
        all.push_back({isa, machine("unknown", 0, 0, false)});
    }
    for (Place& place : all) place.machine.isa = place.isa;
    return all;
}

constexpr int kThreads[] = {1, 2, 8};

// The epilogues of the cases, for their scratch memory.
const jit::RowKernel* epilogue_of(Follows follows) {
    static jit::CodeArena arena(heap(), true);
    static const jit::RowKernelPtr blocks = jit::compile(bias_relu(), Isa::scalar, arena, heap());
    static const jit::RowKernelPtr rows = jit::compile(below_maximum(), Isa::scalar, arena, heap());
    return follows == Follows::nothing ? nullptr : follows == Follows::blocks ? blocks.get() : rows.get();
}

std::string schedule_of(const GoldenCase& one, const Place& place, const Use& use, int threads) {
    CompileContext context = engine(place.isa).context(threads, nullptr);
    context.machine = place.machine;
    context.machine.threads = threads;
    context.request.prepacked = use.prepacked;
    context.request.cache_use = use.cache_use;
    context.request.sums_b = one.sums;
    const jit::RowKernel* const epilogue = epilogue_of(one.follows);
    const ProductPtr product = one.stored
                                   ? compile_packed_weight_product(one.shape, *one.stored, epilogue, context)
                                   : compile_product(one.shape, epilogue, context);
    ScheduleText text;
    product->describe(text);
    std::string line;
    append(line, "%s | %s | workspace=%zu prepacked=%zu%s", product->kernel_name(), text.text,
           product->workspace_bytes(), product->prepacked_bytes(), product->sums_b() ? " sums" : "");
    return line;
}

template <class Body>
void for_each_use(const GoldenCase& one, const Place& place, Body body) {
    for (const int threads : kThreads)
        for (const Use& use : kUses)
            if (!one.stored || !use.prepacked) body(schedule_of(one, place, use, threads), use, threads);
}

std::string hashed_line(const GoldenCase& one, const Place& place) {
    std::string line;
    append(line, "%s %s %s:", one.text().c_str(), isa_name(place.isa), place.machine.name);
    for_each_use(one, place, [&](const std::string& text, const Use&, int) {
        append(line, " %08x", static_cast<unsigned>(hash_of(text.data(), text.size()) >> 32));
    });
    return line + "\n";
}

void print_in_full(const GoldenCase& one, const Place& place) {
    for_each_use(one, place, [&](const std::string& text, const Use& use, int threads) {
        std::printf("%s %s %s %d threads %s: %s\n", one.text().c_str(), isa_name(place.isa),
                    place.machine.name, threads, use.name, text.c_str());
    });
}

void test_schedules(void**) {
    std::string text;
    for (const GoldenCase& one : cases())
        for (const Place& place : places()) text += hashed_line(one, place);
    if (matches_golden("gemm_schedules.txt", text)) return;
    std::ifstream file("golden/gemm_schedules.txt");
    const std::string golden{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    int shown = 0;
    for (const GoldenCase& one : cases())
        for (const Place& place : places())
            if (shown < 5 && golden.find(hashed_line(one, place)) == std::string::npos) {
                print_in_full(one, place);
                ++shown;
            }
    assert_true(false);
}

// ---- Code ----------------------------------------------------------------------------------------------

// Of all code that `emit` publishes: kernels are position-independent, so their bytes are the same
// everywhere.
class CodeHash {
  public:
    template <class Form, class Emit>
    void add(const Form& form, Emit emit) {
        jit::CodeArena arena(heap(), false);
        emit(form, arena);
        arena.visit(
            [](void* self, const void* code, std::size_t bytes, const char*) {
                auto& hash = static_cast<CodeHash*>(self)->hash_;
                hash = hash_of(code, bytes, hash);
            },
            this);
        ++count_;
    }
    void finish(std::string& text, const std::string& group) {
        if (count_ > 0)
            append(text, "%s: %d %016llx\n", group.c_str(), count_, static_cast<unsigned long long>(hash_));
        *this = CodeHash();
    }

  private:
    std::uint64_t hash_ = 0xcbf29ce484222325u;
    int count_ = 0;
};

void emit_tile(const jit::GemmForm& form, jit::CodeArena& arena) {
    assert_non_null(reinterpret_cast<void*>(jit::emit_gemm_f32(form, arena, heap())));
}

// Every height, width and order of operands; what a tile does beside computing at one width of each.
void add_tiles(std::string& text, Isa isa) {
    constexpr const char* kA[] = {"rows", "k_major", "ones"};
    constexpr const char* kB[] = {"panels", "tile", "rows", "rows_to_tile"};
    constexpr const char* kTriangles[] = {"", " tail", " head"};
    const int most = jit::kMaxTileColumns / jit::gemm_lanes(isa);
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 4; ++b)
            for (int triangle = 0; triangle < 3; ++triangle) {
                if (triangle > 0 && (a == 2 || b == 3)) continue;
                for (int rows = 1; rows <= (a == 2 ? 1 : jit::kMaxTileRows); ++rows) {
                    CodeHash hash;
                    jit::GemmForm form;
                    form.isa = isa;
                    form.a = static_cast<jit::GemmA>(a);
                    form.b = static_cast<jit::GemmB>(b);
                    form.triangle = static_cast<jit::Triangle>(triangle);
                    form.mr = static_cast<std::uint8_t>(rows);
                    for (int vectors = 1; vectors <= most; ++vectors) {
                        form.vectors = static_cast<std::uint8_t>(vectors);
                        hash.add(form, emit_tile);
                        form.masked = true;
                        hash.add(form, emit_tile);
                        form.narrow = isa == Isa::avx512;
                        if (form.narrow) hash.add(form, emit_tile);
                        form.masked = form.narrow = false;
                        form.half = isa == Isa::avx2 && form.b == jit::GemmB::panels && vectors > 1;
                        if (form.half) hash.add(form, emit_tile);
                        form.half = false;
                    }
                    form.vectors = static_cast<std::uint8_t>(most / 2);
                    for (const int unroll : {1, 2, 8}) {
                        form.unroll = static_cast<std::uint8_t>(unroll);
                        hash.add(form, emit_tile);
                    }
                    form.unroll = 4;
                    const bool in_place = form.b == jit::GemmB::rows;
                    for (const int distance : {8, 32, 64}) {
                        form.prefetch = static_cast<std::uint8_t>(distance);
                        hash.add(form, emit_tile);
                        form.repeated_prefetch = in_place;
                        if (in_place) hash.add(form, emit_tile);
                        form.repeated_prefetch = false;
                    }
                    form.prefetch = 0;
                    for (int lines = 1; lines <= 4 && triangle == 0 && b != 3; ++lines) {
                        if ((in_place && lines > 1) || (lines > 3 && rows > 12)) continue;
                        form.prefetch_lines = static_cast<std::uint8_t>(lines);
                        hash.add(form, emit_tile);
                    }
                    hash.finish(text, std::string("tile ") + isa_name(isa) + " a=" + kA[a] + " b=" + kB[b] +
                                          kTriangles[triangle] + " rows=" + std::to_string(rows));
                }
            }
}

void add_skinny(std::string& text, Isa isa) {
    for (int rows = 1; rows <= jit::kMaxAxpyRows; ++rows)
        for (int ahead = 0; ahead < 5; ++ahead) {
            CodeHash hash;
            jit::AxpyForm form;
            form.isa = isa;
            form.rows = static_cast<std::uint8_t>(rows);
            form.prefetch = static_cast<jit::AxpyPrefetch>(ahead);
            for (int steps = 1; steps <= jit::axpy_steps(isa, rows, form.prefetch); ++steps) {
                form.steps = static_cast<std::uint8_t>(steps);
                hash.add(form, [](const jit::AxpyForm& each, jit::CodeArena& arena) {
                    jit::emit_axpy(each, arena, heap());
                });
            }
            hash.finish(text, std::string("axpy ") + isa_name(isa) + " rows=" + std::to_string(rows) +
                                  " prefetch=" + std::to_string(ahead));
        }
    for (int rows = 1; rows <= jit::dot_rows(isa); ++rows) {
        CodeHash hash;
        jit::DotForm form;
        form.isa = isa;
        form.rows = static_cast<std::uint8_t>(rows);
        for (int groups = 1; groups <= jit::dot_groups(isa, rows); ++groups)
            for (int bits = 0; bits < 4; ++bits) {
                form.groups = static_cast<std::uint8_t>(groups);
                form.prefetches = bits % 2 != 0;
                form.lines = bits / 2 != 0;
                if (form.lines && isa != Isa::avx512) continue;
                hash.add(form, [](const jit::DotForm& each, jit::CodeArena& arena) {
                    jit::emit_dot(each, arena, heap());
                });
            }
        hash.finish(text, std::string("dot ") + isa_name(isa) + " rows=" + std::to_string(rows));
    }
}

void add_packed_weights(std::string& text, Isa isa) {
    for (const DType format : {DType::bf16, DType::f16, DType::int8, DType::int4, DType::f32_panels})
        for (int panels = 1; panels <= jit::kMaxPackedPanels; ++panels)
            for (int use = 0; use < 3; ++use) {
                CodeHash hash;
                jit::PackedForm form;
                form.isa = isa;
                form.dtype = format;
                form.panels = static_cast<std::uint8_t>(panels);
                form.use = static_cast<jit::PackedUse>(use);
                if (format == DType::f32_panels && form.use != jit::PackedUse::direct) continue;
                const bool only_dequantises = form.use == jit::PackedUse::dequantise;
                const int most = only_dequantises ? 0 : jit::packed_rows(isa, panels);
                for (int rows = only_dequantises ? 0 : 1; rows <= most; ++rows)
                    for (int ahead = 0; ahead < 3; ++ahead)
                        for (const bool prescaled : {false, true}) {
                            form.rows = static_cast<std::uint8_t>(rows);
                            form.prefetch = static_cast<jit::PackedPrefetch>(ahead);
                            form.prescaled = prescaled;
                            if (prescaled && !jit::can_be_prescaled(form)) continue;
                            hash.add(form, [](const jit::PackedForm& each, jit::CodeArena& arena) {
                                jit::emit_gemm_packed(each, arena, heap());
                            });
                        }
                hash.finish(text, std::string("packed ") + dtype_name(format) + " " + isa_name(isa) +
                                      " panels=" + std::to_string(panels) + " use=" + std::to_string(use));
            }
}

// The kernels of every twentieth product, whatever the order in which it asks for them.
void add_products(std::string& text, Isa isa) {
    const std::vector<GoldenCase> all = cases();
    for (std::size_t i = 0; i < all.size(); i += 20)
        for (const Use& use : kUses) {
            if (all[i].stored && use.prepacked) continue;
            Engine fresh(isa, false);
            CompileContext context = fresh.context(2, nullptr);
            context.machine = machine("zen4", 1024, 32, true);
            context.machine.isa = isa;
            context.machine.threads = 2;
            context.request.prepacked = use.prepacked;
            context.request.cache_use = use.cache_use;
            context.request.sums_b = all[i].sums;
            const ProductPtr product =
                all[i].stored ? compile_packed_weight_product(all[i].shape, *all[i].stored, nullptr, context)
                              : compile_product(all[i].shape, nullptr, context);
            struct {
                int kernels = 0;
                std::uint64_t sum = 0;
            } seen;
            fresh.arena.visit(
                [](void* to, const void* code, std::size_t bytes, const char*) {
                    auto& all_seen = *static_cast<decltype(seen)*>(to);
                    ++all_seen.kernels;
                    all_seen.sum += hash_of(code, bytes);
                },
                &seen);
            append(text, "product %s %s %s: %d %016llx\n", all[i].text().c_str(), isa_name(isa), use.name,
                   seen.kernels, static_cast<unsigned long long>(seen.sum));
        }
}

void test_code(void**) {
    std::string text;
    for (const Isa isa : {Isa::avx2, Isa::avx512}) {
        add_tiles(text, isa);
        add_skinny(text, isa);
        add_packed_weights(text, isa);
        add_products(text, isa);
    }
    CodeHash hash;
    hash.add(0, [](int, jit::CodeArena& arena) { jit::emit_transposes(arena, heap()); });
    hash.finish(text, "transposes");
    assert_true(matches_golden("gemm_code.txt", text));
}

}  // namespace

int main(int count, char** arguments) {
    if (count > 1 && std::strcmp(arguments[1], "--print") == 0) {
        for (const GoldenCase& one : cases())
            for (const Place& place : places()) print_in_full(one, place);
        return 0;
    }
    const CMUnitTest tests[] = {cmocka_unit_test(test_schedules), cmocka_unit_test(test_code)};
    return cmocka_run_group_tests_name("gemm_golden", tests, nullptr, nullptr);
}
