// volta.h: adapters on a model.
#include "engine/api/guard.h"
#include "engine/api/new_models.h"
#include "engine/api/options.h"
#include "engine/import/peft.h"
#include "engine/model/adapters.h"

using namespace volta;
using namespace volta::api;

namespace {

constexpr int64_t kUsualRank = 8;
constexpr const char* kUsualTargets = "q+v";

AdapterOptions read_lora(const volta_lora_options& given) {
    AdapterOptions options;
    options.rank = given.rank == 0 ? kUsualRank : given.rank;
    options.alpha = given.alpha == 0 ? 2 * static_cast<double>(options.rank) : given.alpha;
    options.targets = given.targets == nullptr ? kUsualTargets : given.targets;
    return options;
}

}  // namespace

volta_status volta_model_add_lora(const volta_model* base, const volta_lora_options* options,
                                  volta_model** out_model) {
    if (out_model != nullptr) *out_model = nullptr;
    return guarded([&] {
        require(base != nullptr && out_model != nullptr, "%s is NULL",
                base == nullptr ? "base" : "out_model");
        const auto given = read_options(options);
        const ContextRef& context = base->context;
        HeapPtr<Model> made = add_adapters(base->model, read_lora(given), given.seed, context->structures(),
                                           context->tensors(), init_machine(*context));
        made->arithmetic = context->arithmetic();
        give_model(context, std::move(made), out_model);
    });
}

volta_status volta_model_open_adapter(const volta_model* base, const char* path,
                                      const volta_open_options* options, volta_model** out_model) {
    if (out_model != nullptr) *out_model = nullptr;
    return guarded([&] {
        require(base != nullptr && out_model != nullptr, "%s is NULL",
                base == nullptr ? "base" : "out_model");
        require(path != nullptr && *path != '\0', "path is NULL or empty");
        const ContextRef& context = base->context;
        std::pmr::memory_resource *const structures = context->structures(), *const tensors =
                                                                                 context->tensors();
        const HeapPtr<Model> file =
            read_model(path, read_open_options(options, context->stop()), structures, tensors);
        give_model(context, open_adapters(base->model, *file, structures, tensors), out_model);
    });
}

volta_status volta_model_merge_adapter(const volta_model* model, double* out_difference,
                                       volta_model** out_model) {
    if (out_model != nullptr) *out_model = nullptr;
    if (out_difference != nullptr) *out_difference = 0;
    return guarded([&] {
        require(model != nullptr && out_model != nullptr, "%s is NULL",
                model == nullptr ? "model" : "out_model");
        const ContextRef& context = model->context;
        double difference = 0;
        give_model(context,
                   merge_adapters(*model->model, &difference, context->structures(), context->tensors()),
                   out_model);
        if (out_difference != nullptr) *out_difference = difference;
    });
}

volta_status volta_model_export_peft(const volta_model* model, const char* folder) {
    return guarded([&] {
        require(model != nullptr, "model is NULL");
        require(folder != nullptr && *folder != '\0', "folder is NULL or empty");
        export_peft(*model->model, folder, model->context->structures(), model->context->stop());
    });
}

volta_status volta_model_import_peft(const volta_model* base, const char* folder, volta_model** out_model) {
    if (out_model != nullptr) *out_model = nullptr;
    return guarded([&] {
        require(base != nullptr && out_model != nullptr, "%s is NULL",
                base == nullptr ? "base" : "out_model");
        require(folder != nullptr && *folder != '\0', "folder is NULL or empty");
        const ContextRef& context = base->context;
        give_model(context, import_peft(base->model, folder, context->structures(), context->tensors()),
                   out_model);
    });
}
