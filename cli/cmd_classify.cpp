// voltac classify: which classes pictures belong to.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/commands.h"
#include "cli/pictures.h"

namespace voltac {

int run_classify(const std::vector<std::string>& arguments) {
    std::string path, load = kLoadNames[VOLTA_LOAD_MAP];
    std::vector<std::string> pictures;
    std::int64_t most = 5;
    bool json = false;
    Machine machine;
    Options options("classify", "The classes of pictures, by a model that classifies them.");
    options.positional("model", path, "a model file");
    options.positionals("pictures", pictures, "JPEG and PNG files");
    options.integer("--top", most, 1, 1000, "so many classes of each, the likeliest first (default: 5)");
    options.load(load);
    options.flag("--json", json, "one JSON object per picture and line");
    options.machine(machine);
    options.config();
    options.parse(arguments);

    const Context context = make_context(machine);
    const Model model = open_model(context, path, load);
    PictureRunner runner(context, model);
    const PictureShape& shape = runner.shape();
    const volta_transform_options transform = transform_of(shape, preprocess_of(model));
    const std::vector<std::string> names = classes_of(model);
    const auto name_of = [&](std::size_t c) { return c < names.size() ? names[c] : std::to_string(c); };
    std::vector<float> values(static_cast<std::size_t>(shape.elements()));
    for (const std::string& file : pictures) {
        volta_picture* opened = nullptr;
        check_data(volta_picture_open(file.c_str(), nullptr, &opened));
        const Picture picture(opened);
        check_data(volta_picture_transform(opened, &transform, values.data(), values.size()));
        const std::vector<double> p = probabilities(runner.run(values.data(), 1), shape.classes);
        std::vector<std::size_t> order(p.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return p[a] > p[b]; });
        order.resize(std::min(order.size(), static_cast<std::size_t>(most)));
        if (json) {
            nlohmann::ordered_json line = {{"picture", file}, {"classes", nlohmann::ordered_json::array()}};
            for (const std::size_t c : order)
                line["classes"].push_back({{"class", name_of(c)}, {"index", c}, {"probability", p[c]}});
            print(json_text(line) + "\n");
            continue;
        }
        std::string text = one_line(file) + "\n";
        for (const std::size_t c : order)
            text += formatted("  %.4f  %s\n", p[c], one_line(name_of(c)).c_str());
        print(text);
    }
    return 0;
}

}  // namespace voltac
