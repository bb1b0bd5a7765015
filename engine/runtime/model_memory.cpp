#include "engine/runtime/model_memory.h"

#include <algorithm>
#include <numeric>

#include "engine/base/error.h"

namespace volta {

ModelMemory::ModelMemory(Context& context, const Model& model)
    : memory_(context.memory()),
      copies_(context.structures()),
      by_name_(model.parameters.size(), context.structures()) {
    std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
    std::sort(by_name_.begin(), by_name_.end(), [&](std::size_t a, std::size_t b) {
        return model.parameters[a].name < model.parameters[b].name;
    });
    if (memory_.is_host()) return;
    std::uint64_t needed = 0;
    for (const NamedTensor& parameter : model.parameters) needed += parameter.bytes();
    if (needed > memory_.available())
        fail(VOLTA_OUT_OF_MEMORY, "the model's parameters need %llu bytes, the device has %llu",
             static_cast<unsigned long long>(needed), static_cast<unsigned long long>(memory_.available()));
    copies_.reserve(model.parameters.size());
    for (const NamedTensor& parameter : model.parameters) copies_.emplace_back(memory_, parameter.bytes());
}

void ModelMemory::lend_to(ProgramMemory& memory, const Model& model) {
    const Program& program = memory.program();
    if (!copies_.empty() && (!is_filled_ || version_ != model.version())) {
        for (std::size_t i = 0; i < copies_.size(); ++i)
            program.require_ran(
                memory_.write(copies_[i].data(), model.parameters[i].data, model.parameters[i].bytes()));
        version_ = model.version();
        is_filled_ = true;
    }
    const auto& all = model.parameters;
    const auto before = [&](std::size_t i, const std::pmr::string& name) { return all[i].name < name; };
    const auto& regions = program.plan().regions;
    for (std::size_t i = 0; i < regions.size(); ++i) {
        if (regions[i].kind != RegionKind::parameter) continue;
        const auto place = std::lower_bound(by_name_.begin(), by_name_.end(), regions[i].name, before);
        if (place == by_name_.end() || all[*place].name != regions[i].name)
            fail(VOLTA_INTERNAL, "the model has no parameter %s", regions[i].name.c_str());
        memory.lend(i, copies_.empty() ? const_cast<void*>(all[*place].data) : copies_[*place].data());
    }
}

void ModelMemory::add_to(volta_bill& bill) const {
    for (const Block& copy : copies_) {
        bill.parameters += copy.bytes();
        bill.total += copy.bytes();
    }
}

}  // namespace volta
