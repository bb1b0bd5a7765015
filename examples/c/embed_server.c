/* A server of embeddings: a line of text in, a line of numbers out. Of any language model: the mean of its
 * tokens' states, of length 1, so that the product of two vectors says how alike their texts are.
 *   embed_server MODEL.volta           reads standard input, writes standard output
 *   embed_server MODEL.volta SOCKET    listens on a UNIX socket, one client after the other
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <volta.h>

#define CHECK(call)                                                               \
    do {                                                                          \
        if ((call) != VOLTA_OK) {                                                 \
            fprintf(stderr, "embed_server: %s: %s\n", #call, volta_last_error()); \
            exit(1);                                                              \
        }                                                                         \
    } while (0)

enum { kMostTokens = 512 };

typedef struct server {
    volta_context* context;
    volta_model* states; /* tokens in, states out */
    volta_tokenizer* tokenizer;
    size_t width;
    volta_session* sessions[kMostTokens + 1]; /* one for each length, made when a text first has it */
    float* hidden;                            /* [time, width] */
    float* vector;                            /* [width] */
} server;

/* The vector of a text. A text that cannot be embedded is an answer, not the end of the server. */
static volta_status embed(server* own, const char* text, size_t bytes) {
    int32_t tokens[kMostTokens];
    size_t count;
    volta_tensor *x = NULL, *y = NULL;
    volta_status status = volta_tokenizer_encode(own->tokenizer, text, bytes, tokens, kMostTokens, &count);
    if (status != VOLTA_OK) return status;
    if (count > kMostTokens) count = kMostTokens; /* the beginning of a long text */
    if (count == 0) return VOLTA_INVALID_ARGUMENT;

    const int64_t shape[] = {1, (int64_t)count}, states[] = {1, (int64_t)count, (int64_t)own->width};
    volta_session** session = &own->sessions[count];
    if (*session == NULL) {
        volta_session_options options = VOLTA_SESSION_OPTIONS_INIT;
        options.input_shapes = shape;
        options.input_extent_count = 2;
        if ((status = volta_session_create(own->states, &options, session)) != VOLTA_OK) return status;
    }
    if ((status = volta_tensor_wrap(own->context, VOLTA_I32, shape, 2, tokens, &x)) == VOLTA_OK &&
        (status = volta_tensor_wrap(own->context, VOLTA_F32, states, 3, own->hidden, &y)) == VOLTA_OK) {
        const volta_tensor* inputs[] = {x};
        status = volta_session_run(*session, inputs, 1, &y, 1);
    }
    volta_tensor_release(y);
    volta_tensor_release(x);
    if (status != VOLTA_OK) return status;

    double square = 0;
    for (size_t j = 0; j < own->width; ++j) {
        double sum = 0;
        for (size_t i = 0; i < count; ++i) sum += (double)own->hidden[i * own->width + j];
        own->vector[j] = (float)(sum / (double)count);
        square += (double)own->vector[j] * (double)own->vector[j];
    }
    for (size_t j = 0; j < own->width; ++j) own->vector[j] = (float)((double)own->vector[j] / sqrt(square));
    return VOLTA_OK;
}

/* Until the client has no more lines, or does not read the answers. */
static void serve(server* own, FILE* in, FILE* out) {
    char* line = NULL;
    size_t room = 0;
    ssize_t bytes;
    while ((bytes = getline(&line, &room, in)) > 0) {
        if (line[bytes - 1] == '\n') line[--bytes] = 0;
        if (bytes == 0)
            fprintf(out, "error: an empty line\n");
        else if (embed(own, line, (size_t)bytes) != VOLTA_OK)
            fprintf(out, "error: %s\n", volta_last_error());
        else
            for (size_t j = 0; j < own->width; ++j)
                fprintf(out, "%.6g%c", (double)own->vector[j], j + 1 == own->width ? '\n' : ' ');
        if (fflush(out) != 0) break;
    }
    free(line);
}

static int listen_on(const char* path) {
    struct sockaddr_un address;
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address.sun_path)
        return fprintf(stderr, "embed_server: %s is too long a name\n", path), -1;
    strcpy(address.sun_path, path);
    if (listener < 0 || bind(listener, (const struct sockaddr*)&address, sizeof address) != 0 ||
        listen(listener, 8) != 0)
        return fprintf(stderr, "embed_server: %s: %s\n", path, strerror(errno)), -1;
    return listener;
}

int main(int argc, char** argv) {
    if (argc < 2 || argc > 3) return fprintf(stderr, "usage: embed_server MODEL.volta [SOCKET]\n"), 2;
    static server own;
    volta_model* model;
    CHECK(volta_context_create(NULL, &own.context));
    CHECK(volta_model_open(own.context, argv[1], NULL, &model));
    CHECK(volta_model_get_tokenizer(model, &own.tokenizer));
    if (own.tokenizer == NULL) return fprintf(stderr, "embed_server: %s has no tokenizer\n", argv[1]), 1;
    CHECK(volta_model_hidden_states(model, &own.states));
    volta_model_release(model);
    volta_tensor_info info;
    CHECK(volta_model_output_info(own.states, 0, &info));
    own.width = (size_t)info.shape[2];
    own.hidden = malloc(kMostTokens * own.width * sizeof *own.hidden);
    own.vector = malloc(own.width * sizeof *own.vector);
    if (own.hidden == NULL || own.vector == NULL) return fprintf(stderr, "embed_server: out of memory\n"), 1;

    int status = 0;
    if (argc == 2) {
        serve(&own, stdin, stdout);
    } else {
        const int listener = listen_on(argv[2]);
        signal(SIGPIPE, SIG_IGN); /* a client that went away is an error of a write */
        status = listener < 0;
        for (int client; status == 0 && (client = accept(listener, NULL, NULL)) >= 0;) {
            FILE *in = fdopen(client, "r"), *out = fdopen(dup(client), "w");
            if (in != NULL && out != NULL) serve(&own, in, out);
            if (in != NULL) fclose(in);
            if (out != NULL) fclose(out);
        }
    }
    for (size_t i = 0; i <= kMostTokens; ++i) volta_session_release(own.sessions[i]);
    free(own.vector);
    free(own.hidden);
    volta_model_release(own.states);
    volta_tokenizer_release(own.tokenizer);
    volta_context_release(own.context);
    return status;
}
