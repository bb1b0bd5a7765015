// volta.hpp: what its handles own and end, what its calls give, and that failures carry status and sentence.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <volta.hpp>

#include "tests/support/cmocka_cpp.h"

namespace {

// The host's memory, counted.
struct Counted {
    std::size_t live = 0;
    static void* allocate(void* user, std::size_t size, std::size_t alignment, volta_memory_kind) {
        ++static_cast<Counted*>(user)->live;
        return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    }
    static void release(void* user, void* pointer, std::size_t, std::size_t, volta_memory_kind) {
        --static_cast<Counted*>(user)->live;
        std::free(pointer);
    }
};

volta::context counted_context(const volta_allocator& allocator) {
    auto options = volta::options<volta_context_options>();
    options.allocator = &allocator;
    options.thread_count = 1;
    return volta::context(options);
}

constexpr std::int64_t kX[] = {2, 3}, kY[] = {2, 4};

volta::model perceptron(const volta::context& context) {
    volta::graph graph(context);
    const volta_value x = graph.input("x", kX), y = graph.linear("fc", x, 4);
    assert_true(graph.shape(y) == std::vector<std::int64_t>({2, 4}));
    graph.output("y", graph.apply("relu", {y}));
    assert_true(graph.text().find("relu") != std::string_view::npos);
    return volta::model(graph, 7);
}

// What throws becomes a value.
void test_attempts(void**) {
    const volta::context context;
    const auto missing = volta::attempt([&] { return volta::model::open(context, "/nowhere/x.volta"); });
    assert_false(static_cast<bool>(missing));
    assert_int_equal(missing.error().status, VOLTA_IO_ERROR);
    assert_true(missing.error().text.find("/nowhere/x.volta") != std::string::npos);
    auto made = volta::attempt([&] { return perceptron(context); });
    assert_true(static_cast<bool>(made));
    const volta::model model = *std::move(made);
    assert_int_equal(model.hash().size(), 32);
    assert_true(static_cast<bool>(volta::attempt([&] { return model.save("/dev/null/x"); })) == false);
    assert_true(static_cast<bool>(volta::attempt([&] { return model.save_sharded(2, "/dev/null/x"); })) ==
                false);
}

// A tape trains, keeps, captures and compiles; a failure says where its call stands.
void test_tapes(void**) {
    Counted counted;
    const volta_allocator allocator = {Counted::allocate, Counted::release, &counted};
    {
        const volta::context context = counted_context(allocator);
        volta::tensor x(context, kX), w(context, {3, 4});
        x.fill(0.5);
        w.random({VOLTA_INIT_NORMAL, 0.3, 0}, 1);
        w.set_requires_grad(true);
        auto lazy = volta::options<volta_tape_options>();
        lazy.mode = VOLTA_TAPE_LAZY;
        int stepped = 0;
        volta::tape tape(context, lazy);
        volta::tape_optimizer adam(tape, {w.get()});
        double first = 0, last = 0;
        for (int step = 0; step < 20; ++step) {
            volta_tensor* const y = tape.apply("tanh", {tape.apply("matmul", {x, w})});
            volta_tensor* const loss = tape.apply("mean", {tape.apply("mul", {y, y})});
            adam.zero_grad();
            tape.backward(loss);
            stepped = __LINE__ + 1;
            last = static_cast<double>(tape.step(adam).loss);
            if (step == 0) first = last;
            tape.end_record();
        }
        assert_true(last < first);
        assert_int_equal(tape.info().plans_made, 1);
        assert_true(tape.report().find("VG003") != std::string_view::npos);
        assert_true(tape.report(true).find("\"segments\":20") != std::string_view::npos);
        assert_true(tape.report().find("test_cpp.cpp:" + std::to_string(stepped)) != std::string_view::npos);
        assert_non_null(w.grad());
        w.zero_grad();
        assert_null(w.grad());

        tape.set_gradients(false);
        volta_tensor* const product = tape.outputs("matmul", {x, w}, 1)[0];
        tape.set_gradients(true);
        const volta::tensor kept = volta::tensor::keep(tape.detach(product));
        const volta::model captured = tape.capture({product});
        assert_int_equal(captured.parameter_count(), 1);
        tape.flush();
        tape.end_record();
        assert_int_equal(kept.elements().size(), 8);

        volta_tensor* const log = tape.apply("log", {w});
        assert_int_equal(tape.read(log).size(), static_cast<std::size_t>(volta_tensor_elements(log)));
        assert_int_equal(tape.read<std::int32_t>(log).size(), 0);
        tape.end_record();
        const auto over = volta::attempt([&] { (void)tape.read(log); });
        assert_int_equal(over.error().status, VOLTA_INVALID_STATE);

        const int line = __LINE__ + 1;
        const auto wrong = volta::attempt([&] { tape.apply("matmul", {w.get(), w.get()}); });
        assert_true(wrong.error().text.find(std::to_string(line) + ')') != std::string::npos);
        tape.end_record();

        int calls = 0;
        auto body = [&](volta_tape* on, volta::span<volta_tensor* const> inputs,
                        volta::span<volta_tensor*> outputs) {
            ++calls;
            outputs[0] = volta_tape_call(on, "exp", inputs.data(), inputs.size(), nullptr, 0, nullptr, 0);
        };
        volta::compiled compiled(context, body);
        x.fill(0);
        for (int call = 0; call < 3; ++call)
            assert_true(*static_cast<float*>(volta_tensor_data(compiled({x.get()})[0])) == 1);
        assert_int_equal(calls, 3);
        assert_non_null(compiled.get_tape());
    }
    assert_int_equal(counted.live, 0);
}

// A request ends what is long, until nothing asks any more.
void test_stopping(void**) {
    const volta::context context;
    const volta::model model = perceptron(context);
    volta::cancel cancel;
    auto how = volta::options<volta_stop_options>();
    how.cancel = cancel.get();
    context.set_stop(how);
    cancel.request();
    const auto saved = volta::attempt([&] { model.save("/tmp/never.volta"); });
    assert_int_equal(saved.error().status, VOLTA_CANCELLED);
    context.set_stop();
    assert_int_equal(model.hash().size(), 32);
}

void test_tuning_and_profile(void**) {
    const volta::context context;
    const volta::model model = perceptron(context);
    volta::session session(model);
    const volta::tensor x(context, kX), y(context, kY);
    context.start_profile();
    session.run(x, y);
    context.stop_profile();
    assert_true(context.profile().operator_count > 0);
    assert_true(std::strlen(context.profile_operator(0).name) > 0);
    assert_true(context.profile_event(0).end_ns >= context.profile_event(0).begin_ns);
    volta_tune_shape shape{};
    shape.m = 8, shape.n = 8, shape.k = 8;
    assert_true(!context.explain_matmul(shape).empty());
    auto options = volta::options<volta_tune_options>();
    options.session = session, options.seconds = 0.05;
    context.tune(options);
}

void test_everything_is_ended(void**) {
    Counted counted;
    const volta_allocator allocator = {Counted::allocate, Counted::release, &counted};
    {
        const auto context = counted_context(allocator);
        volta::model model = perceptron(context);
        const volta_model* const owned = model;
        volta::model moved = std::move(model);
        assert_ptr_equal(moved.get(), owned);
        volta::session session(moved);
        volta::tensor x(context, kX), y(context, kY);
        moved = perceptron(context);  // the session keeps the one that it runs
        session.run(x, y);
        assert_true(counted.live > 0);
    }
    assert_int_equal(counted.live, 0);
}

void test_host_tensors(void**) {
    const volta::context context;
    volta::tensor x(context, kX), y(context, kX);
    x.arange(1, 0.5);
    y.fill(2);
    assert_string_equal(x.text().c_str(), "[[1.  1.5 2. ]\n [2.5 3.  3.5]]");
    const volta_comparison found = x.compare(y);
    assert_true(found.is_equal == 0 && found.differing == 5 && found.largest_absolute == 1.5);
    assert_true(x.compare(y, 0, 1.5).is_equal == 1);
    y.random({VOLTA_INIT_UNIFORM, 0, 1}, 7);
    assert_true(y.elements()[0] >= 0 && y.elements()[0] < 1 && y.elements()[0] != y.elements()[1]);
    const std::string path = "/tmp/volta-test-cpp-" + std::to_string(getpid()) + ".npz";
    volta::save_tensors(context, path.c_str(), {"y", "x"}, {y.get(), x.get()});
    const volta::tensors read(context, path.c_str());
    remove(path.c_str());
    assert_true(read.size() == 2 && read.name(2) == nullptr && read[2] == nullptr);
    assert_string_equal(read.name(0), "x");
    volta_comparison same = VOLTA_COMPARISON_INIT;
    assert_int_equal(volta_tensor_compare(read[0], x, 0, 0, &same), VOLTA_OK);
    assert_int_equal(same.is_equal, 1);
    assert_int_equal(volta_tensor_compare(read[1], y, 0, 0, &same), VOLTA_OK);
    assert_int_equal(same.is_equal, 1);
}

void test_running_and_training(void**) {
    const volta::context context;
    volta::model model = perceptron(context);
    float in[6] = {1, 2, 3, 4, 5, 6}, out[8], wanted[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    const auto x = volta::tensor::wrap(context, in, kX), y = volta::tensor::wrap(context, out, kY);
    volta::session session(model);
    session.run(x, y);
    const auto weight = model.values("fc.weight");
    for (int row = 0; row < 2; ++row)
        for (int j = 0; j < 4; ++j) {
            float sum = 0;
            for (int k = 0; k < 3; ++k) sum += in[3 * row + k] * weight[static_cast<std::size_t>(4 * k + j)];
            assert_true(std::abs(out[4 * row + j] - std::max(sum, 0.0f)) < 1e-5f);
        }
    const auto integers = y.elements<std::int32_t>();
    assert_true(integers.empty());  // it is of float
    assert_true(y.shape() == session.output_shape(0));
    assert_true(session.bill().total > 0 && !session.plan().empty());

    auto options = volta::options<volta_trainer_options>();
    options.loss = VOLTA_LOSS_MSE;
    options.learning_rate = 1e-2;
    const volta::training_estimate estimate = volta::trainer::estimate(model, options);
    std::uint64_t largest = 0;
    std::vector<volta_plan_part> parts;
    volta::trainer::estimate_steps(model, options, [&](const volta_plan_step& step) {
        largest = std::max(largest, step.alive);
        if (parts.empty() || parts.back() != step.part) parts.push_back(step.part);
    });
    assert_true(largest > 0 && largest <= estimate.bill.activations);
    assert_true(
        (parts == std::vector<volta_plan_part>{VOLTA_PLAN_FORWARD, VOLTA_PLAN_BACKWARD, VOLTA_PLAN_UPDATE}));
    options.activation_budget = estimate.cost.smallest_activations;
    volta::trainer trainer(model, options);
    assert_true(trainer.bill().activations <= estimate.bill.activations);
    const auto targets = volta::tensor::wrap(context, wanted, kY);
    const float first = trainer.step(x, targets).loss;
    for (int i = 0; i < 20; ++i) trainer.step(x, targets);
    assert_true(trainer.step(x, targets).loss < first);
    assert_int_equal(trainer.current_step(), 22);
    assert_string_not_equal(trainer.hash().c_str(), model.hash().c_str());
    trainer.update_model();
    assert_string_equal(trainer.hash().c_str(), model.hash().c_str());
    assert_int_equal(trainer.gradient("fc.bias").size(), 4);
}

// Two ranks of one program that meet in its memory.
class Meeting {
  public:
    void exchange(std::uint32_t rank, volta::span<const std::byte> send, volta::span<std::byte> receive) {
        std::unique_lock<std::mutex> lock(mutex_);
        sent_[rank] = send;
        meet(lock, rank);
        const auto from = sent_[1 - rank];
        if (from.size() != receive.size())
            throw std::runtime_error("rank " + std::to_string(1 - rank) + " sends another size");
        std::copy(from.begin(), from.end(), receive.begin());
        meet(lock, rank);  // until then the other one reads what this one sends
    }
    int calls() const { return calls_; }

  private:
    void meet(std::unique_lock<std::mutex>& lock, std::uint32_t rank) {
        ++calls_;
        const int round = (calls_ + 1) / 2;
        came_.notify_all();
        if (!came_.wait_for(lock, std::chrono::seconds(20), [&] { return calls_ >= 2 * round; }))
            throw std::runtime_error("rank " + std::to_string(1 - rank) + " did not come");
    }

    std::mutex mutex_;
    std::condition_variable came_;
    volta::span<const std::byte> sent_[2];
    int calls_ = 0;
};

// Three steps of two shards; the rows that are another rank's hold nothing. Losses and hash.
std::pair<std::vector<float>, std::string> trained_in_shards(const volta::context& context,
                                                             volta_group* group) {
    const volta::model model = perceptron(context);
    auto options = volta::options<volta_trainer_options>();
    options.loss = VOLTA_LOSS_MSE;
    options.learning_rate = 1e-2;
    options.clip_norm = 0.5;
    options.shards = 2;
    options.group = group;
    volta::trainer trainer(model, options);
    const volta::row_range rows = trainer.rows();
    assert_int_equal(rows.first, volta_group_rank(group) * 2);
    assert_int_equal(rows.count, group == nullptr ? 4 : 4 / volta_group_size(group));
    std::vector<float> in(12, std::numeric_limits<float>::quiet_NaN()), wanted(16, in[0]);
    for (std::uint64_t i = 3 * rows.first; i < 3 * (rows.first + rows.count); ++i)
        in[i] = static_cast<float>(i) / 7;
    for (std::uint64_t i = 4 * rows.first; i < 4 * (rows.first + rows.count); ++i)
        wanted[i] = static_cast<float>(i) / 5;
    const auto x = volta::tensor::wrap(context, in.data(), {4, 3}),
               y = volta::tensor::wrap(context, wanted.data(), {4, 4});
    std::vector<float> losses(3);
    for (float& loss : losses) loss = trainer.step(x, y).loss;
    return {losses, trainer.hash()};
}

void test_two_ranks_train_as_one(void**) {
    const volta::context context;
    const auto alone = trained_in_shards(context, nullptr);
    auto refuse = [](std::uint32_t, volta::span<const std::byte>, volta::span<std::byte>) {
        return volta::failure{VOLTA_IO_ERROR, "nobody is there"};
    };
    const volta::group one(context, 0, 1, refuse);  // has nobody to exchange with
    assert_true(trained_in_shards(context, one) == alone);

    Meeting meeting;
    std::pair<std::vector<float>, std::string> found[2];
    std::string failures[2];
    const auto train = [&](std::uint32_t rank) {
        const auto trained = volta::attempt([&] {
            auto exchange = [&](std::uint32_t peer, volta::span<const std::byte> send,
                                volta::span<std::byte> receive) {
                meeting.exchange(1 - peer, send, receive);
            };
            const volta::context own;
            const volta::group group(own, rank, 2, exchange);
            found[rank] = trained_in_shards(own, group);
        });
        if (!trained) failures[rank] = trained.error().text;
    };
    std::thread other(train, 1);
    train(0);
    other.join();
    assert_string_equal(failures[0].c_str(), "");
    assert_string_equal(failures[1].c_str(), "");
    assert_true(meeting.calls() > 0);
    assert_true(found[0] == alone && found[1] == alone);
}

void test_groups_say_what_is_wrong(void**) {
    const volta::context context;
    const auto failed_by = [&](auto exchange) {
        return volta::attempt([&] {
                   const volta::group group(context, 1, 2, exchange);
                   assert_true(group.rank() == 1 && group.size() == 2);
                   trained_in_shards(context, group);
               })
            .error();
    };
    using In = volta::span<const std::byte>;
    using Out = volta::span<std::byte>;
    const auto given = failed_by([](std::uint32_t, In, Out) {
        return volta::failure{VOLTA_DEVICE_ERROR, "rank 0 has no link"};
    });
    const auto thrown = failed_by([](std::uint32_t, In, Out) { throw std::runtime_error("rank 0 is gone"); });
    assert_int_equal(given.status, VOLTA_IO_ERROR);
    assert_non_null(std::strstr(given.text.c_str(), "rank 0 has no link"));
    assert_int_equal(thrown.status, VOLTA_IO_ERROR);
    assert_non_null(std::strstr(thrown.text.c_str(), "rank 0 is gone"));
    auto options = volta::options<volta_group_options>();
    options.transport = "pigeons";
    const auto unknown = volta::attempt([&] { volta::group(context, options); });
    assert_int_equal(unknown.error().status, VOLTA_INVALID_ARGUMENT);
    assert_non_null(std::strstr(unknown.error().text.c_str(), "pigeons"));
}

void test_writing(void**) {
    const volta::context context;
    const std::string text = "to be or not to be";
    const auto tokenizer = volta::tokenizer::characters(context, text);
    assert_true(tokenizer.decode(tokenizer.encode(text)) == text);
    const auto pair = volta::tokenizer::bytes(context).encode_pair("ab", "cde", 4);
    assert_true((pair.ids == std::vector<std::int32_t>{97, 98, 99, 100}));
    assert_true((pair.segments == std::vector<std::int32_t>{0, 0, 1, 1}));
    auto gpt = volta::options<volta_gpt_options>();
    gpt.vocabulary = tokenizer.size();
    gpt.layers = 1;
    gpt.dim = 16;
    gpt.heads = 2;
    gpt.context = 12;
    volta::model model(context, gpt, 1);
    model.set_tokenizer(tokenizer);
    model.set_metadata("title", "a play");
    assert_string_equal(model.metadata("title"), "a play");
    assert_null(model.metadata("none"));

    volta::generator generator(model);
    generator.start(tokenizer.encode("to"));
    std::string written;
    const auto result = generator.write([&](std::string_view piece, std::int32_t) {
        written += piece;
        return written.size() >= 3;
    });
    assert_int_equal(result.reason, VOLTA_STOP_CALLBACK);
    assert_int_equal(written.size(), 3);
    generator.start(tokenizer.encode("be"));
    assert_int_equal(generator.write(volta::options<volta_write_options>()).reason, VOLTA_STOP_CONTEXT_FULL);

    auto options = volta::options<volta_generator_options>();
    options.sequences = 2;
    volta::generator many(model, options);
    auto first = many.make_sequence(), second = many.make_sequence();
    first.append(tokenizer.encode("to"));
    second.append(tokenizer.encode("not"));
    volta_sequence* const both[] = {first, second};
    std::int32_t tokens[2];
    many.step({both, 2}, {tokens, 2});
    assert_int_equal(first.tokens()[2], tokens[0]);
    assert_int_equal(second.tokens()[3], tokens[1]);
}

// What a call that must fail throws.
template <class Call>
volta::error failure_of(const Call& call) {
    try {
        call();
    } catch (const volta::error& error) {
        return error;
    }
    return {VOLTA_OK, "it did not fail"};
}

void test_failures_carry_status_and_sentence(void**) {
    const volta::context context;
    const volta::error missing = failure_of([&] { volta::model::open(context, "/nowhere/x.volta"); });
    assert_int_equal(missing.status(), VOLTA_IO_ERROR);
    assert_non_null(std::strstr(missing.what(), "/nowhere/x.volta"));
    volta::graph graph(context);
    const volta_value x = graph.input("x", kX);
    const volta::error axes = failure_of([&] { graph.apply("transpose", {x}, {{"permutation", {0, 2}}}); });
    assert_int_equal(axes.status(), VOLTA_SHAPE_MISMATCH);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_is_ended),
        cmocka_unit_test(test_attempts),
        cmocka_unit_test(test_tapes),
        cmocka_unit_test(test_stopping),
        cmocka_unit_test(test_tuning_and_profile),
        cmocka_unit_test(test_host_tensors),
        cmocka_unit_test(test_running_and_training),
        cmocka_unit_test(test_two_ranks_train_as_one),
        cmocka_unit_test(test_groups_say_what_is_wrong),
        cmocka_unit_test(test_writing),
        cmocka_unit_test(test_failures_carry_status_and_sentence),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
