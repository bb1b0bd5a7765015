//! libvolta and libvolta_data as C has them: structs, constants, functions. The safe crate is `volta`.
//!
//! Printed by tools/print_bindings.py from the descriptions in api/, which say what the headers say. Not edited by hand.
#![no_std]
#![allow(non_camel_case_types, rustdoc::invalid_html_tags)]

use core::ffi::c_void;

/// The processor's `char` of C.
pub type c_char = core::primitive::i8;

pub const VOLTA_VERSION_MAJOR: i32 = 0;
pub const VOLTA_VERSION_MINOR: i32 = 1;
pub const VOLTA_VERSION_PATCH: i32 = 0;
/// of the numeric contract, docs/numerics.md
pub const VOLTA_CONTRACT_VERSION: i32 = 1;
pub const VOLTA_MAX_RANK: usize = 8;
pub const VOLTA_RESIZE_EXACT: u32 = 0xffffffff;

/// What a call reports. Values are ABI: appended, never renumbered.
/// int32_t rather than the enum, so that every compiler and FFI agrees on size.
pub type volta_status = i32;
pub const VOLTA_OK: volta_status = 0;
/// the call itself is wrong: the same call fails again
pub const VOLTA_INVALID_ARGUMENT: volta_status = 1;
/// a right call at the wrong moment
pub const VOLTA_INVALID_STATE: volta_status = 2;
/// well-formed tensors that do not fit this graph
pub const VOLTA_SHAPE_MISMATCH: volta_status = 3;
/// the host allocator, or the system, said no
pub const VOLTA_OUT_OF_MEMORY: volta_status = 4;
/// the file could not be read or written
pub const VOLTA_IO_ERROR: volta_status = 5;
/// the file was read and is not a valid model
pub const VOLTA_CORRUPT_MODEL: volta_status = 6;
/// valid, but this build or device has no kernel
pub const VOLTA_UNSUPPORTED: volta_status = 7;
/// the accelerator failed; the context stays usable
pub const VOLTA_DEVICE_ERROR: volta_status = 8;
/// a bug in Volta
pub const VOLTA_INTERNAL: volta_status = 9;
/// a loss, gradient or logit is NaN or infinite; nothing was written
pub const VOLTA_NOT_FINITE: volta_status = 10;
/// the host asked to stop, or a callback of it threw an exception
pub const VOLTA_CANCELLED: volta_status = 11;

/// The determinism level of everything a context computes; recorded in every plan and model file, docs/determinism.md.
/// The processor computes the bits of VOLTA_STRICT at every level.
pub type volta_level = i32;
/// the numeric contract: bit-identical everywhere
pub const VOLTA_STRICT: volta_level = 0;
/// the same bits on the same device, build and configuration
pub const VOLTA_REPEATABLE: volta_level = 1;
/// anything within tolerance
pub const VOLTA_FAST: volta_level = 2;

/// What products round their operands to; they add in fp32, and parameters stay fp32. Others than FP32 are of CUDA
/// alone, at VOLTA_REPEATABLE and VOLTA_FAST.
pub type volta_precision = i32;
pub const VOLTA_PRECISION_FP32: volta_precision = 0;
pub const VOLTA_PRECISION_TF32: volta_precision = 1;
pub const VOLTA_PRECISION_BF16: volta_precision = 2;

/// The instruction set that kernels are generated for. All give the same bits.
pub type volta_isa = i32;
/// the best this processor has
pub const VOLTA_ISA_AUTO: volta_isa = 0;
/// plain C++: no generated code at all; slow, runs anywhere
pub const VOLTA_ISA_SCALAR: volta_isa = 1;
/// 8 lanes
pub const VOLTA_ISA_AVX2: volta_isa = 2;
/// 16 lanes
pub const VOLTA_ISA_AVX512: volta_isa = 3;

pub type volta_log_level = i32;
pub const VOLTA_LOG_INFO: volta_log_level = 0;
pub const VOLTA_LOG_WARNING: volta_log_level = 1;

/// What memory is for: tensor bytes are those a bill lists, structures are graphs, plans and names.
pub type volta_memory_kind = i32;
pub const VOLTA_MEMORY_STRUCTURE: volta_memory_kind = 0;
pub const VOLTA_MEMORY_TENSOR: volta_memory_kind = 1;

/// behave as if the system refused executable memory: kernels are interpreted
pub const VOLTA_CONTEXT_NO_JIT: u32 = 1;

pub type volta_step_order = i32;
/// as the graph has it: what one step writes the next one often reads
pub const VOLTA_STEP_ORDER_GRAPH: volta_step_order = 0;
/// the one that needs less memory, where another than the graph's does
pub const VOLTA_STEP_ORDER_MEMORY: volta_step_order = 1;

pub type volta_dtype = i32;
pub const VOLTA_F32: volta_dtype = 1;
pub const VOLTA_I32: volta_dtype = 2;
pub const VOLTA_BF16: volta_dtype = 3;
pub const VOLTA_F16: volta_dtype = 4;
/// groups of 32 along k with an f16 scale: 8.5 bits each
pub const VOLTA_INT8: volta_dtype = 5;
/// the same with 4 bits: 4.5 bits each
pub const VOLTA_INT4: volta_dtype = 6;
/// f32, to the bit, in the order in which writing a token reads them
pub const VOLTA_F32_PANELS: volta_dtype = 7;

/// How a tensor or a parameter starts: drawn by position from a seed and a stream (Philox).
pub type volta_init_kind = i32;
pub const VOLTA_INIT_CONSTANT: volta_init_kind = 0;
pub const VOLTA_INIT_NORMAL: volta_init_kind = 1;
pub const VOLTA_INIT_UNIFORM: volta_init_kind = 2;

pub type volta_tokenizer_format = i32;
/// whichever of these the file is
pub const VOLTA_TOKENIZER_AUTO: volta_tokenizer_format = 0;
/// the keys tokenizer.ggml.* of a GGUF file: models gpt2, llama, bert
pub const VOLTA_TOKENIZER_GGUF: volta_tokenizer_format = 1;
/// tokenizer.bin of llama2.c
pub const VOLTA_TOKENIZER_LLAMA2C: volta_tokenizer_format = 2;
/// encoder.json with vocab.bpe beside it (or vocab.json, merges.txt); path is the first file, or the folder of both
pub const VOLTA_TOKENIZER_GPT2: volta_tokenizer_format = 3;
/// vocab.txt, a piece a line (one: "\[UNK\]"); letters are made small unless a tokenizer_config.json beside it has "do_lower_case": false
pub const VOLTA_TOKENIZER_BERT: volta_tokenizer_format = 4;
/// Hugging Face's tokenizer.json (docs/tokenizers.md)
pub const VOLTA_TOKENIZER_JSON: volta_tokenizer_format = 5;
/// its tokenizer.model, of pairs (bpe) or unigrams
pub const VOLTA_TOKENIZER_SENTENCEPIECE: volta_tokenizer_format = 6;

/// What a BERT gives.
pub type volta_bert_head = i32;
/// "logits" f32 \[batch, time, vocabulary\]: which token stands, or stood, at each place
pub const VOLTA_BERT_MASKED: volta_bert_head = 0;
/// "logits" f32 \[batch, classes\], of the sequence
pub const VOLTA_BERT_CLASSES: volta_bert_head = 1;
/// "pooled" f32 \[batch, dim\]: tanh of a product of the first token's state
pub const VOLTA_BERT_POOLED: volta_bert_head = 2;
/// "hidden" f32 \[batch, time, dim\]: the state of every token
pub const VOLTA_BERT_HIDDEN: volta_bert_head = 3;
/// "logits" f32 \[batch, time, classes\], of each token; an answer's beginning and end are two classes
pub const VOLTA_BERT_TOKENS: volta_bert_head = 4;

/// How a ResNet begins.
pub type volta_resnet_stem = i32;
/// large for 18, 34 and 50 layers, small for the others
pub const VOLTA_RESNET_STEM_OF_DEPTH: volta_resnet_stem = 0;
/// a convolution of 7x7, stride 2, and a maximum of 3x3, stride 2: ImageNet's
pub const VOLTA_RESNET_STEM_LARGE: volta_resnet_stem = 1;
/// a convolution of 3x3: CIFAR's
pub const VOLTA_RESNET_STEM_SMALL: volta_resnet_stem = 2;

/// How a network of pictures begins; the values are those of volta_resnet_stem.
pub type volta_network_stem = i32;
/// the network's own
pub const VOLTA_STEM_USUAL: volta_network_stem = 0;
/// as for ImageNet; mobilenet_v2: a first stride of 2
pub const VOLTA_STEM_LARGE: volta_network_stem = 1;
/// as for CIFAR; mobilenet_v2: strides of 1 there and of the 24 channels
pub const VOLTA_STEM_SMALL: volta_network_stem = 2;

pub type volta_load_mode = i32;
/// read-only mmap, zero-copy, milliseconds; the file must not change while it is open
pub const VOLTA_LOAD_MAP: volta_load_mode = 0;
/// read into memory; checksums are verified
pub const VOLTA_LOAD_COPY: volta_load_mode = 1;

/// Files of weights that other programs write.
pub type volta_weight_format = i32;
/// by the file's content
pub const VOLTA_WEIGHTS_AUTO: volta_weight_format = 0;
/// .safetensors, or the *.index.json of several in one folder
pub const VOLTA_WEIGHTS_SAFETENSORS: volta_weight_format = 1;
/// GGUF, versions 2 and 3
pub const VOLTA_WEIGHTS_GGUF: volta_weight_format = 2;
/// the .bin files of llama2.c, version 0
pub const VOLTA_WEIGHTS_LLAMA2C: volta_weight_format = 3;
/// a graph and its weights; docs/onnx.md says of which opsets
pub const VOLTA_WEIGHTS_ONNX: volta_weight_format = 4;

pub const VOLTA_IMPORT_KEEP: i32 = -1;

/// How an export calls its tensors.
pub type volta_weight_names = i32;
/// as volta_model_parameter_info does; metadata says what the model is
pub const VOLTA_NAMES_OWN: volta_weight_names = 0;
/// those of its GPT-2, Llama and BERT (docs/import.md), products \[out, in\] where it has them so; a config.json says what the model is
pub const VOLTA_NAMES_HUGGING_FACE: volta_weight_names = 1;

/// the conversation ends with its last message; without it, with the beginning of an answer
pub const VOLTA_CHAT_WHOLE: u32 = 1;

/// keep a copy of the weights of products in the order in which kernels read them: runs are faster, most of all on few rows, for as much memory again (under `parameters` of the bill). Small weights, which are as fast in place, get none. Packed anew when the model's parameters change
pub const VOLTA_SESSION_PACK_WEIGHTS: u32 = 1;

pub type volta_loss = i32;
/// output \[..., classes\] against i32 targets \[...\]; -1 is ignored; mean
pub const VOLTA_LOSS_CROSS_ENTROPY: volta_loss = 0;
/// output against f32 targets of the same shape; mean over all elements
pub const VOLTA_LOSS_MSE: volta_loss = 1;
/// as MSE: logits, not probabilities, against targets in 0 .. 1
pub const VOLTA_LOSS_BINARY_CROSS_ENTROPY: volta_loss = 2;
/// as MSE: absolute differences
pub const VOLTA_LOSS_L1: volta_loss = 3;
/// as MSE: half the square up to huber_delta, a line beyond
pub const VOLTA_LOSS_HUBER: volta_loss = 4;

pub type volta_optimizer = i32;
pub const VOLTA_ADAMW: volta_optimizer = 0;
pub const VOLTA_ADAM: volta_optimizer = 1;
pub const VOLTA_SGD: volta_optimizer = 2;
pub const VOLTA_ADAGRAD: volta_optimizer = 3;

pub type volta_schedule = i32;
pub const VOLTA_SCHEDULE_CONSTANT: volta_schedule = 0;
/// both after the linear warm-up
pub const VOLTA_SCHEDULE_COSINE: volta_schedule = 1;

pub type volta_nonfinite_policy = i32;
/// NOT_FINITE, nothing written
pub const VOLTA_NONFINITE_STOP: volta_nonfinite_policy = 0;
/// log, go on
pub const VOLTA_NONFINITE_LOG: volta_nonfinite_policy = 1;

pub type volta_plan_part = i32;
pub const VOLTA_PLAN_FORWARD: volta_plan_part = 0;
pub const VOLTA_PLAN_BACKWARD: volta_plan_part = 1;
pub const VOLTA_PLAN_UPDATE: volta_plan_part = 2;

pub type volta_tape_mode = i32;
/// each call is computed before it returns
pub const VOLTA_TAPE_EAGER: volta_tape_mode = 0;
/// calls are recorded, and computed together when a result is read: for training
pub const VOLTA_TAPE_LAZY: volta_tape_mode = 1;

/// a record that would be computed in more than one piece is INVALID_STATE
pub const VOLTA_TAPE_ONE_SEGMENT: u32 = 1;

/// keep no keys and values: every token runs its whole sequence again. The same tokens and logits, slowly; for measuring, and for proof
pub const VOLTA_GENERATOR_NO_CACHE: u32 = 1;

/// Why writing ended: the first of this list that is true.
pub type volta_stop_reason = i32;
/// it did not begin, or an error ended it
pub const VOLTA_STOP_NONE: volta_stop_reason = 0;
/// one of stop_tokens was drawn
pub const VOLTA_STOP_TOKEN: volta_stop_reason = 1;
/// the tokenizer's bos or eos was drawn: a new text would begin
pub const VOLTA_STOP_END_OF_TEXT: volta_stop_reason = 2;
/// the text ran into one of stop_texts
pub const VOLTA_STOP_TEXT: volta_stop_reason = 3;
/// max_tokens were drawn
pub const VOLTA_STOP_MAX_TOKENS: volta_stop_reason = 4;
/// the sequence has as many tokens as the context holds
pub const VOLTA_STOP_CONTEXT_FULL: volta_stop_reason = 5;
/// on_text said so
pub const VOLTA_STOP_CALLBACK: volta_stop_reason = 6;
/// volta_cancel_request
pub const VOLTA_STOP_CANCELLED: volta_stop_reason = 7;
/// max_seconds were over
pub const VOLTA_STOP_DEADLINE: volta_stop_reason = 8;

/// bos and eos of the tokenizer are tokens like any other
pub const VOLTA_WRITE_PAST_END: u32 = 1;

/// as a session with VOLTA_SESSION_PACK_WEIGHTS: B is packed before
pub const VOLTA_EXPLAIN_PACKED_ONCE: u32 = 1;
/// the weights of the plan are more than all of the LLC
pub const VOLTA_EXPLAIN_FROM_MEMORY: u32 = 2;

pub type volta_profile_kind = i32;
/// a call of the host, or a part of one: "train_step", and in it "exchange" with the ranks of a group; "evaluate", "session_run", "token_step", and in it "prefill", "decode", "sample"
pub const VOLTA_PROFILE_CALL: volta_profile_kind = 0;
/// one run of a plan's phase: "each", "reduce", "update"
pub const VOLTA_PROFILE_PHASE: volta_profile_kind = 1;
/// a step of the plan: an operator
pub const VOLTA_PROFILE_STEP: volta_profile_kind = 2;
/// what a thread of the pool had of a step; thread 0's share is not told apart
pub const VOLTA_PROFILE_WORKER: volta_profile_kind = 3;

pub type volta_data_format = i32;
/// binary records of 3,073 bytes
pub const VOLTA_DATA_CIFAR10: volta_data_format = 1;
/// of 3,074 bytes: coarse and fine label; the fine one is the class
pub const VOLTA_DATA_CIFAR100: volta_data_format = 2;
/// MNIST and its like: a file of images, one of labels; gzip too
pub const VOLTA_DATA_IDX: volta_data_format = 3;
/// a folder per class of JPEG and PNG files: the layout of ImageNet
pub const VOLTA_DATA_FOLDER: volta_data_format = 4;

/// Which part of a folder is opened; files that are named one by one are what they are.
pub type volta_data_split = i32;
pub const VOLTA_SPLIT_TRAIN: volta_data_split = 0;
pub const VOLTA_SPLIT_TEST: volta_data_split = 1;
/// of texts alone
pub const VOLTA_SPLIT_VALIDATION: volta_data_split = 2;

/// How sizes change: the results of Pillow's Image.resize, bit for bit.
pub type volta_filter = i32;
/// with antialiasing
pub const VOLTA_FILTER_BILINEAR: volta_filter = 0;
/// the same
pub const VOLTA_FILTER_BICUBIC: volta_filter = 1;
/// the mean of what a pixel covers
pub const VOLTA_FILTER_BOX: volta_filter = 2;
pub const VOLTA_FILTER_PILLOW_12: volta_filter = 16;

pub type volta_data_order = i32;
/// every epoch in the data set's order
pub const VOLTA_ORDER_SEQUENTIAL: volta_data_order = 0;
/// another one every epoch
pub const VOLTA_ORDER_SHUFFLED: volta_data_order = 1;

pub type volta_data_batches = i32;
/// what does not fill a batch is left out in that epoch
pub const VOLTA_BATCHES_FULL: volta_data_batches = 0;
/// the last batch of an epoch may be shorter
pub const VOLTA_BATCHES_ALL: volta_data_batches = 1;

/// What a damaged sample does.
pub type volta_data_damaged = i32;
/// its batch is an error that names it
pub const VOLTA_DAMAGED_STOP: volta_data_damaged = 0;
/// BATCHES_FULL: the next good sample of the data set stands in; BATCHES_ALL: the batch is shorter. volta_batch.skipped counts, the log names it
pub const VOLTA_DAMAGED_SKIP: volta_data_damaged = 1;

/// nothing random is done to pictures
pub const VOLTA_LOADER_EVALUATE: u32 = 1;
/// volta_loader_next computes all itself
pub const VOLTA_LOADER_NO_THREADS: u32 = 2;

#[repr(C)]
pub struct volta_context {
    _private: [u8; 0],
}

#[repr(C)]
pub struct volta_tensor {
    _private: [u8; 0],
}

/// Named tensors that were read from a file, ascending by name.
#[repr(C)]
pub struct volta_tensors {
    _private: [u8; 0],
}

#[repr(C)]
pub struct volta_graph {
    _private: [u8; 0],
}

#[repr(C)]
pub struct volta_tokenizer {
    _private: [u8; 0],
}

#[repr(C)]
pub struct volta_model {
    _private: [u8; 0],
}

#[repr(C)]
pub struct volta_session {
    _private: [u8; 0],
}

#[repr(C)]
pub struct volta_group {
    _private: [u8; 0],
}

#[repr(C)]
pub struct volta_trainer {
    _private: [u8; 0],
}

/// What a program does with tensors, call by call, with gradients and updates. A tape records the calls as a graph and
/// computes it by the same plans as sessions and trainers: EAGER at once, LAZY when the host asks for a result. One
/// result: the bits are those of the other mode, and of a session or trainer of the same graph.
///   volta_tensor *y = volta_op(tape, "relu", volta_op(tape, "matmul", x, w));
///   volta_tensor *loss = volta_op(tape, "mean", volta_op(tape, "cross_entropy", y, targets));
///   volta_tape_backward(tape, loss);
///   status = volta_tape_step(tape, optimizer, &report);
///   volta_tape_reset(tape);
/// A record is what is called between two resets. Its results belong to the tape and end with the record, unless
/// volta_tensor_keep makes them the host's. A record that makes the same calls as an earlier one, with tensors of the
/// same shapes, finds its plans there and allocates nothing. Tensors that a record reads stay as they are until it has
/// been computed or reset: the host does not write them in between. Records of several tapes may read one tensor.
#[repr(C)]
pub struct volta_tape {
    _private: [u8; 0],
}

