// Training in shards: the bits depend on the shards and on nothing else, neither on who computes them nor on
// threads, budgets, the way that messages take, or the rank that a run goes on with. Ranks are threads here,
// each with a context.
//     test_shards [kills COUNT SEED]: the ranks that are killed at random calls alone, so many of them
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/cmocka_cpp.h"
#include "tests/support/fake_transport.h"
#include "tests/support/place.h"
#include "volta.h"

namespace {

using volta::test::FakeFaults;
using volta::test::FakeTransport;

constexpr int64_t kRows = 2, kTime = 16, kSide = 32;
constexpr int32_t kVocabulary = 61;
constexpr uint64_t kShards = 4;
constexpr int kSteps = 3;

// ---- Subjects: models, and the data of a whole step ----

struct Subject {
    const char* name;
    volta_status (*make)(volta_context* context, volta_model** model);
    std::vector<int64_t> shape;  // of one micro-batch
    int32_t classes;             // 0: tokens
};

volta_status make_gpt(volta_context* context, volta_model** model) {
    volta_gpt_options options = VOLTA_GPT_OPTIONS_INIT;
    options.vocabulary = kVocabulary;
    options.layers = 2;
    options.dim = 32;
    options.heads = 2;
    options.context = kTime;
    options.dropout = 0.2;
    return volta_model_create_gpt(context, &options, 7, model);
}

volta_status make_network(volta_context* context, volta_model** model) {
    volta_network_options options = VOLTA_NETWORK_OPTIONS_INIT;
    options.name = "resnet20";
    options.classes = 10;
    options.stem = VOLTA_STEM_SMALL;
    return volta_model_create_network(context, &options, 7, model);
}

// Of several buckets.
volta_status make_wider_gpt(volta_context* context, volta_model** model) {
    volta_gpt_options options = VOLTA_GPT_OPTIONS_INIT;
    options.vocabulary = kVocabulary;
    options.layers = 4;
    options.dim = 192;
    options.heads = 4;
    options.context = kTime;
    options.dropout = 0.1;
    return volta_model_create_gpt(context, &options, 7, model);
}

const Subject kSubjects[] = {
    {"a GPT with dropout", make_gpt, {kRows, kTime}, 0},
    {"a ResNet with batch norm", make_network, {kRows, 3, kSide, kSide}, 10},
    {"a wider GPT", make_wider_gpt, {kRows, kTime}, 0},
};

struct Run {
    uint64_t shards = kShards, micro_batches = kShards;
    uint32_t threads = 1;
    uint64_t activation_budget = 0, host_budget = 0;
    double clip_norm = 1;
    int first_step = 0, steps = kSteps;
    std::string from, to;  // checkpoints
    bool saves_each_step = false;
    const volta_allocator* allocator = nullptr;
    void (*parallel_for)(void*, uint32_t, volta_part, void*) = nullptr;
    void* parallel_user = nullptr;
    void (*log)(void*, volta_log_level, const char*) = nullptr;
    void* log_user = nullptr;
};

struct Result {
    volta_status status = VOLTA_OK;
    std::string text, hash;
    float loss = 0, norm = 0;
};

// What one rank does; group options NULL: alone.
class Rank {
  public:
    Rank(const Subject& subject, const Run& run, const volta_group_options* group)
        : subject_(subject), run_(run) {
        volta_context_options options = VOLTA_CONTEXT_OPTIONS_INIT;
        options.thread_count = run.threads;
        options.allocator = run.allocator;
        options.host_budget = run.host_budget;
        options.parallel_for = run.parallel_for;
        options.parallel_user = run.parallel_user;
        options.log = run.log;
        options.log_user = run.log_user;
        check(volta_context_create(&options, &context_));
        if (group != nullptr) check(volta_group_create(context_, group, &group_));
    }
    ~Rank() {
        volta_trainer_release(trainer_);
        volta_group_release(group_);
        volta_model_release(model_);
        volta_context_release(context_);
    }
    Rank(const Rank&) = delete;
    Rank& operator=(const Rank&) = delete;

    Result train() {
        make_trainer();
        for (int step = run_.first_step; step < run_.first_step + run_.steps && is_ok(); ++step) {
            make_step(step);
            if (run_.saves_each_step) check(volta_trainer_save(trainer_, run_.to.c_str()));
        }
        char hash[33] = "";
        check(volta_trainer_hash(trainer_, hash));
        result_.hash = hash;
        if (!run_.to.empty()) check(volta_trainer_save(trainer_, run_.to.c_str()));
        return result_;
    }
    bool is_ok() const { return result_.status == VOLTA_OK; }
    volta_trainer* trainer() { return trainer_; }
    volta_context* context() { return context_; }
    volta_model* model() { return model_; }
    Result& result() { return result_; }

    volta_trainer_options options() const {
        volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
        options.input_shapes = subject_.shape.data();
        options.input_extent_count = subject_.shape.size();
        options.shards = run_.shards;
        options.micro_batches = run_.micro_batches;
        options.learning_rate = 1e-2;
        options.clip_norm = run_.clip_norm;
        options.seed = 3;
        options.activation_budget = run_.activation_budget;
        options.group = group_;
        return options;
    }
    void make_trainer() {
        volta_trainer_options options = this->options();
        if (model_ == nullptr) make_model();
        if (!is_ok()) return;
        if (run_.from.empty()) return check(volta_trainer_create(model_, &options, &trainer_));
        options.input_shapes = nullptr;
        options.input_extent_count = 0;
        check(volta_trainer_resume(model_, &options, &trainer_));
    }
    void make_model() {
        check(run_.from.empty() ? subject_.make(context_, &model_)
                                : volta_model_open(context_, run_.from.c_str(), nullptr, &model_));
    }

