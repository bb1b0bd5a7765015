/* volta.h - define, train, save, resume, load and run small and medium neural networks from C.
 *
 * This header is the whole public interface of libvolta, and its manual: read it from top to bottom.
 * C99, also valid C++. One library, no server, no other language, no surprises:
 *
 *   One result    In VOLTA_STRICT the same program on the same data gives the same bits on every number of
 *                 threads, instruction set, tile, batch position, before a save and after a resume.
 *   Life cycle    graph -> model -> trainer -> file -> session or generator, all from C.
 *   Good guest    Memory, threads and log come from the host. No abort, no exit, no globals, no output, no
 *                 environment variables. Every failure is a status and one clear sentence.
 *
 * Conventions
 *   Ownership is in the verb: *_create and *_open give an object, *_release takes it (NULL: no effect),
 *   accessors lend. Handles keep what they need alive: objects may be released in any order.
 *   Options are structs that start with struct_size; every field's zero is its default, and a caller built
 *   against an older header keeps working. Each has an initialiser of its name, which says all of that in C and
 *   C++ and leaves no field out: volta_gpt_options gpt = VOLTA_GPT_OPTIONS_INIT; gpt.vocabulary = 256;
 *   A struct_size that ends within a field is refused, INVALID_ARGUMENT: no half of a field is read or written.
 *   Out-parameters come last and are set on every path (NULL or 0 on failure).
 *   Strings are UTF-8 and end with a zero byte. Tensors are dense, row-major, outermost extent first.
 *   Labels: Shape, Units, Owns, Keeps, Lends, Thread, Cost, Errors. One with nothing to say is left out.
 *   Thread: unless a label says otherwise an object is used by one thread at a time, and a context with
 *   everything made from it counts as one object: give each host thread its own context to run in parallel.
 *   Functions of the host (allocate, release, log, on_text, progress, parallel_for, should_stop, function) may throw C++
 *   exceptions; none passes through the library. One of allocate refuses the memory; one of the others ends its call, VOLTA_CANCELLED,
 *   and is in its text; but one of log or release has no effect.
 *   Floating point: rounding mode, FTZ, DAZ and traps of the host change no result and no file. Every call sets its
 *   own, functions of the host run in the host's, which is there again when the call returns.
 *   Surroundings: the calling thread needs 64 KiB of stack; signals may come at any time, with SA_RESTART or without;
 *   texts and files are the same in every locale; the library may be let go and loaded again when all is released.
 *   fork: the child, which has the thread that forked alone, may use and release what it inherited. A context's
 *   threads, or its host's, stay behind: in the child the caller computes all, with the same bits. What another thread
 *   was computing with at the fork can be released there and nothing else: to compute reports INVALID_STATE; a context on CUDA likewise, since no driver of CUDA
 *   works in a child: calls that need it report DEVICE_ERROR.
 *   Any call may report VOLTA_INVALID_ARGUMENT for a NULL handle, VOLTA_OUT_OF_MEMORY and VOLTA_INTERNAL.
 */
#ifndef VOLTA_H
#define VOLTA_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define VOLTA_API __attribute__((visibility("default")))
#else
#define VOLTA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version --------------------------------------------------------------------------------------- */

#define VOLTA_VERSION_MAJOR 0
#define VOLTA_VERSION_MINOR 1
#define VOLTA_VERSION_PATCH 0
#define VOLTA_CONTRACT_VERSION 1 /* of the numeric contract, docs/numerics.md */

/* "0.1.0", of the library that is loaded. Never NULL. */
VOLTA_API const char *volta_version(void);

/* ---- Status ---------------------------------------------------------------------------------------- */

/* What a call reports. Values are ABI: appended, never renumbered.
 * int32_t rather than the enum, so that every compiler and FFI agrees on size. */
typedef int32_t volta_status;
enum {
    VOLTA_OK = 0,
    VOLTA_INVALID_ARGUMENT = 1, /* the call itself is wrong: the same call fails again       */
    VOLTA_INVALID_STATE = 2,    /* a right call at the wrong moment                          */
    VOLTA_SHAPE_MISMATCH = 3,   /* well-formed tensors that do not fit this graph            */
    VOLTA_OUT_OF_MEMORY = 4,    /* the host allocator, or the system, said no                */
    VOLTA_IO_ERROR = 5,         /* the file could not be read or written                     */
    VOLTA_CORRUPT_MODEL = 6,    /* the file was read and is not a valid model                */
    VOLTA_UNSUPPORTED = 7,      /* valid, but this build or device has no kernel             */
    VOLTA_DEVICE_ERROR = 8,     /* the accelerator failed; the context stays usable          */
    VOLTA_INTERNAL = 9,         /* a bug in Volta                                            */
    VOLTA_NOT_FINITE = 10,      /* a loss, gradient or logit is NaN or infinite; nothing was written */
    VOLTA_CANCELLED = 11        /* the host asked to stop, or a callback of it threw an exception */
};

/* "VOLTA_OK", ...; "VOLTA_UNKNOWN" for a value that is no status. Never NULL. Thread: any. */
VOLTA_API const char *volta_status_name(volta_status status);

/* One English line about the calling thread's latest Volta call: what was wrong, and with which value.
 * "" after a call that succeeded; never NULL.
 * Lends:  valid until this thread calls Volta again.
 * Thread: each thread has its own text. It is thread-local, as are the floating-point environment that a function
 *         of the host is given back and the allocator that code of others works with; nothing else is. */
VOLTA_API const char *volta_last_error(void);
/* The status that this text belongs to: of a call that returns none itself, as volta_tensor_data. VOLTA_OK after a call
 * that succeeded. Thread: as volta_last_error. */
VOLTA_API volta_status volta_last_status(void);

/* ---- Context: everything Volta borrows from its host ------------------------------------------------- */

typedef struct volta_context volta_context;

/* The determinism level of everything a context computes; recorded in every plan and model file, docs/determinism.md.
 * The processor computes the bits of VOLTA_STRICT at every level. */
typedef int32_t volta_level;
enum {
    VOLTA_STRICT = 0,     /* the numeric contract: bit-identical everywhere                */
    VOLTA_REPEATABLE = 1, /* the same bits on the same device, build and configuration     */
    VOLTA_FAST = 2        /* anything within tolerance                                     */
};

/* What products round their operands to; they add in fp32, and parameters stay fp32. Others than FP32 are of CUDA
 * alone, at VOLTA_REPEATABLE and VOLTA_FAST. */
typedef int32_t volta_precision;
enum { VOLTA_PRECISION_FP32 = 0, VOLTA_PRECISION_TF32 = 1, VOLTA_PRECISION_BF16 = 2 };

/* The instruction set that kernels are generated for. All give the same bits. */
typedef int32_t volta_isa;
enum {
    VOLTA_ISA_AUTO = 0,   /* the best this processor has                            */
    VOLTA_ISA_SCALAR = 1, /* plain C++: no generated code at all; slow, runs anywhere */
    VOLTA_ISA_AVX2 = 2,   /* 8 lanes                                                */
    VOLTA_ISA_AVX512 = 3  /* 16 lanes                                               */
};

typedef int32_t volta_log_level;
enum { VOLTA_LOG_INFO = 0, VOLTA_LOG_WARNING = 1 };

/* What memory is for: tensor bytes are those a bill lists, structures are graphs, plans and names. */
typedef int32_t volta_memory_kind;
enum { VOLTA_MEMORY_STRUCTURE = 0, VOLTA_MEMORY_TENSOR = 1 };

/* The host's memory. `alignment` is a power of two of at most 64. allocate returns NULL to refuse: the call
 * that needed the memory then reports VOLTA_OUT_OF_MEMORY, names the bytes and leaks nothing. release gets the
 * same size, alignment and kind as allocate. Generated machine code needs executable pages, mapped separately. Of the
 * C heap are, beside it, what the C library takes for each thread it starts and module it opens, and an exception while
 * a call fails (docs/decisions/0022-operator-new.md): nothing that grows with a model. */
typedef struct volta_allocator {
    void *(*allocate)(void *user, size_t size, size_t alignment, volta_memory_kind kind);
    void (*release)(void *user, void *pointer, size_t size, size_t alignment, volta_memory_kind kind);
    void *user;
} volta_allocator;

/* Bits of volta_context_options.flags. */
enum {
    VOLTA_CONTEXT_NO_JIT = 1 /* behave as if the system refused executable memory: kernels are interpreted */
};

/* One part of some work; index is below the work's count. Of the library. */
typedef void (*volta_part)(void *part_user, uint32_t index);

typedef int32_t volta_step_order;
enum {
    VOLTA_STEP_ORDER_GRAPH = 0, /* as the graph has it: what one step writes the next one often reads         */
    VOLTA_STEP_ORDER_MEMORY = 1 /* the one that needs less memory, where another than the graph's does         */
};

typedef struct volta_context_options {
    size_t struct_size;               /* bytes: sizeof(volta_context_options)                         */
    const volta_allocator *allocator; /* copied; its functions are used until release. NULL: the C heap */
    void (*log)(void *user, volta_log_level level, const char *line); /* NULL: no log                 */
    void *log_user;                   /* passed to log                                                */
    uint32_t thread_count;            /* threads that compute, or parts of a parallel_for; 0: one per physical core; at
                                         most 256                                                      */
    volta_level level;                /* 0: VOLTA_STRICT. The log says when it is another             */
    volta_isa isa;                    /* 0: the best this processor has                               */
    uint32_t flags;                   /* VOLTA_CONTEXT_* bits                                         */
    const char *tuning_folder;        /* where volta_tune keeps its results, a file per processor or GPU: read
                                         now, written by volta_tune. NULL: no file is read or written  */
    const char *device;               /* what models are trained and run on: "cpu"; "cuda", the first device of
                                         CUDA, or "cuda:1" and so on; "auto", cuda if a device of it can be
                                         used, else cpu: the log says which and why. NULL: "cpu"       */
    const char *kernel_folder;        /* where kernels that were compiled for a device are kept. Files of another
                                         device, driver or contract are ignored. NULL: in memory alone */
    uint64_t host_budget;             /* most bytes of the host's memory for what plans read and write: a plan that
                                         needs more is refused, OUT_OF_MEMORY; a trainer computes activations
                                         again before it is. 0: what there is                          */
    uint64_t device_budget;           /* the same of a device's own memory, parameters too             */
    volta_precision precision;        /* 0: VOLTA_PRECISION_FP32, the only one of VOLTA_STRICT         */
    /* Computes on threads of the host; the context then has none of its own. Work comes as up to thread_count parts:
     * calls part(part_user, i) once for each i of 0 .. count - 1, and returns when all have ended. Parts may run in any
     * order, on any threads, also one after another on one: none waits for another. They may run in any floating-point
     * environment, which is theirs again when they return, need 64 KiB of stack, and call no function of the host.
     * It is called on the thread that calls the library, by contexts that run at once from several threads at once, and
     * never in a forked child. What it leaves out the caller computes, and the call reports what went wrong:
     * INVALID_STATE  it left a part out, returned before all had ended, or ran one twice; CANCELLED  it threw an
     * exception. Results are whole all the same; whether a step was made says volta_trainer_current_step.
     * NULL: threads of the context's own */
    void (*parallel_for)(void *user, uint32_t count, volta_part part, void *part_user);
    void *parallel_user;              /* passed to parallel_for                                       */
    volta_step_order step_order;      /* of every plan; results keep every bit                        */
} volta_context_options;
#define VOLTA_CONTEXT_OPTIONS_INIT \
    {sizeof(volta_context_options), NULL, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, 0, 0, 0, NULL, NULL, 0}

/* Owns:   *out_context, ended by volta_context_release.
 * Cost:   starts thread_count - 1 threads, which sleep but for 60 microseconds after a call; none with a parallel_for.
 * Keeps:  nothing of tuning_folder but a copy. A tuning file that cannot be used (damaged, of another processor
 *         or contract) is ignored with one line of the log that says why; it is never an error.
 * Errors: INVALID_ARGUMENT  an unknown level, precision, isa, step_order, flag or device, VOLTA_STRICT with a precision
 *                           other than FP32, too many threads, an empty folder
 *         UNSUPPORTED       an isa that this processor does not have; a precision that the device does not have; a
 *                           device of CUDA without the CUDA module, a driver (12.0 or newer) or a device. Nothing
 *                           else is used in its place
 *         DEVICE_ERROR      the driver failed */
VOLTA_API volta_status volta_context_create(const volta_context_options *options, volta_context **out_context);
VOLTA_API void volta_context_release(volta_context *context);

typedef struct volta_context_info {
    size_t struct_size;         /* in: sizeof(volta_context_info)                                        */
    volta_isa isa;              /* the one in use, never AUTO                                            */
    uint32_t thread_count;      /* in use                                                                */
    uint32_t physical_cores;    /* of this machine, as far as this process may use them                  */
    int32_t jit_active;         /* 1: kernels run as machine code; 0: interpreted                        */
    uint64_t plan_cache_hits;   /* plans taken from the context's cache                                  */
    uint64_t plan_cache_misses; /* plans made                                                            */
    uint64_t allocation_count;  /* allocations asked from the host since creation                        */
    uint64_t tensor_bytes;      /* tensor memory held now, in bytes                                      */
    uint64_t tensor_bytes_peak; /* the most ever held at once, in bytes                                  */
    uint64_t code_bytes;        /* executable pages held, in bytes                                       */
    char cpu[64];               /* the processor's own name                                              */
    volta_level level;          /* of everything that it computes                                        */
    volta_precision precision;
} volta_context_info;
#define VOLTA_CONTEXT_INFO_INIT {sizeof(volta_context_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, 0, 0}

/* Fills what fits in info->struct_size. */
VOLTA_API volta_status volta_context_get_info(const volta_context *context, volta_context_info *info);

/* A request to stop that may come from anywhere. Zero it where you define it: VOLTA_CANCEL_INIT. It needs no release. */
typedef struct volta_cancel {
    int32_t requested; /* set by volta_cancel_request alone; zero it again while no call reads it */
} volta_cancel;
#define VOLTA_CANCEL_INIT {0}

/* Asks every call that was given `cancel` to end. NULL: no effect. It is one store to a lock-free integer and leaves
 * volta_last_error alone.
 * Thread: any, at any time; also inside a signal handler. */
VOLTA_API void volta_cancel_request(volta_cancel *cancel);

/* What may end a long call before it is through. */
typedef struct volta_stop_options {
    size_t struct_size;
    const volta_cancel *cancel;           /* kept until the next volta_context_set_stop. NULL: none          */
    int32_t (*should_stop)(void *user);   /* not 0: stop. Runs on the caller's thread, and calls nothing of this
                                             context. NULL: none                                             */
    void *user;                           /* passed to should_stop                                           */
    double max_seconds;                   /* from volta_context_set_stop on, by a clock that is never set; 0: no end */
} volta_stop_options;
#define VOLTA_STOP_OPTIONS_INIT {sizeof(volta_stop_options), NULL, NULL, NULL, 0}

/* From now on, what the long calls of this context and of all that is made from it ask between pieces of their work,
 * whether they shall end. One that ends so reports CANCELLED, its text says before which piece, and nothing is lost:
 *   volta_trainer_step, volta_trainer_step_tokens       before each micro-batch and before the update: parameters,
 *       moments, step and place in the tokens are as before. On a device of its own memory, and in a group, before the step
 *       alone; of a group all ranks end so, where one is asked to
 *   volta_trainer_evaluate_tokens, volta_model_evaluate_tokens   before each batch of windows
 *   volta_model_import    before each node and parameter;   volta_model_quantize   before each parameter
 *   volta_model_open, volta_model_open_memory           before each checksum that is verified
 *   volta_model_save, volta_trainer_save, volta_model_export_*, volta_tensors_save   before each checksum and each
 *       megabyte, and before the new file takes the old one's place: the old one stays;   volta_tensors_open   before
 *       each tensor
 *   volta_tokenizer_train_bpe   before each piece;      volta_tune   after each race: what was tuned by then is kept
 *   volta_generator_next, volta_generator_step          between pieces (prefill_chunk) of a prompt
 *   volta_generator_write   before each token and piece; it ends VOLTA_OK, VOLTA_STOP_CANCELLED or VOLTA_STOP_DEADLINE
 * The same call made again does the same work, with the same result. options NULL: nothing ends them.
 * Cost:   one store; a question costs one branch where nothing is set.
 * Errors: INVALID_ARGUMENT  max_seconds is negative or not finite */
VOLTA_API volta_status volta_context_set_stop(volta_context *context, const volta_stop_options *options);

