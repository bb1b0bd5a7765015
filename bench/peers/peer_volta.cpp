// Volta itself, as any program would use it: a graph of one product, a model, a session. In the mode packed B
// is the model's parameter, so that the session may arrange it when it is created.
#include <volta.h>

#include <stdexcept>

#include "bench/peers/peer.h"

namespace {
using namespace peers;

void must(volta_status status) {
    if (status != VOLTA_OK) throw std::runtime_error(std::string("Volta: ") + volta_last_error());
}

// An object of the library, released with its owner.
template <class T, void (*release)(T*)>
struct Release {
    void operator()(T* object) const { release(object); }
};
template <class T, void (*release)(T*)>
using Handle = std::unique_ptr<T, Release<T, release>>;
using Context = Handle<volta_context, volta_context_release>;
using Graph = Handle<volta_graph, volta_graph_release>;
using Model = Handle<volta_model, volta_model_release>;
using Session = Handle<volta_session, volta_session_release>;
using Tensor = Handle<volta_tensor, volta_tensor_release>;

class VoltaProduct : public Product {
  public:
    VoltaProduct(volta_context* context, const Operands& o, Mode mode) {
        const std::int64_t a[] = {o.a_transposed() ? o.shape.k : o.shape.m, o.lda()};
        const std::int64_t b[] = {o.b_transposed() ? o.shape.n : o.shape.k, o.ldb()};
        const std::int64_t c[] = {o.shape.m, o.shape.n};
        inputs_[0] = wrap(context, a, o.a);
        inputs_[1] = wrap(context, b, o.b);
        output_ = wrap(context, c, o.c);
        input_count_ = mode == Mode::packed ? 1 : 2;
        create(context, a, b, o, mode);
    }

    void run() override {
        const volta_tensor* inputs[] = {inputs_[0].get(), inputs_[1].get()};
        volta_tensor* output = output_.get();
        must(volta_session_run(session_.get(), inputs, input_count_, &output, 1));
    }

  private:
    static Tensor wrap(volta_context* context, const std::int64_t (&shape)[2], const float* data) {
        volta_tensor* tensor = nullptr;
        must(volta_tensor_wrap(context, VOLTA_F32, shape, 2, const_cast<float*>(data), &tensor));
        return Tensor(tensor);
    }

    void create(volta_context* context, const std::int64_t (&a)[2], const std::int64_t (&b)[2],
                const Operands& o, Mode mode) {
        volta_graph* graph_out = nullptr;
        must(volta_graph_create(context, &graph_out));
        const Graph graph(graph_out);
        volta_value operands[2], product;
        must(volta_graph_input(graph.get(), "a", VOLTA_F32, a, 2, &operands[0]));
        if (mode == Mode::packed)
            must(volta_graph_parameter(graph.get(), "b", b, 2, nullptr, &operands[1]));
        else
            must(volta_graph_input(graph.get(), "b", VOLTA_F32, b, 2, &operands[1]));
        const volta_attribute attributes[] = {{"transpose_a", o.a_transposed() ? 1.0 : 0.0, nullptr, 0},
                                              {"transpose_b", o.b_transposed() ? 1.0 : 0.0, nullptr, 0}};
        must(volta_graph_apply(graph.get(), "matmul", operands, 2, attributes, 2, &product, 1));
        must(volta_graph_output(graph.get(), "c", product));

        volta_model* model = nullptr;
        must(volta_model_create(graph.get(), 1, &model));
        model_.reset(model);
        if (mode == Mode::packed)
            must(volta_model_set_parameter(model, "b", o.b, static_cast<std::size_t>(b[0] * b[1])));
        volta_session_options options{};
        options.struct_size = sizeof options;
        options.flags = VOLTA_SESSION_PACK_WEIGHTS;
        volta_session* session = nullptr;
        must(volta_session_create(model, &options, &session));
        session_.reset(session);
    }

    Tensor inputs_[2], output_;
    std::size_t input_count_;
    Model model_;
    Session session_;
};

class VoltaLibrary : public Library {
  public:
    explicit VoltaLibrary(const Settings& settings) {
        volta_context_options options{};
        options.struct_size = sizeof options;
        options.thread_count = static_cast<std::uint32_t>(settings.threads);
        options.isa = settings.isa == Isa::avx512 ? VOLTA_ISA_AVX512 : VOLTA_ISA_AVX2;
        volta_context* context = nullptr;
        must(volta_context_create(&options, &context));
        context_.reset(context);
    }

    std::string version() const override { return volta_version(); }

    std::string detail() const override {
        volta_context_info info{};
        info.struct_size = sizeof info;
        must(volta_context_get_info(context_.get(), &info));
        return std::string(info.isa == VOLTA_ISA_AVX512 ? "AVX-512" : "AVX2") + " kernels" +
               (info.jit_active ? "" : ", interpreted");
    }

    std::unique_ptr<Product> prepare(const Operands& operands, Mode mode) override {
        // X^T dY has no weight among its operands.
        if (mode == Mode::packed && operands.shape.form == Form::tn) return nullptr;
        return std::make_unique<VoltaProduct>(context_.get(), operands, mode);
    }

  private:
    Context context_;
};

std::unique_ptr<Library> open(const Settings& settings) { return std::make_unique<VoltaLibrary>(settings); }
}  // namespace

int main(int argc, char** argv) { return peers::serve(argc, argv, open); }
