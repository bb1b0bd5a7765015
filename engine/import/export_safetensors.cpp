#include "engine/import/export_safetensors.h"

#include "engine/base/error.h"
#include "engine/import/safetensors_header.h"

namespace volta {
namespace {

std::pmr::string header_of(const Model& model, std::pmr::memory_resource* heap) {
    SafetensorsHeader header(heap);
    for (const Metadata& text : model.metadata) header.add_text(text.key, text.value);
    for (const NamedTensor& parameter : model.parameters) header.add_tensor(parameter.name, parameter.shape);
    return header.finish();
}

}  // namespace

void require_f32(const Model& model) {
    for (const NamedTensor& parameter : model.parameters)
        if (is_stored(parameter.dtype))
            fail(VOLTA_UNSUPPORTED,
                 "parameter '%s' is stored as %s: export the f32 model that it was made of",
                 parameter.name.c_str(), dtype_name(parameter.dtype));
}

void export_safetensors(const Model& model, const char* path, std::pmr::memory_resource* heap,
                        const Stop& stop) {
    require_f32(model);
    AtomicFile file(path, heap, stop);
    write_header(file, header_of(model, heap));
    for (const NamedTensor& parameter : model.parameters)
        if (parameter.bytes() > 0) file.write(parameter.data, parameter.bytes());
    file.commit();
}

}  // namespace volta