    void make_step(int step) {
        std::vector<int64_t> shape = subject_.shape;
        shape[0] *= static_cast<int64_t>(run_.micro_batches);
        int64_t elements = 1;
        for (const int64_t extent : shape) elements *= extent;
        volta_tensor *input = nullptr, *targets = nullptr;
        std::vector<float> pixels;
        std::vector<int32_t> tokens, labels;
        if (subject_.classes == 0) {
            for (int64_t i = 0; i < elements; ++i) {
                tokens.push_back(static_cast<int32_t>((i * 7 + i / 5 + step * 11) % kVocabulary));
                // Targets that do not count, more of them in one shard than in another.
                labels.push_back(i % (3 + i / 20) == 0 ? -1
                                                       : static_cast<int32_t>((i * 5 + step) % kVocabulary));
            }
            check(volta_tensor_wrap(context_, VOLTA_I32, shape.data(), 2, tokens.data(), &input));
            check(volta_tensor_wrap(context_, VOLTA_I32, shape.data(), 2, labels.data(), &targets));
        } else {
            for (int64_t i = 0; i < elements; ++i)
                pixels.push_back(static_cast<float>((i * 37 + i / 91 + step * 13) % 251) / 125.0f - 1);
            for (int64_t i = 0; i < shape[0]; ++i)
                labels.push_back(static_cast<int32_t>((i * 3 + step) % subject_.classes));
            check(volta_tensor_wrap(context_, VOLTA_F32, shape.data(), 4, pixels.data(), &input));
            check(volta_tensor_wrap(context_, VOLTA_I32, shape.data(), 1, labels.data(), &targets));
        }
        volta_step_report report = VOLTA_STEP_REPORT_INIT;
        if (is_ok()) {
            const volta_tensor* const inputs[] = {input};
            check(volta_trainer_step(trainer_, inputs, 1, targets, &report));
        }
        result_.loss = report.loss;
        result_.norm = report.gradient_norm;
        volta_tensor_release(input);
        volta_tensor_release(targets);
    }

    void check(volta_status status) {
        if (status == VOLTA_OK || !is_ok()) return;
        result_.status = status;
        result_.text = volta_last_error();
    }

