#include "engine/import/peft.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/import/config_file.h"
#include "engine/import/import_error.h"
#include "engine/import/key_map.h"
#include "engine/import/safetensors.h"
#include "engine/import/safetensors_header.h"
#include "engine/model/adapters.h"
#include "engine/model/text.h"

namespace volta {
namespace {

constexpr std::string_view kRoot = "base_model.model.", kWeight = ".weight", kLora = ".lora.";
constexpr std::string_view kA = ".lora_A.weight", kB = ".lora_B.weight";
constexpr const char *kConfigName = "adapter_config.json", *kTensorsName = "adapter_model.safetensors";

bool ends_with(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::pmr::string path_in(const char* folder, const char* name, std::pmr::memory_resource* heap) {
    std::pmr::string path(folder, heap);
    if (!path.empty() && path.back() != '/') path += '/';
    path += name;
    return path;
}

const Naming& naming_of(std::string_view architecture) {
    for (const char* known : {"gpt", "llama", "bert"})
        if (architecture == known) return find_naming("huggingface", known);
    const ShownName name = shown(architecture);
    fail(VOLTA_UNSUPPORTED, "adapters on a model of the architecture '%.*s' have no names in PEFT",
         name.bytes, name.text);
}

// Parts that lie side by side in one weight of Volta's, in their order.
struct FusedWeight {
    std::string_view layer;
    Part parts[3];
    int count;
};
constexpr FusedWeight kFused[] = {{".qkv", {Part::q, Part::k, Part::v}, 3},
                                  {".gate_up", {Part::gate, Part::up, Part::whole}, 2}};

const FusedWeight* fused_weight(std::string_view weight) {
    if (!ends_with(weight, kWeight)) return nullptr;
    weight.remove_suffix(kWeight.size());
    for (const FusedWeight& fused : kFused)
        if (ends_with(weight, fused.layer)) return &fused;
    return nullptr;
}

// ---- Writing ---------------------------------------------------------------------------------------------

// A pair of the file, by the names that it has there.
struct Adapter {
    std::pmr::string weight;  // of the base: "block.0.qkv.weight"
    Part part;
    const NamedTensor *a, *b;
};
struct Module {
    std::pmr::string name;  // "transformer.h.0.attn.c_attn"
    std::pmr::vector<const Adapter*> adapters;
    std::int64_t outputs = 0, inputs = 0;
    std::int64_t first[3] = {};  // of each adapter's outputs
};

Part part_of(std::string_view name) {
    for (const Part part : {Part::q, Part::k, Part::v, Part::gate, Part::up})
        if (name == part_name(part)) return part;
    return Part::whole;
}

std::pmr::vector<Adapter> adapters_of(const Model& model, std::pmr::memory_resource* heap) {
    std::pmr::vector<Adapter> adapters(heap);
    for (const NamedTensor& a : model.parameters) {
        const std::string_view name = a.name;
        const std::size_t at = name.rfind(kLora);
        if (at == name.npos || !ends_with(name, ".a")) continue;
        std::pmr::string other(name.substr(0, name.size() - 1), heap), weight(name.substr(0, at), heap);
        other += 'b';
        weight += kWeight;
        const NamedTensor* const b = model.find_parameter(other.c_str());
        const std::size_t begin = at + kLora.size(), end = name.size() - 2;
        const std::string_view part = begin < end ? name.substr(begin, end - begin) : std::string_view();
        if (b == nullptr || a.shape.rank != 2 || b->shape.rank != 2 || a.shape[1] != b->shape[0])
            fail(VOLTA_CORRUPT_MODEL, "'%s' is no first half of an adapter", a.name.c_str());
        adapters.push_back({std::move(weight), part_of(part), &a, b});
    }
    return adapters;
}

class PeftWriter {
  public:
    PeftWriter(const Model& model, std::pmr::memory_resource* heap)
        : heap_(heap),
          options_(adapter_options(model)),
          naming_(naming_of(architecture_of(model))),
          adapters_(adapters_of(model, heap)),
          modules_(heap) {
        for (const Adapter& adapter : adapters_) place(adapter);
    }

    void write(const char* folder, const Stop& stop) {
        SafetensorsHeader header(heap_);
        header.add_text("format", "pt");
        for (const Module& module : modules_) {
            const std::int64_t rank = rank_of(module);
            header.add_tensor(tensor_name(module, kA), {rank, module.inputs});
            header.add_tensor(tensor_name(module, kB), {module.outputs, rank});
        }
        AtomicFile file(path_in(folder, kTensorsName, heap_).c_str(), heap_, stop);
        write_header(file, header.finish());
        for (const Module& module : modules_) write_module(file, module);
        file.commit();
        const std::pmr::string json = config();
        AtomicFile settings(path_in(folder, kConfigName, heap_).c_str(), heap_);
        settings.write(json.data(), json.size());
        settings.commit();
    }

  private:
    static std::string_view architecture_of(const Model& model) {
        const std::pmr::string* const text = model.find_metadata("volta.adapter.architecture");
        if (text == nullptr)
            fail(VOLTA_CORRUPT_MODEL, "the adapters do not say of which architecture they are");
        return *text;
    }

    // The rule for the part alone, else the one for the whole weight.
    const KeyRule* rule_for(const Adapter& adapter, std::int64_t* layer) const {
        const KeyRule* whole = nullptr;
        for (std::size_t i = 0; i < naming_.count(); ++i) {
            const KeyRule& rule = naming_.rule(i);
            if (rule.parameter.empty()) continue;
            const auto found = match_pattern(rule.parameter, adapter.weight);
            if (!found) continue;
            *layer = *found;
            if (rule.part == adapter.part) return &rule;
            if (rule.part == Part::whole && whole == nullptr) whole = &rule;
        }
        return adapter.part == Part::whole ? nullptr : whole;
    }

    void place(const Adapter& adapter) {
        std::int64_t layer = -1;
        const KeyRule* const rule = rule_for(adapter, &layer);
        if (rule == nullptr || !ends_with(rule->pattern, kWeight))
            fail(VOLTA_UNSUPPORTED, "the adapter of '%s' is of no module that PEFT would find by one name",
                 adapter.weight.c_str());
        std::pmr::string name(heap_);
        const auto begins = [&](std::string_view part) {
            return rule->pattern.substr(0, part.size()) == part;
        };
        if (std::none_of(std::begin(kOutsidePrefix), std::end(kOutsidePrefix), begins)) name = naming_.prefix;
        name += fill_pattern(rule->pattern.substr(0, rule->pattern.size() - kWeight.size()), layer, heap_);
        Module& module = module_of(name);
        const std::int64_t width = adapter.b->shape[1];
        const bool is_fused = rule->part == Part::whole && adapter.part != Part::whole;
        const FusedWeight* const fused = is_fused ? fused_weight(adapter.weight) : nullptr;
        module.inputs = adapter.a->shape[0];
        module.outputs = fused != nullptr ? width * fused->count : width;
        module.first[module.adapters.size()] = 0;
        for (int i = 0; fused != nullptr && i < fused->count; ++i)
            if (fused->parts[i] == adapter.part) module.first[module.adapters.size()] = i * width;
        module.adapters.push_back(&adapter);
    }

    Module& module_of(const std::pmr::string& name) {
        for (Module& module : modules_)
            if (module.name == name && module.adapters.size() < 3) return module;
        modules_.push_back({std::pmr::string(name, heap_), std::pmr::vector<const Adapter*>(heap_)});
        return modules_.back();
    }

    std::int64_t rank_of(const Module& module) const {
        return options_.rank * static_cast<std::int64_t>(module.adapters.size());
    }
    std::pmr::string tensor_name(const Module& module, std::string_view which) const {
        std::pmr::string name(kRoot, heap_);
        name += module.name;
        name += which;
        return name;
    }

    void write_module(AtomicFile& file, const Module& module) const {
        std::pmr::vector<float> row(heap_);
        for (const Adapter* adapter : module.adapters) {
            const auto* const a = static_cast<const float*>(adapter->a->data);
            row.resize(static_cast<std::size_t>(module.inputs));
            for (std::int64_t t = 0; t < options_.rank; ++t) {
                for (std::int64_t i = 0; i < module.inputs; ++i)
                    row[static_cast<std::size_t>(i)] = a[i * options_.rank + t];
                file.write(row.data(), row.size() * sizeof(float));
            }
        }
        for (std::int64_t j = 0; j < module.outputs; ++j) {
            row.assign(static_cast<std::size_t>(rank_of(module)), 0.0f);
            for (std::size_t n = 0; n < module.adapters.size(); ++n) {
                const NamedTensor& b = *module.adapters[n]->b;
                const std::int64_t own = j - module.first[n];
                for (std::int64_t t = 0; own >= 0 && own < b.shape[1] && t < options_.rank; ++t)
                    row[n * static_cast<std::size_t>(options_.rank) + static_cast<std::size_t>(t)] =
                        static_cast<const float*>(b.data)[t * b.shape[1] + own];
            }
            file.write(row.data(), row.size() * sizeof(float));
        }
    }

    template <class Visit>
    void list(std::pmr::string& json, bool only_joined, Visit visit) const {
        bool is_first = true;
        for (const Module& module : modules_) {
            if (only_joined && module.adapters.size() < 2) continue;
            if (!is_first) json += ',';
            is_first = false;
            add_json_text(json, module.name);
            visit(static_cast<double>(module.adapters.size()));
        }
    }

    std::pmr::string config() const {
        std::pmr::string json(R"({"peft_type":"LORA","base_model_name_or_path":null,"task_type":null,)"
                              R"("inference_mode":true,"r":)",
                              heap_);
        add_json_number(json, options_.rank);
        json += R"(,"lora_alpha":)";
        add_json_number(json, options_.alpha);
        json +=
            R"(,"lora_dropout":0.0,"bias":"none","use_rslora":false,"use_dora":false,"modules_to_save":null,)"
            R"("init_lora_weights":true,"fan_in_fan_out":)";
        json += std::string_view(naming_.architecture) == "gpt" ? "true" : "false";
        json += R"(,"target_modules":[)";
        list(json, false, [](double) {});
        json += R"(],"rank_pattern":{)";
        list(json, true, [&](double parts) {
            json += ':';
            add_json_number(json, static_cast<std::int64_t>(parts) * options_.rank);
        });
        json += R"(},"alpha_pattern":{)";
        list(json, true, [&](double parts) {
            json += ':';
            add_json_number(json, parts * options_.alpha);
        });
        json += "}}\n";
        return json;
    }

    std::pmr::memory_resource* heap_;
    const AdapterOptions options_;
    const Naming& naming_;
    const std::pmr::vector<Adapter> adapters_;
    std::pmr::vector<Module> modules_;
};

// ---- Reading ---------------------------------------------------------------------------------------------

// What else a config may say that changes nothing of what its tensors compute.
bool has_no_effect(std::string_view name) {
    for (const char* known : {"base_model_name_or_path",
                              "task_type",
                              "inference_mode",
                              "lora_dropout",
                              "fan_in_fan_out",
                              "init_lora_weights",
                              "revision",
                              "target_modules",
                              "auto_mapping",
                              "peft_version",
                              "layers_to_transform",
                              "layers_pattern",
                              "loftq_config",
                              "exclude_modules",
                              "runtime_config",
                              "r",
                              "rank_pattern",
                              "qalora_group_size",
                              "ensure_weight_tying",
                              "megatron_core"})
        if (name == known) return true;
    return false;
}

// One module of the file.
struct Found {
    std::string_view name;    // "transformer.h.0.attn.c_attn"
    std::pmr::string weight;  // of the base
    Part part;
    const WeightTensor *a, *b;
    std::int64_t rank;
};

class PeftReader {
  public:
    PeftReader(const std::shared_ptr<const Model>& base, const char* folder,
               std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors)
        : base_(base),
          heap_(structures),
          tensors_(tensors),
          config_(path_in(folder, kConfigName, structures).c_str(), structures),
          source_(read_safetensors(path_in(folder, kTensorsName, structures).c_str(), structures)),
          naming_(naming_of(adapter_architecture(*base))),
          found_(structures) {}

    HeapPtr<Model> read() {
        check_config();
        for (const WeightTensor& tensor : source_.tensors) take(tensor);
        if (found_.empty()) fail(VOLTA_CORRUPT_MODEL, "the file has no adapter");
        AdapterOptions options;
        options.rank = 0;
        for (const Found& module : found_) options.rank = std::max(options.rank, module.rank);
        options.alpha = common_scale() * static_cast<double>(options.rank);
        if (options.rank > kMostAdapterRank || !(options.alpha > 0 && options.alpha <= kMostAdapterAlpha))
            fail(VOLTA_UNSUPPORTED,
                 "its adapters have the rank %" PRId64 " and the alpha %g: Volta's have a rank up to %" PRId64
                 ", and an alpha above 0 and at most %g",
                 options.rank, options.alpha, kMostAdapterRank, kMostAdapterAlpha);
        config_.expect_all_read(has_no_effect);
        const std::pmr::string targets = all_targets();
        options.targets = targets;
        HeapPtr<Model> model = empty_adapters(base_, options, heap_, tensors_);
        for (const AdapterPlace& place : adapter_places(*base_, targets, heap_))
            fill(place, options.rank, *model);
        return model;
    }

  private:
    void check_config() const {
        config_.expect("peft_type", std::string_view("LORA"));
        config_.expect("bias", std::string_view("none"));
        for (const char* name : {"use_dora", "use_qalora", "lora_bias", "use_bdlora"})
            config_.expect(name, false);
        // By name, ways to begin that change the base as well.
        for (const std::string_view init : config_.list("init_lora_weights", heap_)) {
            const ShownName text = shown(init);
            if (init != "gaussian")
                fail(VOLTA_UNSUPPORTED,
                     "the config has 'init_lora_weights' '%.*s', which changes the base too", text.bytes,
                     text.text);
        }
        config_.set_read("rank_pattern");
        config_.has("alpha_pattern");  // its members are asked for one by one
    }

    const WeightTensor& other_half(const WeightTensor& a) const {
        std::pmr::string name(std::string_view(a.name).substr(0, a.name.size() - kA.size()), heap_);
        name += kB;
        const WeightTensor* const b = source_.find(name);
        if (b == nullptr) fail(VOLTA_CORRUPT_MODEL, "there is no tensor '%.300s'", name.c_str());
        return *b;
    }

    void take(const WeightTensor& tensor) {
        const std::string_view name = tensor.name;
        const ShownName text = shown(name);
        const bool is_a = ends_with(name, kA), is_b = ends_with(name, kB);
        if (name.substr(0, kRoot.size()) != kRoot || (!is_a && !is_b))
            fail(VOLTA_UNSUPPORTED, "tensor '%.*s' is no half of a LoRA adapter", text.bytes, text.text);
        if (tensor.type->widen == nullptr || tensor.type->block_values != 1)
            fail(VOLTA_UNSUPPORTED, "tensor '%.*s' is of %s, adapters are of f32, f16 or bf16", text.bytes,
                 text.text, tensor.type->name);
        if (is_b) {
            std::pmr::string half(name.substr(0, name.size() - kB.size()), heap_);
            half += kA;
            if (source_.find(half) == nullptr)
                fail(VOLTA_CORRUPT_MODEL, "there is no tensor '%.300s'", half.c_str());
            return;
        }
        const WeightTensor& b = other_half(tensor);
        if (tensor.shape.rank != 2 || b.shape.rank != 2 || tensor.shape[0] != b.shape[1] ||
            tensor.shape[0] < 1 || tensor.shape[0] > kMostAdapterRank)
            fail(VOLTA_CORRUPT_MODEL, "tensor '%.*s' of %s does not fit its other half of %s", text.bytes,
                 text.text, to_text(tensor.shape).text, to_text(b.shape).text);
        const std::string_view module = name.substr(kRoot.size(), name.size() - kRoot.size() - kA.size());
        std::pmr::string weight(heap_);
        const Part part = find_weight(module, weight);
        found_.push_back({module, std::move(weight), part, &tensor, &b, tensor.shape[0]});
    }

    Part find_weight(std::string_view module, std::pmr::string& weight) const {
        std::pmr::string whole(module, heap_);
        whole += kWeight;
        std::string_view name = whole;
        if (name.substr(0, naming_.prefix.size()) == naming_.prefix)
            name.remove_prefix(naming_.prefix.size());
        for (std::size_t i = 0; i < naming_.count(); ++i) {
            const KeyRule& rule = naming_.rule(i);
            const auto layer = match_pattern(rule.pattern, name);
            if (!layer || rule.parameter.empty() || rule.part == Part::by_head ||
                rule.part == Part::last_rows)
                continue;
            weight = fill_pattern(rule.parameter, *layer, heap_);
            if (base_->find_parameter(weight.c_str()) == nullptr) continue;
            return rule.part;
        }
        const ShownName text = shown(module);
        fail(VOLTA_UNSUPPORTED, "the base has no weight for the module '%.*s'", text.bytes, text.text);
    }

    // alpha / rank, or / sqrt(rank), of all modules.
    double common_scale() const {
        const bool by_root = config_.truth("use_rslora", false);
        const double usual = config_.number("lora_alpha", 8);
        double scale = 0;
        for (const Found& module : found_) {
            const double rank = static_cast<double>(module.rank);
            const double own = alpha_of(module.name, usual) / (by_root ? std::sqrt(rank) : rank);
            const ShownName text = shown(module.name);
            if (&module != found_.data() && own != scale)
                fail(VOLTA_UNSUPPORTED,
                     "alpha / rank is %g of module '%.*s' and %g of others: Volta's adapters have one", own,
                     text.bytes, text.text, scale);
            scale = own;
        }
        return scale;
    }

    double alpha_of(std::string_view module, double usual) const {
        for (std::string_view end = module;;) {  // the whole name, then what is behind each dot
            std::pmr::string name("alpha_pattern.", heap_);
            name += end;
            if (config_.has(name)) return config_.number(name, usual);
            const std::size_t dot = end.find('.');
            if (dot == end.npos) return usual;
            end.remove_prefix(dot + 1);
        }
    }

    std::pmr::string all_targets() const {
        std::pmr::string targets(heap_);
        const auto add = [&](std::string_view target) {
            for (std::size_t begin = 0; begin < targets.size();) {
                const std::size_t end = std::min(targets.find('+', begin), targets.size());
                if (std::string_view(targets).substr(begin, end - begin) == target) return;
                begin = end + 1;
            }
            if (!targets.empty()) targets += '+';
            targets += target;
        };
        for (const Found& module : found_) {
            const FusedWeight* const fused = fused_weight(module.weight);
            if (module.part != Part::whole)
                add(part_name(module.part));
            else if (fused != nullptr)
                for (int i = 0; i < fused->count; ++i) add(part_name(fused->parts[i]));
            else
                add(part_of_layer(module.weight));
        }
        return targets;
    }

    static std::string_view part_of_layer(std::string_view weight) {
        for (const auto& [layer, part] : {std::pair{".proj.weight", "o"},
                                          {".down.weight", "down"},
                                          {".fc.weight", "fc"},
                                          {".fc_proj.weight", "fc_proj"}})
            if (ends_with(weight, layer)) return part;
        return weight;
    }

    // A part of a module that is several shares its A with them.
    void fill(const AdapterPlace& place, std::int64_t rank, Model& model) const {
        const std::pmr::string& weight = base_->graph.producer(place.weight).name;
        const Part part = part_of(part_name_in(place.a));
        const Found* found = nullptr;
        for (const Found& module : found_)
            if (module.weight == weight && (module.part == part || module.part == Part::whole))
                found = &module;
        if (found == nullptr)
            fail(VOLTA_UNSUPPORTED, "'%s'%s%s has no adapter, and others of its part have one",
                 weight.c_str(), part == Part::whole ? "" : ", part ", part_name(part));
        const std::int64_t own = place.end - place.begin;
        const bool shares = found->part == Part::whole && part != Part::whole;
        const std::int64_t outputs = shares ? outputs_of(place) : own;
        if (found->a->shape[1] != place.inputs || found->b->shape[0] != outputs) {
            const ShownName text = shown(found->name);
            fail(VOLTA_CORRUPT_MODEL,
                 "module '%.*s' has %s and %s, its weight in the base %lld inputs and %lld outputs",
                 text.bytes, text.text, to_text(found->a->shape).text, to_text(found->b->shape).text,
                 static_cast<long long>(place.inputs), static_cast<long long>(outputs));
        }
        std::pmr::vector<float> values(static_cast<std::size_t>(place.inputs * found->rank), 0.0f, heap_);
        copy_weights(*found->a, {values.data(), place.inputs, found->rank, 0, found->rank}, true);
        float* const a = values_of(model, place.a);
        for (std::int64_t i = 0; i < place.inputs; ++i)
            std::memcpy(a + i * rank, values.data() + i * found->rank,
                        static_cast<std::size_t>(found->rank) * sizeof(float));
        values.assign(static_cast<std::size_t>(outputs * found->rank), 0.0f);
        copy_weights(*found->b, {values.data(), found->rank, outputs, 0, outputs}, true);
        float* const b = values_of(model, place.b);
        for (std::int64_t t = 0; t < found->rank; ++t)
            std::memcpy(b + t * own, values.data() + t * outputs + (shares ? place.begin : 0),
                        static_cast<std::size_t>(own) * sizeof(float));
    }

    std::int64_t outputs_of(const AdapterPlace& place) const {
        return base_->graph.shape(place.weight)[place.transposed ? 0 : 1];
    }
    static std::string_view part_name_in(std::string_view a) {
        const std::size_t begin = a.rfind(kLora) + kLora.size();
        return begin + 2 <= a.size() ? a.substr(begin, a.size() - begin - 2) : std::string_view();
    }
    static float* values_of(Model& model, const std::pmr::string& name) {
        for (std::size_t i = 0; i < model.parameters.size(); ++i)
            if (model.parameters[i].name == name) return static_cast<float*>(model.place_of(i));
        fail(VOLTA_INTERNAL, "the model has no parameter %s", name.c_str());
    }

    const std::shared_ptr<const Model>& base_;
    std::pmr::memory_resource *heap_, *tensors_;
    const ConfigFile config_;
    const WeightSource source_;
    const Naming& naming_;
    std::pmr::vector<Found> found_;
};

}  // namespace

void export_peft(const Model& model, const char* folder, std::pmr::memory_resource* heap, const Stop& stop) {
    if (model.base == nullptr) return PeftWriter(model, heap).write(folder, stop);
    const HeapPtr<Model> alone = adapters_alone(model, heap);
    PeftWriter(*alone, heap).write(folder, stop);
}

HeapPtr<Model> import_peft(const std::shared_ptr<const Model>& base, const char* folder,
                           std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors) {
    try {
        return PeftReader(base, folder, structures, tensors).read();
    } catch (const Error& error) {
        fail_about(error, "cannot read the adapters", folder);
    }
}

}  // namespace volta