/* A device that plans run on, and what a context moved to and from it. */
typedef struct volta_device_info {
    size_t struct_size;         /* in: sizeof(volta_device_info)                                         */
    char name[32];              /* as volta_context_options.device takes it: "cpu", "cuda:0"             */
    char description[128];      /* the processor's or device's own name                                  */
    uint64_t memory_bytes;      /* of its own; 0: it uses the host's                                     */
    uint64_t free_bytes;        /* of these, now, within the context's budget                            */
    uint32_t multiprocessors;   /* cores of a processor                                                  */
    uint32_t capability_major;  /* CUDA compute capability; 0: none                                      */
    uint32_t capability_minor;
    uint32_t reserved;          /* 0                                                                     */
    uint64_t copies_to_device;  /* of the context so far; 0 where memory is the host's                   */
    uint64_t bytes_to_device;
    uint64_t copies_to_host;
    uint64_t bytes_to_host;
    uint64_t launches;          /* of kernels and of recorded graphs of them                             */
    uint64_t bytes_in_use;      /* of its memory, by the context's objects: what their bills say         */
    uint64_t pinned_bytes;      /* of the host's memory, locked for copies, by the same                  */
} volta_device_info;
#define VOLTA_DEVICE_INFO_INIT {sizeof(volta_device_info), {0}, {0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* How many devices a backend, "cpu" or "cuda", has on this machine, and what they are. Fills what fits in
 * info->struct_size; zeros on failure. Thread: any.
 * Errors: INVALID_ARGUMENT  an unknown backend, an index that is none
 *         UNSUPPORTED       no CUDA module, driver or device: the sentence says which
 *         DEVICE_ERROR      the driver failed */
VOLTA_API volta_status volta_device_count(const char *backend, uint32_t *out_count);
VOLTA_API volta_status volta_device_describe(const char *backend, uint32_t index, volta_device_info *info);
/* The device of a context. */
VOLTA_API volta_status volta_context_get_device(const volta_context *context, volta_device_info *info);

/* The most the context's device does, measured now: what the speed of anything that computes is to be divided by.
 * On a processor with the context's threads and instruction set. On a device of its own memory isa is
 * VOLTA_ISA_AUTO, thread_count 0, and read and stream are one figure: copying within the device's memory, bytes read
 * and bytes written. Medians; a spread is (90th - 10th percentile) / median. */
typedef struct volta_machine_speed {
    size_t struct_size;    /* in: sizeof(volta_machine_speed)                                            */
    volta_isa isa;         /* in use                                                                     */
    uint32_t thread_count; /* that ran at once                                                           */
    double fma_gflops;     /* fused multiply-adds on registers alone, two operations each, GFLOP/s       */
    double fma_spread;
    double read_gb_s;      /* reading memory, four streams per thread, GB/s (10^9 bytes)                 */
    double read_spread;
    double stream_gb_s;    /* an optimizer pass: 16 bytes read, 12 written per parameter, GB/s of all 28 */
    double stream_spread;
    uint64_t buffer_bytes; /* of memory that was walked: eight times the last-level cache, 256 .. 768 MiB; on
                              a device two buffers of 256 MiB, or less where it has less                 */
} volta_machine_speed;
#define VOLTA_MACHINE_SPEED_INIT {sizeof(volta_machine_speed), 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* Fills what fits in speed->struct_size; zeros on failure.
 * Cost:   about a second on all threads, and buffer_bytes of structure memory, or of the device's, until it
 *         returns.
 * Errors: OUT_OF_MEMORY  the buffer */
VOLTA_API volta_status volta_measure_machine(volta_context *context, volta_machine_speed *speed);

/* ---- Tensor: a dense host array ---------------------------------------------------------------------- */

typedef struct volta_tensor volta_tensor;

typedef int32_t volta_dtype;
enum {
    VOLTA_F32 = 1,
    VOLTA_I32 = 2,
    /* Weights of a quantized model alone (volta_model_quantize); tensors, inputs and outputs never have these.   */
    VOLTA_BF16 = 3,
    VOLTA_F16 = 4,
    VOLTA_INT8 = 5, /* groups of 32 along k with an f16 scale: 8.5 bits each                                   */
    VOLTA_INT4 = 6, /* the same with 4 bits: 4.5 bits each                                                     */
    VOLTA_F32_PANELS = 7 /* f32, to the bit, in the order in which writing a token reads them                   */
};

#define VOLTA_MAX_RANK 8

/* A new tensor of zeros. Shape: rank 0 (one element) to 8; extents >= 0.
 * Owns: *out_tensor, ended by volta_tensor_release. */
VOLTA_API volta_status volta_tensor_create(volta_context *context, volta_dtype dtype, const int64_t *shape,
                                           int32_t rank, volta_tensor **out_tensor);
/* A tensor over memory of the host, which must outlive it. Units: data holds the shape's product of elements.
 * Errors: INVALID_ARGUMENT  data is NULL or not aligned to its element size */
VOLTA_API volta_status volta_tensor_wrap(volta_context *context, volta_dtype dtype, const int64_t *shape,
                                         int32_t rank, void *data, volta_tensor **out_tensor);
VOLTA_API void volta_tensor_release(volta_tensor *tensor);

VOLTA_API volta_dtype volta_tensor_dtype(const volta_tensor *tensor); /* 0 for NULL            */
VOLTA_API int32_t volta_tensor_rank(const volta_tensor *tensor);      /* -1 for NULL           */
VOLTA_API int64_t volta_tensor_extent(const volta_tensor *tensor, int32_t axis); /* -1: none   */
VOLTA_API int64_t volta_tensor_elements(const volta_tensor *tensor);  /* product of the extents */
/* Lends: the elements, for reading and writing, until release; of a tape's result or gradient, which this computes if
 * need be, for reading, until the record ends. NULL: they could not be computed, volta_last_status and volta_last_error
 * say why. */
VOLTA_API void *volta_tensor_data(volta_tensor *tensor);

/* Sets every element to `value`, rounded once to f32: zeros, ones and any other number.
 * Errors: INVALID_ARGUMENT  an i32 tensor, and a value that is no whole number of 32 bits */
VOLTA_API volta_status volta_tensor_fill(volta_tensor *tensor, double value);

/* Sets element i, in row-major order, to start + i * step, computed in double and rounded once to f32.
 * Errors: INVALID_ARGUMENT  start or step is not finite; an i32 tensor, and a start or step that is no whole number or
 *                           a last element that 32 bits do not hold. Nothing was set */
VOLTA_API volta_status volta_tensor_arange(volta_tensor *tensor, double start, double step);

/* How a tensor or a parameter starts: drawn by position from a seed and a stream (Philox). */
typedef int32_t volta_init_kind;
enum { VOLTA_INIT_CONSTANT = 0, VOLTA_INIT_NORMAL = 1, VOLTA_INIT_UNIFORM = 2 };
typedef struct volta_init {
    volta_init_kind kind;
    double a; /* constant: the value | normal: standard deviation, mean 0 | uniform: low  */
    double b; /* constant, normal: unused                                 | uniform: high */
} volta_init;

/* Sets an f32 tensor to the very bits that a parameter of its shape and init has in a model made from this seed, where
 * `stream` is the parameter's number in its graph, from 0 on in the order in which they were declared. init NULL:
 * zeros. The same on every number of threads and instruction set.
 * Errors: INVALID_ARGUMENT  an i32 tensor, an unknown kind, numbers that are not finite, a stream of 2^24 or more */
VOLTA_API volta_status volta_tensor_random(volta_tensor *tensor, const volta_init *init, uint64_t seed,
                                           uint32_t stream);

/* The text that NumPy (2.3 and newer) gives for str() of this array with its default options: rows in brackets, at most
 * 75 columns and 8 digits, three elements at both ends of each axis of a tensor of more than 1000. Lends: until the
 * tensor's next print or its release. */
VOLTA_API volta_status volta_tensor_print(volta_tensor *tensor, const char **out_text);

/* How far two tensors are apart, over all of their elements. */
typedef struct volta_comparison {
    size_t struct_size;      /* in: sizeof(volta_comparison)                                               */
    int64_t differing;       /* elements that differ                                                       */
    int64_t first;           /* the first of these, counted in row-major order; -1: none                   */
    double largest_absolute; /* of |a - b|; infinite where one is NaN or infinite and the other is another */
    double largest_relative; /* of |a - b| / |b|; infinite there too, and where b alone is 0               */
    uint64_t largest_ulps;   /* f32: steps from one to the next number between a and b, 0 from -0 to +0; i32:
                                |a - b|; where NaN is beside a number UINT64_MAX                           */
    int32_t is_equal;        /* 1: no element differs                                                      */
} volta_comparison;
#define VOLTA_COMPARISON_INIT {sizeof(volta_comparison), 0, 0, 0, 0, 0, 0}

/* Compares a with what is expected, b. Elements are the same where |a - b| <= atol + rtol * |b|, in double; an infinity
 * is the same as itself alone, NaN as any NaN. rtol and atol both 0: only where their bits are the same, so -0 and +0
 * differ; and NaN as any NaN. Fills what fits in report->struct_size; that they differ is no error.
 * Errors: INVALID_ARGUMENT  other dtypes; a tolerance that is negative or not finite
 *         SHAPE_MISMATCH    other shapes, of which the text gives both */
VOLTA_API volta_status volta_tensor_compare(const volta_tensor *a, const volta_tensor *b, double rtol,
                                            double atol, volta_comparison *report);

/* Writes named tensors to one file, whose format its name ends with:
 *   .safetensors  at most 16384 tensors;   .npz  the same, NumPy's archive of .npy files, stored as they are;
 *   .npy          NumPy's file of one tensor; names may be NULL
 * A name is UTF-8 of 1 to 255 bytes without control characters, and there once. The same tensors give the same bytes.
 * The file is either the old one or the whole new one at every instant.
 * Errors: INVALID_ARGUMENT  another ending, a bad or repeated name, a .npy of more or fewer than one tensor
 *         IO_ERROR          not writable, disk full; the old file is as it was */
VOLTA_API volta_status volta_tensors_save(volta_context *context, const char *path, const char *const *names,
                                          const volta_tensor *const *tensors, size_t count);

/* Named tensors that were read from a file, ascending by name. */
typedef struct volta_tensors volta_tensors;

/* Reads all tensors of a file that ends with .safetensors, .npy or .npz, of this library or another program
 * (docs/formats.md). f32 and i32 come as they are; floats of 16, 8 and 64 bits become f32, integers and truth values i32,
 * where every element is exactly that. Fortran's order and big-endian numbers are turned. The tensor of a .npy is named
 * "arr_0", as NumPy names arrays without one. The file is treated as hostile.
 * Owns:   *out_tensors, ended by volta_tensors_release.
 * Cost:   the bytes of all tensors.
 * Errors: INVALID_ARGUMENT  another ending
 *         IO_ERROR          missing, not readable
 *         CORRUPT_MODEL     damaged; the reason is in the text
 *         UNSUPPORTED       a compressed archive, other types; an element that f32 or i32 does not hold */
VOLTA_API volta_status volta_tensors_open(volta_context *context, const char *path, volta_tensors **out_tensors);
VOLTA_API void volta_tensors_release(volta_tensors *tensors);

VOLTA_API size_t volta_tensors_count(const volta_tensors *tensors); /* 0 for NULL */
/* Lends: until release. NULL: no tensor of this index. */
VOLTA_API const char *volta_tensors_name(const volta_tensors *tensors, size_t index);
/* Lends: until release; volta_tensor_release is not for it. NULL: no tensor of this index. */
VOLTA_API volta_tensor *volta_tensors_tensor(volta_tensors *tensors, size_t index);

/* ---- Graph: what to compute --------------------------------------------------------------------------- */

typedef struct volta_graph volta_graph;

/* A value of a graph: a handle that is valid in that graph only. */
typedef struct volta_value {
    int32_t id; /* < 0: no value */
} volta_value;

/* An attribute of an operator. docs/operators.md lists every operator with its inputs and attributes. */
typedef struct volta_attribute {
    const char *name;        /* "axis", "epsilon", ...                     */
    double number;           /* for numeric and yes/no attributes          */
    const int64_t *integers; /* for list attributes ("permutation", ...)   */
    size_t integer_count;
} volta_attribute;

VOLTA_API volta_status volta_graph_create(volta_context *context, volta_graph **out_graph);
VOLTA_API void volta_graph_release(volta_graph *graph);

/* An input that every run is given. Names are unique within the graph's inputs and parameters. */
VOLTA_API volta_status volta_graph_input(volta_graph *graph, const char *name, volta_dtype dtype,
                                         const int64_t *shape, int32_t rank, volta_value *out_value);

/* A trainable f32 tensor. init NULL: zeros. */
VOLTA_API volta_status volta_graph_parameter(volta_graph *graph, const char *name, const int64_t *shape,
                                             int32_t rank, const volta_init *init, volta_value *out_value);

/* A tensor of fixed values, copied. */
VOLTA_API volta_status volta_graph_constant(volta_graph *graph, const volta_tensor *tensor,
                                            volta_value *out_value);

/* Applies the operator named `op` to `inputs`; its outputs go to out_values[0 .. out_count-1]. out_count may be
 * smaller than the operator's number of outputs: the rest is not handed out. out_values may be `inputs`.
 * Errors: INVALID_ARGUMENT  an unknown operator or attribute, a wrong number of inputs
 *         SHAPE_MISMATCH    shapes that do not fit, "matmul: inner extents differ: [64, 384] x [256, 384]" */
VOLTA_API volta_status volta_graph_apply(volta_graph *graph, const char *op, const volta_value *inputs,
                                         size_t input_count, const volta_attribute *attributes,
                                         size_t attribute_count, volta_value *out_values, size_t out_count);

/* volta_graph_apply for the common case of one or two inputs, no attribute and one output. */
VOLTA_API volta_status volta_graph_unary(volta_graph *graph, const char *op, volta_value x,
                                         volta_value *out_value);
VOLTA_API volta_status volta_graph_binary(volta_graph *graph, const char *op, volta_value a, volta_value b,
                                          volta_value *out_value);

/* y = x W + b with new parameters "<name>.weight" [in, out], N(0, 1/sqrt(in)), and "<name>.bias" [out], zeros.
 * Shape: x [..., in]; y [..., out]. */
VOLTA_API volta_status volta_graph_linear(volta_graph *graph, const char *name, volta_value x,
                                          int64_t out_features, volta_value *out_value);

/* Declares a result of the graph, in call order. */
VOLTA_API volta_status volta_graph_output(volta_graph *graph, const char *name, volta_value value);

/* Shape of a value. Shape: shape has room for VOLTA_MAX_RANK extents. */
VOLTA_API volta_status volta_graph_value_shape(const volta_graph *graph, volta_value value, int64_t *shape,
                                               int32_t *out_rank);

/* The graph as stable text, one node a line. Lends: until the graph changes or is released. */
VOLTA_API volta_status volta_graph_print(volta_graph *graph, const char **out_text);

/* ---- Tokenizer: text to ids and back ------------------------------------------------------------------- */

typedef struct volta_tokenizer volta_tokenizer;

/* 256 tokens, one per byte. */
VOLTA_API volta_status volta_tokenizer_create_byte(volta_context *context, volta_tokenizer **out_tokenizer);
/* The sorted distinct characters (code points) of a UTF-8 text.
 * Errors: INVALID_ARGUMENT  an empty text; bytes that are not UTF-8, with their offset */
VOLTA_API volta_status volta_tokenizer_create_char(volta_context *context, const char *text, size_t text_bytes,
                                                   volta_tokenizer **out_tokenizer);

typedef int32_t volta_tokenizer_format;
enum {
    VOLTA_TOKENIZER_AUTO = 0,    /* whichever of these the file is                                            */
    VOLTA_TOKENIZER_GGUF = 1,    /* the keys tokenizer.ggml.* of a GGUF file: models gpt2, llama, bert        */
    VOLTA_TOKENIZER_LLAMA2C = 2, /* tokenizer.bin of llama2.c                                                 */
    VOLTA_TOKENIZER_GPT2 = 3,    /* encoder.json with vocab.bpe beside it (or vocab.json, merges.txt); path is
                                    the first file, or the folder of both                                     */
    VOLTA_TOKENIZER_BERT = 4,    /* vocab.txt, a piece a line (one: "[UNK]"); letters are made small unless a
                                    tokenizer_config.json beside it has "do_lower_case": false                */
    VOLTA_TOKENIZER_JSON = 5,    /* Hugging Face's tokenizer.json (docs/tokenizers.md)                         */
    VOLTA_TOKENIZER_SENTENCEPIECE = 6 /* its tokenizer.model, of pairs (bpe) or unigrams                      */
};
/* A tokenizer from a file of another program (docs/tokenizers.md). The file is treated as hostile.
 * Errors: IO_ERROR      missing, not readable
 *         CORRUPT_MODEL the reason is in the text
 *         UNSUPPORTED   a kind of tokenizer that this library does not know */
VOLTA_API volta_status volta_tokenizer_open(volta_context *context, const char *path,
                                            volta_tokenizer_format format, volta_tokenizer **out_tokenizer);
/* Learns a byte-level BPE vocabulary of `vocabulary` ids from a text: the 256 bytes and the most frequent merges.
 * Fewer ids when the text has no more pairs that it has twice. The same text gives the same ids everywhere.
 * Errors: INVALID_ARGUMENT  an empty text; vocabulary outside 256 to 1048576 */
VOLTA_API volta_status volta_tokenizer_train_bpe(volta_context *context, const char *text, size_t text_bytes,
                                                 int32_t vocabulary, volta_tokenizer **out_tokenizer);
