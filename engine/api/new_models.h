// What the files that make models of volta.h share.
#pragma once

#include "engine/api/handles.h"
#include "engine/model/initialise.h"
#include "engine/model/model_file.h"

namespace volta::api {

inline InitMachine init_machine(Context& context) {
    return {context.isa(), &context.code(), &context.pool()};
}

inline void give_model(const ContextRef& context, HeapPtr<Model>&& made, volta_model** out_model) {
    *out_model = make_handle<volta_model>(context, share(context, std::move(made)));
}

ReadOptions read_open_options(const volta_open_options* options, const Stop& stop);

// The model, which has no adapters that would get lost. Throws UNSUPPORTED.
inline const Model& without_adapters(const volta_model* model) {
    if (model->model->base != nullptr)
        fail(VOLTA_UNSUPPORTED,
             "the model has adapters, of which this would make nothing: volta_model_merge_adapter first");
    return *model->model;
}

}  // namespace volta::api
