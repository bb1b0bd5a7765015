/* Loads a folder of pictures, a folder a class, batch by batch as a network would train on them: random crops
 * resized to 32 x 32, flipped, normalised, shuffled, on a thread of its own.
 *     load_pictures FOLDER [BATCHES]
 * The last line is a sum that is the same on every machine, for any number of threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volta_data.h>

static int failed(volta_status status, const char* what) {
    if (status != VOLTA_OK) fprintf(stderr, "%s: %s\n", what, volta_data_last_error());
    return status != VOLTA_OK;
}

static void on_log(void* user, volta_log_level level, const char* line) {
    (void)user, (void)level;
    fprintf(stderr, "%s\n", line);
}

static uint64_t add_bits(uint64_t sum, const float* values, size_t count) {
    uint32_t bits;
    size_t i;
    for (i = 0; i < count; ++i) {
        memcpy(&bits, &values[i], sizeof bits);
        sum = (sum ^ bits) * 0x100000001b3u;
    }
    return sum;
}

int main(int count, char** arguments) {
    volta_dataset_options opening = VOLTA_DATASET_OPTIONS_INIT;
    volta_transform_options transform = VOLTA_TRANSFORM_OPTIONS_INIT;
    volta_loader_options loading = VOLTA_LOADER_OPTIONS_INIT;
    volta_dataset_info info = VOLTA_DATASET_INFO_INIT;
    volta_batch batch = VOLTA_BATCH_INIT;
    volta_dataset* dataset = NULL;
    volta_loader* loader = NULL;
    const long batches = count > 2 ? strtol(arguments[2], NULL, 10) : 10;
    uint64_t sum = 0, skipped = 0;
    long i;
    int bad;
    if (count < 2) return fprintf(stderr, "usage: load_pictures FOLDER [BATCHES]\n"), 2;

    opening.log = on_log;
    bad = failed(
              volta_dataset_open(VOLTA_DATA_FOLDER, (const char* const*)&arguments[1], 1, &opening, &dataset),
              "open") ||
          failed(volta_dataset_get_info(dataset, &info), "info");
    if (!bad)
        printf("%llu pictures of %u classes\n", (unsigned long long)info.sample_count, info.class_count);

    transform.height = transform.width = 32;
    transform.random_resized_crop = 1, transform.flip = 0.5f;
    transform.mean[0] = 0.485f, transform.mean[1] = 0.456f, transform.mean[2] = 0.406f;
    transform.deviation[0] = 0.229f, transform.deviation[1] = 0.224f, transform.deviation[2] = 0.225f;
    loading.transform = &transform;
    loading.batch = 4, loading.seed = 1;
    loading.order = VOLTA_ORDER_SHUFFLED, loading.damaged = VOLTA_DAMAGED_SKIP;
    bad = bad || failed(volta_loader_create(dataset, &loading, &loader), "loader");
    for (i = 0; i < batches && !bad; ++i) {
        bad = failed(volta_loader_next(loader, &batch), "batch");
        if (bad) break;
        skipped += batch.skipped;
        sum = add_bits(sum, batch.pixels, (size_t)batch.count * batch.channels * batch.height * batch.width);
        if (i == 0)
            printf("a batch is [%u, %u, %u, %u]\n", batch.count, batch.channels, batch.height, batch.width);
    }
    if (!bad)
        printf("%ld batches, %llu skipped, sum %016llx\n", i, (unsigned long long)skipped,
               (unsigned long long)sum);
    volta_loader_release(loader); /* objects may be released in any order */
    volta_dataset_release(dataset);
    return bad;
}
