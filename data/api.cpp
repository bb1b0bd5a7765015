// volta_data.h implemented: handles, options, exceptions to statuses.
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "data/data_set.h"
#include "data/decode.h"
#include "data/documents.h"
#include "data/guard.h"
#include "data/input_file.h"
#include "data/loader.h"
#include "data/pack_documents.h"
#include "data/resize.h"
#include "data/text_files.h"
#include "data/transform.h"
#include "engine/base/option_structs.h"

namespace volta {

VOLTA_FIELDS(volta_dataset_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(allocator), VOLTA_FIELD(log),
             VOLTA_FIELD(log_user), VOLTA_FIELD(split), VOLTA_FIELD(reserved), VOLTA_FIELD(max_pixels),
             VOLTA_FIELD(max_file_bytes));
VOLTA_FIELDS(volta_dataset_info, VOLTA_FIELD(struct_size), VOLTA_FIELD(sample_count),
             VOLTA_FIELD(class_count), VOLTA_FIELD(channels), VOLTA_FIELD(height), VOLTA_FIELD(width));
VOLTA_FIELDS(volta_picture_info, VOLTA_FIELD(struct_size), VOLTA_FIELD(pixels), VOLTA_FIELD(channels),
             VOLTA_FIELD(height), VOLTA_FIELD(width), VOLTA_FIELD(label));
VOLTA_FIELDS(volta_transform_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(channels), VOLTA_FIELD(height),
             VOLTA_FIELD(width), VOLTA_FIELD(resize), VOLTA_FIELD(filter), VOLTA_FIELD(mean),
             VOLTA_FIELD(deviation), VOLTA_FIELD(random_crop), VOLTA_FIELD(crop_padding),
             VOLTA_FIELD(random_resized_crop), VOLTA_FIELD(area_min), VOLTA_FIELD(area_max),
             VOLTA_FIELD(ratio_min), VOLTA_FIELD(ratio_max), VOLTA_FIELD(flip), VOLTA_FIELD(brightness),
             VOLTA_FIELD(contrast), VOLTA_FIELD(saturation), VOLTA_FIELD(cutout), VOLTA_FIELD(mixup));
VOLTA_FIELDS(volta_loader_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(transform), VOLTA_FIELD(seed),
             VOLTA_FIELD(sample_limit), VOLTA_FIELD(batch), VOLTA_FIELD(thread_count), VOLTA_FIELD(queue),
             VOLTA_FIELD(order), VOLTA_FIELD(batches), VOLTA_FIELD(damaged), VOLTA_FIELD(flags),
             VOLTA_FIELD(reserved));
VOLTA_FIELDS(volta_text_info, VOLTA_FIELD(struct_size), VOLTA_FIELD(bytes), VOLTA_FIELD(byte_count),
             VOLTA_FIELD(path), VOLTA_FIELD(file_count));
VOLTA_FIELDS(volta_document, VOLTA_FIELD(struct_size), VOLTA_FIELD(prompt), VOLTA_FIELD(completion),
             VOLTA_FIELD(messages), VOLTA_FIELD(message_count), VOLTA_FIELD(text), VOLTA_FIELD(text_pair),
             VOLTA_FIELD(label_name), VOLTA_FIELD(label), VOLTA_FIELD(line));
VOLTA_FIELDS(volta_batch, VOLTA_FIELD(struct_size), VOLTA_FIELD(pixels), VOLTA_FIELD(labels),
             VOLTA_FIELD(weights), VOLTA_FIELD(samples), VOLTA_FIELD(epoch), VOLTA_FIELD(batch),
             VOLTA_FIELD(batches_of_epoch), VOLTA_FIELD(skipped), VOLTA_FIELD(count), VOLTA_FIELD(channels),
             VOLTA_FIELD(height), VOLTA_FIELD(width));

}  // namespace volta

struct volta_dataset {
    volta::data::HomeRef home;
    volta::data::DataSetRef data;
};

struct volta_picture {
    volta::data::HomeRef home;
    volta::data::Picture picture;
};

struct volta_text {
    volta::data::HomeRef home;
    volta::data::TextFiles files;
};

struct volta_documents {
    volta::data::HomeRef home;
    volta::data::Documents documents;
};

struct volta_loader {
    volta::data::HomeRef home;
    volta::data::Loader loader;
};

