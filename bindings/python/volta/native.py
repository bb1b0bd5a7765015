"""libvolta and libvolta_data as ctypes has them. Printed by tools/print_bindings.py from the descriptions in api/, which say what the headers say. Not edited by hand."""

import ctypes as c
from typing import Any

VOLTA_VERSION_MAJOR = 0
VOLTA_VERSION_MINOR = 1
VOLTA_VERSION_PATCH = 0
VOLTA_CONTRACT_VERSION = 1
VOLTA_MAX_RANK = 8
VOLTA_RESIZE_EXACT = 0xffffffff

# volta_status
VOLTA_OK = 0
VOLTA_INVALID_ARGUMENT = 1
VOLTA_INVALID_STATE = 2
VOLTA_SHAPE_MISMATCH = 3
VOLTA_OUT_OF_MEMORY = 4
VOLTA_IO_ERROR = 5
VOLTA_CORRUPT_MODEL = 6
VOLTA_UNSUPPORTED = 7
VOLTA_DEVICE_ERROR = 8
VOLTA_INTERNAL = 9
VOLTA_NOT_FINITE = 10
VOLTA_CANCELLED = 11

# volta_level
VOLTA_STRICT = 0
VOLTA_REPEATABLE = 1
VOLTA_FAST = 2

# volta_precision
VOLTA_PRECISION_FP32 = 0
VOLTA_PRECISION_TF32 = 1
VOLTA_PRECISION_BF16 = 2

# volta_isa
VOLTA_ISA_AUTO = 0
VOLTA_ISA_SCALAR = 1
VOLTA_ISA_AVX2 = 2
VOLTA_ISA_AVX512 = 3

# volta_log_level
VOLTA_LOG_INFO = 0
VOLTA_LOG_WARNING = 1

# volta_memory_kind
VOLTA_MEMORY_STRUCTURE = 0
VOLTA_MEMORY_TENSOR = 1

VOLTA_CONTEXT_NO_JIT = 1

# volta_step_order
VOLTA_STEP_ORDER_GRAPH = 0
VOLTA_STEP_ORDER_MEMORY = 1

# volta_dtype
VOLTA_F32 = 1
VOLTA_I32 = 2
VOLTA_BF16 = 3
VOLTA_F16 = 4
VOLTA_INT8 = 5
VOLTA_INT4 = 6
VOLTA_F32_PANELS = 7

# volta_init_kind
VOLTA_INIT_CONSTANT = 0
VOLTA_INIT_NORMAL = 1
VOLTA_INIT_UNIFORM = 2

# volta_tokenizer_format
VOLTA_TOKENIZER_AUTO = 0
VOLTA_TOKENIZER_GGUF = 1
VOLTA_TOKENIZER_LLAMA2C = 2
VOLTA_TOKENIZER_GPT2 = 3
VOLTA_TOKENIZER_BERT = 4
VOLTA_TOKENIZER_JSON = 5
VOLTA_TOKENIZER_SENTENCEPIECE = 6

# volta_bert_head
VOLTA_BERT_MASKED = 0
VOLTA_BERT_CLASSES = 1
VOLTA_BERT_POOLED = 2
VOLTA_BERT_HIDDEN = 3
VOLTA_BERT_TOKENS = 4

# volta_resnet_stem
VOLTA_RESNET_STEM_OF_DEPTH = 0
VOLTA_RESNET_STEM_LARGE = 1
VOLTA_RESNET_STEM_SMALL = 2

# volta_network_stem
VOLTA_STEM_USUAL = 0
VOLTA_STEM_LARGE = 1
VOLTA_STEM_SMALL = 2

# volta_load_mode
VOLTA_LOAD_MAP = 0
VOLTA_LOAD_COPY = 1

# volta_weight_format
VOLTA_WEIGHTS_AUTO = 0
VOLTA_WEIGHTS_SAFETENSORS = 1
VOLTA_WEIGHTS_GGUF = 2
VOLTA_WEIGHTS_LLAMA2C = 3
VOLTA_WEIGHTS_ONNX = 4

VOLTA_IMPORT_KEEP = -1

# volta_weight_names
VOLTA_NAMES_OWN = 0
VOLTA_NAMES_HUGGING_FACE = 1

VOLTA_CHAT_WHOLE = 1

VOLTA_SESSION_PACK_WEIGHTS = 1

# volta_loss
VOLTA_LOSS_CROSS_ENTROPY = 0
VOLTA_LOSS_MSE = 1
VOLTA_LOSS_BINARY_CROSS_ENTROPY = 2
VOLTA_LOSS_L1 = 3
VOLTA_LOSS_HUBER = 4

# volta_optimizer
VOLTA_ADAMW = 0
VOLTA_ADAM = 1
VOLTA_SGD = 2
VOLTA_ADAGRAD = 3

# volta_schedule
VOLTA_SCHEDULE_CONSTANT = 0
VOLTA_SCHEDULE_COSINE = 1

# volta_nonfinite_policy
VOLTA_NONFINITE_STOP = 0
VOLTA_NONFINITE_LOG = 1

# volta_plan_part
VOLTA_PLAN_FORWARD = 0
VOLTA_PLAN_BACKWARD = 1
VOLTA_PLAN_UPDATE = 2

# volta_tape_mode
VOLTA_TAPE_EAGER = 0
VOLTA_TAPE_LAZY = 1

VOLTA_TAPE_ONE_SEGMENT = 1

VOLTA_GENERATOR_NO_CACHE = 1

# volta_stop_reason
VOLTA_STOP_NONE = 0
VOLTA_STOP_TOKEN = 1
VOLTA_STOP_END_OF_TEXT = 2
VOLTA_STOP_TEXT = 3
VOLTA_STOP_MAX_TOKENS = 4
VOLTA_STOP_CONTEXT_FULL = 5
VOLTA_STOP_CALLBACK = 6
VOLTA_STOP_CANCELLED = 7
VOLTA_STOP_DEADLINE = 8

VOLTA_WRITE_PAST_END = 1

VOLTA_EXPLAIN_PACKED_ONCE = 1
VOLTA_EXPLAIN_FROM_MEMORY = 2

# volta_profile_kind
VOLTA_PROFILE_CALL = 0
VOLTA_PROFILE_PHASE = 1
VOLTA_PROFILE_STEP = 2
VOLTA_PROFILE_WORKER = 3

# volta_data_format
VOLTA_DATA_CIFAR10 = 1
VOLTA_DATA_CIFAR100 = 2
VOLTA_DATA_IDX = 3
VOLTA_DATA_FOLDER = 4

# volta_data_split
VOLTA_SPLIT_TRAIN = 0
VOLTA_SPLIT_TEST = 1
VOLTA_SPLIT_VALIDATION = 2

# volta_filter
VOLTA_FILTER_BILINEAR = 0
VOLTA_FILTER_BICUBIC = 1
VOLTA_FILTER_BOX = 2
VOLTA_FILTER_PILLOW_12 = 16