VOLTA_API void volta_tokenizer_release(volta_tokenizer *tokenizer);
/* "byte", "char", "bpe", "spm", "wordpiece", "unigram", "wordlevel" */
VOLTA_API const char *volta_tokenizer_kind(const volta_tokenizer *tokenizer);
VOLTA_API int32_t volta_tokenizer_size(const volta_tokenizer *tokenizer);     /* number of ids  */

/* Ids of a text. Writes at most `capacity` of them and sets *out_count to how many there are in all, so that a
 * first call with capacity 0 asks for the size (ids may then be NULL). No ends, and special pieces are text.
 * Errors: INVALID_ARGUMENT  a character outside the vocabulary; the text names it and its offset */
VOLTA_API volta_status volta_tokenizer_encode(const volta_tokenizer *tokenizer, const char *text,
                                              size_t text_bytes, int32_t *ids, size_t capacity,
                                              size_t *out_count);
/* How a text is taken. volta_tokenizer_encode: all zeros. */
typedef struct volta_encode_options {
    size_t struct_size;
    int32_t ends;    /* 1: bos first and eos last, where the tokenizer adds them (volta_special_ids)             */
    int32_t special; /* 1: control pieces in the text ("</s>") become their ids; 0: they are text like any other */
    const char *pair;   /* a second text that stands behind it, as models that compare two take them: with `ends` eos is
                           between both (twice where the file says so: RoBERTa's) and behind. NULL: none        */
    size_t pair_bytes;
    size_t max_tokens;  /* most ids, ends included: what is too long loses ids at its end, of two texts the longer one
                           until both are of one length, as transformers' truncation=True. 0: no limit          */
    int32_t *segments;  /* out: room for `capacity`: 0 for ids of the text and what ends it, 1 behind. NULL: not asked for */
} volta_encode_options;
#define VOLTA_ENCODE_OPTIONS_INIT {sizeof(volta_encode_options), 0, 0, NULL, 0, 0, NULL}
/* Errors: INVALID_ARGUMENT  as volta_tokenizer_encode; max_tokens has no room for the ends
 *         UNSUPPORTED       a pair, of a tokenizer.json that puts two texts together in another way */
VOLTA_API volta_status volta_tokenizer_encode_with(const volta_tokenizer *tokenizer,
                                                   const volta_encode_options *options, const char *text,
                                                   size_t text_bytes, int32_t *ids, size_t capacity,
                                                   size_t *out_count);
/* The bytes of one id, not zero-terminated: a piece that begins a word has its space before it ("spm",
 * "wordpiece"), a control piece has none. Lends: until release.
 * Errors: INVALID_ARGUMENT  an id outside [0, size) */
VOLTA_API volta_status volta_tokenizer_decode(const volta_tokenizer *tokenizer, int32_t id, const char **out_text,
                                              size_t *out_bytes);
/* The same for an id that follows another, -1 at the start of a text: without the space that the tokenizer put
 * before the text. What all ids of a text give, one after the other, is the text. Lends: until release. */
VOLTA_API volta_status volta_tokenizer_decode_after(const volta_tokenizer *tokenizer, int32_t previous_id,
                                                    int32_t id, const char **out_text, size_t *out_bytes);
/* Ids that stand for no text; -1: the tokenizer has none. */
typedef struct volta_special_ids {
    size_t struct_size;         /* in: sizeof(volta_special_ids)                                      */
    int32_t bos, eos;           /* begins and ends a text ([CLS] and [SEP] of wordpiece)              */
    int32_t unk, pad;           /* what the vocabulary lacks; fills rows                              */
    int32_t adds_bos, adds_eos; /* 1: encoding with `ends` adds it                                    */
} volta_special_ids;
#define VOLTA_SPECIAL_IDS_INIT {sizeof(volta_special_ids), 0, 0, 0, 0, 0, 0}
VOLTA_API volta_status volta_tokenizer_special(const volta_tokenizer *tokenizer, volta_special_ids *out_ids);

/* ---- Model: a graph and its parameters ------------------------------------------------------------------ */

typedef struct volta_model volta_model;

/* A model of `graph` as it stands now (copied), with parameters initialised from `seed`. */
VOLTA_API volta_status volta_model_create(const volta_graph *graph, uint64_t seed, volta_model **out_model);

/* A GPT: learned positions, pre-norm, one fused QKV weight, biases, tied head. Zeros are the preset "tiny". */
typedef struct volta_gpt_options {
    size_t struct_size;
    int64_t vocabulary; /* number of token ids; required                              */
    int64_t layers;     /* 0: 6                                                       */
    int64_t dim;        /* width; 0: 384; a multiple of heads                         */
    int64_t heads;      /* 0: 6                                                       */
    int64_t context;    /* longest sequence; 0: 256                                   */
    double dropout;     /* probability after embedding, attention and both branches; 0: none */
} volta_gpt_options;
#define VOLTA_GPT_OPTIONS_INIT {sizeof(volta_gpt_options), 0, 0, 0, 0, 0, 0}

/* Shape: input "tokens" i32 [batch, time], time <= context, any batch; output "logits" f32
 *        [batch, time, vocabulary].
 * Errors: INVALID_ARGUMENT  dim not a multiple of heads, a size below 1 or so large that its product overflows */
VOLTA_API volta_status volta_model_create_gpt(volta_context *context, const volta_gpt_options *options,
                                              uint64_t seed, volta_model **out_model);

/* A Llama: rotary positions, RMS norms, gated activations (SwiGLU), grouped keys and values, no biases. Zeros are the
 * sizes of the preset "tiny". Parameters, with h = dim / heads: "token_embedding" [vocabulary, dim];
 * "block.<i>.norm1.weight" [dim], ".qkv.weight" [dim, (heads + 2 kv_heads) h] (q, k and v side by side),
 * ".proj.weight" [dim, dim], ".norm2.weight" [dim], ".gate_up.weight" [dim, 2 hidden] (the gate first),
 * ".down.weight" [hidden, dim]; "norm_final.weight" [dim]; untied: "head.weight" [vocabulary, dim]. */
typedef struct volta_llama_options {
    size_t struct_size;
    int64_t vocabulary;  /* number of token ids; required                                       */
    int64_t layers;      /* 0: 6                                                                */
    int64_t dim;         /* width; 0: 384; a multiple of heads, dim / heads is even             */
    int64_t heads;       /* 0: 6                                                                */
    int64_t kv_heads;    /* of keys and values, a divisor of heads; 0: heads                    */
    int64_t hidden;      /* width of the gated activation; 0: 8/3 dim, up to a multiple of 32   */
    int64_t context;     /* longest sequence, at most 2^20; 0: 256                              */
    double rope_base;    /* pair i of a head turns by base^(-2i/h) per position; 0: 10000       */
    double epsilon;      /* of the norms; 0: 1e-5                                               */
    int32_t untied;      /* 0: the head is the token embedding; 1: a weight of its own          */
    int32_t interleaved; /* rotary pairs: 0: (i, i + h/2); 1: (2i, 2i + 1)                      */
} volta_llama_options;
#define VOLTA_LLAMA_OPTIONS_INIT {sizeof(volta_llama_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* Shape: as volta_model_create_gpt.
 * Errors: INVALID_ARGUMENT  sizes that do not divide each other, a size below 1 or so large that its product
 *                           overflows, an odd dim / heads, a rope_base below 1, a negative epsilon */
VOLTA_API volta_status volta_model_create_llama(volta_context *context, const volta_llama_options *options,
                                                uint64_t seed, volta_model **out_model);

/* What a BERT gives. */
typedef int32_t volta_bert_head;
enum {
    VOLTA_BERT_MASKED = 0,  /* "logits" f32 [batch, time, vocabulary]: which token stands, or stood, at each place */
    VOLTA_BERT_CLASSES = 1, /* "logits" f32 [batch, classes], of the sequence                                     */
    VOLTA_BERT_POOLED = 2,  /* "pooled" f32 [batch, dim]: tanh of a product of the first token's state            */
    VOLTA_BERT_HIDDEN = 3,  /* "hidden" f32 [batch, time, dim]: the state of every token                          */
    VOLTA_BERT_TOKENS = 4   /* "logits" f32 [batch, time, classes], of each token; an answer's beginning and end
                               are two classes                                                                  */
};

/* A BERT: an encoder in which every token sees all others, post-norm, learned positions and segments, GELU by erf.
 * Zeros are BERT-small. Parameters: "token_embedding" [vocabulary, dim], "segment_embedding" [segments, dim],
 * "position_embedding" [context, dim], "norm_embedding.weight" and ".bias" [dim]; "block.<i>.qkv.weight"
 * [dim, 3 dim] (q, k and v side by side), ".proj.weight" [dim, dim], ".norm1.weight" [dim], ".fc.weight"
 * [dim, hidden], ".fc_proj.weight" [hidden, dim], ".norm2.weight" [dim], each with its ".bias"; masked:
 * "transform.weight" [dim, dim], "norm_transform.weight" [dim], each with its bias, "head.bias" [vocabulary] (the
 * head's weight is the token embedding); classes and pooled: "pooler.weight" [dim, dim] and ".bias"; classes:
 * "classifier.weight" [dim, classes] and ".bias". */
typedef struct volta_bert_options {
    size_t struct_size;
    int64_t vocabulary;    /* number of token ids; required                                              */
    int64_t layers;        /* 0: 4                                                                       */
    int64_t dim;           /* width; 0: 512; a multiple of heads                                         */
    int64_t heads;         /* 0: 8                                                                       */
    int64_t hidden;        /* width between the two products of a block; 0: 4 dim                        */
    int64_t context;       /* longest sequence; 0: 512                                                   */
    int64_t segments;      /* kinds of tokens (first and second sentence); 0: 2                          */
    int64_t classes;       /* VOLTA_BERT_CLASSES, VOLTA_BERT_TOKENS: required; else 0                    */
    double dropout;        /* probability after embedding, attention, branches, pooling; 0: none         */
    double epsilon;        /* of the norms; 0: 1e-12                                                     */
    volta_bert_head head;  /* 0: VOLTA_BERT_MASKED                                                       */
    int32_t segment_input; /* 1: an input says each token's segment; 0: all are of segment 0             */
    int32_t mask_input;    /* 1: an input says which tokens are there; 0: all are, and sequences of a
                              batch have one length                                                      */
} volta_bert_options;
#define VOLTA_BERT_OPTIONS_INIT {sizeof(volta_bert_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* Training of the masked head: inputs in which some tokens are replaced, VOLTA_LOSS_CROSS_ENTROPY, targets i32
 * [batch, time] with the right token where one was replaced and -1 elsewhere.
 * Shape: inputs "tokens", then, where wanted, "segments" and "mask", each i32 [batch, time], time <= context, any
 *        batch. Segments are 0 .. segments-1. Where mask is 0 there is padding, which no token sees: tokens have the
 *        bits that they have without the padding and without the mask. Without it, less memory is needed.
 *        Outputs: see volta_bert_head.
 * Errors: INVALID_ARGUMENT  dim not a multiple of heads, a size below 1 or so large that its product overflows, an
 *                           unknown head, classes for a head that has none, or none for one that has     */
VOLTA_API volta_status volta_model_create_bert(volta_context *context, const volta_bert_options *options,
                                               uint64_t seed, volta_model **out_model);

/* How a ResNet begins. */
typedef int32_t volta_resnet_stem;
enum {
    VOLTA_RESNET_STEM_OF_DEPTH = 0, /* large for 18, 34 and 50 layers, small for the others                        */
    VOLTA_RESNET_STEM_LARGE = 1,    /* a convolution of 7x7, stride 2, and a maximum of 3x3, stride 2: ImageNet's  */
    VOLTA_RESNET_STEM_SMALL = 2     /* a convolution of 3x3: CIFAR's                                               */
};

/* A residual network that classifies pictures: 18, 34 or 50 layers as for ImageNet, or 20, 32, 44 or 56 as for CIFAR
 * (three stages of 16, 32 and 64 channels, shortcuts without parameters). Parameters have torchvision's names:
 * "conv1.weight" [filters, channels, k, k], "bn1.weight", ".bias", ".running_mean" and ".running_var" [filters],
 * "layer<s>.<i>.conv1.weight", ..., "layer<s>.<i>.downsample.0.weight", "fc.weight" [classes, width], "fc.bias". */
typedef struct volta_resnet_options {
    size_t struct_size;
    int64_t depth;          /* 0: 18; else 18, 34, 50, 20, 32, 44 or 56                        */
    int64_t classes;        /* 0: 1000, or 10 of 20, 32, 44 and 56 layers                      */
    int64_t channels;       /* of pictures; 0: 3                                               */
    int64_t rows, columns;  /* of pictures; 0: 224 with the large stem, else 32                */
    volta_resnet_stem stem; /* 0: VOLTA_RESNET_STEM_OF_DEPTH                                   */
} volta_resnet_options;
#define VOLTA_RESNET_OPTIONS_INIT {sizeof(volta_resnet_options), 0, 0, 0, 0, 0, 0}

/* Training: VOLTA_LOSS_CROSS_ENTROPY, targets i32 [batch]. Statistics of its norms are those of each micro-batch.
 * Shape: input "pictures" f32 [batch, channels, rows, columns], any batch; output "logits" f32 [batch, classes].
 * Errors: INVALID_ARGUMENT  another depth or stem, a size below 1 or so large that its product overflows */
VOLTA_API volta_status volta_model_create_resnet(volta_context *context, const volta_resnet_options *options,
                                                 uint64_t seed, volta_model **out_model);

/* How a network of pictures begins; the values are those of volta_resnet_stem. */
typedef int32_t volta_network_stem;
enum {
    VOLTA_STEM_USUAL = 0, /* the network's own                                                    */
    VOLTA_STEM_LARGE = 1, /* as for ImageNet; mobilenet_v2: a first stride of 2                   */
    VOLTA_STEM_SMALL = 2  /* as for CIFAR; mobilenet_v2: strides of 1 there and of the 24 channels */
};

/* A network that classifies pictures, by its name:
 *   "resnet18", "resnet34", "resnet50", "resnet20", "resnet32", "resnet44", "resnet56": see volta_resnet_options
 *   "mobilenet_v2": inverted residuals with convolutions of each channel alone, and relu6, without dropout; parameters
 *       have torchvision's names: "features.0.0.weight", "features.0.1.weight", ..., "features.1.conv.0.0.weight", ...,
 *       "features.18.1.bias", "classifier.1.weight" [classes, 1280] and ".bias"
 *   "cnn": three times a convolution of 3x3 (to 32, 64, 128 channels), a norm, relu and maxima of 2x2, and a product:
 *       "conv<i>.weight", "bn<i>.weight", ".bias", ".running_mean", ".running_var", "fc.weight", "fc.bias" */
typedef struct volta_network_options {
    size_t struct_size;
    const char *name;        /* one of volta_network_name; required                                             */
    int64_t classes;         /* 0: 1000 of ImageNet's networks, 10 of the others                                */
    int64_t channels;        /* of pictures; 0: 3, of cnn 1                                                     */
    int64_t rows, columns;   /* of pictures; 0: 224 with the large stem, 32 with the small one, of cnn 28, which
                                takes no less than 8                                                            */
    double width;            /* mobilenet_v2, cnn: numbers of filters times this, as multiples of 8 that are at
                                least nine tenths of it; mobilenet_v2's last is never below 1280. 0: 1          */
    volta_network_stem stem; /* 0: VOLTA_STEM_USUAL; cnn has the small one only                                  */
} volta_network_options;
#define VOLTA_NETWORK_OPTIONS_INIT {sizeof(volta_network_options), NULL, 0, 0, 0, 0, 0, 0}

/* The networks that there are. NULL: there are no more. */
VOLTA_API const char *volta_network_name(size_t index);

/* Training and shape: as volta_model_create_resnet.
 * Errors: INVALID_ARGUMENT  an unknown name, a stem or a width that the network has not, a width below 1/64 or above
 *                           64, a size below 1 or so large that its product overflows */
VOLTA_API volta_status volta_model_create_network(volta_context *context, const volta_network_options *options,
                                                  uint64_t seed, volta_model **out_model);

typedef int32_t volta_load_mode;
enum {
    VOLTA_LOAD_MAP = 0, /* read-only mmap, zero-copy, milliseconds; the file must not change while it is open */
    VOLTA_LOAD_COPY = 1 /* read into memory; checksums are verified                                         */
};
typedef struct volta_open_options {
    size_t struct_size;
    volta_load_mode mode;
    int32_t verify; /* 1: verify every checksum although the file is mapped */
} volta_open_options;
#define VOLTA_OPEN_OPTIONS_INIT {sizeof(volta_open_options), 0, 0}

/* Opens a model file (docs/model_format.md). The file is treated as hostile: everything in it is checked.
 * A folder is a sharded one (volta_model_save_sharded): its parts are read into memory, each compared with its checksum.
 * Errors: IO_ERROR          missing, a folder without parts, not readable
 *         CORRUPT_MODEL     the reason is in the text
 *         UNSUPPORTED       a format version, level or precision this library does not know */
VOLTA_API volta_status volta_model_open(volta_context *context, const char *path,
                                        const volta_open_options *options, volta_model **out_model);
