// Every struct of volta_data.h that has a struct_size, with every size (tests/support/struct_sizes.h).
#include <string>
#include <vector>

#include "tests/support/cmocka_cpp.h"
#include "tests/support/struct_sizes.h"
#include "volta_data.h"

namespace {
using namespace volta::test;

constexpr const char* kPicture = "data/files/rgb.png";
constexpr const char* kText = "../README.md";
constexpr char kDocument[] = "{\"text\": \"a\"}";

// What the structs are given to: a folder of pictures that is made here would be no better.
struct World {
    std::string folder;
    volta_dataset* dataset = nullptr;
    volta_picture* picture = nullptr;
    volta_text* text = nullptr;
    volta_documents* documents = nullptr;
    volta_loader* loader = nullptr;
} world;

void line(void*, volta_log_level, const char*) {}

std::vector<Case> cases() {
    const auto nothing = [](void*) {};
    return {
        {"volta_dataset_options", false,
         [](void* data) {
             out<volta_dataset_options>(data)->log = line,
             out<volta_dataset_options>(data)->max_pixels = 1 << 20;
         },
         [](void* data) {
             volta_picture* made = nullptr;
             const volta_status status = volta_picture_open(kPicture, as<volta_dataset_options>(data), &made);
             return ended(status, made, volta_picture_release);
         }},
        {"volta_dataset_info", true, nothing,
         [](void* data) { return volta_dataset_get_info(world.dataset, out<volta_dataset_info>(data)); }},
        {"volta_picture_info", true, nothing,
         [](void* data) { return volta_picture_get_info(world.picture, out<volta_picture_info>(data)); }},
        {"volta_transform_options", false,
         [](void* data) {
             auto& options = *out<volta_transform_options>(data);
             options.channels = 3, options.height = options.width = 8, options.resize = VOLTA_RESIZE_EXACT;
         },
         [](void* data) {
             static float values[3 * 8 * 8];
             return volta_picture_transform(world.picture, as<volta_transform_options>(data), values,
                                            3 * 8 * 8);
         }},
        {"volta_text_info", true, nothing,
         [](void* data) { return volta_text_get_info(world.text, out<volta_text_info>(data)); }},
        {"volta_document", true, nothing,
         [](void* data) { return volta_documents_get(world.documents, 0, out<volta_document>(data)); }},
        {"volta_loader_options", false,
         [](void* data) {
             static const volta_transform_options transform = [] {
                 volta_transform_options one = VOLTA_TRANSFORM_OPTIONS_INIT;
                 one.channels = 3, one.height = one.width = 8, one.resize = VOLTA_RESIZE_EXACT;
                 return one;
             }();
             auto& options = *out<volta_loader_options>(data);
             options.transform = &transform, options.batch = 1, options.flags = VOLTA_LOADER_NO_THREADS;
         },
         [](void* data) {
             volta_loader* made = nullptr;
             const volta_status status =
                 volta_loader_create(world.dataset, as<volta_loader_options>(data), &made);
             return ended(status, made, volta_loader_release);
         }},
        {"volta_batch", true, nothing,
         [](void* data) { return volta_loader_next(world.loader, out<volta_batch>(data)); }},
    };
}

int make_world(void**) {
    char folder[] = "/tmp/volta-data-sizes-XXXXXX";
    if (mkdtemp(folder) == nullptr) return 1;
    world.folder = folder;
    if (system(("mkdir " + world.folder + "/a && cp " + kPicture + " " + world.folder + "/a").c_str()) != 0)
        return 1;
    const char* paths[] = {world.folder.c_str()};
    const char* texts[] = {kText};
    volta_transform_options transform = VOLTA_TRANSFORM_OPTIONS_INIT;
    transform.channels = 3, transform.height = transform.width = 8, transform.resize = VOLTA_RESIZE_EXACT;
    volta_loader_options loader = VOLTA_LOADER_OPTIONS_INIT;
    loader.transform = &transform, loader.batch = 1, loader.flags = VOLTA_LOADER_NO_THREADS;
    const bool made =
        volta_dataset_open(VOLTA_DATA_FOLDER, paths, 1, nullptr, &world.dataset) == VOLTA_OK &&
        volta_picture_open(kPicture, nullptr, &world.picture) == VOLTA_OK &&
        volta_text_open(texts, 1, nullptr, &world.text) == VOLTA_OK &&
        volta_documents_parse("a", kDocument, sizeof kDocument - 1, nullptr, &world.documents) == VOLTA_OK &&
        volta_loader_create(world.dataset, &loader, &world.loader) == VOLTA_OK;
    if (!made) print_error("%s\n", volta_data_last_error());
    return made ? 0 : 1;
}

int end_world(void**) {
    volta_loader_release(world.loader);
    volta_documents_release(world.documents);
    volta_text_release(world.text);
    volta_picture_release(world.picture);
    volta_dataset_release(world.dataset);
    return system(("rm -rf " + world.folder).c_str());
}

std::vector<HeaderStruct> structs() { return growing_structs("../include/volta_data.h"); }

void test_every_struct_has_a_case(void**) { assert_every_struct_has_a_case(cases(), structs()); }

void test_every_size(void**) {
    for (const Case& one : cases()) assert_every_size(one, structs(), volta_data_last_error);
}

void test_fields_that_are_not_known(void**) {
    for (const Case& one : cases()) assert_unknown_fields_are_refused(one, structs(), volta_data_last_error);
}

// A size that is refused takes no batch: the loader stays where it is.
void test_refused_batch(void**) {
    uint64_t epoch = 0, batch = 0, epoch_then = 0, batch_then = 0;
    assert_int_equal(volta_loader_get_position(world.loader, &epoch, &batch), VOLTA_OK);
    volta_batch cut = VOLTA_BATCH_INIT;
    cut.struct_size = 12;
    assert_int_equal(volta_loader_next(world.loader, &cut), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(volta_loader_get_position(world.loader, &epoch_then, &batch_then), VOLTA_OK);
    assert_int_equal(epoch_then, epoch);
    assert_int_equal(batch_then, batch);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_every_struct_has_a_case),
        cmocka_unit_test(test_every_size),
        cmocka_unit_test(test_fields_that_are_not_known),
        cmocka_unit_test(test_refused_batch),
    };
    return cmocka_run_group_tests(tests, make_world, end_world);
}
