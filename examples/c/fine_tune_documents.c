/* Fine-tuning on lines of JSON: {"prompt", "completion"}, of which completions alone are learnt, or
 * {"messages"}, of which answers are.
 *   fine_tune_documents MODEL.volta LINES.jsonl OUT.volta [STEPS]
 * The loss is asked of what is to be learnt: every other target is -1, and each document has a row of its
 * own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volta.h>
#include <volta_data.h>

#define ROWS 4
#define TIME 64

#define CHECK(call, error)                                                             \
    do {                                                                               \
        if ((call) != VOLTA_OK) {                                                      \
            fprintf(stderr, "fine_tune_documents: %s: %s\n", #call, error()), exit(1); \
        }                                                                              \
    } while (0)
#define VOLTA(call) CHECK(call, volta_last_error)
#define DATA(call) CHECK(call, volta_data_last_error)

/* At most TIME + 1 tokens of a document, and which of them are to be learnt. */
typedef struct row {
    int32_t ids[TIME + 1];
    uint8_t learnt[TIME + 1];
    size_t count;
} row;

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* The prompt as it begins a text, then the completion, which is learnt, and the id that ends a text. */
static void read_pair(const volta_tokenizer* tokenizer, const volta_document* document, row* to) {
    volta_special_ids special = VOLTA_SPECIAL_IDS_INIT;
    size_t count;
    VOLTA(volta_tokenizer_special(tokenizer, &special));
    if (special.adds_bos) to->ids[to->count++] = special.bos;
    VOLTA(volta_tokenizer_encode(tokenizer, document->prompt, strlen(document->prompt), to->ids + to->count,
                                 TIME + 1 - to->count, &count));
    to->count = least(to->count + count, TIME + 1);
    const size_t first = to->count;
    VOLTA(volta_tokenizer_encode(tokenizer, document->completion, strlen(document->completion),
                                 to->ids + to->count, TIME + 1 - to->count, &count));
    to->count = least(to->count + count, TIME + 1);
    if (special.eos >= 0 && to->count <= TIME) to->ids[to->count++] = special.eos;
    memset(to->learnt + first, 1, to->count - first);
}

static void read_row(const volta_model* model, const volta_tokenizer* tokenizer,
                     const volta_document* document, row* to) {
    memset(to, 0, sizeof *to);
    if (document->prompt != NULL) {
        read_pair(tokenizer, document, to);
    } else if (document->messages != NULL) {
        VOLTA(volta_model_encode_chat(model, document->messages, document->message_count, VOLTA_CHAT_WHOLE,
                                      to->ids, to->learnt, TIME + 1, &to->count));
        to->count = least(to->count, TIME + 1);
    } else {
        fprintf(stderr, "fine_tune_documents: line %llu is neither a pair nor a conversation\n",
                (unsigned long long)document->line);
        exit(1);
    }
}

int main(int argc, char** argv) {
    if (argc < 4 || argc > 5)
        return fprintf(stderr, "usage: fine_tune_documents MODEL.volta LINES.jsonl OUT.volta [STEPS]\n"), 2;
    const int steps = argc == 5 ? atoi(argv[4]) : 100;
    volta_context* context;
    volta_model* model;
    volta_tokenizer* tokenizer;
    VOLTA(volta_context_create(NULL, &context));
    VOLTA(volta_model_open(context, argv[1], NULL, &model));
    VOLTA(volta_model_get_tokenizer(model, &tokenizer));
    if (tokenizer == NULL) return fprintf(stderr, "fine_tune_documents: the model has no tokenizer\n"), 1;

    /* 1. Lines of JSON become documents, or a sentence with file and line. */
    const char* const path = argv[2];
    volta_text* text;
    volta_text_info info = VOLTA_TEXT_INFO_INIT;
    volta_documents* documents;
    DATA(volta_text_open(&path, 1, NULL, &text));
    DATA(volta_text_get_info(text, &info));
    DATA(volta_documents_parse(path, info.bytes, (size_t)info.byte_count, NULL, &documents));
    volta_text_release(text);

    /* 2. Documents become rows of tokens. */
    const uint64_t count = volta_documents_count(documents);
    row* const rows = malloc((size_t)count * sizeof *rows);
    if (rows == NULL) return fprintf(stderr, "fine_tune_documents: out of memory\n"), 1;
    for (uint64_t i = 0; i < count; ++i) {
        volta_document document = VOLTA_DOCUMENT_INIT;
        DATA(volta_documents_get(documents, i, &document));
        read_row(model, tokenizer, &document, &rows[i]);
    }
    volta_documents_release(documents);

    /* 3. A step takes the next rows: what follows each token where that is learnt, else -1. */
    static int32_t tokens[ROWS * TIME], targets[ROWS * TIME];
    const int64_t shape[] = {ROWS, TIME};
    volta_tensor *input, *target;
    VOLTA(volta_tensor_wrap(context, VOLTA_I32, shape, 2, tokens, &input));
    VOLTA(volta_tensor_wrap(context, VOLTA_I32, shape, 2, targets, &target));
    const volta_tensor* const inputs[] = {input};
    volta_trainer* trainer;
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    options.input_shapes = shape, options.input_extent_count = 2;
    options.steps = (uint64_t)steps, options.schedule = VOLTA_SCHEDULE_COSINE;
    options.learning_rate = 1e-3, options.clip_norm = 1;
    VOLTA(volta_trainer_create(model, &options, &trainer));
    volta_step_report report = VOLTA_STEP_REPORT_INIT;
    float first = 0;
    for (int step = 0; step < steps; ++step) {
        for (int r = 0; r < ROWS; ++r) {
            const row* const from = &rows[((uint64_t)step * ROWS + (uint64_t)r) % count];
            for (size_t t = 0; t < TIME; ++t) {
                tokens[r * TIME + (int)t] = t < from->count ? from->ids[t] : 0;
                targets[r * TIME + (int)t] =
                    t + 1 < from->count && from->learnt[t + 1] ? from->ids[t + 1] : -1;
            }
        }
        VOLTA(volta_trainer_step(trainer, inputs, 1, target, &report));
        if (step == 0) first = report.loss;
    }
    printf("%llu documents, %d steps: from %.3f to %.3f\n", (unsigned long long)count, steps, (double)first,
           (double)report.loss);

    /* 4. A checkpoint, which generates as any model does. */
    VOLTA(volta_trainer_save(trainer, argv[3]));
    volta_trainer_release(trainer);
    volta_tensor_release(target);
    volta_tensor_release(input);
    free(rows);
    volta_tokenizer_release(tokenizer);
    volta_model_release(model);
    volta_context_release(context);
    return 0;
}