/* The same from memory that the host keeps unchanged until release. Shape: data is 64-byte aligned, or copied
 * by VOLTA_LOAD_COPY. */
VOLTA_API volta_status volta_model_open_memory(volta_context *context, const void *data, size_t bytes,
                                               const volta_open_options *options, volta_model **out_model);
VOLTA_API void volta_model_release(volta_model *model);

/* Writes graph, parameters, tokenizer and metadata. Crash-safe: at every instant the path has the old file or the
 * whole new one, which is written beside it first as "<path>.tmp-<process>-<n>". What a killed process left of that
 * is removed by the next save of the same path. The same model gives the same file, byte for byte.
 * Errors: IO_ERROR  the folder is missing or read-only, the disk is full; the old file is untouched. Only where the
 *                   folder could not be synced at the end is the new file in its place: the text says so, and that it
 *                   may not survive a power cut */
VOLTA_API volta_status volta_model_save(const volta_model *model, const char *path);

/* Writes the bytes of that same file as `parts` files of a folder, and behind them the manifest, which names them with
 * their checksums: until it is in its place the folder has what it had before. Opened and saved, it is the one file again,
 * byte for byte. The folder is made if it is not there; what else is in it stays. docs/distributed.md.
 * Errors: INVALID_ARGUMENT  parts is 0, or above 4096
 *         IO_ERROR          as volta_model_save */
VOLTA_API volta_status volta_model_save_sharded(const volta_model *model, uint32_t parts, const char *folder);

/* Files of weights that other programs write. */
typedef int32_t volta_weight_format;
enum {
    VOLTA_WEIGHTS_AUTO = 0,        /* by the file's content                                                     */
    VOLTA_WEIGHTS_SAFETENSORS = 1, /* *.safetensors, or the *.index.json of several in one folder               */
    VOLTA_WEIGHTS_GGUF = 2,        /* GGUF, versions 2 and 3                                                    */
    VOLTA_WEIGHTS_LLAMA2C = 3,     /* the .bin files of llama2.c, version 0                                     */
    VOLTA_WEIGHTS_ONNX = 4         /* a graph and its weights; docs/onnx.md says of which opsets                */
};
/* The shape that an input of an imported graph gets. -1: an extent stays as the file has it. */
typedef struct volta_input_shape {
    const char *name;
    int32_t rank;
    int64_t shape[VOLTA_MAX_RANK];
} volta_input_shape;
typedef struct volta_import_options {
    size_t struct_size;
    volta_weight_format format;
    const char *tokenizer_path; /* as volta_tokenizer_open takes it; NULL: the one in the file or the folder, where
                                 there is one                                                                   */
    const char *config_path;  /* config.json of a safetensors model: what it is, with how many heads; NULL: the one
                                 beside the file. Files that say it themselves need none                        */
    const char *key_map_path; /* a text of lines "their.%d.name = our.%d.name [transpose]" for names that are not
                                 built in; NULL: none                                                           */
    const volta_bert_options *bert; /* a BERT of another program: its head, segment_input, mask_input and dropout are
                                 these, sizes are the file's and 0 here; NULL: the head that the file has (masked,
                                 else classes, else pooled, else hidden), tokens as its only input              */
    int32_t weights;          /* what the weights of products and the tables of tokens become: 0 or VOLTA_F32, f32,
                                 exactly; VOLTA_IMPORT_KEEP; or VOLTA_BF16, VOLTA_F16, VOLTA_INT8, VOLTA_INT4,
                                 VOLTA_F32_PANELS, as volta_model_quantize makes them of f32                    */
    int32_t no_tokenizer;     /* 1: the model carries no tokenizer, whatever the file has; with tokenizer_path NULL  */
    const volta_resnet_options *resnet; /* the file holds a ResNet of this depth and these pictures, by torchvision's
                                 names (those of CIFAR may call the last layer "linear"); no config is needed. classes
                                 0: as many as the file has. NULL: it is something else                         */
    const volta_input_shape *shapes; /* of an ONNX file: extents of its inputs that it leaves open, and that the model
                                 cannot leave to whoever runs it; may be NULL                                   */
    size_t shape_count;
    const volta_network_options *network; /* what resnet says, of any network of volta_network_name                   */
    int32_t exact_graph;      /* of an ONNX file: 1: its nodes stay as they are written; 0: those that are a layer norm,
                                 a GELU, attention and so on become that operator, which may round otherwise
                                 (docs/onnx.md)                                                                 */
} volta_import_options;
#define VOLTA_IMPORT_OPTIONS_INIT {sizeof(volta_import_options), 0, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, 0, NULL, 0}
/* Weights stay as small as they are, exactly: f16 (also of f8), bf16, q8_0, q5_0 and iq4_nl as VOLTA_INT8, q4_0 as VOLTA_INT4.
 * What no stored type has exactly becomes f32 (q2_k to q6_k, q4_1, q5_1, mxfp4); so does a parameter that takes no less
 * memory stored, or is made of tensors of several types (of those with integers: VOLTA_INT8). */
enum { VOLTA_IMPORT_KEEP = -1 };

/* A model from weights of another program (docs/import.md says which, and which types, f32 to mxfp4), or from a folder
 * with safetensors, config.json and a tokenizer, as Hugging Face's libraries write it; or from an ONNX
 * file, graph and weights (docs/onnx.md), whose inputs and outputs keep their names and are f32, or i32 where they
 * are integers or truth values. Parameters that
 * volta_model_quantize would leave alone become f32, exactly; the others become what `weights` says, and a model with
 * packed weights cannot be exported, nor these be trained. The log says what was rounded: f64 to f32, and by how much weights of the
 * type that is wanted differ from the file's. The files are treated as hostile: everything in them is checked.
 * Keeps:  nothing: files may go when it returns.
 * Cost:   reads the whole file, one tensor at a time; memory for the parameters alone.
 * Errors: IO_ERROR          missing, not readable
 *         CORRUPT_MODEL     the file or its config is damaged; a tensor is missing or there twice
 *         SHAPE_MISMATCH    a tensor that does not fit the sizes of the model
 *         UNSUPPORTED       an architecture, a head, a type, a setting or a tokenizer that no model of Volta has; a tensor
 *                           that is not known, or changes results; a config that says one thing twice, differently; a
 *                           value that is not finite, or too large, for the type that `weights` says
 *         INVALID_ARGUMENT  no config where one is needed; a line of the key map; a shape for no input of the file */
VOLTA_API volta_status volta_model_import(volta_context *context, const char *path,
                                          const volta_import_options *options, volta_model **out_model);

/* What an ONNX file holds, without making a model of it: JSON with its ir_version, producer, opsets, nodes, each
 * operator with its count and whether it is imported, its inputs and outputs with their types and what these become,
 * "recognised", the operators that several nodes together become, with counts, and "refused", the sentence with which volta_model_import would refuse the graph; "" where it would not. New keys may come.
 * Units:  as in volta_explain_matmul: capacity is bytes of text with its final 0, *out_bytes the length of the whole
 *         text without it.
 * Errors: IO_ERROR; CORRUPT_MODEL  it is damaged; UNSUPPORTED  it is no ONNX file */
VOLTA_API volta_status volta_model_survey(volta_context *context, const char *path,
                                          const volta_import_options *options, char *text, size_t capacity,
                                          size_t *out_bytes);

/* Writes parameters and metadata as a safetensors file with Volta's own names; importing it gives the same hash.
 * The tokenizer, and a graph that no volta_model_create_* makes, stay behind. Crash-safe; the same model gives the
 * same bytes.
 * Errors: IO_ERROR  as volta_model_save */
VOLTA_API volta_status volta_model_export_safetensors(const volta_model *model, const char *path);

/* How an export calls its tensors. */
typedef int32_t volta_weight_names;
enum {
    VOLTA_NAMES_OWN = 0,         /* as volta_model_parameter_info does; metadata says what the model is          */
    VOLTA_NAMES_HUGGING_FACE = 1 /* those of its GPT-2, Llama and BERT (docs/import.md), products [out, in] where
                                    it has them so; a config.json says what the model is                         */
};
typedef struct volta_export_options {
    size_t struct_size;
    volta_weight_names names;
    const char *config_path; /* where VOLTA_NAMES_HUGGING_FACE writes the config.json; NULL: nowhere */
} volta_export_options;
#define VOLTA_EXPORT_OPTIONS_INIT {sizeof(volta_export_options), 0, NULL}
/* The same with options. options NULL: all zeros. The config is written after the weights.
 * Errors: UNSUPPORTED  Hugging Face's names for a graph of the host's own, or for a Llama whose rotary pairs are
 *                      neighbours */
VOLTA_API volta_status volta_model_export_safetensors_with(const volta_model *model,
                                                           const volta_export_options *options,
                                                           const char *path);

typedef struct volta_onnx_export_options {
    size_t struct_size;
    int32_t opset;         /* of ONNX's operators: 13, 17, 20 or 21; 0: 13, which everything reads                     */
    uint64_t inline_bytes; /* parameters of more bytes in all are written beside the file, to its path with ".data" behind;
                              0: as many as one file can hold, 2 GB                                                  */
} volta_onnx_export_options;
#define VOLTA_ONNX_EXPORT_OPTIONS_INIT {sizeof(volta_onnx_export_options), 0, 0}
/* Writes graph and parameters as an ONNX file (docs/onnx.md). options NULL: all zeros. Inputs, outputs and parameters
 * keep their names; i32 are int64 there, results of comparisons bool; open extents stay open; a model drops nothing.
 * volta_model_import gives the same model back, in every bit, with its metadata and its tokenizer.
 * Crash-safe; the same model gives the same bytes. A file beside is replaced first.
 * Errors: UNSUPPORTED  an operator, or one of its results, that has no form in ONNX, or a parameter that is stored in
 *                      fewer bits, other than VOLTA_INT8 from opset 21 on: the text names node, operator and opset
 *         IO_ERROR     as volta_model_save */
VOLTA_API volta_status volta_model_export_onnx(const volta_model *model, const volta_onnx_export_options *options,
                                               const char *path);

typedef struct volta_gguf_export_options {
    size_t struct_size;
    volta_dtype weights;  /* what weights of products and the table of tokens are written as: VOLTA_F32, VOLTA_F16,
                             VOLTA_BF16, VOLTA_INT8: Q8_0, VOLTA_INT4: Q4_0; 0: as the model has them, to the bit */
    int32_t no_tokenizer; /* 1: the file has no tokenizer, whatever the model carries                             */
} volta_gguf_export_options;
#define VOLTA_GGUF_EXPORT_OPTIONS_INIT {sizeof(volta_gguf_export_options), 0, 0}
/* Writes a GPT, a Llama or a BERT as a GGUF file, with its tokenizer (docs/import.md), for programs like llama.cpp.
 * options NULL: all zeros. f32 is rounded as llama.cpp's reference rounds; rows that are no whole blocks of 32 are f32.
 * volta_model_import gives the same parameters back, but that rotary pairs of a Llama become neighbours. Crash-safe; the
 * same model gives the same bytes.
 * Errors: UNSUPPORTED  a graph of the host's own, a network of pictures, a BERT's masked head, a tokenizer of
 *                      characters or that cuts words in another way, a value that the type has not: the text names it
 *         IO_ERROR     as volta_model_save */
VOLTA_API volta_status volta_model_export_gguf(const volta_model *model, const volta_gguf_export_options *options,
                                               const char *path);

/* 128-bit hash of all parameter bits in name order. Shape: text has room for 33 bytes (32 hex digits, zero). */
VOLTA_API volta_status volta_model_hash(const volta_model *model, char *text);

/* The level and precision of the context that gave the parameters their values: the one that the model was made in,
 * or trained in last. A file keeps them; opening and saving it elsewhere changes neither. */
VOLTA_API volta_status volta_model_get_arithmetic(const volta_model *model, volta_level *out_level,
                                                  volta_precision *out_precision);

/* A model with the same graph whose weights are stored for reading alone, in fewer bits or, VOLTA_F32_PANELS, in another
 * order, which gives the bits of the f32 model faster: those that products read, and the tables of tokens. Others
 * (norms, biases, positions) stay f32; so does a weight that something else reads as well, or whose inner extent is
 * below 32. All arithmetic stays f32: docs/quantization.md has the formats and the formulas. A packed weight has the
 * shape [outputs, inputs] and is read in place, a mapped file included. The result runs, generates, saves and
 * loads like any model, with the same bits everywhere. What is stored is not trained itself: parameters beside it are,
 * where it is frozen, as adapters are (volta_model_add_lora). Training state is left out.
 * Units:  dtype VOLTA_BF16, VOLTA_F16, VOLTA_INT8, VOLTA_INT4 or VOLTA_F32_PANELS.
 * Owns:   *out_model, ended by volta_model_release; it keeps nothing of `model`.
 * Errors: INVALID_ARGUMENT  another dtype; a weight that is not finite or beyond the type's range, which no weight is
 *                           for VOLTA_F32_PANELS; no weight to store; a model that is stored already. The text
 *                           names it */
VOLTA_API volta_status volta_model_quantize(const volta_model *model, volta_dtype dtype, volta_model **out_model);

/* LoRA: what volta_model_add_lora puts beside the weights of a base. */
typedef struct volta_lora_options {
    size_t struct_size;
    int64_t rank;        /* of the two matrices of an adapter; 0: 8; 1 .. 4096                                       */
    double alpha;        /* the change is alpha / rank times their product; 0: twice the rank; at most 1e6           */
    const char *targets; /* parts q, k, v, o, gate, up, down, fc, fc_proj or names of weights, joined by +; NULL:
                            "q+v"                                                                                    */
    uint64_t seed;       /* of the values that adapters begin with                                                   */
} volta_lora_options;
#define VOLTA_LORA_OPTIONS_INIT {sizeof(volta_lora_options), 0, 0, 0, 0}

/* A model that computes what `base` does and learns by adapters alone: beside each product x W of a target stand A
 * [inputs, rank], uniform in +-1/sqrt(inputs), and B [rank, outputs], zeros, and y = x W + ((alpha / rank) (x A)) B. A
 * part of a weight that holds several side by side (q, k and v of "qkv"; gate and up) has an adapter of its own; their
 * names are "block.0.qkv.lora.q.a", "block.0.proj.lora.b". Parameters of the base keep their values in training, have
 * neither gradients nor state, and may be stored (volta_model_quantize). volta_model_save, and a trainer's, write the
 * adapters alone, for volta_model_open_adapter. docs/fine_tuning.md has an example.
 * Owns:   *out_model, ended by volta_model_release.
 * Keeps:  base, which may be released before: its parameters are lent, not copied, and cannot be set as long as a model
 *         or trainer with adapters on them lives.
 * Cost:   reads all of the base once, for its hash.
 * Errors: INVALID_ARGUMENT  a rank, an alpha; a target that the base does not have, or that means what another one
 *                           means; a base with adapters */
VOLTA_API volta_status volta_model_add_lora(const volta_model *base, const volta_lora_options *options,
                                            volta_model **out_model);

/* The same with the adapters of a file that volta_model_save or a trainer wrote; of a checkpoint,
 * volta_trainer_resume goes on. `options` are of the file, whose values are copied.
 * Errors: IO_ERROR; CORRUPT_MODEL  damaged, no adapters, or such as do not fit the base
 *         INVALID_ARGUMENT         they are of another base: the text tells both hashes */
VOLTA_API volta_status volta_model_open_adapter(const volta_model *base, const char *path,
                                                const volta_open_options *options, volta_model **out_model);

/* A model of the base's graph with the adapters added to its weights, W + (alpha / rank) A B, summed in f64 and rounded
 * once; a weight that is stored is stored again, in its type. It computes the same within rounding, and nothing more is
 * promised.
 * Owns:   *out_model, ended by volta_model_release; it keeps nothing of `model`. *out_difference, which may be NULL, is
 *         the largest distance of a merged weight from the sum in f64.
 * Errors: INVALID_ARGUMENT  no adapters; a merged weight that its type does not have */
VOLTA_API volta_status volta_model_merge_adapter(const volta_model *model, double *out_difference,
                                                 volta_model **out_model);

/* Writes the adapters of a model, or of one that their file was opened as, as PEFT reads them: adapter_config.json and
 * adapter_model.safetensors in a folder that is there. A module that is several parts here, as GPT-2's c_attn, gets the
 * sum of their ranks, and zeros where a part has none of another's.
 * Errors: UNSUPPORTED  an architecture that has no names of Hugging Face; CORRUPT_MODEL  no adapters; IO_ERROR */
VOLTA_API volta_status volta_model_export_peft(const volta_model *model, const char *folder);

/* A model on `base`, as volta_model_add_lora makes it, with the adapters of such a folder. A module that is several parts
 * here gives each of them its A. The files are treated as hostile: everything in them is checked.
 * Owns:   *out_model, ended by volta_model_release. Keeps: base, as volta_model_add_lora does.
 * Errors: IO_ERROR; CORRUPT_MODEL  damaged, or of other sizes than the base
 *         UNSUPPORTED  a setting, a tensor or a module that adapters of Volta do not have: the text names it */
VOLTA_API volta_status volta_model_import_peft(const volta_model *base, const char *folder, volta_model **out_model);

