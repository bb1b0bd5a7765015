// Tuning through volta.h on a device: what it reports and keeps, that nothing but speed follows from it, and
// what it refuses. On the fakes, whose clock says nothing about speed.
#include <dirent.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cuda/device_in_use.h"

namespace {
using namespace volta::test;

using OwnedSession = Owned<volta_session, volta_session_release>;

// A folder for results, gone with this.
struct Folder {
    char path[32] = "/tmp/volta_tuning_XXXXXX";
    Folder() { assert_non_null(mkdtemp(path)); }
    ~Folder() { std::filesystem::remove_all(path); }
    // The files of results, of which locks are none.
    std::vector<std::string> files() const {
        std::vector<std::string> found;
        for (const auto& entry : std::filesystem::directory_iterator(path))
            if (entry.path().extension() == ".json") found.push_back(entry.path().string());
        return found;
    }
};

std::string content_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

struct Logged {
    std::string lines;
};

volta_status make_tuned_context(OwnedContext& context, const char* folder, volta_level level = VOLTA_STRICT,
                                Logged* log = nullptr, std::uint64_t budget = kBudget) {
    volta_context_options options = {};
    options.struct_size = sizeof options;
    options.device = "cuda";
    options.device_budget = budget;
    options.kernel_folder = kernels;
    options.thread_count = 1;
    options.level = level;
    options.tuning_folder = folder;
    if (log != nullptr) {
        options.log_user = log;
        options.log = [](void* user, volta_log_level, const char* line) {
            static_cast<Logged*>(user)->lines += std::string(line) + "\n";
        };
    }
    return volta_context_create(&options, &context.object);
}

// What was reported; `stop_after` products it says stop, 0: never.
struct Witness {
    std::size_t done = 0, count = 0, stop_after = 0;
    double share = 0;
    bool is_sound = true;
    static std::int32_t watch(void* user, const volta_tune_report* report) {
        Witness& seen = *static_cast<Witness*>(user);
        seen.count = report->count;
        seen.is_sound &= report->share >= seen.share && report->share <= 1;
        seen.share = report->share;
        if (report->done != 0) {
            ++seen.done;
            seen.is_sound &= report->default_seconds > 0 && report->tuned_seconds > 0 &&
                             report->tuned_seconds <= report->default_seconds &&
                             report->classic_seconds > 0 && report->plans_timed >= 1 && report->shape.lda > 0;
        }
        return seen.stop_after > 0 && seen.done >= seen.stop_after;
    }
};

constexpr volta_tune_shape kShapes[] = {{5, 70, 600, 0, 0, 0, 0, 0},
                                        {33, 40, 520, 1, 0, 0, 0, 0},
                                        {40, 33, 64, 0, 1, 0, 68, 0},
                                        {5, 70, 600, 0, 0, 0, 0, 0}};  // the first one again

volta_tune_options quick(Witness& witness) {
    volta_tune_options options = {};
    options.struct_size = sizeof options;
    options.shapes = kShapes;
    options.shape_count = std::size(kShapes);
    options.runs = 1;
    options.seconds = 0.1;
    options.progress = Witness::watch;
    options.user = &witness;
    return options;
}

volta_status make_session(const OwnedModel& model, OwnedSession& session) {
    const std::int64_t shape[] = {1, kContext};
    volta_session_options options = {};
    options.struct_size = sizeof options;
    options.input_shapes = shape;
    options.input_extent_count = 2;
    return volta_session_create(model.object, &options, &session.object);
}

// The hash after three steps, and the plan.
struct Trained {
    std::string hash, plan;
};
Trained train(const OwnedModel& model) {
    OwnedTrainer trainer;
    assert_true(ok(make_trainer(model, trainer)) && ok(give_tokens(trainer)));
    for (int i = 0; i < 3; ++i) assert_true(ok(volta_trainer_step_tokens(trainer.object, nullptr)));
    char hash[33] = "";
    const char* plan = "";
    assert_true(ok(volta_trainer_hash(trainer.object, hash)) &&
                ok(volta_trainer_print_plan(trainer.object, &plan)));
    return {hash, plan};
}

int count_of(const std::string& text, const std::string& part) {
    int count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

void test_shapes(void**) {
    {
        const Folder folder;
        OwnedContext context;
        Witness witness;
        assert_true(ok(make_tuned_context(context, folder.path)));
        const volta_tune_options options = quick(witness);
        assert_true(ok(volta_tune(context.object, &options)));
        assert_int_equal(witness.done, 3);
        assert_int_equal(witness.count, 3);
        assert_true(witness.is_sound && witness.share == 1);
        assert_int_equal(folder.files().size(), 1);
        const std::string file = folder.files().front();
        assert_true(file.find("-sm_") != std::string::npos && file.find("-contract_1") != std::string::npos);
        assert_int_equal(count_of(content_of(file), "\"m\":"), 3);
    }
    assert_true(nothing_is_left());
}

// A session and a trainer are tuned, and what is made afterwards has the bits of what was made before, and of
// every way that a file could name.
void test_a_model(void**) {
    {
        const Folder folder;
        Trained before, after;
        {
            OwnedContext context;
            OwnedModel model;
            OwnedSession session;
            OwnedTrainer trainer;
            assert_true(ok(make_tuned_context(context, folder.path)) && ok(make_model(context, model)));
            before = train(model);
            assert_true(ok(make_session(model, session)) && ok(make_trainer(model, trainer)));
            Witness witness;
            volta_tune_options options = quick(witness);
            options.shape_count = 0;
            options.session = session.object;
            options.trainer = trainer.object;
            assert_true(ok(volta_tune(context.object, &options)));
            assert_true(witness.done > 8 && witness.is_sound);
            after = train(model);
        }
        assert_string_equal(after.hash.c_str(), before.hash.c_str());
        const std::string file = folder.files().front(), found = content_of(file);
        for (const char* tile : {"64", "128"}) {
            std::string forced;
            for (std::size_t at = 0, next; at < found.size(); at = next) {
                const std::size_t begin = found.find("\"choice\":\"", at);
                next = begin == std::string::npos ? found.size() : found.find('"', begin + 10) + 1;
                forced += found.substr(at, std::min(begin, found.size()) - at);
                if (begin != std::string::npos)
                    forced += std::string("\"choice\":\"form=tiles tile=") + tile + '"';
            }
            std::ofstream(file) << forced;
            OwnedContext context;
            OwnedModel model;
            assert_true(ok(make_tuned_context(context, folder.path)) && ok(make_model(context, model)));
            const Trained there = train(model);
            assert_string_equal(there.hash.c_str(), before.hash.c_str());
            const int chosen = count_of(there.plan, std::string("cuda product tiles ") + tile);
            const int others = count_of(there.plan, "cuda product ") - chosen;
            assert_true(chosen > 8);
            assert_int_equal(others, 0);
        }
    }
    assert_true(nothing_is_left());
}

void test_damaged_file(void**) {
    const Folder folder;
    {
        OwnedContext context;
        Witness witness;
        assert_true(ok(make_tuned_context(context, folder.path)));
        const volta_tune_options options = quick(witness);
        assert_true(ok(volta_tune(context.object, &options)));
    }
    std::ofstream(folder.files().front()) << "{}";
    OwnedContext context;
    Logged log;
    assert_true(ok(make_tuned_context(context, folder.path, VOLTA_STRICT, &log)));
    assert_true(log.lines.find("is ignored: it is damaged") != std::string::npos);
}

void test_cancelled(void**) {
    {
        const Folder folder;
        OwnedContext context;
        Witness witness;
        witness.stop_after = 1;
        assert_true(ok(make_tuned_context(context, folder.path)));
        const volta_tune_options options = quick(witness);
        assert_int_equal(volta_tune(context.object, &options), VOLTA_CANCELLED);
        assert_string_equal(volta_last_error(), "tuning was cancelled after 1 of 3 products");
        assert_int_equal(count_of(content_of(folder.files().front()), "\"m\":"), 1);
    }
    assert_true(nothing_is_left());
}

// A folder that cannot be is found out before anything is timed, and what does not fit leaves nothing behind.
void test_refusals(void**) {
    {
        Witness witness;
        const volta_tune_options options = quick(witness);
        OwnedContext nowhere, small, context;
        assert_true(ok(make_tuned_context(nowhere, "/dev/null/below")));
        assert_int_equal(volta_tune(nowhere.object, &options), VOLTA_IO_ERROR);
        assert_int_equal(witness.done, 0);
        assert_true(ok(make_tuned_context(small, nullptr, VOLTA_STRICT, nullptr, 4096)));
        const auto held = fake_counts().bytes;
        assert_int_equal(volta_tune(small.object, &options), VOLTA_OUT_OF_MEMORY);
        assert_non_null(std::strstr(volta_last_error(), "CUDA: tuning needs "));
        assert_true(fake_counts().bytes <= held + 4096);
        assert_int_equal(witness.done, 0);
    }
    assert_true(nothing_is_left());
}

// Products of cuBLASLt are its own; those that wait for B are ours at every level.
void test_levels(void**) {
    {
        OwnedContext context;
        Witness witness;
        assert_true(ok(make_tuned_context(context, nullptr, VOLTA_REPEATABLE)));
        volta_tune_options options = quick(witness);
        assert_int_equal(volta_tune(context.object, &options), VOLTA_UNSUPPORTED);
        assert_string_equal(volta_last_error(),
                            "shape 1: products of 33 rows are cuBLASLt's at level repeatable, and it chooses "
                            "by itself; at level strict they can be tuned");
        options.shape_count = 1;
        assert_true(ok(volta_tune(context.object, &options)));
        assert_int_equal(witness.done, 1);
    }
    assert_true(nothing_is_left());
}

// The device fails while a contender runs: one sentence, and the next call works.
void test_failure(void**) {
    {
        Witness witness;
        const volta_tune_options options = quick(witness);
        const Setting fault("VOLTA_FAKE_CUDA_FAIL", "cuGraphLaunch:4:1");
        OwnedContext context;
        assert_true(ok(make_tuned_context(context, nullptr)));
        assert_int_equal(volta_tune(context.object, &options), VOLTA_DEVICE_ERROR);
        assert_non_null(std::strstr(volta_last_error(), "cuGraphLaunch"));
        assert_true(ok(volta_tune(context.object, &options)));
    }
    assert_true(nothing_is_left());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),       cmocka_unit_test(test_a_model),
        cmocka_unit_test(test_damaged_file), cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_levels),
        cmocka_unit_test(test_failure),
    };
    return cmocka_run_group_tests(tests, make_kernels, remove_kernels);
}
