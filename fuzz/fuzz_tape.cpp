// Calls on two tapes of one context, in the order that bytes say: operators, gradients, steps, reads, resets,
// kept and released tensors, right ones and wrong ones. Each call works or is refused with a sentence, none
// is an internal error, and nothing is left behind. A host whose memory is refused at some point is among the
// inputs.
#include <stdint.h>
#include <stdlib.h>

#include <algorithm>
#include <vector>

#include "fuzz/choices.h"
#include "fuzz/limits.h"

namespace {
using fuzz::Choices;
using fuzz::expect;
using fuzz::worked;

constexpr size_t kHeap = size_t{48} << 20;
constexpr size_t kMostCalls = 400;       // of an input
constexpr int64_t kMostElements = 4096;  // of an operand: what grows by concatenation ends

long refuse_from = -1;  // allocations until the host has no more; below 0: it always has

void* allocate(void*, size_t size, size_t alignment, volta_memory_kind) {
    if (size > kHeap || fuzz::held + size > kHeap || refuse_from == 0) return nullptr;
    if (refuse_from > 0) --refuse_from;
    void* pointer = nullptr;
    if (posix_memalign(&pointer, alignment < sizeof(void*) ? sizeof(void*) : alignment, size) != 0)
        return nullptr;
    fuzz::held += size;
    return pointer;
}

struct Form {
    int32_t rank;
    int64_t extents[4];
};
const Form kForms[] = {{0, {}},     {1, {4}},          {1, {6}},       {2, {6, 4}},       {2, {4, 6}},
                       {2, {4, 4}}, {2, {1, 4}},       {2, {6, 1}},    {4, {2, 4, 3, 3}}, {4, {4, 4, 1, 1}},
                       {1, {0}},    {4, {1, 4, 1, 1}}, {3, {2, 3, 4}}, {1, {1}}};

struct Operator {
    const char* name;
    size_t inputs;
};
const Operator kOperators[] = {{"add", 2},
                               {"mul", 2},
                               {"sub", 2},
                               {"div", 2},
                               {"matmul", 2},
                               {"tanh", 1},
                               {"relu", 1},
                               {"log", 1},
                               {"exp", 1},
                               {"sum", 1},
                               {"mean", 1},
                               {"softmax", 1},
                               {"gelu_erf", 1},
                               {"neg", 1},
                               {"layer_norm", 3},
                               {"cross_entropy", 2},
                               {"dropout", 1},
                               {"batch_norm", 5},
                               {"conv", 2},
                               {"batch_norm_train", 5},
                               {"concat", 2},
                               {"transpose", 1},
                               {"reshape", 1},
                               {"less", 2},
                               {"where", 3},
                               {"gather", 2},
                               {"rms_norm", 2},
                               {"group_norm", 3},
                               {"max_pool", 1},
                               {"tanh_grad", 2},
                               {"batch_statistics", 1},
                               {"assign", 2},
                               {"no_such_operator", 1}};
const char* const kAttributes[] = {"probability", "epsilon", "momentum", "axis",    "groups",
                                   "permutation", "shape",   "stream",   "nothing", "keep_dims"};
const double kNumbers[] = {0.5, 0, 1, 2, -1, 1e-5, 1e300, 0.1};
const int64_t kLists[][2] = {{1, 0}, {4, 6}, {-1, 4}, {2, 2}, {0, 0}};

struct OneTape {
    volta_tape* tape = nullptr;
    std::vector<volta_tensor*> results, kept;  // of the record
    std::vector<volta_tape_optimizer*> optimizers;
};

class World {
  public:
    World(volta_context* context, Choices& choices) : context_(context), choices_(choices) {}
    ~World() {
        refuse_from = -1;
        for (OneTape& one : tapes_) end(one);
        for (volta_tensor* leaf : leaves_) volta_tensor_release(leaf);
    }

    void run() {
        for (size_t calls = 0; !choices_.empty() && calls < kMostCalls; ++calls) call();
    }

  private:
    void end(OneTape& one) {
        for (volta_tensor* result : one.kept) volta_tensor_release(result);  // given up: the tape's again
        for (volta_tape_optimizer* optimizer : one.optimizers) volta_tape_optimizer_release(optimizer);
        volta_tape_release(one.tape);
        one = OneTape();
    }