#[repr(C)]
pub struct volta_tape_optimizer {
    _private: [u8; 0],
}

#[repr(C)]
pub struct volta_compiled {
    _private: [u8; 0],
}

#[repr(C)]
pub struct volta_generator {
    _private: [u8; 0],
}

/// One sequence of a generator. Sequences come and go between steps, each with its own tokens, options and seed.
#[repr(C)]
pub struct volta_sequence {
    _private: [u8; 0],
}

#[repr(C)]
pub struct volta_dataset {
    _private: [u8; 0],
}

#[repr(C)]
pub struct volta_picture {
    _private: [u8; 0],
}

#[repr(C)]
pub struct volta_text {
    _private: [u8; 0],
}

#[repr(C)]
pub struct volta_documents {
    _private: [u8; 0],
}

#[repr(C)]
pub struct volta_loader {
    _private: [u8; 0],
}

/// One part of some work; index is below the work's count. Of the library.
pub type volta_part = Option<unsafe extern "C" fn(*mut c_void, u32)>;

/// A transport of the host's own: sends to `peer` and receives from it, both ways at once; either may be 0 bytes. The peer
/// makes the matching call, with the same two numbers exchanged; calls of two ranks match in their order. Returns when what
/// was sent may be written again and what was to come is there. Any status but VOLTA_OK ends the group; `text` takes a
/// sentence that names the peer. Runs on the thread that called the trainer, and calls nothing of this library.
pub type volta_exchange = Option<unsafe extern "C" fn(*mut c_void, u32, *const c_void, usize, *mut c_void, usize, *mut c_char, usize) -> volta_status>;

pub type volta_plan_visit = Option<unsafe extern "C" fn(*mut c_void, *const volta_plan_step)>;

/// A function of tensors, written once: calls on `tape`, from inputs to outputs\[0 .. output_count-1\], which it sets. What
/// it returns other than VOLTA_OK ends the call. It may branch and loop as it likes: another path is another plan.
pub type volta_function = Option<unsafe extern "C" fn(*mut c_void, *mut volta_tape, *const *mut volta_tensor, usize, *mut *mut volta_tensor, usize) -> volta_status>;

/// The host's memory. `alignment` is a power of two of at most 64. allocate returns NULL to refuse: the call
/// that needed the memory then reports VOLTA_OUT_OF_MEMORY, names the bytes and leaks nothing. release gets the
/// same size, alignment and kind as allocate. Generated machine code needs executable pages, mapped separately. Of the
/// C heap are, beside it, what the C library takes for each thread it starts and module it opens, and an exception while
/// a call fails (docs/decisions/0022-operator-new.md): nothing that grows with a model.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_allocator {
    pub allocate: Option<unsafe extern "C" fn(*mut c_void, usize, usize, volta_memory_kind) -> *mut c_void>,
    pub release: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize, usize, volta_memory_kind)>,
    pub user: *mut c_void,
}
impl Default for volta_allocator {
    /// Zeros, which are the defaults.
    fn default() -> Self {
        unsafe { core::mem::zeroed() }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_context_options {
    /// bytes: sizeof(volta_context_options)
    pub struct_size: usize,
    /// copied; its functions are used until release. NULL: the C heap
    pub allocator: *const volta_allocator,
    /// NULL: no log
    pub log: Option<unsafe extern "C" fn(*mut c_void, volta_log_level, *const c_char)>,
    /// passed to log
    pub log_user: *mut c_void,
    /// threads that compute, or parts of a parallel_for; 0: one per physical core; at most 256
    pub thread_count: u32,
    /// 0: VOLTA_STRICT. The log says when it is another
    pub level: volta_level,
    /// 0: the best this processor has
    pub isa: volta_isa,
    /// VOLTA_CONTEXT_* bits
    pub flags: u32,
    /// where volta_tune keeps its results, a file per processor or GPU: read now, written by volta_tune. NULL: no file is read or written
    pub tuning_folder: *const c_char,
    /// what models are trained and run on: "cpu"; "cuda", the first device of CUDA, or "cuda:1" and so on; "auto", cuda if a device of it can be used, else cpu: the log says which and why. NULL: "cpu"
    pub device: *const c_char,
    /// where kernels that were compiled for a device are kept. Files of another device, driver or contract are ignored. NULL: in memory alone
    pub kernel_folder: *const c_char,
    /// most bytes of the host's memory for what plans read and write: a plan that needs more is refused, OUT_OF_MEMORY; a trainer computes activations again before it is. 0: what there is
    pub host_budget: u64,
    /// the same of a device's own memory, parameters too
    pub device_budget: u64,
    /// 0: VOLTA_PRECISION_FP32, the only one of VOLTA_STRICT
    pub precision: volta_precision,
    /// Computes on threads of the host; the context then has none of its own. Work comes as up to thread_count parts: calls part(part_user, i) once for each i of 0 .. count - 1, and returns when all have ended. Parts may run in any order, on any threads, also one after another on one: none waits for another. They may run in any floating-point environment, which is theirs again when they return, need 64 KiB of stack, and call no function of the host. It is called on the thread that calls the library, by contexts that run at once from several threads at once, and never in a forked child. What it leaves out the caller computes, and the call reports what went wrong: INVALID_STATE it left a part out, returned before all had ended, or ran one twice; CANCELLED it threw an exception. Results are whole all the same; whether a step was made says volta_trainer_current_step. NULL: threads of the context's own
    pub parallel_for: Option<unsafe extern "C" fn(*mut c_void, u32, volta_part, *mut c_void)>,
    /// passed to parallel_for
    pub parallel_user: *mut c_void,
    /// of every plan; results keep every bit
    pub step_order: volta_step_order,
}
impl Default for volta_context_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_context_info {
    /// in: sizeof(volta_context_info)
    pub struct_size: usize,
    /// the one in use, never AUTO
    pub isa: volta_isa,
    /// in use
    pub thread_count: u32,
    /// of this machine, as far as this process may use them
    pub physical_cores: u32,
    /// 1: kernels run as machine code; 0: interpreted
    pub jit_active: i32,
    /// plans taken from the context's cache
    pub plan_cache_hits: u64,
    /// plans made
    pub plan_cache_misses: u64,
    /// allocations asked from the host since creation
    pub allocation_count: u64,
    /// tensor memory held now, in bytes
    pub tensor_bytes: u64,
    /// the most ever held at once, in bytes
    pub tensor_bytes_peak: u64,
    /// executable pages held, in bytes
    pub code_bytes: u64,
    /// the processor's own name
    pub cpu: [c_char; 64],
    /// of everything that it computes
    pub level: volta_level,
    pub precision: volta_precision,
}
impl Default for volta_context_info {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// A request to stop that may come from anywhere. Zero it where you define it: VOLTA_CANCEL_INIT. It needs no release.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_cancel {
    /// set by volta_cancel_request alone; zero it again while no call reads it
    pub requested: i32,
}
impl Default for volta_cancel {
    /// Zeros, which are the defaults.
    fn default() -> Self {
        unsafe { core::mem::zeroed() }
    }
}

/// What may end a long call before it is through.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_stop_options {
    pub struct_size: usize,
    /// kept until the next volta_context_set_stop. NULL: none
    pub cancel: *const volta_cancel,
    /// not 0: stop. Runs on the caller's thread, and calls nothing of this context. NULL: none
    pub should_stop: Option<unsafe extern "C" fn(*mut c_void) -> i32>,
    /// passed to should_stop
    pub user: *mut c_void,
    /// from volta_context_set_stop on, by a clock that is never set; 0: no end
    pub max_seconds: f64,
}
impl Default for volta_stop_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// A device that plans run on, and what a context moved to and from it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_device_info {
    /// in: sizeof(volta_device_info)
    pub struct_size: usize,
    /// as volta_context_options.device takes it: "cpu", "cuda:0"
    pub name: [c_char; 32],
    /// the processor's or device's own name
    pub description: [c_char; 128],
    /// of its own; 0: it uses the host's
    pub memory_bytes: u64,
    /// of these, now, within the context's budget
    pub free_bytes: u64,
    /// cores of a processor
    pub multiprocessors: u32,
    /// CUDA compute capability; 0: none
    pub capability_major: u32,
    pub capability_minor: u32,
    /// 0
    pub reserved: u32,
    /// of the context so far; 0 where memory is the host's
    pub copies_to_device: u64,
    pub bytes_to_device: u64,
    pub copies_to_host: u64,
    pub bytes_to_host: u64,
    /// of kernels and of recorded graphs of them
    pub launches: u64,
    /// of its memory, by the context's objects: what their bills say
    pub bytes_in_use: u64,
    /// of the host's memory, locked for copies, by the same
    pub pinned_bytes: u64,
}
impl Default for volta_device_info {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// The most the context's device does, measured now: what the speed of anything that computes is to be divided by.
/// On a processor with the context's threads and instruction set. On a device of its own memory isa is
/// VOLTA_ISA_AUTO, thread_count 0, and read and stream are one figure: copying within the device's memory, bytes read
/// and bytes written. Medians; a spread is (90th - 10th percentile) / median.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_machine_speed {
    /// in: sizeof(volta_machine_speed)
    pub struct_size: usize,
    /// in use
    pub isa: volta_isa,
    /// that ran at once
    pub thread_count: u32,
    /// fused multiply-adds on registers alone, two operations each, GFLOP/s
    pub fma_gflops: f64,
    pub fma_spread: f64,
    /// reading memory, four streams per thread, GB/s (10^9 bytes)
    pub read_gb_s: f64,
    pub read_spread: f64,
    /// an optimizer pass: 16 bytes read, 12 written per parameter, GB/s of all 28
    pub stream_gb_s: f64,
    pub stream_spread: f64,
    /// of memory that was walked: eight times the last-level cache, 256 .. 768 MiB; on a device two buffers of 256 MiB, or less where it has less
    pub buffer_bytes: u64,
}
impl Default for volta_machine_speed {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_init {
    pub kind: volta_init_kind,
    /// constant: the value | normal: standard deviation, mean 0 | uniform: low
    pub a: f64,
    /// constant, normal: unused | uniform: high
    pub b: f64,
}
impl Default for volta_init {
    /// Zeros, which are the defaults.
    fn default() -> Self {
        unsafe { core::mem::zeroed() }
    }
}

/// How far two tensors are apart, over all of their elements.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_comparison {
    /// in: sizeof(volta_comparison)
    pub struct_size: usize,
    /// elements that differ
    pub differing: i64,
    /// the first of these, counted in row-major order; -1: none
    pub first: i64,
    /// of |a - b|; infinite where one is NaN or infinite and the other is another
    pub largest_absolute: f64,
    /// of |a - b| / |b|; infinite there too, and where b alone is 0
    pub largest_relative: f64,
    /// f32: steps from one to the next number between a and b, 0 from -0 to +0; i32: |a - b|; where NaN is beside a number UINT64_MAX
    pub largest_ulps: u64,
    /// 1: no element differs
    pub is_equal: i32,
}
impl Default for volta_comparison {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// A value of a graph: a handle that is valid in that graph only.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_value {
    /// < 0: no value
    pub id: i32,
}
impl Default for volta_value {
    /// Zeros, which are the defaults.
    fn default() -> Self {
        unsafe { core::mem::zeroed() }
    }
}

/// An attribute of an operator. docs/operators.md lists every operator with its inputs and attributes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_attribute {
    /// "axis", "epsilon", ...
    pub name: *const c_char,
    /// for numeric and yes/no attributes
    pub number: f64,
    /// for list attributes ("permutation", ...)
    pub integers: *const i64,
    pub integer_count: usize,
}
impl Default for volta_attribute {
    /// Zeros, which are the defaults.
    fn default() -> Self {
        unsafe { core::mem::zeroed() }
    }
}

/// How a text is taken. volta_tokenizer_encode: all zeros.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_encode_options {
    pub struct_size: usize,
    /// 1: bos first and eos last, where the tokenizer adds them (volta_special_ids)
    pub ends: i32,
    /// 1: control pieces in the text ("</s>") become their ids; 0: they are text like any other
    pub special: i32,
    /// a second text that stands behind it, as models that compare two take them: with `ends` eos is between both (twice where the file says so: RoBERTa's) and behind. NULL: none
    pub pair: *const c_char,
    pub pair_bytes: usize,
    /// most ids, ends included: what is too long loses ids at its end, of two texts the longer one until both are of one length, as transformers' truncation=True. 0: no limit
    pub max_tokens: usize,
    /// out: room for `capacity`: 0 for ids of the text and what ends it, 1 behind. NULL: not asked for
    pub segments: *mut i32,
}
impl Default for volta_encode_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// Ids that stand for no text; -1: the tokenizer has none.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_special_ids {
    /// in: sizeof(volta_special_ids)
    pub struct_size: usize,
    /// begins and ends a text (\[CLS\] and \[SEP\] of wordpiece)
    pub bos: i32,
    /// begins and ends a text (\[CLS\] and \[SEP\] of wordpiece)
    pub eos: i32,
    /// what the vocabulary lacks; fills rows
    pub unk: i32,
    /// what the vocabulary lacks; fills rows
    pub pad: i32,
    /// 1: encoding with `ends` adds it
    pub adds_bos: i32,
    /// 1: encoding with `ends` adds it
    pub adds_eos: i32,
}
impl Default for volta_special_ids {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// A GPT: learned positions, pre-norm, one fused QKV weight, biases, tied head. Zeros are the preset "tiny".
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_gpt_options {
    pub struct_size: usize,
    /// number of token ids; required
    pub vocabulary: i64,
    /// 0: 6
    pub layers: i64,
    /// width; 0: 384; a multiple of heads
    pub dim: i64,
    /// 0: 6
    pub heads: i64,
    /// longest sequence; 0: 256
    pub context: i64,
    /// probability after embedding, attention and both branches; 0: none
    pub dropout: f64,
}
impl Default for volta_gpt_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// A Llama: rotary positions, RMS norms, gated activations (SwiGLU), grouped keys and values, no biases. Zeros are the
/// sizes of the preset "tiny". Parameters, with h = dim / heads: "token_embedding" \[vocabulary, dim\];
/// "block.<i>.norm1.weight" \[dim\], ".qkv.weight" \[dim, (heads + 2 kv_heads) h\] (q, k and v side by side),
/// ".proj.weight" \[dim, dim\], ".norm2.weight" \[dim\], ".gate_up.weight" \[dim, 2 hidden\] (the gate first),
/// ".down.weight" \[hidden, dim\]; "norm_final.weight" \[dim\]; untied: "head.weight" \[vocabulary, dim\].
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_llama_options {
    pub struct_size: usize,
    /// number of token ids; required
    pub vocabulary: i64,
    /// 0: 6
    pub layers: i64,
    /// width; 0: 384; a multiple of heads, dim / heads is even
    pub dim: i64,
    /// 0: 6
    pub heads: i64,
    /// of keys and values, a divisor of heads; 0: heads
    pub kv_heads: i64,
    /// width of the gated activation; 0: 8/3 dim, up to a multiple of 32
    pub hidden: i64,
    /// longest sequence, at most 2^20; 0: 256
    pub context: i64,
    /// pair i of a head turns by base^(-2i/h) per position; 0: 10000
    pub rope_base: f64,
    /// of the norms; 0: 1e-5
    pub epsilon: f64,
    /// 0: the head is the token embedding; 1: a weight of its own
    pub untied: i32,
    /// rotary pairs: 0: (i, i + h/2); 1: (2i, 2i + 1)
    pub interleaved: i32,
}
impl Default for volta_llama_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// A BERT: an encoder in which every token sees all others, post-norm, learned positions and segments, GELU by erf.
/// Zeros are BERT-small. Parameters: "token_embedding" \[vocabulary, dim\], "segment_embedding" \[segments, dim\],
/// "position_embedding" \[context, dim\], "norm_embedding.weight" and ".bias" \[dim\]; "block.<i>.qkv.weight"
/// \[dim, 3 dim\] (q, k and v side by side), ".proj.weight" \[dim, dim\], ".norm1.weight" \[dim\], ".fc.weight"
/// \[dim, hidden\], ".fc_proj.weight" \[hidden, dim\], ".norm2.weight" \[dim\], each with its ".bias"; masked:
/// "transform.weight" \[dim, dim\], "norm_transform.weight" \[dim\], each with its bias, "head.bias" \[vocabulary\] (the
/// head's weight is the token embedding); classes and pooled: "pooler.weight" \[dim, dim\] and ".bias"; classes:
/// "classifier.weight" \[dim, classes\] and ".bias".
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_bert_options {
    pub struct_size: usize,
    /// number of token ids; required
    pub vocabulary: i64,
    /// 0: 4
    pub layers: i64,
    /// width; 0: 512; a multiple of heads
    pub dim: i64,
    /// 0: 8
    pub heads: i64,
    /// width between the two products of a block; 0: 4 dim
    pub hidden: i64,
    /// longest sequence; 0: 512
    pub context: i64,
    /// kinds of tokens (first and second sentence); 0: 2
    pub segments: i64,
    /// VOLTA_BERT_CLASSES, VOLTA_BERT_TOKENS: required; else 0
    pub classes: i64,
    /// probability after embedding, attention, branches, pooling; 0: none
    pub dropout: f64,
    /// of the norms; 0: 1e-12
    pub epsilon: f64,
    /// 0: VOLTA_BERT_MASKED
    pub head: volta_bert_head,
    /// 1: an input says each token's segment; 0: all are of segment 0
    pub segment_input: i32,
    /// 1: an input says which tokens are there; 0: all are, and sequences of a batch have one length
    pub mask_input: i32,
}
impl Default for volta_bert_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// A residual network that classifies pictures: 18, 34 or 50 layers as for ImageNet, or 20, 32, 44 or 56 as for CIFAR
/// (three stages of 16, 32 and 64 channels, shortcuts without parameters). Parameters have torchvision's names:
/// "conv1.weight" \[filters, channels, k, k\], "bn1.weight", ".bias", ".running_mean" and ".running_var" \[filters\],
/// "layer<s>.<i>.conv1.weight", ..., "layer<s>.<i>.downsample.0.weight", "fc.weight" \[classes, width\], "fc.bias".
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_resnet_options {
    pub struct_size: usize,
    /// 0: 18; else 18, 34, 50, 20, 32, 44 or 56
    pub depth: i64,
    /// 0: 1000, or 10 of 20, 32, 44 and 56 layers
    pub classes: i64,
    /// of pictures; 0: 3
    pub channels: i64,
    /// of pictures; 0: 224 with the large stem, else 32
    pub rows: i64,
    /// of pictures; 0: 224 with the large stem, else 32
    pub columns: i64,
    /// 0: VOLTA_RESNET_STEM_OF_DEPTH
    pub stem: volta_resnet_stem,
}
impl Default for volta_resnet_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// A network that classifies pictures, by its name:
///   "resnet18", "resnet34", "resnet50", "resnet20", "resnet32", "resnet44", "resnet56": see volta_resnet_options
///   "mobilenet_v2": inverted residuals with convolutions of each channel alone, and relu6, without dropout; parameters
///       have torchvision's names: "features.0.0.weight", "features.0.1.weight", ..., "features.1.conv.0.0.weight", ...,
///       "features.18.1.bias", "classifier.1.weight" \[classes, 1280\] and ".bias"
///   "cnn": three times a convolution of 3x3 (to 32, 64, 128 channels), a norm, relu and maxima of 2x2, and a product:
///       "conv<i>.weight", "bn<i>.weight", ".bias", ".running_mean", ".running_var", "fc.weight", "fc.bias"
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_network_options {
    pub struct_size: usize,
    /// one of volta_network_name; required
    pub name: *const c_char,
    /// 0: 1000 of ImageNet's networks, 10 of the others
    pub classes: i64,
    /// of pictures; 0: 3, of cnn 1
    pub channels: i64,
    /// of pictures; 0: 224 with the large stem, 32 with the small one, of cnn 28, which takes no less than 8
    pub rows: i64,
    /// of pictures; 0: 224 with the large stem, 32 with the small one, of cnn 28, which takes no less than 8
    pub columns: i64,
    /// mobilenet_v2, cnn: numbers of filters times this, as multiples of 8 that are at least nine tenths of it; mobilenet_v2's last is never below 1280. 0: 1
    pub width: f64,
    /// 0: VOLTA_STEM_USUAL; cnn has the small one only
    pub stem: volta_network_stem,
}
impl Default for volta_network_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_open_options {
    pub struct_size: usize,
    pub mode: volta_load_mode,
    /// 1: verify every checksum although the file is mapped
    pub verify: i32,
}
impl Default for volta_open_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// The shape that an input of an imported graph gets. -1: an extent stays as the file has it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_input_shape {
    pub name: *const c_char,
    pub rank: i32,
    pub shape: [i64; 8],
}
impl Default for volta_input_shape {
    /// Zeros, which are the defaults.
    fn default() -> Self {
        unsafe { core::mem::zeroed() }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_import_options {
    pub struct_size: usize,
    pub format: volta_weight_format,
    /// as volta_tokenizer_open takes it; NULL: the one in the file or the folder, where there is one
    pub tokenizer_path: *const c_char,
    /// config.json of a safetensors model: what it is, with how many heads; NULL: the one beside the file. Files that say it themselves need none
    pub config_path: *const c_char,
    /// a text of lines "their.%d.name = our.%d.name \[transpose\]" for names that are not built in; NULL: none
    pub key_map_path: *const c_char,
    /// a BERT of another program: its head, segment_input, mask_input and dropout are these, sizes are the file's and 0 here; NULL: the head that the file has (masked, else classes, else pooled, else hidden), tokens as its only input
    pub bert: *const volta_bert_options,
    /// what the weights of products and the tables of tokens become: 0 or VOLTA_F32, f32, exactly; VOLTA_IMPORT_KEEP; or VOLTA_BF16, VOLTA_F16, VOLTA_INT8, VOLTA_INT4, VOLTA_F32_PANELS, as volta_model_quantize makes them of f32
    pub weights: i32,
    /// 1: the model carries no tokenizer, whatever the file has; with tokenizer_path NULL
    pub no_tokenizer: i32,
    /// the file holds a ResNet of this depth and these pictures, by torchvision's names (those of CIFAR may call the last layer "linear"); no config is needed. classes 0: as many as the file has. NULL: it is something else
    pub resnet: *const volta_resnet_options,
    /// of an ONNX file: extents of its inputs that it leaves open, and that the model cannot leave to whoever runs it; may be NULL
    pub shapes: *const volta_input_shape,
    pub shape_count: usize,
    /// what resnet says, of any network of volta_network_name
    pub network: *const volta_network_options,
    /// of an ONNX file: 1: its nodes stay as they are written; 0: those that are a layer norm, a GELU, attention and so on become that operator, which may round otherwise (docs/onnx.md)
    pub exact_graph: i32,
}
impl Default for volta_import_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_export_options {
    pub struct_size: usize,
    pub names: volta_weight_names,
    /// where VOLTA_NAMES_HUGGING_FACE writes the config.json; NULL: nowhere
    pub config_path: *const c_char,
}
impl Default for volta_export_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_onnx_export_options {
    pub struct_size: usize,
    /// of ONNX's operators: 13, 17, 20 or 21; 0: 13, which everything reads
    pub opset: i32,
    /// parameters of more bytes in all are written beside the file, to its path with ".data" behind; 0: as many as one file can hold, 2 GB
    pub inline_bytes: u64,
}
impl Default for volta_onnx_export_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_gguf_export_options {
    pub struct_size: usize,
    /// what weights of products and the table of tokens are written as: VOLTA_F32, VOLTA_F16, VOLTA_BF16, VOLTA_INT8: Q8_0, VOLTA_INT4: Q4_0; 0: as the model has them, to the bit
    pub weights: volta_dtype,
    /// 1: the file has no tokenizer, whatever the model carries
    pub no_tokenizer: i32,
}
impl Default for volta_gguf_export_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// LoRA: what volta_model_add_lora puts beside the weights of a base.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_lora_options {
    pub struct_size: usize,
    /// of the two matrices of an adapter; 0: 8; 1 .. 4096
    pub rank: i64,
    /// the change is alpha / rank times their product; 0: twice the rank; at most 1e6
    pub alpha: f64,
    /// parts q, k, v, o, gate, up, down, fc, fc_proj or names of weights, joined by +; NULL: "q+v"
    pub targets: *const c_char,
    /// of the values that adapters begin with
    pub seed: u64,
}
impl Default for volta_lora_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// Inputs, outputs and parameters, in declaration order. Lends: names until release. Shape: shape has room for
/// VOLTA_MAX_RANK extents; -1 stands for an extent that the host chooses per session (batch, time).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_tensor_info {
    pub name: *const c_char,
    pub dtype: volta_dtype,
    pub rank: i32,
    pub shape: [i64; 8],
}
impl Default for volta_tensor_info {
    /// Zeros, which are the defaults.
    fn default() -> Self {
        unsafe { core::mem::zeroed() }
    }
}

