/* volta_data.h - from files of labelled pictures to batches for training and evaluation.
 *
 * This header is the whole public interface of libvolta_data, and its manual; docs/data.md says which bits every
 * result has. A library of its own beside libvolta: it takes status values, the allocator and the log from volta.h and
 * calls nothing of libvolta. A program may link either, or both.
 *
 * Conventions are those of volta.h (ownership in the verb, struct_size and initialisers, out-parameters last and set on
 * every path, labels), with these of its own:
 *   Pictures are bytes, [channels, height, width]: planes, red, green and blue where there are three.
 *   Status VOLTA_CORRUPT_MODEL: the file was read and is not what it should be. VOLTA_UNSUPPORTED: it is valid, and refused
 *   by name (CMYK, 16 bits a channel, ...). Every text names the file.
 *   Thread: a data set does not change once it is open, and any number of threads may read it at once; a loader and a
 *   picture are used by one thread at a time. A loader's own threads call the host's allocator, at the same time as
 *   the host does: it must allow that (the C heap does), or the loader be made with VOLTA_LOADER_NO_THREADS. The log
 *   is called on the caller's thread alone.
 *   Floating point, exceptions of the host's functions, fork: as in volta.h. In a forked child the caller of
 *   volta_loader_next computes all, with the same bits.
 *   Any call may report VOLTA_INVALID_ARGUMENT for a NULL handle, VOLTA_OUT_OF_MEMORY and VOLTA_INTERNAL.
 */
#ifndef VOLTA_DATA_H
#define VOLTA_DATA_H

#include "volta.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version and errors ----------------------------------------------------------------------------- */

/* "0.1.0", of the library that is loaded. Never NULL. */
VOLTA_API const char *volta_data_version(void);

/* One English line about the calling thread's latest call of this library that reports a status: what was wrong, and with
 * which value. "" after one that succeeded; never NULL.
 * Lends:  valid until this thread calls the library again.
 * Thread: each thread has its own text; nothing else of this library is thread-local but the floating-point
 *         environment that a function of the host is given back, and the allocator that code of others works with. */
VOLTA_API const char *volta_data_last_error(void);

/* ---- Data sets -------------------------------------------------------------------------------------- */

typedef struct volta_dataset volta_dataset;

typedef int32_t volta_data_format;
enum {
    VOLTA_DATA_CIFAR10 = 1,  /* binary records of 3,073 bytes                                         */
    VOLTA_DATA_CIFAR100 = 2, /* of 3,074 bytes: coarse and fine label; the fine one is the class      */
    VOLTA_DATA_IDX = 3,      /* MNIST and its like: a file of images, one of labels; gzip too         */
    VOLTA_DATA_FOLDER = 4    /* a folder per class of JPEG and PNG files: the layout of ImageNet      */
};

/* Which part of a folder is opened; files that are named one by one are what they are. */
typedef int32_t volta_data_split;
enum {
    VOLTA_SPLIT_TRAIN = 0,
    VOLTA_SPLIT_TEST = 1,
    VOLTA_SPLIT_VALIDATION = 2 /* of texts alone */
};

/* Of data sets, and of pictures that are read by themselves. */
typedef struct volta_dataset_options {
    size_t struct_size;
    const volta_allocator *allocator; /* copied; its functions are used until release. NULL: the C heap   */
    void (*log)(void *user, volta_log_level level, const char *line); /* NULL: no log                     */
    void *log_user;                   /* passed to log                                                    */
    volta_data_split split;           /* 0: VOLTA_SPLIT_TRAIN                                             */
    uint32_t reserved;                /* 0                                                                */
    uint64_t max_pixels;              /* height * width of a picture; a larger one is refused before memory is
                                         allocated for it. 0: 67,108,864                                  */
    uint64_t max_file_bytes;          /* of a picture's file, and of a gzip file when it is decompressed; a larger one
                                         is refused likewise. 0: 1 GiB                                    */
} volta_dataset_options;
#define VOLTA_DATASET_OPTIONS_INIT {sizeof(volta_dataset_options), NULL, NULL, NULL, 0, 0, 0, 0}