    // One that is there; it is made when it is first needed. NULL: memory is refused.
    OneTape& tape() {
        OneTape& one = tapes_[choices_.next() % 2];
        if (one.tape != nullptr) return one;
        volta_tape_options options = VOLTA_TAPE_OPTIONS_INIT;
        const unsigned how = choices_.next();
        options.mode = static_cast<volta_tape_mode>(how % 2);
        options.flags = how % 16 == 1 ? VOLTA_TAPE_ONE_SEGMENT : 0;
        options.most_plans = how / 16 % 4;
        worked(volta_tape_create(context_, &options, &one.tape));
        return one;
    }

    volta_tensor* any_of(const std::vector<volta_tensor*>& tensors) {
        const unsigned which = choices_.next();
        return tensors.empty() ? nullptr
                               : tensors[tensors.size() - 1 - which % std::min<size_t>(tensors.size(), 8)];
    }

    // A leaf, a result of a tape's record, a gradient; now and then none.
    volta_tensor* any() {
        const unsigned kind = choices_.next() % 16;
        if (kind == 0) return nullptr;
        if (kind == 1) return volta_tensor_grad(any_of(leaves_));
        return any_of(kind < 7 ? leaves_ : tapes_[kind < 14 ? last_ : 1 - last_].results);
    }

    void make_leaf() {
        const Form& form = choices_.of(kForms);
        const unsigned how = choices_.next();
        volta_tensor* leaf = nullptr;
        const volta_dtype dtype = how % 4 == 0 ? VOLTA_I32 : VOLTA_F32;
        if (!worked(volta_tensor_create(context_, dtype, form.extents, form.rank, &leaf))) return;
        worked(volta_tensor_fill(leaf, how % 8 == 1 ? -0.5 : how % 3));
        if (how % 4 > 1) worked(volta_tensor_set_requires_grad(leaf, 1));
        leaves_.push_back(leaf);
    }

    void apply() {
        OneTape& one = tape();
        const Operator& op = choices_.of(kOperators);
        volta_tensor *inputs[6] = {}, *outputs[3] = {};
        size_t count = op.inputs;
        const unsigned how = choices_.next();
        if (how % 32 == 0) count = how / 32 % 6;
        for (size_t i = 0; i < count; ++i) {
            inputs[i] = any();
            if (volta_tensor_elements(inputs[i]) > kMostElements) return;
        }
        volta_attribute attributes[2] = {};
        const size_t attribute_count = how % 8 == 1 ? 1 : how % 8 == 2 ? 2 : 0;
        for (size_t i = 0; i < attribute_count; ++i) {
            attributes[i].name = choices_.of(kAttributes);
            attributes[i].number = choices_.of(kNumbers);
            attributes[i].integers = choices_.of(kLists);
            attributes[i].integer_count = choices_.next() % 3;
        }
        const size_t wanted = how % 16 == 5 ? 2 : 1;
        const bool made =
            worked(volta_tape_apply(one.tape, op.name, inputs, count, attributes, attribute_count, outputs,
                                    wanted, how % 2 == 0 ? "fuzz.c" : nullptr, 7));
        for (size_t i = 0; i < wanted; ++i) {
            expect(outputs[i] != nullptr || one.tape == nullptr, "a call gave NULL");
            if (made || how % 4 == 0) add_result(one, outputs[i]);  // what stands for none can be used too
        }
    }

    void add_result(OneTape& one, volta_tensor* result) {
        if (result == nullptr) return;
        one.results.push_back(result);
        last_ = static_cast<size_t>(&one - tapes_);
    }

    void read() {
        volta_tensor* const tensor = any();
        double value = 0;
        const char* text = nullptr;
        switch (choices_.next() % 3) {
            case 0:
                worked(volta_tensor_item(tensor, &value));
                return;
            case 1:
                worked(volta_tensor_print(tensor, &text));
                return;
            default:
                if (volta_tensor_data(tensor) == nullptr) worked(volta_last_status());
        }
    }

    void make_optimizer() {
        OneTape& one = tape();
        volta_optimizer_options options = VOLTA_OPTIMIZER_OPTIONS_INIT;
        const unsigned how = choices_.next();
        options.optimizer = static_cast<volta_optimizer>(how % 4);
        options.learning_rate = 0.01;
        options.clip_norm = how / 4 % 2;
        volta_tensor* const tensors[] = {any_of(leaves_), any_of(leaves_), any_of(leaves_)};
        volta_tape_optimizer* made = nullptr;
        if (worked(volta_tape_optimizer_create(one.tape, &options, tensors, how / 8 % 4, &made)))
            one.optimizers.push_back(made);
    }

