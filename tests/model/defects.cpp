#include "tests/model/defects.h"

#include <cmath>
#include <cstring>

#include "engine/model/file_layout.h"
#include "tests/model/model_editor.h"

namespace volta::test {
namespace {

constexpr volta_status kUnsupported = VOLTA_UNSUPPORTED;

// ---- bytes
// ---------------------------------------------------------------------------------------------------

std::uint32_t metadata_bytes(const std::string& file) {
    std::uint32_t bytes;
    std::memcpy(&bytes, file.data() + 12, sizeof bytes);
    return bytes;
}
void set_metadata_bytes(std::string& file, std::uint32_t bytes) {
    std::memcpy(&file[12], &bytes, sizeof bytes);
}
std::size_t data_at(const std::string& file) {
    return static_cast<std::size_t>(data_start(metadata_bytes(file)));
}

// The file with other metadata, framed anew so that the checksum is right.
void replace_metadata(std::string& file, const std::string& metadata) {
    file = frame(metadata, file.substr(data_at(file)));
}
std::string metadata_of(const std::string& file) { return file.substr(16, metadata_bytes(file)); }

// Takes a field out of the root table: a zero in its vtable.
void drop_root_field(std::string& file, std::size_t field) {
    std::string metadata = metadata_of(file);
    std::uint32_t root;
    std::memcpy(&root, &metadata[0], sizeof root);
    std::int32_t to_vtable;
    std::memcpy(&to_vtable, &metadata[root], sizeof to_vtable);
    const std::uint16_t none = 0;
    std::memcpy(&metadata[root - static_cast<std::size_t>(to_vtable) + field], &none, sizeof none);
    replace_metadata(file, metadata);
}

// ---- parts
// ---------------------------------------------------------------------------------------------------

using Editor = ModelEditor;

object::AttributeT& attribute(object::NodeT& node, const char* name) {
    for (auto& a : node.attributes)
        if (a->name == name) return *a;
    node.attributes.push_back(std::make_unique<object::AttributeT>());
    node.attributes.back()->name = name;
    return *node.attributes.back();
}
std::uint64_t bits(double value) {
    std::uint64_t result;
    std::memcpy(&result, &value, sizeof result);
    return result;
}
template <class T>
std::unique_ptr<T> copy_of(const T& item) {
    return std::make_unique<T>(item);
}

object::NodeT& add_node(Editor& e, const char* op, const char* name = "") {
    e.model.graph->nodes.push_back(std::make_unique<object::NodeT>());
    e.model.graph->nodes.back()->op = op;
    e.model.graph->nodes.back()->name = name;
    return *e.model.graph->nodes.back();
}
void add_input(Editor& e, const char* name, object::DType dtype, std::vector<std::int64_t> shape) {
    object::NodeT& node = add_node(e, "input", name);
    node.dtype = dtype;
    node.shape = std::move(shape);
}
object::TensorT& add_tensor(Editor& e, std::size_t at, const char* name, object::Role role,
                            object::DType dtype, std::vector<std::int64_t> shape) {
    auto tensor = std::make_unique<object::TensorT>();
    tensor->name = name;
    tensor->role = role;
    tensor->dtype = dtype;
    tensor->shape = std::move(shape);
    tensor->checksum = std::make_unique<object::Checksum>(0, 0);
    auto& tensors = e.model.tensors;
    tensors.insert(tensors.begin() + static_cast<std::ptrdiff_t>(at), std::move(tensor));
    return *tensors[at];
}
void swap_pieces(Editor& e) {
    std::swap(e.model.tokenizer->piece_bytes[0], e.model.tokenizer->piece_bytes[1]);
}

// The characters as the pieces of an spm tokenizer, all in order but for what the row changes.
object::TokenizerT& make_spm(Editor& e) {
    e.model.tokenizer->kind = object::TokenizerKind::spm;
    e.model.tokenizer->scores.assign(e.model.tokenizer->piece_ends.size(), 0.5f);
    return *e.model.tokenizer;
}

const std::string kLongName(256, 'n');
constexpr const char* kWeight = "Gewicht ⚖";

}  // namespace

// clang-format off
const Defect kDefects[] = {
    // ---- the frame
    {"empty", "it has 0 bytes", Base::graph, nullptr, [](std::string& f) { f.clear(); }, VOLTA_CORRUPT_MODEL, false, true},
    {"preamble cut", "it has 15 bytes, fewer than the 16", Base::graph, nullptr, [](std::string& f) { f.resize(15); }},
    {"wrong magic", "no Volta model", Base::graph, [](Editor& e) { e.magic = "VOLTB\n\n\n"; }, nullptr, VOLTA_CORRUPT_MODEL, false, true},
    {"another letter in the magic", "no Volta model", Base::graph, [](Editor& e) { e.magic = std::string("VOLTB\0\r\n", 8); }, nullptr},
    {"line ends rewritten", "no Volta model", Base::graph, nullptr, [](std::string& f) { f.erase(6, 1); }},
    {"zip file", "no Volta model", Base::graph, nullptr, [](std::string& f) { f = "PK\x03\x04" + f; }},
    {"format version 0", "format version 0; this library reads version 1", Base::graph, [](Editor& e) { e.format_version = 0; }, nullptr, kUnsupported},
    {"format version 2", "format version 2; this library reads version 1", Base::graph, [](Editor& e) { e.format_version = 2; }, nullptr, kUnsupported, false, true},
    {"metadata length too large", "its metadata has 4294967295 bytes", Base::graph, nullptr, [](std::string& f) { set_metadata_bytes(f, 0xffffffffu); }},
    {"metadata length just too large", "the most are 67108864", Base::graph, nullptr, [](std::string& f) { set_metadata_bytes(f, (64u << 20) + 1); }},
    {"metadata beyond the end", "it is cut off", Base::graph, nullptr, [](std::string& f) { set_metadata_bytes(f, metadata_bytes(f) + 100000); }},
    {"metadata length off by 8", "checksum of its metadata", Base::graph, nullptr, [](std::string& f) { set_metadata_bytes(f, metadata_bytes(f) - 8); }},
    {"metadata cut", "it is cut off", Base::graph, nullptr, [](std::string& f) { f.resize(data_at(f) / 2); }, VOLTA_CORRUPT_MODEL, false, true},
    {"metadata bit flipped", "checksum of its metadata", Base::graph, nullptr, [](std::string& f) { f[100] = static_cast<char>(f[100] ^ 4); }, VOLTA_CORRUPT_MODEL, false, true},
    {"checksum bit flipped", "checksum of its metadata", Base::graph, nullptr, [](std::string& f) { char& c = f[16 + metadata_bytes(f)]; c = static_cast<char>(c ^ 1); }},
    {"padding behind metadata", "padding behind its metadata", Base::graph, nullptr, [](std::string& f) { f[data_at(f) - 1] = 1; }},
    {"one byte less", "bytes of data follow", Base::graph, nullptr, [](std::string& f) { f.pop_back(); }, VOLTA_CORRUPT_MODEL, false, true},
    {"one byte more", "bytes of data follow", Base::graph, nullptr, [](std::string& f) { f += '\0'; }},
    {"data missing", "but there are 0", Base::graph, nullptr, [](std::string& f) { f.resize(data_at(f)); }},
    // ---- the FlatBuffer
    {"no metadata", "not a well-formed FlatBuffer", Base::graph, nullptr, [](std::string& f) { replace_metadata(f, ""); }},
    {"metadata of 4 bytes", "not a well-formed FlatBuffer", Base::graph, nullptr, [](std::string& f) { replace_metadata(f, std::string(4, '\0')); }},
    {"metadata of zeros", "not a well-formed FlatBuffer", Base::graph, nullptr, [](std::string& f) { replace_metadata(f, std::string(512, '\0')); }},
    {"metadata of ones", "not a well-formed FlatBuffer", Base::graph, nullptr, [](std::string& f) { replace_metadata(f, std::string(512, '\xff')); }, VOLTA_CORRUPT_MODEL, false, true},
    {"other file identifier", "not a well-formed FlatBuffer", Base::graph, nullptr, [](std::string& f) { auto m = metadata_of(f); m[4] = 'X'; replace_metadata(f, m); }},
    {"root beyond the end", "not a well-formed FlatBuffer", Base::graph, nullptr, [](std::string& f) { auto m = metadata_of(f); m[2] = 0x7f; replace_metadata(f, m); }},
    {"FlatBuffer cut", "not a well-formed FlatBuffer", Base::graph, nullptr, [](std::string& f) { auto m = metadata_of(f); m.resize(m.size() - 8); replace_metadata(f, m); }},
    {"no tensor list", "not a well-formed FlatBuffer", Base::graph, nullptr, [](std::string& f) { drop_root_field(f, object::Model::VT_TENSORS); }},
    {"no producer", "not a well-formed FlatBuffer", Base::graph, nullptr, [](std::string& f) { drop_root_field(f, object::Model::VT_PRODUCER); }},
    // ---- versions
    {"producer empty", "the producer", Base::graph, [](Editor& e) { e.model.producer = ""; }, nullptr},
    {"contract 2", "numeric contract 2; this library keeps contract 1", Base::graph, [](Editor& e) { e.model.contract_version = 2; }, nullptr, kUnsupported, false, true},
    {"level 3", "determinism level 3; this library knows the levels 0 .. 2, strict to fast", Base::graph, [](Editor& e) { e.model.level = static_cast<object::Level>(3); }, nullptr, kUnsupported},
    {"precision 3", "in precision 3; this library knows the precisions 0 .. 2, fp32 to bf16", Base::graph, [](Editor& e) { e.model.level = object::Level::fast; e.model.precision = static_cast<object::Precision>(3); }, nullptr, kUnsupported},
    {"strict in bf16", "at level strict in precision bf16, which that level lacks", Base::graph, [](Editor& e) { e.model.precision = object::Precision::bf16; }, nullptr, VOLTA_CORRUPT_MODEL, false, true},
    {"no graph", "it holds no graph", Base::graph, [](Editor& e) { e.model.graph.reset(); }, nullptr},
    {"no graph, later minor", "it holds no graph", Base::graph, [](Editor& e) { e.model.graph.reset(); e.model.minor_version = 99; }, nullptr, kUnsupported},
    {"operator of a later minor", "the operator 'convolution' belongs to format version 1.99", Base::graph, [](Editor& e) { e.node("mul").op = "convolution"; e.model.minor_version = 99; }, nullptr, kUnsupported, false, true},
    {"attribute of a later minor", "the attribute 'speed' belongs to format version 1.99", Base::graph, [](Editor& e) { attribute(e.node("clamp"), "low").name = "speed"; e.model.minor_version = 99; }, nullptr, kUnsupported},
    {"dtype of a later minor", "belongs to format version 1.99", Base::graph, [](Editor& e) { e.tensor(kWeight).dtype = static_cast<object::DType>(8); e.model.minor_version = 99; }, nullptr, kUnsupported},
    // ---- tensors: names, types, roles
    {"tensor without name", "the name of tensor 0 is empty", Base::graph, [](Editor& e) { e.tensor(kWeight).name = ""; }, nullptr},
    {"tensor name too long", "is longer than 255 bytes", Base::graph, [](Editor& e) { e.tensor(kWeight).name = kLongName; }, nullptr},
    {"tensor name with newline", "contains a control character", Base::graph, [](Editor& e) { e.tensor(kWeight).name = "a\nb"; }, nullptr},
    {"tensor name with zero", "contains a control character", Base::graph, [](Editor& e) { e.tensor(kWeight).name = std::string("a\0b", 3); }, nullptr},
    {"tensor name not UTF-8", "is not UTF-8", Base::graph, [](Editor& e) { e.tensor(kWeight).name = "a\xc0\x80"; }, nullptr},
    {"tensor names twice", "two tensors are named 'gain'", Base::graph, [](Editor& e) { e.tensor("empty").name = "gain"; }, nullptr, VOLTA_CORRUPT_MODEL, false, true},
    {"tensor without dtype", "the element type of tensor 'gain' is unknown", Base::graph, [](Editor& e) { e.tensor("gain").dtype = object::DType::none; }, nullptr},
    {"tensor of dtype 9", "the element type of tensor 'gain' is unknown", Base::graph, [](Editor& e) { e.tensor("gain").dtype = static_cast<object::DType>(9); }, nullptr},
    {"tensor without role", "the role of tensor 'gain' is unknown", Base::graph, [](Editor& e) { e.tensor("gain").role = object::Role::none; }, nullptr},
    {"tensor of role 7", "the role of tensor 'gain' is unknown", Base::graph, [](Editor& e) { e.tensor("gain").role = static_cast<object::Role>(7); }, nullptr},
    {"roles out of order", "is out of order", Base::graph, [](Editor& e) { std::swap(e.model.tensors[0], e.model.tensors[3]); relayout(e); }, nullptr},
    // ---- tensors: shapes and places
    {"9 axes", "has 9 axes, the most are 8", Base::graph, [](Editor& e) { e.tensor("gain").shape.assign(9, 1); }, nullptr},
    {"negative extent", "has the extent -3", Base::graph, [](Editor& e) { e.tensor(kWeight).shape = {-3, -4}; }, nullptr},
    {"open extent in a tensor", "has the extent -1", Base::graph, [](Editor& e) { e.tensor(kWeight).shape = {-1, 4}; }, nullptr},
    {"elements overflow", "too many to count", Base::graph, [](Editor& e) { e.tensor(kWeight).shape = {std::int64_t{1} << 62, 4}; }, nullptr, VOLTA_CORRUPT_MODEL, false, true},
    {"bytes overflow", "too many to count", Base::graph, [](Editor& e) { e.tensor(kWeight).shape = {(std::int64_t{1} << 62) + 12}; }, nullptr},
    {"overflow behind a zero", "too many to count", Base::graph, [](Editor& e) { e.tensor("empty").shape = {0, std::int64_t{1} << 40, std::int64_t{1} << 40}; }, nullptr},
    {"bytes too few", "has the shape [3, 4] and 44 bytes", Base::graph, [](Editor& e) { e.tensor(kWeight).bytes -= 4; }, nullptr},
    {"bytes too many", "has the shape [3, 4] and 52 bytes", Base::graph, [](Editor& e) { e.tensor(kWeight).bytes += 4; }, nullptr},
    {"bytes huge", "and 18446744073709551615 bytes", Base::graph, [](Editor& e) { e.tensor(kWeight).bytes = UINT64_MAX; }, nullptr},
    {"offset not aligned", "which is no multiple of 64", Base::graph, [](Editor& e) { e.tensor("gain").offset += 4; }, nullptr, VOLTA_CORRUPT_MODEL, false, true},
    {"tensors overlap", "inside or before the one before it", Base::graph, [](Editor& e) { e.tensor("gain").offset = 0; }, nullptr, VOLTA_CORRUPT_MODEL, false, true},
    {"tensors swapped", "there is a gap before tensor", Base::graph, [](Editor& e) { std::swap(e.tensor(kWeight).offset, e.tensor("gain").offset); }, nullptr},
    {"offset beyond the end", "reaches beyond the data section", Base::graph, [](Editor& e) { e.model.tensors.back()->offset += 1 << 20; }, nullptr},
    {"offset wraps around", "reaches beyond the data section", Base::graph, [](Editor& e) { e.model.tensors.back()->offset = UINT64_MAX - 63; }, nullptr, VOLTA_CORRUPT_MODEL, false, true},
    {"last tensor beyond the end", "reaches beyond the data section", Base::graph, [](Editor& e) { e.data.pop_back(); --e.model.data_bytes; }, nullptr},
    {"gap between tensors", "there is a gap before tensor", Base::graph, [](Editor& e) { e.model.tensors.back()->offset += 64; e.data.insert(e.data.size() - 4, 64, '\0'); e.model.data_bytes += 64; }, nullptr},
    {"bytes behind the last tensor", "the last tensor ends at", Base::graph, [](Editor& e) { e.data += "hidden"; e.model.data_bytes += 6; }, nullptr, VOLTA_CORRUPT_MODEL, false, true},
    {"data size wrong", "bytes of data follow", Base::graph, [](Editor& e) { e.model.data_bytes = 1; }, nullptr},
    {"parameter bit flipped", "the checksum of tensor 'Gewicht ⚖' does not match", Base::graph, [](Editor& e) { e.data[5] = static_cast<char>(e.data[5] ^ 16); }, nullptr, VOLTA_CORRUPT_MODEL, true, true},
    {"constant bit flipped", "the checksum of tensor 'constant/", Base::graph, [](Editor& e) { char& c = e.data[e.data.size() - 1]; c = static_cast<char>(c ^ 1); }, nullptr},
    {"parameter checksum wrong", "the checksum of tensor 'gain' does not match", Base::graph, [](Editor& e) { *e.tensor("gain").checksum = object::Checksum(1, 2); }, nullptr, VOLTA_CORRUPT_MODEL, true},
    {"padding between tensors", "the padding before tensor 'gain' is not zero", Base::graph, [](Editor& e) { e.data[static_cast<std::size_t>(e.tensor("gain").offset) - 1] = 1; }, nullptr, VOLTA_CORRUPT_MODEL, true, true},
    // ---- parameters: tensors against graph
    {"parameter without tensor", "parameter 1 of its graph is 'gain', its tensor there is 'empty'", Base::graph, [](Editor& e) { e.model.tensors.erase(e.model.tensors.begin() + 1); relayout(e); }, nullptr, VOLTA_CORRUPT_MODEL, false, true},
    {"last parameter without tensor", "'empty', its tensor there is 'missing'", Base::graph, [](Editor& e) { e.model.tensors.erase(e.model.tensors.begin() + 2); relayout(e); }, nullptr},
    {"tensor without parameter", "tensor 'extra' is a parameter that its graph does not have", Base::graph, [](Editor& e) { add_tensor(e, 3, "extra", object::Role::parameter, object::DType::f32, {2}); relayout(e); }, nullptr},
    {"parameter named otherwise", "is 'loss', its tensor there is 'gain'", Base::graph, [](Editor& e) { e.node("gain").name = "loss"; }, nullptr},
    {"parameter of another shape", "is f32[4, 3] in its tensor and f32[3, 4] in its graph", Base::graph, [](Editor& e) { e.tensor(kWeight).shape = {4, 3}; }, nullptr, VOLTA_CORRUPT_MODEL, false, true},
    {"stored tensor of an f32 parameter", "has the shape [3, 4] and 48 bytes", Base::graph, [](Editor& e) { e.tensor(kWeight).dtype = object::DType::int8; }, nullptr},
    {"stored parameter of an f32 tensor", "in its tensor and int8", Base::graph, [](Editor& e) { e.node(2).dtype = object::DType::int8; }, nullptr},
    {"stored scalar", "is no packed weight", Base::graph, [](Editor& e) { e.node(3).dtype = object::DType::int4; }, nullptr},
    {"stored input", "the element type of input 'x' is unknown", Base::graph, [](Editor& e) { e.node(0).dtype = object::DType::int8; }, nullptr},
    {"stored constant", "the element type of tensor 'constant/0' is unknown", Base::graph, [](Editor& e) { e.tensor("constant/0").dtype = object::DType::bf16; }, nullptr},
    {"parameter of integers", "is i32[3, 4] in its tensor", Base::graph, [](Editor& e) { e.tensor(kWeight).dtype = object::DType::i32; }, nullptr},
    {"initialisation unknown", "the initialisation of parameter 'gain' is unknown", Base::graph, [](Editor& e) { e.node("gain").init->kind = static_cast<object::InitKind>(3); }, nullptr},
    {"parameter with open extent", "has the extent -1", Base::graph, [](Editor& e) { e.node(kWeight).shape = {-1, 4}; }, nullptr},
    // ---- constants
    {"constant without tensor", "there is no tensor for this constant", Base::graph, [](Editor& e) { e.model.tensors.pop_back(); relayout(e); }, nullptr},
    {"tensor without constant", "it has 4 constant tensors, its graph has 3", Base::graph, [](Editor& e) { add_tensor(e, 6, "constant/3", object::Role::constant, object::DType::f32, {2}); relayout(e); }, nullptr},
    {"constant of another shape", "the constant is i32[1, 3], its tensor 'constant/1' is not", Base::graph, [](Editor& e) { e.node(6).shape = {1, 3}; }, nullptr},
    {"constant of another dtype", "the constant is f32[3], its tensor", Base::graph, [](Editor& e) { e.node(6).dtype = object::DType::f32; }, nullptr},
    {"too many constants", "its graph has 2049 constants, the most are 2048", Base::graph, [](Editor& e) { for (int i = 3; i < 2049; ++i) add_tensor(e, e.model.tensors.size(), ("constant/" + std::to_string(i)).c_str(), object::Role::constant, object::DType::f32, {}); relayout(e); }, nullptr},
    // ---- nodes
    {"operator unknown", "the operator 'multiply' is unknown", Base::graph, [](Editor& e) { e.node("mul").op = "multiply"; }, nullptr, VOLTA_CORRUPT_MODEL, false, true},
    {"operator without name", "the operator '' is unknown", Base::graph, [](Editor& e) { e.node("mul").op = ""; }, nullptr},
    {"operator with a zero inside", "the operator 'mul", Base::graph, [](Editor& e) { e.node("mul").op = std::string("mul\0x", 5); }, nullptr},
    {"operator that writes in place", "'sgd' is an operator that no stored graph has", Base::graph, [](Editor& e) { e.node("mul").op = "sgd"; }, nullptr, VOLTA_CORRUPT_MODEL, false, true},
    {"state in a stored graph", "'state' is an operator that no stored graph has", Base::graph, [](Editor& e) { e.node("gain").op = "state"; }, nullptr},
    {"fused node", "'fused' is an operator that no stored graph has", Base::graph, [](Editor& e) { e.node("mul").op = "fused"; }, nullptr},
    {"accumulate node", "'accumulate' is an operator that no stored graph has", Base::graph, [](Editor& e) { e.node("mul").op = "accumulate"; }, nullptr},
    {"stack node", "'stack' is an operator that no stored graph has", Base::graph, [](Editor& e) { e.node("mul").op = "stack"; }, nullptr},
    {"input negative", "input 0 is value -1", Base::graph, [](Editor& e) { e.node("mul").inputs[0] = -1; }, nullptr},
    {"input of a later node", "but 10 values stand before it", Base::graph, [](Editor& e) { e.node("mul").inputs[0] = 11; }, nullptr},
    {"input of itself", "input 1 is value 10, but 10 values stand before it", Base::graph, [](Editor& e) { e.node("mul").inputs[1] = 10; }, nullptr, VOLTA_CORRUPT_MODEL, false, true},
    {"input missing", "takes 2 inputs, not 1", Base::graph, [](Editor& e) { e.node("mul").inputs.pop_back(); }, nullptr},
    {"input too many", "takes 2 inputs, not 3", Base::graph, [](Editor& e) { e.node("mul").inputs.push_back(0); }, nullptr},
    {"shapes do not fit", "matmul: inner extents differ", Base::graph, [](Editor& e) { e.node(kWeight).shape = {4, 3}; e.tensor(kWeight).shape = {4, 3}; }, nullptr, VOLTA_CORRUPT_MODEL, false, true},
    {"dtypes do not fit", "node 8 of its graph", Base::graph, [](Editor& e) { e.node("where").inputs[0] = 0; }, nullptr},
    {"node name with newline", "the name of node 9 contains a control character", Base::graph, [](Editor& e) { e.node("product").name = "a\nb"; }, nullptr},
    {"too many nodes", "its graph has 65537 nodes, the most are 65536", Base::graph, [](Editor& e) { while (e.model.graph->nodes.size() < 65537) add_node(e, "neg").inputs = {0}; }, nullptr},
    {"too many sources", "its graph has 8193 inputs and parameters, the most are 8192", Base::graph, [](Editor& e) { for (int i = 0; i < 8188; ++i) add_input(e, ("in" + std::to_string(i)).c_str(), object::DType::f32, {}); }, nullptr},
    // ---- attributes
    {"attribute unknown", "the attribute 'hight' is unknown", Base::graph, [](Editor& e) { attribute(e.node("clamp"), "high").name = "hight"; }, nullptr},
    {"attribute of another operator", "the attribute 'axes' is unknown", Base::graph, [](Editor& e) { attribute(e.node("clamp"), "high").name = "axes"; }, nullptr},
    {"attribute missing", "clamp: the attribute high is missing", Base::graph, [](Editor& e) { e.node("clamp").attributes.pop_back(); }, nullptr},
    {"attribute twice", "is given twice", Base::graph, [](Editor& e) { attribute(e.node("clamp"), "high").name = "low"; }, nullptr},
    {"attributes too many", "it has 3 attributes, 'clamp' has 2", Base::graph, [](Editor& e) { e.node("clamp").attributes.push_back(copy_of(*e.node("clamp").attributes[0])); }, nullptr},
    {"list for a number", "the attribute 'low' is a list, not a number", Base::graph, [](Editor& e) { attribute(e.node("clamp"), "low").integers = {1}; }, nullptr},
    {"number for a list", "the attribute 'permutation' is a number, not a list", Base::graph, [](Editor& e) { object::AttributeT& a = attribute(e.node("transpose"), "permutation"); a.integers.clear(); a.number_bits = bits(1); }, nullptr},
    {"list too long", "the list 'permutation' has 9 entries, the most are 8", Base::graph, [](Editor& e) { attribute(e.node("transpose"), "permutation").integers.assign(9, 0); }, nullptr},
    {"permutation twice the same", "transpose", Base::graph, [](Editor& e) { attribute(e.node("transpose"), "permutation").integers = {0, 0}; }, nullptr},
    {"permutation beyond the rank", "transpose", Base::graph, [](Editor& e) { attribute(e.node("transpose"), "permutation").integers = {1, INT64_MAX}; }, nullptr},
    {"axis beyond the rank", "there is no axis 5", Base::graph, [](Editor& e) { attribute(e.node("sum"), "axes").integers = {5}; }, nullptr},
    {"attribute NaN", "clamp: low", Base::graph, [](Editor& e) { attribute(e.node("clamp"), "low").number_bits = 0x7ff8000000000000u; }, nullptr},
    {"attribute no integer", "transpose_b", Base::graph, [](Editor& e) { attribute(e.node("matmul"), "transpose_b").number_bits = bits(0.5); }, nullptr},
    {"attribute accumulate", "'accumulate' is set", Base::graph, [](Editor& e) { attribute(e.node("matmul"), "accumulate").number_bits = bits(1); }, nullptr, VOLTA_CORRUPT_MODEL, false, true},
    {"heads huge", "attention: heads", Base::gpt, [](Editor& e) { attribute(e.node("attention"), "heads").number_bits = bits(1e300); }, nullptr},
    {"dropout certain", "dropout: probability", Base::gpt, [](Editor& e) { attribute(e.node("dropout"), "probability").number_bits = bits(1); }, nullptr},
    // ---- sources
    {"source without name", "the source has no name", Base::graph, [](Editor& e) { e.node(0).name = ""; }, nullptr},
    {"sources of one name", "there is already a source of this name", Base::graph, [](Editor& e) { e.node("mask").name = "x"; }, nullptr, VOLTA_CORRUPT_MODEL, false, true},
    {"source with inputs", "takes neither inputs nor attributes", Base::graph, [](Editor& e) { e.node("mask").inputs = {0}; }, nullptr},
    {"source with attributes", "takes neither inputs nor attributes", Base::graph, [](Editor& e) { attribute(e.node("mask"), "axis").number_bits = 0; }, nullptr},
    {"list missing", "transpose", Base::graph, [](Editor& e) { attribute(e.node("transpose"), "permutation").integers.clear(); }, nullptr},
    {"input without dtype", "the element type of input 'mask' is unknown", Base::graph, [](Editor& e) { e.node("mask").dtype = object::DType::none; }, nullptr},
    {"input extent -2", "input 'x' has the extent -2", Base::graph, [](Editor& e) { e.node("x").shape = {-2, 3}; }, nullptr},
    {"input too large", "too many to count", Base::graph, [](Editor& e) { e.node("x").shape = {INT64_MAX, 3}; }, nullptr},
    {"input of the trainer's", "takes a name that is kept for training", Base::graph, [](Editor& e) { add_input(e, "step/count", object::DType::f32, {}); }, nullptr},
    {"random input of floats", "takes a name that is kept for training", Base::gpt, [](Editor& e) { e.node("step/random").dtype = object::DType::f32; }, nullptr},
    // ---- outputs
    {"output of no value", "output 'y' is value 99 of", Base::graph, [](Editor& e) { e.model.graph->outputs[0]->value = 99; }, nullptr, VOLTA_CORRUPT_MODEL, false, true},
    {"output negative", "output 'y' is value -1 of", Base::graph, [](Editor& e) { e.model.graph->outputs[0]->value = -1; }, nullptr},
    {"outputs of one name", "already an output of this name", Base::graph, [](Editor& e) { e.model.graph->outputs[1]->name = "y"; }, nullptr},
    {"output without name", "the name of output 0 is empty", Base::graph, [](Editor& e) { e.model.graph->outputs[0]->name = ""; }, nullptr},
    {"too many outputs", "its graph has 1025 outputs, the most are 1024", Base::graph, [](Editor& e) { while (e.model.graph->outputs.size() < 1025) { e.model.graph->outputs.push_back(copy_of(*e.model.graph->outputs[0])); e.model.graph->outputs.back()->name = "o" + std::to_string(e.model.graph->outputs.size()); } }, nullptr},
    // ---- tokenizer
    {"tokenizer without kind", "the tokenizer kind '0' is unknown", Base::gpt, [](Editor& e) { e.model.tokenizer->kind = object::TokenizerKind::none; }, nullptr},
    {"tokenizer kind of a later minor", "the tokenizer kind '12' belongs to format version 1.99", Base::gpt, [](Editor& e) { e.model.tokenizer->kind = static_cast<object::TokenizerKind>(12); e.model.minor_version = 99; }, nullptr, kUnsupported},
    {"pieces out of order", "does not come after the one before", Base::gpt, swap_pieces, nullptr, VOLTA_CORRUPT_MODEL, false, true},
    {"piece not UTF-8", "is not one UTF-8 character", Base::gpt, [](Editor& e) { e.model.tokenizer->piece_bytes[0] = 0xff; }, nullptr},
    {"piece ends descend", "piece 2 of its tokenizer ends at 0", Base::gpt, [](Editor& e) { e.model.tokenizer->piece_ends[2] = 0; }, nullptr},
    {"piece ends beyond", "its tokenizer ends at 4294967295 of", Base::gpt, [](Editor& e) { e.model.tokenizer->piece_ends.back() = UINT32_MAX; }, nullptr},
    {"piece bytes left over", "the pieces of its tokenizer end at", Base::gpt, [](Editor& e) { e.model.tokenizer->piece_bytes.push_back('z'); }, nullptr},
    {"no pieces", "has no pieces", Base::gpt, [](Editor& e) { e.model.tokenizer->piece_bytes.clear(); e.model.tokenizer->piece_ends.clear(); }, nullptr},
    {"byte tokenizer of characters", "are not the 256 bytes in order", Base::gpt, [](Editor& e) { e.model.tokenizer->kind = object::TokenizerKind::bytes; }, nullptr},
    {"tokenizer kind unknown", "the tokenizer kind '12' is unknown", Base::gpt, [](Editor& e) { e.model.tokenizer->kind = static_cast<object::TokenizerKind>(12); }, nullptr},
    {"characters with types", "its char tokenizer has parts of another kind", Base::gpt, [](Editor& e) { e.model.tokenizer->piece_types.resize(e.model.tokenizer->piece_ends.size()); }, nullptr},
    {"characters with scores", "its char tokenizer has parts of another kind", Base::gpt, [](Editor& e) { e.model.tokenizer->scores = {1}; }, nullptr},
    {"characters with merges", "its char tokenizer has parts of another kind", Base::gpt, [](Editor& e) { e.model.tokenizer->merges = {0, 1}; }, nullptr},
    {"characters with an id", "its char tokenizer has parts of another kind", Base::gpt, [](Editor& e) { e.model.tokenizer->pad = 0; }, nullptr},
    {"characters with a split", "its char tokenizer has parts of another kind", Base::gpt, [](Editor& e) { e.model.tokenizer->split = 1; }, nullptr},
    {"spm with a length of words", "its spm tokenizer has parts of another kind", Base::gpt, [](Editor& e) { make_spm(e).most_word_characters = 9; }, nullptr},
    {"characters with flags", "its char tokenizer has parts of another kind", Base::gpt, [](Editor& e) { e.model.tokenizer->flags = 1; }, nullptr},
    {"tokenizer flags unknown", "the set of tokenizer flags '2048' is unknown", Base::gpt, [](Editor& e) { make_spm(e).flags = 2048; }, nullptr},
    {"word split unknown", "the way to split words '2' is unknown", Base::gpt, [](Editor& e) { e.model.tokenizer->split = 2; }, nullptr},
    {"piece type unknown", "the type of a piece '5' is unknown", Base::gpt, [](Editor& e) { make_spm(e).piece_types.assign(e.model.tokenizer->piece_ends.size(), 5); }, nullptr},
    {"piece types missing", "pieces and 1 types of pieces", Base::gpt, [](Editor& e) { make_spm(e).piece_types = {0}; }, nullptr},
    {"scores missing", "pieces and 1 scores", Base::gpt, [](Editor& e) { make_spm(e).scores.resize(1); }, nullptr},
    {"score not finite", "the score of piece 1 of its tokenizer is not finite", Base::gpt, [](Editor& e) { make_spm(e).scores[1] = NAN; }, nullptr},
    {"byte piece of another form", "is no byte like <0x0A>", Base::gpt, [](Editor& e) { make_spm(e).piece_types.assign(e.model.tokenizer->piece_ends.size(), 3); }, nullptr},
    {"id beyond the pieces", "the id 'eos' of its tokenizer is 4096, outside the vocabulary", Base::gpt, [](Editor& e) { make_spm(e).eos = 4096; }, nullptr},
    {"id below -1", "the id 'pad' of its tokenizer is -2, outside the vocabulary", Base::gpt, [](Editor& e) { make_spm(e).pad = -2; }, nullptr},
    {"end without an id", "is to add an id that it does not have", Base::gpt, [](Editor& e) { make_spm(e).flags = 1; }, nullptr},
    {"spm with merges", "its spm tokenizer has parts of another kind", Base::gpt, [](Editor& e) { make_spm(e).merges = {0, 1}; }, nullptr},
    {"merges that are no pairs", "are 3 ids, which are no pairs", Base::gpt, [](Editor& e) { make_spm(e).merges = {0, 1, 2}; }, nullptr},
    // ---- metadata
    {"keys out of order", "metadata key 'licence' is out of order", Base::gpt, [](Editor& e) { std::swap(e.model.metadata[0], e.model.metadata[1]); }, nullptr},
    {"key twice", "metadata key 'licence' is out of order or there twice", Base::gpt, [](Editor& e) { e.model.metadata[1]->key = "licence"; }, nullptr},
    {"key empty", "the name of metadata key 0 is empty", Base::gpt, [](Editor& e) { e.model.metadata[0]->key = ""; }, nullptr},
    {"value not UTF-8", "the metadata value of 'licence' is not UTF-8", Base::gpt, [](Editor& e) { e.model.metadata[0]->value = "\xed\xa0\x80"; }, nullptr},
    {"value with a zero", "the metadata value of 'licence' is not UTF-8", Base::gpt, [](Editor& e) { e.model.metadata[0]->value = std::string("a\0b", 3); }, nullptr},
    // ---- training state
    {"numbers out of order", "training number 'beta1' is out of order", Base::gpt, [](Editor& e) { std::swap(e.model.training->numbers[0], e.model.training->numbers[1]); }, nullptr},
    {"number without name", "the name of training number 0 is empty", Base::gpt, [](Editor& e) { e.model.training->numbers[0]->name = ""; }, nullptr},
    {"integer twice", "training integer 'seed' is out of order or there twice", Base::gpt, [](Editor& e) { e.model.training->integers[1]->name = "seed"; }, nullptr},
    {"training tensors without training", "the file has no training section", Base::gpt, [](Editor& e) { e.model.training.reset(); }, nullptr},
    {"training tensor of no parameter", "'token_embeddinG/m' belongs to no parameter", Base::gpt, [](Editor& e) { e.tensor("token_embedding/m").name = "token_embeddinG/m"; }, nullptr, VOLTA_CORRUPT_MODEL, false, false},
    {"training tensor without slash", "'m' belongs to no parameter", Base::gpt, [](Editor& e) { e.tensor("token_embedding/m").name = "m"; }, nullptr},
    {"training tensor without suffix", "'token_embedding/' belongs to no parameter", Base::gpt, [](Editor& e) { e.tensor("token_embedding/m").name = "token_embedding/"; }, nullptr},
    {"training tensor of another shape", "its parameter f32[8, 12]", Base::gpt, [](Editor& e) { e.tensor("position_embedding/v").shape = {12, 8}; }, nullptr},
    {"training tensor of integers", "is i32[8, 12], its parameter f32[8, 12]", Base::gpt, [](Editor& e) { e.tensor("position_embedding/v").dtype = object::DType::i32; }, nullptr},
};
// clang-format on
const int kDefectCount = sizeof kDefects / sizeof *kDefects;

std::string broken_path(const Defect& defect) {
    std::string path = "broken/" + std::string(defect.name) + ".volta";
    for (char& c : path)
        if (c == ' ') c = '_';
    return path;
}

std::string make_broken(const Defect& defect, const std::string& base) {
    std::string file = base;
    if (defect.edit != nullptr) {
        ModelEditor editor;
        if (!take_apart(base, &editor)) return "the base is broken";
        defect.edit(editor);
        file = put_together(editor);
    }
    if (defect.patch != nullptr) defect.patch(file);
    return file;
}

}  // namespace volta::test