namespace volta::data {
namespace {

thread_local char last_error[512] = "";

// A handle on the host's heap, made from braces.
template <class Handle, class... Args>
Handle* make_handle(const HomeRef& home, Args&&... args) {
    std::pmr::memory_resource* const heap = home->structures();
    void* const place = heap->allocate(sizeof(Handle), alignof(Handle));
    try {
        return new (place) Handle{home, std::forward<Args>(args)...};
    } catch (...) {
        heap->deallocate(place, sizeof(Handle), alignof(Handle));
        throw;
    }
}

template <class Handle>
void end_handle(Handle* handle) noexcept {
    if (handle == nullptr) return;
    unfailing([&] {
        const HomeRef home = handle->home;  // outlives the handle's memory
        handle->~Handle();
        home->structures()->deallocate(handle, sizeof(Handle), alignof(Handle));
    });
}

template <class Out>
void begin_out(Out* out, const char* name) {
    require(out != nullptr, "%s is NULL", name);
    *out = {};
}

HomeRef make_home(const volta_dataset_options& options, volta_data_split last = VOLTA_SPLIT_TEST) {
    require(options.split >= VOLTA_SPLIT_TRAIN && options.split <= last,
            options.split == VOLTA_SPLIT_VALIDATION ? "split is %d, which only texts have"
                                                    : "split is %d, an unknown one",
            options.split);
    require(options.reserved == 0, "reserved is %u, not 0", options.reserved);
    return HomeRef(Home::create(options));
}

void check_paths(const char* const* paths, std::size_t count) {
    constexpr std::size_t kMostPaths = 1024;  // each may keep a file open
    require(paths != nullptr && count > 0, "no path was given");
    require(count <= kMostPaths, "%zu paths were given, at most %zu are possible", count, kMostPaths);
    for (std::size_t i = 0; i < count; ++i)
        require(paths[i] != nullptr && *paths[i] != '\0', "path %zu is empty", i);
}

DataSetRef open_data(volta_data_format format, const HomeRef& home, const Paths& paths) {
    switch (format) {
        case VOLTA_DATA_CIFAR10:
            return open_cifar(home, paths, false);
        case VOLTA_DATA_CIFAR100:
            return open_cifar(home, paths, true);
        case VOLTA_DATA_IDX:
            return open_idx(home, paths);
        case VOLTA_DATA_FOLDER:
            return open_class_folder(home, paths);
        default:
            fail(VOLTA_INVALID_ARGUMENT, "format is %d, an unknown one", format);
    }
}

void check_sample(const volta_dataset& dataset, std::uint64_t index) {
    require(index < dataset.data->count(), "sample is %llu, and there are %llu",
            static_cast<unsigned long long>(index), static_cast<unsigned long long>(dataset.data->count()));
}

}  // namespace

volta_status set_last_error(volta_status status, const char* text) noexcept {
    std::snprintf(last_error, sizeof last_error, "%s", text);
    return status;
}

}  // namespace volta::data

using namespace volta;
using namespace volta::data;

const char* volta_data_version(void) { return VOLTA_VERSION_TEXT; }

const char* volta_data_last_error(void) { return last_error; }

volta_status volta_dataset_open(volta_data_format format, const char* const* paths, size_t path_count,
                                const volta_dataset_options* options, volta_dataset** out_dataset) {
    return guarded([&] {
        begin_out(out_dataset, "out_dataset");
        check_paths(paths, path_count);
        const volta_dataset_options given = read_options(options);
        const HomeRef home = make_home(given);
        DataSetRef data = open_data(format, home, {paths, path_count, given.split});
        *out_dataset = make_handle<volta_dataset>(home, std::move(data));
    });
}

void volta_dataset_release(volta_dataset* dataset) { end_handle(dataset); }

volta_status volta_dataset_get_info(const volta_dataset* dataset, volta_dataset_info* info) {
    return guarded([&] {
        require(dataset != nullptr, "dataset is NULL");
        volta_dataset_info whole = VOLTA_DATASET_INFO_INIT;
        whole.sample_count = dataset->data->count();
        whole.class_count = dataset->data->classes();
        whole.channels = dataset->data->channels();
        whole.height = dataset->data->height();
        whole.width = dataset->data->width();
        write_report(whole, info);
    });
}

const char* volta_dataset_class_name(const volta_dataset* dataset, uint32_t index) {
    return dataset != nullptr && index < dataset->data->classes() ? dataset->data->class_name(index)
                                                                  : nullptr;
}

volta_status volta_dataset_sample_name(const volta_dataset* dataset, uint64_t index, char* text,
                                       size_t capacity) {
    return guarded([&] {
        require(text != nullptr && capacity > 0, "there is no room for a name");
        *text = '\0';
        require(dataset != nullptr, "dataset is NULL");
        check_sample(*dataset, index);
        dataset->data->name_sample(index, text, capacity);
    });
}

