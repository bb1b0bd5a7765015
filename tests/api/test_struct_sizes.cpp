// Every struct_size that a caller may give, of every struct that has one: nothing beyond it is read or
// written, no half of a field is taken over, and what is refused is refused by a sentence that names the
// size. Where fields lie is read from volta.h itself, so a new struct or field is tested by being there.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/support/cmocka_cpp.h"
#include "tests/support/public_header.h"
#include "volta.h"

namespace {
using namespace volta::test;

constexpr size_t kBeyond = 64;  // bytes more than today's struct has
constexpr unsigned char kPoison = 0xa5;

struct Field {
    size_t begin, end;
    bool is_pointer;
};

// Where the compiler puts the fields: each at the next multiple of its size, which is its alignment too.
std::vector<Field> layout_of(const HeaderStruct& one) {
    const std::map<std::string, size_t> sizes = {{"*", 8},        {"size_t", 8},   {"int64_t", 8},
                                                 {"uint64_t", 8}, {"double", 8},   {"float", 4},
                                                 {"int32_t", 4},  {"uint32_t", 4}, {"char", 1}};
    std::vector<Field> fields;
    size_t end = 0;
    for (const HeaderField& field : one.fields) {
        const auto known = sizes.find(field.type);
        const bool is_shape = field.type == "volta_tune_shape";
        const size_t alignment = is_shape               ? 8
                                 : known != sizes.end() ? known->second
                                                        : 4;  // else an enumeration
        const size_t bytes =
            is_shape ? sizeof(volta_tune_shape) : alignment * static_cast<size_t>(field.count);
        const size_t begin = (end + alignment - 1) / alignment * alignment;
        end = begin + bytes;
        fields.push_back({begin, end, field.type == "*"});
    }
    return fields;
}

const Field* cut_field(const std::vector<Field>& fields, size_t size) {
    for (const Field& field : fields)
        if (field.begin < size && size < field.end) return &field;
    return nullptr;
}

// Memory of `bytes` that ends where nothing can be read any more.
class Fenced {
  public:
    explicit Fenced(size_t bytes) : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
        map_ = static_cast<unsigned char*>(
            mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (map_ == MAP_FAILED || mprotect(map_ + page_, page_, PROT_NONE) != 0) abort();
        data_ = map_ + page_ - (bytes + 15) / 16 * 16;  // aligned: what is between is poison
        memset(data_, kPoison, static_cast<size_t>(map_ + page_ - data_));
    }
    ~Fenced() { munmap(map_, 2 * page_); }
    unsigned char* data() { return data_; }

  private:
    size_t page_;
    unsigned char *map_, *data_;
};

// What the structs are given to.
struct World {
    volta_context* context = nullptr;
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

template <class Struct>
const Struct* as(const void* data) {
    return static_cast<const Struct*>(data);
}
template <class Struct>
Struct* out(void* data) {
    return static_cast<Struct*>(data);
}

// A call for every struct. `whole` fills today's fields as a caller would, pointers among them.
struct Case {
    const char* name;
    bool is_report;
    std::function<void(void* whole)> fill;
    std::function<volta_status(void* data)> call;
};

int32_t hear(void*, const char*, size_t, int32_t) { return 0; }
int32_t see(void*, const volta_tune_report*) { return 1; }
void line(void*, volta_log_level, const char*) {}

template <class Handle, class Release>
volta_status ended(volta_status status, Handle* handle, Release release) {
    release(handle);
    return status;
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
         },
         [](void* data) {
             volta_context* made = nullptr;
             const volta_status status = volta_context_create(as<volta_context_options>(data), &made);
             return ended(status, made, volta_context_release);
         }},
        {"volta_context_info", true, nothing,
         [](void* data) { return volta_context_get_info(world.context, out<volta_context_info>(data)); }},
        {"volta_device_info", true, nothing,
         [](void* data) { return volta_context_get_device(world.context, out<volta_device_info>(data)); }},
        {"volta_machine_speed", true, nothing, nullptr},  // a second each: see test_machine_speed_refuses
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
    volta_context_release(world.context);
    return system(("rm -rf " + world.folder).c_str());
}