/// A message of a conversation. UTF-8, zero-terminated.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_chat_message {
    /// "system", "user" or "assistant"
    pub role: *const c_char,
    pub content: *const c_char,
}
impl Default for volta_chat_message {
    /// Zeros, which are the defaults.
    fn default() -> Self {
        unsafe { core::mem::zeroed() }
    }
}

/// Bytes of tensor memory by class. The peak that the allocator sees equals `total` exactly.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_bill {
    /// in: sizeof(volta_bill)
    pub struct_size: usize,
    /// copies the plan owns, packed ones too; 0 where it reads the model's
    pub parameters: u64,
    /// one per parameter, kept until the next step
    pub gradients: u64,
    /// moments
    pub optimizer_state: u64,
    /// arena: values that live between steps of the plan
    pub activations: u64,
    /// packed panels and per-thread scratch
    pub workspace: u64,
    /// inputs, targets and results the object keeps for the host
    pub staging: u64,
    pub total: u64,
    /// keys, values and angles of a generator's sequences; part of the total
    pub cache: u64,
}
impl Default for volta_bill {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_session_options {
    pub struct_size: usize,
    /// extents of all inputs, one after the other, in the model's order; NULL when no input has an extent of -1
    pub input_shapes: *const i64,
    /// how many extents in all
    pub input_extent_count: usize,
    /// VOLTA_SESSION_* bits
    pub flags: u32,
}
impl Default for volta_session_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_group_options {
    pub struct_size: usize,
    /// "local": processes of one machine; "tcp": of several; "mpi": those that an MPI library has started; "nccl": of several, from device to device; "host": exchange. NULL: "local"
    pub transport: *const c_char,
    /// local: a folder that all of them may write; tcp, nccl: HOST:PORT where rank 0 listens; mpi: the library's file, or "openmpi" or "mpich", NULL: what is found; host: NULL
    pub address: *const c_char,
    /// of this process: 0 .. size - 1
    pub rank: u32,
    /// processes, each with a rank of its own; a power of two. 0: 1; mpi: as many as it says, and rank is what it says
    pub size: u32,
    /// seconds after which a rank that does not answer is given up; 0: 30
    pub timeout: f64,
    /// host: the transport
    pub exchange: volta_exchange,
    /// handed to exchange
    pub user: *mut c_void,
    /// nccl: its file; NULL: libnccl.so.2
    pub library: *const c_char,
}
impl Default for volta_group_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// Numbers are doubles here, in the file and in the configuration; step factors are rounded to f32 once.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_trainer_options {
    pub struct_size: usize,
    /// of one micro-batch; as in volta_session_options
    pub input_shapes: *const i64,
    pub input_extent_count: usize,
    pub loss: volta_loss,
    pub optimizer: volta_optimizer,
    /// of batch order and dropout
    pub seed: u64,
    /// the whole run, which the schedule spans; required for COSINE
    pub steps: u64,
    /// accumulated per step; 0: one per shard
    pub micro_batches: u64,
    pub schedule: volta_schedule,
    /// linear from lr/warmup to lr
    pub warmup_steps: u64,
    /// 0: 1e-3
    pub learning_rate: f64,
    /// COSINE ends here
    pub final_learning_rate: f64,
    /// ADAM, ADAMW; 0: 0.9 and 0.999; -1: really 0
    pub beta1: f64,
    /// ADAM, ADAMW; 0: 0.9 and 0.999; -1: really 0
    pub beta2: f64,
    /// ADAM, ADAMW: 0: 1e-8; ADAGRAD: 0: 1e-10
    pub epsilon: f64,
    /// applied as decay_all_parameters says
    pub weight_decay: f64,
    /// 0: parameters of rank >= 2 only; 1: all
    pub decay_all_parameters: i32,
    /// SGD; 0: none, and no memory for it
    pub momentum: f64,
    /// SGD: 1: Nesterov momentum
    pub nesterov: i32,
    /// largest global gradient norm; 0: no clipping
    pub clip_norm: f64,
    pub nonfinite: volta_nonfinite_policy,
    /// the model output that the loss is taken of
    pub output_index: i32,
    /// CROSS_ENTROPY: what all classes share of a target; at least 0, below 1
    pub label_smoothing: f64,
    /// CROSS_ENTROPY: one per class; the mean is divided by the sum of the targets' weights. BINARY_CROSS_ENTROPY: of the positive, one per column; the mean stays that of all elements. NULL: none. Copied.
    pub class_weights: *const f64,
    pub class_weight_count: usize,
    /// HUBER: difference at which the square becomes a line; 0: 1
    pub huber_delta: f64,
    /// Parameters that keep their bits: names, or patterns in which * stands for any characters and ? for one. They get no gradient and no optimizer state. A batch_norm whose running mean and variance are frozen is computed by them, as in inference. NULL: none. Copied.
    pub frozen: *const *const c_char,
    pub frozen_count: usize,
    /// 1: a row holds documents side by side: none sees another, and each begins at position 0. For models with one i32 input \[batch, time\] and the CROSS_ENTROPY loss. A step takes one input more behind the tokens, i32 of their shape: the place in its row where the document of each token begins. The model that is saved stays as it is.
    pub packed_documents: i32,
    /// The rest says where and when, never what: results keep every bit, and a checkpoint has none of it. Most bytes of the bill's activations: the backward pass computes again what is not kept for it, the cheapest choice that fits (docs/memory.md). OUT_OF_MEMORY names the smallest budget that works. 0: the fastest plan, or, in a context with a host_budget, the fastest that fits in what is left of it.
    pub activation_budget: u64,
    /// A folder on a disk: moments lie in a file there that has no name, mapped, rather than in memory, and the bill is without them. On a processor only. NULL: in memory. Copied.
    pub state_folder: *const c_char,
    /// 1: a parameter is updated as soon as its gradient is complete, which then needs no memory; there is no volta_trainer_gradient. Needs one micro-batch. With clip_norm a step computes its gradients twice, first for their norm. A step that fails or is not finite has changed some parameters: every later call fails so, go on from a checkpoint.
    pub update_in_backward: i32,
    /// A power of two that divides micro_batches: a step's batch is so many equal parts, whose gradients and losses are each computed complete and added as a tree. Unlike the fields above part of what is computed, and of a checkpoint. Who computes a shard is not: one process or a group of up to so many ranks, with the same bits. 0: 1.
    pub shards: u64,
    /// Of this run alone: the ranks that compute the shards, each rank the same number. All of them make the same calls, on the same model, options and data; the optimizer's state is divided among them. NULL: this process computes all.
    pub group: *mut volta_group,
}
impl Default for volta_trainer_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// What a training step costs, beside the memory of its bill.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_training_cost {
    /// in: sizeof(volta_training_cost)
    pub struct_size: usize,
    /// of products and attention in one step; a multiply-add is two
    pub operations: f64,
    /// of these, what is computed again for activation_budget
    pub repeated_operations: f64,
    /// operands and results of the plan's steps, each moved once
    pub bytes: f64,
    /// of a step in which all ran at the speed given: no step is faster. 0: none given
    pub seconds: f64,
    /// the least activation_budget that works
    pub smallest_activations: u64,
}
impl Default for volta_training_cost {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// A step of a trainer's plan, as volta_trainer_estimate_steps tells it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_plan_step {
    /// out: the library's sizeof(volta_plan_step)
    pub struct_size: usize,
    /// the operator's name
    pub operation: *const c_char,
    /// bytes of activations that hold something while it runs
    pub alive: u64,
    pub part: volta_plan_part,
}
impl Default for volta_plan_step {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// What a step reports.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_step_report {
    pub struct_size: usize,
    /// 1 after the first
    pub step: u64,
    /// mean over the step's targets, before the update
    pub loss: f32,
    /// global, before clipping
    pub gradient_norm: f32,
    /// used in this step
    pub learning_rate: f64,
    /// Of a group, else 0: seconds of the step in which this rank waited for others to be as far as it was, and in which gradients and parameters went between them. The rest it computed.
    pub wait_seconds: f64,
    /// Of a group, else 0: seconds of the step in which this rank waited for others to be as far as it was, and in which gradients and parameters went between them. The rest it computed.
    pub exchange_seconds: f64,
}
impl Default for volta_step_report {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_tape_options {
    pub struct_size: usize,
    pub mode: volta_tape_mode,
    /// VOLTA_TAPE_* bits
    pub flags: u32,
    /// of dropout, which needs no input of its own on a tape: it draws anew after each step
    pub seed: u64,
    /// that it keeps; the one that was used the longest ago goes first. 0: 4096
    pub most_plans: u64,
}
impl Default for volta_tape_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// The trainer's options of the same names, and their defaults.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_optimizer_options {
    pub struct_size: usize,
    pub optimizer: volta_optimizer,
    pub schedule: volta_schedule,
    pub steps: u64,
    pub warmup_steps: u64,
    pub learning_rate: f64,
    pub final_learning_rate: f64,
    pub beta1: f64,
    pub beta2: f64,
    pub epsilon: f64,
    pub weight_decay: f64,
    pub decay_all_parameters: i32,
    pub momentum: f64,
    pub nesterov: i32,
    /// over the tensors of one step
    pub clip_norm: f64,
}
impl Default for volta_optimizer_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// How a captured model names its tensors, and which extents it leaves open.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_capture_options {
    pub struct_size: usize,
    /// that the record reads, and their names; others are called "p0", "p1", ... if they require a gradient, else "x0", "x1", ...
    pub tensors: *const *const volta_tensor,
    pub names: *const *const c_char,
    pub name_count: usize,
    /// one per output; NULL: "y0", "y1", ...
    pub output_names: *const *const c_char,
    /// 1: the first extent of every input is the host's to choose
    pub open_batch: i32,
}
impl Default for volta_capture_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_compile_options {
    pub struct_size: usize,
    /// VOLTA_TAPE_ONE_SEGMENT: a result that is read within the function is an error
    pub flags: u32,
    /// of dropout
    pub seed: u64,
}
impl Default for volta_compile_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_tape_info {
    pub struct_size: usize,
    /// that have ended
    pub records: u64,
    /// recorded
    pub calls: u64,
    /// pieces of records that were computed
    pub segments: u64,
    /// of these, whose plan was there
    pub plans_known: u64,
    pub plans_made: u64,
    /// operators computed again, because their results had not been held
    pub repeated_nodes: u64,
    /// different records that are remembered, at most 64
    pub traces: u64,
    /// of results and workspace, for the next record too
    pub held_bytes: u64,
    /// at most most_plans
    pub plans_held: u64,
    /// because others were used more recently
    pub plans_released: u64,
}
impl Default for volta_tape_info {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_generator_options {
    pub struct_size: usize,
    /// 0: greedy
    pub temperature: f64,
    /// keep the k most likely; 0: all
    pub top_k: i32,
    /// keep the smallest head with this mass; 0: all
    pub top_p: f64,
    /// keep tokens of at least this share of the best; 0: all
    pub min_p: f64,
    /// > 1 discourages tokens of the sequence; 0: 1, none
    pub repetition_penalty: f64,
    pub seed: u64,
    /// the most there are at once; 0: 1. Each has its share of the cache
    pub sequences: i64,
    /// the most tokens of a sequence; 0: the model's context. Less saves memory
    pub context: i64,
    /// the most tokens of a prompt per run; 0: 256. No bit depends on it
    pub prefill_chunk: i64,
    /// VOLTA_GENERATOR_* bits
    pub flags: u32,
    /// of each sequence, what the cache has room for at first; 0: the context. It doubles when a sequence outgrows it. Ignored without a cache. No bit depends on it
    pub cache_tokens: i64,
}
impl Default for volta_generator_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// What computing one token of one sequence takes at least: to be divided by volta_machine_speed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_token_cost {
    /// in: sizeof(volta_token_cost)
    pub struct_size: usize,
    /// each parameter once; of an embedding only the rows that are looked up
    pub parameter_bytes: u64,
    /// keys and values of the tokens before, and its own
    pub cache_bytes: u64,
    /// of products and attention; a multiply-add is two
    pub operations: f64,
}
impl Default for volta_token_cost {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_sampling_options {
    pub struct_size: usize,
    pub temperature: f64,
    pub top_k: i32,
    pub top_p: f64,
    pub min_p: f64,
    pub repetition_penalty: f64,
    pub seed: u64,
}
impl Default for volta_sampling_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// Everything is borrowed until the call returns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_write_options {
    pub struct_size: usize,
    /// 0: as many as the context holds
    pub max_tokens: i64,
    /// the text ends before the first of them that is drawn
    pub stop_tokens: *const i32,
    /// at most 65536
    pub stop_token_count: usize,
    /// the text ends before the first of them that is complete; of several that are complete with the same byte, before the longest. They may span tokens
    pub stop_texts: *const *const c_char,
    /// at most 1024, each of at most 65536 bytes
    pub stop_text_count: usize,
    /// from the beginning of the call, by a clock that is never set; 0: no end
    pub max_seconds: f64,
    /// looked at as max_seconds is: before each token, and between the pieces (prefill_chunk) of a prompt. NULL: none
    pub cancel: *const volta_cancel,
    /// not 0: stop. NULL: none
    pub on_text: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize, i32) -> i32>,
    /// passed to on_text
    pub user: *mut c_void,
    /// VOLTA_WRITE_* bits
    pub flags: u32,
}
impl Default for volta_write_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_write_result {
    /// in: sizeof(volta_write_result)
    pub struct_size: usize,
    pub reason: volta_stop_reason,
    /// which of stop_tokens or stop_texts it was; -1 for another reason
    pub stop_index: i32,
    /// drawn, and appended to the sequence
    pub token_count: i64,
    /// the latest of them; -1: none
    pub last_token: i32,
    /// 0 .. 3, at the end of the text: the beginning of a character
    pub unfinished_bytes: i32,
    /// of all pieces, with or without an on_text
    pub text_bytes: u64,
}
impl Default for volta_write_result {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// One matrix product C \[m, n\] = A \[m, k\] x B \[k, n\] of f32. A transposed operand is stored as its transpose.
///
/// Units: leading dimensions are elements from row to row as stored; 0: dense.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_tune_shape {
    /// 1 .. 2^24
    pub m: i64,
    /// 1 .. 2^24
    pub n: i64,
    /// 1 .. 2^24
    pub k: i64,
    pub a_transposed: i32,
    pub b_transposed: i32,
    pub lda: i64,
    pub ldb: i64,
    pub ldc: i64,
}
impl Default for volta_tune_shape {
    /// Zeros, which are the defaults.
    fn default() -> Self {
        unsafe { core::mem::zeroed() }
    }
}