volta_status volta_dataset_read(volta_dataset* dataset, uint64_t index, volta_picture** out_picture) {
    return guarded([&] {
        begin_out(out_picture, "out_picture");
        require(dataset != nullptr, "dataset is NULL");
        check_sample(*dataset, index);
        Scratch scratch(dataset->home->structures());
        Picture picture(dataset->home->tensors());
        dataset->data->read(index, scratch, picture);
        *out_picture = make_handle<volta_picture>(dataset->home, std::move(picture));
    });
}

volta_status volta_picture_open(const char* path, const volta_dataset_options* options,
                                volta_picture** out_picture) {
    return guarded([&] {
        begin_out(out_picture, "out_picture");
        require(path != nullptr && *path != '\0', "path is empty");
        const HomeRef home = make_home(read_options(options));
        Scratch scratch(home->structures());
        Picture picture(home->tensors());
        const std::size_t bytes = read_whole(path, home->limits().file_bytes, scratch.file);
        decode_picture(path, scratch.file.data(), bytes, home->limits(), home->structures(), scratch,
                       picture);
        *out_picture = make_handle<volta_picture>(home, std::move(picture));
    });
}

void volta_picture_release(volta_picture* picture) { end_handle(picture); }

volta_status volta_picture_get_info(const volta_picture* picture, volta_picture_info* info) {
    return guarded([&] {
        require(picture != nullptr, "picture is NULL");
        volta_picture_info whole = VOLTA_PICTURE_INFO_INIT;
        whole.pixels = picture->picture.pixels();
        whole.channels = picture->picture.channels();
        whole.height = picture->picture.height();
        whole.width = picture->picture.width();
        whole.label = picture->picture.label;
        write_report(whole, info);
    });
}

volta_status volta_picture_resize(const volta_picture* picture, uint32_t height, uint32_t width,
                                  volta_filter filter, volta_picture** out_picture) {
    return guarded([&] {
        begin_out(out_picture, "out_picture");
        require(picture != nullptr, "picture is NULL");
        require(height > 0 && width > 0, "height is %u and width is %u: neither may be 0", height, width);
        require(is_filter(filter), "filter is %d, an unknown one", filter);
        Home& home = *picture->home;
        Scratch scratch(home.structures());
        Picture resized(home.tensors());
        resize(picture->picture.view(), height, width, filter, home.limits().pixels, scratch.weights,
               scratch.half, resized);
        resized.label = picture->picture.label;
        *out_picture = make_handle<volta_picture>(picture->home, std::move(resized));
    });
}

volta_status volta_picture_transform(const volta_picture* picture, const volta_transform_options* options,
                                     float* values, size_t value_count) {
    return guarded([&] {
        require(picture != nullptr, "picture is NULL");
        require(values != nullptr, "values is NULL");
        const Picture& from = picture->picture;
        const Transform transform(read_options(options), from.channels(), from.height(), from.width(),
                                  picture->home->limits().pixels);
        require(value_count == transform.elements(),
                "value_count is %zu, and the picture becomes %u x %u x %u values", value_count,
                transform.channels(), transform.height(), transform.width());
        Scratch scratch(picture->home->structures());
        transform.apply(from, nullptr, scratch, values);
    });
}

volta_status volta_text_open(const char* const* paths, size_t path_count,
                             const volta_dataset_options* options, volta_text** out_text) {
    return guarded([&] {
        begin_out(out_text, "out_text");
        check_paths(paths, path_count);
        const volta_dataset_options given = read_options(options);
        const HomeRef home = make_home(given, VOLTA_SPLIT_VALIDATION);
        *out_text = make_handle<volta_text>(home, read_texts(home, {paths, path_count, given.split}));
    });
}

void volta_text_release(volta_text* text) { end_handle(text); }

volta_status volta_text_get_info(const volta_text* text, volta_text_info* info) {
    return guarded([&] {
        require(text != nullptr, "text is NULL");
        volta_text_info whole = VOLTA_TEXT_INFO_INIT;
        whole.bytes = text->files.bytes.c_str();
        whole.byte_count = text->files.bytes.size();
        whole.path = text->files.name.c_str();
        whole.file_count = text->files.files;
        write_report(whole, info);
    });
}

volta_status volta_text_parts(const char* folder, const volta_dataset_options* options, uint32_t* out_parts) {
    return guarded([&] {
        begin_out(out_parts, "out_parts");
        check_paths(&folder, 1);
        const HomeRef home = make_home(read_options(options), VOLTA_SPLIT_VALIDATION);
        *out_parts = text_parts(folder, home->structures());
    });
}

