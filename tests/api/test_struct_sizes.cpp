// Every struct of volta.h that has a struct_size, with every size (tests/support/struct_sizes.h).
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/support/cmocka_cpp.h"
#include "tests/support/struct_sizes.h"
#include "volta.h"

namespace {
using namespace volta::test;

// What the structs are given to.
struct World {
    volta_context* context = nullptr;
    volta_tensor* tensor = nullptr;
    volta_graph* graph = nullptr;
    volta_model *model = nullptr, *bert = nullptr;
    volta_tokenizer* tokenizer = nullptr;
    volta_session* session = nullptr;
    volta_trainer* trainer = nullptr;
    volta_generator* generator = nullptr;
    std::string folder, weights;
} world;

const int64_t kShape[] = {1, 8};
int32_t tokens[64];

int32_t hear(void*, const char*, size_t, int32_t) { return 0; }
int32_t never(void*) { return 0; }
void in_turn(void*, uint32_t count, volta_part part, void* part_user) {
    for (uint32_t i = 0; i < count; ++i) part(part_user, i);
}
int32_t see(void*, const volta_tune_report*) { return 1; }
void line(void*, volta_log_level, const char*) {}
// Of a group of one rank, which has no peer.
volta_status alone(void*, uint32_t, const void*, size_t, void*, size_t, char*, size_t) {
    return VOLTA_IO_ERROR;
}

std::vector<Case> cases() {
    const auto nothing = [](void*) {};
    return {
        {"volta_context_options", false,
         [](void* data) {
             auto& options = *out<volta_context_options>(data);
             options.log = line;
             options.thread_count = 1;
             options.tuning_folder = options.kernel_folder = "/nonexistent";
             options.device = "cpu";
             options.parallel_for = in_turn;
         },
         [](void* data) {
             volta_context* made = nullptr;
             const volta_status status = volta_context_create(as<volta_context_options>(data), &made);
             return ended(status, made, volta_context_release);
         }},
        {"volta_stop_options", false,
         [](void* data) {
             auto& options = *out<volta_stop_options>(data);
             options.should_stop = never;
             options.max_seconds = 3600;
         },
         [](void* data) { return volta_context_set_stop(world.context, as<volta_stop_options>(data)); }},
        {"volta_context_info", true, nothing,
         [](void* data) { return volta_context_get_info(world.context, out<volta_context_info>(data)); }},
        {"volta_device_info", true, nothing,
         [](void* data) { return volta_context_get_device(world.context, out<volta_device_info>(data)); }},
        {"volta_machine_speed", true, nothing, nullptr},  // a second each: see test_machine_speed_refuses
        {"volta_comparison", true, nothing,
         [](void* data) {
             return volta_tensor_compare(world.tensor, world.tensor, 0, 0, out<volta_comparison>(data));
         }},
        {"volta_encode_options", false, nothing,
         [](void* data) {
             size_t count = 0;
             return volta_tokenizer_encode_with(world.tokenizer, as<volta_encode_options>(data), "a", 1,
                                                nullptr, 0, &count);
         }},
        {"volta_special_ids", true, nothing,
         [](void* data) { return volta_tokenizer_special(world.tokenizer, out<volta_special_ids>(data)); }},
        {"volta_gpt_options", false,
         [](void* data) {
             auto& options = *out<volta_gpt_options>(data);
             options.vocabulary = 8, options.layers = 1, options.dim = 8, options.heads = 1,
             options.context = 8;
         },
         [](void* data) {
             volta_model* made = nullptr;
             const volta_status status =
                 volta_model_create_gpt(world.context, as<volta_gpt_options>(data), 1, &made);
             return ended(status, made, volta_model_release);
         }},
        {"volta_llama_options", false,
         [](void* data) {
             auto& options = *out<volta_llama_options>(data);
             options.vocabulary = 8, options.layers = 1, options.dim = 8, options.heads = 1,
             options.context = 8;
         },
         [](void* data) {
             volta_model* made = nullptr;
             const volta_status status =
                 volta_model_create_llama(world.context, as<volta_llama_options>(data), 1, &made);
             return ended(status, made, volta_model_release);
         }},
        {"volta_bert_options", false,
         [](void* data) {
             auto& options = *out<volta_bert_options>(data);
             options.vocabulary = 8, options.layers = 1, options.dim = 8, options.heads = 1,
             options.context = 8;
         },
         [](void* data) {
             volta_model* made = nullptr;
             const volta_status status =
                 volta_model_create_bert(world.context, as<volta_bert_options>(data), 1, &made);
             return ended(status, made, volta_model_release);
         }},
        {"volta_resnet_options", false,
         [](void* data) {
             auto& options = *out<volta_resnet_options>(data);
             options.depth = 20, options.classes = 2, options.rows = 8, options.columns = 8;
         },
         [](void* data) {
             volta_model* made = nullptr;
             const volta_status status =
                 volta_model_create_resnet(world.context, as<volta_resnet_options>(data), 1, &made);
             return ended(status, made, volta_model_release);
         }},
        {"volta_network_options", false,
         [](void* data) {
             auto& options = *out<volta_network_options>(data);
             options.name = "cnn", options.classes = 2, options.rows = 8, options.columns = 8;
         },
         [](void* data) {
             volta_model* made = nullptr;
             const volta_status status =
                 volta_model_create_network(world.context, as<volta_network_options>(data), 1, &made);
             return ended(status, made, volta_model_release);
         }},
        {"volta_open_options", false, nothing,
         [](void* data) {
             volta_model* made = nullptr;
             const volta_status status = volta_model_open(world.context, (world.folder + "/m.volta").c_str(),
                                                          as<volta_open_options>(data), &made);
             return ended(status, made, volta_model_release);
         }},
        {"volta_lora_options", false,
         [](void* data) {
             auto& options = *out<volta_lora_options>(data);
             options.rank = 2, options.targets = "q+v", options.seed = 3;
         },
         [](void* data) {
             volta_model *base = nullptr, *made = nullptr;
             volta_llama_options llama = VOLTA_LLAMA_OPTIONS_INIT;
             llama.vocabulary = 8, llama.layers = 1, llama.dim = 8, llama.heads = 2, llama.context = 8;
             volta_status status = volta_model_create_llama(world.context, &llama, 1, &base);
             if (status == VOLTA_OK) status = volta_model_add_lora(base, as<volta_lora_options>(data), &made);
             volta_model_release(base);
             return ended(status, made, volta_model_release);
         }},
        {"volta_import_options", false,
         [](void* data) {
             auto& options = *out<volta_import_options>(data);
             options.tokenizer_path = options.config_path = options.key_map_path = "/nonexistent/file";
         },
         [](void* data) {
             volta_model* made = nullptr;
             const volta_status status = volta_model_import(world.context, world.weights.c_str(),
                                                            as<volta_import_options>(data), &made);
             return ended(status, made, volta_model_release);
         }},
        {"volta_export_options", false,
         [](void* data) {
             auto& options = *out<volta_export_options>(data);
             options.names = VOLTA_NAMES_HUGGING_FACE;
             options.config_path = "/nonexistent/config.json";
         },
         [](void* data) {
             return volta_model_export_safetensors_with(world.model, as<volta_export_options>(data),
                                                        (world.folder + "/e.safetensors").c_str());
         }},
        {"volta_onnx_export_options", false,
         [](void* data) {
             auto& options = *out<volta_onnx_export_options>(data);
             options.opset = 21, options.inline_bytes = 1;
         },
         [](void* data) {
             return volta_model_export_onnx(world.model, as<volta_onnx_export_options>(data),
                                            (world.folder + "/e.onnx").c_str());
         }},
        {"volta_gguf_export_options", false,
         [](void* data) {
             auto& options = *out<volta_gguf_export_options>(data);
             options.weights = VOLTA_INT8, options.no_tokenizer = 1;
         },
         [](void* data) {
             return volta_model_export_gguf(world.model, as<volta_gguf_export_options>(data),
                                            (world.folder + "/e.gguf").c_str());
         }},
        {"volta_training_cost", true, nothing,
         [](void* data) {
             volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
             options.input_shapes = kShape, options.input_extent_count = 2;
             return volta_trainer_estimate(world.model, &options, nullptr, nullptr,
                                           out<volta_training_cost>(data));
         }},
        {"volta_plan_step", true, nothing, nullptr},  // the library's, which the host reads
        {"volta_bill", true, nothing,
         [](void* data) { return volta_session_get_bill(world.session, out<volta_bill>(data)); }},
        {"volta_session_options", false,
         [](void* data) {
             auto& options = *out<volta_session_options>(data);
             options.input_shapes = kShape, options.input_extent_count = 2;
         },
         [](void* data) {
             volta_session* made = nullptr;
             const volta_status status =
                 volta_session_create(world.model, as<volta_session_options>(data), &made);
             return ended(status, made, volta_session_release);
         }},
        {"volta_group_options", false,
         [](void* data) {
             auto& options = *out<volta_group_options>(data);
             options.transport = "host";
             options.timeout = 1;
             options.exchange = alone;
         },
         [](void* data) {
             volta_group* made = nullptr;
             const volta_status status =
                 volta_group_create(world.context, as<volta_group_options>(data), &made);
             return ended(status, made, volta_group_release);
         }},
        {"volta_trainer_options", false,
         [](void* data) {
             auto& options = *out<volta_trainer_options>(data);
             options.input_shapes = kShape, options.input_extent_count = 2;
         },
         [](void* data) {
             volta_trainer* made = nullptr;
             const volta_status status =
                 volta_trainer_create(world.model, as<volta_trainer_options>(data), &made);
             return ended(status, made, volta_trainer_release);
         }},
        {"volta_step_report", true, nothing,
         [](void* data) { return volta_trainer_step_tokens(world.trainer, out<volta_step_report>(data)); }},
        {"volta_tape_options", false,
         [](void* data) { out<volta_tape_options>(data)->mode = VOLTA_TAPE_LAZY; },
         [](void* data) {
             volta_tape* made = nullptr;
             const volta_status status =
                 volta_tape_create(world.context, as<volta_tape_options>(data), &made);
             return ended(status, made, volta_tape_release);
         }},
        {"volta_optimizer_options", false, nothing,
         [](void* data) {
             volta_tape* tape = nullptr;
             volta_tensor* tensor = nullptr;
             volta_tape_optimizer* made = nullptr;
             volta_tape_create(world.context, nullptr, &tape);
             volta_tensor_create(world.context, VOLTA_F32, kShape, 2, &tensor);
             volta_tensor_set_requires_grad(tensor, 1);
             const volta_status status =
                 volta_tape_optimizer_create(tape, as<volta_optimizer_options>(data), &tensor, 1, &made);
             volta_tape_release(tape);
             volta_tensor_release(tensor);
             return ended(status, made, volta_tape_optimizer_release);
         }},
        {"volta_capture_options", false, nothing,
         [](void* data) {
             volta_tape* tape = nullptr;
             volta_tensor* tensor = nullptr;
             volta_model* made = nullptr;
             volta_tape_create(world.context, nullptr, &tape);
             volta_tensor_create(world.context, VOLTA_F32, kShape, 2, &tensor);
             volta_tensor* result = volta_tape_call(tape, "exp", &tensor, 1, nullptr, 0, nullptr, 0);
             const volta_status status =
                 volta_tape_capture(tape, &result, 1, as<volta_capture_options>(data), &made);
             volta_tape_release(tape);
             volta_tensor_release(tensor);
             return ended(status, made, volta_model_release);
         }},
        {"volta_compile_options", false, nothing,
         [](void* data) {
             volta_compiled* made = nullptr;
             const volta_status status = volta_compile(
                 world.context,
                 [](void*, volta_tape*, volta_tensor* const*, size_t, volta_tensor**, size_t) {
                     return volta_status{VOLTA_OK};
                 },
                 nullptr, as<volta_compile_options>(data), &made);
             return ended(status, made, volta_compiled_release);
         }},
        {"volta_tape_info", true, nothing,
         [](void* data) {
             volta_tape* tape = nullptr;
             volta_tape_create(world.context, nullptr, &tape);
             const volta_status status = volta_tape_get_info(tape, out<volta_tape_info>(data));
             return ended(status, tape, volta_tape_release);
         }},
        {"volta_generator_options", false, nothing,
         [](void* data) {
             volta_generator* made = nullptr;
             const volta_status status =
                 volta_generator_create(world.model, as<volta_generator_options>(data), &made);
             return ended(status, made, volta_generator_release);
         }},
        {"volta_token_cost", true, nothing,
         [](void* data) {
             return volta_generator_get_cost(world.generator, 0, out<volta_token_cost>(data));
         }},
        {"volta_sampling_options", false, nothing,
         [](void* data) {
             volta_sequence* made = nullptr;
             const volta_status status =
                 volta_sequence_create(world.generator, as<volta_sampling_options>(data), &made);
             return ended(status, made, volta_sequence_release);
         }},
        {"volta_write_options", false,
         [](void* data) {
             static const char* const texts[] = {"zz"};
             static const volta_cancel cancel = {0};
             auto& options = *out<volta_write_options>(data);
             options.max_tokens = 1;
             options.stop_tokens = tokens, options.stop_token_count = 1;
             options.stop_texts = texts, options.stop_text_count = 1;
             options.cancel = &cancel;
             options.on_text = hear;
         },
         [](void* data) {
             volta_generator_start(world.generator, tokens, 1);
             return volta_generator_write(world.generator, nullptr, world.tokenizer,
                                          as<volta_write_options>(data), nullptr);
         }},
        {"volta_write_result", true, nothing,
         [](void* data) {
             volta_write_options options = {};
             options.struct_size = sizeof options;
             options.max_tokens = 1;
             volta_generator_start(world.generator, tokens, 1);
             return volta_generator_write(world.generator, nullptr, world.tokenizer, &options,
                                          out<volta_write_result>(data));
         }},
        {"volta_tune_report", true, nothing, nullptr},  // the library's, which the host reads
        {"volta_tune_options", false,
         [](void* data) {
             static volta_tune_shape shape;
             shape.m = shape.n = shape.k = 4;
             auto& options = *out<volta_tune_options>(data);
             options.shapes = &shape, options.shape_count = 1;
             options.session = world.session, options.trainer = world.trainer;
             options.runs = 1, options.warmup = 1;
             options.seconds = 1e-6;
             options.progress = see;
         },
         [](void* data) { return volta_tune(world.context, as<volta_tune_options>(data)); }},
        {"volta_profile_options", false, [](void* data) { out<volta_profile_options>(data)->capacity = 16; },
         [](void* data) {
             const volta_status status = volta_profile_start(world.context, as<volta_profile_options>(data));
             const std::string text = volta_last_error();
             if (status == VOLTA_OK) volta_profile_stop(world.context);
             return status;
         }},
        {"volta_profile_info", true, nothing,
         [](void* data) { return volta_profile_get_info(world.context, out<volta_profile_info>(data)); }},
        {"volta_profile_operator", true, nothing,
         [](void* data) {
             return volta_profile_get_operator(world.context, 0, out<volta_profile_operator>(data));
         }},
        {"volta_profile_event", true, nothing,
         [](void* data) {
             return volta_profile_get_event(world.context, 0, out<volta_profile_event>(data));
         }},
    };
}

void record_a_profile() {
    volta_profile_options options = {};
    options.struct_size = sizeof options;
    assert_int_equal(volta_profile_start(world.context, &options), VOLTA_OK);
    assert_int_equal(volta_trainer_step_tokens(world.trainer, nullptr), VOLTA_OK);
    assert_int_equal(volta_profile_stop(world.context), VOLTA_OK);
}

int make_world(void**) {
    char folder[] = "/tmp/volta-sizes-XXXXXX";
    if (mkdtemp(folder) == nullptr) return 1;
    world.folder = folder;
    world.weights = world.folder + "/w.safetensors";
    for (size_t i = 0; i < 64; ++i) tokens[i] = static_cast<int32_t>(i * i % 251);
    volta_context_options options = {};
    options.struct_size = sizeof options;
    options.thread_count = 1;
    volta_gpt_options gpt = {};
    gpt.struct_size = sizeof gpt;
    gpt.vocabulary = 256, gpt.layers = 1, gpt.dim = 8, gpt.heads = 1, gpt.context = 8;
    volta_session_options session = {};
    session.struct_size = sizeof session;
    session.input_shapes = kShape, session.input_extent_count = 2;
    volta_trainer_options trainer = {};
    trainer.struct_size = sizeof trainer;
    trainer.input_shapes = kShape, trainer.input_extent_count = 2;
    volta_generator_options generator = {};
    generator.struct_size = sizeof generator;
    generator.sequences = 4;
    const bool made = volta_context_create(&options, &world.context) == VOLTA_OK &&
                      volta_tensor_create(world.context, VOLTA_F32, kShape, 2, &world.tensor) == VOLTA_OK &&
                      volta_model_create_gpt(world.context, &gpt, 1, &world.model) == VOLTA_OK &&
                      volta_tokenizer_create_byte(world.context, &world.tokenizer) == VOLTA_OK &&
                      volta_session_create(world.model, &session, &world.session) == VOLTA_OK &&
                      volta_trainer_create(world.model, &trainer, &world.trainer) == VOLTA_OK &&
                      volta_trainer_set_tokens(world.trainer, tokens, 64) == VOLTA_OK &&
                      volta_generator_create(world.model, &generator, &world.generator) == VOLTA_OK &&
                      volta_model_save(world.model, (world.folder + "/m.volta").c_str()) == VOLTA_OK &&
                      volta_model_export_safetensors(world.model, world.weights.c_str()) == VOLTA_OK;
    return made ? 0 : 1;
}

int end_world(void**) {
    volta_generator_release(world.generator);
    volta_trainer_release(world.trainer);
    volta_session_release(world.session);
    volta_tokenizer_release(world.tokenizer);
    volta_model_release(world.model);
    volta_tensor_release(world.tensor);
    volta_context_release(world.context);
    return system(("rm -rf " + world.folder).c_str());
}

void test_every_struct_has_a_case(void**) {
    assert_every_struct_has_a_case(cases(), growing_structs());
    assert_true(cases().size() >= 28);
}

void test_every_size(void**) {
    for (const Case& one : cases()) {
        if (one.name == std::string("volta_profile_options")) volta_profile_stop(world.context);
        const bool reports_a_profile = strncmp(one.name, "volta_profile_", 14) == 0 && one.is_report;
        assert_every_size(one, growing_structs(), volta_last_error, [&] {
            if (reports_a_profile) record_a_profile();
        });
    }
}

void test_fields_that_are_not_known(void**) {
    for (const Case& one : cases())
        assert_unknown_fields_are_refused(one, growing_structs(), volta_last_error);
}

// A struct within a struct, and one whose call takes a second when it is accepted.
void test_nested_and_slow_ones(void**) {
    for (size_t size = 1; size < sizeof(volta_resnet_options); ++size) {
        volta_resnet_options resnet = {};
        volta_import_options options = {};
        options.struct_size = sizeof options;
        options.resnet = &resnet;
        resnet.struct_size = size;
        volta_model* model = nullptr;
        const volta_status status =
            volta_model_import(world.context, world.weights.c_str(), &options, &model);
        volta_model_release(model);
        assert_int_not_equal(status, VOLTA_OK);  // the file is none
        if (size % 4 != 0 || size < 8) assert_int_equal(status, VOLTA_INVALID_ARGUMENT);
    }
    for (size_t size = 1; size < sizeof(volta_network_options); ++size) {
        volta_network_options network = {};
        volta_import_options options = {};
        options.struct_size = sizeof options;
        options.network = &network;
        network.struct_size = size;
        network.name = "cnn";
        volta_model* model = nullptr;
        const volta_status status =
            volta_model_import(world.context, world.weights.c_str(), &options, &model);
        volta_model_release(model);
        assert_int_not_equal(status, VOLTA_OK);  // the file is none
        if (size % 4 != 0 || size < 8) assert_int_equal(status, VOLTA_INVALID_ARGUMENT);
    }
    for (size_t size = 1; size < sizeof(volta_bert_options); ++size) {
        volta_bert_options bert = {};
        volta_import_options options = {};
        options.struct_size = sizeof options;
        options.bert = &bert;
        bert.struct_size = size;
        volta_model* model = nullptr;
        const volta_status status =
            volta_model_import(world.context, world.weights.c_str(), &options, &model);
        volta_model_release(model);
        if (size % 4 != 0 || size < 8) assert_int_equal(status, VOLTA_INVALID_ARGUMENT);
        volta_machine_speed speed = {};
        speed.struct_size = size;
        const bool is_cut = size < 8 || (size < 16 ? size % 4 != 0 : size % 8 != 0);
        if (is_cut && size < sizeof speed)
            assert_int_equal(volta_measure_machine(world.context, &speed), VOLTA_INVALID_ARGUMENT);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_every_struct_has_a_case),
        cmocka_unit_test(test_every_size),
        cmocka_unit_test(test_fields_that_are_not_known),
        cmocka_unit_test(test_nested_and_slow_ones),
    };
    return cmocka_run_group_tests(tests, make_world, end_world);
}