# volta_data_order
VOLTA_ORDER_SEQUENTIAL = 0
VOLTA_ORDER_SHUFFLED = 1

# volta_data_batches
VOLTA_BATCHES_FULL = 0
VOLTA_BATCHES_ALL = 1

# volta_data_damaged
VOLTA_DAMAGED_STOP = 0
VOLTA_DAMAGED_SKIP = 1

VOLTA_LOADER_EVALUATE = 1
VOLTA_LOADER_NO_THREADS = 2


class volta_allocator(c.Structure):
    _fields_ = [
        ("allocate", c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_size_t, c.c_size_t, c.c_int32)),
        ("release", c.CFUNCTYPE(None, c.c_void_p, c.c_void_p, c.c_size_t, c.c_size_t, c.c_int32)),
        ("user", c.c_void_p),
    ]


class volta_context_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_context_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("allocator", c.POINTER(volta_allocator)),
        ("log", c.CFUNCTYPE(None, c.c_void_p, c.c_int32, c.c_void_p)),
        ("log_user", c.c_void_p),
        ("thread_count", c.c_uint32),
        ("level", c.c_int32),
        ("isa", c.c_int32),
        ("flags", c.c_uint32),
        ("tuning_folder", c.c_char_p),
        ("device", c.c_char_p),
        ("kernel_folder", c.c_char_p),
        ("host_budget", c.c_uint64),
        ("device_budget", c.c_uint64),
        ("precision", c.c_int32),
        ("parallel_for", c.CFUNCTYPE(None, c.c_void_p, c.c_uint32, c.CFUNCTYPE(None, c.c_void_p, c.c_uint32), c.c_void_p)),
        ("parallel_user", c.c_void_p),
        ("step_order", c.c_int32),
    ]


class volta_context_info(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_context_info), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("isa", c.c_int32),
        ("thread_count", c.c_uint32),
        ("physical_cores", c.c_uint32),
        ("jit_active", c.c_int32),
        ("plan_cache_hits", c.c_uint64),
        ("plan_cache_misses", c.c_uint64),
        ("allocation_count", c.c_uint64),
        ("tensor_bytes", c.c_uint64),
        ("tensor_bytes_peak", c.c_uint64),
        ("code_bytes", c.c_uint64),
        ("cpu", c.c_char * 64),
        ("level", c.c_int32),
        ("precision", c.c_int32),
    ]


class volta_cancel(c.Structure):
    _fields_ = [
        ("requested", c.c_int32),
    ]


class volta_stop_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_stop_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("cancel", c.POINTER(volta_cancel)),
        ("should_stop", c.CFUNCTYPE(c.c_int32, c.c_void_p)),
        ("user", c.c_void_p),
        ("max_seconds", c.c_double),
    ]


class volta_device_info(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_device_info), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("name", c.c_char * 32),
        ("description", c.c_char * 128),
        ("memory_bytes", c.c_uint64),
        ("free_bytes", c.c_uint64),
        ("multiprocessors", c.c_uint32),
        ("capability_major", c.c_uint32),
        ("capability_minor", c.c_uint32),
        ("reserved", c.c_uint32),
        ("copies_to_device", c.c_uint64),
        ("bytes_to_device", c.c_uint64),
        ("copies_to_host", c.c_uint64),
        ("bytes_to_host", c.c_uint64),
        ("launches", c.c_uint64),
        ("bytes_in_use", c.c_uint64),
        ("pinned_bytes", c.c_uint64),
    ]


class volta_machine_speed(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_machine_speed), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("isa", c.c_int32),
        ("thread_count", c.c_uint32),
        ("fma_gflops", c.c_double),
        ("fma_spread", c.c_double),
        ("read_gb_s", c.c_double),
        ("read_spread", c.c_double),
        ("stream_gb_s", c.c_double),
        ("stream_spread", c.c_double),
        ("buffer_bytes", c.c_uint64),
    ]


class volta_init(c.Structure):
    _fields_ = [
        ("kind", c.c_int32),
        ("a", c.c_double),
        ("b", c.c_double),
    ]


class volta_comparison(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_comparison), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("differing", c.c_int64),
        ("first", c.c_int64),
        ("largest_absolute", c.c_double),
        ("largest_relative", c.c_double),
        ("largest_ulps", c.c_uint64),
        ("is_equal", c.c_int32),
    ]


class volta_value(c.Structure):
    _fields_ = [
        ("id", c.c_int32),
    ]


class volta_attribute(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("number", c.c_double),
        ("integers", c.c_void_p),
        ("integer_count", c.c_size_t),
    ]


class volta_encode_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_encode_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("ends", c.c_int32),
        ("special", c.c_int32),
        ("pair", c.c_char_p),
        ("pair_bytes", c.c_size_t),
        ("max_tokens", c.c_size_t),
        ("segments", c.c_void_p),
    ]


class volta_special_ids(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_special_ids), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("bos", c.c_int32),
        ("eos", c.c_int32),
        ("unk", c.c_int32),
        ("pad", c.c_int32),
        ("adds_bos", c.c_int32),
        ("adds_eos", c.c_int32),
    ]


class volta_gpt_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_gpt_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("vocabulary", c.c_int64),
        ("layers", c.c_int64),
        ("dim", c.c_int64),
        ("heads", c.c_int64),
        ("context", c.c_int64),
        ("dropout", c.c_double),
    ]


class volta_llama_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_llama_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("vocabulary", c.c_int64),
        ("layers", c.c_int64),
        ("dim", c.c_int64),
        ("heads", c.c_int64),
        ("kv_heads", c.c_int64),
        ("hidden", c.c_int64),
        ("context", c.c_int64),
        ("rope_base", c.c_double),
        ("epsilon", c.c_double),
        ("untied", c.c_int32),
        ("interleaved", c.c_int32),
    ]


class volta_bert_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_bert_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("vocabulary", c.c_int64),
        ("layers", c.c_int64),
        ("dim", c.c_int64),
        ("heads", c.c_int64),
        ("hidden", c.c_int64),
        ("context", c.c_int64),
        ("segments", c.c_int64),
        ("classes", c.c_int64),
        ("dropout", c.c_double),
        ("epsilon", c.c_double),
        ("head", c.c_int32),
        ("segment_input", c.c_int32),
        ("mask_input", c.c_int32),
    ]


class volta_resnet_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_resnet_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("depth", c.c_int64),
        ("classes", c.c_int64),
        ("channels", c.c_int64),
        ("rows", c.c_int64),
        ("columns", c.c_int64),
        ("stem", c.c_int32),
    ]


class volta_network_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_network_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("name", c.c_char_p),
        ("classes", c.c_int64),
        ("channels", c.c_int64),
        ("rows", c.c_int64),
        ("columns", c.c_int64),
        ("width", c.c_double),
        ("stem", c.c_int32),
    ]