/* Opens a data set: a folder, or record files one by one (VOLTA_DATA_IDX: images, then labels). Reads sizes, names and,
 * of IDX, labels; pictures are read when they are needed.
 * Owns:   *out_dataset, ended by volta_dataset_release.
 * Keeps:  nothing of paths. Record files stay open.
 * Cost:   lists the files of a folder; decompresses gzip files into memory.
 * Errors: INVALID_ARGUMENT  an unknown format or split, no path, a number of paths that the format does not take, an
 *                           allocator with a NULL function
 *         IO_ERROR          a file or folder that is not there or cannot be read, a split that the folder lacks
 *         CORRUPT_MODEL     a file that is no such data: its size, a count, a list of names; a class without pictures
 *         UNSUPPORTED       IDX of another type or number of dimensions; more than 2^32 - 1 samples */
VOLTA_API volta_status volta_dataset_open(volta_data_format format, const char *const *paths, size_t path_count,
                                          const volta_dataset_options *options, volta_dataset **out_dataset);
VOLTA_API void volta_dataset_release(volta_dataset *dataset);

typedef struct volta_dataset_info {
    size_t struct_size;    /* in: sizeof(volta_dataset_info)                            */
    uint64_t sample_count; /* at least 1                                                */
    uint32_t class_count;  /* at least 1                                                */
    uint32_t channels;     /* 1 or 3                                                    */
    uint32_t height;       /* of all pictures; 0: each has its own                      */
    uint32_t width;        /* the same                                                  */
} volta_dataset_info;
#define VOLTA_DATASET_INFO_INIT {sizeof(volta_dataset_info), 0, 0, 0, 0, 0}

/* Fills what fits in info->struct_size. */
VOLTA_API volta_status volta_dataset_get_info(const volta_dataset *dataset, volta_dataset_info *info);

/* The name of a class, UTF-8 in one line; its number where the data has no names. NULL: there is no such class.
 * Lends: valid until the data set's release. */
VOLTA_API const char *volta_dataset_class_name(const volta_dataset *dataset, uint32_t index);

/* Where a sample comes from, in words: a path, or "PATH, record 17". Cut where it does not fit `capacity` bytes with the
 * closing zero.
 * Errors: INVALID_ARGUMENT  no such sample, no capacity */
VOLTA_API volta_status volta_dataset_sample_name(const volta_dataset *dataset, uint64_t index, char *text,
                                                 size_t capacity);

/* ---- Pictures --------------------------------------------------------------------------------------- */

typedef struct volta_picture volta_picture;

typedef struct volta_picture_info {
    size_t struct_size;    /* in: sizeof(volta_picture_info)                                    */
    const uint8_t *pixels; /* Shape: [channels, height, width]. Lends: until the picture's release */
    uint32_t channels;     /* 1 or 3                                                            */
    uint32_t height;
    uint32_t width;
    int32_t label;         /* -1: none                                                          */
} volta_picture_info;
#define VOLTA_PICTURE_INFO_INIT {sizeof(volta_picture_info), NULL, 0, 0, 0, 0}

/* Sample `index` of a data set, as it is in its file.
 * Owns:   *out_picture, ended by volta_picture_release. Keeps the data set.
 * Thread: any number at once.
 * Errors: INVALID_ARGUMENT  no such sample
 *         CORRUPT_MODEL, UNSUPPORTED, IO_ERROR  as above; the text names the file */
VOLTA_API volta_status volta_dataset_read(volta_dataset *dataset, uint64_t index, volta_picture **out_picture);

/* One JPEG or PNG file. Of options, split is not looked at. Owns and Errors: the same. */
VOLTA_API volta_status volta_picture_open(const char *path, const volta_dataset_options *options,
                                          volta_picture **out_picture);
VOLTA_API void volta_picture_release(volta_picture *picture);

/* Fills what fits in info->struct_size. */
VOLTA_API volta_status volta_picture_get_info(const volta_picture *picture, volta_picture_info *info);

/* How sizes change: the results of Pillow's Image.resize, bit for bit. */
typedef int32_t volta_filter;
enum {
    VOLTA_FILTER_BILINEAR = 0, /* with antialiasing                 */
    VOLTA_FILTER_BICUBIC = 1,  /* the same                          */
    VOLTA_FILTER_BOX = 2,      /* the mean of what a pixel covers   */
    /* A bit beside one of them: as Pillow until version 12.1, which always began with the width; 13 begins with the
     * height where that shrinks by more than twice as many pixels. Networks that were trained until 2026 saw this. */
    VOLTA_FILTER_PILLOW_12 = 16
};

/* Another size of a picture. Owns: *out_picture.
 * Errors: INVALID_ARGUMENT  a height or width of 0, an unknown filter
 *         UNSUPPORTED       more pixels than max_pixels of the data set's or picture's options */