/* A model with the same graph but for its last layer, which gets `classes` columns: the product with a weight, and where
 * there is one the bias, that make the first output. Both are drawn from `seed` as in a new model; all other parameters
 * keep their bits. For training on other classes than the model's own. Training state is left out.
 * Owns:   *out_model, ended by volta_model_release; it keeps nothing of `model`.
 * Errors: INVALID_ARGUMENT  a first output that is no such layer, or whose weight or bias is read elsewhere too; classes
 *                           below 1; sizes that overflow
 *         UNSUPPORTED       a weight that is stored (volta_model_quantize) */
VOLTA_API volta_status volta_model_replace_head(const volta_model *model, int64_t classes, uint64_t seed,
                                                volta_model **out_model);

/* A model in which every batch_norm of a convolution's result is part of that convolution: its weight is multiplied, and it
 * has a bias, "conv1.bias" beside "conv1.weight" where there was none (docs/numerics.md, 5, has the formula). It runs
 * faster, with other bits and another hash, and computes the same within rounding. A batch_norm of something else, or
 * whose parameters or the convolution's are read elsewhere too, stays. Training state is left out, and so is what the
 * library's metadata says of the architecture, which it no longer is.
 * Owns:   *out_model, ended by volta_model_release; it keeps nothing of `model`. *out_folded is how many norms were folded;
 *         out_folded may be NULL.
 * Errors: INVALID_ARGUMENT  nothing to fold: no batch_norm, or none that follows a convolution with parameters of their
 *                           own */
VOLTA_API volta_status volta_model_fold_batch_norm(const volta_model *model, volta_model **out_model,
                                                   size_t *out_folded);

/* A model that ends with the states of a language model's tokens, behind the last block and its norm: what an embedding of
 * a text is made of. Inputs and weights are those of `model`, stored ones too.
 * Shape:  output "hidden" f32 [batch, time, dim].
 * Owns:   *out_model, ended by volta_model_release; it keeps nothing of `model`.
 * Errors: UNSUPPORTED  the model is no GPT, Llama or BERT */
VOLTA_API volta_status volta_model_hidden_states(const volta_model *model, volta_model **out_model);

/* Inputs, outputs and parameters, in declaration order. Lends: names until release. Shape: shape has room for
 * VOLTA_MAX_RANK extents; -1 stands for an extent that the host chooses per session (batch, time). */
typedef struct volta_tensor_info {
    const char *name;
    volta_dtype dtype;
    int32_t rank;
    int64_t shape[VOLTA_MAX_RANK];
} volta_tensor_info;
VOLTA_API size_t volta_model_input_count(const volta_model *model);
VOLTA_API volta_status volta_model_input_info(const volta_model *model, size_t index, volta_tensor_info *info);
VOLTA_API size_t volta_model_output_count(const volta_model *model);
VOLTA_API volta_status volta_model_output_info(const volta_model *model, size_t index, volta_tensor_info *info);
VOLTA_API size_t volta_model_parameter_count(const volta_model *model);
VOLTA_API volta_status volta_model_parameter_info(const volta_model *model, size_t index,
                                                  volta_tensor_info *info);
/* Lends: a parameter's elements, read-only, until the model is released.
 * Errors: INVALID_ARGUMENT  unknown name; UNSUPPORTED  a packed weight (volta_model_quantize) */
VOLTA_API volta_status volta_model_parameter(const volta_model *model, const char *name,
                                             const float **out_data, size_t *out_elements);
/* Replaces a parameter's values (for weights from elsewhere). A mapped model takes a private copy first.
 * Errors: INVALID_ARGUMENT unknown name; SHAPE_MISMATCH another number of elements */
VOLTA_API volta_status volta_model_set_parameter(volta_model *model, const char *name, const float *data,
                                                 size_t elements);

/* The tokenizer that the file carries. Attaching copies it. get: *out is NULL when there is none; Owns: release it. */
VOLTA_API volta_status volta_model_set_tokenizer(volta_model *model, const volta_tokenizer *tokenizer);
VOLTA_API volta_status volta_model_get_tokenizer(const volta_model *model, volta_tokenizer **out_tokenizer);

/* Free text that the file carries, by key ("title", "licence", ...). Keys that start with "volta." are reserved
 * (readable: "volta.architecture" is "gpt" for models of volta_model_create_gpt, with "volta.gpt.layers" ..., "llama"
 * for models of volta_model_create_llama, with "volta.llama.layers" ..., and "bert" and the networks of pictures,
 * "resnet", "mobilenet_v2" and "cnn", in the same way).
 * set: value NULL removes. get: *out_value is NULL when there is none. Lends: until the key changes. */
VOLTA_API volta_status volta_model_set_metadata(volta_model *model, const char *key, const char *value);
VOLTA_API volta_status volta_model_get_metadata(const volta_model *model, const char *key,
                                                const char **out_value);

/* ---- Chat: a conversation as tokens ---------------------------------------------------------------------- */

/* A message of a conversation. UTF-8, zero-terminated. */
typedef struct volta_chat_message {
    const char *role;    /* "system", "user" or "assistant" */
    const char *content;
} volta_chat_message;

/* The formats, by which conversations become text: "chatml", "llama3", ... NULL past the last. */
VOLTA_API const char *volta_chat_format_name(size_t index);

/* The format of the model's conversations, which its file carries. volta_model_import sets it from the chat template
 * that lies beside the tokenizer or stands in a GGUF file, where it knows it; "volta.chat.format" of the metadata is its
 * name, and "volta.chat.refused" says why an imported model has none. system: what the system says in a conversation
 * that does not say it; NULL: what the format says. name NULL: none.
 * Errors: INVALID_ARGUMENT  no format of that name
 *         UNSUPPORTED       the tokenizer lacks a piece that the format needs; the text names it
 *         INVALID_STATE     the model has no tokenizer */
VOLTA_API volta_status volta_model_set_chat_format(volta_model *model, const char *name, const char *system);
/* The id that ends an answer: a stop token of volta_generator_write. Errors: as volta_model_encode_chat. */
VOLTA_API volta_status volta_model_get_chat_end(const volta_model *model, int32_t *out_id);

/* Bits of `flags` of volta_model_encode_chat. */
enum {
    VOLTA_CHAT_WHOLE = 1 /* the conversation ends with its last message; without it, with the beginning of an answer */
};
/* The tokens of a conversation by the model's format: those of Hugging Face's apply_chat_template. Pieces of the format
 * become their ids; a content cannot forge them: there they are plain text, or refused where the tokenizer finds them
 * in any text. Writes at most `capacity` ids, and sets *out_count to how many there are in all.
 * answers: of each id, 1 where it belongs to an answer of the assistant, the piece that ends it included, else 0: what
 *          fine-tuning learns; may be NULL
 * Errors: INVALID_ARGUMENT  a role that is not known, an order of roles that the format does not have
 *         UNSUPPORTED       no format, or none that is known; a piece that the tokenizer lacks
 *         INVALID_STATE     the model has no tokenizer */
VOLTA_API volta_status volta_model_encode_chat(const volta_model *model, const volta_chat_message *messages,
                                               size_t count, uint32_t flags, int32_t *ids, uint8_t *answers,
                                               size_t capacity, size_t *out_count);

/* ---- Bill: what a plan will need, known before anything is allocated ------------------------------------ */

/* Bytes of tensor memory by class. The peak that the allocator sees equals `total` exactly. */
typedef struct volta_bill {
    size_t struct_size;       /* in: sizeof(volta_bill)                                               */
    uint64_t parameters;      /* copies the plan owns, packed ones too; 0 where it reads the model's  */
    uint64_t gradients;       /* one per parameter, kept until the next step                          */
    uint64_t optimizer_state; /* moments                                                              */
    uint64_t activations;     /* arena: values that live between steps of the plan                    */
    uint64_t workspace;       /* packed panels and per-thread scratch                                 */
    uint64_t staging;         /* inputs, targets and results the object keeps for the host            */
    uint64_t total;
    uint64_t cache; /* keys, values and angles of a generator's sequences; part of the total          */
} volta_bill;
#define VOLTA_BILL_INIT {sizeof(volta_bill), 0, 0, 0, 0, 0, 0, 0, 0}

/* ---- Session: a model compiled to run -------------------------------------------------------------------- */

typedef struct volta_session volta_session;

typedef struct volta_session_options {
    size_t struct_size;
    const int64_t *input_shapes; /* extents of all inputs, one after the other, in the model's order; NULL
                                    when no input has an extent of -1                                   */
    size_t input_extent_count;   /* how many extents in all                                             */
    uint32_t flags;              /* VOLTA_SESSION_* bits                                                */
} volta_session_options;
#define VOLTA_SESSION_OPTIONS_INIT {sizeof(volta_session_options), NULL, 0, 0}

/* Bits of volta_session_options.flags. */
enum {
    VOLTA_SESSION_PACK_WEIGHTS = 1 /* keep a copy of the weights of products in the order in which kernels read them:
                                      runs are faster, most of all on few rows, for as much memory again (under
                                      `parameters` of the bill). Small weights, which are as fast in place,
                                      get none. Packed anew when the model's parameters change */
};

/* Compiles `model` for these input shapes and plans every byte it will use.
 * Owns:   *out_session, ended by volta_session_release.
 * Keeps:  `model` alive and its parameters unchanged: the two may be released in either order.
 * Cost:   generates machine code: milliseconds.
 * Errors: SHAPE_MISMATCH  shapes that do not fit the model
 *         UNSUPPORTED     an operator without a kernel; the text names it */
VOLTA_API volta_status volta_session_create(volta_model *model, const volta_session_options *options,
                                            volta_session **out_session);
VOLTA_API void volta_session_release(volta_session *session);

/* Runs the graph once, inputs and outputs in the model's declared order.
 * Shape:  outputs must not share memory with inputs: a plan may write an output before its last read.
 * Keeps:  nothing; tensors are read and written only during the call.
 * Cost:   allocates nothing.
 * Errors: SHAPE_MISMATCH    the text gives index, expected and actual shape
 *         INVALID_ARGUMENT  a token id outside the vocabulary; the text names it */
VOLTA_API volta_status volta_session_run(volta_session *session, const volta_tensor *const *inputs,
                                         size_t input_count, volta_tensor *const *outputs, size_t output_count);
/* The shape of output `index` for this session's input shapes. Shape: shape has room for VOLTA_MAX_RANK extents.
 * Errors: INVALID_ARGUMENT  no such output */
VOLTA_API volta_status volta_session_output_shape(const volta_session *session, size_t index, int64_t *shape,
                                                  int32_t *out_rank);
VOLTA_API volta_status volta_session_get_bill(const volta_session *session, volta_bill *bill);
/* The plan as stable text: steps, kernels, offsets, bill, hash. Lends: until release. */
VOLTA_API volta_status volta_session_print_plan(volta_session *session, const char **out_text);

/* ---- Group: processes that train one model together -------------------------------------------------------- */

typedef struct volta_group volta_group;

/* A transport of the host's own: sends to `peer` and receives from it, both ways at once; either may be 0 bytes. The peer
 * makes the matching call, with the same two numbers exchanged; calls of two ranks match in their order. Returns when what
 * was sent may be written again and what was to come is there. Any status but VOLTA_OK ends the group; `text` takes a
 * sentence that names the peer. Runs on the thread that called the trainer, and calls nothing of this library. */
typedef volta_status (*volta_exchange)(void *user, uint32_t peer, const void *send, size_t send_bytes, void *receive,
                                       size_t receive_bytes, char *text, size_t text_bytes);

typedef struct volta_group_options {
    size_t struct_size;
    const char *transport;   /* "local": processes of one machine; "tcp": of several; "mpi": those that an MPI library
                                has started; "nccl": of several, from device to device; "host": exchange. NULL: "local" */
    const char *address;     /* local: a folder that all of them may write; tcp, nccl: HOST:PORT where rank 0 listens; mpi:
                                the library's file, or "openmpi" or "mpich", NULL: what is found; host: NULL            */
    uint32_t rank;           /* of this process: 0 .. size - 1                                                          */
    uint32_t size;           /* processes, each with a rank of its own; a power of two. 0: 1; mpi: as many as it says, and
                                rank is what it says                                                                    */
    double timeout;          /* seconds after which a rank that does not answer is given up; 0: 30                      */
    volta_exchange exchange; /* host: the transport                                                                     */
    void *user;              /* handed to exchange                                                                      */
    const char *library;     /* nccl: its file; NULL: libnccl.so.2                                                      */
} volta_group_options;
#define VOLTA_GROUP_OPTIONS_INIT {sizeof(volta_group_options), NULL, NULL, 0, 0, 0, NULL, NULL, NULL}

/* Joins the group: returns when all ranks have. A trainer that is given the group (volta_trainer_options.group) makes its
 * steps with the trainers of the other ranks, each of which computes its part of every batch. docs/distributed.md.
 * Memory: of transport "local" gradients and parameters lie in memory that the ranks of the machine share, so that none has
 *         to be sent; a trainer's bill counts its own, which does not come from the host's allocator.
 * Thread: one trainer of a group at a time. Over tcp and mpi it sends by a thread of its own; with parallel_for it has none.
 * Errors: IO_ERROR          a rank did not come within timeout, or has ended; the text names it
 *         UNSUPPORTED       mpi or nccl, and no library of it can be opened; nccl, and the context has no device
 *         INVALID_ARGUMENT  a size that is no power of two, a rank that is not below it, a transport that does not exist */
VOLTA_API volta_status volta_group_create(volta_context *context, const volta_group_options *options,
                                          volta_group **out_group);
/* Trainers of the group keep what they need of it. Where they are gone too, the other ranks see this one end. */
VOLTA_API void volta_group_release(volta_group *group);
VOLTA_API uint32_t volta_group_rank(const volta_group *group);
VOLTA_API uint32_t volta_group_size(const volta_group *group);

/* ---- Trainer: forward, backward, clipping and update as one plan ------------------------------------------ */

typedef struct volta_trainer volta_trainer;

typedef int32_t volta_loss;
enum {
    VOLTA_LOSS_CROSS_ENTROPY = 0, /* output [..., classes] against i32 targets [...]; -1 is ignored; mean      */
    VOLTA_LOSS_MSE = 1,           /* output against f32 targets of the same shape; mean over all elements      */
    VOLTA_LOSS_BINARY_CROSS_ENTROPY = 2, /* as MSE: logits, not probabilities, against targets in 0 .. 1       */
    VOLTA_LOSS_L1 = 3,            /* as MSE: absolute differences                                              */
    VOLTA_LOSS_HUBER = 4          /* as MSE: half the square up to huber_delta, a line beyond                  */
};
typedef int32_t volta_optimizer;
enum { VOLTA_ADAMW = 0, VOLTA_ADAM = 1, VOLTA_SGD = 2, VOLTA_ADAGRAD = 3 };
typedef int32_t volta_schedule;
enum { VOLTA_SCHEDULE_CONSTANT = 0, VOLTA_SCHEDULE_COSINE = 1 /* both after the linear warm-up */ };
typedef int32_t volta_nonfinite_policy;
enum { VOLTA_NONFINITE_STOP = 0 /* NOT_FINITE, nothing written */, VOLTA_NONFINITE_LOG = 1 /* log, go on */ };