class volta_open_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_open_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("mode", c.c_int32),
        ("verify", c.c_int32),
    ]


class volta_input_shape(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("rank", c.c_int32),
        ("shape", c.c_int64 * 8),
    ]


class volta_import_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_import_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("format", c.c_int32),
        ("tokenizer_path", c.c_char_p),
        ("config_path", c.c_char_p),
        ("key_map_path", c.c_char_p),
        ("bert", c.POINTER(volta_bert_options)),
        ("weights", c.c_int32),
        ("no_tokenizer", c.c_int32),
        ("resnet", c.POINTER(volta_resnet_options)),
        ("shapes", c.POINTER(volta_input_shape)),
        ("shape_count", c.c_size_t),
        ("network", c.POINTER(volta_network_options)),
        ("exact_graph", c.c_int32),
    ]


class volta_export_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_export_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("names", c.c_int32),
        ("config_path", c.c_char_p),
    ]


class volta_onnx_export_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_onnx_export_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("opset", c.c_int32),
        ("inline_bytes", c.c_uint64),
    ]


class volta_gguf_export_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_gguf_export_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("weights", c.c_int32),
        ("no_tokenizer", c.c_int32),
    ]


class volta_lora_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_lora_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("rank", c.c_int64),
        ("alpha", c.c_double),
        ("targets", c.c_char_p),
        ("seed", c.c_uint64),
    ]


class volta_tensor_info(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("dtype", c.c_int32),
        ("rank", c.c_int32),
        ("shape", c.c_int64 * 8),
    ]


class volta_chat_message(c.Structure):
    _fields_ = [
        ("role", c.c_char_p),
        ("content", c.c_char_p),
    ]


class volta_bill(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_bill), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("parameters", c.c_uint64),
        ("gradients", c.c_uint64),
        ("optimizer_state", c.c_uint64),
        ("activations", c.c_uint64),
        ("workspace", c.c_uint64),
        ("staging", c.c_uint64),
        ("total", c.c_uint64),
        ("cache", c.c_uint64),
    ]


class volta_session_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_session_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("input_shapes", c.c_void_p),
        ("input_extent_count", c.c_size_t),
        ("flags", c.c_uint32),
    ]


class volta_group_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_group_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("transport", c.c_char_p),
        ("address", c.c_char_p),
        ("rank", c.c_uint32),
        ("size", c.c_uint32),
        ("timeout", c.c_double),
        ("exchange", c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_uint32, c.c_void_p, c.c_size_t, c.c_void_p, c.c_size_t, c.c_void_p, c.c_size_t)),
        ("user", c.c_void_p),
        ("library", c.c_char_p),
    ]


class volta_trainer_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_trainer_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("input_shapes", c.c_void_p),
        ("input_extent_count", c.c_size_t),
        ("loss", c.c_int32),
        ("optimizer", c.c_int32),
        ("seed", c.c_uint64),
        ("steps", c.c_uint64),
        ("micro_batches", c.c_uint64),
        ("schedule", c.c_int32),
        ("warmup_steps", c.c_uint64),
        ("learning_rate", c.c_double),
        ("final_learning_rate", c.c_double),
        ("beta1", c.c_double),
        ("beta2", c.c_double),
        ("epsilon", c.c_double),
        ("weight_decay", c.c_double),
        ("decay_all_parameters", c.c_int32),
        ("momentum", c.c_double),
        ("nesterov", c.c_int32),
        ("clip_norm", c.c_double),
        ("nonfinite", c.c_int32),
        ("output_index", c.c_int32),
        ("label_smoothing", c.c_double),
        ("class_weights", c.c_void_p),
        ("class_weight_count", c.c_size_t),
        ("huber_delta", c.c_double),
        ("frozen", c.POINTER(c.c_char_p)),
        ("frozen_count", c.c_size_t),
        ("packed_documents", c.c_int32),
        ("activation_budget", c.c_uint64),
        ("state_folder", c.c_char_p),
        ("update_in_backward", c.c_int32),
        ("shards", c.c_uint64),
        ("group", c.c_void_p),
    ]


class volta_training_cost(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_training_cost), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("operations", c.c_double),
        ("repeated_operations", c.c_double),
        ("bytes", c.c_double),
        ("seconds", c.c_double),
        ("smallest_activations", c.c_uint64),
    ]


class volta_plan_step(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_plan_step), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("operation", c.c_char_p),
        ("alive", c.c_uint64),
        ("part", c.c_int32),
    ]


class volta_step_report(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_step_report), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("step", c.c_uint64),
        ("loss", c.c_float),
        ("gradient_norm", c.c_float),
        ("learning_rate", c.c_double),
        ("wait_seconds", c.c_double),
        ("exchange_seconds", c.c_double),
    ]


class volta_tape_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_tape_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("mode", c.c_int32),
        ("flags", c.c_uint32),
        ("seed", c.c_uint64),
        ("most_plans", c.c_uint64),
    ]


class volta_optimizer_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_optimizer_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("optimizer", c.c_int32),
        ("schedule", c.c_int32),
        ("steps", c.c_uint64),
        ("warmup_steps", c.c_uint64),
        ("learning_rate", c.c_double),
        ("final_learning_rate", c.c_double),
        ("beta1", c.c_double),
        ("beta2", c.c_double),
        ("epsilon", c.c_double),
        ("weight_decay", c.c_double),
        ("decay_all_parameters", c.c_int32),
        ("momentum", c.c_double),
        ("nesterov", c.c_int32),
        ("clip_norm", c.c_double),
    ]


class volta_capture_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_capture_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("tensors", c.POINTER(c.c_void_p)),
        ("names", c.POINTER(c.c_char_p)),
        ("name_count", c.c_size_t),
        ("output_names", c.POINTER(c.c_char_p)),
        ("open_batch", c.c_int32),
    ]


class volta_compile_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_compile_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("flags", c.c_uint32),
        ("seed", c.c_uint64),
    ]


class volta_tape_info(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_tape_info), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("records", c.c_uint64),
        ("calls", c.c_uint64),
        ("segments", c.c_uint64),
        ("plans_known", c.c_uint64),
        ("plans_made", c.c_uint64),
        ("repeated_nodes", c.c_uint64),
        ("traces", c.c_uint64),
        ("held_bytes", c.c_uint64),
        ("plans_held", c.c_uint64),
        ("plans_released", c.c_uint64),
    ]


class volta_generator_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_generator_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("temperature", c.c_double),
        ("top_k", c.c_int32),
        ("top_p", c.c_double),
        ("min_p", c.c_double),
        ("repetition_penalty", c.c_double),
        ("seed", c.c_uint64),
        ("sequences", c.c_int64),
        ("context", c.c_int64),
        ("prefill_chunk", c.c_int64),
        ("flags", c.c_uint32),
        ("cache_tokens", c.c_int64),
    ]