VOLTA_API volta_status volta_picture_resize(const volta_picture *picture, uint32_t height, uint32_t width,
                                            volta_filter filter, volta_picture **out_picture);

/* ---- From picture to floats --------------------------------------------------------------------------- */

#define VOLTA_RESIZE_EXACT 0xffffffffu

/* What becomes of a picture, in the order of docs/data.md. Fields marked "random" are a loader's alone, and left out with
 * VOLTA_LOADER_EVALUATE and by volta_picture_transform. */
typedef struct volta_transform_options {
    size_t struct_size;
    uint32_t channels;           /* 1 or 3; 0: as the pictures are                                       */
    uint32_t height;             /* of the result; 0: of the pictures, which then have one size          */
    uint32_t width;              /* the same; both are 0 or neither                                      */
    uint32_t resize;             /* what the shorter side becomes before the crop; VOLTA_RESIZE_EXACT: to height x
                                    width; 0: nothing is resized                                         */
    volta_filter filter;         /* 0: VOLTA_FILTER_BILINEAR                                             */
    float mean[3];               /* per channel, of values between 0 and 1; subtracted                   */
    float deviation[3];          /* per channel; divided by. 0: 1                                        */
    int32_t random_crop;         /* random: 1: the crop lies anywhere in picture and padding, not in the middle */
    uint32_t crop_padding;       /* random: zeros on each side for random_crop; at most 4096             */
    int32_t random_resized_crop; /* random: 1: a part of the picture, resized to height x width, in place of
                                    resize and crop                                                      */
    float area_min;              /* random: of that part, of the picture's. 0: 0.08                      */
    float area_max;              /* random: 0: 1                                                         */
    float ratio_min;             /* random: its width over its height. 0: 0.75                           */
    float ratio_max;             /* random: 0: 4/3                                                       */
    float flip;                  /* random: probability of left to right; 0: never                       */
    float brightness;            /* random: factors are between 1 - this and 1 + this; at most 1         */
    float contrast;              /* random: the same                                                     */
    float saturation;            /* random: the same                                                     */
    uint32_t cutout;             /* random: side of a square of zeros, in pixels; 0: none                */
    float mixup;                 /* random: the parameter of the Beta distribution, 0.01 to 100; 0: none. Labels are
                                    then weights of classes                                              */
} volta_transform_options;
#define VOLTA_TRANSFORM_OPTIONS_INIT \
    {sizeof(volta_transform_options), 0, 0, 0, 0, 0, {0, 0, 0}, {0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* A picture as a model takes it. Shape: values[channels, height, width], as many as value_count says.
 * Errors: INVALID_ARGUMENT  an option out of its range, a value_count that is not the shape's
 *         SHAPE_MISMATCH    the picture is smaller than the crop */
VOLTA_API volta_status volta_picture_transform(const volta_picture *picture, const volta_transform_options *options,
                                               float *values, size_t value_count);

/* ---- Texts -------------------------------------------------------------------------------------------- */

typedef struct volta_text volta_text;

typedef struct volta_text_info {
    size_t struct_size;  /* in: sizeof(volta_text_info)                                          */
    const char *bytes;   /* Lends: until the text's release; a zero stands behind them           */
    uint64_t byte_count; /* at least 1                                                           */
    const char *path;    /* of the first file that was read. Lends: likewise                     */
    uint64_t file_count; /* how many were                                                        */
} volta_text_info;
#define VOLTA_TEXT_INFO_INIT {sizeof(volta_text_info), NULL, 0, NULL, 0}

/* Reads files of text into memory, one behind the other, as they are: no byte is changed, whatever its encoding. Where a
 * path is a folder, its file of options->split: wiki.PART.tokens, wiki.PART.raw or PART.txt, PART being train, valid or
 * test, the first that is there: WikiText's layout. A folder without any part's file is a train part of all its files
 * *.txt, by the bytes of their names. Any file may be compressed by gzip (in a folder also named so, *.gz).
 * Owns:   *out_text, ended by volta_text_release.
 * Keeps:  nothing of paths.
 * Errors: INVALID_ARGUMENT  an unknown split, no path
 *         IO_ERROR          a file that cannot be read, a folder without that part
 *         CORRUPT_MODEL     no text at all, damaged gzip data, a file of more than max_file_bytes
 *         UNSUPPORTED       a file that expands to more */
VOLTA_API volta_status volta_text_open(const char *const *paths, size_t path_count, const volta_dataset_options *options,
                                       volta_text **out_text);
VOLTA_API void volta_text_release(volta_text *text);

/* Fills what fits in info->struct_size. */
VOLTA_API volta_status volta_text_get_info(const volta_text *text, volta_text_info *info);

/* Which parts a folder of texts has: the sum of 1u << split over those that volta_text_open finds; 0: it has no text.
 * Keeps:  nothing of folder.
 * Errors: INVALID_ARGUMENT  an empty name
 *         IO_ERROR          there is no folder of that name, or it cannot be read */
VOLTA_API volta_status volta_text_parts(const char *folder, const volta_dataset_options *options, uint32_t *out_parts);

/* ---- Documents ---------------------------------------------------------------------------------------- */

typedef struct volta_documents volta_documents;

/* A line of JSON that a model is fine-tuned on: a prompt with its completion, or messages, or a text, perhaps with a pair
 * and a label. What it does not have is NULL, 0 or -1. Lends: until the documents' release. UTF-8, zero-terminated. */
typedef struct volta_document {
    size_t struct_size;       /* in: sizeof(volta_document)                                         */
    const char *prompt, *completion;
    const volta_chat_message *messages; /* as volta_model_encode_chat takes them                    */
    size_t message_count;
    const char *text, *text_pair;
    const char *label_name;   /* of a label that is a name                                          */
    int32_t label;            /* of one that is a number, from 0                                    */
    uint64_t line;            /* where it stands, from 1                                            */
} volta_document;
#define VOLTA_DOCUMENT_INIT {sizeof(volta_document), NULL, NULL, NULL, 0, NULL, NULL, NULL, 0, 0}

/* The documents of a text of lines of JSON, as volta_text_open gives it: each {"prompt", "completion"}, {"messages": [{"role",
 * "content"}, ...]}, {"text"} or {"text"[, "text_pair"], "label"}. Empty lines are none. The text is treated as hostile.
 * name:   of the file, for sentences: "<name>:<line>: ..."
 * Owns:   *out_documents, ended by volta_documents_release.
 * Keeps:  nothing of the text.
 * Errors: CORRUPT_MODEL  a line that is none of these; no document at all */
VOLTA_API volta_status volta_documents_parse(const char *name, const char *text, size_t text_bytes,
                                             const volta_dataset_options *options, volta_documents **out_documents);
VOLTA_API void volta_documents_release(volta_documents *documents);
VOLTA_API uint64_t volta_documents_count(const volta_documents *documents); /* 0 for NULL */
/* Fills what fits in document->struct_size. Errors: INVALID_ARGUMENT  there are fewer */
VOLTA_API volta_status volta_documents_get(const volta_documents *documents, uint64_t index, volta_document *document);

/* Documents side by side in rows, for training with packed_documents of volta_trainer_options: each, in order, goes into
 * the first row that has room for it. The same lengths give the same rows.
 * lengths: of each document, in tokens that a row takes: of a language model one less than it has, as the last is only
 *          asked for
 * rows, places: of each document, which row it is in, and where it begins there
 * Cost:   count * log(count).
 * Errors: INVALID_ARGUMENT  a length of 0, or of more than row_tokens; the text names the document */
VOLTA_API volta_status volta_documents_pack(const uint64_t *lengths, uint64_t count, uint64_t row_tokens,
                                            const volta_dataset_options *options, uint64_t *rows, uint64_t *places,
                                            uint64_t *out_row_count);

/* ---- Loaders ------------------------------------------------------------------------------------------ */

typedef struct volta_loader volta_loader;

typedef int32_t volta_data_order;
enum {
    VOLTA_ORDER_SEQUENTIAL = 0, /* every epoch in the data set's order */
    VOLTA_ORDER_SHUFFLED = 1    /* another one every epoch             */
};
typedef int32_t volta_data_batches;
enum {
    VOLTA_BATCHES_FULL = 0, /* what does not fill a batch is left out in that epoch */
    VOLTA_BATCHES_ALL = 1   /* the last batch of an epoch may be shorter            */
};
/* What a damaged sample does. */
typedef int32_t volta_data_damaged;
enum {
    VOLTA_DAMAGED_STOP = 0, /* its batch is an error that names it                                       */
    VOLTA_DAMAGED_SKIP = 1  /* BATCHES_FULL: the next good sample of the data set stands in; BATCHES_ALL: the batch is
                               shorter. volta_batch.skipped counts, the log names it                     */
};

/* Bits of volta_loader_options.flags. */
enum {
    VOLTA_LOADER_EVALUATE = 1,  /* nothing random is done to pictures     */
    VOLTA_LOADER_NO_THREADS = 2 /* volta_loader_next computes all itself  */
};

typedef struct volta_loader_options {
    size_t struct_size;
    const volta_transform_options *transform; /* copied; NULL: all defaults                              */
    uint64_t seed;                            /* of order and augmentation                               */
    uint64_t sample_limit;                    /* the first so many samples of the data set; 0: all       */
    uint32_t batch;                           /* samples of a batch; 0: 32; at most 65536                */
    uint32_t thread_count;                    /* threads that load; 0: 1; at most 256. No bit depends on it */
    uint32_t queue;                           /* batches that are loaded ahead; 0: 2; at most 256        */
    volta_data_order order;                   /* 0: VOLTA_ORDER_SEQUENTIAL                               */
    volta_data_batches batches;               /* 0: VOLTA_BATCHES_FULL                                   */
    volta_data_damaged damaged;               /* 0: VOLTA_DAMAGED_STOP                                   */
    uint32_t flags;                           /* VOLTA_LOADER_* bits                                     */
    uint32_t reserved;                        /* 0                                                       */
} volta_loader_options;
#define VOLTA_LOADER_OPTIONS_INIT {sizeof(volta_loader_options), NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* Starts loading at epoch 0, batch 0.
 * Owns:   *out_loader, ended by volta_loader_release, which waits for what its threads are doing.
 * Keeps:  the data set.
 * Cost:   allocates (queue + 1) batches; starts thread_count threads, which sleep while the queue is full.
 * Errors: INVALID_ARGUMENT  an option out of its range; height and width of 0 where pictures differ in size; a
 *                           VOLTA_BATCHES_FULL of which no batch is full
 *         OUT_OF_MEMORY     also: the system starts no thread */
VOLTA_API volta_status volta_loader_create(volta_dataset *dataset, const volta_loader_options *options,
                                           volta_loader **out_loader);
VOLTA_API void volta_loader_release(volta_loader *loader);

typedef struct volta_batch {
    size_t struct_size;       /* in: sizeof(volta_batch)                                                   */
    const float *pixels;      /* Shape: [count, channels, height, width]. At a multiple of 64 bytes        */
    const int32_t *labels;    /* Shape: [count], of the samples themselves with mixup                      */
    const float *weights;     /* Shape: [count, class_count] with mixup; else NULL                         */
    const uint64_t *samples;  /* Shape: [count]. Which samples of the data set                             */
    uint64_t epoch;
    uint64_t batch;           /* of the epoch, from 0                                                      */
    uint64_t batches_of_epoch;
    uint64_t skipped;         /* damaged samples, of this batch                                            */
    uint32_t count;           /* samples                                                                   */
    uint32_t channels;
    uint32_t height;
    uint32_t width;
} volta_batch;
#define VOLTA_BATCH_INIT {sizeof(volta_batch), NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0}

/* The next batch; after the last one of an epoch the first of the next. Fills what fits in batch->struct_size.
 * Lends:  what batch points to, until the next call of next or seek, or release.
 * Cost:   waits until it is loaded; allocates nothing once the largest picture has been seen.
 * Errors: CORRUPT_MODEL, UNSUPPORTED, IO_ERROR, SHAPE_MISMATCH, OUT_OF_MEMORY  of the first sample of the batch that has
 *         one: the text names it. The loader stays where it is: the next call tries that batch again, volta_loader_seek
 *         goes past it */
VOLTA_API volta_status volta_loader_next(volta_loader *loader, volta_batch *batch);

/* Where the loader is: epoch and batch of what volta_loader_next gives next. Saved with a checkpoint, these two resume it. */
VOLTA_API volta_status volta_loader_get_position(const volta_loader *loader, uint64_t *out_epoch, uint64_t *out_batch);

/* Goes to a batch of an epoch.
 * Cost:   waits for what threads are doing; computes the epoch's order.
 * Errors: INVALID_ARGUMENT  an epoch of 2^32 or more, a batch that the epoch does not have */
VOLTA_API volta_status volta_loader_seek(volta_loader *loader, uint64_t epoch, uint64_t batch);

#ifdef __cplusplus
}
#endif

#endif /* VOLTA_DATA_H */
