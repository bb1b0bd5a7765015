// Writes the CUDA C of every program of the tests, and what builds it for the processor:
//
//     generate_kernels FOLDER FILES
//
// FOLDER/kernels_K.cu     the text as a device compiler gets it, FILES files of it
// FOLDER/kernels_K.cpp    the same behind the emulation, with a table of its kernels
// FOLDER/kernels.cpp      the tables of all files
// FOLDER/products.cu, .cpp    the products
// FOLDER/NAME.cu, .cpp, FOLDER/entries.cpp    the same of kernels that are written by hand (entries.h)
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "jitgen/cuda/row_source.h"
#include "tests/cuda/entries.h"
#include "tests/cuda/programs.h"

namespace {
using namespace volta;
using namespace volta::test;

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

// A file keeps its time if it would not change: nothing is built again.
bool write(const std::string& path, const std::string& text) {
    if (std::FILE* old = std::fopen(path.c_str(), "rb"); old != nullptr) {
        std::string content(text.size() + 1, '\0');
        const std::size_t size = std::fread(&content[0], 1, content.size(), old);
        std::fclose(old);
        content.resize(size);
        if (content == text) return true;
    }
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr) return false;
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    return std::fclose(file) == 0 && written;
}

struct File {
    std::pmr::string device{heap()};
    std::string table;
    int count = 0;
};

void add(const NamedProgram& named, File& file) {
    jit::verify(named.program);
    const jit::RowPlan plan = jit::cuda_plan(named.program, heap());
    jit::append_row_kernels(plan, named.name.c_str(), file.device);
    const auto caller = [&](const char* form) {
        return "[](const void* args) { " + named.name + "_" + form +
               "(*static_cast<const VoltaRowArgs*>(args)); }";
    };
    file.table += "    {\"" + named.name + "\",\n     " + caller(plan.column_sums ? "segments" : "warps") +
                  ",\n     " + caller(plan.column_sums ? "close" : "blocks") + "},\n";
    ++file.count;
}

std::string wrapper(const File& file, int number) {
    const std::string k = std::to_string(number);
    return "#include \"tests/support/simt_emulation.h\"\n#include \"tests/cuda/emulated_kernels.h\"\n\n"
           "#include \"kernels_" +
           k +
           ".cu\"\n\nnamespace volta::test {\n"
           "extern const EmulatedKernels kKernels" +
           k +
           "[];\n"
           "const EmulatedKernels kKernels" +
           k + "[] = {\n" + file.table + "};\n}  // namespace volta::test\n";
}

std::string tables(const std::vector<File>& files) {
    std::string declarations, rows;
    for (std::size_t k = 0; k < files.size(); ++k) {
        const std::string name = "kKernels" + std::to_string(k);
        declarations += "extern const EmulatedKernels " + name + "[];\n";
        rows += "    {" + name + ", " + std::to_string(files[k].count) + "},\n";
    }
    return "#include \"tests/cuda/emulated_kernels.h\"\n\nnamespace volta::test {\n" + declarations +
           "const EmulatedTable kEmulatedTables[] = {\n" + rows +
           "};\nconst int kEmulatedTableCount = " + std::to_string(files.size()) +
           ";\n}  // namespace volta::test\n";
}

bool write_products(const std::string& base) {
    std::pmr::string device(heap());
    std::string rows;
    int count = 0;
    jit::append_row_prelude(device);
    jit::append_product_prelude(device);
    for (const NamedProduct& named : products()) {
        const jit::RowPlan plan = jit::cuda_plan(named.epilogue, heap());
        jit::append_product_kernels(named.form, named.has_epilogue ? &plan : nullptr, named.name.c_str(),
                                    device);
        rows += "    {\"" + named.name + "\"";
        for (const char* form : {"tiles", "segments", "close"})
            rows += ",\n     [](const void* args) { " + named.name + "_" + form +
                    "(*static_cast<const VoltaProductArgs*>(args)); }";
        rows += "},\n";
        ++count;
    }
    const std::string wrapped =
        "#include \"tests/support/simt_emulation.h\"\n#include \"tests/cuda/emulated_kernels.h\"\n\n"
        "#include \"products.cu\"\n\nnamespace volta::test {\nconst EmulatedProduct kEmulatedProducts[] = "
        "{\n" +
        rows + "};\nconst int kEmulatedProductCount = " + std::to_string(count) +
        ";\n}  // namespace volta::test\n";
    return write(base + ".cu", std::string(device)) && write(base + ".cpp", wrapped);
}

void append(std::string& text, std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts) text += part;
}

bool write_entries(const std::string& folder) {
    std::string declarations, rows;
    int count = 0;
    for (const EntryFile& file : entry_files()) {
        const std::string table = "kEntries_" + file.name;
        const std::string declaration = "extern const EmulatedEntry " + table + "[];\n";
        std::string wrapped = "#include \"tests/cuda/entries.h\"\n\n";
        append(wrapped, {"#include \"", file.name, ".cu\"\n\nnamespace volta::test {\n", declaration,
                         "const EmulatedEntry ", table, "[] = {\n"});
        for (const auto& [name, argument] : file.entries)
            append(wrapped, {"    {\"", name, "\", [](const void* args) { ", name, "(*static_cast<const ",
                             argument, "*>(args)); }},\n"});
        wrapped += "};\n}  // namespace volta::test\n";
        const std::string base = folder + "/" + file.name;
        if (!write(base + ".cu", file.text) || !write(base + ".cpp", wrapped)) return false;
        declarations += declaration;
        rows += "    {" + table + ", " + std::to_string(file.entries.size()) + "},\n";
        ++count;
    }
    return write(folder + "/entries.cpp",
                 "#include \"tests/cuda/entries.h\"\n\nnamespace volta::test {\n" + declarations +
                     "const EmulatedEntryTable kEmulatedEntryTables[] = {\n" + rows +
                     "};\nconst int kEmulatedEntryTableCount = " + std::to_string(count) +
                     ";\n}  // namespace volta::test\n");
}

}  // namespace

int main(int argc, char** argv) {
    const int count = argc == 3 ? std::atoi(argv[2]) : 0;
    if (count < 1) return std::fprintf(stderr, "usage: generate_kernels FOLDER FILES\n"), 2;
    std::vector<File> files(static_cast<std::size_t>(count));
    for (File& file : files) jit::append_row_prelude(file.device);
    std::size_t next = 0;
    for (const NamedProgram& named : all_programs()) add(named, files[next++ % files.size()]);
    const std::string base = std::string(argv[1]) + "/kernels";
    bool good = write(base + ".cpp", tables(files)) && write_products(std::string(argv[1]) + "/products") &&
                write_entries(argv[1]);
    for (int k = 0; k < count; ++k) {
        const File& file = files[static_cast<std::size_t>(k)];
        const std::string path = base + "_" + std::to_string(k);
        good =
            write(path + ".cu", std::string(file.device)) && write(path + ".cpp", wrapper(file, k)) && good;
    }
    if (!good) std::fprintf(stderr, "%s: the kernels could not be written\n", argv[1]);
    return good ? 0 : 1;
}