class volta_token_cost(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_token_cost), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("parameter_bytes", c.c_uint64),
        ("cache_bytes", c.c_uint64),
        ("operations", c.c_double),
    ]


class volta_sampling_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_sampling_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("temperature", c.c_double),
        ("top_k", c.c_int32),
        ("top_p", c.c_double),
        ("min_p", c.c_double),
        ("repetition_penalty", c.c_double),
        ("seed", c.c_uint64),
    ]


class volta_write_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_write_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("max_tokens", c.c_int64),
        ("stop_tokens", c.c_void_p),
        ("stop_token_count", c.c_size_t),
        ("stop_texts", c.POINTER(c.c_char_p)),
        ("stop_text_count", c.c_size_t),
        ("max_seconds", c.c_double),
        ("cancel", c.POINTER(volta_cancel)),
        ("on_text", c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_void_p, c.c_size_t, c.c_int32)),
        ("user", c.c_void_p),
        ("flags", c.c_uint32),
    ]


class volta_write_result(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_write_result), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("reason", c.c_int32),
        ("stop_index", c.c_int32),
        ("token_count", c.c_int64),
        ("last_token", c.c_int32),
        ("unfinished_bytes", c.c_int32),
        ("text_bytes", c.c_uint64),
    ]


class volta_tune_shape(c.Structure):
    _fields_ = [
        ("m", c.c_int64),
        ("n", c.c_int64),
        ("k", c.c_int64),
        ("a_transposed", c.c_int32),
        ("b_transposed", c.c_int32),
        ("lda", c.c_int64),
        ("ldb", c.c_int64),
        ("ldc", c.c_int64),
    ]


class volta_tune_report(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_tune_report), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("index", c.c_size_t),
        ("count", c.c_size_t),
        ("share", c.c_double),
        ("done", c.c_int32),
        ("has_epilogue", c.c_int32),
        ("shape", volta_tune_shape),
        ("batch", c.c_int64),
        ("default_seconds", c.c_double),
        ("tuned_seconds", c.c_double),
        ("classic_seconds", c.c_double),
        ("plans_timed", c.c_uint64),
        ("choice", c.c_char_p),
        ("packed_once", c.c_int32),
        ("from_memory", c.c_int32),
    ]


class volta_tune_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_tune_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("shapes", c.POINTER(volta_tune_shape)),
        ("shape_count", c.c_size_t),
        ("session", c.c_void_p),
        ("trainer", c.c_void_p),
        ("runs", c.c_uint32),
        ("warmup", c.c_uint32),
        ("seconds", c.c_double),
        ("progress", c.CFUNCTYPE(c.c_int32, c.c_void_p, c.POINTER(volta_tune_report))),
        ("user", c.c_void_p),
    ]


class volta_profile_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_profile_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("capacity", c.c_uint64),
    ]


class volta_profile_info(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_profile_info), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("event_count", c.c_uint64),
        ("dropped", c.c_uint64),
        ("operator_count", c.c_uint64),
        ("thread_count", c.c_uint32),
        ("duration_ns", c.c_uint64),
        ("calls_ns", c.c_uint64),
        ("steps_ns", c.c_uint64),
        ("held_bytes_peak", c.c_uint64),
        ("live_bytes_peak", c.c_uint64),
    ]


class volta_profile_operator(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_profile_operator), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("name", c.c_char_p),
        ("calls", c.c_uint64),
        ("total_ns", c.c_uint64),
        ("share", c.c_double),
        ("operations", c.c_double),
        ("bytes", c.c_uint64),
    ]


class volta_profile_event(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_profile_event), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("kind", c.c_int32),
        ("thread", c.c_uint32),
        ("depth", c.c_uint32),
        ("begin_ns", c.c_uint64),
        ("end_ns", c.c_uint64),
        ("name", c.c_char_p),
        ("node", c.c_char_p),
        ("kernel", c.c_char_p),
        ("step", c.c_int64),
        ("value", c.c_int64),
        ("number", c.c_int64),
        ("operations", c.c_double),
        ("bytes", c.c_uint64),
        ("live_bytes", c.c_uint64),
        ("held_bytes", c.c_uint64),
    ]


class volta_dataset_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_dataset_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("allocator", c.POINTER(volta_allocator)),
        ("log", c.CFUNCTYPE(None, c.c_void_p, c.c_int32, c.c_void_p)),
        ("log_user", c.c_void_p),
        ("split", c.c_int32),
        ("reserved", c.c_uint32),
        ("max_pixels", c.c_uint64),
        ("max_file_bytes", c.c_uint64),
    ]


class volta_dataset_info(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_dataset_info), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("sample_count", c.c_uint64),
        ("class_count", c.c_uint32),
        ("channels", c.c_uint32),
        ("height", c.c_uint32),
        ("width", c.c_uint32),
    ]


class volta_picture_info(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_picture_info), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("pixels", c.c_void_p),
        ("channels", c.c_uint32),
        ("height", c.c_uint32),
        ("width", c.c_uint32),
        ("label", c.c_int32),
    ]


class volta_transform_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_transform_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("channels", c.c_uint32),
        ("height", c.c_uint32),
        ("width", c.c_uint32),
        ("resize", c.c_uint32),
        ("filter", c.c_int32),
        ("mean", c.c_float * 3),
        ("deviation", c.c_float * 3),
        ("random_crop", c.c_int32),
        ("crop_padding", c.c_uint32),
        ("random_resized_crop", c.c_int32),
        ("area_min", c.c_float),
        ("area_max", c.c_float),
        ("ratio_min", c.c_float),
        ("ratio_max", c.c_float),
        ("flip", c.c_float),
        ("brightness", c.c_float),
        ("contrast", c.c_float),
        ("saturation", c.c_float),
        ("cutout", c.c_uint32),
        ("mixup", c.c_float),
    ]


class volta_text_info(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_text_info), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("bytes", c.c_char_p),
        ("byte_count", c.c_uint64),
        ("path", c.c_char_p),
        ("file_count", c.c_uint64),
    ]


class volta_document(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_document), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("prompt", c.c_char_p),
        ("completion", c.c_char_p),
        ("messages", c.POINTER(volta_chat_message)),
        ("message_count", c.c_size_t),
        ("text", c.c_char_p),
        ("text_pair", c.c_char_p),
        ("label_name", c.c_char_p),
        ("label", c.c_int32),
        ("line", c.c_uint64),
    ]


class volta_loader_options(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_loader_options), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("transform", c.POINTER(volta_transform_options)),
        ("seed", c.c_uint64),
        ("sample_limit", c.c_uint64),
        ("batch", c.c_uint32),
        ("thread_count", c.c_uint32),
        ("queue", c.c_uint32),
        ("order", c.c_int32),
        ("batches", c.c_int32),
        ("damaged", c.c_int32),
        ("flags", c.c_uint32),
        ("reserved", c.c_uint32),
    ]


