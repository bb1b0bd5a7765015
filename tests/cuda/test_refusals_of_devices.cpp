// What a device does not compute is refused when a plan is compiled, by a sentence that names the operator.
#include "engine/graph/graph.h"
#include "tests/runtime/backend_cases.h"
#include "tests/support/errors.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr MachineRow kProcessor = {"scalar", Isa::scalar, 1, false};
constexpr MachineRow kCuda = {"cuda", Isa::scalar, 1, false, "cuda"};

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

Failure failure_on(const MachineRow& row, const FilledGraph& filled) {
    Machine machine(row);
    return failure_of([&] { const CompiledGraph compiled(filled, machine); });
}

void test_what_the_processor_alone_computes(void**) {
    for (const BackendCase& test : processor_cases()) {
        CaseBuilder builder(Data::plain, 1);
        test.build(builder);
        const Failure failure = failure_on(kCuda, builder.filled);
        if (builder.graph().shape(0).elements() == 0) {  // nothing to compute
            assert_int_equal(failure.status, VOLTA_OK);
            continue;
        }
        if (failure.status != VOLTA_UNSUPPORTED) print_error("%s is not refused\n", test.name.c_str());
        assert_failure(failure, VOLTA_UNSUPPORTED,
                       test.op == Op::matmul ? "no CUDA kernel goes back through a weight stored as "
                                             : "its rows hold packed documents on CUDA at level strict");
    }
}

// A sum of 40 operands, as the body of an operator of its own; or of 39 and the product before them.
void add_sum(CaseBuilder& builder, Op op) {
    Node node{Allocator(heap())};
    node.op = op;
    if (op == Op::matmul) node.inputs.assign({builder.real({3, 4}), builder.real({4, 5})});
    for (int i = 0; i < 40; ++i) node.inputs.push_back(builder.real({3, 5}));
    for (int i = 0; i < 39; ++i) {
        BodyOp add{Allocator(heap())};
        add.op = Op::add;
        add.inputs.assign({i == 0 ? ~0 : i - 1, ~(i + 1)});
        node.body.ops.push_back(std::move(add));
    }
    node.body.results.push_back(38);
    builder.apply(std::move(node));
}

void test_too_many_operands(void**) {
    struct Row {
        Op op;
        const char* sentence;
    };
    const Row rows[] = {{Op::fused, "fused: it has more operands than a kernel can take"},
                        {Op::fused_rows, "fused_rows: it has more operands than a kernel can take"},
                        {Op::matmul, "matmul: its epilogue has more operands than a kernel can take"}};
    for (const Row& row : rows)
        for (const MachineRow& machine : {kProcessor, kCuda}) {
            CaseBuilder builder(Data::plain, 1);
            add_sum(builder, row.op);
            const std::string sentence =
                std::string(row.sentence) + (machine.device == nullptr ? " on the CPU" : " on CUDA");
            assert_failure(failure_on(machine, builder.filled), VOLTA_UNSUPPORTED, sentence.c_str());
        }
}

// A table of angles is made when a plan is compiled.
void test_frequencies_that_are_no_constant(void**) {
    CaseBuilder builder(Data::plain, 1);
    builder.apply(Op::rotary_table, {builder.real({4})}, {number(Attr::limit, 9), number(Attr::width, 8)});
    assert_failure(failure_on(kCuda, builder.filled), VOLTA_UNSUPPORTED,
                   "rotary_table: its frequencies are not a constant on CUDA at level strict");
    assert_int_equal(failure_on(kProcessor, builder.filled).status, VOLTA_OK);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_what_the_processor_alone_computes),
        cmocka_unit_test(test_too_many_operands),
        cmocka_unit_test(test_frequencies_that_are_no_constant),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
