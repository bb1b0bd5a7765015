// Products of all orders, odd sizes, few rows, batches and stored weights: the device's bits are the
// processor's, by the default rules and by everything that tuning could choose.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cuda/check/check.h"

namespace volta::check {
namespace {

struct Product {
    std::int64_t m, n, k, batch;  // batch 0: two matrices
};

// Around tiles, segments of 512 and few rows; all in all orders of operands.
constexpr Product kSmall[] = {{1, 1, 1, 0},    {1, 70, 33, 0},   {5, 65, 40, 0},   {16, 9, 520, 0},
                              {17, 64, 64, 0}, {66, 131, 29, 0}, {3, 18, 1100, 0}, {20, 24, 17, 3}};
// The layers of GPTs of width 384 and 768 in training and generation, squares, and odd sizes.
constexpr Product kLarge[] = {
    {64, 64, 64, 0},       {256, 256, 256, 0},    {1024, 1024, 1024, 0}, {2048, 2048, 2048, 0},
    {4096, 4096, 4096, 0}, {1024, 1152, 384, 0},  {1024, 1536, 384, 0},  {1024, 384, 1536, 0},
    {1024, 65, 384, 0},    {1024, 2304, 768, 0},  {1024, 3072, 768, 0},  {1024, 768, 3072, 0},
    {256, 50257, 768, 0},  {768, 3072, 1024, 0},  {4, 3072, 768, 0},     {16, 3072, 768, 0},
    {1, 2304, 768, 0},     {1, 768, 3072, 0},     {1, 50257, 768, 0},    {127, 127, 127, 0},
    {255, 257, 253, 0},    {1023, 1023, 1023, 0}, {13, 777, 333, 0},     {129, 65, 5001, 0},
    {64, 96, 128, 12}};

struct Order {
    const char* name;
    bool a_transposed, b_transposed;
};
constexpr Order kOrders[] = {
    {"nn", false, false}, {"nt", false, true}, {"tn", true, false}, {"tt", true, true}};

constexpr struct {
    const char* name;
    volta_dtype dtype;
} kStored[] = {{"bf16", VOLTA_BF16},
               {"f16", VOLTA_F16},
               {"int8", VOLTA_INT8},
               {"int4", VOLTA_INT4},
               {"f32_panels", VOLTA_F32_PANELS}};

std::int64_t elements(const Extents& shape) {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    return count;
}

Extents with_batch(std::int64_t batch, std::int64_t rows, std::int64_t columns) {
    return batch > 0 ? Extents{batch, rows, columns} : Extents{rows, columns};
}

std::vector<float> multiply(const Context& context, const Product& p, const Order& order) {
    volta_graph* made = nullptr;
    require(volta_graph_create(context.get(), &made));
    const Graph graph(made);
    const Extents a_shape =
        order.a_transposed ? with_batch(p.batch, p.k, p.m) : with_batch(p.batch, p.m, p.k);
    const Extents b_shape =
        order.b_transposed ? with_batch(p.batch, p.n, p.k) : with_batch(p.batch, p.k, p.n);
    const Extents c_shape = with_batch(p.batch, p.m, p.n);
    const volta_value inputs[] = {input(graph, "a", a_shape), input(graph, "b", b_shape)};
    const volta_attribute attributes[] = {{"transpose_a", order.a_transposed ? 1.0 : 0.0, nullptr, 0},
                                          {"transpose_b", order.b_transposed ? 1.0 : 0.0, nullptr, 0}};
    volta_value y = {-1};
    require(volta_graph_apply(made, "matmul", inputs, 2, attributes, 2, &y, 1));
    require(volta_graph_output(made, "y", y));
    const Session session = make_session(graph);
    std::vector<float> a = numbers(elements(a_shape), 1), b = numbers(elements(b_shape), 2);
    std::vector<float> c(static_cast<std::size_t>(elements(c_shape)));
    const Tensor ta = wrap(context, a_shape, a), tb = wrap(context, b_shape, b),
                 tc = wrap(context, c_shape, c);
    run(session, {&ta, &tb}, {&tc});
    return c;
}

std::vector<float> multiply_stored(const Context& context, const Product& p, volta_dtype dtype) {
    volta_graph* made = nullptr;
    require(volta_graph_create(context.get(), &made));
    const Graph graph(made);
    const Extents a_shape = {p.m, p.k}, b_shape = {p.k, p.n}, c_shape = {p.m, p.n};
    const volta_init init = {VOLTA_INIT_UNIFORM, -1, 1};
    volta_value inputs[] = {input(graph, "a", a_shape), {-1}}, y = {-1};
    require(volta_graph_parameter(made, "b", b_shape.data(), 2, &init, &inputs[1]));
    require(volta_graph_apply(made, "matmul", inputs, 2, nullptr, 0, &y, 1));
    require(volta_graph_output(made, "y", y));
    volta_model *model = nullptr, *small = nullptr;
    require(volta_model_create(made, 1, &model));
    const Model owned(model);
    require(volta_model_quantize(model, dtype, &small));
    const Model owned_small(small);
    volta_session* created = nullptr;
    require(volta_session_create(small, nullptr, &created));
    const Session session(created);
    std::vector<float> a = numbers(elements(a_shape), 1), c(static_cast<std::size_t>(elements(c_shape)));
    const Tensor ta = wrap(context, a_shape, a), tc = wrap(context, c_shape, c);
    run(session, {&ta}, {&tc});
    return c;
}

int tell(const Product& p, const char* form, const std::vector<float>& expected,
         const std::vector<float>& got) {
    const std::int64_t at = first_difference(expected, got);
    if (at < 0) return 0;
    const auto i = static_cast<std::size_t>(at);
    std::printf("%lldx%lldx%lld %s, batch %lld: element %lld is %a on the processor, %a on the device\n",
                static_cast<long long>(p.m), static_cast<long long>(p.n), static_cast<long long>(p.k), form,
                static_cast<long long>(p.batch), static_cast<long long>(at), static_cast<double>(expected[i]),
                static_cast<double>(got[i]));
    return 1;
}

// Products that are tuned: without a batch, of which volta_tune knows nothing.
std::vector<Product> tuned_products(bool small) {
    std::vector<Product> products;
    for (const Product& product : kSmall)
        if (product.batch == 0) products.push_back(product);
    if (small) return {products[2], products[5], products[6]};
    for (const Product& product : kLarge)
        if (product.batch == 0 && product.m * product.n <= 4096 * 1024) products.push_back(product);
    return products;
}

// What is written into the file of results, one after the other, as the choice of every product.
constexpr const char* kChoices[] = {"",
                                    "form=rows",
                                    "form=tiles tile=64",
                                    "form=tiles tile=128",
                                    "form=segments tile=64",
                                    "form=segments tile=128"};

// The same results with this choice everywhere.
std::string with_choice(const std::string& results, const std::string& choice) {
    const std::string name = "\"choice\":\"";
    std::string text;
    std::size_t at = 0;
    for (std::size_t begin; (begin = results.find(name, at)) != std::string::npos;) {
        begin += name.size();
        text += results.substr(at, begin - at) + choice;
        at = results.find('"', begin);
    }
    return text + results.substr(at);
}

struct Folders {
    const std::string tuning, kernels;
    explicit Folders(const std::string& in) : tuning(in + "/check_tuning"), kernels(in + "/check_kernels") {}
    ~Folders() {
        std::error_code ignored;
        std::filesystem::remove_all(tuning, ignored);
        std::filesystem::remove_all(kernels, ignored);
    }
    std::string file() const {
        for (const auto& entry : std::filesystem::directory_iterator(tuning))
            if (entry.path().extension() == ".json") return entry.path().string();
        throw std::runtime_error("volta_tune has written no file into " + tuning);
    }
};

void tune(const Context& device, const std::vector<Product>& products, bool small) {
    std::vector<volta_tune_shape> shapes;
    for (const Product& product : products)
        for (const Order& order : kOrders)
            shapes.push_back(
                {product.m, product.n, product.k, order.a_transposed, order.b_transposed, 0, 0, 0});
    volta_tune_options options = {};
    options.struct_size = sizeof options;
    options.shapes = shapes.data();
    options.shape_count = shapes.size();
    options.runs = small ? 1 : 0;
    options.seconds = small ? 0.1 : 0;
    require(volta_tune(device.get(), &options));
}

}  // namespace

int check_choices(const Settings& settings) {
    const std::vector<Product> products = tuned_products(settings.small);
    const Folders folders(settings.folder);
    const Place place{settings.device, {}, {}, folders.kernels, folders.tuning};
    tune(make_context(place), products, settings.small);
    std::stringstream results;
    results << std::ifstream(folders.file()).rdbuf();
    const Context cpu = make_context("cpu");
    std::vector<Context> devices = {};
    devices.push_back(make_context(place));  // with what was found
    for (const char* choice : kChoices) {
        if (settings.small && std::string(choice).find("128") == std::string::npos) continue;
        std::ofstream(folders.file()) << with_choice(results.str(), choice);
        devices.push_back(make_context(place));
    }
    int failures = 0, count = 0;
    for (const Product& product : products)
        for (const Order& order : kOrders) {
            const std::vector<float> expected = multiply(cpu, product, order);
            for (const Context& device : devices) {
                failures += tell(product, order.name, expected, multiply(device, product, order));
                ++count;
            }
        }
    std::printf("%d products by every choice, %d differ\n", count, failures);
    return failures;
}

int check_products(const Settings& settings) {
    const std::vector<Product> products = settings.small
                                              ? std::vector<Product>(std::begin(kSmall), std::end(kSmall))
                                              : std::vector<Product>(std::begin(kLarge), std::end(kLarge));
    const Context cpu = make_context("cpu"), device = make_context(settings.device);
    int failures = 0, count = 0;
    for (const Product& product : products) {
        for (const Order& order : kOrders) {
            if (product.batch > 0 && order.a_transposed)
                continue;  // transpose_a joins the leading axes into k
            failures +=
                tell(product, order.name, multiply(cpu, product, order), multiply(device, product, order));
            ++count;
        }
        if (product.batch > 0 || product.k < 32) continue;  // weights with fewer inputs stay f32
        for (const auto& stored : kStored) {
            failures += tell(product, stored.name, multiply_stored(cpu, product, stored.dtype),
                             multiply_stored(device, product, stored.dtype));
            ++count;
        }
    }
    std::printf("%d products, %d differ\n", count, failures);
    return failures;
}

}  // namespace volta::check
