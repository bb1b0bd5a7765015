// The memory bills of reference configurations, against tests/golden/memory_bills.json: growth of any class
// fails, and so does a zero where there must be bytes. Nothing is allocated: a bill is known before. Less is
// a reason to write the file anew (VOLTA_UPDATE_GOLDEN=1), which a change to the planner should do.
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/graph/step_input.h"
#include "engine/model/bert.h"
#include "engine/model/gpt.h"
#include "engine/model/llama.h"
#include "engine/runtime/context.h"
#include "engine/runtime/program_memory.h"
#include "engine/runtime/training_graph.h"
#include "tests/support/cmocka_cpp.h"

namespace {

using namespace volta;
using Json = nlohmann::ordered_json;

constexpr const char* kGolden = "golden/memory_bills.json";  // tests run in tests/

struct Configuration {
    const char* name;
    GptConfig gpt;
    std::int64_t batch, time;
    std::uint32_t micro_batches;  // 0: a session
    Graph (*build)(const GptConfig&, std::pmr::memory_resource*) = build_gpt;
};

// A Llama and a BERT of these sizes.
Graph llama_of(const GptConfig& sizes, std::pmr::memory_resource* heap) {
    LlamaConfig llama;
    llama.vocabulary = sizes.vocabulary;
    llama.layers = sizes.layers;
    llama.dim = sizes.dim;
    llama.heads = sizes.heads;
    llama.context = sizes.context;
    return build_llama(llama, heap);
}
Graph bert_of(const GptConfig& sizes, std::pmr::memory_resource* heap) {
    BertConfig bert;
    bert.vocabulary = sizes.vocabulary;
    bert.layers = sizes.layers;
    bert.dim = sizes.dim;
    bert.heads = sizes.heads;
    bert.context = sizes.context;
    return build_bert(bert, heap);
}

const Configuration kConfigurations[] = {
    {"tiny, training, 4 x 256", {65, 6, 384, 6, 256, 0}, 4, 256, 1},
    {"tiny, training, 2 x (2 x 256)", {65, 6, 384, 6, 256, 0}, 2, 256, 2},
    {"tiny with dropout, training, 4 x 256", {65, 6, 384, 6, 256, 0.1}, 4, 256, 1},
    {"small, training, 8 x 64", {96, 4, 128, 4, 64, 0}, 8, 64, 1},
    {"gpt2, training, 4 x 64", {50257, 12, 768, 12, 1024, 0}, 4, 64, 1},
    {"tiny, session, 1 x 256", {65, 6, 384, 6, 256, 0}, 1, 256, 0},
    {"gpt2, session, 1 x 256", {50257, 12, 768, 12, 1024, 0}, 1, 256, 0},
    {"llama-tiny, training, 4 x 256", {65, 6, 384, 6, 256, 0}, 4, 256, 1, llama_of},
    {"llama-tiny, session, 1 x 256", {65, 6, 384, 6, 256, 0}, 1, 256, 0, llama_of},
    {"bert of tiny's sizes, training, 4 x 256", {65, 6, 384, 6, 256, 0}, 4, 256, 1, bert_of},
};

// Kernels are those of AVX2 and two threads: the workspace depends on both.
Json bill_of(const Configuration& c) {
    ContextOptions options;
    options.thread_count = 2;
    options.isa = Isa::avx2;
    options.isa_auto = false;
    Context* context = Context::create(options);
    const ContextRef owner(context);
    context->release();
    std::pmr::memory_resource* heap = owner->structures();

    const bool trains = c.micro_batches > 0;
    const Graph model = c.build(c.gpt, heap);
    const Graph source = trains ? Graph(model, heap) : without_dropout(model, heap);
    std::pmr::vector<Shape> shapes(heap);
    for (const SourceInfo& info : source.sources) {
        const Node& node = source.nodes[static_cast<std::size_t>(info.node)];
        if (node.op == Op::input)
            shapes.push_back(is_step_input(node.name.c_str()) ? info.declared : Shape{c.batch, c.time});
    }
    Graph graph = specialize(source, shapes.data(), static_cast<int>(shapes.size()), heap);
    PrepareOptions prepare;
    if (trains) {
        TrainingSpec spec(heap);
        spec.micro_batches = prepare.micro_batches = c.micro_batches;
        spec.clip_norm = 1;
        graph = build_training_graph(graph, spec, heap);
    }
    ProgramMemory memory(owner->plans().prepare(graph, prepare), heap);
    if (!trains)
        for (std::size_t i = 0; i < memory.program().plan().regions.size(); ++i)
            if (memory.program().plan().regions[i].kind == RegionKind::parameter) memory.lend(i, nullptr);
    volta_bill bill = {};
    memory.add_to(bill);
    return {{"parameters", bill.parameters},
            {"gradients", bill.gradients},
            {"optimizer_state", bill.optimizer_state},
            {"activations", bill.activations},
            {"workspace", bill.workspace},
            {"staging", bill.staging},
            {"total", bill.total}};
}

// A session reads the model's parameters where they are and keeps no gradients; all else must have bytes.
bool may_be_zero(const std::string& key, bool trains) {
    return !trains && (key == "parameters" || key == "gradients" || key == "optimizer_state");
}

void test_bills_do_not_grow(void**) {
    if (!host_cpu().has(Isa::avx2)) skip();
    Json actual = Json::object();
    for (const Configuration& c : kConfigurations) actual[c.name] = bill_of(c);
    if (std::getenv("VOLTA_UPDATE_GOLDEN") != nullptr) std::ofstream(kGolden) << actual.dump(2) << "\n";

    std::ifstream file(kGolden);
    const Json golden = Json::parse(file, nullptr, false);
    int mistakes = golden.is_discarded() ? 1 : 0;
    for (const Configuration& c : kConfigurations) {
        if (golden.is_discarded() || !golden.contains(c.name)) {
            print_error("%s has no bill for %s\n", kGolden, c.name);
            mistakes += 1;
            continue;
        }
        for (const auto& [key, bytes] : actual[c.name].items()) {
            const auto now = bytes.get<std::uint64_t>(), before = golden[c.name][key].get<std::uint64_t>();
            const bool missing = now == 0 && !may_be_zero(key, c.micro_batches > 0);
            if (now <= before && !missing) continue;
            print_error("%s: %s is %llu bytes, the golden bill has %llu\n", c.name, key.c_str(),
                        static_cast<unsigned long long>(now), static_cast<unsigned long long>(before));
            mistakes += 1;
        }
    }
    assert_int_equal(mistakes, 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(test_bills_do_not_grow)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