/* Numbers are doubles here, in the file and in the configuration; step factors are rounded to f32 once. */
typedef struct volta_trainer_options {
    size_t struct_size;
    const int64_t *input_shapes; /* of one micro-batch; as in volta_session_options                       */
    size_t input_extent_count;
    volta_loss loss;
    volta_optimizer optimizer;
    uint64_t seed;            /* of batch order and dropout                                               */
    uint64_t steps;           /* the whole run, which the schedule spans; required for COSINE             */
    uint64_t micro_batches;   /* accumulated per step; 0: one per shard                                   */
    volta_schedule schedule;
    uint64_t warmup_steps;    /* linear from lr/warmup to lr                                              */
    double learning_rate;     /* 0: 1e-3                                                                  */
    double final_learning_rate; /* COSINE ends here                                                       */
    double beta1, beta2;      /* ADAM, ADAMW; 0: 0.9 and 0.999; -1: really 0                              */
    double epsilon;           /* ADAM, ADAMW: 0: 1e-8; ADAGRAD: 0: 1e-10                                  */
    double weight_decay;      /* applied as decay_all_parameters says                                     */
    int32_t decay_all_parameters; /* 0: parameters of rank >= 2 only; 1: all                              */
    double momentum;          /* SGD; 0: none, and no memory for it                                       */
    int32_t nesterov;         /* SGD: 1: Nesterov momentum                                                */
    double clip_norm;         /* largest global gradient norm; 0: no clipping                             */
    volta_nonfinite_policy nonfinite;
    int32_t output_index;     /* the model output that the loss is taken of                               */
    double label_smoothing;   /* CROSS_ENTROPY: what all classes share of a target; at least 0, below 1   */
    /* CROSS_ENTROPY: one per class; the mean is divided by the sum of the targets' weights. BINARY_CROSS_ENTROPY:
     * of the positive, one per column; the mean stays that of all elements. NULL: none. Copied. */
    const double *class_weights;
    size_t class_weight_count;
    double huber_delta;       /* HUBER: difference at which the square becomes a line; 0: 1               */
    /* Parameters that keep their bits: names, or patterns in which * stands for any characters and ? for one. They get
     * no gradient and no optimizer state. A batch_norm whose running mean and variance are frozen is computed by them,
     * as in inference. NULL: none. Copied. */
    const char *const *frozen;
    size_t frozen_count;
    /* 1: a row holds documents side by side: none sees another, and each begins at position 0. For models with one i32
     * input [batch, time] and the CROSS_ENTROPY loss. A step takes one input more behind the tokens, i32 of their shape:
     * the place in its row where the document of each token begins. The model that is saved stays as it is. */
    int32_t packed_documents;
    /* The rest says where and when, never what: results keep every bit, and a checkpoint has none of it.
     * Most bytes of the bill's activations: the backward pass computes again what is not kept for it, the cheapest
     * choice that fits (docs/memory.md). OUT_OF_MEMORY names the smallest budget that works. 0: the fastest plan, or, in
     * a context with a host_budget, the fastest that fits in what is left of it. */
    uint64_t activation_budget;
    /* A folder on a disk: moments lie in a file there that has no name, mapped, rather than in memory, and the bill is
     * without them. On a processor only. NULL: in memory. Copied. */
    const char *state_folder;
    /* 1: a parameter is updated as soon as its gradient is complete, which then needs no memory; there is no
     * volta_trainer_gradient. Needs one micro-batch. With clip_norm a step computes its gradients twice, first for their
     * norm. A step that fails or is not finite has changed
     * some parameters: every later call fails so, go on from a checkpoint. */
    int32_t update_in_backward;
    /* A power of two that divides micro_batches: a step's batch is so many equal parts, whose gradients and losses are each
     * computed complete and added as a tree. Unlike the fields above part of what is computed, and of a checkpoint. Who
     * computes a shard is not: one process or a group of up to so many ranks, with the same bits. 0: 1. */
    uint64_t shards;
    /* Of this run alone: the ranks that compute the shards, each rank the same number. All of them make the same calls, on
     * the same model, options and data; the optimizer's state is divided among them. NULL: this process computes all. */
    volta_group *group;
} volta_trainer_options;
#define VOLTA_TRAINER_OPTIONS_INIT \
    {sizeof(volta_trainer_options), NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, NULL, 0, \
     0, 0, NULL, 0, 0, NULL}

/* A batch_norm is trained by the statistics of each micro-batch, which its running mean and variance follow: these
 * are parameters without a gradient, of one batch_norm each. Inference takes what they hold.
 * Any model may be trained, whatever made it: one from a file or from another program begins with its weights, at step
 * 0 and without moments. volta_trainer_resume goes on with a run instead.
 * Keeps:  `model` alive. The trainer works on its own copy of the parameters: the model does not change until
 *         volta_trainer_update_model.
 * Errors: UNSUPPORTED       an operator without a gradient rule; packed weights (volta_model_quantize); packed_documents
 *                           of a model whose tokens meet elsewhere than in causal attention; the text names it
 *         INVALID_ARGUMENT  an option out of its range; a pattern of frozen that matches no parameter, all of them frozen,
 *                           or one alone of a batch_norm's running mean and variance; the text names it
 *         OUT_OF_MEMORY     activation_budget, or what is left of the context's host_budget; the text names what is
 *                           needed at least
 *         IO_ERROR          state_folder: the text names it and the reason */
VOLTA_API volta_status volta_trainer_create(volta_model *model, const volta_trainer_options *options,
                                            volta_trainer **out_trainer);
VOLTA_API void volta_trainer_release(volta_trainer *trainer);

/* What a training step costs, beside the memory of its bill. */
typedef struct volta_training_cost {
    size_t struct_size;            /* in: sizeof(volta_training_cost)                                        */
    double operations;             /* of products and attention in one step; a multiply-add is two           */
    double repeated_operations;    /* of these, what is computed again for activation_budget                 */
    double bytes;                  /* operands and results of the plan's steps, each moved once              */
    double seconds;                /* of a step in which all ran at the speed given: no step is faster. 0: none given */
    uint64_t smallest_activations; /* the least activation_budget that works                                 */
} volta_training_cost;
#define VOLTA_TRAINING_COST_INIT {sizeof(volta_training_cost), 0, 0, 0, 0, 0}

/* The bill of the trainer that volta_trainer_create would make, of a group this rank's, and what its steps cost; nothing is
 * allocated for it but plans. bill, cost and speed (volta_measure_machine) may be NULL. Zeros on failure.
 * Cost:   some tens of plans: milliseconds each for a network of a thousand operations.
 * Errors: as volta_trainer_create; OUT_OF_MEMORY where it would be refused for its memory */
VOLTA_API volta_status volta_trainer_estimate(volta_model *model, const volta_trainer_options *options,
                                              const volta_machine_speed *speed, volta_bill *bill,
                                              volta_training_cost *cost);

typedef int32_t volta_plan_part;
enum { VOLTA_PLAN_FORWARD = 0, VOLTA_PLAN_BACKWARD = 1, VOLTA_PLAN_UPDATE = 2 };

/* A step of a trainer's plan, as volta_trainer_estimate_steps tells it. */
typedef struct volta_plan_step {
    size_t struct_size;    /* out: the library's sizeof(volta_plan_step)                              */
    const char *operation; /* the operator's name                                                     */
    uint64_t alive;        /* bytes of activations that hold something while it runs                  */
    volta_plan_part part;
} volta_plan_step;
typedef void (*volta_plan_visit)(void *user, const volta_plan_step *step);

/* Tells the steps of the plan that volta_trainer_create would make for one micro-batch and its update, in their order;
 * with shards, of the plan that computes one.
 * Lends:  what visit is given, until it returns.
 * Cost:   as volta_trainer_estimate.
 * Errors: as volta_trainer_estimate; CANCELLED where visit threw an exception */
VOLTA_API volta_status volta_trainer_estimate_steps(volta_model *model, const volta_trainer_options *options,
                                                    volta_plan_visit visit, void *user);

/* What a step reports. */
typedef struct volta_step_report {
    size_t struct_size;
    uint64_t step;        /* 1 after the first                                   */
    float loss;           /* mean over the step's targets, before the update     */
    float gradient_norm;  /* global, before clipping                             */
    double learning_rate; /* used in this step                                   */
    /* Of a group, else 0: seconds of the step in which this rank waited for others to be as far as it was, and in which
     * gradients and parameters went between them. The rest it computed. */
    double wait_seconds, exchange_seconds;
} volta_step_report;
#define VOLTA_STEP_REPORT_INIT {sizeof(volta_step_report), 0, 0, 0, 0, 0, 0}

/* One optimizer step on the host's data. Shape: inputs hold all micro-batches one after the other: the first
 * extent is micro_batches times that of input_shapes; so do targets. report may be NULL.
 * Cost:   allocates nothing after the first step.
 * Errors: NOT_FINITE    the text names step and tensor; parameters and moments are as before the step
 *         DEVICE_ERROR  the step has not been made; where the text says that parameters were changing by
 *                       then, every later call of the trainer fails so: go on from a checkpoint */
VOLTA_API volta_status volta_trainer_step(volta_trainer *trainer, const volta_tensor *const *inputs,
                                          size_t input_count, const volta_tensor *targets,
                                          volta_step_report *report);

/* The rows of a step's batch that this process reads, counted along the first extent of the inputs: the others may hold
 * anything. All of them, where there is no group.
 * Errors: INVALID_ARGUMENT  an input of rank 0, which has no rows */
VOLTA_API volta_status volta_trainer_rows(const volta_trainer *trainer, uint64_t *out_first, uint64_t *out_count);

/* Token stream as data: for models with one i32 input [batch, time] and the cross-entropy loss. Samples are
 * windows of time + 1 tokens; each epoch shifts and shuffles them by the seed (docs/training.md).
 * Owns:   a copy of the tokens, counted under `staging`.
 * Errors: INVALID_ARGUMENT  fewer than time + 1 tokens, an id outside the vocabulary, another loss, targets that
 *                           are not one for each token (one for each sequence), after a resume another text
 *                           than the checkpoint's
 *         UNSUPPORTED       a model in which a token sees later ones, as in a BERT */
VOLTA_API volta_status volta_trainer_set_tokens(volta_trainer *trainer, const int32_t *tokens, size_t count);
/* One step on the next batch of the token stream. */
VOLTA_API volta_status volta_trainer_step_tokens(volta_trainer *trainer, volta_step_report *report);

/* Mean loss of the current parameters over consecutive windows of `tokens` (time tokens each, the last one
 * shorter, each token but the first predicted once), whatever label_smoothing and class_weights are. Units:
 * natural logarithm per token. */
VOLTA_API volta_status volta_trainer_evaluate_tokens(volta_trainer *trainer, const int32_t *tokens, size_t count,
                                                     double *out_loss);
VOLTA_API uint64_t volta_trainer_current_step(const volta_trainer *trainer);

/* Lends: a parameter's current values, and its gradient of the latest step (summed over micro-batches, before
 * clipping), read-only, until the next call on this trainer. In a group a gradient is on the rank that updates its
 * parameter, on the others INVALID_STATE. */
VOLTA_API volta_status volta_trainer_parameter(const volta_trainer *trainer, const char *name,
                                               const float **out_data, size_t *out_elements);
VOLTA_API volta_status volta_trainer_gradient(const volta_trainer *trainer, const char *name,
                                              const float **out_data, size_t *out_elements);

/* 128-bit hash of the current parameters: what volta_model_hash gives for the saved file. Shape: room for 33 bytes. */
VOLTA_API volta_status volta_trainer_hash(const volta_trainer *trainer, char *text);

/* Copies the trained parameters into the model, for sessions and generators made afterwards. */
VOLTA_API volta_status volta_trainer_update_model(volta_trainer *trainer);

/* Writes a checkpoint: a model file with the current parameters that also holds moments, seed, step, running
 * beta products, data cursor and every option. Crash-safe, see volta_model_save. Of a group all ranks make the call, and
 * rank 0 writes the file: that of one process, byte for byte.
 * Errors: IO_ERROR  as volta_model_save; of a group, on the other ranks too where rank 0 could not save */
VOLTA_API volta_status volta_trainer_save(volta_trainer *trainer, const char *path);

/* The same checkpoint as files in a folder that all ranks of the group share, as volta_model_save_sharded: each rank writes
 * a part, its own moments among it, and none has the whole. volta_model_open opens it for any number of ranks.
 * Errors: IO_ERROR  as volta_model_save; of a group, on all ranks where one could not write, naming it */
VOLTA_API volta_status volta_trainer_save_sharded(volta_trainer *trainer, const char *folder);

/* Plans a longer run: `steps` in all, from which a schedule's learning rates follow from now on. The steps that were made
 * stay as they are, so that the result is not that of a run planned so from the beginning; it is the same for every run
 * that was extended at the same step.
 * Errors: INVALID_ARGUMENT  fewer steps than are planned, or 2^32; a run without a planned end */
VOLTA_API volta_status volta_trainer_extend(volta_trainer *trainer, uint64_t steps);

/* A trainer that goes on where the checkpoint `model` (volta_model_open) was written, bit for bit. options NULL:
 * those of the checkpoint; given options must agree with them (`steps` included), but activation_budget, state_folder,
 * update_in_backward and group are this run's alone; where input_shapes is NULL these are all that is read. In a context
 * of another level or precision than the checkpoint's it goes on in the context's: at the first step a warning of the log names both.
 * Errors: INVALID_ARGUMENT  options that contradict the checkpoint; the text names both values
 *         INVALID_STATE     the model is no checkpoint */
VOLTA_API volta_status volta_trainer_resume(volta_model *model, const volta_trainer_options *options,
                                            volta_trainer **out_trainer);
/* The options in force, input_shapes, class_weights and frozen lent until release; frozen has the names of all parameters
 * that are. */
VOLTA_API volta_status volta_trainer_get_options(const volta_trainer *trainer, volta_trainer_options *options);
VOLTA_API volta_status volta_trainer_get_bill(const volta_trainer *trainer, volta_bill *bill);
VOLTA_API volta_status volta_trainer_print_plan(volta_trainer *trainer, const char **out_text);

/* Mean loss of a model over consecutive windows of `tokens`, as volta_trainer_evaluate_tokens. For models with
 * one i32 input [batch, time] and logits as first output. */
VOLTA_API volta_status volta_model_evaluate_tokens(volta_model *model, const int32_t *tokens, size_t count,
                                                   double *out_loss);

/* ---- Tape: operators on tensors, one after the other ------------------------------------------------------ */

/* What a program does with tensors, call by call, with gradients and updates. A tape records the calls as a graph and
 * computes it by the same plans as sessions and trainers: EAGER at once, LAZY when the host asks for a result. One
 * result: the bits are those of the other mode, and of a session or trainer of the same graph.
 *   volta_tensor *y = volta_op(tape, "relu", volta_op(tape, "matmul", x, w));
 *   volta_tensor *loss = volta_op(tape, "mean", volta_op(tape, "cross_entropy", y, targets));
 *   volta_tape_backward(tape, loss);
 *   status = volta_tape_step(tape, optimizer, &report);
 *   volta_tape_reset(tape);
 * A record is what is called between two resets. Its results belong to the tape and end with the record, unless
 * volta_tensor_keep makes them the host's. A record that makes the same calls as an earlier one, with tensors of the
 * same shapes, finds its plans there and allocates nothing. Tensors that a record reads stay as they are until it has
 * been computed or reset: the host does not write them in between. Records of several tapes may read one tensor. */
typedef struct volta_tape volta_tape;
typedef struct volta_tape_optimizer volta_tape_optimizer;

typedef int32_t volta_tape_mode;
enum {
    VOLTA_TAPE_EAGER = 0, /* each call is computed before it returns                                   */
    VOLTA_TAPE_LAZY = 1   /* calls are recorded, and computed together when a result is read: for training */
};

enum {
    VOLTA_TAPE_ONE_SEGMENT = 1 /* a record that would be computed in more than one piece is INVALID_STATE */
};

typedef struct volta_tape_options {
    size_t struct_size;
    volta_tape_mode mode;
    uint32_t flags; /* VOLTA_TAPE_* bits                                                                     */
    uint64_t seed;  /* of dropout, which needs no input of its own on a tape: it draws anew after each step   */
    uint64_t most_plans; /* that it keeps; the one that was used the longest ago goes first. 0: 4096              */
} volta_tape_options;
#define VOLTA_TAPE_OPTIONS_INIT {sizeof(volta_tape_options), 0, 0, 0, 0}

/* Errors: UNSUPPORTED  the context computes on a device of its own memory */
VOLTA_API volta_status volta_tape_create(volta_context *context, const volta_tape_options *options,
                                         volta_tape **out_tape);
/* Ends the tape and its record, with all results that are not kept. */
VOLTA_API void volta_tape_release(volta_tape *tape);

/* The first output of an operator on tensors, as in volta_graph_apply. Never NULL: after a failure it is a tensor that
 * stands for none, and so is every later result of the record; volta_tape_status says what the first failure was, with
 * this call's place in the host's code. Arguments are evaluated once. C99 alone: in C++ use volta.hpp. */
#define volta_op(tape, op, ...)                                                            \
    volta_tape_call((tape), (op), (volta_tensor *const[]){__VA_ARGS__},                    \
                    sizeof((volta_tensor *const[]){__VA_ARGS__}) / sizeof(volta_tensor *), \
                    NULL, 0, __FILE__, __LINE__)
/* volta_op with attributes; inputs are an array. file may be NULL. Lends: the result, until the record ends.
 * Beside the operators of docs/operators.md there is "batch_norm_train", with the inputs and attributes of batch_norm: it
 * takes the batch's own mean and variance, and the running ones follow in volta_tape_step, as in a trainer. */
VOLTA_API volta_tensor *volta_tape_call(volta_tape *tape, const char *op, volta_tensor *const *inputs,
                                        size_t input_count, const volta_attribute *attributes,
                                        size_t attribute_count, const char *file, int32_t line);
/* The same for operators of several outputs, with a status. out_count may be smaller than their number.
 * Errors: INVALID_ARGUMENT  an unknown operator or attribute, a wrong number of inputs, a tensor of another context
 *         INVALID_STATE     a result of a record that has ended
 *         SHAPE_MISMATCH    the operator's own sentence, with the place of the call */
VOLTA_API volta_status volta_tape_apply(volta_tape *tape, const char *op, volta_tensor *const *inputs,
                                        size_t input_count, const volta_attribute *attributes,
                                        size_t attribute_count, volta_tensor **out_tensors, size_t out_count,
                                        const char *file, int32_t line);

/* The first failure of the record, VOLTA_OK if there is none; its sentence is volta_last_error's. It ends with the record:
 * after volta_tape_reset the tape records again. */
VOLTA_API volta_status volta_tape_status(const volta_tape *tape);

/* Returns the tape, and says from where the host calls it next, for the report and for sentences: with backward, step,
 * flush or detach, or to read a result's or gradient's elements. It counts for one call. file may be NULL: unknown.
 *   volta_tape_backward(volta_here(tape), loss); */