/// What volta_tune tells while it works, and about each product when it has been tuned.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_tune_report {
    /// sizeof(volta_tune_report) of the library
    pub struct_size: usize,
    /// which product of how many
    pub index: usize,
    /// which product of how many
    pub count: usize,
    /// of the whole work, 0 .. 1
    pub share: f64,
    /// 1: what follows is final for this product; 0: it is being searched
    pub done: i32,
    /// 1: bias, activation or the like follow it (a stand-in is timed)
    pub has_epilogue: i32,
    /// leading dimensions filled in
    pub shape: volta_tune_shape,
    /// products of this shape in one call
    pub batch: i64,
    /// of the default rules; median of the final play-off
    pub default_seconds: f64,
    /// of the choice; the same where the default stays
    pub tuned_seconds: f64,
    /// for comparison: tile 8x8 (4x4 in scalar code), K_BLOCK 128, M_BLOCK 64, operands packed; on a GPU tiles of 64 x 64
    pub classic_seconds: f64,
    pub plans_timed: u64,
    /// "f32_gemm_14x32_avx512 k_block=512", on a GPU "form=segments tile=64": the fields that are not the default rule; "": the default stays. Lends: until the callback returns
    pub choice: *const c_char,
    /// 1: of a session with VOLTA_SESSION_PACK_WEIGHTS: B is packed before it is timed
    pub packed_once: i32,
    /// 1: the weights of its plan are more than half of the LLC: B is timed as it comes from there, with the memory that those weights take
    pub from_memory: i32,
}
impl Default for volta_tune_report {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_tune_options {
    pub struct_size: usize,
    /// may be NULL
    pub shapes: *const volta_tune_shape,
    pub shape_count: usize,
    /// all products of this session; may be NULL
    pub session: *const volta_session,
    /// all products of this trainer's step; may be NULL
    pub trainer: *const volta_trainer,
    /// timed runs per contender, of which the median counts; 0: 5
    pub runs: u32,
    /// runs before them; 0: 1
    pub warmup: u32,
    /// for all products together, about; 0: 3 each, at most 20 in all
    pub seconds: f64,
    /// not 0: stop. NULL: none
    pub progress: Option<unsafe extern "C" fn(*mut c_void, *const volta_tune_report) -> i32>,
    /// passed to progress
    pub user: *mut c_void,
}
impl Default for volta_tune_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// A profile is what a context did between start and stop: its calls, the phases of their plans, every step, and what
/// each thread of the pool had of it. Results have the same bits with and without; while nothing is recorded a step
/// costs one branch more. Recording takes two looks at a clock per step and thread, and allocates nothing.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_profile_options {
    pub struct_size: usize,
    /// events that are kept, 48 bytes each; 0: 65536; at most 2^24. Later ones are counted as dropped; operators are complete all the same
    pub capacity: u64,
}
impl Default for volta_profile_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_profile_info {
    /// in: sizeof(volta_profile_info)
    pub struct_size: usize,
    /// that were kept
    pub event_count: u64,
    /// that came when the room was full
    pub dropped: u64,
    /// rows of volta_profile_get_operator
    pub operator_count: u64,
    /// of the context: lanes
    pub thread_count: u32,
    /// from start to stop
    pub duration_ns: u64,
    /// in outermost calls: sessions, trainers, generators
    pub calls_ns: u64,
    /// of these in steps of plans: the sum over all operators
    pub steps_ns: u64,
    /// the most tensor memory that the context held when a call or phase began
    pub held_bytes_peak: u64,
    /// the most of it that was activations which a later step still reads
    pub live_bytes_peak: u64,
}
impl Default for volta_profile_info {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// All steps of one operator, dropped events included.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_profile_operator {
    /// in: sizeof(volta_profile_operator)
    pub struct_size: usize,
    /// "matmul": docs/operators.md. Lends: for ever
    pub name: *const c_char,
    pub calls: u64,
    pub total_ns: u64,
    /// of all steps, 0 .. 1
    pub share: f64,
    /// of products and attention, a multiply-add is two; 0: not known
    pub operations: f64,
    /// of its operands and results, each once, wherever they lie; 0: not known
    pub bytes: u64,
}
impl Default for volta_profile_operator {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// Fields that say nothing about an event of its kind are "", -1 or 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_profile_event {
    /// in: sizeof(volta_profile_event)
    pub struct_size: usize,
    pub kind: volta_profile_kind,
    /// the lane: 0: the host's, 1 .. thread_count - 1: the pool's, thread_count: a group's
    pub thread: u32,
    /// events of its lane that it lies in
    pub depth: u32,
    /// since start, monotonic
    pub begin_ns: u64,
    /// since start, monotonic
    pub end_ns: u64,
    /// CALL, PHASE: as above; STEP, WORKER: the operator
    pub name: *const c_char,
    /// STEP, WORKER: the parameter, gradient or output that it reads or makes: "block.0.qkv.weight"
    pub node: *const c_char,
    /// STEP, WORKER: as the plan prints it: "f32_gemm_8x48_avx512"
    pub kernel: *const c_char,
    /// STEP, WORKER: its number in the plan's print
    pub step: i64,
    /// STEP, WORKER: the first value that it writes: 12 is %12
    pub value: i64,
    /// CALL: the number of a train_step, tokens of a prefill, rows of a decode, sequences of a token_step; PHASE: the micro-batch
    pub number: i64,
    /// STEP: as in volta_profile_operator
    pub operations: f64,
    /// STEP: likewise
    pub bytes: u64,
    /// STEP: of the plan's activations that are alive during it
    pub live_bytes: u64,
    /// CALL, PHASE: of tensor memory that the context held as it began
    pub held_bytes: u64,
}
impl Default for volta_profile_event {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// Of data sets, and of pictures that are read by themselves.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_dataset_options {
    pub struct_size: usize,
    /// copied; its functions are used until release. NULL: the C heap
    pub allocator: *const volta_allocator,
    /// NULL: no log
    pub log: Option<unsafe extern "C" fn(*mut c_void, volta_log_level, *const c_char)>,
    /// passed to log
    pub log_user: *mut c_void,
    /// 0: VOLTA_SPLIT_TRAIN
    pub split: volta_data_split,
    /// 0
    pub reserved: u32,
    /// height * width of a picture; a larger one is refused before memory is allocated for it. 0: 67,108,864
    pub max_pixels: u64,
    /// of a picture's file, and of a gzip file when it is decompressed; a larger one is refused likewise. 0: 1 GiB
    pub max_file_bytes: u64,
}
impl Default for volta_dataset_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_dataset_info {
    /// in: sizeof(volta_dataset_info)
    pub struct_size: usize,
    /// at least 1
    pub sample_count: u64,
    /// at least 1
    pub class_count: u32,
    /// 1 or 3
    pub channels: u32,
    /// of all pictures; 0: each has its own
    pub height: u32,
    /// the same
    pub width: u32,
}
impl Default for volta_dataset_info {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_picture_info {
    /// in: sizeof(volta_picture_info)
    pub struct_size: usize,
    /// Shape: \[channels, height, width\]. Lends: until the picture's release
    pub pixels: *const u8,
    /// 1 or 3
    pub channels: u32,
    pub height: u32,
    pub width: u32,
    /// -1: none
    pub label: i32,
}
impl Default for volta_picture_info {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// What becomes of a picture, in the order of docs/data.md. Fields marked "random" are a loader's alone, and left out with
/// VOLTA_LOADER_EVALUATE and by volta_picture_transform.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_transform_options {
    pub struct_size: usize,
    /// 1 or 3; 0: as the pictures are
    pub channels: u32,
    /// of the result; 0: of the pictures, which then have one size
    pub height: u32,
    /// the same; both are 0 or neither
    pub width: u32,
    /// what the shorter side becomes before the crop; VOLTA_RESIZE_EXACT: to height x width; 0: nothing is resized
    pub resize: u32,
    /// 0: VOLTA_FILTER_BILINEAR
    pub filter: volta_filter,
    /// per channel, of values between 0 and 1; subtracted
    pub mean: [f32; 3],
    /// per channel; divided by. 0: 1
    pub deviation: [f32; 3],
    /// random: 1: the crop lies anywhere in picture and padding, not in the middle
    pub random_crop: i32,
    /// random: zeros on each side for random_crop; at most 4096
    pub crop_padding: u32,
    /// random: 1: a part of the picture, resized to height x width, in place of resize and crop
    pub random_resized_crop: i32,
    /// random: of that part, of the picture's. 0: 0.08
    pub area_min: f32,
    /// random: 0: 1
    pub area_max: f32,
    /// random: its width over its height. 0: 0.75
    pub ratio_min: f32,
    /// random: 0: 4/3
    pub ratio_max: f32,
    /// random: probability of left to right; 0: never
    pub flip: f32,
    /// random: factors are between 1 - this and 1 + this; at most 1
    pub brightness: f32,
    /// random: the same
    pub contrast: f32,
    /// random: the same
    pub saturation: f32,
    /// random: side of a square of zeros, in pixels; 0: none
    pub cutout: u32,
    /// random: the parameter of the Beta distribution, 0.01 to 100; 0: none. Labels are then weights of classes
    pub mixup: f32,
}
impl Default for volta_transform_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_text_info {
    /// in: sizeof(volta_text_info)
    pub struct_size: usize,
    /// Lends: until the text's release; a zero stands behind them
    pub bytes: *const c_char,
    /// at least 1
    pub byte_count: u64,
    /// of the first file that was read. Lends: likewise
    pub path: *const c_char,
    /// how many were
    pub file_count: u64,
}
impl Default for volta_text_info {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

/// A line of JSON that a model is fine-tuned on: a prompt with its completion, or messages, or a text, perhaps with a pair
/// and a label. What it does not have is NULL, 0 or -1. Lends: until the documents' release. UTF-8, zero-terminated.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_document {
    /// in: sizeof(volta_document)
    pub struct_size: usize,
    pub prompt: *const c_char,
    pub completion: *const c_char,
    /// as volta_model_encode_chat takes them
    pub messages: *const volta_chat_message,
    pub message_count: usize,
    pub text: *const c_char,
    pub text_pair: *const c_char,
    /// of a label that is a name
    pub label_name: *const c_char,
    /// of one that is a number, from 0
    pub label: i32,
    /// where it stands, from 1
    pub line: u64,
}
impl Default for volta_document {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_loader_options {
    pub struct_size: usize,
    /// copied; NULL: all defaults
    pub transform: *const volta_transform_options,
    /// of order and augmentation
    pub seed: u64,
    /// the first so many samples of the data set; 0: all
    pub sample_limit: u64,
    /// samples of a batch; 0: 32; at most 65536
    pub batch: u32,
    /// threads that load; 0: 1; at most 256. No bit depends on it
    pub thread_count: u32,
    /// batches that are loaded ahead; 0: 2; at most 256
    pub queue: u32,
    /// 0: VOLTA_ORDER_SEQUENTIAL
    pub order: volta_data_order,
    /// 0: VOLTA_BATCHES_FULL
    pub batches: volta_data_batches,
    /// 0: VOLTA_DAMAGED_STOP
    pub damaged: volta_data_damaged,
    /// VOLTA_LOADER_* bits
    pub flags: u32,
    /// 0
    pub reserved: u32,
}
impl Default for volta_loader_options {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct volta_batch {
    /// in: sizeof(volta_batch)
    pub struct_size: usize,
    /// Shape: \[count, channels, height, width\]. At a multiple of 64 bytes
    pub pixels: *const f32,
    /// Shape: \[count\], of the samples themselves with mixup
    pub labels: *const i32,
    /// Shape: \[count, class_count\] with mixup; else NULL
    pub weights: *const f32,
    /// Shape: \[count\]. Which samples of the data set
    pub samples: *const u64,
    pub epoch: u64,
    /// of the epoch, from 0
    pub batch: u64,
    pub batches_of_epoch: u64,
    /// damaged samples, of this batch
    pub skipped: u64,
    /// samples
    pub count: u32,
    pub channels: u32,
    pub height: u32,
    pub width: u32,
}
impl Default for volta_batch {
    /// Zeros, which are the defaults, with the size.
    fn default() -> Self {
        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }
    }
}

#[link(name = "volta")]
extern "C" {
    /// "0.1.0", of the library that is loaded. Never NULL.
    pub fn volta_version() -> *const c_char;
    /// "VOLTA_OK", ...; "VOLTA_UNKNOWN" for a value that is no status. Never NULL. Thread: any.
    pub fn volta_status_name(status: volta_status) -> *const c_char;
    /// One English line about the calling thread's latest Volta call: what was wrong, and with which value.
    /// "" after a call that succeeded; never NULL.
    ///
    /// Lends: valid until this thread calls Volta again.
    ///
    /// Thread: each thread has its own text. It is thread-local, as are the floating-point environment that a function
    /// of the host is given back and the allocator that code of others works with; nothing else is.
    pub fn volta_last_error() -> *const c_char;
    /// The status that this text belongs to: of a call that returns none itself, as volta_tensor_data. VOLTA_OK after a call
    /// that succeeded. Thread: as volta_last_error.
    pub fn volta_last_status() -> volta_status;
    ///
    /// Owns: *out_context, ended by volta_context_release.
    ///
    /// Cost: starts thread_count - 1 threads, which sleep but for 60 microseconds after a call; none with a parallel_for.
    ///
    /// Keeps: nothing of tuning_folder but a copy. A tuning file that cannot be used (damaged, of another processor
    /// or contract) is ignored with one line of the log that says why; it is never an error.
    ///
    /// Errors: INVALID_ARGUMENT  an unknown level, precision, isa, step_order, flag or device, VOLTA_STRICT with a precision
    /// other than FP32, too many threads, an empty folder
    /// UNSUPPORTED       an isa that this processor does not have; a precision that the device does not have; a
    /// device of CUDA without the CUDA module, a driver (12.0 or newer) or a device. Nothing
    /// else is used in its place
    /// DEVICE_ERROR      the driver failed
    pub fn volta_context_create(options: *const volta_context_options, out_context: *mut *mut volta_context) -> volta_status;
    pub fn volta_context_release(context: *mut volta_context);
    /// Fills what fits in info->struct_size.
    pub fn volta_context_get_info(context: *const volta_context, info: *mut volta_context_info) -> volta_status;
    /// Asks every call that was given `cancel` to end. NULL: no effect. It is one store to a lock-free integer and leaves
    /// volta_last_error alone.
    ///
    /// Thread: any, at any time; also inside a signal handler.
    pub fn volta_cancel_request(cancel: *mut volta_cancel);
    /// From now on, what the long calls of this context and of all that is made from it ask between pieces of their work,
    /// whether they shall end. One that ends so reports CANCELLED, its text says before which piece, and nothing is lost:
    ///   volta_trainer_step, volta_trainer_step_tokens       before each micro-batch and before the update: parameters,
    ///       moments, step and place in the tokens are as before. On a device of its own memory, and in a group, before the step
    ///       alone; of a group all ranks end so, where one is asked to
    ///   volta_trainer_evaluate_tokens, volta_model_evaluate_tokens   before each batch of windows
    ///   volta_model_import    before each node and parameter;   volta_model_quantize   before each parameter
    ///   volta_model_open, volta_model_open_memory           before each checksum that is verified
    ///   volta_model_save, volta_trainer_save, volta_model_export_*, volta_tensors_save   before each checksum and each
    ///       megabyte, and before the new file takes the old one's place: the old one stays;   volta_tensors_open   before
    ///       each tensor
    ///   volta_tokenizer_train_bpe   before each piece;      volta_tune   after each race: what was tuned by then is kept
    ///   volta_generator_next, volta_generator_step          between pieces (prefill_chunk) of a prompt
    ///   volta_generator_write   before each token and piece; it ends VOLTA_OK, VOLTA_STOP_CANCELLED or VOLTA_STOP_DEADLINE
    /// The same call made again does the same work, with the same result. options NULL: nothing ends them.
    ///
    /// Cost: one store; a question costs one branch where nothing is set.
    ///
    /// Errors: INVALID_ARGUMENT  max_seconds is negative or not finite
    pub fn volta_context_set_stop(context: *mut volta_context, options: *const volta_stop_options) -> volta_status;
    /// How many devices a backend, "cpu" or "cuda", has on this machine, and what they are. Fills what fits in
    /// info->struct_size; zeros on failure. Thread: any.
    ///
    /// Errors: INVALID_ARGUMENT  an unknown backend, an index that is none
    /// UNSUPPORTED       no CUDA module, driver or device: the sentence says which
    /// DEVICE_ERROR      the driver failed
    pub fn volta_device_count(backend: *const c_char, out_count: *mut u32) -> volta_status;
    pub fn volta_device_describe(backend: *const c_char, index: u32, info: *mut volta_device_info) -> volta_status;
    /// The device of a context.
    pub fn volta_context_get_device(context: *const volta_context, info: *mut volta_device_info) -> volta_status;
    /// Fills what fits in speed->struct_size; zeros on failure.
    ///
    /// Cost: about a second on all threads, and buffer_bytes of structure memory, or of the device's, until it
    /// returns.
    ///
    /// Errors: OUT_OF_MEMORY  the buffer
    pub fn volta_measure_machine(context: *mut volta_context, speed: *mut volta_machine_speed) -> volta_status;
    /// A new tensor of zeros. Shape: rank 0 (one element) to 8; extents >= 0.
    ///
    /// Owns: *out_tensor, ended by volta_tensor_release.
    pub fn volta_tensor_create(context: *mut volta_context, dtype: volta_dtype, shape: *const i64, rank: i32, out_tensor: *mut *mut volta_tensor) -> volta_status;
    /// A tensor over memory of the host, which must outlive it. Units: data holds the shape's product of elements.
    ///
    /// Errors: INVALID_ARGUMENT  data is NULL or not aligned to its element size
    pub fn volta_tensor_wrap(context: *mut volta_context, dtype: volta_dtype, shape: *const i64, rank: i32, data: *mut c_void, out_tensor: *mut *mut volta_tensor) -> volta_status;
    pub fn volta_tensor_release(tensor: *mut volta_tensor);
    pub fn volta_tensor_dtype(tensor: *const volta_tensor) -> volta_dtype;
    /// 0 for NULL
    pub fn volta_tensor_rank(tensor: *const volta_tensor) -> i32;
    /// -1 for NULL
    pub fn volta_tensor_extent(tensor: *const volta_tensor, axis: i32) -> i64;
    /// -1: none
    pub fn volta_tensor_elements(tensor: *const volta_tensor) -> i64;
    ///
    /// Lends: the elements, for reading and writing, until release; of a tape's result or gradient, which this computes if
    /// need be, for reading, until the record ends. NULL: they could not be computed, volta_last_status and volta_last_error
    /// say why.
    pub fn volta_tensor_data(tensor: *mut volta_tensor) -> *mut c_void;
    /// Sets every element to `value`, rounded once to f32: zeros, ones and any other number.
    ///
    /// Errors: INVALID_ARGUMENT  an i32 tensor, and a value that is no whole number of 32 bits
    pub fn volta_tensor_fill(tensor: *mut volta_tensor, value: f64) -> volta_status;
    /// Sets element i, in row-major order, to start + i * step, computed in double and rounded once to f32.
    ///
    /// Errors: INVALID_ARGUMENT  start or step is not finite; an i32 tensor, and a start or step that is no whole number or
    /// a last element that 32 bits do not hold. Nothing was set
    pub fn volta_tensor_arange(tensor: *mut volta_tensor, start: f64, step: f64) -> volta_status;
    /// Sets an f32 tensor to the very bits that a parameter of its shape and init has in a model made from this seed, where
    /// `stream` is the parameter's number in its graph, from 0 on in the order in which they were declared. init NULL:
    /// zeros. The same on every number of threads and instruction set.
    ///
    /// Errors: INVALID_ARGUMENT  an i32 tensor, an unknown kind, numbers that are not finite, a stream of 2^24 or more
    pub fn volta_tensor_random(tensor: *mut volta_tensor, init: *const volta_init, seed: u64, stream: u32) -> volta_status;
    /// The text that NumPy (2.3 and newer) gives for str() of this array with its default options: rows in brackets, at most
    /// 75 columns and 8 digits, three elements at both ends of each axis of a tensor of more than 1000. Lends: until the
    /// tensor's next print or its release.
    pub fn volta_tensor_print(tensor: *mut volta_tensor, out_text: *mut *const c_char) -> volta_status;
    /// Compares a with what is expected, b. Elements are the same where |a - b| <= atol + rtol * |b|, in double; an infinity
    /// is the same as itself alone, NaN as any NaN. rtol and atol both 0: only where their bits are the same, so -0 and +0
    /// differ; and NaN as any NaN. Fills what fits in report->struct_size; that they differ is no error.
    ///
    /// Errors: INVALID_ARGUMENT  other dtypes; a tolerance that is negative or not finite
    /// SHAPE_MISMATCH    other shapes, of which the text gives both
    pub fn volta_tensor_compare(a: *const volta_tensor, b: *const volta_tensor, rtol: f64, atol: f64, report: *mut volta_comparison) -> volta_status;
    /// Writes named tensors to one file, whose format its name ends with:
    ///   .safetensors  at most 16384 tensors;   .npz  the same, NumPy's archive of .npy files, stored as they are;
    ///   .npy          NumPy's file of one tensor; names may be NULL
    /// A name is UTF-8 of 1 to 255 bytes without control characters, and there once. The same tensors give the same bytes.
    /// The file is either the old one or the whole new one at every instant.
    ///
    /// Errors: INVALID_ARGUMENT  another ending, a bad or repeated name, a .npy of more or fewer than one tensor
    /// IO_ERROR          not writable, disk full; the old file is as it was
    pub fn volta_tensors_save(context: *mut volta_context, path: *const c_char, names: *const *const c_char, tensors: *const *const volta_tensor, count: usize) -> volta_status;
    /// Reads all tensors of a file that ends with .safetensors, .npy or .npz, of this library or another program
    /// (docs/formats.md). f32 and i32 come as they are; floats of 16, 8 and 64 bits become f32, integers and truth values i32,
    /// where every element is exactly that. Fortran's order and big-endian numbers are turned. The tensor of a .npy is named
    /// "arr_0", as NumPy names arrays without one. The file is treated as hostile.
    ///
    /// Owns: *out_tensors, ended by volta_tensors_release.
    ///
    /// Cost: the bytes of all tensors.
    ///
    /// Errors: INVALID_ARGUMENT  another ending
    /// IO_ERROR          missing, not readable
    /// CORRUPT_MODEL     damaged; the reason is in the text
    /// UNSUPPORTED       a compressed archive, other types; an element that f32 or i32 does not hold
    pub fn volta_tensors_open(context: *mut volta_context, path: *const c_char, out_tensors: *mut *mut volta_tensors) -> volta_status;
    pub fn volta_tensors_release(tensors: *mut volta_tensors);
    pub fn volta_tensors_count(tensors: *const volta_tensors) -> usize;
    ///
    /// Lends: until release. NULL: no tensor of this index.
    pub fn volta_tensors_name(tensors: *const volta_tensors, index: usize) -> *const c_char;
    ///
    /// Lends: until release; volta_tensor_release is not for it. NULL: no tensor of this index.
    pub fn volta_tensors_tensor(tensors: *mut volta_tensors, index: usize) -> *mut volta_tensor;
    pub fn volta_graph_create(context: *mut volta_context, out_graph: *mut *mut volta_graph) -> volta_status;
    pub fn volta_graph_release(graph: *mut volta_graph);
    /// An input that every run is given. Names are unique within the graph's inputs and parameters.
    pub fn volta_graph_input(graph: *mut volta_graph, name: *const c_char, dtype: volta_dtype, shape: *const i64, rank: i32, out_value: *mut volta_value) -> volta_status;
    /// A trainable f32 tensor. init NULL: zeros.
    pub fn volta_graph_parameter(graph: *mut volta_graph, name: *const c_char, shape: *const i64, rank: i32, init: *const volta_init, out_value: *mut volta_value) -> volta_status;
    /// A tensor of fixed values, copied.
    pub fn volta_graph_constant(graph: *mut volta_graph, tensor: *const volta_tensor, out_value: *mut volta_value) -> volta_status;
    /// Applies the operator named `op` to `inputs`; its outputs go to out_values\[0 .. out_count-1\]. out_count may be
    /// smaller than the operator's number of outputs: the rest is not handed out. out_values may be `inputs`.
    ///
    /// Errors: INVALID_ARGUMENT  an unknown operator or attribute, a wrong number of inputs
    /// SHAPE_MISMATCH    shapes that do not fit, "matmul: inner extents differ: \[64, 384\] x \[256, 384\]"
    pub fn volta_graph_apply(graph: *mut volta_graph, op: *const c_char, inputs: *const volta_value, input_count: usize, attributes: *const volta_attribute, attribute_count: usize, out_values: *mut volta_value, out_count: usize) -> volta_status;
    /// volta_graph_apply for the common case of one or two inputs, no attribute and one output.
    pub fn volta_graph_unary(graph: *mut volta_graph, op: *const c_char, x: volta_value, out_value: *mut volta_value) -> volta_status;
    pub fn volta_graph_binary(graph: *mut volta_graph, op: *const c_char, a: volta_value, b: volta_value, out_value: *mut volta_value) -> volta_status;
    /// y = x W + b with new parameters "<name>.weight" \[in, out\], N(0, 1/sqrt(in)), and "<name>.bias" \[out\], zeros.
    ///
    /// Shape: x \[..., in\]; y \[..., out\].
    pub fn volta_graph_linear(graph: *mut volta_graph, name: *const c_char, x: volta_value, out_features: i64, out_value: *mut volta_value) -> volta_status;
    /// Declares a result of the graph, in call order.
    pub fn volta_graph_output(graph: *mut volta_graph, name: *const c_char, value: volta_value) -> volta_status;
    /// Shape of a value. Shape: shape has room for VOLTA_MAX_RANK extents.
    pub fn volta_graph_value_shape(graph: *const volta_graph, value: volta_value, shape: *mut i64, out_rank: *mut i32) -> volta_status;
    /// The graph as stable text, one node a line. Lends: until the graph changes or is released.
    pub fn volta_graph_print(graph: *mut volta_graph, out_text: *mut *const c_char) -> volta_status;
    /// 256 tokens, one per byte.
    pub fn volta_tokenizer_create_byte(context: *mut volta_context, out_tokenizer: *mut *mut volta_tokenizer) -> volta_status;
    /// The sorted distinct characters (code points) of a UTF-8 text.
    ///
    /// Errors: INVALID_ARGUMENT  an empty text; bytes that are not UTF-8, with their offset
    pub fn volta_tokenizer_create_char(context: *mut volta_context, text: *const c_char, text_bytes: usize, out_tokenizer: *mut *mut volta_tokenizer) -> volta_status;
    /// A tokenizer from a file of another program (docs/tokenizers.md). The file is treated as hostile.
    ///
    /// Errors: IO_ERROR      missing, not readable
    /// CORRUPT_MODEL the reason is in the text
    /// UNSUPPORTED   a kind of tokenizer that this library does not know
    pub fn volta_tokenizer_open(context: *mut volta_context, path: *const c_char, format: volta_tokenizer_format, out_tokenizer: *mut *mut volta_tokenizer) -> volta_status;
    /// Learns a byte-level BPE vocabulary of `vocabulary` ids from a text: the 256 bytes and the most frequent merges.
    /// Fewer ids when the text has no more pairs that it has twice. The same text gives the same ids everywhere.
    ///
    /// Errors: INVALID_ARGUMENT  an empty text; vocabulary outside 256 to 1048576
    pub fn volta_tokenizer_train_bpe(context: *mut volta_context, text: *const c_char, text_bytes: usize, vocabulary: i32, out_tokenizer: *mut *mut volta_tokenizer) -> volta_status;
    pub fn volta_tokenizer_release(tokenizer: *mut volta_tokenizer);
    /// "byte", "char", "bpe", "spm", "wordpiece", "unigram", "wordlevel"
    pub fn volta_tokenizer_kind(tokenizer: *const volta_tokenizer) -> *const c_char;
    pub fn volta_tokenizer_size(tokenizer: *const volta_tokenizer) -> i32;
    /// Ids of a text. Writes at most `capacity` of them and sets *out_count to how many there are in all, so that a
    /// first call with capacity 0 asks for the size (ids may then be NULL). No ends, and special pieces are text.
    ///
    /// Errors: INVALID_ARGUMENT  a character outside the vocabulary; the text names it and its offset
    pub fn volta_tokenizer_encode(tokenizer: *const volta_tokenizer, text: *const c_char, text_bytes: usize, ids: *mut i32, capacity: usize, out_count: *mut usize) -> volta_status;
    ///
    /// Errors: INVALID_ARGUMENT  as volta_tokenizer_encode; max_tokens has no room for the ends
    /// UNSUPPORTED       a pair, of a tokenizer.json that puts two texts together in another way
    pub fn volta_tokenizer_encode_with(tokenizer: *const volta_tokenizer, options: *const volta_encode_options, text: *const c_char, text_bytes: usize, ids: *mut i32, capacity: usize, out_count: *mut usize) -> volta_status;
    /// The bytes of one id, not zero-terminated: a piece that begins a word has its space before it ("spm",
    /// "wordpiece"), a control piece has none. Lends: until release.
    ///
    /// Errors: INVALID_ARGUMENT  an id outside \[0, size)
    pub fn volta_tokenizer_decode(tokenizer: *const volta_tokenizer, id: i32, out_text: *mut *const c_char, out_bytes: *mut usize) -> volta_status;
    /// The same for an id that follows another, -1 at the start of a text: without the space that the tokenizer put
    /// before the text. What all ids of a text give, one after the other, is the text. Lends: until release.
    pub fn volta_tokenizer_decode_after(tokenizer: *const volta_tokenizer, previous_id: i32, id: i32, out_text: *mut *const c_char, out_bytes: *mut usize) -> volta_status;
    pub fn volta_tokenizer_special(tokenizer: *const volta_tokenizer, out_ids: *mut volta_special_ids) -> volta_status;
    /// A model of `graph` as it stands now (copied), with parameters initialised from `seed`.
    pub fn volta_model_create(graph: *const volta_graph, seed: u64, out_model: *mut *mut volta_model) -> volta_status;
    ///
    /// Shape: input "tokens" i32 \[batch, time\], time <= context, any batch; output "logits" f32
    /// \[batch, time, vocabulary\].
    ///
    /// Errors: INVALID_ARGUMENT  dim not a multiple of heads, a size below 1 or so large that its product overflows
    pub fn volta_model_create_gpt(context: *mut volta_context, options: *const volta_gpt_options, seed: u64, out_model: *mut *mut volta_model) -> volta_status;
    ///
    /// Shape: as volta_model_create_gpt.
    ///
    /// Errors: INVALID_ARGUMENT  sizes that do not divide each other, a size below 1 or so large that its product
    /// overflows, an odd dim / heads, a rope_base below 1, a negative epsilon
    pub fn volta_model_create_llama(context: *mut volta_context, options: *const volta_llama_options, seed: u64, out_model: *mut *mut volta_model) -> volta_status;
    /// Training of the masked head: inputs in which some tokens are replaced, VOLTA_LOSS_CROSS_ENTROPY, targets i32
    /// \[batch, time\] with the right token where one was replaced and -1 elsewhere.
    ///
    /// Shape: inputs "tokens", then, where wanted, "segments" and "mask", each i32 \[batch, time\], time <= context, any
    /// batch. Segments are 0 .. segments-1. Where mask is 0 there is padding, which no token sees: tokens have the
    /// bits that they have without the padding and without the mask. Without it, less memory is needed.
    /// Outputs: see volta_bert_head.
    ///
    /// Errors: INVALID_ARGUMENT  dim not a multiple of heads, a size below 1 or so large that its product overflows, an
    /// unknown head, classes for a head that has none, or none for one that has
    pub fn volta_model_create_bert(context: *mut volta_context, options: *const volta_bert_options, seed: u64, out_model: *mut *mut volta_model) -> volta_status;
    /// Training: VOLTA_LOSS_CROSS_ENTROPY, targets i32 \[batch\]. Statistics of its norms are those of each micro-batch.
    ///
    /// Shape: input "pictures" f32 \[batch, channels, rows, columns\], any batch; output "logits" f32 \[batch, classes\].
    ///
    /// Errors: INVALID_ARGUMENT  another depth or stem, a size below 1 or so large that its product overflows
    pub fn volta_model_create_resnet(context: *mut volta_context, options: *const volta_resnet_options, seed: u64, out_model: *mut *mut volta_model) -> volta_status;
    /// The networks that there are. NULL: there are no more.
    pub fn volta_network_name(index: usize) -> *const c_char;
    /// Training and shape: as volta_model_create_resnet.
    ///
    /// Errors: INVALID_ARGUMENT  an unknown name, a stem or a width that the network has not, a width below 1/64 or above
    /// 64, a size below 1 or so large that its product overflows
    pub fn volta_model_create_network(context: *mut volta_context, options: *const volta_network_options, seed: u64, out_model: *mut *mut volta_model) -> volta_status;
    /// Opens a model file (docs/model_format.md). The file is treated as hostile: everything in it is checked.
    /// A folder is a sharded one (volta_model_save_sharded): its parts are read into memory, each compared with its checksum.
    ///
    /// Errors: IO_ERROR          missing, a folder without parts, not readable
    /// CORRUPT_MODEL     the reason is in the text
    /// UNSUPPORTED       a format version, level or precision this library does not know
    pub fn volta_model_open(context: *mut volta_context, path: *const c_char, options: *const volta_open_options, out_model: *mut *mut volta_model) -> volta_status;
    /// The same from memory that the host keeps unchanged until release. Shape: data is 64-byte aligned, or copied
    /// by VOLTA_LOAD_COPY.
    pub fn volta_model_open_memory(context: *mut volta_context, data: *const c_void, bytes: usize, options: *const volta_open_options, out_model: *mut *mut volta_model) -> volta_status;
    pub fn volta_model_release(model: *mut volta_model);
    /// Writes graph, parameters, tokenizer and metadata. Crash-safe: at every instant the path has the old file or the
    /// whole new one, which is written beside it first as "<path>.tmp-<process>-<n>". What a killed process left of that
    /// is removed by the next save of the same path. The same model gives the same file, byte for byte.
    ///
    /// Errors: IO_ERROR  the folder is missing or read-only, the disk is full; the old file is untouched. Only where the
    /// folder could not be synced at the end is the new file in its place: the text says so, and that it
    /// may not survive a power cut
    pub fn volta_model_save(model: *const volta_model, path: *const c_char) -> volta_status;
    /// Writes the bytes of that same file as `parts` files of a folder, and behind them the manifest, which names them with
    /// their checksums: until it is in its place the folder has what it had before. Opened and saved, it is the one file again,
    /// byte for byte. The folder is made if it is not there; what else is in it stays. docs/distributed.md.
    ///
    /// Errors: INVALID_ARGUMENT  parts is 0, or above 4096
    /// IO_ERROR          as volta_model_save
    pub fn volta_model_save_sharded(model: *const volta_model, parts: u32, folder: *const c_char) -> volta_status;
    /// A model from weights of another program (docs/import.md says which, and which types, f32 to mxfp4), or from a folder
    /// with safetensors, config.json and a tokenizer, as Hugging Face's libraries write it; or from an ONNX
    /// file, graph and weights (docs/onnx.md), whose inputs and outputs keep their names and are f32, or i32 where they
    /// are integers or truth values. Parameters that
    /// volta_model_quantize would leave alone become f32, exactly; the others become what `weights` says, and a model with
    /// packed weights cannot be exported, nor these be trained. The log says what was rounded: f64 to f32, and by how much weights of the
    /// type that is wanted differ from the file's. The files are treated as hostile: everything in them is checked.
    ///
    /// Keeps: nothing: files may go when it returns.
    ///
    /// Cost: reads the whole file, one tensor at a time; memory for the parameters alone.
    ///
    /// Errors: IO_ERROR          missing, not readable
    /// CORRUPT_MODEL     the file or its config is damaged; a tensor is missing or there twice
    /// SHAPE_MISMATCH    a tensor that does not fit the sizes of the model
    /// UNSUPPORTED       an architecture, a head, a type, a setting or a tokenizer that no model of Volta has; a tensor
    /// that is not known, or changes results; a config that says one thing twice, differently; a
    /// value that is not finite, or too large, for the type that `weights` says
    /// INVALID_ARGUMENT  no config where one is needed; a line of the key map; a shape for no input of the file
    pub fn volta_model_import(context: *mut volta_context, path: *const c_char, options: *const volta_import_options, out_model: *mut *mut volta_model) -> volta_status;
    /// What an ONNX file holds, without making a model of it: JSON with its ir_version, producer, opsets, nodes, each
    /// operator with its count and whether it is imported, its inputs and outputs with their types and what these become,
    /// "recognised", the operators that several nodes together become, with counts, and "refused", the sentence with which volta_model_import would refuse the graph; "" where it would not. New keys may come.
    ///
    /// Units: as in volta_explain_matmul: capacity is bytes of text with its final 0, *out_bytes the length of the whole
    /// text without it.
    ///
    /// Errors: IO_ERROR; CORRUPT_MODEL  it is damaged; UNSUPPORTED  it is no ONNX file
    pub fn volta_model_survey(context: *mut volta_context, path: *const c_char, options: *const volta_import_options, text: *mut c_char, capacity: usize, out_bytes: *mut usize) -> volta_status;
    /// Writes parameters and metadata as a safetensors file with Volta's own names; importing it gives the same hash.
    /// The tokenizer, and a graph that no volta_model_create_* makes, stay behind. Crash-safe; the same model gives the
    /// same bytes.
    ///
    /// Errors: IO_ERROR  as volta_model_save
    pub fn volta_model_export_safetensors(model: *const volta_model, path: *const c_char) -> volta_status;
    /// The same with options. options NULL: all zeros. The config is written after the weights.
    ///
    /// Errors: UNSUPPORTED  Hugging Face's names for a graph of the host's own, or for a Llama whose rotary pairs are
    /// neighbours
    pub fn volta_model_export_safetensors_with(model: *const volta_model, options: *const volta_export_options, path: *const c_char) -> volta_status;
    /// Writes graph and parameters as an ONNX file (docs/onnx.md). options NULL: all zeros. Inputs, outputs and parameters
    /// keep their names; i32 are int64 there, results of comparisons bool; open extents stay open; a model drops nothing.
    /// volta_model_import gives the same model back, in every bit, with its metadata and its tokenizer.
    /// Crash-safe; the same model gives the same bytes. A file beside is replaced first.
    ///
    /// Errors: UNSUPPORTED  an operator, or one of its results, that has no form in ONNX, or a parameter that is stored in
    /// fewer bits, other than VOLTA_INT8 from opset 21 on: the text names node, operator and opset
    /// IO_ERROR     as volta_model_save
    pub fn volta_model_export_onnx(model: *const volta_model, options: *const volta_onnx_export_options, path: *const c_char) -> volta_status;
    /// Writes a GPT, a Llama or a BERT as a GGUF file, with its tokenizer (docs/import.md), for programs like llama.cpp.
    /// options NULL: all zeros. f32 is rounded as llama.cpp's reference rounds; rows that are no whole blocks of 32 are f32.
    /// volta_model_import gives the same parameters back, but that rotary pairs of a Llama become neighbours. Crash-safe; the
    /// same model gives the same bytes.
    ///
    /// Errors: UNSUPPORTED  a graph of the host's own, a network of pictures, a BERT's masked head, a tokenizer of
    /// characters or that cuts words in another way, a value that the type has not: the text names it
    /// IO_ERROR     as volta_model_save
    pub fn volta_model_export_gguf(model: *const volta_model, options: *const volta_gguf_export_options, path: *const c_char) -> volta_status;
    /// 128-bit hash of all parameter bits in name order. Shape: text has room for 33 bytes (32 hex digits, zero).
    pub fn volta_model_hash(model: *const volta_model, text: *mut c_char) -> volta_status;
    /// The level and precision of the context that gave the parameters their values: the one that the model was made in,
    /// or trained in last. A file keeps them; opening and saving it elsewhere changes neither.
    pub fn volta_model_get_arithmetic(model: *const volta_model, out_level: *mut volta_level, out_precision: *mut volta_precision) -> volta_status;
    /// A model with the same graph whose weights are stored for reading alone, in fewer bits or, VOLTA_F32_PANELS, in another
    /// order, which gives the bits of the f32 model faster: those that products read, and the tables of tokens. Others
    /// (norms, biases, positions) stay f32; so does a weight that something else reads as well, or whose inner extent is
    /// below 32. All arithmetic stays f32: docs/quantization.md has the formats and the formulas. A packed weight has the
    /// shape \[outputs, inputs\] and is read in place, a mapped file included. The result runs, generates, saves and
    /// loads like any model, with the same bits everywhere. What is stored is not trained itself: parameters beside it are,
    /// where it is frozen, as adapters are (volta_model_add_lora). Training state is left out.
    ///
    /// Units: dtype VOLTA_BF16, VOLTA_F16, VOLTA_INT8, VOLTA_INT4 or VOLTA_F32_PANELS.
    ///
    /// Owns: *out_model, ended by volta_model_release; it keeps nothing of `model`.
    ///
    /// Errors: INVALID_ARGUMENT  another dtype; a weight that is not finite or beyond the type's range, which no weight is
    /// for VOLTA_F32_PANELS; no weight to store; a model that is stored already. The text
    /// names it
    pub fn volta_model_quantize(model: *const volta_model, dtype: volta_dtype, out_model: *mut *mut volta_model) -> volta_status;
    /// A model that computes what `base` does and learns by adapters alone: beside each product x W of a target stand A
    /// \[inputs, rank\], uniform in +-1/sqrt(inputs), and B \[rank, outputs\], zeros, and y = x W + ((alpha / rank) (x A)) B. A
    /// part of a weight that holds several side by side (q, k and v of "qkv"; gate and up) has an adapter of its own; their
    /// names are "block.0.qkv.lora.q.a", "block.0.proj.lora.b". Parameters of the base keep their values in training, have
    /// neither gradients nor state, and may be stored (volta_model_quantize). volta_model_save, and a trainer's, write the
    /// adapters alone, for volta_model_open_adapter. docs/fine_tuning.md has an example.
    ///
    /// Owns: *out_model, ended by volta_model_release.
    ///
    /// Keeps: base, which may be released before: its parameters are lent, not copied, and cannot be set as long as a model
    /// or trainer with adapters on them lives.
    ///
    /// Cost: reads all of the base once, for its hash.
    ///
    /// Errors: INVALID_ARGUMENT  a rank, an alpha; a target that the base does not have, or that means what another one
    /// means; a base with adapters
    pub fn volta_model_add_lora(base: *const volta_model, options: *const volta_lora_options, out_model: *mut *mut volta_model) -> volta_status;
    /// The same with the adapters of a file that volta_model_save or a trainer wrote; of a checkpoint,
    /// volta_trainer_resume goes on. `options` are of the file, whose values are copied.
    ///
    /// Errors: IO_ERROR; CORRUPT_MODEL  damaged, no adapters, or such as do not fit the base
    /// INVALID_ARGUMENT         they are of another base: the text tells both hashes
    pub fn volta_model_open_adapter(base: *const volta_model, path: *const c_char, options: *const volta_open_options, out_model: *mut *mut volta_model) -> volta_status;
    /// A model of the base's graph with the adapters added to its weights, W + (alpha / rank) A B, summed in f64 and rounded
    /// once; a weight that is stored is stored again, in its type. It computes the same within rounding, and nothing more is
    /// promised.
    ///
    /// Owns: *out_model, ended by volta_model_release; it keeps nothing of `model`. *out_difference, which may be NULL, is
    /// the largest distance of a merged weight from the sum in f64.
    ///
    /// Errors: INVALID_ARGUMENT  no adapters; a merged weight that its type does not have
    pub fn volta_model_merge_adapter(model: *const volta_model, out_difference: *mut f64, out_model: *mut *mut volta_model) -> volta_status;
    /// Writes the adapters of a model, or of one that their file was opened as, as PEFT reads them: adapter_config.json and
    /// adapter_model.safetensors in a folder that is there. A module that is several parts here, as GPT-2's c_attn, gets the
    /// sum of their ranks, and zeros where a part has none of another's.
    ///
    /// Errors: UNSUPPORTED  an architecture that has no names of Hugging Face; CORRUPT_MODEL  no adapters; IO_ERROR
    pub fn volta_model_export_peft(model: *const volta_model, folder: *const c_char) -> volta_status;
    /// A model on `base`, as volta_model_add_lora makes it, with the adapters of such a folder. A module that is several parts
    /// here gives each of them its A. The files are treated as hostile: everything in them is checked.
    ///
    /// Owns: *out_model, ended by volta_model_release. Keeps: base, as volta_model_add_lora does.
    ///
    /// Errors: IO_ERROR; CORRUPT_MODEL  damaged, or of other sizes than the base
    /// UNSUPPORTED  a setting, a tensor or a module that adapters of Volta do not have: the text names it
    pub fn volta_model_import_peft(base: *const volta_model, folder: *const c_char, out_model: *mut *mut volta_model) -> volta_status;
    /// A model with the same graph but for its last layer, which gets `classes` columns: the product with a weight, and where
    /// there is one the bias, that make the first output. Both are drawn from `seed` as in a new model; all other parameters
    /// keep their bits. For training on other classes than the model's own. Training state is left out.
    ///
    /// Owns: *out_model, ended by volta_model_release; it keeps nothing of `model`.
    ///
    /// Errors: INVALID_ARGUMENT  a first output that is no such layer, or whose weight or bias is read elsewhere too; classes
    /// below 1; sizes that overflow
    /// UNSUPPORTED       a weight that is stored (volta_model_quantize)
    pub fn volta_model_replace_head(model: *const volta_model, classes: i64, seed: u64, out_model: *mut *mut volta_model) -> volta_status;
    /// A model in which every batch_norm of a convolution's result is part of that convolution: its weight is multiplied, and it
    /// has a bias, "conv1.bias" beside "conv1.weight" where there was none (docs/numerics.md, 5, has the formula). It runs
    /// faster, with other bits and another hash, and computes the same within rounding. A batch_norm of something else, or
    /// whose parameters or the convolution's are read elsewhere too, stays. Training state is left out, and so is what the
    /// library's metadata says of the architecture, which it no longer is.
    ///
    /// Owns: *out_model, ended by volta_model_release; it keeps nothing of `model`. *out_folded is how many norms were folded;
    /// out_folded may be NULL.
    ///
    /// Errors: INVALID_ARGUMENT  nothing to fold: no batch_norm, or none that follows a convolution with parameters of their
    /// own
    pub fn volta_model_fold_batch_norm(model: *const volta_model, out_model: *mut *mut volta_model, out_folded: *mut usize) -> volta_status;
    /// A model that ends with the states of a language model's tokens, behind the last block and its norm: what an embedding of
    /// a text is made of. Inputs and weights are those of `model`, stored ones too.
    ///
    /// Shape: output "hidden" f32 \[batch, time, dim\].
    ///
    /// Owns: *out_model, ended by volta_model_release; it keeps nothing of `model`.
    ///
    /// Errors: UNSUPPORTED  the model is no GPT, Llama or BERT
    pub fn volta_model_hidden_states(model: *const volta_model, out_model: *mut *mut volta_model) -> volta_status;
    pub fn volta_model_input_count(model: *const volta_model) -> usize;
    pub fn volta_model_input_info(model: *const volta_model, index: usize, info: *mut volta_tensor_info) -> volta_status;
    pub fn volta_model_output_count(model: *const volta_model) -> usize;
    pub fn volta_model_output_info(model: *const volta_model, index: usize, info: *mut volta_tensor_info) -> volta_status;
    pub fn volta_model_parameter_count(model: *const volta_model) -> usize;
    pub fn volta_model_parameter_info(model: *const volta_model, index: usize, info: *mut volta_tensor_info) -> volta_status;
    ///
    /// Lends: a parameter's elements, read-only, until the model is released.
    ///
    /// Errors: INVALID_ARGUMENT  unknown name; UNSUPPORTED  a packed weight (volta_model_quantize)
    pub fn volta_model_parameter(model: *const volta_model, name: *const c_char, out_data: *mut *const f32, out_elements: *mut usize) -> volta_status;
    /// Replaces a parameter's values (for weights from elsewhere). A mapped model takes a private copy first.
    ///
    /// Errors: INVALID_ARGUMENT unknown name; SHAPE_MISMATCH another number of elements
    pub fn volta_model_set_parameter(model: *mut volta_model, name: *const c_char, data: *const f32, elements: usize) -> volta_status;
    /// The tokenizer that the file carries. Attaching copies it. get: *out is NULL when there is none; Owns: release it.
    pub fn volta_model_set_tokenizer(model: *mut volta_model, tokenizer: *const volta_tokenizer) -> volta_status;
    pub fn volta_model_get_tokenizer(model: *const volta_model, out_tokenizer: *mut *mut volta_tokenizer) -> volta_status;
    /// Free text that the file carries, by key ("title", "licence", ...). Keys that start with "volta." are reserved
    /// (readable: "volta.architecture" is "gpt" for models of volta_model_create_gpt, with "volta.gpt.layers" ..., "llama"
    /// for models of volta_model_create_llama, with "volta.llama.layers" ..., and "bert" and the networks of pictures,
    /// "resnet", "mobilenet_v2" and "cnn", in the same way).
    /// set: value NULL removes. get: *out_value is NULL when there is none. Lends: until the key changes.
    pub fn volta_model_set_metadata(model: *mut volta_model, key: *const c_char, value: *const c_char) -> volta_status;
    pub fn volta_model_get_metadata(model: *const volta_model, key: *const c_char, out_value: *mut *const c_char) -> volta_status;
    /// The formats, by which conversations become text: "chatml", "llama3", ... NULL past the last.
    pub fn volta_chat_format_name(index: usize) -> *const c_char;
    /// The format of the model's conversations, which its file carries. volta_model_import sets it from the chat template
    /// that lies beside the tokenizer or stands in a GGUF file, where it knows it; "volta.chat.format" of the metadata is its
    /// name, and "volta.chat.refused" says why an imported model has none. system: what the system says in a conversation
    /// that does not say it; NULL: what the format says. name NULL: none.
    ///
    /// Errors: INVALID_ARGUMENT  no format of that name
    /// UNSUPPORTED       the tokenizer lacks a piece that the format needs; the text names it
    /// INVALID_STATE     the model has no tokenizer
    pub fn volta_model_set_chat_format(model: *mut volta_model, name: *const c_char, system: *const c_char) -> volta_status;
    /// The id that ends an answer: a stop token of volta_generator_write. Errors: as volta_model_encode_chat.
    pub fn volta_model_get_chat_end(model: *const volta_model, out_id: *mut i32) -> volta_status;
    /// The tokens of a conversation by the model's format: those of Hugging Face's apply_chat_template. Pieces of the format
    /// become their ids; a content cannot forge them: there they are plain text, or refused where the tokenizer finds them
    /// in any text. Writes at most `capacity` ids, and sets *out_count to how many there are in all.
    /// answers: of each id, 1 where it belongs to an answer of the assistant, the piece that ends it included, else 0: what
    ///          fine-tuning learns; may be NULL
    ///
    /// Errors: INVALID_ARGUMENT  a role that is not known, an order of roles that the format does not have
    /// UNSUPPORTED       no format, or none that is known; a piece that the tokenizer lacks
    /// INVALID_STATE     the model has no tokenizer
    pub fn volta_model_encode_chat(model: *const volta_model, messages: *const volta_chat_message, count: usize, flags: u32, ids: *mut i32, answers: *mut u8, capacity: usize, out_count: *mut usize) -> volta_status;
    /// Compiles `model` for these input shapes and plans every byte it will use.
    ///
    /// Owns: *out_session, ended by volta_session_release.
    ///
    /// Keeps: `model` alive and its parameters unchanged: the two may be released in either order.
    ///
    /// Cost: generates machine code: milliseconds.
    ///
    /// Errors: SHAPE_MISMATCH  shapes that do not fit the model
    /// UNSUPPORTED     an operator without a kernel; the text names it
    pub fn volta_session_create(model: *mut volta_model, options: *const volta_session_options, out_session: *mut *mut volta_session) -> volta_status;
    pub fn volta_session_release(session: *mut volta_session);
    /// Runs the graph once, inputs and outputs in the model's declared order.
    ///
    /// Shape: outputs must not share memory with inputs: a plan may write an output before its last read.
    ///
    /// Keeps: nothing; tensors are read and written only during the call.
    ///
    /// Cost: allocates nothing.
    ///
    /// Errors: SHAPE_MISMATCH    the text gives index, expected and actual shape
    /// INVALID_ARGUMENT  a token id outside the vocabulary; the text names it
    pub fn volta_session_run(session: *mut volta_session, inputs: *const *const volta_tensor, input_count: usize, outputs: *const *mut volta_tensor, output_count: usize) -> volta_status;
    /// The shape of output `index` for this session's input shapes. Shape: shape has room for VOLTA_MAX_RANK extents.
    ///
    /// Errors: INVALID_ARGUMENT  no such output
    pub fn volta_session_output_shape(session: *const volta_session, index: usize, shape: *mut i64, out_rank: *mut i32) -> volta_status;
    pub fn volta_session_get_bill(session: *const volta_session, bill: *mut volta_bill) -> volta_status;
    /// The plan as stable text: steps, kernels, offsets, bill, hash. Lends: until release.
    pub fn volta_session_print_plan(session: *mut volta_session, out_text: *mut *const c_char) -> volta_status;
    /// Joins the group: returns when all ranks have. A trainer that is given the group (volta_trainer_options.group) makes its
    /// steps with the trainers of the other ranks, each of which computes its part of every batch. docs/distributed.md.
    /// Memory: of transport "local" gradients and parameters lie in memory that the ranks of the machine share, so that none has
    ///         to be sent; a trainer's bill counts its own, which does not come from the host's allocator.
    ///
    /// Thread: one trainer of a group at a time. Over tcp and mpi it sends by a thread of its own; with parallel_for it has none.
    ///
    /// Errors: IO_ERROR          a rank did not come within timeout, or has ended; the text names it
    /// UNSUPPORTED       mpi or nccl, and no library of it can be opened; nccl, and the context has no device
    /// INVALID_ARGUMENT  a size that is no power of two, a rank that is not below it, a transport that does not exist
    pub fn volta_group_create(context: *mut volta_context, options: *const volta_group_options, out_group: *mut *mut volta_group) -> volta_status;
    /// Trainers of the group keep what they need of it. Where they are gone too, the other ranks see this one end.
    pub fn volta_group_release(group: *mut volta_group);
    pub fn volta_group_rank(group: *const volta_group) -> u32;
    pub fn volta_group_size(group: *const volta_group) -> u32;
    /// A batch_norm is trained by the statistics of each micro-batch, which its running mean and variance follow: these
    /// are parameters without a gradient, of one batch_norm each. Inference takes what they hold.
    /// Any model may be trained, whatever made it: one from a file or from another program begins with its weights, at step
    /// 0 and without moments. volta_trainer_resume goes on with a run instead.
    ///
    /// Keeps: `model` alive. The trainer works on its own copy of the parameters: the model does not change until
    /// volta_trainer_update_model.
    ///
    /// Errors: UNSUPPORTED       an operator without a gradient rule; packed weights (volta_model_quantize); packed_documents
    /// of a model whose tokens meet elsewhere than in causal attention; the text names it
    /// INVALID_ARGUMENT  an option out of its range; a pattern of frozen that matches no parameter, all of them frozen,
    /// or one alone of a batch_norm's running mean and variance; the text names it
    /// OUT_OF_MEMORY     activation_budget, or what is left of the context's host_budget; the text names what is
    /// needed at least
    /// IO_ERROR          state_folder: the text names it and the reason
    pub fn volta_trainer_create(model: *mut volta_model, options: *const volta_trainer_options, out_trainer: *mut *mut volta_trainer) -> volta_status;
    pub fn volta_trainer_release(trainer: *mut volta_trainer);
    /// The bill of the trainer that volta_trainer_create would make, of a group this rank's, and what its steps cost; nothing is
    /// allocated for it but plans. bill, cost and speed (volta_measure_machine) may be NULL. Zeros on failure.
    ///
    /// Cost: some tens of plans: milliseconds each for a network of a thousand operations.
    ///
    /// Errors: as volta_trainer_create; OUT_OF_MEMORY where it would be refused for its memory
    pub fn volta_trainer_estimate(model: *mut volta_model, options: *const volta_trainer_options, speed: *const volta_machine_speed, bill: *mut volta_bill, cost: *mut volta_training_cost) -> volta_status;
    /// Tells the steps of the plan that volta_trainer_create would make for one micro-batch and its update, in their order;
    /// with shards, of the plan that computes one.
    ///
    /// Lends: what visit is given, until it returns.
    ///
    /// Cost: as volta_trainer_estimate.
    ///
    /// Errors: as volta_trainer_estimate; CANCELLED where visit threw an exception
    pub fn volta_trainer_estimate_steps(model: *mut volta_model, options: *const volta_trainer_options, visit: volta_plan_visit, user: *mut c_void) -> volta_status;
    /// One optimizer step on the host's data. Shape: inputs hold all micro-batches one after the other: the first
    /// extent is micro_batches times that of input_shapes; so do targets. report may be NULL.
    ///
    /// Cost: allocates nothing after the first step.
    ///
    /// Errors: NOT_FINITE    the text names step and tensor; parameters and moments are as before the step
    /// DEVICE_ERROR  the step has not been made; where the text says that parameters were changing by
    /// then, every later call of the trainer fails so: go on from a checkpoint
    pub fn volta_trainer_step(trainer: *mut volta_trainer, inputs: *const *const volta_tensor, input_count: usize, targets: *const volta_tensor, report: *mut volta_step_report) -> volta_status;
    /// The rows of a step's batch that this process reads, counted along the first extent of the inputs: the others may hold
    /// anything. All of them, where there is no group.
    ///
    /// Errors: INVALID_ARGUMENT  an input of rank 0, which has no rows
    pub fn volta_trainer_rows(trainer: *const volta_trainer, out_first: *mut u64, out_count: *mut u64) -> volta_status;
    /// Token stream as data: for models with one i32 input \[batch, time\] and the cross-entropy loss. Samples are
    /// windows of time + 1 tokens; each epoch shifts and shuffles them by the seed (docs/training.md).
    ///
    /// Owns: a copy of the tokens, counted under `staging`.
    ///
    /// Errors: INVALID_ARGUMENT  fewer than time + 1 tokens, an id outside the vocabulary, another loss, targets that
    /// are not one for each token (one for each sequence), after a resume another text
    /// than the checkpoint's
    /// UNSUPPORTED       a model in which a token sees later ones, as in a BERT
    pub fn volta_trainer_set_tokens(trainer: *mut volta_trainer, tokens: *const i32, count: usize) -> volta_status;
    /// One step on the next batch of the token stream.
    pub fn volta_trainer_step_tokens(trainer: *mut volta_trainer, report: *mut volta_step_report) -> volta_status;
    /// Mean loss of the current parameters over consecutive windows of `tokens` (time tokens each, the last one
    /// shorter, each token but the first predicted once), whatever label_smoothing and class_weights are. Units:
    /// natural logarithm per token.
    pub fn volta_trainer_evaluate_tokens(trainer: *mut volta_trainer, tokens: *const i32, count: usize, out_loss: *mut f64) -> volta_status;
    pub fn volta_trainer_current_step(trainer: *const volta_trainer) -> u64;
    ///
    /// Lends: a parameter's current values, and its gradient of the latest step (summed over micro-batches, before
    /// clipping), read-only, until the next call on this trainer. In a group a gradient is on the rank that updates its
    /// parameter, on the others INVALID_STATE.
    pub fn volta_trainer_parameter(trainer: *const volta_trainer, name: *const c_char, out_data: *mut *const f32, out_elements: *mut usize) -> volta_status;
    pub fn volta_trainer_gradient(trainer: *const volta_trainer, name: *const c_char, out_data: *mut *const f32, out_elements: *mut usize) -> volta_status;
    /// 128-bit hash of the current parameters: what volta_model_hash gives for the saved file. Shape: room for 33 bytes.
    pub fn volta_trainer_hash(trainer: *const volta_trainer, text: *mut c_char) -> volta_status;
    /// Copies the trained parameters into the model, for sessions and generators made afterwards.
    pub fn volta_trainer_update_model(trainer: *mut volta_trainer) -> volta_status;
    /// Writes a checkpoint: a model file with the current parameters that also holds moments, seed, step, running
    /// beta products, data cursor and every option. Crash-safe, see volta_model_save. Of a group all ranks make the call, and
    /// rank 0 writes the file: that of one process, byte for byte.
    ///
    /// Errors: IO_ERROR  as volta_model_save; of a group, on the other ranks too where rank 0 could not save
    pub fn volta_trainer_save(trainer: *mut volta_trainer, path: *const c_char) -> volta_status;
    /// The same checkpoint as files in a folder that all ranks of the group share, as volta_model_save_sharded: each rank writes
    /// a part, its own moments among it, and none has the whole. volta_model_open opens it for any number of ranks.
    ///
    /// Errors: IO_ERROR  as volta_model_save; of a group, on all ranks where one could not write, naming it
    pub fn volta_trainer_save_sharded(trainer: *mut volta_trainer, folder: *const c_char) -> volta_status;
    /// Plans a longer run: `steps` in all, from which a schedule's learning rates follow from now on. The steps that were made
    /// stay as they are, so that the result is not that of a run planned so from the beginning; it is the same for every run
    /// that was extended at the same step.
    ///
    /// Errors: INVALID_ARGUMENT  fewer steps than are planned, or 2^32; a run without a planned end
    pub fn volta_trainer_extend(trainer: *mut volta_trainer, steps: u64) -> volta_status;
    /// A trainer that goes on where the checkpoint `model` (volta_model_open) was written, bit for bit. options NULL:
    /// those of the checkpoint; given options must agree with them (`steps` included), but activation_budget, state_folder,
    /// update_in_backward and group are this run's alone; where input_shapes is NULL these are all that is read. In a context
    /// of another level or precision than the checkpoint's it goes on in the context's: at the first step a warning of the log names both.
    ///
    /// Errors: INVALID_ARGUMENT  options that contradict the checkpoint; the text names both values
    /// INVALID_STATE     the model is no checkpoint
    pub fn volta_trainer_resume(model: *mut volta_model, options: *const volta_trainer_options, out_trainer: *mut *mut volta_trainer) -> volta_status;
    /// The options in force, input_shapes, class_weights and frozen lent until release; frozen has the names of all parameters
    /// that are.
    pub fn volta_trainer_get_options(trainer: *const volta_trainer, options: *mut volta_trainer_options) -> volta_status;
    pub fn volta_trainer_get_bill(trainer: *const volta_trainer, bill: *mut volta_bill) -> volta_status;
    pub fn volta_trainer_print_plan(trainer: *mut volta_trainer, out_text: *mut *const c_char) -> volta_status;
    /// Mean loss of a model over consecutive windows of `tokens`, as volta_trainer_evaluate_tokens. For models with
    /// one i32 input \[batch, time\] and logits as first output.
    pub fn volta_model_evaluate_tokens(model: *mut volta_model, tokens: *const i32, count: usize, out_loss: *mut f64) -> volta_status;
    ///
    /// Errors: UNSUPPORTED  the context computes on a device of its own memory
    pub fn volta_tape_create(context: *mut volta_context, options: *const volta_tape_options, out_tape: *mut *mut volta_tape) -> volta_status;
    /// Ends the tape and its record, with all results that are not kept.
    pub fn volta_tape_release(tape: *mut volta_tape);
    /// volta_op with attributes; inputs are an array. file may be NULL. Lends: the result, until the record ends.
    /// Beside the operators of docs/operators.md there is "batch_norm_train", with the inputs and attributes of batch_norm: it
    /// takes the batch's own mean and variance, and the running ones follow in volta_tape_step, as in a trainer.
    pub fn volta_tape_call(tape: *mut volta_tape, op: *const c_char, inputs: *const *mut volta_tensor, input_count: usize, attributes: *const volta_attribute, attribute_count: usize, file: *const c_char, line: i32) -> *mut volta_tensor;
    /// The same for operators of several outputs, with a status. out_count may be smaller than their number.
    ///
    /// Errors: INVALID_ARGUMENT  an unknown operator or attribute, a wrong number of inputs, a tensor of another context
    /// INVALID_STATE     a result of a record that has ended
    /// SHAPE_MISMATCH    the operator's own sentence, with the place of the call
    pub fn volta_tape_apply(tape: *mut volta_tape, op: *const c_char, inputs: *const *mut volta_tensor, input_count: usize, attributes: *const volta_attribute, attribute_count: usize, out_tensors: *mut *mut volta_tensor, out_count: usize, file: *const c_char, line: i32) -> volta_status;
    /// The first failure of the record, VOLTA_OK if there is none; its sentence is volta_last_error's. It ends with the record:
    /// after volta_tape_reset the tape records again.
    pub fn volta_tape_status(tape: *const volta_tape) -> volta_status;
    /// Returns the tape, and says from where the host calls it next, for the report and for sentences: with backward, step,
    /// flush or detach, or to read a result's or gradient's elements. It counts for one call. file may be NULL: unknown.
    ///   volta_tape_backward(volta_here(tape), loss);
    pub fn volta_tape_at(tape: *mut volta_tape, file: *const c_char, line: i32) -> *mut volta_tape;
    /// The same elements, through which no gradient goes back.
    pub fn volta_tape_detach(tape: *mut volta_tape, tensor: *mut volta_tensor) -> *mut volta_tensor;
    /// 0: results of later calls get no gradient, until it is 1 again, as it is at first.
    pub fn volta_tape_set_gradients(tape: *mut volta_tape, enabled: i32) -> volta_status;
    /// Computes all results of the record that the host holds, and the gradients.
    pub fn volta_tape_flush(tape: *mut volta_tape) -> volta_status;
    /// Ends the record. Kept results and gradients that nothing has computed are computed first.
    ///
    /// Errors: those of computing: the record has ended all the same
    pub fn volta_tape_reset(tape: *mut volta_tape) -> volta_status;
    /// The one element of a tensor, as a double; of a result it is computed if need be.
    ///
    /// Errors: SHAPE_MISMATCH  it has none or several
    pub fn volta_tensor_item(tensor: *mut volta_tensor, out_value: *mut f64) -> volta_status;
    /// A result outlives its record from now on, and is the host's to release. No effect on other tensors.
    ///
    /// Errors: INVALID_STATE  it was not computed before a step changed what it depends on
    pub fn volta_tensor_keep(tensor: *mut volta_tensor) -> volta_status;
    /// 1: volta_tape_backward gives the tensor a gradient; 0: it does not, as at first.
    ///
    /// Errors: INVALID_ARGUMENT  a result; elements that are not f32 or not aligned to 64 bytes (volta_tensor_wrap)
    /// INVALID_STATE     a record holds the tensor
    pub fn volta_tensor_set_requires_grad(tensor: *mut volta_tensor, required: i32) -> volta_status;
    /// The gradient that backward gave, NULL: none since it was zeroed. Lends: the tensor, until the next backward or zero;
    /// its elements are computed when they are read.
    pub fn volta_tensor_grad(tensor: *mut volta_tensor) -> *mut volta_tensor;
    /// The next backward starts from nothing.
    pub fn volta_tensor_zero_grad(tensor: *mut volta_tensor) -> volta_status;
    /// Adds the gradient of `loss`, a result of one f32 element, to those of the record's tensors that require one, by the
    /// operators' own rules (docs/operators.md); several uses of a tensor add up as in a trainer, the last one first.
    /// Gradients of several tapes add up too, one record after the other.
    ///
    /// Errors: INVALID_STATE   the loss is no result of this record, or depends on no such tensor; another tape's record holds
    /// a gradient that this one would add to: volta_tape_reset of that tape ends it
    /// SHAPE_MISMATCH  the loss has several elements
    /// UNSUPPORTED     an operator on the way without a gradient rule: second derivatives among them
    pub fn volta_tape_backward(tape: *mut volta_tape, loss: *mut volta_tensor) -> volta_status;
    /// An optimizer of tensors that require a gradient, with the trainer's rules and factors.
    ///
    /// Keeps: the tensors and the tape alive.
    pub fn volta_tape_optimizer_create(tape: *mut volta_tape, options: *const volta_optimizer_options, tensors: *const *mut volta_tensor, count: usize, out_optimizer: *mut *mut volta_tape_optimizer) -> volta_status;
    pub fn volta_tape_optimizer_release(optimizer: *mut volta_tape_optimizer);
    /// volta_tensor_zero_grad of all its tensors.
    pub fn volta_tape_optimizer_zero_grad(optimizer: *mut volta_tape_optimizer) -> volta_status;
    /// Computes what is recorded, with the gradients and the update of the optimizer's tensors that have one, as one plan.
    /// The loss of the last backward, results of one element and kept ones can be read afterwards; other results that depend
    /// on an updated tensor are gone if they had not been computed. report may be NULL.
    ///
    /// Errors: INVALID_STATE  no tensor has a gradient; another tape's record reads a tensor that would change
    /// NOT_FINITE     the loss, or the gradient the text names: nothing was updated
    pub fn volta_tape_step(tape: *mut volta_tape, optimizer: *mut volta_tape_optimizer, report: *mut volta_step_report) -> volta_status;
    /// What `outputs`, results of the record, compute, as a model: to be saved, trained, exported, run in sessions. Tensors that
    /// require a gradient and running statistics of batch norms are its parameters, with the elements that they have now;
    /// others are its inputs. batch_norm_train becomes batch_norm. Dropout draws by the trainer's seed. options may be NULL. Owns: *out_model.
    ///
    /// Errors: INVALID_STATE     an output is no result of the record
    /// INVALID_ARGUMENT  a name that a graph refuses, or that is given twice; a tensor that the record does not read
    /// SHAPE_MISMATCH    open_batch, and an operator that was given the first extent as a number
    pub fn volta_tape_capture(tape: *mut volta_tape, outputs: *const *mut volta_tensor, output_count: usize, options: *const volta_capture_options, out_model: *mut *mut volta_model) -> volta_status;
    /// A function with a LAZY tape of its own. It runs whenever it is called, since it is the host's code; what it records is
    /// computed as one plan, that of the last call with the same shapes and path. options may be NULL.
    pub fn volta_compile(context: *mut volta_context, function: volta_function, user: *mut c_void, options: *const volta_compile_options, out_compiled: *mut *mut volta_compiled) -> volta_status;
    pub fn volta_compiled_release(compiled: *mut volta_compiled);
    /// Runs the function and computes its outputs. Lends: outputs, until the next call or release.
    ///
    /// Errors: those of the function, its calls and its plan; CANCELLED  it threw an exception
    pub fn volta_compiled_call(compiled: *mut volta_compiled, inputs: *const *mut volta_tensor, input_count: usize, outputs: *mut *mut volta_tensor, output_count: usize) -> volta_status;
    /// The function's tape: for backward, steps, reports and capture after a call. Lends: until release.
    pub fn volta_compiled_tape(compiled: *mut volta_compiled) -> *mut volta_tape;
    pub fn volta_tape_get_info(tape: *const volta_tape, info: *mut volta_tape_info) -> volta_status;
    /// When the tape computed, why, and what would make it one piece: the latest 256 times (of an EAGER tape, the first
    /// of each call). json 0: lines for people; 1: one
    /// JSON object. Reasons are explained in docs/compile.md. Lends: until the next report or release.
    pub fn volta_tape_report(tape: *mut volta_tape, json: i32, out_text: *mut *const c_char) -> volta_status;
    /// For models whose first input is i32 \[batch, time\] and first output f32 \[batch, time, vocabulary\]. Keys and values of
    /// the tokens so far are cached, so that each token is computed once; a sequence has the same tokens and logits,
    /// bit for bit, with or without cache, alone or in any batch, its prompt in one piece or in many.
    ///
    /// Keeps: `model` alive.
    ///
    /// Cost: compiles plans; every later token allocates nothing. With cache_tokens a step or piece that the cache has no
    /// room for compiles plans again and holds the old cache beside the new one while it copies; if that fails
    /// (OUT_OF_MEMORY), every sequence is as it was.
    ///
    /// Errors: UNSUPPORTED       attention that is not causal; the text names the node
    /// INVALID_ARGUMENT  an option outside its range: temperature 0 .. 1000, top_k from 0, top_p and min_p 0 .. 1,
    /// repetition_penalty 0.001 .. 1000, sequences and prefill_chunk 1 .. 65536, context 1 .. the
    /// model's, cache_tokens 1 .. context; 0 is each one's default. A model with
    /// other inputs or outputs than these
    pub fn volta_generator_create(model: *mut volta_model, options: *const volta_generator_options, out_generator: *mut *mut volta_generator) -> volta_status;
    pub fn volta_generator_release(generator: *mut volta_generator);
    /// Starts a sequence with these tokens (at least one), in the place of the one that was started before: what the cache
    /// holds of a common beginning is not computed again. It takes one of the generator's `sequences`.
    ///
    /// Errors: INVALID_ARGUMENT  none, more than the context, an id outside the vocabulary
    /// INVALID_STATE     all sequences are in use
    pub fn volta_generator_start(generator: *mut volta_generator, tokens: *const i32, count: usize) -> volta_status;
    /// Draws the next token and appends it to the sequence.
    ///
    /// Errors: INVALID_STATE  no sequence, or the context is full
    /// NOT_FINITE     the model gave NaN logits
    pub fn volta_generator_next(generator: *mut volta_generator, out_token: *mut i32) -> volta_status;
    /// The logits of which the latest token was drawn. Lends: until the next call on this generator.
    pub fn volta_generator_logits(generator: *const volta_generator, out_logits: *mut *const f32, out_count: *mut usize) -> volta_status;
    /// What it holds now; with cache_tokens the cache has more later.
    pub fn volta_generator_get_bill(generator: *const volta_generator, bill: *mut volta_bill) -> volta_status;
    /// Of the token at `position`, 0 .. context - 1. Errors: INVALID_ARGUMENT  another position
    pub fn volta_generator_get_cost(generator: *const volta_generator, position: i64, cost: *mut volta_token_cost) -> volta_status;
    /// Why this generator has no cache: "node %12 (mean) joins tokens". "" where it has one; never NULL. A model whose
    /// tokens meet elsewhere than in causal attention is run whole for every token.
    pub fn volta_generator_no_cache_reason(generator: *const volta_generator) -> *const c_char;
    /// A sequence without tokens. sampling NULL: the generator's.
    ///
    /// Owns: *out_sequence, ended by volta_sequence_release. It keeps the generator alive.
    ///
    /// Errors: INVALID_STATE  all sequences of the generator are in use
    pub fn volta_sequence_create(generator: *mut volta_generator, sampling: *const volta_sampling_options, out_sequence: *mut *mut volta_sequence) -> volta_status;
    /// A new sequence with the same tokens; its cache is copied, nothing is computed again. sampling NULL: the same.
    ///
    /// Errors: INVALID_STATE  all sequences of the generator are in use
    pub fn volta_sequence_fork(sequence: *const volta_sequence, sampling: *const volta_sampling_options, out_sequence: *mut *mut volta_sequence) -> volta_status;
    pub fn volta_sequence_release(sequence: *mut volta_sequence);
    /// Tokens that follow: a prompt, or what another speaker says. They are computed by the next step.
    ///
    /// Errors: INVALID_ARGUMENT  more than the context holds, an id outside the vocabulary; the sequence is as before
    pub fn volta_sequence_append(sequence: *mut volta_sequence, tokens: *const i32, count: usize) -> volta_status;
    /// Forgets all but the first `count` tokens. Errors: INVALID_ARGUMENT  there are fewer
    pub fn volta_sequence_rewind(sequence: *mut volta_sequence, count: usize) -> volta_status;
    /// Draws the next token of each sequence and appends it: out_tokens\[i\] to sequences\[i\]. Sequences whose tokens are
    /// computed but for the last share one run of the model.
    ///
    /// Errors: INVALID_ARGUMENT  a sequence twice, or of another generator
    /// INVALID_STATE     a sequence without tokens, or whose context is full
    /// NOT_FINITE        NaN logits
    /// OUT_OF_MEMORY     a cache that grows. After any error all sequences have the tokens that they had
    pub fn volta_generator_step(generator: *mut volta_generator, sequences: *const *mut volta_sequence, count: usize, out_tokens: *mut i32) -> volta_status;
    /// All tokens of the sequence. Lends: until the next call on its generator.
    pub fn volta_sequence_tokens(sequence: *const volta_sequence, out_tokens: *mut *const i32, out_count: *mut usize) -> volta_status;
    /// The logits of which its latest token was drawn. Lends: until the next call on its generator.
    ///
    /// Errors: INVALID_STATE  none was drawn yet
    pub fn volta_sequence_logits(sequence: *const volta_sequence, out_logits: *mut *const f32, out_count: *mut usize) -> volta_status;
    /// Draws tokens as volta_generator_step does, bit for bit, and tells their text until something ends it.
    ///
    /// on_text is called once for each token, in order, with the piece of text that this token decided; it may be empty.
    /// Held back are what may be the beginning of a stop text, which is never given, not even partly, and a UTF-8 character
    /// that is not complete: no piece ends within one. Bytes that cannot become UTF-8 are given as they are. Where writing
    /// ends, what is held back is text: it comes with the last token or, when cancelled or late, in one more piece with
    /// token -1. All pieces together are the text of the tokens (volta_tokenizer_decode_after), byte for byte, up to where
    /// it stopped; only there may it end within a character (unfinished_bytes). After on_text said stop it is not called
    /// again, not even for what was held back. A piece is not zero-terminated, and lent until on_text returns.
    ///
    /// The sequence keeps all tokens that were drawn, those of the stop too, and can be written on by a further call, whose
    /// stop texts are looked for in its own text alone. However it ended, but for an error, this is VOLTA_OK.
    ///
    /// sequence NULL: the one of volta_generator_start. tokenizer NULL: the model's. options NULL: to the end of the text
    /// or the context. result may be NULL; after an error it has the reason VOLTA_STOP_NONE and what was written before it.
    ///
    /// Thread: on_text runs on the caller's. It may look at this generator, its sequences and the tokenizer, not change or
    /// release them.
    ///
    /// Cost: a few allocations when it begins; none per token.
    ///
    /// Errors: INVALID_ARGUMENT  a sequence of another generator; an empty stop text, or one that is not UTF-8; a stop
    /// token outside the model's vocabulary; a drawn token outside the tokenizer's
    /// INVALID_STATE     a sequence without tokens; no tokenizer
    /// NOT_FINITE        NaN logits
    /// CANCELLED         on_text threw an exception; the sequence keeps its token
    pub fn volta_generator_write(generator: *mut volta_generator, sequence: *mut volta_sequence, tokenizer: *const volta_tokenizer, options: *const volta_write_options, result: *mut volta_write_result) -> volta_status;
    /// Searches the fastest tile, blocks, loop order, prefetch, unrolling and packing of each product, for this
    /// context's threads and instruction set; on a GPU its form and tile. No choice changes a bit of any result. The
    /// default rules stay unless a final play-off beats them by more than 2 %. Sessions, trainers and generators made
    /// from this context from now on use what was found; those that exist do not change. Results are kept in the
    /// context and, where it has a tuning_folder, added to its file (docs/matmul_tuning.md). On the processor what was
    /// found counts where a plan uses a product as it was timed: B packed once or not, its columns summed or not, and
    /// weights that the LLC holds or not. Shapes are timed with a B that is packed by each call, if at all, and
    /// that the cache holds; those of a session and a trainer as these use them.
    ///
    /// Keeps: nothing of the options.
    ///
    /// Cost: about `seconds`, with all threads or the GPU busy; on a GPU kernels are compiled besides. The product's
    /// matrices are allocated as tensor memory, or on the GPU, and given back. On a machine that is busy
    /// otherwise the choices are worse, never the results.
    ///
    /// Errors: INVALID_ARGUMENT  nothing to tune, a size out of range, a session or trainer of another context
    /// UNSUPPORTED       on a GPU at a level other than strict, shapes of more than 16 rows: cuBLASLt chooses
    /// IO_ERROR          the tuning_folder cannot be written; found out before anything is timed
    /// CANCELLED         progress said so, or threw an exception; products that were done by then are kept
    /// OUT_OF_MEMORY     of a product's matrices: the error names the product, those before it are kept
    pub fn volta_tune(context: *mut volta_context, options: *const volta_tune_options) -> volta_status;
    /// Why a product is computed as it is on the processor: the machine as the rules see it, every rule that applied, every
    /// other one with what was against it, the schedule and the kernel. Lines for people: their words may change.
    ///
    /// Shape: of `shape` as in volta_tune; a product alone, with nothing behind it. What volta_tune found counts.
    ///
    /// Units: capacity is bytes of text with its final 0, which is always written where capacity is above 0; what does not
    /// fit is cut. *out_bytes is the length of the whole text without that 0: a first call with capacity 0 asks for
    /// it (text may then be NULL).
    ///
    /// Cost: compiles the product, and keeps its kernels: milliseconds.
    ///
    /// Errors: INVALID_ARGUMENT  a size out of range, an unknown bit of use
    /// UNSUPPORTED       on a GPU
    pub fn volta_explain_matmul(context: *mut volta_context, shape: *const volta_tune_shape, r#use: u32, text: *mut c_char, capacity: usize, out_bytes: *mut usize) -> volta_status;
    /// Starts recording, in the place of the profile that the context had before.
    ///
    /// Owns: the context keeps the profile until the next start or its release.
    ///
    /// Cost: allocates room for all events, as structure memory, and some for each plan of the context.
    ///
    /// Thread: as every call on the context: never while another one runs, from a callback of one neither. The same holds
    /// for all functions below. Threads of the pool record by themselves.
    ///
    /// Errors: INVALID_STATE     the context is recording already
    /// INVALID_ARGUMENT  a capacity above 2^24
    /// OUT_OF_MEMORY     the profile before stays
    pub fn volta_profile_start(context: *mut volta_context, options: *const volta_profile_options) -> volta_status;
    /// Ends recording; what was recorded can be read from now on.
    ///
    /// Errors: INVALID_STATE  nothing is being recorded, or a call of the context runs
    pub fn volta_profile_stop(context: *mut volta_context) -> volta_status;
    /// Of the profile that was stopped. Fills what fits in info->struct_size.
    ///
    /// Errors: INVALID_STATE  nothing was recorded yet, or it is being recorded
    pub fn volta_profile_get_info(context: *const volta_context, info: *mut volta_profile_info) -> volta_status;
    /// Row `index` of the table of operators, the longest total first.
    ///
    /// Errors: INVALID_ARGUMENT  no such row; INVALID_STATE as volta_profile_get_info
    pub fn volta_profile_get_operator(context: *const volta_context, index: usize, row: *mut volta_profile_operator) -> volta_status;
    /// Event `index`. Those of one lane are in the order of their beginnings, outer ones first; lanes are mixed.
    ///
    /// Lends: names until the context is released.
    ///
    /// Errors: INVALID_ARGUMENT  no such event; INVALID_STATE as volta_profile_get_info
    pub fn volta_profile_get_event(context: *const volta_context, index: usize, event: *mut volta_profile_event) -> volta_status;
    /// Writes the profile in the Chrome trace event format (JSON), for Perfetto and chrome://tracing: a lane per thread, and
    /// counters of the memory. docs/profiling.md. Crash-safe, see volta_model_save.
    ///
    /// Errors: IO_ERROR  as volta_model_save; INVALID_STATE as volta_profile_get_info
    pub fn volta_profile_write_trace(context: *const volta_context, path: *const c_char) -> volta_status;
}

#[link(name = "volta_data")]
extern "C" {
    /// "0.1.0", of the library that is loaded. Never NULL.
    pub fn volta_data_version() -> *const c_char;
    /// One English line about the calling thread's latest call of this library that reports a status: what was wrong, and with
    /// which value. "" after one that succeeded; never NULL.
    ///
    /// Lends: valid until this thread calls the library again.
    ///
    /// Thread: each thread has its own text; nothing else of this library is thread-local but the floating-point
    /// environment that a function of the host is given back, and the allocator that code of others works with.
    pub fn volta_data_last_error() -> *const c_char;
    /// Opens a data set: a folder, or record files one by one (VOLTA_DATA_IDX: images, then labels). Reads sizes, names and,
    /// of IDX, labels; pictures are read when they are needed.
    ///
    /// Owns: *out_dataset, ended by volta_dataset_release.
    ///
    /// Keeps: nothing of paths. Record files stay open.
    ///
    /// Cost: lists the files of a folder; decompresses gzip files into memory.
    ///
    /// Errors: INVALID_ARGUMENT  an unknown format or split, no path, a number of paths that the format does not take, an
    /// allocator with a NULL function
    /// IO_ERROR          a file or folder that is not there or cannot be read, a split that the folder lacks
    /// CORRUPT_MODEL     a file that is no such data: its size, a count, a list of names; a class without pictures
    /// UNSUPPORTED       IDX of another type or number of dimensions; more than 2^32 - 1 samples
    pub fn volta_dataset_open(format: volta_data_format, paths: *const *const c_char, path_count: usize, options: *const volta_dataset_options, out_dataset: *mut *mut volta_dataset) -> volta_status;
    pub fn volta_dataset_release(dataset: *mut volta_dataset);
    /// Fills what fits in info->struct_size.
    pub fn volta_dataset_get_info(dataset: *const volta_dataset, info: *mut volta_dataset_info) -> volta_status;
    /// The name of a class, UTF-8 in one line; its number where the data has no names. NULL: there is no such class.
    ///
    /// Lends: valid until the data set's release.
    pub fn volta_dataset_class_name(dataset: *const volta_dataset, index: u32) -> *const c_char;
    /// Where a sample comes from, in words: a path, or "PATH, record 17". Cut where it does not fit `capacity` bytes with the
    /// closing zero.
    ///
    /// Errors: INVALID_ARGUMENT  no such sample, no capacity
    pub fn volta_dataset_sample_name(dataset: *const volta_dataset, index: u64, text: *mut c_char, capacity: usize) -> volta_status;
    /// Sample `index` of a data set, as it is in its file.
    ///
    /// Owns: *out_picture, ended by volta_picture_release. Keeps the data set.
    ///
    /// Thread: any number at once.
    ///
    /// Errors: INVALID_ARGUMENT  no such sample
    /// CORRUPT_MODEL, UNSUPPORTED, IO_ERROR  as above; the text names the file
    pub fn volta_dataset_read(dataset: *mut volta_dataset, index: u64, out_picture: *mut *mut volta_picture) -> volta_status;
    /// One JPEG or PNG file. Of options, split is not looked at. Owns and Errors: the same.
    pub fn volta_picture_open(path: *const c_char, options: *const volta_dataset_options, out_picture: *mut *mut volta_picture) -> volta_status;
    pub fn volta_picture_release(picture: *mut volta_picture);
    /// Fills what fits in info->struct_size.
    pub fn volta_picture_get_info(picture: *const volta_picture, info: *mut volta_picture_info) -> volta_status;
    /// Another size of a picture. Owns: *out_picture.
    ///
    /// Errors: INVALID_ARGUMENT  a height or width of 0, an unknown filter
    /// UNSUPPORTED       more pixels than max_pixels of the data set's or picture's options
    pub fn volta_picture_resize(picture: *const volta_picture, height: u32, width: u32, filter: volta_filter, out_picture: *mut *mut volta_picture) -> volta_status;
    /// A picture as a model takes it. Shape: values\[channels, height, width\], as many as value_count says.
    ///
    /// Errors: INVALID_ARGUMENT  an option out of its range, a value_count that is not the shape's
    /// SHAPE_MISMATCH    the picture is smaller than the crop
    pub fn volta_picture_transform(picture: *const volta_picture, options: *const volta_transform_options, values: *mut f32, value_count: usize) -> volta_status;
    /// Reads files of text into memory, one behind the other, as they are: no byte is changed, whatever its encoding. Where a
    /// path is a folder, its file of options->split: wiki.PART.tokens, wiki.PART.raw or PART.txt, PART being train, valid or
    /// test, the first that is there: WikiText's layout. A folder without any part's file is a train part of all its files
    /// *.txt, by the bytes of their names. Any file may be compressed by gzip (in a folder also named so, *.gz).
    ///
    /// Owns: *out_text, ended by volta_text_release.
    ///
    /// Keeps: nothing of paths.
    ///
    /// Errors: INVALID_ARGUMENT  an unknown split, no path
    /// IO_ERROR          a file that cannot be read, a folder without that part
    /// CORRUPT_MODEL     no text at all, damaged gzip data, a file of more than max_file_bytes
    /// UNSUPPORTED       a file that expands to more
    pub fn volta_text_open(paths: *const *const c_char, path_count: usize, options: *const volta_dataset_options, out_text: *mut *mut volta_text) -> volta_status;
    pub fn volta_text_release(text: *mut volta_text);
    /// Fills what fits in info->struct_size.
    pub fn volta_text_get_info(text: *const volta_text, info: *mut volta_text_info) -> volta_status;
    /// Which parts a folder of texts has: the sum of 1u << split over those that volta_text_open finds; 0: it has no text.
    ///
    /// Keeps: nothing of folder.
    ///
    /// Errors: INVALID_ARGUMENT  an empty name
    /// IO_ERROR          there is no folder of that name, or it cannot be read
    pub fn volta_text_parts(folder: *const c_char, options: *const volta_dataset_options, out_parts: *mut u32) -> volta_status;
    /// The documents of a text of lines of JSON, as volta_text_open gives it: each {"prompt", "completion"}, {"messages": \[{"role",
    /// "content"}, ...\]}, {"text"} or {"text"\[, "text_pair"\], "label"}. Empty lines are none. The text is treated as hostile.
    /// name:   of the file, for sentences: "<name>:<line>: ..."
    ///
    /// Owns: *out_documents, ended by volta_documents_release.
    ///
    /// Keeps: nothing of the text.
    ///
    /// Errors: CORRUPT_MODEL  a line that is none of these; no document at all
    pub fn volta_documents_parse(name: *const c_char, text: *const c_char, text_bytes: usize, options: *const volta_dataset_options, out_documents: *mut *mut volta_documents) -> volta_status;
    pub fn volta_documents_release(documents: *mut volta_documents);
    pub fn volta_documents_count(documents: *const volta_documents) -> u64;
    /// Fills what fits in document->struct_size. Errors: INVALID_ARGUMENT  there are fewer
    pub fn volta_documents_get(documents: *const volta_documents, index: u64, document: *mut volta_document) -> volta_status;
    /// Documents side by side in rows, for training with packed_documents of volta_trainer_options: each, in order, goes into
    /// the first row that has room for it. The same lengths give the same rows.
    /// lengths: of each document, in tokens that a row takes: of a language model one less than it has, as the last is only
    ///          asked for
    /// rows, places: of each document, which row it is in, and where it begins there
    ///
    /// Cost: count * log(count).
    ///
    /// Errors: INVALID_ARGUMENT  a length of 0, or of more than row_tokens; the text names the document
    pub fn volta_documents_pack(lengths: *const u64, count: u64, row_tokens: u64, options: *const volta_dataset_options, rows: *mut u64, places: *mut u64, out_row_count: *mut u64) -> volta_status;
    /// Starts loading at epoch 0, batch 0.
    ///
    /// Owns: *out_loader, ended by volta_loader_release, which waits for what its threads are doing.
    ///
    /// Keeps: the data set.
    ///
    /// Cost: allocates (queue + 1) batches; starts thread_count threads, which sleep while the queue is full.
    ///
    /// Errors: INVALID_ARGUMENT  an option out of its range; height and width of 0 where pictures differ in size; a
    /// VOLTA_BATCHES_FULL of which no batch is full
    /// OUT_OF_MEMORY     also: the system starts no thread
    pub fn volta_loader_create(dataset: *mut volta_dataset, options: *const volta_loader_options, out_loader: *mut *mut volta_loader) -> volta_status;
    pub fn volta_loader_release(loader: *mut volta_loader);
    /// The next batch; after the last one of an epoch the first of the next. Fills what fits in batch->struct_size.
    ///
    /// Lends: what batch points to, until the next call of next or seek, or release.
    ///
    /// Cost: waits until it is loaded; allocates nothing once the largest picture has been seen.
    ///
    /// Errors: CORRUPT_MODEL, UNSUPPORTED, IO_ERROR, SHAPE_MISMATCH, OUT_OF_MEMORY  of the first sample of the batch that has
    /// one: the text names it. The loader stays where it is: the next call tries that batch again, volta_loader_seek
    /// goes past it
    pub fn volta_loader_next(loader: *mut volta_loader, batch: *mut volta_batch) -> volta_status;
    /// Where the loader is: epoch and batch of what volta_loader_next gives next. Saved with a checkpoint, these two resume it.
    pub fn volta_loader_get_position(loader: *const volta_loader, out_epoch: *mut u64, out_batch: *mut u64) -> volta_status;
    /// Goes to a batch of an epoch.
    ///
    /// Cost: waits for what threads are doing; computes the epoch's order.
    ///
    /// Errors: INVALID_ARGUMENT  an epoch of 2^32 or more, a batch that the epoch does not have
    pub fn volta_loader_seek(loader: *mut volta_loader, epoch: u64, batch: u64) -> volta_status;
}