void test_every_struct_has_a_case(void**) {
    std::vector<std::string> declared, tested;
    for (const HeaderStruct& one : growing_structs()) declared.push_back(one.name);
    for (const Case& one : cases()) tested.push_back(one.name);
    std::sort(declared.begin(), declared.end());
    std::sort(tested.begin(), tested.end());
    for (const std::string& name : declared)
        if (!std::binary_search(tested.begin(), tested.end(), name))
            print_error("%s has no case\n", name.c_str());
    assert_true(declared == tested && declared.size() >= 27);
}

// True: the call answered as a struct of this size asks for.
bool answers(const Case& one, const std::vector<Field>& fields, size_t size, size_t struct_bytes) {
    std::vector<unsigned char> whole(struct_bytes + kBeyond, 0);
    one.fill(whole.data());
    memcpy(whole.data(), &size, sizeof size);
    Fenced memory(std::max(size, sizeof size));
    memcpy(memory.data(), whole.data(), std::max(std::min(size, whole.size()), sizeof size));
    const volta_status status = one.call(memory.data());
    const bool names_size = strstr(volta_last_error(), std::to_string(size).c_str()) != nullptr;
    const bool names_struct = strstr(volta_last_error(), one.name) != nullptr;
    const bool is_whole = size >= sizeof size && cut_field(fields, size) == nullptr;
    if (!is_whole) return status == VOLTA_INVALID_ARGUMENT && names_size && names_struct;
    const bool refused = status == VOLTA_INVALID_ARGUMENT && names_struct && names_size;
    if (refused) return false;
    if (!one.is_report || status != VOLTA_OK) return true;
    // What lies behind the last whole field is as it was, poison or zero; struct_size too.
    if (memcmp(memory.data(), &size, sizeof size) != 0) return false;
    for (size_t i = struct_bytes; i < size; ++i)
        if (memory.data()[i] != whole[i]) return false;
    for (size_t i = size; i % 16 != 0; ++i)
        if (memory.data()[i] != kPoison) return false;
    return true;
}

void test_every_size(void**) {
    const std::vector<HeaderStruct> declared = growing_structs();
    for (const Case& one : cases()) {
        if (one.call == nullptr) continue;
        const auto found = std::find_if(declared.begin(), declared.end(),
                                        [&](const HeaderStruct& known) { return known.name == one.name; });
        assert_true(found != declared.end());
        const std::vector<Field> fields = layout_of(*found);
        const size_t bytes = (fields.back().end + 7) / 8 * 8;
        int cut = 0;
        if (one.name == std::string("volta_profile_options")) volta_profile_stop(world.context);
        for (size_t size = 0; size <= bytes + kBeyond; ++size) {
            if (strncmp(one.name, "volta_profile_", 14) == 0 && one.is_report) record_a_profile();
            const bool fine = answers(one, fields, size, bytes);
            if (!fine) print_error("%s, struct_size %zu: %s\n", one.name, size, volta_last_error());
            assert_true(fine);
            cut += cut_field(fields, size) != nullptr;
        }
        assert_true(cut > 0);
    }
}

// Bytes of a newer caller's fields: zeros are accepted, others are not.
void test_fields_that_are_not_known(void**) {
    const std::vector<HeaderStruct> declared = growing_structs();
    for (const Case& one : cases()) {
        if (one.call == nullptr || one.is_report) continue;
        const auto found = std::find_if(declared.begin(), declared.end(),
                                        [&](const HeaderStruct& known) { return known.name == one.name; });
        const size_t bytes = (layout_of(*found).back().end + 7) / 8 * 8;
        for (size_t size = bytes + 1; size <= bytes + kBeyond; ++size) {
            std::vector<unsigned char> whole(size, 0);
            one.fill(whole.data());
            memcpy(whole.data(), &size, sizeof size);
            whole[size - 1] = 1;
            Fenced memory(size);
            memcpy(memory.data(), whole.data(), size);
            assert_int_equal(one.call(memory.data()), VOLTA_INVALID_ARGUMENT);
            const std::string expected =
                std::string(one.name) + " has a field that this version does not know";
            assert_string_equal(volta_last_error(), expected.c_str());
        }
    }
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
