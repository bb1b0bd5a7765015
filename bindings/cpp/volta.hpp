// volta.hpp - the C++17 binding of volta.h: handles that end what they own, exceptions, spans and string views.
//
// One header over the C interface, which stays the manual: every class has the functions of volta.h that begin with
// its name, options are the structs of volta.h, begun by volta::options<volta_gpt_options>(), and a handle gives
// itself where a function of volta.h is called. Nothing is copied, nothing allocated but what std::string and
// std::vector say. A status that is not VOLTA_OK throws volta::error. With VOLTA_NO_EXCEPTIONS defined before the header is
// included nothing is thrown, and -fno-exceptions will do: a call that failed gives nothing (an empty handle, 0, no
// elements), and volta::take_failure() says what the thread's first failure was. In both cases volta::attempt(body) gives
// volta::expected: what the body returns, or its failure.
// Threads: as in volta.h; a handle is moved, not copied.
#ifndef VOLTA_HPP
#define VOLTA_HPP

#include <volta.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace volta {
#ifdef VOLTA_NO_EXCEPTIONS
inline namespace without_exceptions {  // names of their own: a program may have files of both kinds
#endif

// ---- Errors ----------------------------------------------------------------------------------------------

struct failure {
    volta_status status = VOLTA_OK;
    std::string text;  // the library's sentence
};

#ifndef VOLTA_NO_EXCEPTIONS
class error : public std::runtime_error {
  public:
    error(volta_status status, const char *text) : std::runtime_error(text), status_(status) {}
    volta_status status() const noexcept { return status_; }

  private:
    volta_status status_;
};
[[noreturn]] inline void fail(volta_status status, const char *text) { throw error(status, text); }
#else
namespace detail {
inline thread_local failure first_failure;
}
inline void fail(volta_status status, const char *text) {
    if (detail::first_failure.status == VOLTA_OK) detail::first_failure = {status, text};
}
// The first failure of this thread since the last one was taken; VOLTA_OK: none.
inline failure take_failure() { return std::exchange(detail::first_failure, failure{}); }
#endif

inline void check(volta_status status) {
    if (status != VOLTA_OK) fail(status, volta_last_error());
}

// What a body gave, or why it did not.
template <class T>
class expected {
  public:
    expected(T value) : value_(std::move(value)) {}
    expected(failure why) : why_(std::move(why)) {}
    explicit operator bool() const noexcept { return value_.has_value(); }
    T &operator*() & noexcept { return *value_; }
    T &&operator*() && noexcept { return std::move(*value_); }
    T *operator->() noexcept { return &*value_; }
    const failure &error() const noexcept { return why_; }

  private:
    std::optional<T> value_;
    failure why_;
};
template <>
class expected<void> {
  public:
    expected() = default;
    expected(failure why) : why_(std::move(why)) {}
    explicit operator bool() const noexcept { return why_.status == VOLTA_OK; }
    const failure &error() const noexcept { return why_; }

  private:
    failure why_;
};

// Calls body(), and gives what it returns. Without exceptions it runs to its end; the first failure in it counts.
template <class Body>
expected<std::invoke_result_t<Body &>> attempt(Body &&body) {
    using T = std::invoke_result_t<Body &>;
#ifndef VOLTA_NO_EXCEPTIONS
    try {
        if constexpr (std::is_void_v<T>) {
            body();
            return {};
        } else {
            return body();
        }
    } catch (const error &thrown) {
        return failure{thrown.status(), thrown.what()};
    }
#else
    struct outer_failure {  // of calls before this one: it is there again behind it
        failure kept = take_failure();
        ~outer_failure() { detail::first_failure = std::move(kept); }
    } outer;
    if constexpr (std::is_void_v<T>) {
        body();
        return take_failure();
    } else {
        T value = body();
        failure why = take_failure();
        if (why.status != VOLTA_OK) return why;
        return value;
    }
#endif
}

// ---- What everything is made of ----------------------------------------------------------------------------

// Options of zeros, which are the defaults, with their size.
template <class Options>
Options options() {
    Options made{};
    made.struct_size = sizeof(Options);
    return made;
}

// Elements that somebody else owns.
template <class T>
class span {
  public:
    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    // Of an array, or of anything that has data() and size().
    template <class Container, class = std::enable_if_t<std::is_convertible_v<
                                   decltype(std::data(std::declval<Container &>())), T *>>>
    constexpr span(Container &&of) noexcept : data_(std::data(of)), size_(std::size(of)) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
    // Of a list that is written where the call is: it lives as long.
    constexpr span(std::initializer_list<std::remove_const_t<T>> list) noexcept
        : data_(list.begin()), size_(list.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};
using shape_view = span<const std::int64_t>;
using token_view = span<const std::int32_t>;

template <class T, void (*release)(T *)>
class handle {
  public:
    handle() noexcept = default;
    explicit handle(T *owned) noexcept : pointer_(owned) {}
    handle(handle &&from) noexcept : pointer_(std::exchange(from.pointer_, nullptr)) {}
    handle &operator=(handle &&from) noexcept {
        if (this != &from) reset(std::exchange(from.pointer_, nullptr));
        return *this;
    }
    ~handle() { reset(); }
    void reset(T *owned = nullptr) noexcept {
        if (T *const old = std::exchange(pointer_, owned)) release(old);
    }
    T *get() const noexcept { return pointer_; }
    operator T *() const noexcept { return pointer_; }
    explicit operator bool() const noexcept { return pointer_ != nullptr; }

  private:
    T *pointer_ = nullptr;
};

namespace detail {
// What a call of the kind (arguments..., T **out) gives.
template <class T, class Function, class... Arguments>
T *made(Function function, Arguments... arguments) {
    T *out = nullptr;
    check(function(arguments..., &out));
    return out;
}
template <class Function, class Owner>
std::string hash_of(Function function, const Owner *owner) {
    char text[33] = "";
    check(function(owner, text));
    return text;
}
// The text of a function of the kind (memory, capacity, out length).
template <class Ask>
std::string asked(Ask ask) {
    std::size_t bytes = 0;
    check(ask(nullptr, 0, &bytes));
    std::string text(bytes + 1, '\0');
    check(ask(text.data(), text.size(), &bytes));
    text.resize(bytes);
    return text;
}
template <class Function, class Owner>
const char *text_of(Function function, Owner *owner) {
    const char *text = nullptr;
    check(function(owner, &text));
    return text != nullptr ? text : "";
}
template <class Function, class Owner>
volta_bill bill_of(Function function, const Owner *owner) {
    volta_bill bill = VOLTA_BILL_INIT;
    check(function(owner, &bill));
    return bill;
}
template <class Element, class Function, class Owner, class... Arguments>
span<const Element> lent(Function function, const Owner *owner, Arguments... arguments) {
    const Element *data = nullptr;
    std::size_t count = 0;
    check(function(owner, arguments..., &data, &count));
    return {data, count};
}
}  // namespace detail

// ---- Of the library ------------------------------------------------------------------------------------------

inline const char *version() noexcept { return volta_version(); }
inline const char *status_name(volta_status status) noexcept { return volta_status_name(status); }
// How many devices a backend, "cpu" or "cuda", has; and one of them.
inline std::uint32_t device_count(const char *backend) {
    std::uint32_t count = 0;
    check(volta_device_count(backend, &count));
    return count;
}
inline volta_device_info describe_device(const char *backend, std::uint32_t index) {
    volta_device_info found = VOLTA_DEVICE_INFO_INIT;
    check(volta_device_describe(backend, index, &found));
    return found;
}
// The networks of volta_network_options; NULL: there are no more.
inline const char *network_name(std::size_t index) noexcept { return volta_network_name(index); }

// A request to stop that may come from anywhere, a signal handler too.
class cancel {
  public:
    void request() noexcept { volta_cancel_request(&raw_); }
    const volta_cancel *get() const noexcept { return &raw_; }

  private:
    volta_cancel raw_ = VOLTA_CANCEL_INIT;
};

// ---- Context, tensors ----------------------------------------------------------------------------------------

class context : public handle<volta_context, volta_context_release> {
  public:
    explicit context(const volta_context_options &chosen = options<volta_context_options>())
        : handle(detail::made<volta_context>(volta_context_create, &chosen)) {}
    volta_context_info info() const {
        volta_context_info found = VOLTA_CONTEXT_INFO_INIT;
        check(volta_context_get_info(get(), &found));
        return found;
    }
    volta_device_info device() const {
        volta_device_info found = VOLTA_DEVICE_INFO_INIT;
        check(volta_context_get_device(get(), &found));
        return found;
    }
    // From now on, what long calls ask between pieces of their work; what it points to is kept until the next set_stop. Without an
    // argument nothing ends them.
    void set_stop(const volta_stop_options &how) const { check(volta_context_set_stop(get(), &how)); }
    void set_stop() const { check(volta_context_set_stop(get(), nullptr)); }
    // About a second on all threads.
    volta_machine_speed measure_machine() const {
        volta_machine_speed found = VOLTA_MACHINE_SPEED_INIT;
        check(volta_measure_machine(get(), &found));
        return found;
    }
    void tune(const volta_tune_options &how) const { check(volta_tune(get(), &how)); }
    std::string explain_matmul(const volta_tune_shape &shape, std::uint32_t use = 0) const {
        return detail::asked([&](char *text, std::size_t capacity, std::size_t *bytes) {
            return volta_explain_matmul(get(), &shape, use, text, capacity, bytes);
        });
    }
    // What an ONNX file holds, as JSON.
    std::string survey(const char *path, const volta_import_options &how = options<volta_import_options>()) const {
        return detail::asked([&](char *text, std::size_t capacity, std::size_t *bytes) {
            return volta_model_survey(get(), path, &how, text, capacity, bytes);
        });
    }
    // capacity 0: 65536 events.
    void start_profile(std::uint64_t capacity = 0) const {
        auto how = options<volta_profile_options>();
        how.capacity = capacity;
        check(volta_profile_start(get(), &how));
    }
    void stop_profile() const { check(volta_profile_stop(get())); }
    volta_profile_info profile() const {
        volta_profile_info found = VOLTA_PROFILE_INFO_INIT;
        check(volta_profile_get_info(get(), &found));
        return found;
    }
    volta_profile_operator profile_operator(std::size_t index) const {
        volta_profile_operator row = VOLTA_PROFILE_OPERATOR_INIT;
        check(volta_profile_get_operator(get(), index, &row));
        return row;
    }
    volta_profile_event profile_event(std::size_t index) const {
        volta_profile_event event = VOLTA_PROFILE_EVENT_INIT;
        check(volta_profile_get_event(get(), index, &event));
        return event;
    }
    void write_trace(const char *path) const { check(volta_profile_write_trace(get(), path)); }
};

template <class Element>
constexpr volta_dtype dtype_of() {
    static_assert(std::is_same_v<Element, float> || std::is_same_v<Element, std::int32_t>, "float or int32_t");
    return std::is_same_v<Element, float> ? VOLTA_F32 : VOLTA_I32;
}

class tensor : public handle<volta_tensor, volta_tensor_release> {
  public:
    tensor() noexcept = default;
    // Of zeros.
    tensor(const context &in, shape_view shape, volta_dtype dtype = VOLTA_F32)
        : handle(detail::made<volta_tensor>(volta_tensor_create, in.get(), dtype, shape.data(),
                                            static_cast<std::int32_t>(shape.size()))) {}
    // Over memory of the host, which outlives it.
    template <class Element>
    static tensor wrap(const context &in, Element *data, shape_view shape) {
        tensor made;
        made.reset(detail::made<volta_tensor>(volta_tensor_wrap, in.get(), dtype_of<Element>(), shape.data(),
                                              static_cast<std::int32_t>(shape.size()), static_cast<void *>(data)));
        return made;
    }
    volta_dtype dtype() const noexcept { return volta_tensor_dtype(get()); }
    std::vector<std::int64_t> shape() const {
        std::vector<std::int64_t> extents;
        for (std::int32_t axis = 0; axis < volta_tensor_rank(get()); ++axis)
            extents.push_back(volta_tensor_extent(get(), axis));
        return extents;
    }
    // Its elements; of another type than it has: none.
    template <class Element = float>
    span<Element> elements() const noexcept {
        if (dtype() != dtype_of<Element>()) return {};
        return {static_cast<Element *>(volta_tensor_data(get())), static_cast<std::size_t>(volta_tensor_elements(get()))};
    }
    void fill(double value) { check(volta_tensor_fill(get(), value)); }
    void arange(double start, double step) { check(volta_tensor_arange(get(), start, step)); }
    // What a parameter of this shape starts with in a model made from the seed; stream: its number in the graph.
    void random(const volta_init &init, std::uint64_t seed, std::uint32_t stream = 0) {
        check(volta_tensor_random(get(), &init, seed, stream));
    }
    // The one element.
    double item() const {
        double value = 0;
        check(volta_tensor_item(get(), &value));
        return value;
    }
    // Whether backward() of a tape gives it a gradient; the gradient, lent, NULL: none; and from nothing again.
    void set_requires_grad(bool required) { check(volta_tensor_set_requires_grad(get(), required ? 1 : 0)); }
    volta_tensor *grad() const noexcept { return volta_tensor_grad(get()); }
    void zero_grad() { check(volta_tensor_zero_grad(get())); }
    // A tape's result, which outlives its record from now on.
    static tensor keep(volta_tensor *result) {
        tensor kept;
        check(volta_tensor_keep(result));
        kept.reset(result);
        return kept;
    }
    // As NumPy prints it.
    std::string text() const { return detail::text_of(volta_tensor_print, get()); }
    // How far it is from what is expected; tolerances of 0: by bits.
    volta_comparison compare(const tensor &expected, double rtol = 0, double atol = 0) const {
        volta_comparison found = VOLTA_COMPARISON_INIT;
        check(volta_tensor_compare(get(), expected.get(), rtol, atol, &found));
        return found;
    }
};

// Named tensors to a file that ends with .safetensors, .npz or .npy.
inline void save_tensors(const context &in, const char *path, span<const char *const> names,
                         span<const volta_tensor *const> tensors) {
    if (names.size() != tensors.size()) fail(VOLTA_INVALID_ARGUMENT, "there are not as many names as tensors");
    check(volta_tensors_save(in.get(), path, names.data(), tensors.data(), tensors.size()));
}

// Named tensors that were read from such a file, ascending by name. It lends them until it ends.
class tensors : public handle<volta_tensors, volta_tensors_release> {
  public:
    tensors(const context &in, const char *path)
        : handle(detail::made<volta_tensors>(volta_tensors_open, in.get(), path)) {}
    std::size_t size() const noexcept { return volta_tensors_count(get()); }
    const char *name(std::size_t index) const noexcept { return volta_tensors_name(get(), index); }  // NULL: none
    volta_tensor *operator[](std::size_t index) const noexcept { return volta_tensors_tensor(get(), index); }
};

// ---- Graphs ----------------------------------------------------------------------------------------------------

// An attribute of an operator, for the call that it is given to.
struct attribute : volta_attribute {
    attribute(const char *called, double value) : volta_attribute{called, value, nullptr, 0} {}
    attribute(const char *called, shape_view list) : volta_attribute{called, 0, list.data(), list.size()} {}
};

class graph : public handle<volta_graph, volta_graph_release> {
  public:
    explicit graph(const context &in) : handle(detail::made<volta_graph>(volta_graph_create, in.get())) {}
    volta_value input(const char *name, shape_view shape, volta_dtype dtype = VOLTA_F32) {
        volta_value value{-1};
        check(volta_graph_input(get(), name, dtype, shape.data(), static_cast<std::int32_t>(shape.size()), &value));
        return value;
    }
    volta_value parameter(const char *name, shape_view shape, const volta_init *init = nullptr) {
        volta_value value{-1};
        check(volta_graph_parameter(get(), name, shape.data(), static_cast<std::int32_t>(shape.size()), init, &value));
        return value;
    }
    volta_value constant(const tensor &values) {
        volta_value value{-1};
        check(volta_graph_constant(get(), values.get(), &value));
        return value;
    }
    volta_value apply(const char *op, span<const volta_value> inputs, std::initializer_list<attribute> attributes = {}) {
        volta_value value{-1};
        check(volta_graph_apply(get(), op, inputs.data(), inputs.size(), attributes.begin(), attributes.size(), &value, 1));
        return value;
    }
    volta_value linear(const char *name, volta_value x, std::int64_t features) {
        volta_value value{-1};
        check(volta_graph_linear(get(), name, x, features, &value));
        return value;
    }
    void output(const char *name, volta_value value) { check(volta_graph_output(get(), name, value)); }
    std::vector<std::int64_t> shape(volta_value value) const {
        std::int64_t extents[VOLTA_MAX_RANK];
        std::int32_t rank = 0;
        check(volta_graph_value_shape(get(), value, extents, &rank));
        return {extents, extents + rank};
    }
    std::string_view text() const { return detail::text_of(volta_graph_print, get()); }
};

// ---- Tokenizers --------------------------------------------------------------------------------------------------

class tokenizer : public handle<volta_tokenizer, volta_tokenizer_release> {
  public:
    tokenizer() noexcept = default;
    explicit tokenizer(volta_tokenizer *owned) noexcept : handle(owned) {}
    static tokenizer bytes(const context &in) {
        return tokenizer(detail::made<volta_tokenizer>(volta_tokenizer_create_byte, in.get()));
    }
    static tokenizer characters(const context &in, std::string_view text) {
        return tokenizer(detail::made<volta_tokenizer>(volta_tokenizer_create_char, in.get(), text.data(), text.size()));
    }
    static tokenizer train_bpe(const context &in, std::string_view text, std::int32_t vocabulary) {
        return tokenizer(
            detail::made<volta_tokenizer>(volta_tokenizer_train_bpe, in.get(), text.data(), text.size(), vocabulary));
    }
    static tokenizer open(const context &in, const char *path, volta_tokenizer_format format = VOLTA_TOKENIZER_AUTO) {
        return tokenizer(detail::made<volta_tokenizer>(volta_tokenizer_open, in.get(), path, format));
    }
    const char *kind() const noexcept { return volta_tokenizer_kind(get()); }
    std::int32_t size() const noexcept { return volta_tokenizer_size(get()); }
    std::vector<std::int32_t> encode(std::string_view text,
                                     const volta_encode_options &how = options<volta_encode_options>()) const {
        std::size_t count = 0;
        check(volta_tokenizer_encode_with(get(), &how, text.data(), text.size(), nullptr, 0, &count));
        std::vector<std::int32_t> ids(count);
        check(volta_tokenizer_encode_with(get(), &how, text.data(), text.size(), ids.data(), ids.size(), &count));
        return ids;
    }
    struct ids_of_pair {
        std::vector<std::int32_t> ids, segments;  // segments: 0 for ids of the text and what ends it, 1 behind
    };
    // Two texts beside each other, at most `max_tokens` ids where that is not 0.
    ids_of_pair encode_pair(std::string_view text, std::string_view pair, std::size_t max_tokens = 0,
                            volta_encode_options how = VOLTA_ENCODE_OPTIONS_INIT) const {
        how.ends = 1, how.pair = pair.data() != nullptr ? pair.data() : "", how.pair_bytes = pair.size();
        how.max_tokens = max_tokens, how.segments = nullptr;
        std::size_t count = 0;
        check(volta_tokenizer_encode_with(get(), &how, text.data(), text.size(), nullptr, 0, &count));
        ids_of_pair made{std::vector<std::int32_t>(count), std::vector<std::int32_t>(count)};
        how.segments = made.segments.data();
        check(volta_tokenizer_encode_with(get(), &how, text.data(), text.size(), made.ids.data(), count, &count));
        return made;
    }
    // The bytes of one id by itself, lent.
    std::string_view piece(std::int32_t id) const {
        const char *text = nullptr;
        std::size_t bytes = 0;
        check(volta_tokenizer_decode(get(), id, &text, &bytes));
        return {text != nullptr ? text : "", bytes};
    }
    std::string decode(token_view ids) const {
        std::string text;
        std::int32_t previous = -1;
        for (const std::int32_t id : ids) {
            const char *piece = nullptr;
            std::size_t bytes = 0;
            check(volta_tokenizer_decode_after(get(), previous, id, &piece, &bytes));
            text.append(piece, bytes);
            previous = id;
        }
        return text;
    }
    volta_special_ids special() const {
        volta_special_ids ids = VOLTA_SPECIAL_IDS_INIT;
        check(volta_tokenizer_special(get(), &ids));
        return ids;
    }
};

// ---- Models --------------------------------------------------------------------------------------------------------

// The formats of conversations; NULL past the last.
inline const char *chat_format_name(std::size_t index) noexcept { return volta_chat_format_name(index); }

class model : public handle<volta_model, volta_model_release> {
  public:
    model() noexcept = default;
    explicit model(volta_model *owned) noexcept : handle(owned) {}
    explicit model(const graph &of, std::uint64_t seed = 0)
        : handle(detail::made<volta_model>(volta_model_create, of.get(), seed)) {}
    model(const context &in, const volta_gpt_options &sizes, std::uint64_t seed)
        : handle(detail::made<volta_model>(volta_model_create_gpt, in.get(), &sizes, seed)) {}
    model(const context &in, const volta_llama_options &sizes, std::uint64_t seed)
        : handle(detail::made<volta_model>(volta_model_create_llama, in.get(), &sizes, seed)) {}
    model(const context &in, const volta_bert_options &sizes, std::uint64_t seed)
        : handle(detail::made<volta_model>(volta_model_create_bert, in.get(), &sizes, seed)) {}
    model(const context &in, const volta_network_options &sizes, std::uint64_t seed)
        : handle(detail::made<volta_model>(volta_model_create_network, in.get(), &sizes, seed)) {}
    static model open(const context &in, const char *path, const volta_open_options &how = options<volta_open_options>()) {
        return model(detail::made<volta_model>(volta_model_open, in.get(), path, &how));
    }
    static model open_memory(const context &in, const void *data, std::size_t bytes,
                             const volta_open_options &how = options<volta_open_options>()) {
        return model(detail::made<volta_model>(volta_model_open_memory, in.get(), data, bytes, &how));
    }
    static model import(const context &in, const char *path,
                        const volta_import_options &how = options<volta_import_options>()) {
        return model(detail::made<volta_model>(volta_model_import, in.get(), path, &how));
    }
    void save(const char *path) const { check(volta_model_save(get(), path)); }
    // As so many files of a folder; open() takes the folder.
    void save_sharded(std::uint32_t parts, const char *folder) const {
        check(volta_model_save_sharded(get(), parts, folder));
    }
    void export_safetensors(const char *path,
                            const volta_export_options &how = options<volta_export_options>()) const {
        check(volta_model_export_safetensors_with(get(), &how, path));
    }
    void export_onnx(const char *path,
                     const volta_onnx_export_options &how = options<volta_onnx_export_options>()) const {
        check(volta_model_export_onnx(get(), &how, path));
    }
    void export_gguf(const char *path,
                     const volta_gguf_export_options &how = options<volta_gguf_export_options>()) const {
        check(volta_model_export_gguf(get(), &how, path));
    }
    std::string hash() const { return detail::hash_of(volta_model_hash, get()); }
    // The level and precision that gave the parameters their values.
    std::pair<volta_level, volta_precision> arithmetic() const {
        std::pair<volta_level, volta_precision> found{};
        check(volta_model_get_arithmetic(get(), &found.first, &found.second));
        return found;
    }
    model quantize(volta_dtype dtype) const {
        return model(detail::made<volta_model>(volta_model_quantize, get(), dtype));
    }
    // With adapters beside the weights of this model, their base.
    model add_lora(const volta_lora_options &how = options<volta_lora_options>()) const {
        return model(detail::made<volta_model>(volta_model_add_lora, get(), &how));
    }
    model open_adapter(const char *path, const volta_open_options &how = options<volta_open_options>()) const {
        return model(detail::made<volta_model>(volta_model_open_adapter, get(), path, &how));
    }
    model merge_adapter(double *difference = nullptr) const {
        volta_model *out = nullptr;
        check(volta_model_merge_adapter(get(), difference, &out));
        return model(out);
    }
    void export_peft(const char *folder) const { check(volta_model_export_peft(get(), folder)); }
    model import_peft(const char *folder) const {
        return model(detail::made<volta_model>(volta_model_import_peft, get(), folder));
    }
    model replace_head(std::int64_t classes, std::uint64_t seed) const {
        return model(detail::made<volta_model>(volta_model_replace_head, get(), classes, seed));
    }
    model hidden_states() const { return model(detail::made<volta_model>(volta_model_hidden_states, get())); }
    model fold_batch_norm(std::size_t *folded = nullptr) const {
        volta_model *out = nullptr;
        check(volta_model_fold_batch_norm(get(), &out, folded));
        return model(out);
    }
    std::size_t input_count() const noexcept { return volta_model_input_count(get()); }
    std::size_t output_count() const noexcept { return volta_model_output_count(get()); }
    std::size_t parameter_count() const noexcept { return volta_model_parameter_count(get()); }
    volta_tensor_info input(std::size_t index) const { return info(volta_model_input_info, index); }
    volta_tensor_info output(std::size_t index) const { return info(volta_model_output_info, index); }
    volta_tensor_info parameter(std::size_t index) const { return info(volta_model_parameter_info, index); }
    // Lent by the model.
    span<const float> values(const char *name) const { return detail::lent<float>(volta_model_parameter, get(), name); }
    void set_values(const char *name, span<const float> values) {
        check(volta_model_set_parameter(get(), name, values.data(), values.size()));
    }
    void set_tokenizer(const tokenizer &of) { check(volta_model_set_tokenizer(get(), of.get())); }
    // None where the model has none.
    volta::tokenizer get_tokenizer() const {
        return volta::tokenizer(detail::made<volta_tokenizer>(volta_model_get_tokenizer, get()));
    }
    // The format of conversations; NULL: none. system: what the system says where no message does.
    void set_chat_format(const char *name, const char *system = nullptr) {
        check(volta_model_set_chat_format(get(), name, system));
    }
    // The id that ends an answer.
    std::int32_t chat_end() const {
        std::int32_t id = -1;
        check(volta_model_get_chat_end(get(), &id));
        return id;
    }
    // The tokens of a conversation; answers, which may be NULL, gets 1 for each that belongs to an answer.
    std::vector<std::int32_t> encode_chat(span<const volta_chat_message> messages, std::uint32_t flags = 0,
                                          std::vector<std::uint8_t> *answers = nullptr) const {
        std::size_t count = 0;
        check(volta_model_encode_chat(get(), messages.data(), messages.size(), flags, nullptr, nullptr, 0, &count));
        std::vector<std::int32_t> ids(count);
        std::vector<std::uint8_t> marks(count);
        check(volta_model_encode_chat(get(), messages.data(), messages.size(), flags, ids.data(), marks.data(), count,
                                      &count));
        if (answers != nullptr) *answers = std::move(marks);
        return ids;
    }
    void set_metadata(const char *key, const char *value) { check(volta_model_set_metadata(get(), key, value)); }
    // NULL where there is none; lent.
    const char *metadata(const char *key) const {
        const char *value = nullptr;
        check(volta_model_get_metadata(get(), key, &value));
        return value;
    }
    double evaluate(token_view tokens) {
        double loss = 0;
        check(volta_model_evaluate_tokens(get(), tokens.data(), tokens.size(), &loss));
        return loss;
    }

  private:
    volta_tensor_info info(volta_status (*ask)(const volta_model *, std::size_t, volta_tensor_info *),
                           std::size_t index) const {
        volta_tensor_info found{};
        check(ask(get(), index, &found));
        return found;
    }
};

// ---- Running and training --------------------------------------------------------------------------------------------

class session : public handle<volta_session, volta_session_release> {
  public:
    // Extents of all inputs one after the other; none where the model leaves none open.
    explicit session(const model &of, shape_view input_shapes = {}, std::uint32_t flags = 0) {
        auto how = options<volta_session_options>();
        how.input_shapes = input_shapes.data();
        how.input_extent_count = input_shapes.size();
        how.flags = flags;
        reset(detail::made<volta_session>(volta_session_create, of.get(), &how));
    }
    // The pointers as they are: no allocation.
    void run(span<const volta_tensor *const> inputs, span<volta_tensor *const> outputs) {
        check(volta_session_run(get(), inputs.data(), inputs.size(), outputs.data(), outputs.size()));
    }
    void run(const tensor &input, const tensor &output) {
        const volta_tensor *const in = input.get();
        volta_tensor *const out = output.get();
        check(volta_session_run(get(), &in, 1, &out, 1));
    }
    std::vector<std::int64_t> output_shape(std::size_t index) const {
        std::int64_t extents[VOLTA_MAX_RANK];
        std::int32_t rank = 0;
        check(volta_session_output_shape(get(), index, extents, &rank));
        return {extents, extents + rank};
    }
    volta_bill bill() const { return detail::bill_of(volta_session_get_bill, get()); }
    std::string_view plan() const { return detail::text_of(volta_session_print_plan, get()); }
};

// Processes that train one model together, by a transport of the library's or of the program's: given to trainers as the
// option `group`.
class group : public handle<volta_group, volta_group_release> {
  public:
    // Returns when all ranks have joined.
    explicit group(const context &in, const volta_group_options &how = options<volta_group_options>())
        : handle(detail::made<volta_group>(volta_group_create, in.get(), &how)) {}
    // exchange(std::uint32_t peer, span<const std::byte> send, span<std::byte> receive) is volta_exchange. It gives nothing,
    // or a volta::failure; what it throws is a failure too. It outlives the group and its trainers.
    template <class Exchange, class = std::enable_if_t<std::is_invocable_v<Exchange &, std::uint32_t, span<const std::byte>,
                                                                            span<std::byte>>>>
    group(const context &in, std::uint32_t rank, std::uint32_t size, Exchange &exchange)
        : group(in, of_host(rank, size, exchange)) {}
    std::uint32_t rank() const noexcept { return volta_group_rank(get()); }
    std::uint32_t size() const noexcept { return volta_group_size(get()); }

  private:
    template <class Exchange>
    static volta_group_options of_host(std::uint32_t rank, std::uint32_t size, Exchange &exchange) {
        auto how = options<volta_group_options>();
        how.transport = "host";
        how.rank = rank;
        how.size = size;
        how.exchange = &run<Exchange>;
        how.user = const_cast<void *>(static_cast<const void *>(&exchange));
        return how;
    }
    template <class Exchange>
    static volta_status run(void *user, std::uint32_t peer, const void *send, std::size_t send_bytes, void *receive,
                            std::size_t receive_bytes, char *text, std::size_t text_bytes) {
        auto &exchange = *static_cast<Exchange *>(user);
        const span<const std::byte> out(static_cast<const std::byte *>(send), send_bytes);
        const span<std::byte> in(static_cast<std::byte *>(receive), receive_bytes);
        if constexpr (std::is_void_v<decltype(exchange(peer, out, in))>) {
            exchange(peer, out, in);
            return VOLTA_OK;
        } else {
            const failure why = exchange(peer, out, in);
            std::snprintf(text, text_bytes, "%s", why.text.c_str());
            return why.status;
        }
    }
};

// Rows of a batch, counted along the first extent of the inputs.
struct row_range {
    std::uint64_t first = 0, count = 0;
};

// What a trainer would need, and what its steps would cost.
struct training_estimate {
    volta_bill bill = VOLTA_BILL_INIT;
    volta_training_cost cost = VOLTA_TRAINING_COST_INIT;
};

class trainer : public handle<volta_trainer, volta_trainer_release> {
  public:
    // Plans what the constructor would make. cost.seconds is 0 without a speed (context::measure_machine).
    static training_estimate estimate(const model &of, const volta_trainer_options &how,
                                      const volta_machine_speed *speed = nullptr) {
        training_estimate found;
        check(volta_trainer_estimate(of.get(), &how, speed, &found.bill, &found.cost));
        return found;
    }
    // visit(const volta_plan_step &) is called with each step of that plan. What it throws ends the call; the library's
    // error carries its text.
    template <class Visit, class = std::enable_if_t<std::is_invocable_v<Visit &, const volta_plan_step &>>>
    static void estimate_steps(const model &of, const volta_trainer_options &how, Visit &&visit) {
        using Callable = std::remove_reference_t<Visit>;
        const auto call = [](void *user, const volta_plan_step *step) { (*static_cast<Callable *>(user))(*step); };
        check(volta_trainer_estimate_steps(of.get(), &how, call, const_cast<void *>(static_cast<const void *>(&visit))));
    }
    explicit trainer(const model &of, const volta_trainer_options &how = options<volta_trainer_options>())
        : handle(detail::made<volta_trainer>(volta_trainer_create, of.get(), &how)) {}
    // Goes on where the checkpoint was written, bit for bit.
    static trainer resume(const model &checkpoint, const volta_trainer_options *how = nullptr) {
        return trainer(detail::made<volta_trainer>(volta_trainer_resume, checkpoint.get(), how), 0);
    }
    volta_step_report step(span<const volta_tensor *const> inputs, const tensor &targets) {
        volta_step_report report = VOLTA_STEP_REPORT_INIT;
        check(volta_trainer_step(get(), inputs.data(), inputs.size(), targets.get(), &report));
        return report;
    }
    volta_step_report step(const tensor &input, const tensor &targets) {
        const volta_tensor *const in = input.get();
        return step(span<const volta_tensor *const>(&in, 1), targets);
    }
    // Those of a step's batch that this process reads: all of them without a group.
    row_range rows() const {
        row_range found;
        check(volta_trainer_rows(get(), &found.first, &found.count));
        return found;
    }
    void set_tokens(token_view tokens) { check(volta_trainer_set_tokens(get(), tokens.data(), tokens.size())); }
    volta_step_report step_tokens() {
        volta_step_report report = VOLTA_STEP_REPORT_INIT;
        check(volta_trainer_step_tokens(get(), &report));
        return report;
    }
    double evaluate(token_view tokens) {
        double loss = 0;
        check(volta_trainer_evaluate_tokens(get(), tokens.data(), tokens.size(), &loss));
        return loss;
    }
    std::uint64_t current_step() const noexcept { return volta_trainer_current_step(get()); }
    // Lent until the next call on the trainer.
    span<const float> parameter(const char *name) const {
        return detail::lent<float>(volta_trainer_parameter, get(), name);
    }
    span<const float> gradient(const char *name) const {
        return detail::lent<float>(volta_trainer_gradient, get(), name);
    }
    std::string hash() const { return detail::hash_of(volta_trainer_hash, get()); }
    // Those in force; what they point to is lent until release.
    volta_trainer_options options_in_force() const {
        volta_trainer_options found = VOLTA_TRAINER_OPTIONS_INIT;
        check(volta_trainer_get_options(get(), &found));
        return found;
    }
    void update_model() { check(volta_trainer_update_model(get())); }
    // Plans so many steps in all, from which the schedule follows from now on.
    void extend(std::uint64_t steps) { check(volta_trainer_extend(get(), steps)); }
    void save(const char *path) { check(volta_trainer_save(get(), path)); }
    // As a folder in which every rank of the group writes a part.
    void save_sharded(const char *folder) { check(volta_trainer_save_sharded(get(), folder)); }
    volta_bill bill() const { return detail::bill_of(volta_trainer_get_bill, get()); }
    std::string_view plan() const { return detail::text_of(volta_trainer_print_plan, get()); }

  private:
    trainer(volta_trainer *owned, int) noexcept : handle(owned) {}
};

// ---- Tapes ------------------------------------------------------------------------------------------------------------

// Operators on tensors, one after the other. Results are lent until the record ends (reset); tensor::keep() makes one the
// host's. Where a call stands in the host's code is in its failure and in reports.
class tape : public handle<volta_tape, volta_tape_release> {
  public:
    explicit tape(const context &in, const volta_tape_options &how = options<volta_tape_options>())
        : handle(detail::made<volta_tape>(volta_tape_create, in.get(), &how)) {}
    // The operator's first output.
    volta_tensor *apply(const char *op, span<volta_tensor *const> inputs, std::initializer_list<attribute> attributes = {},
                        const char *file = __builtin_FILE(), std::int32_t line = __builtin_LINE()) {
        volta_tensor *out = nullptr;
        check(volta_tape_apply(get(), op, inputs.data(), inputs.size(), attributes.begin(), attributes.size(), &out, 1, file,
                               line));
        return out;
    }
    // The first `count` of them.
    std::vector<volta_tensor *> outputs(const char *op, span<volta_tensor *const> inputs, std::size_t count,
                                        std::initializer_list<attribute> attributes = {},
                                        const char *file = __builtin_FILE(), std::int32_t line = __builtin_LINE()) {
        std::vector<volta_tensor *> out(count);
        check(volta_tape_apply(get(), op, inputs.data(), inputs.size(), attributes.begin(), attributes.size(), out.data(),
                               count, file, line));
        return out;
    }
    // Throws the record's first failure, if it has one.
    void check_record() const { check(volta_tape_status(get())); }
    volta_tensor *detach(volta_tensor *of, const char *file = __builtin_FILE(), std::int32_t line = __builtin_LINE()) {
        volta_tensor *const apart = volta_tape_detach(volta_tape_at(get(), file, line), of);
        check_record();
        return apart;
    }
    void set_gradients(bool enabled) { check(volta_tape_set_gradients(get(), enabled ? 1 : 0)); }
    void backward(volta_tensor *loss, const char *file = __builtin_FILE(), std::int32_t line = __builtin_LINE()) {
        check(volta_tape_backward(volta_tape_at(get(), file, line), loss));
    }
    volta_step_report step(volta_tape_optimizer *optimizer, const char *file = __builtin_FILE(),
                           std::int32_t line = __builtin_LINE()) {
        volta_step_report report = VOLTA_STEP_REPORT_INIT;
        check(volta_tape_step(volta_tape_at(get(), file, line), optimizer, &report));
        return report;
    }
    void flush(const char *file = __builtin_FILE(), std::int32_t line = __builtin_LINE()) {
        check(volta_tape_flush(volta_tape_at(get(), file, line)));
    }
    // The elements of a result or gradient, computed if need be, until the record ends; of another type than it has: none.
    template <class Element = float>
    span<const Element> read(volta_tensor *of, const char *file = __builtin_FILE(),
                             std::int32_t line = __builtin_LINE()) {
        if (volta_tensor_dtype(of) != dtype_of<Element>()) return {};
        volta_tape_at(get(), file, line);
        const auto *const data = static_cast<const Element *>(volta_tensor_data(of));
        if (data == nullptr) {
            check(volta_last_status());
            return {};
        }
        return {data, static_cast<std::size_t>(volta_tensor_elements(of))};
    }
    void end_record(const char *file = __builtin_FILE(), std::int32_t line = __builtin_LINE()) {
        check(volta_tape_reset(volta_tape_at(get(), file, line)));
    }
    volta_tape_info info() const {
        volta_tape_info found = VOLTA_TAPE_INFO_INIT;
        check(volta_tape_get_info(get(), &found));
        return found;
    }
    // Lines for people, or JSON; lent until the next report.
    std::string_view report(bool json = false) {
        const char *text = nullptr;
        check(volta_tape_report(get(), json ? 1 : 0, &text));
        return text != nullptr ? text : "";
    }
    // What results of the record compute, as a model.
    model capture(span<volta_tensor *const> outputs,
                  const volta_capture_options &how = options<volta_capture_options>()) const {
        return model(detail::made<volta_model>(volta_tape_capture, get(), outputs.data(), outputs.size(), &how));
    }
};

// Its tensors require a gradient.
class tape_optimizer : public handle<volta_tape_optimizer, volta_tape_optimizer_release> {
  public:
    tape_optimizer(const tape &on, span<volta_tensor *const> tensors,
                   const volta_optimizer_options &how = options<volta_optimizer_options>())
        : handle(detail::made<volta_tape_optimizer>(volta_tape_optimizer_create, on.get(), &how, tensors.data(),
                                                    tensors.size())) {}
    void zero_grad() { check(volta_tape_optimizer_zero_grad(get())); }
};

// A function of tensors on a lazy tape of its own: body(volta_tape *, span<volta_tensor *const> inputs, span<volta_tensor *> outputs)
// sets the outputs. The body outlives it; what it throws ends the call, CANCELLED.
class compiled : public handle<volta_compiled, volta_compiled_release> {
  public:
    template <class Body>
    compiled(const context &in, Body &body, const volta_compile_options &how = options<volta_compile_options>())
        : handle(detail::made<volta_compiled>(volta_compile, in.get(), &run<Body>, static_cast<void *>(&body), &how)) {}
    // Lent until the next call.
    std::vector<volta_tensor *> operator()(span<volta_tensor *const> inputs, std::size_t output_count = 1) {
        std::vector<volta_tensor *> outputs(output_count);
        check(volta_compiled_call(get(), inputs.data(), inputs.size(), outputs.data(), outputs.size()));
        return outputs;
    }
    volta_tape *get_tape() const noexcept { return volta_compiled_tape(get()); }

  private:
    template <class Body>
    static volta_status run(void *user, volta_tape *on, volta_tensor *const *inputs, std::size_t input_count,
                            volta_tensor **outputs, std::size_t output_count) {
        (*static_cast<Body *>(user))(on, span<volta_tensor *const>(inputs, input_count),
                                     span<volta_tensor *>(outputs, output_count));
        return VOLTA_OK;
    }
};

// ---- Writing ------------------------------------------------------------------------------------------------------------

class sequence : public handle<volta_sequence, volta_sequence_release> {
  public:
    explicit sequence(volta_sequence *owned) noexcept : handle(owned) {}
    void append(token_view tokens) { check(volta_sequence_append(get(), tokens.data(), tokens.size())); }
    void rewind(std::size_t count) { check(volta_sequence_rewind(get(), count)); }
    sequence fork(const volta_sampling_options *sampling = nullptr) const {
        return sequence(detail::made<volta_sequence>(volta_sequence_fork, get(), sampling));
    }
    token_view tokens() const { return detail::lent<std::int32_t>(volta_sequence_tokens, get()); }
    span<const float> logits() const { return detail::lent<float>(volta_sequence_logits, get()); }
};

class generator : public handle<volta_generator, volta_generator_release> {
  public:
    explicit generator(const model &of, const volta_generator_options &how = options<volta_generator_options>())
        : handle(detail::made<volta_generator>(volta_generator_create, of.get(), &how)) {}
    void start(token_view tokens) { check(volta_generator_start(get(), tokens.data(), tokens.size())); }
    std::int32_t next() {
        std::int32_t token = -1;
        check(volta_generator_next(get(), &token));
        return token;
    }
    sequence make_sequence(const volta_sampling_options *sampling = nullptr) {
        return sequence(detail::made<volta_sequence>(volta_sequence_create, get(), sampling));
    }
    void step(span<volta_sequence *const> sequences, span<std::int32_t> tokens) {
        check(volta_generator_step(get(), sequences.data(), sequences.size(), tokens.data()));
    }
    span<const float> logits() const { return detail::lent<float>(volta_generator_logits, get()); }
    // on_text(std::string_view piece, int32_t token) is called with each piece and says whether to stop. What it throws
    // ends the writing; the library's error carries its text.
    template <class OnText,
              class = std::enable_if_t<std::is_invocable_r_v<bool, OnText &, std::string_view, std::int32_t>>>
    volta_write_result write(OnText &&on_text, volta_write_options how = options<volta_write_options>(),
                             const volta_sequence *of = nullptr, const volta_tokenizer *by = nullptr) {
        using Callable = std::remove_reference_t<OnText>;
        how.user = const_cast<void *>(static_cast<const void *>(&on_text));
        how.on_text = [](void *user, const char *text, std::size_t bytes, std::int32_t token) -> std::int32_t {
            return (*static_cast<Callable *>(user))(std::string_view(text, bytes), token) ? 1 : 0;
        };
        return write(how, of, by);
    }
    volta_write_result write(const volta_write_options &how, const volta_sequence *of = nullptr,
                             const volta_tokenizer *by = nullptr) {
        volta_write_result result = VOLTA_WRITE_RESULT_INIT;
        check(volta_generator_write(get(), const_cast<volta_sequence *>(of), by, &how, &result));
        return result;
    }
    volta_token_cost cost(std::int64_t position) const {
        volta_token_cost found = VOLTA_TOKEN_COST_INIT;
        check(volta_generator_get_cost(get(), position, &found));
        return found;
    }
    std::string_view no_cache_reason() const noexcept { return volta_generator_no_cache_reason(get()); }
    volta_bill bill() const { return detail::bill_of(volta_generator_get_bill, get()); }
};

#ifdef VOLTA_NO_EXCEPTIONS
}  // namespace without_exceptions
#endif
}  // namespace volta

#endif  // VOLTA_HPP
