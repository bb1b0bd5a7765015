// oneDNN, the matmul primitive. Plain: B is described in place. Packed: the library chooses B's
// layout (format_tag::any) and B is reordered before the clock starts. The driver limits the instruction set
// (ONEDNN_MAX_CPU_ISA).
#include <omp.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <stdexcept>
#include <unordered_map>

#include "bench/peers/peer.h"

namespace {
using namespace peers;
using dnnl::memory;

memory::desc describe(std::int64_t rows, std::int64_t columns, memory::format_tag tag) {
    return memory::desc({rows, columns}, memory::data_type::f32, tag);
}

dnnl::matmul::primitive_desc describe_matmul(const dnnl::engine& engine, const memory::desc& a,
                                             const memory::desc& b, const memory::desc& c) {
#if DNNL_VERSION_MAJOR >= 3
    return dnnl::matmul::primitive_desc(engine, a, b, c);
#else
    return dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), engine);
#endif
}

class OneDnnProduct : public Product {
  public:
    OneDnnProduct(const dnnl::engine& engine, const Operands& o, Mode mode) : stream_(engine) {
        using Tag = memory::format_tag;
        const auto a = describe(o.shape.m, o.shape.k, o.a_transposed() ? Tag::ba : Tag::ab);
        const auto b = describe(o.shape.k, o.shape.n, o.b_transposed() ? Tag::ba : Tag::ab);
        const auto c = describe(o.shape.m, o.shape.n, Tag::ab);
        const auto any = describe(o.shape.k, o.shape.n, Tag::any);
        const auto description = describe_matmul(engine, a, mode == Mode::packed ? any : b, c);
        product_ = dnnl::matmul(description);
        memory weights(b, engine, const_cast<float*>(o.b));
        if (description.weights_desc() != b) weights = reordered(engine, weights, description.weights_desc());
        arguments_ = {{DNNL_ARG_SRC, memory(a, engine, const_cast<float*>(o.a))},
                      {DNNL_ARG_WEIGHTS, weights},
                      {DNNL_ARG_DST, memory(c, engine, o.c)}};
    }

    void run() override {
        product_.execute(stream_, arguments_);
        stream_.wait();
    }

  private:
    memory reordered(const dnnl::engine& engine, memory& from, const memory::desc& layout) {
        memory to(layout, engine);
        dnnl::reorder(from, to).execute(stream_, from, to);
        stream_.wait();
        return to;
    }

    dnnl::stream stream_;
    dnnl::matmul product_;
    std::unordered_map<int, memory> arguments_;
};

const char* isa_name(dnnl::cpu_isa isa) {
    switch (isa) {
        case dnnl::cpu_isa::avx2:
            return "AVX2";
        case dnnl::cpu_isa::avx512_core:
            return "AVX-512";
        case dnnl::cpu_isa::avx512_core_vnni:
            return "AVX-512 VNNI";
        case dnnl::cpu_isa::avx512_core_bf16:
            return "AVX-512 bf16";
        default:
            return "another instruction set";
    }
}

class OneDnnLibrary : public Library {
  public:
    explicit OneDnnLibrary(const Settings& settings) : engine_(dnnl::engine::kind::cpu, 0) {
        omp_set_num_threads(settings.threads);
    }

    std::string version() const override {
        const dnnl_version_t* v = dnnl_version();
        return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
    }
    std::string detail() const override { return isa_name(dnnl::get_effective_cpu_isa()); }

    std::unique_ptr<Product> prepare(const Operands& operands, Mode mode) override {
        // X^T dY has no weight among its operands.
        if (mode == Mode::packed && operands.shape.form == Form::tn) return nullptr;
        return std::make_unique<OneDnnProduct>(engine_, operands, mode);
    }

  private:
    dnnl::engine engine_;
};

std::unique_ptr<Library> open(const Settings& settings) { return std::make_unique<OneDnnLibrary>(settings); }
}  // namespace

int main(int argc, char** argv) { return peers::serve(argc, argv, open); }