VOLTA_API volta_tape *volta_tape_at(volta_tape *tape, const char *file, int32_t line);
#define volta_here(tape) volta_tape_at((tape), __FILE__, __LINE__)

/* The same elements, through which no gradient goes back. */
VOLTA_API volta_tensor *volta_tape_detach(volta_tape *tape, volta_tensor *tensor);
/* 0: results of later calls get no gradient, until it is 1 again, as it is at first. */
VOLTA_API volta_status volta_tape_set_gradients(volta_tape *tape, int32_t enabled);

/* Computes all results of the record that the host holds, and the gradients. */
VOLTA_API volta_status volta_tape_flush(volta_tape *tape);
/* Ends the record. Kept results and gradients that nothing has computed are computed first.
 * Errors: those of computing: the record has ended all the same */
VOLTA_API volta_status volta_tape_reset(volta_tape *tape);

/* The one element of a tensor, as a double; of a result it is computed if need be.
 * Errors: SHAPE_MISMATCH  it has none or several */
VOLTA_API volta_status volta_tensor_item(volta_tensor *tensor, double *out_value);
/* A result outlives its record from now on, and is the host's to release. No effect on other tensors.
 * Errors: INVALID_STATE  it was not computed before a step changed what it depends on */
VOLTA_API volta_status volta_tensor_keep(volta_tensor *tensor);

/* 1: volta_tape_backward gives the tensor a gradient; 0: it does not, as at first.
 * Errors: INVALID_ARGUMENT  a result; elements that are not f32 or not aligned to 64 bytes (volta_tensor_wrap)
 *         INVALID_STATE     a record holds the tensor */
VOLTA_API volta_status volta_tensor_set_requires_grad(volta_tensor *tensor, int32_t required);
/* The gradient that backward gave, NULL: none since it was zeroed. Lends: the tensor, until the next backward or zero;
 * its elements are computed when they are read. */
VOLTA_API volta_tensor *volta_tensor_grad(volta_tensor *tensor);
/* The next backward starts from nothing. */
VOLTA_API volta_status volta_tensor_zero_grad(volta_tensor *tensor);

/* Adds the gradient of `loss`, a result of one f32 element, to those of the record's tensors that require one, by the
 * operators' own rules (docs/operators.md); several uses of a tensor add up as in a trainer, the last one first.
 * Gradients of several tapes add up too, one record after the other.
 * Errors: INVALID_STATE   the loss is no result of this record, or depends on no such tensor; another tape's record holds
 *                         a gradient that this one would add to: volta_tape_reset of that tape ends it
 *         SHAPE_MISMATCH  the loss has several elements
 *         UNSUPPORTED     an operator on the way without a gradient rule: second derivatives among them */
VOLTA_API volta_status volta_tape_backward(volta_tape *tape, volta_tensor *loss);

/* The trainer's options of the same names, and their defaults. */
typedef struct volta_optimizer_options {
    size_t struct_size;
    volta_optimizer optimizer;
    volta_schedule schedule;
    uint64_t steps;
    uint64_t warmup_steps;
    double learning_rate;
    double final_learning_rate;
    double beta1, beta2;
    double epsilon;
    double weight_decay;
    int32_t decay_all_parameters;
    double momentum;
    int32_t nesterov;
    double clip_norm; /* over the tensors of one step                                                      */
} volta_optimizer_options;
#define VOLTA_OPTIMIZER_OPTIONS_INIT {sizeof(volta_optimizer_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* An optimizer of tensors that require a gradient, with the trainer's rules and factors.
 * Keeps: the tensors and the tape alive. */
VOLTA_API volta_status volta_tape_optimizer_create(volta_tape *tape, const volta_optimizer_options *options,
                                                   volta_tensor *const *tensors, size_t count,
                                                   volta_tape_optimizer **out_optimizer);
VOLTA_API void volta_tape_optimizer_release(volta_tape_optimizer *optimizer);
/* volta_tensor_zero_grad of all its tensors. */
VOLTA_API volta_status volta_tape_optimizer_zero_grad(volta_tape_optimizer *optimizer);

/* Computes what is recorded, with the gradients and the update of the optimizer's tensors that have one, as one plan.
 * The loss of the last backward, results of one element and kept ones can be read afterwards; other results that depend
 * on an updated tensor are gone if they had not been computed. report may be NULL.
 * Errors: INVALID_STATE  no tensor has a gradient; another tape's record reads a tensor that would change
 *         NOT_FINITE     the loss, or the gradient the text names: nothing was updated */
VOLTA_API volta_status volta_tape_step(volta_tape *tape, volta_tape_optimizer *optimizer, volta_step_report *report);

/* How a captured model names its tensors, and which extents it leaves open. */
typedef struct volta_capture_options {
    size_t struct_size;
    const volta_tensor *const *tensors; /* that the record reads, and their names; others are called "p0", "p1", ... if
                                           they require a gradient, else "x0", "x1", ...                     */
    const char *const *names;
    size_t name_count;
    const char *const *output_names;    /* one per output; NULL: "y0", "y1", ...                             */
    int32_t open_batch;                 /* 1: the first extent of every input is the host's to choose        */
} volta_capture_options;
#define VOLTA_CAPTURE_OPTIONS_INIT {sizeof(volta_capture_options), NULL, NULL, 0, NULL, 0}

/* What `outputs`, results of the record, compute, as a model: to be saved, trained, exported, run in sessions. Tensors that
 * require a gradient and running statistics of batch norms are its parameters, with the elements that they have now;
 * others are its inputs. batch_norm_train becomes batch_norm. Dropout draws by the trainer's seed. options may be NULL. Owns: *out_model.
 * Errors: INVALID_STATE     an output is no result of the record
 *         INVALID_ARGUMENT  a name that a graph refuses, or that is given twice; a tensor that the record does not read
 *         SHAPE_MISMATCH    open_batch, and an operator that was given the first extent as a number */
VOLTA_API volta_status volta_tape_capture(volta_tape *tape, volta_tensor *const *outputs, size_t output_count,
                                          const volta_capture_options *options, volta_model **out_model);

/* A function of tensors, written once: calls on `tape`, from inputs to outputs[0 .. output_count-1], which it sets. What
 * it returns other than VOLTA_OK ends the call. It may branch and loop as it likes: another path is another plan. */
typedef volta_status (*volta_function)(void *user, volta_tape *tape, volta_tensor *const *inputs, size_t input_count,
                                       volta_tensor **outputs, size_t output_count);
typedef struct volta_compiled volta_compiled;

typedef struct volta_compile_options {
    size_t struct_size;
    uint32_t flags; /* VOLTA_TAPE_ONE_SEGMENT: a result that is read within the function is an error        */
    uint64_t seed;  /* of dropout                                                                           */
} volta_compile_options;
#define VOLTA_COMPILE_OPTIONS_INIT {sizeof(volta_compile_options), 0, 0}

/* A function with a LAZY tape of its own. It runs whenever it is called, since it is the host's code; what it records is
 * computed as one plan, that of the last call with the same shapes and path. options may be NULL. */
VOLTA_API volta_status volta_compile(volta_context *context, volta_function function, void *user,
                                     const volta_compile_options *options, volta_compiled **out_compiled);
VOLTA_API void volta_compiled_release(volta_compiled *compiled);
/* Runs the function and computes its outputs. Lends: outputs, until the next call or release.
 * Errors: those of the function, its calls and its plan; CANCELLED  it threw an exception */
VOLTA_API volta_status volta_compiled_call(volta_compiled *compiled, volta_tensor *const *inputs, size_t input_count,
                                           volta_tensor **outputs, size_t output_count);
/* The function's tape: for backward, steps, reports and capture after a call. Lends: until release. */
VOLTA_API volta_tape *volta_compiled_tape(volta_compiled *compiled);

typedef struct volta_tape_info {
    size_t struct_size;
    uint64_t records;        /* that have ended                                                       */
    uint64_t calls;          /* recorded                                                              */
    uint64_t segments;       /* pieces of records that were computed                                  */
    uint64_t plans_known;    /* of these, whose plan was there                                        */
    uint64_t plans_made;
    uint64_t repeated_nodes; /* operators computed again, because their results had not been held     */
    uint64_t traces;         /* different records that are remembered, at most 64                     */
    uint64_t held_bytes;     /* of results and workspace, for the next record too                     */
    uint64_t plans_held;     /* at most most_plans                                                    */
    uint64_t plans_released; /* because others were used more recently                                */
} volta_tape_info;
#define VOLTA_TAPE_INFO_INIT {sizeof(volta_tape_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
VOLTA_API volta_status volta_tape_get_info(const volta_tape *tape, volta_tape_info *info);

/* When the tape computed, why, and what would make it one piece: the latest 256 times (of an EAGER tape, the first
 * of each call). json 0: lines for people; 1: one
 * JSON object. Reasons are explained in docs/compile.md. Lends: until the next report or release. */
VOLTA_API volta_status volta_tape_report(volta_tape *tape, int32_t json, const char **out_text);

/* ---- Generator: tokens from a language model -------------------------------------------------------------- */

typedef struct volta_generator volta_generator;

typedef struct volta_generator_options {
    size_t struct_size;
    double temperature;        /* 0: greedy                                                          */
    int32_t top_k;             /* keep the k most likely; 0: all                                     */
    double top_p;              /* keep the smallest head with this mass; 0: all                      */
    double min_p;              /* keep tokens of at least this share of the best; 0: all             */
    double repetition_penalty; /* > 1 discourages tokens of the sequence; 0: 1, none                 */
    uint64_t seed;
    int64_t sequences;     /* the most there are at once; 0: 1. Each has its share of the cache       */
    int64_t context;       /* the most tokens of a sequence; 0: the model's context. Less saves memory */
    int64_t prefill_chunk; /* the most tokens of a prompt per run; 0: 256. No bit depends on it        */
    uint32_t flags;        /* VOLTA_GENERATOR_* bits                                                  */
    int64_t cache_tokens;  /* of each sequence, what the cache has room for at first; 0: the context. It
                              doubles when a sequence outgrows it. Ignored without a cache. No bit
                              depends on it                                                            */
} volta_generator_options;
#define VOLTA_GENERATOR_OPTIONS_INIT {sizeof(volta_generator_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* Bits of volta_generator_options.flags. */
enum {
    VOLTA_GENERATOR_NO_CACHE = 1 /* keep no keys and values: every token runs its whole sequence again. The same
                                    tokens and logits, slowly; for measuring, and for proof              */
};

/* For models whose first input is i32 [batch, time] and first output f32 [batch, time, vocabulary]. Keys and values of
 * the tokens so far are cached, so that each token is computed once; a sequence has the same tokens and logits,
 * bit for bit, with or without cache, alone or in any batch, its prompt in one piece or in many.
 * Keeps:  `model` alive.
 * Cost:   compiles plans; every later token allocates nothing. With cache_tokens a step or piece that the cache has no
 *         room for compiles plans again and holds the old cache beside the new one while it copies; if that fails
 *         (OUT_OF_MEMORY), every sequence is as it was.
 * Errors: UNSUPPORTED       attention that is not causal; the text names the node
 *         INVALID_ARGUMENT  an option outside its range: temperature 0 .. 1000, top_k from 0, top_p and min_p 0 .. 1,
 *                           repetition_penalty 0.001 .. 1000, sequences and prefill_chunk 1 .. 65536, context 1 .. the
 *                           model's, cache_tokens 1 .. context; 0 is each one's default. A model with
 *                           other inputs or outputs than these */
VOLTA_API volta_status volta_generator_create(volta_model *model, const volta_generator_options *options,
                                              volta_generator **out_generator);
VOLTA_API void volta_generator_release(volta_generator *generator);

/* Starts a sequence with these tokens (at least one), in the place of the one that was started before: what the cache
 * holds of a common beginning is not computed again. It takes one of the generator's `sequences`.
 * Errors: INVALID_ARGUMENT  none, more than the context, an id outside the vocabulary
 *         INVALID_STATE     all sequences are in use */
VOLTA_API volta_status volta_generator_start(volta_generator *generator, const int32_t *tokens, size_t count);
/* Draws the next token and appends it to the sequence.
 * Errors: INVALID_STATE  no sequence, or the context is full
 *         NOT_FINITE     the model gave NaN logits */
VOLTA_API volta_status volta_generator_next(volta_generator *generator, int32_t *out_token);
/* The logits of which the latest token was drawn. Lends: until the next call on this generator. */
VOLTA_API volta_status volta_generator_logits(const volta_generator *generator, const float **out_logits,
                                              size_t *out_count);
/* What it holds now; with cache_tokens the cache has more later. */
VOLTA_API volta_status volta_generator_get_bill(const volta_generator *generator, volta_bill *bill);

/* What computing one token of one sequence takes at least: to be divided by volta_machine_speed. */
typedef struct volta_token_cost {
    size_t struct_size;       /* in: sizeof(volta_token_cost)                                            */
    uint64_t parameter_bytes; /* each parameter once; of an embedding only the rows that are looked up   */
    uint64_t cache_bytes;     /* keys and values of the tokens before, and its own                       */
    double operations;        /* of products and attention; a multiply-add is two                        */
} volta_token_cost;
#define VOLTA_TOKEN_COST_INIT {sizeof(volta_token_cost), 0, 0, 0}

/* Of the token at `position`, 0 .. context - 1. Errors: INVALID_ARGUMENT  another position */
VOLTA_API volta_status volta_generator_get_cost(const volta_generator *generator, int64_t position,
                                                volta_token_cost *cost);

/* Why this generator has no cache: "node %12 (mean) joins tokens". "" where it has one; never NULL. A model whose
 * tokens meet elsewhere than in causal attention is run whole for every token. */
VOLTA_API const char *volta_generator_no_cache_reason(const volta_generator *generator);

/* ---- Sequences: many texts at once ------------------------------------------------------------------------ */

/* One sequence of a generator. Sequences come and go between steps, each with its own tokens, options and seed. */
typedef struct volta_sequence volta_sequence;

typedef struct volta_sampling_options { /* as in volta_generator_options */
    size_t struct_size;
    double temperature;
    int32_t top_k;
    double top_p;
    double min_p;
    double repetition_penalty;
    uint64_t seed;
} volta_sampling_options;
#define VOLTA_SAMPLING_OPTIONS_INIT {sizeof(volta_sampling_options), 0, 0, 0, 0, 0, 0}

/* A sequence without tokens. sampling NULL: the generator's.
 * Owns:   *out_sequence, ended by volta_sequence_release. It keeps the generator alive.
 * Errors: INVALID_STATE  all sequences of the generator are in use */
VOLTA_API volta_status volta_sequence_create(volta_generator *generator, const volta_sampling_options *sampling,
                                             volta_sequence **out_sequence);
/* A new sequence with the same tokens; its cache is copied, nothing is computed again. sampling NULL: the same.
 * Errors: INVALID_STATE  all sequences of the generator are in use */
VOLTA_API volta_status volta_sequence_fork(const volta_sequence *sequence, const volta_sampling_options *sampling,
                                           volta_sequence **out_sequence);
VOLTA_API void volta_sequence_release(volta_sequence *sequence);

/* Tokens that follow: a prompt, or what another speaker says. They are computed by the next step.
 * Errors: INVALID_ARGUMENT  more than the context holds, an id outside the vocabulary; the sequence is as before */
VOLTA_API volta_status volta_sequence_append(volta_sequence *sequence, const int32_t *tokens, size_t count);
/* Forgets all but the first `count` tokens. Errors: INVALID_ARGUMENT  there are fewer */
VOLTA_API volta_status volta_sequence_rewind(volta_sequence *sequence, size_t count);

/* Draws the next token of each sequence and appends it: out_tokens[i] to sequences[i]. Sequences whose tokens are
 * computed but for the last share one run of the model.
 * Errors: INVALID_ARGUMENT  a sequence twice, or of another generator
 *         INVALID_STATE     a sequence without tokens, or whose context is full
 *         NOT_FINITE        NaN logits
 *         OUT_OF_MEMORY     a cache that grows. After any error all sequences have the tokens that they had */
VOLTA_API volta_status volta_generator_step(volta_generator *generator, volta_sequence *const *sequences,
                                            size_t count, int32_t *out_tokens);

/* All tokens of the sequence. Lends: until the next call on its generator. */
VOLTA_API volta_status volta_sequence_tokens(const volta_sequence *sequence, const int32_t **out_tokens,
                                             size_t *out_count);
/* The logits of which its latest token was drawn. Lends: until the next call on its generator.
 * Errors: INVALID_STATE  none was drawn yet */
VOLTA_API volta_status volta_sequence_logits(const volta_sequence *sequence, const float **out_logits,
                                             size_t *out_count);

/* ---- Writing: text from a sequence, in one call ------------------------------------------------------------ */

