// The uses of the libraries that the faults meet: a row each. Models are as small as they can be: what is
// counted is calls, not bytes.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "tests/faults/interpose.h"
#include "tests/faults/world.h"

namespace volta::faults {
namespace {

#define TRY(call)                                                                     \
    do {                                                                              \
        if (const volta_status status_ = (call); status_ != VOLTA_OK) return status_; \
    } while (0)

constexpr std::int64_t kVocabulary = 30;
constexpr char kText[] = "the quick brown fox jumps over the lazy dog. the dog sleeps; the fox does not.";

const std::int32_t* tokens() {
    static std::int32_t ids[64];
    for (int i = 0; i < 64; ++i) ids[i] = (7 * i + i / 3) % static_cast<int>(kVocabulary);
    return ids;
}

volta_status make_gpt(volta_context* context, volta_model** out) {
    volta_gpt_options options = VOLTA_GPT_OPTIONS_INIT;
    options.vocabulary = kVocabulary;
    options.layers = 1;
    options.dim = 32;
    options.heads = 2;
    options.context = 12;
    return volta_model_create_gpt(context, &options, 5, out);
}

volta_status make_llama(volta_context* context, volta_model** out) {
    volta_llama_options options = VOLTA_LLAMA_OPTIONS_INIT;
    options.vocabulary = kVocabulary;
    options.layers = 1;
    options.dim = 32;
    options.heads = 2;
    options.kv_heads = 1;
    options.context = 12;
    return volta_model_create_llama(context, &options, 5, out);
}

volta_status make_bert(volta_context* context, volta_bert_head head, volta_model** out) {
    volta_bert_options options = VOLTA_BERT_OPTIONS_INIT;
    options.vocabulary = kVocabulary;
    options.layers = 1;
    options.dim = 32;
    options.heads = 2;
    options.context = 12;
    options.classes = head == VOLTA_BERT_CLASSES ? 3 : 0;
    options.head = head;
    options.mask_input = 1;
    return volta_model_create_bert(context, &options, 5, out);
}

volta_status make_network(volta_context* context, const char* name, volta_model** out) {
    volta_network_options options = VOLTA_NETWORK_OPTIONS_INIT;
    options.name = name;
    options.classes = 3;
    options.rows = options.columns = 8;
    options.width = 0.25;
    return volta_model_create_network(context, &options, 5, out);
}

volta_status make_trainer(volta_model* model, volta_trainer** out, volta_group* group = nullptr) {
    static const std::int64_t shape[] = {2, 8};
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    options.input_shapes = shape;
    options.input_extent_count = 2;
    options.seed = 3;
    options.steps = 4;
    options.schedule = VOLTA_SCHEDULE_COSINE;
    options.clip_norm = 1;
    options.micro_batches = 2;
    options.group = group;
    options.shards = group != nullptr ? 2 : 0;
    return volta_trainer_create(model, &options, out);
}

volta_status mix_model(World& world, const volta_model* model) {
    char hash[33];
    TRY(volta_model_hash(model, hash));
    world.mix_text(hash);
    return VOLTA_OK;
}

volta_status mix_trainer(World& world, const volta_trainer* trainer) {
    char hash[33];
    TRY(volta_trainer_hash(trainer, hash));
    world.mix_text(hash);
    return VOLTA_OK;
}

// ---- From nothing ----

volta_status define(World& world) {
    Context context;
    TRY(world.context(context.out()));
    Graph graph;
    TRY(volta_graph_create(context, graph.out()));
    const std::int64_t shape[] = {2, 8};
    volta_value x, y;
    TRY(volta_graph_input(graph, "x", VOLTA_F32, shape, 2, &x));
    TRY(volta_graph_linear(graph, "first", x, 4, &y));
    TRY(volta_graph_unary(graph, "relu", y, &y));
    TRY(volta_graph_linear(graph, "second", y, 3, &y));
    TRY(volta_graph_output(graph, "y", y));
    const char* text;
    TRY(volta_graph_print(graph, &text));
    world.mix_text(text);
    Model model;
    TRY(volta_model_create(graph, 1, model.out()));
    TRY(volta_model_set_metadata(model, "title", "a small model"));
    return mix_model(world, model);
}

volta_status run_session(World& world, volta_context* context, volta_model* model, std::uint32_t flags) {
    static const std::int64_t shape[] = {2, 6}, logits[] = {2, 6, kVocabulary};
    volta_session_options options = VOLTA_SESSION_OPTIONS_INIT;
    options.input_shapes = shape;
    options.input_extent_count = 2;
    options.flags = flags;
    Session session;
    TRY(volta_session_create(model, &options, session.out()));
    Tensor in, out;
    TRY(volta_tensor_wrap(context, VOLTA_I32, shape, 2, const_cast<std::int32_t*>(tokens()), in.out()));
    TRY(volta_tensor_create(context, VOLTA_F32, logits, 3, out.out()));
    const volta_tensor* const inputs[] = {in};
    volta_tensor* const outputs[] = {out};
    TRY(volta_session_run(session, inputs, 1, outputs, 1));
    world.mix(volta_tensor_data(out), static_cast<std::size_t>(volta_tensor_elements(out)) * 4);
    const char* text;
    return volta_session_print_plan(session, &text);
}

volta_status run_gpt(World& world) {
    Context context;
    Model model;
    TRY(world.context(context.out()));
    TRY(make_gpt(context, model.out()));
    TRY(run_session(world, context, model, 0));
    return run_session(world, context, model, VOLTA_SESSION_PACK_WEIGHTS);
}

volta_status train(World& world) {
    Context context;
    Model model;
    Trainer trainer;
    TRY(world.context(context.out()));
    TRY(make_gpt(context, model.out()));
    TRY(make_trainer(model, trainer.out()));
    TRY(volta_trainer_set_tokens(trainer, tokens(), 64));
    TRY(volta_trainer_step_tokens(trainer, nullptr));
    TRY(volta_trainer_step_tokens(trainer, nullptr));
    double loss;
    TRY(volta_trainer_evaluate_tokens(trainer, tokens(), 64, &loss));
    world.mix(&loss, sizeof loss);
    TRY(volta_trainer_update_model(trainer));
    TRY(volta_model_evaluate_tokens(model, tokens(), 30, &loss));
    world.mix(&loss, sizeof loss);
    const char* text;
    TRY(volta_trainer_print_plan(trainer, &text));
    return mix_trainer(world, trainer);
}

// The other of two ranks, which computes the same rows and so has the same to say.
volta_status mirror(void*, std::uint32_t, const void* send, std::size_t send_bytes, void* receive,
                    std::size_t receive_bytes, char*, std::size_t) {
    if (receive_bytes != 0) std::memset(receive, 0, receive_bytes);
    const std::size_t bytes = std::min(send_bytes, receive_bytes);
    if (bytes != 0) std::memcpy(receive, send, bytes);
    return VOLTA_OK;
}

volta_status train_sharded(World& world) {
    Context context;
    Group group;
    Model model;
    Trainer trainer;
    TRY(world.context(context.out()));
    volta_group_options joining = VOLTA_GROUP_OPTIONS_INIT;
    joining.transport = "host";
    joining.size = 2;
    joining.exchange = mirror;
    TRY(volta_group_create(context, &joining, group.out()));
    TRY(make_gpt(context, model.out()));
    TRY(make_trainer(model, trainer.out(), group));
    TRY(volta_trainer_set_tokens(trainer, tokens(), 64));
    TRY(volta_trainer_step_tokens(trainer, nullptr));
    TRY(volta_trainer_step_tokens(trainer, nullptr));
    return mix_trainer(world, trainer);
}

volta_status train_network(World& world) {
    Context context;
    Model model, folded;
    Trainer trainer;
    TRY(world.context(context.out()));
    TRY(make_network(context, "cnn", model.out()));
    static const std::int64_t shape[] = {2, 1, 8, 8}, targets_shape[] = {2};
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    options.input_shapes = shape;
    options.input_extent_count = 4;
    options.optimizer = VOLTA_SGD;
    options.momentum = 0.9;
    TRY(volta_trainer_create(model, &options, trainer.out()));
    static float pixels[2 * 64];
    for (int i = 0; i < 128; ++i) pixels[i] = static_cast<float>(i % 7) / 8;
    static std::int32_t labels[] = {0, 2};
    Tensor in, target;
    TRY(volta_tensor_wrap(context, VOLTA_F32, shape, 4, pixels, in.out()));
    TRY(volta_tensor_wrap(context, VOLTA_I32, targets_shape, 1, labels, target.out()));
    const volta_tensor* const inputs[] = {in};
    TRY(volta_trainer_step(trainer, inputs, 1, target, nullptr));
    TRY(volta_trainer_update_model(trainer));
    TRY(volta_model_fold_batch_norm(model, folded.out(), nullptr));
    TRY(mix_model(world, folded));
    return mix_trainer(world, trainer);
}

volta_status evaluate_llama(World& world) {
    Context context;
    Model model;
    TRY(world.context(context.out()));
    TRY(make_llama(context, model.out()));
    double loss;
    TRY(volta_model_evaluate_tokens(model, tokens(), 40, &loss));
    world.mix(&loss, sizeof loss);
    return VOLTA_OK;
}

// Models made of others.
volta_status derive(World& world) {
    Context context;
    Model gpt, bert, int8, int4, panels, head, hidden;
    TRY(world.context(context.out()));
    TRY(make_gpt(context, gpt.out()));
    TRY(make_bert(context, VOLTA_BERT_CLASSES, bert.out()));
    TRY(volta_model_quantize(gpt, VOLTA_INT8, int8.out()));
    TRY(volta_model_quantize(gpt, VOLTA_INT4, int4.out()));
    TRY(volta_model_quantize(gpt, VOLTA_F32_PANELS, panels.out()));
    TRY(volta_model_replace_head(bert, 5, 1, head.out()));
    TRY(volta_model_hidden_states(gpt, hidden.out()));
    for (const volta_model* model : {int8.operator volta_model*(), int4.operator volta_model*(),
                                     head.operator volta_model*(), hidden.operator volta_model*()})
        TRY(mix_model(world, model));
    return run_session(world, context, int8, 0);
}

// ---- Writing ----

std::int32_t take_text(void* world, const char* text, std::size_t bytes, std::int32_t) {
    static_cast<World*>(world)->mix(text, bytes);
    return 0;
}

volta_status generate(World& world) {
    Context context;
    Model model;
    Tokenizer tokenizer;
    Generator generator;
    TRY(world.context(context.out()));
    TRY(make_gpt(context, model.out()));
    TRY(volta_tokenizer_create_char(context, kText, sizeof kText - 1, tokenizer.out()));
    volta_generator_options options = VOLTA_GENERATOR_OPTIONS_INIT;
    options.temperature = 1;
    options.top_k = 20;
    options.sequences = 3;
    options.cache_tokens = 4;
    TRY(volta_generator_create(model, &options, generator.out()));
    TRY(volta_generator_start(generator, tokens(), 2));
    std::int32_t token;
    TRY(volta_generator_next(generator, &token));
    static const char* const stops[] = {"zzz", "qqq"};
    static const std::int32_t ids[] = {1, 2, 3};
    volta_write_options writing = VOLTA_WRITE_OPTIONS_INIT;
    writing.stop_texts = stops;
    writing.stop_text_count = 2;
    writing.on_text = take_text;
    writing.user = &world;
    Sequence sequence, fork;
    TRY(volta_sequence_create(generator, nullptr, sequence.out()));
    TRY(volta_sequence_append(sequence, ids, 3));
    TRY(volta_sequence_fork(sequence, nullptr, fork.out()));
    volta_sequence* const both[] = {sequence, fork};
    std::int32_t drawn[2];
    TRY(volta_generator_step(generator, both, 2, drawn));
    world.mix(drawn, sizeof drawn);
    // The model has ids that the tokenizer lacks: a drawn one ends it with a sentence, which is a result too.
    const volta_status status = volta_generator_write(generator, nullptr, tokenizer, &writing, nullptr);
    return status == VOLTA_INVALID_ARGUMENT ? VOLTA_OK : status;
}

volta_status make_tokenizers(World& world) {
    Context context;
    Tokenizer byte, character, bpe;
    TRY(world.context(context.out()));
    TRY(volta_tokenizer_create_byte(context, byte.out()));
    TRY(volta_tokenizer_create_char(context, kText, sizeof kText - 1, character.out()));
    TRY(volta_tokenizer_train_bpe(context, kText, sizeof kText - 1, 270, bpe.out()));
    std::int32_t ids[128];
    std::size_t count;
    TRY(volta_tokenizer_encode(bpe, kText, sizeof kText - 1, ids, 128, &count));
    world.mix(ids, count * sizeof ids[0]);
    return VOLTA_OK;
}

// ---- Files ----

volta_status save(World& world) {
    Context context;
    Model model;
    Tokenizer tokenizer;
    TRY(world.context(context.out()));
    TRY(make_gpt(context, model.out()));
    TRY(volta_tokenizer_create_char(context, kText, sizeof kText - 1, tokenizer.out()));
    TRY(volta_model_set_tokenizer(model, tokenizer));
    TRY(volta_model_save(model, world.file("save.volta")));
    world.mix_file(world.file("save.volta"));
    return VOLTA_OK;
}

volta_status save_checkpoint(World& world) {
    Context context;
    Model model;
    Trainer trainer;
    TRY(world.context(context.out()));
    TRY(make_gpt(context, model.out()));
    TRY(make_trainer(model, trainer.out()));
    TRY(volta_trainer_set_tokens(trainer, tokens(), 64));
    TRY(volta_trainer_step_tokens(trainer, nullptr));
    TRY(volta_trainer_save(trainer, world.file("saved_checkpoint.volta")));
    world.mix_file(world.file("saved_checkpoint.volta"));
    return VOLTA_OK;
}

// What is there before is whole, whatever failed in the save that was to replace it.
volta_status require_old_parts(World& world, volta_context* context) {
    const Aside aside;
    if (access(world.file("saved_parts/volta.manifest"), F_OK) != 0) return VOLTA_OK;
    Model old;
    const volta_status status = volta_model_open(context, world.file("saved_parts"), nullptr, old.out());
    return status == VOLTA_OK || status == VOLTA_OUT_OF_MEMORY ? status : VOLTA_INTERNAL;
}

volta_status save_parts(World& world) {
    Context context;
    Model model, opened;
    TRY(world.context(context.out()));
    TRY(require_old_parts(world, context));
    TRY(make_gpt(context, model.out()));
    for (const std::uint32_t parts : {2u, 3u})
        TRY(volta_model_save_sharded(model, parts, world.file("saved_parts")));
    TRY(volta_model_open(context, world.file("saved_parts"), nullptr, opened.out()));
    world.mix_file(world.file("saved_parts/volta.manifest"));
    return mix_model(world, opened);
}

volta_status load(World& world) {
    Context context;
    Model mapped, copied, held;
    TRY(world.context(context.out()));
    volta_open_options options = VOLTA_OPEN_OPTIONS_INIT;
    options.verify = 1;
    TRY(volta_model_open(context, world.file("model.volta"), &options, mapped.out()));
    options.mode = VOLTA_LOAD_COPY;
    TRY(volta_model_open(context, world.file("model.volta"), &options, copied.out()));
    TRY(mix_model(world, mapped));
    TRY(mix_model(world, copied));
    Tokenizer tokenizer;
    TRY(volta_model_get_tokenizer(copied, tokenizer.out()));
    alignas(64) static char bytes[1 << 19];
    std::size_t count = 0;
    {
        const Aside aside;
        std::FILE* const file = std::fopen(world.file("model.volta"), "rb");
        if (file == nullptr) return VOLTA_INTERNAL;
        count = std::fread(bytes, 1, sizeof bytes, file);
        std::fclose(file);
    }
    TRY(volta_model_open_memory(context, bytes, count, &options, held.out()));
    return mix_model(world, held);
}

volta_status resume(World& world) {
    Context context;
    Model model;
    Trainer trainer;
    TRY(world.context(context.out()));
    TRY(volta_model_open(context, world.file("checkpoint.volta"), nullptr, model.out()));
    TRY(volta_trainer_resume(model, nullptr, trainer.out()));
    TRY(volta_trainer_set_tokens(trainer, tokens(), 64));
    TRY(volta_trainer_step_tokens(trainer, nullptr));
    return mix_trainer(world, trainer);
}

volta_status export_files(World& world) {
    Context context;
    Model model, bert;
    TRY(world.context(context.out()));
    TRY(make_gpt(context, model.out()));
    TRY(make_bert(context, VOLTA_BERT_MASKED, bert.out()));
    TRY(volta_model_export_safetensors(model, world.file("exported.safetensors")));
    world.mix_file(world.file("exported.safetensors"));
    volta_export_options options = VOLTA_EXPORT_OPTIONS_INIT;
    options.names = VOLTA_NAMES_HUGGING_FACE;
    options.config_path = world.file("exported.json");
    TRY(volta_model_export_safetensors_with(bert, &options, world.file("exported_bert.safetensors")));
    world.mix_file(world.file("exported.json"));
    return VOLTA_OK;
}

volta_status save_tensors(World& world, const char* name, std::size_t count) {
    Context context;
    Tensor weight, ids;
    TRY(world.context(context.out()));
    static const std::int64_t shape[] = {3, 5};
    static const volta_init normal = {VOLTA_INIT_NORMAL, 1, 0};
    static const char* const names[] = {"weight", "ids"};
    TRY(volta_tensor_create(context, VOLTA_F32, shape, 2, weight.out()));
    TRY(volta_tensor_create(context, VOLTA_I32, shape, 1, ids.out()));
    TRY(volta_tensor_random(weight, &normal, 5, 0));
    TRY(volta_tensor_arange(ids, 7, -2));
    const volta_tensor* const tensors[] = {weight, ids};
    TRY(volta_tensors_save(context, world.file(name), names, tensors, count));
    world.mix_file(world.file(name));
    return VOLTA_OK;
}
volta_status save_npz(World& world) { return save_tensors(world, "saved.npz", 2); }
volta_status save_npy(World& world) { return save_tensors(world, "saved.npy", 1); }
volta_status save_named(World& world) { return save_tensors(world, "saved.safetensors", 2); }

volta_status open_tensors(World& world) {
    Context context;
    TRY(world.context(context.out()));
    for (const char* name : {"tensors.npz", "tensors.npy", "tensors.safetensors"}) {
        Tensors tensors;
        TRY(volta_tensors_open(context, world.file(name), tensors.out()));
        for (std::size_t i = 0; i < volta_tensors_count(tensors); ++i) {
            const char* text;
            TRY(volta_tensor_print(volta_tensors_tensor(tensors, i), &text));
            world.mix_text(text);
        }
    }
    return VOLTA_OK;
}

volta_status export_onnx(World& world) {
    Context context;
    Model model;
    TRY(world.context(context.out()));
    TRY(make_gpt(context, model.out()));
    volta_onnx_export_options options = VOLTA_ONNX_EXPORT_OPTIONS_INIT;
    options.inline_bytes = 1000;
    TRY(volta_model_export_onnx(model, &options, world.file("exported.onnx")));
    world.mix_file(world.file("exported.onnx"));
    world.mix_file(world.file("exported.onnx.data"));
    return VOLTA_OK;
}

volta_status import_file(World& world, const char* path, const volta_import_options* options = nullptr) {
    Context context;
    Model model;
    TRY(world.context(context.out()));
    TRY(volta_model_import(context, path, options, model.out()));
    return mix_model(world, model);
}
volta_status import_safetensors(World& world) { return import_file(world, world.file("model.safetensors")); }
volta_status import_bert(World& world) {
    volta_import_options options = VOLTA_IMPORT_OPTIONS_INIT;
    options.config_path = world.file("bert.json");
    return import_file(world, world.file("bert.safetensors"), &options);
}
volta_status import_onnx(World& world) { return import_file(world, world.file("model.onnx")); }
volta_status import_foreign_onnx(World& world) {
    return import_file(world, world.corpus("import_onnx/Linear"));
}
volta_status import_gguf(World& world) {
    volta_import_options options = VOLTA_IMPORT_OPTIONS_INIT;
    options.no_tokenizer = 1;
    return import_file(world, world.corpus("import_gguf/llama_f32"), &options);
}
volta_status import_gguf_kept(World& world) {
    volta_import_options options = VOLTA_IMPORT_OPTIONS_INIT;
    options.no_tokenizer = 1;
    options.weights = VOLTA_IMPORT_KEEP;
    return import_file(world, world.corpus("import_gguf/llama_q8_0"), &options);
}
volta_status import_llama2c(World& world) {
    return import_file(world, world.corpus("import_llama2c/untied"));
}

volta_status survey(World& world) {
    Context context;
    TRY(world.context(context.out()));
    char text[4096];
    std::size_t bytes;
    TRY(volta_model_survey(context, world.file("model.onnx"), nullptr, text, sizeof text, &bytes));
    world.mix(text, bytes < sizeof text ? bytes : sizeof text);
    return VOLTA_OK;
}

volta_status open_tokenizers(World& world) {
    Context context;
    TRY(world.context(context.out()));
    for (const char* name :
         {"tokenizer_bpe.json", "tokenizer_wordpiece.json", "tokenizer_llama2c.bin", "vocab.txt"}) {
        Tokenizer tokenizer;
        TRY(volta_tokenizer_open(context, world.file(name), VOLTA_TOKENIZER_AUTO, tokenizer.out()));
        const std::int32_t size = volta_tokenizer_size(tokenizer);
        world.mix(&size, sizeof size);
    }
    return VOLTA_OK;
}

volta_status profile(World& world) {
    Context context;
    Model model;
    TRY(world.context(context.out()));
    TRY(make_gpt(context, model.out()));
    TRY(volta_profile_start(context, nullptr));
    World unread(world);  // a trace has times: only that it is written counts
    TRY(run_session(unread, context, model, 0));
    TRY(volta_profile_stop(context));
    return volta_profile_write_trace(context, world.file("trace.json"));
}

volta_status tune(World& world) {
    Context context;
    TRY(world.context(context.out(), world.file("tuned")));
    const volta_tune_shape shape = {8, 8, 8, 0, 0, 0, 0, 0};
    volta_tune_options options = VOLTA_TUNE_OPTIONS_INIT;
    options.shapes = &shape;
    options.shape_count = 1;
    options.runs = 1;
    options.seconds = 0.002;
    return volta_tune(context, &options);
}

volta_status read_tuning(World& world) {
    Context context;
    TRY(world.context(context.out(), world.file("tuning")));
    const volta_tune_shape shape = {8, 8, 8, 0, 0, 0, 0, 0};
    static char text[1 << 15];
    std::size_t bytes;
    return volta_explain_matmul(context, &shape, 0, text, sizeof text, &bytes);
}

// ---- Data ----

volta_dataset_options data_options(World& world) {
    volta_dataset_options options = VOLTA_DATASET_OPTIONS_INIT;
    options.allocator = &world.allocator;
    return options;
}

volta_status load_batches(World& world, volta_dataset* set, std::uint32_t side) {
    volta_transform_options transform = VOLTA_TRANSFORM_OPTIONS_INIT;
    transform.channels = 3;
    transform.height = transform.width = side;
    transform.resize = VOLTA_RESIZE_EXACT;
    volta_loader_options options = VOLTA_LOADER_OPTIONS_INIT;
    options.transform = &transform;
    options.batch = 2;
    options.order = VOLTA_ORDER_SHUFFLED;
    options.flags = VOLTA_LOADER_NO_THREADS;
    Loader loader;
    TRY(volta_loader_create(set, &options, loader.out()));
    for (int i = 0; i < 2; ++i) {
        volta_batch batch = VOLTA_BATCH_INIT;
        TRY(volta_loader_next(loader, &batch));
        world.mix(batch.pixels, std::size_t{batch.count} * 3 * side * side * 4);
        world.mix(batch.labels, std::size_t{batch.count} * 4);
    }
    return VOLTA_OK;
}

volta_status data_cifar(World& world) {
    const char* const paths[] = {world.corpus("data_cifar/two")};
    const volta_dataset_options options = data_options(world);
    DataSet set;
    TRY(volta_dataset_open(VOLTA_DATA_CIFAR10, paths, 1, &options, set.out()));
    return load_batches(world, set, 16);
}

volta_status data_idx(World& world) {
    const char* const paths[] = {world.corpus("data_idx/images_gz"), world.corpus("data_idx/labels_gz")};
    const volta_dataset_options options = data_options(world);
    DataSet set;
    TRY(volta_dataset_open(VOLTA_DATA_IDX, paths, 2, &options, set.out()));
    return load_batches(world, set, 4);
}

volta_status data_folder(World& world) {
    const char* const paths[] = {world.file("classes")};
    const volta_dataset_options options = data_options(world);
    DataSet set;
    TRY(volta_dataset_open(VOLTA_DATA_FOLDER, paths, 1, &options, set.out()));
    return load_batches(world, set, 8);
}

volta_status data_pictures(World& world) {
    const volta_dataset_options options = data_options(world);
    for (const char* name : {"rgb.png", "grey_alpha.png", "interlaced.png"}) {
        Picture picture, smaller;
        TRY(volta_picture_open(world.sample(name), &options, picture.out()));
        TRY(volta_picture_resize(picture, 5, 7, VOLTA_FILTER_BICUBIC, smaller.out()));
        volta_picture_info info = VOLTA_PICTURE_INFO_INIT;
        TRY(volta_picture_get_info(smaller, &info));
        world.mix(info.pixels, std::size_t{info.channels} * 35);
    }
    return VOLTA_OK;
}

volta_status data_jpeg(World& world) {
    const volta_dataset_options options = data_options(world);
    for (const char* name : {"rgb_420.jpg", "progressive.jpg"}) {
        Picture picture;
        TRY(volta_picture_open(world.sample(name), &options, picture.out()));
        volta_picture_info info = VOLTA_PICTURE_INFO_INIT;
        TRY(volta_picture_get_info(picture, &info));
        world.mix(info.pixels, std::size_t{info.channels} * info.height * info.width);
    }
    return VOLTA_OK;
}

volta_status data_text(World& world) {
    const char* const paths[] = {world.corpus("data_text/plain"), world.corpus("data_text/gzip")};
    const volta_dataset_options options = data_options(world);
    Text text;
    TRY(volta_text_open(paths, 2, &options, text.out()));
    volta_text_info info = VOLTA_TEXT_INFO_INIT;
    TRY(volta_text_get_info(text, &info));
    world.mix(info.bytes, info.byte_count);
    return VOLTA_OK;
}

}  // namespace

const Scenario kScenarios[] = {
    {"define", define, nullptr, false, false},
    {"run", run_gpt, nullptr, false, false},
    {"train", train, nullptr, false, false},
    {"train_sharded", train_sharded, nullptr, false, false},
    {"train_network", train_network, nullptr, false, false},
    {"evaluate", evaluate_llama, nullptr, false, false},
    {"derive", derive, nullptr, false, false},
    {"generate", generate, nullptr, false, false},
    {"make_tokenizers", make_tokenizers, nullptr, false, false},
    {"save", save, "save.volta", false, false},
    {"save_checkpoint", save_checkpoint, "saved_checkpoint.volta", false, false},
    {"save_parts", save_parts, nullptr, false, false},
    {"load", load, nullptr, false, false},
    {"resume", resume, nullptr, false, false},
    {"save_npz", save_npz, "saved.npz", false, false},
    {"save_npy", save_npy, "saved.npy", false, false},
    {"save_named", save_named, "saved.safetensors", false, false},
    {"open_tensors", open_tensors, nullptr, false, false},
    {"export_safetensors", export_files, "exported.safetensors", false, false},
    {"export_onnx", export_onnx, "exported.onnx", false, false},
    {"import_safetensors", import_safetensors, nullptr, false, false},
    {"import_bert", import_bert, nullptr, false, false},
    {"import_onnx", import_onnx, nullptr, false, false},
    {"import_foreign_onnx", import_foreign_onnx, nullptr, false, false},
    {"import_gguf", import_gguf, nullptr, false, false},
    {"import_gguf_kept", import_gguf_kept, nullptr, false, false},
    {"import_llama2c", import_llama2c, nullptr, false, false},
    {"survey", survey, nullptr, false, false},
    {"open_tokenizers", open_tokenizers, nullptr, false, false},
    {"profile", profile, nullptr, true, false},
    {"tune", tune, nullptr, true, false},
    {"read_tuning", read_tuning, nullptr, false, false},
    {"data_cifar", data_cifar, nullptr, false, true},
    {"data_idx", data_idx, nullptr, false, true},
    {"data_folder", data_folder, nullptr, false, true},
    {"data_pictures", data_pictures, nullptr, false, true},
    {"data_jpeg", data_jpeg, nullptr, false, true},
    {"data_text", data_text, nullptr, false, true},
};
const std::size_t kScenarioCount = sizeof kScenarios / sizeof kScenarios[0];

}  // namespace volta::faults