class volta_batch(c.Structure):
    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=c.sizeof(volta_batch), **fields)

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("pixels", c.c_void_p),
        ("labels", c.c_void_p),
        ("weights", c.c_void_p),
        ("samples", c.c_void_p),
        ("epoch", c.c_uint64),
        ("batch", c.c_uint64),
        ("batches_of_epoch", c.c_uint64),
        ("skipped", c.c_uint64),
        ("count", c.c_uint32),
        ("channels", c.c_uint32),
        ("height", c.c_uint32),
        ("width", c.c_uint32),
    ]


# name: (what it returns, of what), of libvolta
VOLTA_FUNCTIONS = {
    "volta_version": (c.c_char_p, ()),
    "volta_status_name": (c.c_char_p, (c.c_int32,)),
    "volta_last_error": (c.c_char_p, ()),
    "volta_last_status": (c.c_int32, ()),
    "volta_context_create": (c.c_int32, (c.POINTER(volta_context_options), c.POINTER(c.c_void_p),)),
    "volta_context_release": (None, (c.c_void_p,)),
    "volta_context_get_info": (c.c_int32, (c.c_void_p, c.POINTER(volta_context_info),)),
    "volta_cancel_request": (None, (c.POINTER(volta_cancel),)),
    "volta_context_set_stop": (c.c_int32, (c.c_void_p, c.POINTER(volta_stop_options),)),
    "volta_device_count": (c.c_int32, (c.c_char_p, c.c_void_p,)),
    "volta_device_describe": (c.c_int32, (c.c_char_p, c.c_uint32, c.POINTER(volta_device_info),)),
    "volta_context_get_device": (c.c_int32, (c.c_void_p, c.POINTER(volta_device_info),)),
    "volta_measure_machine": (c.c_int32, (c.c_void_p, c.POINTER(volta_machine_speed),)),
    "volta_tensor_create": (c.c_int32, (c.c_void_p, c.c_int32, c.c_void_p, c.c_int32, c.POINTER(c.c_void_p),)),
    "volta_tensor_wrap": (c.c_int32, (c.c_void_p, c.c_int32, c.c_void_p, c.c_int32, c.c_void_p, c.POINTER(c.c_void_p),)),
    "volta_tensor_release": (None, (c.c_void_p,)),
    "volta_tensor_dtype": (c.c_int32, (c.c_void_p,)),
    "volta_tensor_rank": (c.c_int32, (c.c_void_p,)),
    "volta_tensor_extent": (c.c_int64, (c.c_void_p, c.c_int32,)),
    "volta_tensor_elements": (c.c_int64, (c.c_void_p,)),
    "volta_tensor_data": (c.c_void_p, (c.c_void_p,)),
    "volta_tensor_fill": (c.c_int32, (c.c_void_p, c.c_double,)),
    "volta_tensor_arange": (c.c_int32, (c.c_void_p, c.c_double, c.c_double,)),
    "volta_tensor_random": (c.c_int32, (c.c_void_p, c.POINTER(volta_init), c.c_uint64, c.c_uint32,)),
    "volta_tensor_print": (c.c_int32, (c.c_void_p, c.POINTER(c.c_char_p),)),
    "volta_tensor_compare": (c.c_int32, (c.c_void_p, c.c_void_p, c.c_double, c.c_double, c.POINTER(volta_comparison),)),
    "volta_tensors_save": (c.c_int32, (c.c_void_p, c.c_char_p, c.POINTER(c.c_char_p), c.POINTER(c.c_void_p), c.c_size_t,)),
    "volta_tensors_open": (c.c_int32, (c.c_void_p, c.c_char_p, c.POINTER(c.c_void_p),)),
    "volta_tensors_release": (None, (c.c_void_p,)),
    "volta_tensors_count": (c.c_size_t, (c.c_void_p,)),
    "volta_tensors_name": (c.c_char_p, (c.c_void_p, c.c_size_t,)),
    "volta_tensors_tensor": (c.c_void_p, (c.c_void_p, c.c_size_t,)),
    "volta_graph_create": (c.c_int32, (c.c_void_p, c.POINTER(c.c_void_p),)),
    "volta_graph_release": (None, (c.c_void_p,)),
    "volta_graph_input": (c.c_int32, (c.c_void_p, c.c_char_p, c.c_int32, c.c_void_p, c.c_int32, c.POINTER(volta_value),)),
    "volta_graph_parameter": (c.c_int32, (c.c_void_p, c.c_char_p, c.c_void_p, c.c_int32, c.POINTER(volta_init), c.POINTER(volta_value),)),
    "volta_graph_constant": (c.c_int32, (c.c_void_p, c.c_void_p, c.POINTER(volta_value),)),
    "volta_graph_apply": (c.c_int32, (c.c_void_p, c.c_char_p, c.POINTER(volta_value), c.c_size_t, c.POINTER(volta_attribute), c.c_size_t, c.POINTER(volta_value), c.c_size_t,)),
    "volta_graph_unary": (c.c_int32, (c.c_void_p, c.c_char_p, volta_value, c.POINTER(volta_value),)),
    "volta_graph_binary": (c.c_int32, (c.c_void_p, c.c_char_p, volta_value, volta_value, c.POINTER(volta_value),)),
    "volta_graph_linear": (c.c_int32, (c.c_void_p, c.c_char_p, volta_value, c.c_int64, c.POINTER(volta_value),)),
    "volta_graph_output": (c.c_int32, (c.c_void_p, c.c_char_p, volta_value,)),
    "volta_graph_value_shape": (c.c_int32, (c.c_void_p, volta_value, c.c_void_p, c.c_void_p,)),
    "volta_graph_print": (c.c_int32, (c.c_void_p, c.POINTER(c.c_char_p),)),
    "volta_tokenizer_create_byte": (c.c_int32, (c.c_void_p, c.POINTER(c.c_void_p),)),
    "volta_tokenizer_create_char": (c.c_int32, (c.c_void_p, c.c_char_p, c.c_size_t, c.POINTER(c.c_void_p),)),
    "volta_tokenizer_open": (c.c_int32, (c.c_void_p, c.c_char_p, c.c_int32, c.POINTER(c.c_void_p),)),
    "volta_tokenizer_train_bpe": (c.c_int32, (c.c_void_p, c.c_char_p, c.c_size_t, c.c_int32, c.POINTER(c.c_void_p),)),
    "volta_tokenizer_release": (None, (c.c_void_p,)),
    "volta_tokenizer_kind": (c.c_char_p, (c.c_void_p,)),
    "volta_tokenizer_size": (c.c_int32, (c.c_void_p,)),
    "volta_tokenizer_encode": (c.c_int32, (c.c_void_p, c.c_char_p, c.c_size_t, c.c_void_p, c.c_size_t, c.c_void_p,)),
    "volta_tokenizer_encode_with": (c.c_int32, (c.c_void_p, c.POINTER(volta_encode_options), c.c_char_p, c.c_size_t, c.c_void_p, c.c_size_t, c.c_void_p,)),
    "volta_tokenizer_decode": (c.c_int32, (c.c_void_p, c.c_int32, c.POINTER(c.c_char_p), c.c_void_p,)),
    "volta_tokenizer_decode_after": (c.c_int32, (c.c_void_p, c.c_int32, c.c_int32, c.POINTER(c.c_char_p), c.c_void_p,)),
    "volta_tokenizer_special": (c.c_int32, (c.c_void_p, c.POINTER(volta_special_ids),)),
    "volta_model_create": (c.c_int32, (c.c_void_p, c.c_uint64, c.POINTER(c.c_void_p),)),
    "volta_model_create_gpt": (c.c_int32, (c.c_void_p, c.POINTER(volta_gpt_options), c.c_uint64, c.POINTER(c.c_void_p),)),
    "volta_model_create_llama": (c.c_int32, (c.c_void_p, c.POINTER(volta_llama_options), c.c_uint64, c.POINTER(c.c_void_p),)),
    "volta_model_create_bert": (c.c_int32, (c.c_void_p, c.POINTER(volta_bert_options), c.c_uint64, c.POINTER(c.c_void_p),)),
    "volta_model_create_resnet": (c.c_int32, (c.c_void_p, c.POINTER(volta_resnet_options), c.c_uint64, c.POINTER(c.c_void_p),)),
    "volta_network_name": (c.c_char_p, (c.c_size_t,)),
    "volta_model_create_network": (c.c_int32, (c.c_void_p, c.POINTER(volta_network_options), c.c_uint64, c.POINTER(c.c_void_p),)),
    "volta_model_open": (c.c_int32, (c.c_void_p, c.c_char_p, c.POINTER(volta_open_options), c.POINTER(c.c_void_p),)),
    "volta_model_open_memory": (c.c_int32, (c.c_void_p, c.c_void_p, c.c_size_t, c.POINTER(volta_open_options), c.POINTER(c.c_void_p),)),
    "volta_model_release": (None, (c.c_void_p,)),
    "volta_model_save": (c.c_int32, (c.c_void_p, c.c_char_p,)),
    "volta_model_save_sharded": (c.c_int32, (c.c_void_p, c.c_uint32, c.c_char_p,)),
    "volta_model_import": (c.c_int32, (c.c_void_p, c.c_char_p, c.POINTER(volta_import_options), c.POINTER(c.c_void_p),)),
    "volta_model_survey": (c.c_int32, (c.c_void_p, c.c_char_p, c.POINTER(volta_import_options), c.c_void_p, c.c_size_t, c.c_void_p,)),
    "volta_model_export_safetensors": (c.c_int32, (c.c_void_p, c.c_char_p,)),
    "volta_model_export_safetensors_with": (c.c_int32, (c.c_void_p, c.POINTER(volta_export_options), c.c_char_p,)),
    "volta_model_export_onnx": (c.c_int32, (c.c_void_p, c.POINTER(volta_onnx_export_options), c.c_char_p,)),
    "volta_model_export_gguf": (c.c_int32, (c.c_void_p, c.POINTER(volta_gguf_export_options), c.c_char_p,)),
    "volta_model_hash": (c.c_int32, (c.c_void_p, c.c_void_p,)),
    "volta_model_get_arithmetic": (c.c_int32, (c.c_void_p, c.c_void_p, c.c_void_p,)),
    "volta_model_quantize": (c.c_int32, (c.c_void_p, c.c_int32, c.POINTER(c.c_void_p),)),
    "volta_model_add_lora": (c.c_int32, (c.c_void_p, c.POINTER(volta_lora_options), c.POINTER(c.c_void_p),)),
    "volta_model_open_adapter": (c.c_int32, (c.c_void_p, c.c_char_p, c.POINTER(volta_open_options), c.POINTER(c.c_void_p),)),
    "volta_model_merge_adapter": (c.c_int32, (c.c_void_p, c.c_void_p, c.POINTER(c.c_void_p),)),
    "volta_model_export_peft": (c.c_int32, (c.c_void_p, c.c_char_p,)),
    "volta_model_import_peft": (c.c_int32, (c.c_void_p, c.c_char_p, c.POINTER(c.c_void_p),)),
    "volta_model_replace_head": (c.c_int32, (c.c_void_p, c.c_int64, c.c_uint64, c.POINTER(c.c_void_p),)),
    "volta_model_fold_batch_norm": (c.c_int32, (c.c_void_p, c.POINTER(c.c_void_p), c.c_void_p,)),
    "volta_model_hidden_states": (c.c_int32, (c.c_void_p, c.POINTER(c.c_void_p),)),
    "volta_model_input_count": (c.c_size_t, (c.c_void_p,)),
    "volta_model_input_info": (c.c_int32, (c.c_void_p, c.c_size_t, c.POINTER(volta_tensor_info),)),
    "volta_model_output_count": (c.c_size_t, (c.c_void_p,)),
    "volta_model_output_info": (c.c_int32, (c.c_void_p, c.c_size_t, c.POINTER(volta_tensor_info),)),
    "volta_model_parameter_count": (c.c_size_t, (c.c_void_p,)),
    "volta_model_parameter_info": (c.c_int32, (c.c_void_p, c.c_size_t, c.POINTER(volta_tensor_info),)),
    "volta_model_parameter": (c.c_int32, (c.c_void_p, c.c_char_p, c.POINTER(c.c_void_p), c.c_void_p,)),
    "volta_model_set_parameter": (c.c_int32, (c.c_void_p, c.c_char_p, c.c_void_p, c.c_size_t,)),
    "volta_model_set_tokenizer": (c.c_int32, (c.c_void_p, c.c_void_p,)),
    "volta_model_get_tokenizer": (c.c_int32, (c.c_void_p, c.POINTER(c.c_void_p),)),
    "volta_model_set_metadata": (c.c_int32, (c.c_void_p, c.c_char_p, c.c_char_p,)),
    "volta_model_get_metadata": (c.c_int32, (c.c_void_p, c.c_char_p, c.POINTER(c.c_char_p),)),
    "volta_chat_format_name": (c.c_char_p, (c.c_size_t,)),
    "volta_model_set_chat_format": (c.c_int32, (c.c_void_p, c.c_char_p, c.c_char_p,)),
    "volta_model_get_chat_end": (c.c_int32, (c.c_void_p, c.c_void_p,)),
    "volta_model_encode_chat": (c.c_int32, (c.c_void_p, c.POINTER(volta_chat_message), c.c_size_t, c.c_uint32, c.c_void_p, c.c_void_p, c.c_size_t, c.c_void_p,)),
    "volta_session_create": (c.c_int32, (c.c_void_p, c.POINTER(volta_session_options), c.POINTER(c.c_void_p),)),
    "volta_session_release": (None, (c.c_void_p,)),
    "volta_session_run": (c.c_int32, (c.c_void_p, c.POINTER(c.c_void_p), c.c_size_t, c.POINTER(c.c_void_p), c.c_size_t,)),
    "volta_session_output_shape": (c.c_int32, (c.c_void_p, c.c_size_t, c.c_void_p, c.c_void_p,)),
    "volta_session_get_bill": (c.c_int32, (c.c_void_p, c.POINTER(volta_bill),)),
    "volta_session_print_plan": (c.c_int32, (c.c_void_p, c.POINTER(c.c_char_p),)),
    "volta_group_create": (c.c_int32, (c.c_void_p, c.POINTER(volta_group_options), c.POINTER(c.c_void_p),)),
    "volta_group_release": (None, (c.c_void_p,)),
    "volta_group_rank": (c.c_uint32, (c.c_void_p,)),
    "volta_group_size": (c.c_uint32, (c.c_void_p,)),
    "volta_trainer_create": (c.c_int32, (c.c_void_p, c.POINTER(volta_trainer_options), c.POINTER(c.c_void_p),)),
    "volta_trainer_release": (None, (c.c_void_p,)),
    "volta_trainer_estimate": (c.c_int32, (c.c_void_p, c.POINTER(volta_trainer_options), c.POINTER(volta_machine_speed), c.POINTER(volta_bill), c.POINTER(volta_training_cost),)),
    "volta_trainer_estimate_steps": (c.c_int32, (c.c_void_p, c.POINTER(volta_trainer_options), c.CFUNCTYPE(None, c.c_void_p, c.POINTER(volta_plan_step)), c.c_void_p,)),
    "volta_trainer_step": (c.c_int32, (c.c_void_p, c.POINTER(c.c_void_p), c.c_size_t, c.c_void_p, c.POINTER(volta_step_report),)),
    "volta_trainer_rows": (c.c_int32, (c.c_void_p, c.c_void_p, c.c_void_p,)),
    "volta_trainer_set_tokens": (c.c_int32, (c.c_void_p, c.c_void_p, c.c_size_t,)),
    "volta_trainer_step_tokens": (c.c_int32, (c.c_void_p, c.POINTER(volta_step_report),)),
    "volta_trainer_evaluate_tokens": (c.c_int32, (c.c_void_p, c.c_void_p, c.c_size_t, c.c_void_p,)),
    "volta_trainer_current_step": (c.c_uint64, (c.c_void_p,)),
    "volta_trainer_parameter": (c.c_int32, (c.c_void_p, c.c_char_p, c.POINTER(c.c_void_p), c.c_void_p,)),
    "volta_trainer_gradient": (c.c_int32, (c.c_void_p, c.c_char_p, c.POINTER(c.c_void_p), c.c_void_p,)),
    "volta_trainer_hash": (c.c_int32, (c.c_void_p, c.c_void_p,)),
    "volta_trainer_update_model": (c.c_int32, (c.c_void_p,)),
    "volta_trainer_save": (c.c_int32, (c.c_void_p, c.c_char_p,)),
    "volta_trainer_save_sharded": (c.c_int32, (c.c_void_p, c.c_char_p,)),
    "volta_trainer_extend": (c.c_int32, (c.c_void_p, c.c_uint64,)),
    "volta_trainer_resume": (c.c_int32, (c.c_void_p, c.POINTER(volta_trainer_options), c.POINTER(c.c_void_p),)),
    "volta_trainer_get_options": (c.c_int32, (c.c_void_p, c.POINTER(volta_trainer_options),)),
    "volta_trainer_get_bill": (c.c_int32, (c.c_void_p, c.POINTER(volta_bill),)),
    "volta_trainer_print_plan": (c.c_int32, (c.c_void_p, c.POINTER(c.c_char_p),)),
    "volta_model_evaluate_tokens": (c.c_int32, (c.c_void_p, c.c_void_p, c.c_size_t, c.c_void_p,)),
    "volta_tape_create": (c.c_int32, (c.c_void_p, c.POINTER(volta_tape_options), c.POINTER(c.c_void_p),)),
    "volta_tape_release": (None, (c.c_void_p,)),
    "volta_tape_call": (c.c_void_p, (c.c_void_p, c.c_char_p, c.POINTER(c.c_void_p), c.c_size_t, c.POINTER(volta_attribute), c.c_size_t, c.c_char_p, c.c_int32,)),
    "volta_tape_apply": (c.c_int32, (c.c_void_p, c.c_char_p, c.POINTER(c.c_void_p), c.c_size_t, c.POINTER(volta_attribute), c.c_size_t, c.POINTER(c.c_void_p), c.c_size_t, c.c_char_p, c.c_int32,)),
    "volta_tape_status": (c.c_int32, (c.c_void_p,)),
    "volta_tape_at": (c.c_void_p, (c.c_void_p, c.c_char_p, c.c_int32,)),
    "volta_tape_detach": (c.c_void_p, (c.c_void_p, c.c_void_p,)),
    "volta_tape_set_gradients": (c.c_int32, (c.c_void_p, c.c_int32,)),
    "volta_tape_flush": (c.c_int32, (c.c_void_p,)),
    "volta_tape_reset": (c.c_int32, (c.c_void_p,)),
    "volta_tensor_item": (c.c_int32, (c.c_void_p, c.c_void_p,)),
    "volta_tensor_keep": (c.c_int32, (c.c_void_p,)),
    "volta_tensor_set_requires_grad": (c.c_int32, (c.c_void_p, c.c_int32,)),
    "volta_tensor_grad": (c.c_void_p, (c.c_void_p,)),
    "volta_tensor_zero_grad": (c.c_int32, (c.c_void_p,)),
    "volta_tape_backward": (c.c_int32, (c.c_void_p, c.c_void_p,)),
    "volta_tape_optimizer_create": (c.c_int32, (c.c_void_p, c.POINTER(volta_optimizer_options), c.POINTER(c.c_void_p), c.c_size_t, c.POINTER(c.c_void_p),)),
    "volta_tape_optimizer_release": (None, (c.c_void_p,)),
    "volta_tape_optimizer_zero_grad": (c.c_int32, (c.c_void_p,)),
    "volta_tape_step": (c.c_int32, (c.c_void_p, c.c_void_p, c.POINTER(volta_step_report),)),
    "volta_tape_capture": (c.c_int32, (c.c_void_p, c.POINTER(c.c_void_p), c.c_size_t, c.POINTER(volta_capture_options), c.POINTER(c.c_void_p),)),
    "volta_compile": (c.c_int32, (c.c_void_p, c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_void_p, c.POINTER(c.c_void_p), c.c_size_t, c.POINTER(c.c_void_p), c.c_size_t), c.c_void_p, c.POINTER(volta_compile_options), c.POINTER(c.c_void_p),)),
    "volta_compiled_release": (None, (c.c_void_p,)),
    "volta_compiled_call": (c.c_int32, (c.c_void_p, c.POINTER(c.c_void_p), c.c_size_t, c.POINTER(c.c_void_p), c.c_size_t,)),
    "volta_compiled_tape": (c.c_void_p, (c.c_void_p,)),
    "volta_tape_get_info": (c.c_int32, (c.c_void_p, c.POINTER(volta_tape_info),)),
    "volta_tape_report": (c.c_int32, (c.c_void_p, c.c_int32, c.POINTER(c.c_char_p),)),
    "volta_generator_create": (c.c_int32, (c.c_void_p, c.POINTER(volta_generator_options), c.POINTER(c.c_void_p),)),
    "volta_generator_release": (None, (c.c_void_p,)),
    "volta_generator_start": (c.c_int32, (c.c_void_p, c.c_void_p, c.c_size_t,)),
    "volta_generator_next": (c.c_int32, (c.c_void_p, c.c_void_p,)),
    "volta_generator_logits": (c.c_int32, (c.c_void_p, c.POINTER(c.c_void_p), c.c_void_p,)),
    "volta_generator_get_bill": (c.c_int32, (c.c_void_p, c.POINTER(volta_bill),)),
    "volta_generator_get_cost": (c.c_int32, (c.c_void_p, c.c_int64, c.POINTER(volta_token_cost),)),
    "volta_generator_no_cache_reason": (c.c_char_p, (c.c_void_p,)),
    "volta_sequence_create": (c.c_int32, (c.c_void_p, c.POINTER(volta_sampling_options), c.POINTER(c.c_void_p),)),
    "volta_sequence_fork": (c.c_int32, (c.c_void_p, c.POINTER(volta_sampling_options), c.POINTER(c.c_void_p),)),
    "volta_sequence_release": (None, (c.c_void_p,)),
    "volta_sequence_append": (c.c_int32, (c.c_void_p, c.c_void_p, c.c_size_t,)),
    "volta_sequence_rewind": (c.c_int32, (c.c_void_p, c.c_size_t,)),
    "volta_generator_step": (c.c_int32, (c.c_void_p, c.POINTER(c.c_void_p), c.c_size_t, c.c_void_p,)),
    "volta_sequence_tokens": (c.c_int32, (c.c_void_p, c.POINTER(c.c_void_p), c.c_void_p,)),
    "volta_sequence_logits": (c.c_int32, (c.c_void_p, c.POINTER(c.c_void_p), c.c_void_p,)),
    "volta_generator_write": (c.c_int32, (c.c_void_p, c.c_void_p, c.c_void_p, c.POINTER(volta_write_options), c.POINTER(volta_write_result),)),
    "volta_tune": (c.c_int32, (c.c_void_p, c.POINTER(volta_tune_options),)),
    "volta_explain_matmul": (c.c_int32, (c.c_void_p, c.POINTER(volta_tune_shape), c.c_uint32, c.c_void_p, c.c_size_t, c.c_void_p,)),
    "volta_profile_start": (c.c_int32, (c.c_void_p, c.POINTER(volta_profile_options),)),
    "volta_profile_stop": (c.c_int32, (c.c_void_p,)),
    "volta_profile_get_info": (c.c_int32, (c.c_void_p, c.POINTER(volta_profile_info),)),
    "volta_profile_get_operator": (c.c_int32, (c.c_void_p, c.c_size_t, c.POINTER(volta_profile_operator),)),
    "volta_profile_get_event": (c.c_int32, (c.c_void_p, c.c_size_t, c.POINTER(volta_profile_event),)),
    "volta_profile_write_trace": (c.c_int32, (c.c_void_p, c.c_char_p,)),
}