    void step() {
        OneTape& one = tape();
        OneTape& other = choices_.next() % 16 == 0 ? tapes_[1 - (&one - tapes_)] : one;
        volta_step_report report = VOLTA_STEP_REPORT_INIT;
        volta_tape_optimizer* const by = other.optimizers.empty() ? nullptr : other.optimizers.back();
        worked(volta_tape_step(one.tape, by, &report));
    }

    // What was kept is the host's from now on, computed or not.
    void reset() {
        OneTape& one = tape();
        worked(volta_tape_reset(one.tape));
        expect(one.tape == nullptr || volta_tape_status(one.tape) == VOLTA_OK,
               "a failure outlived its record");
        leaves_.insert(leaves_.end(), one.kept.begin(), one.kept.end());
        one.kept.clear();
        one.results.clear();
    }

    void keep() {
        OneTape& one = tapes_[last_];
        volta_tensor* const result = any_of(one.results);
        if (!worked(volta_tensor_keep(result))) return;
        if (std::find(one.kept.begin(), one.kept.end(), result) == one.kept.end()) one.kept.push_back(result);
    }

    void release_leaf() {
        if (leaves_.empty()) return;
        const size_t which = choices_.next() % leaves_.size();
        volta_tensor_release(leaves_[which]);
        leaves_.erase(leaves_.begin() + static_cast<std::ptrdiff_t>(which));
    }

    void capture() {
        OneTape& one = tape();
        volta_tensor* const outputs[] = {any_of(one.results), any_of(one.results)};
        volta_capture_options options = VOLTA_CAPTURE_OPTIONS_INIT;
        options.open_batch = choices_.next() % 2;
        volta_model* model = nullptr;
        char hash[33];
        if (worked(volta_tape_capture(one.tape, outputs, 1 + choices_.next() % 2, &options, &model)))
            worked(volta_model_hash(model, hash));
        volta_model_release(model);
    }

    void look() {
        OneTape& one = tape();
        volta_tape_info info = VOLTA_TAPE_INFO_INIT;
        const char* text = nullptr;
        worked(volta_tape_get_info(one.tape, &info));
        worked(volta_tape_report(one.tape, static_cast<int32_t>(choices_.next() % 2), &text));
        worked(volta_tape_status(one.tape));
    }

    void call() {
        switch (choices_.next() % 24) {
            case 0:
            case 1:
                return make_leaf();
            case 2:
                return read();
            case 3:
                return make_optimizer();
            case 4: {
                volta_tape* const on = volta_tape_at(tape().tape, "fuzz.c", 9);
                worked(volta_tape_backward(on, any()));
                return;
            }
            case 5:
                return step();
            case 6:
                return reset();
            case 7:
                return keep();
            case 8:
                return release_leaf();
            case 9: {
                OneTape& one = tape();
                add_result(one, volta_tape_detach(one.tape, any()));
                return;
            }
            case 10:
                worked(volta_tape_flush(tape().tape));
                return;
            case 11:
                return capture();
            case 12:
                worked(volta_tensor_zero_grad(any()));
                return;
            case 13:
                worked(volta_tensor_set_requires_grad(any(), static_cast<int32_t>(choices_.next() % 3)));
                return;
            case 14:
                worked(volta_tape_set_gradients(tape().tape, static_cast<int32_t>(choices_.next() % 3)));
                return;
            case 15:
                return look();
            case 16:
                if (choices_.next() % 4 == 0) end(tape());
                return;
            case 17:
                if (choices_.next() % 8 == 0) refuse_from = static_cast<long>(choices_.next());
                return;
            default:
                return apply();
        }
    }

    volta_context* context_;
    Choices& choices_;
    OneTape tapes_[2];
    size_t last_ = 0;  // the tape that gave a result last
    std::vector<volta_tensor*> leaves_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    static const volta_allocator allocator = {allocate, fuzz::release, nullptr};
    const size_t before = fuzz::held;
    volta_context_options options = VOLTA_CONTEXT_OPTIONS_INIT;
    options.allocator = &allocator;
    options.thread_count = 1;
    options.isa = data[0] % 2 == 0 ? VOLTA_ISA_SCALAR : VOLTA_ISA_AUTO;
    refuse_from = -1;
    volta_context* context = nullptr;
    expect(volta_context_create(&options, &context) == VOLTA_OK, "no context");
    Choices choices(data + 1, size - 1);
    {
        World world(context, choices);
        world.run();
    }
    volta_context_release(context);
    expect(fuzz::held == before, "something was left behind");
    return 0;
}