  private:
    const Subject& subject_;
    const Run run_;
    volta_context* context_ = nullptr;
    volta_group* group_ = nullptr;
    volta_model* model_ = nullptr;
    volta_trainer* trainer_ = nullptr;
    Result result_;
};

Result train_alone(const Subject& subject, const Run& run) { return Rank(subject, run, nullptr).train(); }

volta_group_options group_options(FakeTransport& transport, uint32_t rank, uint32_t size) {
    volta_group_options options = VOLTA_GROUP_OPTIONS_INIT;
    options.transport = "host";
    options.rank = rank;
    options.size = size;
    options.exchange = FakeTransport::exchange;
    options.user = transport.user(rank);
    return options;
}

std::vector<Result> train_together(const Subject& subject, uint32_t size,
                                   const std::function<Run(uint32_t)>& run, const FakeFaults& faults = {},
                                   uint64_t* calls_of_rank_0 = nullptr) {
    FakeTransport transport(size, faults);
    std::vector<Result> results(size);
    std::vector<std::thread> threads;
    for (uint32_t r = 0; r < size; ++r)
        threads.emplace_back([&, r] {
            const volta_group_options options = group_options(transport, r, size);
            Rank rank(subject, run(r), &options);
            results[r] = rank.train();
            if (!rank.is_ok()) transport.end(r);
        });
    for (std::thread& thread : threads) thread.join();
    if (calls_of_rank_0 != nullptr) *calls_of_rank_0 = transport.calls(0);
    return results;
}

// Over sockets: "local", where ranks read each other's memory, or "tcp", where what they send goes beside the
// backward pass.
std::vector<Result> train_over(const volta::test::Place& place, const Subject& subject, uint32_t size,
                               const Run& run) {
    std::vector<Result> results(size);
    std::vector<std::thread> threads;
    for (uint32_t r = 0; r < size; ++r)
        threads.emplace_back([&, r] {
            const volta_group_options options = volta::test::options_of(place, r, size, 60);
            Rank rank(subject, run, &options);
            results[r] = rank.train();
        });
    for (std::thread& thread : threads) thread.join();
    return results;
}

void expect_same(const Result& got, const Result& expected, const std::string& what) {
    if (got.status != VOLTA_OK) print_error("%s: %s\n", what.c_str(), got.text.c_str());
    assert_int_equal(got.status, VOLTA_OK);
    if (got.hash != expected.hash) print_error("%s differs\n", what.c_str());
    assert_string_equal(got.hash.c_str(), expected.hash.c_str());
    assert_true(std::memcmp(&got.loss, &expected.loss, sizeof got.loss) == 0);
    assert_true(std::memcmp(&got.norm, &expected.norm, sizeof got.norm) == 0);
}

std::string scratch(const char* name) { return "/tmp/volta_shards_" + std::to_string(getpid()) + "_" + name; }

// ---- Tests ----

void test_one_result(void**) {
    for (const Subject& subject : kSubjects) {
        const Result expected = train_alone(subject, {});
        if (expected.status != VOLTA_OK) print_error("%s\n", expected.text.c_str());
        assert_int_equal(expected.status, VOLTA_OK);
        Run two_threads;
        two_threads.threads = 2;
        expect_same(train_alone(subject, two_threads), expected, std::string(subject.name) + ", two threads");
        for (const uint32_t size : {1u, 2u, 4u})
            for (const uint32_t threads : {1u, 2u}) {
                FakeFaults faults;
                faults.seed = size * 10 + threads;
                faults.longest_delay = std::chrono::microseconds(threads == 1 ? 0 : 300);
                Run run;
                run.threads = threads;
                const auto results = train_together(
                    subject, size, [&](uint32_t) { return run; }, faults);
                for (const Result& result : results)
                    expect_same(result, expected,
                                std::string(subject.name) + ", " + std::to_string(size) + " ranks");
            }
    }
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define VOLTA_SANITIZED 1
#endif
#endif
#ifdef VOLTA_SANITIZED
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

void test_sockets(void**) {
    for (const Subject& subject : kSubjects)
        for (const uint64_t micro_batches : {kShards, 2 * kShards}) {
            // Sanitizers look for what one run of each way shows, and take their time.
            if (kIsSanitized && (&subject != &kSubjects[2] || micro_batches == kShards)) continue;
            Run run;
            run.micro_batches = micro_batches;
            const Result expected = train_alone(subject, run);
            assert_int_equal(expected.status, VOLTA_OK);
            for (const char* const transport : {"local", "tcp"})
                for (const uint32_t size : {2u, 4u}) {
                    run.threads = size == 2 ? 2 : 1;
                    const volta::test::Place place(transport);
                    for (const Result& result : train_over(place, subject, size, run))
                        expect_same(result, expected,
                                    std::string(subject.name) + " over " + transport + ", " +
                                        std::to_string(size) + " ranks");
                }
        }
}

void test_micro_batches_within_a_shard(void**) {
    Run run;
    run.micro_batches = 2 * kShards;
    const Result expected = train_alone(kSubjects[0], run);
    for (const Result& result : train_together(kSubjects[0], 2, [&](uint32_t) { return run; }))
        expect_same(result, expected, "two micro-batches a shard");
}

void test_budgets_of_activations(void**) {
    const Result expected = train_alone(kSubjects[0], {});
    Rank rank(kSubjects[0], {}, nullptr);
    rank.make_trainer();
    volta_bill bill = VOLTA_BILL_INIT;
    assert_int_equal(volta_trainer_get_bill(rank.trainer(), &bill), VOLTA_OK);
    Run run;
    run.activation_budget = bill.activations * 3 / 4;
    for (const Result& result :
         train_together(kSubjects[0], 2, [&](uint32_t r) { return r == 0 ? run : Run(); }))
        expect_same(result, expected, "less memory on one rank");
}

// What shards need beside the plan of one counts, before anything is allocated and after.
void test_budget_of_the_host(void**) {
    const Result expected = train_alone(kSubjects[0], {});
    Rank rank(kSubjects[0], {}, nullptr);
    rank.make_trainer();
    volta_bill bill = VOLTA_BILL_INIT, cut = VOLTA_BILL_INIT;
    assert_int_equal(volta_trainer_get_bill(rank.trainer(), &bill), VOLTA_OK);
    Run run;
    run.host_budget = bill.total - bill.activations / 4;
    Rank smaller(kSubjects[0], run, nullptr);
    expect_same(smaller.train(), expected, "a budget of the host");
    assert_int_equal(volta_trainer_get_bill(smaller.trainer(), &cut), VOLTA_OK);
    assert_true(cut.total <= run.host_budget && cut.activations < bill.activations);
    run.host_budget = bill.total - bill.activations;
    const Result refused = train_alone(kSubjects[0], run);
    assert_int_equal(refused.status, VOLTA_OUT_OF_MEMORY);
    const std::string left = std::to_string(run.host_budget) + " are left";
    assert_non_null(std::strstr(refused.text.c_str(), left.c_str()));
}

void test_resume_with_other_ranks(void**) {
    for (const Subject& subject : kSubjects) {
        const std::string path = scratch("checkpoint.volta");
        Run whole, first, second;
        whole.steps = 4;
        first.steps = 2;
        first.to = path;
        second.first_step = 2;
        second.steps = 2;
        second.from = path;
        const Result expected = train_alone(subject, whole);
        for (const uint32_t before : {1u, 2u, 4u}) {
            for (const Result& result : train_together(subject, before, [&](uint32_t) { return first; }))
                assert_int_equal(result.status, VOLTA_OK);
            for (const uint32_t after : {4u, 2u, 1u})
                for (const Result& result : train_together(subject, after, [&](uint32_t) { return second; }))
                    expect_same(result, expected, std::string(subject.name) + ", resumed");
            expect_same(train_alone(subject, second), expected, "resumed alone");
        }
        unlink(path.c_str());
    }
}

std::string bytes_of(const std::string& path) {
    std::string bytes;
    FILE* file = std::fopen(path.c_str(), "rb");
    assert_non_null(file);
    char part[4096];
    for (size_t got; (got = std::fread(part, 1, sizeof part, file)) > 0;) bytes.append(part, got);
    std::fclose(file);
    return bytes;
}

void test_checkpoint_is_that_of_one_process(void**) {
    Run alone, together;
    alone.to = scratch("alone.volta");
    together.to = scratch("together.volta");
    assert_int_equal(train_alone(kSubjects[0], alone).status, VOLTA_OK);
    for (const Result& result : train_together(kSubjects[0], 4, [&](uint32_t) { return together; }))
        assert_int_equal(result.status, VOLTA_OK);
    assert_true(bytes_of(alone.to) == bytes_of(together.to));
    unlink(alone.to.c_str());
    unlink(together.to.c_str());
}

// A shard's gradient is that of a step of its rows alone, but for the count that it is divided by: with as
// many targets in each, a power of two.
void test_the_tree(void**) {
    const Subject& subject = kSubjects[1];
    const char* const name = "fc.weight";
    const auto gradient_of = [&](const Run& run, const std::function<void(Rank&)>& step) {
        Rank rank(subject, run, nullptr);
        rank.make_trainer();
        step(rank);
        assert_int_equal(rank.result().status, VOLTA_OK);
        const float* data = nullptr;
        size_t elements = 0;
        const volta_status status = volta_trainer_gradient(rank.trainer(), name, &data, &elements);
        if (status != VOLTA_OK) print_error("%s\n", volta_last_error());
        assert_int_equal(status, VOLTA_OK);
        return std::vector<float>(data, data + elements);
    };
    const int64_t row = 3 * kSide * kSide, shard_rows = subject.shape[0];
    std::vector<float> pixels(static_cast<size_t>(kShards) * static_cast<size_t>(shard_rows * row));
    std::vector<int32_t> labels(static_cast<size_t>(kShards) * static_cast<size_t>(shard_rows));
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i * 37 % 251) / 125.0f - 1;
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>(i * 3 % 10);
    const auto step_on = [&](Rank& rank, size_t first, int64_t rows) {
        const int64_t shape[] = {rows, 3, kSide, kSide};
        volta_tensor *input = nullptr, *targets = nullptr;
        rank.check(volta_tensor_wrap(rank.context(), VOLTA_F32, shape, 4,
                                     &pixels[first * static_cast<size_t>(row)], &input));
        rank.check(volta_tensor_wrap(rank.context(), VOLTA_I32, shape, 1, &labels[first], &targets));
        const volta_tensor* const inputs[] = {input};
        rank.check(volta_trainer_step(rank.trainer(), inputs, 1, targets, nullptr));
        volta_tensor_release(input);
        volta_tensor_release(targets);
    };
    Run one;
    one.shards = one.micro_batches = 1;
    std::vector<std::vector<float>> parts;
    for (size_t s = 0; s < kShards; ++s)
        parts.push_back(gradient_of(
            one, [&](Rank& rank) { step_on(rank, s * static_cast<size_t>(shard_rows), shard_rows); }));
    const auto sum =
        gradient_of({}, [&](Rank& rank) { step_on(rank, 0, shard_rows * static_cast<int64_t>(kShards)); });
    for (size_t i = 0; i < sum.size(); ++i) {
        const float expected = ((parts[0][i] + parts[1][i]) + (parts[2][i] + parts[3][i])) / 4;
        assert_true(std::memcmp(&sum[i], &expected, sizeof expected) == 0);
    }
}

// The same rows meet the same random numbers, in shards or not.
void test_dropout_is_of_the_row(void**) {
    Run whole;
    whole.shards = 1;
    whole.steps = 1;
    Run in_shards;
    in_shards.steps = 1;
    const Result a = train_alone(kSubjects[0], whole), b = train_alone(kSubjects[0], in_shards);
    assert_true(std::fabs(a.loss - b.loss) <= 1e-6f * std::fabs(a.loss));
    assert_true(std::fabs(a.norm - b.norm) <= 1e-5f * std::fabs(a.norm));
}

void test_rows_of_a_rank(void**) {
    FakeTransport transport(2);
    std::vector<std::thread> threads;
    std::vector<uint64_t> first(2), count(2);
    for (uint32_t r = 0; r < 2; ++r)
        threads.emplace_back([&, r] {
            const volta_group_options options = group_options(transport, r, 2);
            Rank rank(kSubjects[0], {}, &options);
            rank.make_trainer();
            volta_trainer_rows(rank.trainer(), &first[r], &count[r]);
        });
    for (std::thread& thread : threads) thread.join();
    assert_int_equal(first[0], 0);
    assert_int_equal(first[1], 4);
    assert_int_equal(count[0], 4);
    assert_int_equal(count[1], 4);
}

// A gradient is with the rank that updates its parameter; the others say which that is.
void test_gradients_are_with_their_owners(void**) {
    FakeTransport transport(2);
    std::vector<std::thread> threads;
    std::vector<volta_status> found(2);
    std::vector<std::string> texts(2);
    for (uint32_t r = 0; r < 2; ++r)
        threads.emplace_back([&, r] {
            const volta_group_options options = group_options(transport, r, 2);
            Rank rank(kSubjects[0], {}, &options);
            rank.make_trainer();
            rank.make_step(0);
            const float* data = nullptr;
            std::size_t elements = 0;
            found[r] = volta_trainer_gradient(rank.trainer(), "token_embedding", &data, &elements);
            texts[r] = volta_last_error();
            if (!rank.is_ok()) transport.end(r);
        });
    for (std::thread& thread : threads) thread.join();
    const uint32_t owner = found[0] == VOLTA_OK ? 0 : 1;
    assert_int_equal(found[owner], VOLTA_OK);
    assert_int_equal(found[1 - owner], VOLTA_INVALID_STATE);
    const std::string sentence =
        "the gradient of token_embedding is on rank " + std::to_string(owner) + ", which updates it";
    assert_string_equal(texts[1 - owner].c_str(), sentence.c_str());
}

// y = w x + b on points of which one of the second shard has a finite loss and a gradient whose square is
// none.
void test_a_gradient_that_is_not_finite_is_named(void**) {
    volta_context* context = nullptr;
    volta_graph* graph = nullptr;
    volta_model* model = nullptr;
    volta_trainer* trainer = nullptr;
    volta_tensor *points = nullptr, *targets = nullptr;
    const int64_t shape[] = {2, 1}, whole[] = {4, 1};
    float x[4] = {1, 2, 3e18f, 4}, y[4] = {2, 3, 5, 7};
    volta_value in, out;
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    options.loss = VOLTA_LOSS_MSE;
    options.shards = options.micro_batches = 2;
    assert_int_equal(volta_context_create(nullptr, &context), VOLTA_OK);
    assert_int_equal(volta_graph_create(context, &graph), VOLTA_OK);
    assert_int_equal(volta_graph_input(graph, "x", VOLTA_F32, shape, 2, &in), VOLTA_OK);
    assert_int_equal(volta_graph_linear(graph, "line", in, 1, &out), VOLTA_OK);
    assert_int_equal(volta_graph_output(graph, "y", out), VOLTA_OK);
    assert_int_equal(volta_model_create(graph, 1, &model), VOLTA_OK);
    assert_int_equal(volta_trainer_create(model, &options, &trainer), VOLTA_OK);
    assert_int_equal(volta_tensor_wrap(context, VOLTA_F32, whole, 2, x, &points), VOLTA_OK);
    assert_int_equal(volta_tensor_wrap(context, VOLTA_F32, whole, 2, y, &targets), VOLTA_OK);
    const volta_tensor* const inputs[] = {points};
    assert_int_equal(volta_trainer_step(trainer, inputs, 1, targets, nullptr), VOLTA_NOT_FINITE);
    assert_string_equal(volta_last_error(),
                        "step 1: the gradient of line.weight has a sum of squares that is not finite");
    x[2] = 3;
    assert_int_equal(volta_trainer_step(trainer, inputs, 1, targets, nullptr), VOLTA_OK);
    volta_tensor_release(points);
    volta_tensor_release(targets);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_graph_release(graph);
    volta_context_release(context);
}

// Asked to end between two shards, a step has not been made, and is made by the next call.
void test_stop_between_shards(void**) {
    Run run;
    run.steps = 1;
    const Result expected = train_alone(kSubjects[0], run);
    Rank rank(kSubjects[0], run, nullptr);
    rank.make_trainer();
    volta_stop_options stop = VOLTA_STOP_OPTIONS_INIT;
    int32_t asked = 0;
    stop.user = &asked;
    stop.should_stop = [](void* times) -> int32_t { return ++*static_cast<int32_t*>(times) == 3; };
    assert_int_equal(volta_context_set_stop(rank.context(), &stop), VOLTA_OK);
    rank.make_step(0);
    assert_int_equal(rank.result().status, VOLTA_CANCELLED);
    assert_non_null(std::strstr(rank.result().text.c_str(), "stopped before micro-batch "));
    assert_int_equal(volta_trainer_current_step(rank.trainer()), 0);
    rank.result() = {};
    rank.make_step(0);
    assert_true(rank.is_ok());
    char hash[33] = "";
    assert_int_equal(volta_trainer_hash(rank.trainer(), hash), VOLTA_OK);
    assert_string_equal(hash, expected.hash.c_str());
}

// A rank whose host does not compute: it says so, the others wait for it no longer than it lives.
struct LazyHost {
    int calls = 0, from = 0;  // from: the first call that computes nothing; 0: all compute
};
void lazy_parallel_for(void* user, uint32_t count, volta_part part, void* part_user) {
    LazyHost& host = *static_cast<LazyHost*>(user);
    if (++host.calls >= host.from && host.from > 0) return;
    for (uint32_t i = 0; i < count; ++i) part(part_user, i);
}

void test_a_rank_that_cannot_compute(void**) {
    FakeTransport transport(2);
    LazyHost hosts[2];
    std::vector<Result> results(2);
    std::vector<std::thread> threads;
    for (uint32_t r = 0; r < 2; ++r)
        threads.emplace_back([&, r] {
            const volta_group_options options = group_options(transport, r, 2);
            Run run;
            run.threads = 2;
            run.parallel_for = lazy_parallel_for;
            run.parallel_user = &hosts[r];
            Rank rank(kSubjects[2], run, &options);
            rank.make_trainer();
            rank.make_step(0);
            if (r == 1) hosts[r].from = hosts[r].calls + 1;
            rank.make_step(1);
            results[r] = rank.result();
            if (!rank.is_ok()) transport.end(r);
        });
    for (std::thread& thread : threads) thread.join();
    assert_true(hosts[1].from > 1);
    assert_int_not_equal(results[1].status, VOLTA_OK);
    assert_non_null(std::strstr(results[1].text.c_str(), "the host's parallel_for returned without "));
    assert_int_equal(results[0].status, VOLTA_IO_ERROR);
    assert_non_null(std::strstr(results[0].text.c_str(), "rank 1 has ended"));
}

// Where what ranks send goes beside the backward pass, a profile has it on a lane of its own.
void test_a_profile_has_what_is_sent(void**) {
    const volta::test::Place place("tcp");
    std::vector<Result> results(2);
    std::vector<std::thread> threads;
    std::vector<int> sent(2), lane(2);
    for (uint32_t r = 0; r < 2; ++r)
        threads.emplace_back([&, r] {
            const volta_group_options options = volta::test::options_of(place, r, 2, 60);
            Rank rank(kSubjects[2], {}, &options);
            rank.make_trainer();
            rank.make_step(0);
            rank.check(volta_profile_start(rank.context(), nullptr));
            rank.make_step(1);
            rank.check(volta_profile_stop(rank.context()));
            volta_profile_info info = {};
            info.struct_size = sizeof info;
            rank.check(volta_profile_get_info(rank.context(), &info));
            for (size_t i = 0; i < info.event_count; ++i) {
                volta_profile_event event = {};
                event.struct_size = sizeof event;
                rank.check(volta_profile_get_event(rank.context(), i, &event));
                if (event.name == nullptr || std::strcmp(event.name, "send") != 0) continue;
                ++sent[r];
                lane[r] = static_cast<int>(event.thread);
                if (event.begin_ns > event.end_ns || event.end_ns > info.duration_ns) lane[r] = -1;
            }
            results[r] = rank.result();
        });
    for (std::thread& thread : threads) thread.join();
    for (uint32_t r = 0; r < 2; ++r) {
        assert_string_equal(results[r].text.c_str(), "");
        assert_int_equal(sent[r], 1);
        assert_int_equal(lane[r], 1);  // behind the only thread
    }
}

// Memory that cannot be shared is said, and what ranks would read of each other is sent.
void test_ranks_that_cannot_share(void**) {
    Run run;
    run.steps = 1;
    const Result expected = train_alone(kSubjects[0], run);
    signal(SIGXFSZ, SIG_IGN);
    rlimit unlimited;
    getrlimit(RLIMIT_FSIZE, &unlimited);
    const volta::test::Place place("local");
    std::vector<Result> results(2);
    std::vector<std::string> logs(2);
    std::vector<std::thread> threads;
    std::atomic<int> ready{0};
    for (uint32_t r = 0; r < 2; ++r)
        threads.emplace_back([&, r] {
            const volta_group_options options = volta::test::options_of(place, r, 2, 60);
            Run own = run;
            own.log = [](void* log, volta_log_level level, const char* line) {
                if (level == VOLTA_LOG_WARNING) static_cast<std::string*>(log)->append(line);
            };
            own.log_user = &logs[r];
            Rank rank(kSubjects[0], own, &options);
            rank.make_model();
            ++ready;
            while (ready < 2) std::this_thread::yield();
            if (r == 0) {  // of a file's size: that of the memory they would share is one
                const rlimit small = {4096, unlimited.rlim_max};
                setrlimit(RLIMIT_FSIZE, &small);
            }
            ++ready;
            while (ready < 4) std::this_thread::yield();
            results[r] = rank.train();
        });
    for (std::thread& thread : threads) thread.join();
    setrlimit(RLIMIT_FSIZE, &unlimited);
    for (uint32_t r = 0; r < 2; ++r) {
        expect_same(results[r], expected, "ranks that cannot share");
        assert_non_null(std::strstr(logs[r].c_str(), "the ranks cannot share "));
        assert_non_null(
            std::strstr(logs[r].c_str(), " bytes of memory each: what they would read of each other"));
    }
}

struct CountingHeap {
    uint64_t count = 0;
    size_t tensor_bytes = 0;
};
void* counting_allocate(void* user, size_t size, size_t alignment, volta_memory_kind kind) {
    CountingHeap& heap = *static_cast<CountingHeap*>(user);
    ++heap.count;
    if (kind == VOLTA_MEMORY_TENSOR) heap.tensor_bytes += size;
    void* memory = nullptr;
    return posix_memalign(&memory, alignment < sizeof(void*) ? sizeof(void*) : alignment, size) == 0
               ? memory
               : nullptr;
}
void counting_release(void* user, void* pointer, size_t size, size_t, volta_memory_kind kind) {
    if (kind == VOLTA_MEMORY_TENSOR) static_cast<CountingHeap*>(user)->tensor_bytes -= size;
    free(pointer);
}

// Neither alone nor with others does a step allocate, and the bill is what is allocated.
void test_memory(void**) {
    for (const uint32_t size : {1u, 2u, 4u}) {
        FakeTransport transport(size);
        std::vector<uint64_t> allocated(size), billed(size), held(size);
        std::vector<std::thread> threads;
        for (uint32_t r = 0; r < size; ++r)
            threads.emplace_back([&, r] {
                CountingHeap heap;
                const volta_allocator allocator = {counting_allocate, counting_release, &heap};
                Run run;
                run.allocator = &allocator;
                const volta_group_options options = group_options(transport, r, size);
                Rank rank(kSubjects[0], run, &options);
                rank.make_model();
                const size_t before = heap.tensor_bytes;
                rank.make_trainer();
                volta_bill bill = VOLTA_BILL_INIT;
                rank.check(volta_trainer_get_bill(rank.trainer(), &bill));
                billed[r] = bill.total;
                const int64_t shape[] = {kRows * static_cast<int64_t>(kShards), kTime};
                std::vector<int32_t> tokens(static_cast<size_t>(shape[0] * kTime), 5);
                volta_tensor* tensor = nullptr;
                rank.check(volta_tensor_wrap(rank.context(), VOLTA_I32, shape, 2, tokens.data(), &tensor));
                const volta_tensor* const inputs[] = {tensor};
                uint64_t count = 0;
                for (int step = 0; step < 3; ++step) {
                    count = heap.count;
                    rank.check(volta_trainer_step(rank.trainer(), inputs, 1, tensor, nullptr));
                }
                allocated[r] = heap.count - count;
                held[r] = heap.tensor_bytes - before;
                if (!rank.is_ok()) transport.end(r);
                volta_tensor_release(tensor);
            });
        for (std::thread& thread : threads) thread.join();
        assert_string_equal(transport.ended().c_str(), "");
        for (uint32_t r = 0; r < size; ++r) {
            assert_int_equal(allocated[r], 0);
            assert_int_equal(held[r], billed[r]);
        }
    }
}

// Gradients, and the parameters that a rank owns, are not the host's where ranks share them; a step allocates
// nothing there either, nor where it sends. What is estimated is what is billed, of the rank.
void test_memory_over_sockets(void**) {
    for (const char* const transport : {"local", "tcp"}) {
        const volta::test::Place place(transport);
        std::vector<std::thread> threads;
        std::vector<volta_bill> bills(2), estimates(2);
        std::vector<uint64_t> held(2), allocated(2);
        std::vector<Result> results(2);
        std::vector<volta_step_report> reports(2);
        for (uint32_t r = 0; r < 2; ++r)
            threads.emplace_back([&, r] {
                CountingHeap heap;
                const volta_allocator allocator = {counting_allocate, counting_release, &heap};
                Run run;
                run.allocator = &allocator;
                const volta_group_options options = volta::test::options_of(place, r, 2, 60);
                Rank rank(kSubjects[2], run, &options);
                rank.make_model();
                const size_t before = heap.tensor_bytes;
                const volta_trainer_options wanted = rank.options();
                estimates[r] = bills[r] = VOLTA_BILL_INIT;
                reports[r] = VOLTA_STEP_REPORT_INIT;
                rank.check(volta_trainer_estimate(rank.model(), &wanted, nullptr, &estimates[r], nullptr));
                rank.make_trainer();
                rank.check(volta_trainer_get_bill(rank.trainer(), &bills[r]));
                for (int step = 0; step < 3; ++step) {
                    const int64_t shape[] = {kRows * static_cast<int64_t>(kShards), kTime};
                    std::vector<int32_t> tokens(static_cast<size_t>(shape[0] * kTime), 5);
                    volta_tensor* tensor = nullptr;
                    rank.check(
                        volta_tensor_wrap(rank.context(), VOLTA_I32, shape, 2, tokens.data(), &tensor));
                    const volta_tensor* const inputs[] = {tensor};
                    const uint64_t count = heap.count;
                    rank.check(volta_trainer_step(rank.trainer(), inputs, 1, tensor, &reports[r]));
                    allocated[r] = heap.count - count;
                    volta_tensor_release(tensor);
                }
                held[r] = heap.tensor_bytes - before;
                results[r] = rank.result();
            });
        for (std::thread& thread : threads) thread.join();
        const bool is_local = std::strcmp(transport, "local") == 0;
        uint64_t shared = 0;  // of both
        for (uint32_t r = 0; r < 2; ++r) {
            if (results[r].status != VOLTA_OK) print_error("%s\n", results[r].text.c_str());
            assert_int_equal(results[r].status, VOLTA_OK);
            assert_int_equal(allocated[r], 0);
            assert_true(std::memcmp(&bills[r], &estimates[r], sizeof bills[r]) == 0);
            assert_true(held[r] <= bills[r].total);
            shared += bills[r].total - held[r];
            assert_true(reports[r].wait_seconds > 0 && reports[r].exchange_seconds > 0);
            assert_true(reports[r].wait_seconds + reports[r].exchange_seconds < 60);
        }
        // Each rank's sums of its two shards, with that of the loss, and each parameter once.
        const uint64_t sums = bills[0].gradients / 2, loss = 64;
        assert_int_equal(shared, is_local ? 2 * sums + (sums - loss) : 0);
    }
}

void test_ranks_that_differ(void**) {
    const auto results = train_together(kSubjects[0], 2, [](uint32_t rank) {
        Run run;
        run.clip_norm = rank == 1 ? 2 : 1;
        return run;
    });
    for (const Result& result : results) {
        assert_int_equal(result.status, VOLTA_INVALID_ARGUMENT);
        assert_memory_equal(result.text.c_str(), "rank 1 has other options of the trainer than rank 0", 51);
    }
}

// One rank is asked to end: all do, before the same step, and go on where they are.
void test_stop(void**) {
    const Result expected = train_alone(kSubjects[0], {});
    FakeTransport transport(2);
    std::vector<Result> results(2);
    std::vector<std::string> texts(2);
    std::vector<std::thread> threads;
    for (uint32_t r = 0; r < 2; ++r)
        threads.emplace_back([&, r] {
            const volta_group_options options = group_options(transport, r, 2);
            Rank rank(kSubjects[0], {}, &options);
            rank.make_trainer();
            rank.make_step(0);
            volta_stop_options stop = VOLTA_STOP_OPTIONS_INIT;
            int32_t asked = 0;
            stop.user = &asked;
            stop.should_stop = [](void* times) -> int32_t { return ++*static_cast<int32_t*>(times) == 1; };
            if (r == 1) rank.check(volta_context_set_stop(rank.context(), &stop));
            rank.make_step(1);
            texts[r] = rank.result().text;
            results[r].status = rank.result().status;
            if (results[r].status == VOLTA_CANCELLED) rank.result() = {};
            for (int step = 1; step < kSteps; ++step) rank.make_step(step);
            char hash[33] = "";
            rank.check(volta_trainer_hash(rank.trainer(), hash));
            results[r].hash = hash;
            if (!rank.is_ok()) transport.end(r);
        });
    for (std::thread& thread : threads) thread.join();
    for (const Result& result : results) {
        assert_int_equal(result.status, VOLTA_CANCELLED);
        assert_string_equal(result.hash.c_str(), expected.hash.c_str());
    }
    assert_string_equal(texts[0].c_str(), "stopped before the step: rank 1 was asked to");
}

void test_more_ranks_than_shards(void**) {
    Run run;
    run.shards = 2;
    for (const Result& result : train_together(kSubjects[0], 4, [&](uint32_t) { return run; })) {
        assert_int_equal(result.status, VOLTA_INVALID_ARGUMENT);
        assert_string_equal(result.text.c_str(),
                            "shards is 2, the group has 4 ranks: each computes one shard at least");
    }
}

void test_options(void**) {
    const auto sentence = [](uint64_t shards, uint64_t micro_batches) {
        Run run;
        run.shards = shards;
        run.micro_batches = micro_batches;
        Rank rank(kSubjects[0], run, nullptr);
        rank.make_trainer();
        return rank.result().text;
    };
    assert_string_equal(sentence(3, 3).c_str(), "shards is 3, it must be a power of two up to 1024");
    assert_string_equal(sentence(2048, 2048).c_str(), "shards is 2048, it must be a power of two up to 1024");
    assert_string_equal(sentence(4, 6).c_str(),
                        "micro_batches is 6, it must be a multiple of shards, which is 4");
}

// A rank that ends, wherever it is in a step, ends all, and each says who it was.
void test_a_rank_ends(void**) {
    for (uint64_t call = 0; call < 60; call += 7) {
        FakeFaults faults;
        faults.kill = {2, call};
        const auto results = train_together(
            kSubjects[0], 4, [](uint32_t) { return Run(); }, faults);
        for (const Result& result : results) {
            if (result.status == VOLTA_OK) continue;  // the run was shorter than that
            assert_int_equal(result.status, VOLTA_IO_ERROR);
            assert_non_null(std::strstr(result.text.c_str(), "rank 2 has ended"));
        }
    }
}

// ---- Ranks that are killed at random calls

uint64_t kills_wanted = 20, kill_seed = 1;

uint64_t steps_saved(const std::string& path) {  // 0: there is no checkpoint
    if (access(path.c_str(), F_OK) != 0) return 0;
    Run run;
    run.from = path;
    Rank rank(kSubjects[0], run, nullptr);
    rank.make_trainer();
    if (!rank.is_ok()) print_error("the checkpoint: %s\n", rank.result().text.c_str());
    assert_true(rank.is_ok());
    return volta_trainer_current_step(rank.trainer());
}

// Goes on from the checkpoint, with `size` ranks of which `kill` ends one. Whether the run is over, with the
// bits that are expected; else all have named the rank.
bool goes_on(const Run& whole, uint32_t size, const FakeFaults& faults, const Result& expected) {
    Run run = whole;
    run.first_step = static_cast<int>(steps_saved(run.to));
    run.steps -= run.first_step;
    if (run.first_step > 0) run.from = run.to;
    const auto results = train_together(
        kSubjects[0], size, [&](uint32_t) { return run; }, faults);
    const std::string sentence = "rank " + std::to_string(faults.kill.rank) + " has ended";
    bool is_over = true;
    for (const Result& result : results) is_over &= result.status == VOLTA_OK;
    for (const Result& result : results) {
        if (is_over) {
            assert_string_equal(result.hash.c_str(), expected.hash.c_str());
        } else if (result.status != VOLTA_OK) {  // one that has all it wanted ends well
            assert_int_equal(result.status, VOLTA_IO_ERROR);
            assert_non_null(std::strstr(result.text.c_str(), sentence.c_str()));
        }
    }
    return is_over;
}

void test_killed_ranks_cost_no_bit(void**) {
    Run whole;
    whole.steps = 4;
    whole.to = scratch("killed.volta");
    whole.saves_each_step = true;
    const Result expected = train_alone(kSubjects[0], whole);
    uint64_t calls = 0;
    train_together(
        kSubjects[0], 2, [&](uint32_t) { return whole; }, {}, &calls);
    std::mt19937_64 random(kill_seed);
    uint64_t kills = 0, runs = 0;
    for (bool is_over = true; kills < kills_wanted || !is_over; kills += !is_over) {
        if (is_over) unlink(whole.to.c_str());
        runs += is_over;
        const uint32_t size = 2u << random() % 2;
        FakeFaults faults;
        faults.seed = static_cast<uint32_t>(random());
        faults.longest_delay = std::chrono::microseconds(random() % 3 == 0 ? 200 : 0);
        faults.kill = {static_cast<uint32_t>(random() % size), random() % calls};
        is_over = goes_on(whole, size, faults, expected);
    }
    unlink(whole.to.c_str());
    std::printf("%llu ranks killed in %llu runs, seed %llu, %s\n", static_cast<unsigned long long>(kills),
                static_cast<unsigned long long>(runs), static_cast<unsigned long long>(kill_seed),
                expected.hash.c_str());
}

}  // namespace