# name: (what it returns, of what), of libvolta_data
VOLTA_DATA_FUNCTIONS = {
    "volta_data_version": (c.c_char_p, ()),
    "volta_data_last_error": (c.c_char_p, ()),
    "volta_dataset_open": (c.c_int32, (c.c_int32, c.POINTER(c.c_char_p), c.c_size_t, c.POINTER(volta_dataset_options), c.POINTER(c.c_void_p),)),
    "volta_dataset_release": (None, (c.c_void_p,)),
    "volta_dataset_get_info": (c.c_int32, (c.c_void_p, c.POINTER(volta_dataset_info),)),
    "volta_dataset_class_name": (c.c_char_p, (c.c_void_p, c.c_uint32,)),
    "volta_dataset_sample_name": (c.c_int32, (c.c_void_p, c.c_uint64, c.c_void_p, c.c_size_t,)),
    "volta_dataset_read": (c.c_int32, (c.c_void_p, c.c_uint64, c.POINTER(c.c_void_p),)),
    "volta_picture_open": (c.c_int32, (c.c_char_p, c.POINTER(volta_dataset_options), c.POINTER(c.c_void_p),)),
    "volta_picture_release": (None, (c.c_void_p,)),
    "volta_picture_get_info": (c.c_int32, (c.c_void_p, c.POINTER(volta_picture_info),)),
    "volta_picture_resize": (c.c_int32, (c.c_void_p, c.c_uint32, c.c_uint32, c.c_int32, c.POINTER(c.c_void_p),)),
    "volta_picture_transform": (c.c_int32, (c.c_void_p, c.POINTER(volta_transform_options), c.c_void_p, c.c_size_t,)),
    "volta_text_open": (c.c_int32, (c.POINTER(c.c_char_p), c.c_size_t, c.POINTER(volta_dataset_options), c.POINTER(c.c_void_p),)),
    "volta_text_release": (None, (c.c_void_p,)),
    "volta_text_get_info": (c.c_int32, (c.c_void_p, c.POINTER(volta_text_info),)),
    "volta_text_parts": (c.c_int32, (c.c_char_p, c.POINTER(volta_dataset_options), c.c_void_p,)),
    "volta_documents_parse": (c.c_int32, (c.c_char_p, c.c_char_p, c.c_size_t, c.POINTER(volta_dataset_options), c.POINTER(c.c_void_p),)),
    "volta_documents_release": (None, (c.c_void_p,)),
    "volta_documents_count": (c.c_uint64, (c.c_void_p,)),
    "volta_documents_get": (c.c_int32, (c.c_void_p, c.c_uint64, c.POINTER(volta_document),)),
    "volta_documents_pack": (c.c_int32, (c.c_void_p, c.c_uint64, c.c_uint64, c.POINTER(volta_dataset_options), c.c_void_p, c.c_void_p, c.c_void_p,)),
    "volta_loader_create": (c.c_int32, (c.c_void_p, c.POINTER(volta_loader_options), c.POINTER(c.c_void_p),)),
    "volta_loader_release": (None, (c.c_void_p,)),
    "volta_loader_next": (c.c_int32, (c.c_void_p, c.POINTER(volta_batch),)),
    "volta_loader_get_position": (c.c_int32, (c.c_void_p, c.c_void_p, c.c_void_p,)),
    "volta_loader_seek": (c.c_int32, (c.c_void_p, c.c_uint64, c.c_uint64,)),
}
