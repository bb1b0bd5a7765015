// volta_data.hpp - the C++17 binding of volta_data.h, in the manner of volta.hpp: data sets, pictures, texts, loaders.
#ifndef VOLTA_DATA_HPP
#define VOLTA_DATA_HPP

#include "volta.hpp"

#include <volta_data.h>

namespace volta {
#ifdef VOLTA_NO_EXCEPTIONS
inline namespace without_exceptions {
#endif

inline const char *data_version() noexcept { return volta_data_version(); }

inline void check_data(volta_status status) {
    if (status != VOLTA_OK) fail(status, volta_data_last_error());
}

namespace detail {
template <class T, class Function, class... Arguments>
T *made_of_data(Function function, Arguments... arguments) {
    T *out = nullptr;
    check_data(function(arguments..., &out));
    return out;
}
template <class Info, class Function, class Owner>
Info info_of_data(Function function, const Owner *owner) {
    auto info = options<Info>();
    check_data(function(owner, &info));
    return info;
}
}  // namespace detail

// A picture of bytes, [channels, height, width].
class picture : public handle<volta_picture, volta_picture_release> {
  public:
    explicit picture(volta_picture *owned) noexcept : handle(owned) {}
    static picture open(const char *path, const volta_dataset_options &how = options<volta_dataset_options>()) {
        return picture(detail::made_of_data<volta_picture>(volta_picture_open, path, &how));
    }
    // Its pixels are lent until it is released.
    volta_picture_info info() const { return detail::info_of_data<volta_picture_info>(volta_picture_get_info, get()); }
    picture resize(std::uint32_t height, std::uint32_t width, volta_filter filter = VOLTA_FILTER_BILINEAR) const {
        return picture(detail::made_of_data<volta_picture>(volta_picture_resize, get(), height, width, filter));
    }
    void transform(const volta_transform_options &how, span<float> values) const {
        check_data(volta_picture_transform(get(), &how, values.data(), values.size()));
    }
};

class dataset : public handle<volta_dataset, volta_dataset_release> {
  public:
    dataset(volta_data_format format, span<const char *const> paths,
            const volta_dataset_options &how = options<volta_dataset_options>())
        : handle(detail::made_of_data<volta_dataset>(volta_dataset_open, format, paths.data(), paths.size(), &how)) {}
    volta_dataset_info info() const { return detail::info_of_data<volta_dataset_info>(volta_dataset_get_info, get()); }
    // NULL: there is no such class.
    const char *class_name(std::uint32_t index) const noexcept { return volta_dataset_class_name(get(), index); }
    std::string sample_name(std::uint64_t index) const {
        char text[4096] = "";
        check_data(volta_dataset_sample_name(get(), index, text, sizeof text));
        return text;
    }
    picture read(std::uint64_t index) const {
        return picture(detail::made_of_data<volta_picture>(volta_dataset_read, get(), index));
    }
};

class text : public handle<volta_text, volta_text_release> {
  public:
    explicit text(span<const char *const> paths, const volta_dataset_options &how = options<volta_dataset_options>())
        : handle(detail::made_of_data<volta_text>(volta_text_open, paths.data(), paths.size(), &how)) {}
    volta_text_info info() const { return detail::info_of_data<volta_text_info>(volta_text_get_info, get()); }
    // Lent until it is released.
    std::string_view bytes() const {
        const volta_text_info found = info();
        return {found.bytes != nullptr ? found.bytes : "", static_cast<std::size_t>(found.byte_count)};
    }
    // The sum of 1u << split over the parts that a folder has.
    static std::uint32_t parts(const char *folder, const volta_dataset_options &how = options<volta_dataset_options>()) {
        std::uint32_t found = 0;
        check_data(volta_text_parts(folder, &how, &found));
        return found;
    }
};

// Lines of JSON to fine-tune on.
class documents : public handle<volta_documents, volta_documents_release> {
  public:
    documents(const char *name, std::string_view text, const volta_dataset_options &how = options<volta_dataset_options>())
        : handle(detail::made_of_data<volta_documents>(volta_documents_parse, name, text.data(), text.size(), &how)) {}
    std::uint64_t size() const noexcept { return volta_documents_count(get()); }
    // What it points to is lent until the documents are released.
    volta_document operator[](std::uint64_t index) const {
        auto document = options<volta_document>();
        check_data(volta_documents_get(get(), index, &document));
        return document;
    }
};

// Which row takes which document, and where it begins there.
struct packed_documents {
    std::vector<std::uint64_t> rows, places;
    std::uint64_t row_count = 0;
};
// Documents of so many tokens side by side, each in the first row that has room for it.
inline packed_documents pack_documents(const std::vector<std::uint64_t> &lengths, std::uint64_t row_tokens) {
    packed_documents packed;
    packed.rows.resize(lengths.size());
    packed.places.resize(lengths.size());
    check_data(volta_documents_pack(lengths.data(), lengths.size(), row_tokens, nullptr, packed.rows.data(), packed.places.data(),
                                    &packed.row_count));
    return packed;
}

class loader : public handle<volta_loader, volta_loader_release> {
  public:
    explicit loader(const dataset &of, const volta_loader_options &how = options<volta_loader_options>())
        : handle(detail::made_of_data<volta_loader>(volta_loader_create, of.get(), &how)) {}
    // What it points to is lent until the next call.
    volta_batch next() {
        volta_batch batch = VOLTA_BATCH_INIT;
        check_data(volta_loader_next(get(), &batch));
        return batch;
    }
    struct place {
        std::uint64_t epoch, batch;
    };
    place position() const {
        place found{};
        check_data(volta_loader_get_position(get(), &found.epoch, &found.batch));
        return found;
    }
    void seek(std::uint64_t epoch, std::uint64_t batch = 0) { check_data(volta_loader_seek(get(), epoch, batch)); }
};

#ifdef VOLTA_NO_EXCEPTIONS
}  // namespace without_exceptions
#endif
}  // namespace volta

#endif  // VOLTA_DATA_HPP
