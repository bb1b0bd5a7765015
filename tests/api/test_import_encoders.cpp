// Encoders as other programs write them, with every head: the outputs that transformers gives
// (tests/golden/encoders.txt, made by tests/parity/parity_encoders.py --golden), the same bits saved and
// through Volta's own names.
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tests/api/foreign_models.h"

namespace {
using namespace volta::test;

constexpr std::size_t kGolden = 16;

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void check_case(Host& host, const Golden& golden, const Case& one) {
    TemporaryFolder folder;
    const std::string path = write_case(folder, one, one.config);
    volta_model *model = nullptr, *opened = nullptr, *again = nullptr;
    check(volta_model_import(host.context, path.c_str(), nullptr, &model));
    const std::vector<float> outputs = run_tokens(host, model, golden.tokens, one.shape);
    assert_int_equal(one.values.size(), std::min(kGolden, outputs.size()) + 1);
    const std::size_t count = one.values.size() - 1;
    for (std::size_t i = 0; i < count; ++i) {
        const float ours = outputs[outputs.size() - count + i], theirs = one.values[i];
        if (!(std::fabs(ours - theirs) <= kMostDifference * one.values[count]))
            failed("%s: output %zu is %.9g, transformers gives %.9g", one.name.c_str(), i,
                   static_cast<double>(ours), static_cast<double>(theirs));
    }
    const std::string own = folder.file("m.volta"), exported = folder.file("own.safetensors");
    check(volta_model_save(model, own.c_str()));
    check(volta_model_open(host.context, own.c_str(), nullptr, &opened));
    assert_true(same_bits(run_tokens(host, opened, golden.tokens, one.shape), outputs));
    check(volta_model_export_safetensors(model, exported.c_str()));
    check(volta_model_import(host.context, exported.c_str(), nullptr, &again));
    if (!same_bits(run_tokens(host, again, golden.tokens, one.shape), outputs))
        failed("%s: what Volta exported gives other bits", one.name.c_str());
    check_peft(folder, one, model);
    for (volta_model* each : {model, opened, again}) volta_model_release(each);
}

void test_encoders_give_the_outputs_of_transformers(void**) {
    const Golden golden = read_golden("golden/encoders.txt");
    assert_true(golden.cases.size() >= 20 && golden.tokens.size() == 16);
    Host host;
    for (const Case& one : golden.cases) check_case(host, golden, one);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(test_encoders_give_the_outputs_of_transformers)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