/* Why writing ended: the first of this list that is true. */
typedef int32_t volta_stop_reason;
enum {
    VOLTA_STOP_NONE = 0,         /* it did not begin, or an error ended it                             */
    VOLTA_STOP_TOKEN = 1,        /* one of stop_tokens was drawn                                       */
    VOLTA_STOP_END_OF_TEXT = 2,  /* the tokenizer's bos or eos was drawn: a new text would begin       */
    VOLTA_STOP_TEXT = 3,         /* the text ran into one of stop_texts                                */
    VOLTA_STOP_MAX_TOKENS = 4,   /* max_tokens were drawn                                              */
    VOLTA_STOP_CONTEXT_FULL = 5, /* the sequence has as many tokens as the context holds               */
    VOLTA_STOP_CALLBACK = 6,     /* on_text said so                                                    */
    VOLTA_STOP_CANCELLED = 7,    /* volta_cancel_request                                               */
    VOLTA_STOP_DEADLINE = 8      /* max_seconds were over                                              */
};

/* Bits of volta_write_options.flags. */
enum {
    VOLTA_WRITE_PAST_END = 1 /* bos and eos of the tokenizer are tokens like any other */
};

/* Everything is borrowed until the call returns. */
typedef struct volta_write_options {
    size_t struct_size;
    int64_t max_tokens;            /* 0: as many as the context holds                                   */
    const int32_t *stop_tokens;    /* the text ends before the first of them that is drawn              */
    size_t stop_token_count;       /* at most 65536                                                     */
    const char *const *stop_texts; /* the text ends before the first of them that is complete; of several that
                                      are complete with the same byte, before the longest. They may span tokens */
    size_t stop_text_count;        /* at most 1024, each of at most 65536 bytes                         */
    double max_seconds;            /* from the beginning of the call, by a clock that is never set; 0: no end */
    const volta_cancel *cancel;    /* looked at as max_seconds is: before each token, and between the pieces
                                      (prefill_chunk) of a prompt. NULL: none                            */
    int32_t (*on_text)(void *user, const char *text, size_t bytes, int32_t token); /* not 0: stop. NULL: none */
    void *user;                    /* passed to on_text                                                 */
    uint32_t flags;                /* VOLTA_WRITE_* bits                                                */
} volta_write_options;
#define VOLTA_WRITE_OPTIONS_INIT {sizeof(volta_write_options), 0, NULL, 0, NULL, 0, 0, NULL, NULL, NULL, 0}

typedef struct volta_write_result {
    size_t struct_size;       /* in: sizeof(volta_write_result)                                        */
    volta_stop_reason reason;
    int32_t stop_index;       /* which of stop_tokens or stop_texts it was; -1 for another reason        */
    int64_t token_count;      /* drawn, and appended to the sequence                                     */
    int32_t last_token;       /* the latest of them; -1: none                                            */
    int32_t unfinished_bytes; /* 0 .. 3, at the end of the text: the beginning of a character            */
    uint64_t text_bytes;      /* of all pieces, with or without an on_text                              */
} volta_write_result;
#define VOLTA_WRITE_RESULT_INIT {sizeof(volta_write_result), 0, 0, 0, 0, 0, 0}

/* Draws tokens as volta_generator_step does, bit for bit, and tells their text until something ends it.
 *
 * on_text is called once for each token, in order, with the piece of text that this token decided; it may be empty.
 * Held back are what may be the beginning of a stop text, which is never given, not even partly, and a UTF-8 character
 * that is not complete: no piece ends within one. Bytes that cannot become UTF-8 are given as they are. Where writing
 * ends, what is held back is text: it comes with the last token or, when cancelled or late, in one more piece with
 * token -1. All pieces together are the text of the tokens (volta_tokenizer_decode_after), byte for byte, up to where
 * it stopped; only there may it end within a character (unfinished_bytes). After on_text said stop it is not called
 * again, not even for what was held back. A piece is not zero-terminated, and lent until on_text returns.
 *
 * The sequence keeps all tokens that were drawn, those of the stop too, and can be written on by a further call, whose
 * stop texts are looked for in its own text alone. However it ended, but for an error, this is VOLTA_OK.
 *
 * sequence NULL: the one of volta_generator_start. tokenizer NULL: the model's. options NULL: to the end of the text
 * or the context. result may be NULL; after an error it has the reason VOLTA_STOP_NONE and what was written before it.
 * Thread: on_text runs on the caller's. It may look at this generator, its sequences and the tokenizer, not change or
 *         release them.
 * Cost:   a few allocations when it begins; none per token.
 * Errors: INVALID_ARGUMENT  a sequence of another generator; an empty stop text, or one that is not UTF-8; a stop
 *                           token outside the model's vocabulary; a drawn token outside the tokenizer's
 *         INVALID_STATE     a sequence without tokens; no tokenizer
 *         NOT_FINITE        NaN logits
 *         CANCELLED         on_text threw an exception; the sequence keeps its token */
VOLTA_API volta_status volta_generator_write(volta_generator *generator, volta_sequence *sequence,
                                             const volta_tokenizer *tokenizer,
                                             const volta_write_options *options, volta_write_result *result);

/* ---- Tuning: the fastest way through a product, for this machine ---------------------------------------- */

/* One matrix product C [m, n] = A [m, k] x B [k, n] of f32. A transposed operand is stored as its transpose.
 * Units: leading dimensions are elements from row to row as stored; 0: dense. */
typedef struct volta_tune_shape {
    int64_t m, n, k; /* 1 .. 2^24                                                                     */
    int32_t a_transposed, b_transposed;
    int64_t lda, ldb, ldc;
} volta_tune_shape;

/* What volta_tune tells while it works, and about each product when it has been tuned. */
typedef struct volta_tune_report {
    size_t struct_size;     /* sizeof(volta_tune_report) of the library                                  */
    size_t index, count;    /* which product of how many                                                 */
    double share;           /* of the whole work, 0 .. 1                                                 */
    int32_t done;           /* 1: what follows is final for this product; 0: it is being searched        */
    int32_t has_epilogue;   /* 1: bias, activation or the like follow it (a stand-in is timed)           */
    volta_tune_shape shape; /* leading dimensions filled in                                              */
    int64_t batch;          /* products of this shape in one call                                        */
    double default_seconds; /* of the default rules; median of the final play-off                        */
    double tuned_seconds;   /* of the choice; the same where the default stays                           */
    double classic_seconds; /* for comparison: tile 8x8 (4x4 in scalar code), K_BLOCK 128, M_BLOCK 64, operands
                               packed; on a GPU tiles of 64 x 64                                         */
    uint64_t plans_timed;
    const char *choice;     /* "f32_gemm_14x32_avx512 k_block=512", on a GPU "form=segments tile=64": the
                               fields that are not the default rule; "": the default stays. Lends: until
                               the callback returns                                                      */
    int32_t packed_once;    /* 1: of a session with VOLTA_SESSION_PACK_WEIGHTS: B is packed before it is timed */
    int32_t from_memory;    /* 1: the weights of its plan are more than half of the LLC: B is timed as
                               it comes from there, with the memory that those weights take            */
} volta_tune_report;

typedef struct volta_tune_options {
    size_t struct_size;
    const volta_tune_shape *shapes; /* may be NULL                                                      */
    size_t shape_count;
    const volta_session *session;   /* all products of this session; may be NULL                        */
    const volta_trainer *trainer;   /* all products of this trainer's step; may be NULL                 */
    uint32_t runs;                  /* timed runs per contender, of which the median counts; 0: 5       */
    uint32_t warmup;                /* runs before them; 0: 1                                           */
    double seconds;                 /* for all products together, about; 0: 3 each, at most 20 in all   */
    int32_t (*progress)(void *user, const volta_tune_report *report); /* not 0: stop. NULL: none       */
    void *user;                     /* passed to progress                                               */
} volta_tune_options;
#define VOLTA_TUNE_OPTIONS_INIT {sizeof(volta_tune_options), NULL, 0, NULL, NULL, 0, 0, 0, NULL, NULL}

/* Searches the fastest tile, blocks, loop order, prefetch, unrolling and packing of each product, for this
 * context's threads and instruction set; on a GPU its form and tile. No choice changes a bit of any result. The
 * default rules stay unless a final play-off beats them by more than 2 %. Sessions, trainers and generators made
 * from this context from now on use what was found; those that exist do not change. Results are kept in the
 * context and, where it has a tuning_folder, added to its file (docs/matmul_tuning.md). On the processor what was
 * found counts where a plan uses a product as it was timed: B packed once or not, its columns summed or not, and
 * weights that the LLC holds or not. Shapes are timed with a B that is packed by each call, if at all, and
 * that the cache holds; those of a session and a trainer as these use them.
 * Keeps:  nothing of the options.
 * Cost:   about `seconds`, with all threads or the GPU busy; on a GPU kernels are compiled besides. The product's
 *         matrices are allocated as tensor memory, or on the GPU, and given back. On a machine that is busy
 *         otherwise the choices are worse, never the results.
 * Errors: INVALID_ARGUMENT  nothing to tune, a size out of range, a session or trainer of another context
 *         UNSUPPORTED       on a GPU at a level other than strict, shapes of more than 16 rows: cuBLASLt chooses
 *         IO_ERROR          the tuning_folder cannot be written; found out before anything is timed
 *         CANCELLED         progress said so, or threw an exception; products that were done by then are kept
 *         OUT_OF_MEMORY     of a product's matrices: the error names the product, those before it are kept */
VOLTA_API volta_status volta_tune(volta_context *context, const volta_tune_options *options);

/* How plans use the product that volta_explain_matmul is asked about. */
enum {
    VOLTA_EXPLAIN_PACKED_ONCE = 1, /* as a session with VOLTA_SESSION_PACK_WEIGHTS: B is packed before */
    VOLTA_EXPLAIN_FROM_MEMORY = 2  /* the weights of the plan are more than all of the LLC             */
};

/* Why a product is computed as it is on the processor: the machine as the rules see it, every rule that applied, every
 * other one with what was against it, the schedule and the kernel. Lines for people: their words may change.
 * Shape:  of `shape` as in volta_tune; a product alone, with nothing behind it. What volta_tune found counts.
 * Units:  capacity is bytes of text with its final 0, which is always written where capacity is above 0; what does not
 *         fit is cut. *out_bytes is the length of the whole text without that 0: a first call with capacity 0 asks for
 *         it (text may then be NULL).
 * Cost:   compiles the product, and keeps its kernels: milliseconds.
 * Errors: INVALID_ARGUMENT  a size out of range, an unknown bit of use
 *         UNSUPPORTED       on a GPU */
VOLTA_API volta_status volta_explain_matmul(volta_context *context, const volta_tune_shape *shape,
                                            uint32_t use, char *text, size_t capacity, size_t *out_bytes);

/* ---- Profiler: where the time goes, and the memory ------------------------------------------------------ */

/* A profile is what a context did between start and stop: its calls, the phases of their plans, every step, and what
 * each thread of the pool had of it. Results have the same bits with and without; while nothing is recorded a step
 * costs one branch more. Recording takes two looks at a clock per step and thread, and allocates nothing. */
typedef struct volta_profile_options {
    size_t struct_size;
    uint64_t capacity; /* events that are kept, 48 bytes each; 0: 65536; at most 2^24. Later ones are counted as
                          dropped; operators are complete all the same                                 */
} volta_profile_options;
#define VOLTA_PROFILE_OPTIONS_INIT {sizeof(volta_profile_options), 0}

/* Starts recording, in the place of the profile that the context had before.
 * Owns:   the context keeps the profile until the next start or its release.
 * Cost:   allocates room for all events, as structure memory, and some for each plan of the context.
 * Thread: as every call on the context: never while another one runs, from a callback of one neither. The same holds
 *         for all functions below. Threads of the pool record by themselves.
 * Errors: INVALID_STATE     the context is recording already
 *         INVALID_ARGUMENT  a capacity above 2^24
 *         OUT_OF_MEMORY     the profile before stays */
VOLTA_API volta_status volta_profile_start(volta_context *context, const volta_profile_options *options);
/* Ends recording; what was recorded can be read from now on.
 * Errors: INVALID_STATE  nothing is being recorded, or a call of the context runs */
VOLTA_API volta_status volta_profile_stop(volta_context *context);

typedef struct volta_profile_info {
    size_t struct_size;      /* in: sizeof(volta_profile_info)                                           */
    uint64_t event_count;    /* that were kept                                                           */
    uint64_t dropped;        /* that came when the room was full                                         */
    uint64_t operator_count; /* rows of volta_profile_get_operator                                       */
    uint32_t thread_count;   /* of the context: lanes                                                    */
    uint64_t duration_ns;    /* from start to stop                                                       */
    uint64_t calls_ns;       /* in outermost calls: sessions, trainers, generators                       */
    uint64_t steps_ns;       /* of these in steps of plans: the sum over all operators                   */
    uint64_t held_bytes_peak; /* the most tensor memory that the context held when a call or phase began */
    uint64_t live_bytes_peak; /* the most of it that was activations which a later step still reads      */
} volta_profile_info;
#define VOLTA_PROFILE_INFO_INIT {sizeof(volta_profile_info), 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* Of the profile that was stopped. Fills what fits in info->struct_size.
 * Errors: INVALID_STATE  nothing was recorded yet, or it is being recorded */
VOLTA_API volta_status volta_profile_get_info(const volta_context *context, volta_profile_info *info);

/* All steps of one operator, dropped events included. */
typedef struct volta_profile_operator {
    size_t struct_size; /* in: sizeof(volta_profile_operator)                                            */
    const char *name;   /* "matmul": docs/operators.md. Lends: for ever                                  */
    uint64_t calls;
    uint64_t total_ns;
    double share;       /* of all steps, 0 .. 1                                                          */
    double operations;  /* of products and attention, a multiply-add is two; 0: not known                */
    uint64_t bytes;     /* of its operands and results, each once, wherever they lie; 0: not known       */
} volta_profile_operator;
#define VOLTA_PROFILE_OPERATOR_INIT {sizeof(volta_profile_operator), NULL, 0, 0, 0, 0, 0}

/* Row `index` of the table of operators, the longest total first.
 * Errors: INVALID_ARGUMENT  no such row; INVALID_STATE as volta_profile_get_info */
VOLTA_API volta_status volta_profile_get_operator(const volta_context *context, size_t index,
                                                  volta_profile_operator *row);

typedef int32_t volta_profile_kind;
enum {
    VOLTA_PROFILE_CALL = 0,  /* a call of the host, or a part of one: "train_step", and in it "exchange" with the ranks of
                                a group; "evaluate", "session_run", "token_step", and in it "prefill", "decode", "sample" */
    VOLTA_PROFILE_PHASE = 1, /* one run of a plan's phase: "each", "reduce", "update"                     */
    VOLTA_PROFILE_STEP = 2,  /* a step of the plan: an operator                                           */
    VOLTA_PROFILE_WORKER = 3 /* what a thread of the pool had of a step; thread 0's share is not told apart */
};

/* Fields that say nothing about an event of its kind are "", -1 or 0. */
typedef struct volta_profile_event {
    size_t struct_size; /* in: sizeof(volta_profile_event)                                               */
    volta_profile_kind kind;
    uint32_t thread;    /* the lane: 0: the host's, 1 .. thread_count - 1: the pool's, thread_count: a group's */
    uint32_t depth;     /* events of its lane that it lies in                                            */
    uint64_t begin_ns, end_ns; /* since start, monotonic                                                 */
    const char *name;   /* CALL, PHASE: as above; STEP, WORKER: the operator                             */
    const char *node;   /* STEP, WORKER: the parameter, gradient or output that it reads or makes:
                           "block.0.qkv.weight"                                                          */
    const char *kernel; /* STEP, WORKER: as the plan prints it: "f32_gemm_8x48_avx512"                   */
    int64_t step;       /* STEP, WORKER: its number in the plan's print                                  */
    int64_t value;      /* STEP, WORKER: the first value that it writes: 12 is %12                       */
    int64_t number;     /* CALL: the number of a train_step, tokens of a prefill, rows of a decode,
                           sequences of a token_step; PHASE: the micro-batch                             */
    double operations;  /* STEP: as in volta_profile_operator                                            */
    uint64_t bytes;     /* STEP: likewise                                                                */
    uint64_t live_bytes; /* STEP: of the plan's activations that are alive during it                     */
    uint64_t held_bytes; /* CALL, PHASE: of tensor memory that the context held as it began              */
} volta_profile_event;
#define VOLTA_PROFILE_EVENT_INIT \
    {sizeof(volta_profile_event), 0, 0, 0, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0}

/* Event `index`. Those of one lane are in the order of their beginnings, outer ones first; lanes are mixed.
 * Lends:  names until the context is released.
 * Errors: INVALID_ARGUMENT  no such event; INVALID_STATE as volta_profile_get_info */
VOLTA_API volta_status volta_profile_get_event(const volta_context *context, size_t index,
                                               volta_profile_event *event);

/* Writes the profile in the Chrome trace event format (JSON), for Perfetto and chrome://tracing: a lane per thread, and
 * counters of the memory. docs/profiling.md. Crash-safe, see volta_model_save.
 * Errors: IO_ERROR  as volta_model_save; INVALID_STATE as volta_profile_get_info */
VOLTA_API volta_status volta_profile_write_trace(const volta_context *context, const char *path);

#ifdef __cplusplus
}
#endif

#endif /* VOLTA_H */