int main(int count, char** arguments) {
    if (count > 1 && std::strcmp(arguments[1], "kills") == 0) {
        if (count > 2) kills_wanted = std::strtoull(arguments[2], nullptr, 10);
        if (count > 3) kill_seed = std::strtoull(arguments[3], nullptr, 10);
        const CMUnitTest kills[] = {cmocka_unit_test(test_killed_ranks_cost_no_bit)};
        return cmocka_run_group_tests(kills, nullptr, nullptr);
    }
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_one_result),
        cmocka_unit_test(test_sockets),
        cmocka_unit_test(test_micro_batches_within_a_shard),
        cmocka_unit_test(test_budgets_of_activations),
        cmocka_unit_test(test_budget_of_the_host),
        cmocka_unit_test(test_resume_with_other_ranks),
        cmocka_unit_test(test_checkpoint_is_that_of_one_process),
        cmocka_unit_test(test_the_tree),
        cmocka_unit_test(test_dropout_is_of_the_row),
        cmocka_unit_test(test_rows_of_a_rank),
        cmocka_unit_test(test_gradients_are_with_their_owners),
        cmocka_unit_test(test_a_gradient_that_is_not_finite_is_named),
        cmocka_unit_test(test_stop_between_shards),
        cmocka_unit_test(test_a_rank_that_cannot_compute),
        cmocka_unit_test(test_a_profile_has_what_is_sent),
        cmocka_unit_test(test_ranks_that_cannot_share),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_memory_over_sockets),
        cmocka_unit_test(test_ranks_that_differ),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_more_ranks_than_shards),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_a_rank_ends),
        cmocka_unit_test(test_killed_ranks_cost_no_bit),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
