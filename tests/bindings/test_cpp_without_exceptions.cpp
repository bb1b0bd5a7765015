// volta.hpp and volta_data.hpp with VOLTA_NO_EXCEPTIONS, compiled with -fno-exceptions: the same bits,
// failures as values, and nothing that a call after a failed one could break.
#define VOLTA_NO_EXCEPTIONS
#include <cstdio>
#include <volta.hpp>
#include <volta_data.hpp>

namespace {

int failed = 0;

void expect(bool right, const char* what) {
    if (!right) std::printf("FAILED: %s\n", what), failed = 1;
}

volta::model perceptron(const volta::context& context) {
    volta::graph graph(context);
    graph.output("y", graph.apply("relu", {graph.linear("fc", graph.input("x", {2, 3}), 4)}));
    return volta::model(graph, 7);
}

void test_values() {
    const volta::context context;
    auto model = volta::attempt([&] { return perceptron(context); });
    expect(static_cast<bool>(model) && model->hash().size() == 32, "a model has a hash");
    volta::session session(*model);
    const volta::tensor x(context, {2, 3}), y(context, {2, 4});
    expect(static_cast<bool>(volta::attempt([&] { session.run(x, y); })), "a run is nothing to talk about");
    expect(volta::take_failure().status == VOLTA_OK, "no call failed");
}

void test_failures() {
    const volta::context context;
    volta::fail(VOLTA_INTERNAL, "of before");
    const auto model = volta::attempt([&] { return volta::model::open(context, "/nowhere/x.volta"); });
    expect(!model && model.error().status == VOLTA_IO_ERROR, "a missing file is an I/O error");
    expect(model.error().text.find("/nowhere/x.volta") != std::string::npos, "the sentence names it");
    const auto run = volta::attempt([&] {
        volta::model none = volta::model::open(context, "/nowhere/y.volta");
        volta::session session(none);  // of nothing: fails too, but was not the first
        session.run(volta::tensor(), volta::tensor());
    });
    expect(!run && run.error().text.find("y.volta") != std::string::npos, "the first failure counts");
    const volta::failure before = volta::take_failure();
    expect(before.status == VOLTA_INTERNAL && before.text == "of before", "one of before attempt stays");
}

// Every member of an object that is not there gives nothing, and says so.
void test_nothing() {
    const volta::model none;
    expect(none.hash().empty() && none.input_count() == 0, "a model that is not there");
    expect(none.values("w").empty() && none.metadata("title") == nullptr, "its parameters");
    expect(!none.get_tokenizer() && !none.quantize(VOLTA_INT8), "what is made of it");
    const volta::tokenizer words;
    expect(words.encode("text").empty() && words.decode({1, 2}).empty() && words.piece(1).empty(),
           "a tokenizer that is not there");
    volta::session session(none);
    expect(session.plan().empty() && session.output_shape(0).empty() && session.bill().total == 0,
           "a session of nothing");
    volta::trainer trainer(none);
    expect(trainer.hash().empty() && trainer.step_tokens().step == 0 && trainer.gradient("w").empty(),
           "a trainer of nothing");
    volta::generator generator(none);
    expect(generator.next() == -1 || generator.next() == 0, "a generator of nothing");
    expect(generator.write([](std::string_view, std::int32_t) { return false; }).token_count == 0,
           "what it writes");
    volta::sequence sequence = generator.make_sequence();
    expect(sequence.tokens().empty() && sequence.logits().empty(), "a sequence of nothing");
    const volta::dataset pictures(VOLTA_DATA_FOLDER, {"/nowhere"});
    expect(pictures.info().sample_count == 0 && pictures.sample_name(0).empty(),
           "a data set that is not there");
    volta::loader loader(pictures);
    expect(loader.next().count == 0 && loader.position().epoch == 0, "a loader of nothing");
    expect(volta::text({"/nowhere.txt"}).bytes().empty(), "a text that is not there");
    expect(volta::take_failure().status == VOLTA_INVALID_ARGUMENT, "the first of all these failures");
    expect(volta::take_failure().status == VOLTA_OK, "it was taken");
}

}  // namespace

int main() {
    test_values();
    test_failures();
    test_nothing();
    return failed;
}
