// Adapters become part of the weights beside which they stand.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/base/error.h"
#include "engine/model/adapters.h"
#include "engine/model/derive.h"
#include "engine/numerics/stored_weights.h"

namespace volta {
namespace {

class Merger {
  public:
    Merger(const Model& adapted, Model& made, std::pmr::memory_resource* heap)
        : adapted_(adapted), made_(made), row_(heap), change_(heap) {
        const AdapterOptions options = adapter_options(adapted);
        rank_ = options.rank;
        scale_ = static_cast<float>(options.alpha / static_cast<double>(options.rank));
    }

    void merge(const AdapterPlace& place) {
        const char* const name = adapted_.base->graph.producer(place.weight).name.c_str();
        std::size_t index = 0;
        while (made_.parameters[index].name != name) ++index;
        a_ = values_of(place.a);
        b_ = values_of(place.b);
        width_ = place.end - place.begin;
        const NamedTensor& weight = made_.parameters[index];
        for (std::int64_t j = place.begin; j < place.end; ++j) {
            find_change(j - place.begin, place.inputs);
            if (is_stored(weight.dtype))
                merge_stored(weight, made_.place_of(index), j);
            else
                merge_plain(place, weight.shape, static_cast<float*>(made_.place_of(index)), j);
        }
    }
    double difference() const { return difference_; }

  private:
    const float* values_of(const std::pmr::string& name) const {
        return static_cast<const float*>(adapted_.find_parameter(name.c_str())->data);
    }

    // Of one output, over all inputs.
    void find_change(std::int64_t column, std::int64_t inputs) {
        change_.assign(static_cast<std::size_t>(inputs), 0.0);
        for (std::int64_t i = 0; i < inputs; ++i) {
            double sum = 0;
            for (std::int64_t t = 0; t < rank_; ++t)
                sum += static_cast<double>(a_[i * rank_ + t]) * static_cast<double>(b_[t * width_ + column]);
            change_[static_cast<std::size_t>(i)] = static_cast<double>(scale_) * sum;
        }
    }

    void note(float merged, double wanted) {
        const double difference = std::fabs(static_cast<double>(merged) - wanted);
        if (!(difference <= difference_)) difference_ = difference;
    }

    void merge_plain(const AdapterPlace& place, const Shape& shape, float* w, std::int64_t j) {
        for (std::int64_t i = 0; i < place.inputs; ++i) {
            float& own = w[place.transposed ? j * shape[1] + i : i * shape[1] + j];
            const double wanted = static_cast<double>(own) + change_[static_cast<std::size_t>(i)];
            own = static_cast<float>(wanted);
            note(own, wanted);
        }
    }

    void merge_stored(const NamedTensor& weight, void* data, std::int64_t j) {
        auto* const bytes = static_cast<unsigned char*>(data);
        const StoredWeights stored{weight.dtype, bytes, weight.shape[0], weight.shape[1]};
        row_.resize(static_cast<std::size_t>(stored.k));
        for (std::int64_t i = 0; i < stored.k; ++i) {
            double& wanted = change_[static_cast<std::size_t>(i)];
            wanted += static_cast<double>(stored.element(j, i));
            row_[static_cast<std::size_t>(i)] = static_cast<float>(wanted);
        }
        clear_row(weight.dtype, bytes, j, stored.k);
        require(
            store_row(weight.dtype, row_.data(), j, stored.k, bytes),
            "'%s' cannot be stored as %s with its adapters: it has values that are not finite, or too large "
            "for it",
            weight.name.c_str(), dtype_name(weight.dtype));
        for (std::int64_t i = 0; i < stored.k; ++i)
            note(stored.element(j, i), change_[static_cast<std::size_t>(i)]);
    }

    // Integers of 4 bits are written into zeroed bytes; a lane's are its own words.
    static void clear_row(DType dtype, unsigned char* tensor, std::int64_t j, std::int64_t k) {
        if (dtype != DType::int4) return;
        const StoredWeights stored{dtype, tensor, 0, k};
        for (std::int64_t p = 0; p < k; p += 8) {
            unsigned char* const group = tensor + (stored.group(j, p) - tensor) + kStoredPanel * 2;
            std::memset(group + codecs::nibble_at(p % kStoredGroup, j % kStoredPanel), 0, 4);
        }
    }

    const Model& adapted_;
    Model& made_;
    const float *a_ = nullptr, *b_ = nullptr;
    std::int64_t rank_ = 0, width_ = 0;
    float scale_ = 0;
    double difference_ = 0;
    std::pmr::vector<float> row_;
    std::pmr::vector<double> change_;
};

}  // namespace

HeapPtr<Model> merge_adapters(const Model& adapted, double* difference, std::pmr::memory_resource* structures,
                              std::pmr::memory_resource* tensors) {
    require(adapted.base != nullptr, "the model has no adapters to merge");
    const Model& base = *adapted.base;
    HeapPtr<Model> made = derive(base, Graph(base.graph, structures), structures, tensors);
    made->arithmetic = adapted.arithmetic;
    Merger merger(adapted, *made, structures);
    for (const AdapterPlace& place : adapter_places(base, adapter_options(adapted).targets, structures))
        merger.merge(place);
    *difference = merger.difference();
    return made;
}

}  // namespace volta