volta_status volta_documents_parse(const char* name, const char* text, size_t text_bytes,
                                   const volta_dataset_options* options, volta_documents** out_documents) {
    return guarded([&] {
        begin_out(out_documents, "out_documents");
        require(name != nullptr && *name != '\0', "name is NULL or empty");
        require(text != nullptr || text_bytes == 0, "text is NULL");
        const HomeRef home = make_home(read_options(options), VOLTA_SPLIT_VALIDATION);
        *out_documents = make_handle<volta_documents>(
            home, parse_documents(name, std::string_view(text, text_bytes), home->structures()));
    });
}

void volta_documents_release(volta_documents* documents) { end_handle(documents); }

uint64_t volta_documents_count(const volta_documents* documents) {
    return documents != nullptr ? documents->documents.size() : 0;
}

volta_status volta_documents_get(const volta_documents* documents, uint64_t index, volta_document* document) {
    return guarded([&] {
        require(documents != nullptr, "documents is NULL");
        require(index < documents->documents.size(), "document is %llu, and there are %zu",
                static_cast<unsigned long long>(index), documents->documents.size());
        const Document& from = documents->documents[index];
        volta_document whole = VOLTA_DOCUMENT_INIT;
        whole.label = from.label;
        whole.line = from.line;
        const bool prompt = from.kind == Document::Kind::prompt,
                   messages = from.kind == Document::Kind::messages;
        if (prompt) {
            whole.prompt = from.prompt.c_str();
            whole.completion = from.completion.c_str();
        }
        if (messages) {
            whole.messages = from.views.data();
            whole.message_count = from.views.size();
        }
        if (!prompt && !messages) whole.text = from.text.c_str();
        if (from.has_pair) whole.text_pair = from.pair.c_str();
        if (from.has_label_name) whole.label_name = from.label_name.c_str();
        write_report(whole, document);
    });
}

volta_status volta_documents_pack(const uint64_t* lengths, uint64_t count, uint64_t row_tokens,
                                  const volta_dataset_options* options, uint64_t* rows, uint64_t* places,
                                  uint64_t* out_row_count) {
    return guarded([&] {
        require(out_row_count != nullptr, "out_row_count is NULL");
        *out_row_count = 0;
        require(count == 0 || (lengths != nullptr && rows != nullptr && places != nullptr),
                "lengths, rows or places is NULL");
        const HomeRef home = make_home(read_options(options), VOLTA_SPLIT_VALIDATION);
        *out_row_count = pack_documents(lengths, count, row_tokens, rows, places, home->structures());
    });
}

volta_status volta_loader_create(volta_dataset* dataset, const volta_loader_options* options,
                                 volta_loader** out_loader) {
    return guarded([&] {
        begin_out(out_loader, "out_loader");
        require(dataset != nullptr, "dataset is NULL");
        const volta_loader_options given = read_options(options);
        std::pmr::memory_resource* const heap = dataset->home->structures();
        void* const place = heap->allocate(sizeof(volta_loader), alignof(volta_loader));
        try {
            *out_loader = new (place)
                volta_loader{dataset->home, {dataset->data, given, read_options(given.transform)}};
        } catch (...) {
            heap->deallocate(place, sizeof(volta_loader), alignof(volta_loader));
            throw;
        }
    });
}

void volta_loader_release(volta_loader* loader) { end_handle(loader); }

volta_status volta_loader_next(volta_loader* loader, volta_batch* batch) {
    return guarded([&] {
        require(batch != nullptr, "batch is NULL");
        volta_batch none = VOLTA_BATCH_INIT;
        write_report(none, batch);
        require(loader != nullptr, "loader is NULL");
        write_report(loader->loader.next(), batch);
    });
}

volta_status volta_loader_get_position(const volta_loader* loader, uint64_t* out_epoch, uint64_t* out_batch) {
    return guarded([&] {
        begin_out(out_epoch, "out_epoch");
        begin_out(out_batch, "out_batch");
        require(loader != nullptr, "loader is NULL");
        const Position position = loader->loader.position();
        *out_epoch = position.epoch;
        *out_batch = position.batch;
    });
}

volta_status volta_loader_seek(volta_loader* loader, uint64_t epoch, uint64_t batch) {
    return guarded([&] {
        require(loader != nullptr, "loader is NULL");
        loader->loader.seek({epoch, batch});
    });
}
