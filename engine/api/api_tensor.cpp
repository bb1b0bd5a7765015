// volta.h: what host tensors hold, how they print and compare, and their files. How they are made:
// api_context.cpp.
#include <cmath>
#include <cstring>

#include "engine/api/guard.h"
#include "engine/api/handles.h"
#include "engine/api/new_models.h"
#include "engine/api/options.h"
#include "engine/base/format.h"
#include "engine/import/tensor_file.h"
#include "engine/runtime/compare_tensors.h"
#include "engine/runtime/fill_tensor.h"
#include "engine/runtime/print_tensor.h"

using namespace volta;
using namespace volta::api;

struct volta_tensors {
    ContextRef context;
    std::pmr::vector<std::pmr::string> names;
    std::pmr::vector<Tensor*> tensors;
    ~volta_tensors() {
        for (Tensor* tensor : tensors) release(tensor);
    }
};

namespace {

// What a tensor holds, for every function here that reads it; a tape's result is computed if need be.
const TensorView& view_of(const volta_tensor* tensor, const char* name) {
    require(tensor != nullptr, "%s is NULL", name);
    compute(*const_cast<volta_tensor*>(tensor));
    return tensor->view;
}

// For those that write it.
const TensorView& writable_view_of(const volta_tensor* tensor) {
    require(tensor != nullptr, "tensor is NULL");
    require(tensor->role == Tensor::Role::leaf, "the tensor is a tape's: its elements are computed, not set");
    require_elements(*tensor);
    return tensor->view;
}

constexpr std::uint32_t kStreams = std::uint32_t{1} << 24;  // engine/numerics/random.h

Init read_init(const volta_init* init) {
    if (init == nullptr) return {};
    const Init start{init->kind, init->a, init->b};
    require(start.kind >= VOLTA_INIT_CONSTANT && start.kind <= VOLTA_INIT_UNIFORM,
            "init kind is %d, it must be in 0 .. 2", start.kind);
    require(std::isfinite(start.a) && std::isfinite(start.b), "init %g, %g is not finite", start.a, start.b);
    return start;
}

void check_tolerance(const char* name, double value) {
    require(std::isfinite(value) && value >= 0, "%s is %g, it must be a finite number of at least 0", name,
            value);
}

void check_path(const char* path) { require(path != nullptr && *path != '\0', "path is NULL or empty"); }

std::pmr::vector<NamedArray> read_named(const char* const* names, const volta_tensor* const* tensors,
                                        std::size_t count, std::pmr::memory_resource* heap) {
    std::pmr::vector<NamedArray> arrays(heap);
    for (std::size_t i = 0; i < count; ++i) {
        char place[32];
        format_text(place, sizeof place, "tensor %zu", i);
        const TensorView& view = view_of(tensors[i], place);
        require(names == nullptr || names[i] != nullptr, "the name of tensor %zu is NULL", i);
        arrays.push_back({names != nullptr ? names[i] : "", view.dtype, view.shape, view.data});
    }
    return arrays;
}

}  // namespace

volta_status volta_tensor_fill(volta_tensor* tensor, double value) {
    return guarded([&] { fill_tensor(writable_view_of(tensor), value); });
}

volta_status volta_tensor_arange(volta_tensor* tensor, double start, double step) {
    return guarded([&] { fill_arange(writable_view_of(tensor), start, step); });
}

volta_status volta_tensor_random(volta_tensor* tensor, const volta_init* init, uint64_t seed,
                                 uint32_t stream) {
    return guarded([&] {
        const TensorView& view = writable_view_of(tensor);
        require(view.dtype == DType::f32, "the tensor is of i32: f32 alone is drawn");
        const Init start = read_init(init);
        require(stream < kStreams, "stream is %u, it must be below 2^24", stream);
        Context& context = *tensor->context;
        Initialiser(init_machine(context), seed, context.structures())
            .fill(static_cast<float*>(view.data), view.shape, start, stream);
    });
}

volta_status volta_tensor_print(volta_tensor* tensor, const char** out_text) {
    if (out_text != nullptr) *out_text = "";
    return guarded([&] {
        const TensorView& view = view_of(tensor, "tensor");
        require(out_text != nullptr, "out_text is NULL");
        std::pmr::memory_resource* const heap = tensor->context->structures();
        const std::pmr::string text = print_tensor(view, heap);
        tensor->text = Buffer(heap, text.size() + 1);
        std::memcpy(tensor->text.data(), text.c_str(), text.size() + 1);
        *out_text = static_cast<const char*>(tensor->text.data());
    });
}

volta_status volta_tensor_compare(const volta_tensor* a, const volta_tensor* b, double rtol, double atol,
                                  volta_comparison* report) {
    return guarded([&] {
        write_report(volta_comparison{}, report);
        const TensorView &given = view_of(a, "a"), &expected = view_of(b, "b");
        check_tolerance("rtol", rtol);
        check_tolerance("atol", atol);
        write_report(compare_tensors(given, expected, {rtol, atol}), report);
    });
}

volta_status volta_tensors_save(volta_context* context, const char* path, const char* const* names,
                                const volta_tensor* const* tensors, size_t count) {
    return guarded([&] {
        require(context != nullptr, "context is NULL");
        check_path(path);
        require(tensors != nullptr || count == 0, "tensors is NULL");
        const ContextRef owner(unwrap(context));
        std::pmr::memory_resource* const heap = owner->structures();
        write_tensor_file(path, read_named(names, tensors, count, heap), heap, owner->stop());
    });
}

volta_status volta_tensors_open(volta_context* context, const char* path, volta_tensors** out_tensors) {
    if (out_tensors != nullptr) *out_tensors = nullptr;
    return guarded([&] {
        require(context != nullptr && out_tensors != nullptr, "%s is NULL",
                context == nullptr ? "context" : "out_tensors");
        check_path(path);
        const ContextRef owner(unwrap(context));
        std::pmr::memory_resource* const heap = owner->structures();
        std::pmr::vector<HostArray> arrays = read_tensor_file(path, heap, owner->tensors(), owner->stop());
        volta_tensors* const made = make_handle<volta_tensors>(
            owner, std::pmr::vector<std::pmr::string>(heap), std::pmr::vector<Tensor*>(heap));
        try {
            made->names.reserve(arrays.size());
            made->tensors.reserve(arrays.size());
            for (HostArray& array : arrays) {
                const TensorView view{array.dtype, array.shape, array.data.data()};
                made->tensors.push_back(make_tensor(owner, view, std::move(array.data)));
                made->names.push_back(std::move(array.name));
            }
        } catch (...) {
            end_handle(made);
            throw;
        }
        *out_tensors = made;
    });
}

void volta_tensors_release(volta_tensors* tensors) {
    unfailing([&] { end_handle(tensors); });
}

size_t volta_tensors_count(const volta_tensors* tensors) {
    return tensors != nullptr ? tensors->tensors.size() : 0;
}
const char* volta_tensors_name(const volta_tensors* tensors, size_t index) {
    return index < volta_tensors_count(tensors) ? tensors->names[index].c_str() : nullptr;
}
volta_tensor* volta_tensors_tensor(volta_tensors* tensors, size_t index) {
    return index < volta_tensors_count(tensors) ? as_handle(tensors->tensors[index]) : nullptr;
}
