// Package sys is libvolta and libvolta_data as C has them: structs, constants, functions. Package volta is the safe one.
//
// No Go memory may be kept by C: what a struct points to is C's (Malloc, TextOf).
//
// Printed by tools/print_bindings.py from the descriptions in api/, which say what the headers say. Not edited by hand.
package sys

// #cgo pkg-config: volta volta_data
// #include <volta_data.h>
import "C"

import "unsafe"

const (
	VersionMajor = 0
	VersionMinor = 1
	VersionPatch = 0
	// of the numeric contract, docs/numerics.md
	ContractVersion = 1
	MaxRank         = 8
	ResizeExact     = 0xffffffff
)

// Status is volta_status.
//
// What a call reports. Values are ABI: appended, never renumbered.
// int32_t rather than the enum, so that every compiler and FFI agrees on size.
type Status int32

const (
	OK Status = 0
	// the call itself is wrong: the same call fails again
	InvalidArgument Status = 1
	// a right call at the wrong moment
	InvalidState Status = 2
	// well-formed tensors that do not fit this graph
	ShapeMismatch Status = 3
	// the host allocator, or the system, said no
	OutOfMemory Status = 4
	// the file could not be read or written
	IoError Status = 5
	// the file was read and is not a valid model
	CorruptModel Status = 6
	// valid, but this build or device has no kernel
	Unsupported Status = 7
	// the accelerator failed; the context stays usable
	DeviceError Status = 8
	// a bug in Volta
	Internal Status = 9
	// a loss, gradient or logit is NaN or infinite; nothing was written
	NotFinite Status = 10
	// the host asked to stop, or a callback of it threw an exception
	Cancelled Status = 11
)

// Level is volta_level.
//
// The determinism level of everything a context computes; recorded in every plan and model file, docs/determinism.md.
// The processor computes the bits of VOLTA_STRICT at every level.
type Level int32

const (
	// the numeric contract: bit-identical everywhere
	Strict Level = 0
	// the same bits on the same device, build and configuration
	Repeatable Level = 1
	// anything within tolerance
	Fast Level = 2
)

// Precision is volta_precision.
//
// What products round their operands to; they add in fp32, and parameters stay fp32. Others than FP32 are of CUDA
// alone, at VOLTA_REPEATABLE and VOLTA_FAST.
type Precision int32

const (
	PrecisionFp32 Precision = 0
	PrecisionTf32 Precision = 1
	PrecisionBf16 Precision = 2
)

// Isa is volta_isa.
//
// The instruction set that kernels are generated for. All give the same bits.
type Isa int32

const (
	// the best this processor has
	IsaAuto Isa = 0
	// plain C++: no generated code at all; slow, runs anywhere
	IsaScalar Isa = 1
	// 8 lanes
	IsaAvx2 Isa = 2
	// 16 lanes
	IsaAvx512 Isa = 3
)

// LogLevel is volta_log_level.
type LogLevel int32

const (
	LogInfo    LogLevel = 0
	LogWarning LogLevel = 1
)

// MemoryKind is volta_memory_kind.
//
// What memory is for: tensor bytes are those a bill lists, structures are graphs, plans and names.
type MemoryKind int32

const (
	MemoryStructure MemoryKind = 0
	MemoryTensor    MemoryKind = 1
)

const (
	// behave as if the system refused executable memory: kernels are interpreted
	ContextNoJit = 1
)

// StepOrder is volta_step_order.
type StepOrder int32

const (
	// as the graph has it: what one step writes the next one often reads
	StepOrderGraph StepOrder = 0
	// the one that needs less memory, where another than the graph's does
	StepOrderMemory StepOrder = 1
)

// Dtype is volta_dtype.
type Dtype int32

const (
	F32  Dtype = 1
	I32  Dtype = 2
	Bf16 Dtype = 3
	F16  Dtype = 4
	// groups of 32 along k with an f16 scale: 8.5 bits each
	Int8 Dtype = 5
	// the same with 4 bits: 4.5 bits each
	Int4 Dtype = 6
	// f32, to the bit, in the order in which writing a token reads them
	F32Panels Dtype = 7
)

// InitKind is volta_init_kind.
//
// How a tensor or a parameter starts: drawn by position from a seed and a stream (Philox).
type InitKind int32

const (
	InitConstant InitKind = 0
	InitNormal   InitKind = 1
	InitUniform  InitKind = 2
)

// TokenizerFormat is volta_tokenizer_format.
type TokenizerFormat int32

const (
	// whichever of these the file is
	TokenizerAuto TokenizerFormat = 0
	// the keys tokenizer.ggml.* of a GGUF file: models gpt2, llama, bert
	TokenizerGguf TokenizerFormat = 1
	// tokenizer.bin of llama2.c
	TokenizerLlama2c TokenizerFormat = 2
	// encoder.json with vocab.bpe beside it (or vocab.json, merges.txt); path is the first file, or the folder of both
	TokenizerGpt2 TokenizerFormat = 3
	// vocab.txt, a piece a line (one: "[UNK]"); letters are made small unless a tokenizer_config.json beside it has "do_lower_case": false
	TokenizerBert TokenizerFormat = 4
	// Hugging Face's tokenizer.json (docs/tokenizers.md)
	TokenizerJson TokenizerFormat = 5
	// its tokenizer.model, of pairs (bpe) or unigrams
	TokenizerSentencepiece TokenizerFormat = 6
)

// BertHead is volta_bert_head.
//
// What a BERT gives.
type BertHead int32

const (
	// "logits" f32 [batch, time, vocabulary]: which token stands, or stood, at each place
	BertMasked BertHead = 0
	// "logits" f32 [batch, classes], of the sequence
	BertClasses BertHead = 1
	// "pooled" f32 [batch, dim]: tanh of a product of the first token's state
	BertPooled BertHead = 2
	// "hidden" f32 [batch, time, dim]: the state of every token
	BertHidden BertHead = 3
	// "logits" f32 [batch, time, classes], of each token; an answer's beginning and end are two classes
	BertTokens BertHead = 4
)

// ResnetStem is volta_resnet_stem.
//
// How a ResNet begins.
type ResnetStem int32

const (
	// large for 18, 34 and 50 layers, small for the others
	ResnetStemOfDepth ResnetStem = 0
	// a convolution of 7x7, stride 2, and a maximum of 3x3, stride 2: ImageNet's
	ResnetStemLarge ResnetStem = 1
	// a convolution of 3x3: CIFAR's
	ResnetStemSmall ResnetStem = 2
)

// NetworkStem is volta_network_stem.
//
// How a network of pictures begins; the values are those of volta_resnet_stem.
type NetworkStem int32

const (
	// the network's own
	StemUsual NetworkStem = 0
	// as for ImageNet; mobilenet_v2: a first stride of 2
	StemLarge NetworkStem = 1
	// as for CIFAR; mobilenet_v2: strides of 1 there and of the 24 channels
	StemSmall NetworkStem = 2
)

// LoadMode is volta_load_mode.
type LoadMode int32

const (
	// read-only mmap, zero-copy, milliseconds; the file must not change while it is open
	LoadMap LoadMode = 0
	// read into memory; checksums are verified
	LoadCopy LoadMode = 1
)

// WeightFormat is volta_weight_format.
//
// Files of weights that other programs write.
type WeightFormat int32

const (
	// by the file's content
	WeightsAuto WeightFormat = 0
	// .safetensors, or the *.index.json of several in one folder
	WeightsSafetensors WeightFormat = 1
	// GGUF, versions 2 and 3
	WeightsGguf WeightFormat = 2
	// the .bin files of llama2.c, version 0
	WeightsLlama2c WeightFormat = 3
	// a graph and its weights; docs/onnx.md says of which opsets
	WeightsOnnx WeightFormat = 4
)

const (
	ImportKeep = -1
)

// WeightNames is volta_weight_names.
//
// How an export calls its tensors.
type WeightNames int32

const (
	// as volta_model_parameter_info does; metadata says what the model is
	NamesOwn WeightNames = 0
	// those of its GPT-2, Llama and BERT (docs/import.md), products [out, in] where it has them so; a config.json says what the model is
	NamesHuggingFace WeightNames = 1
)

const (
	// the conversation ends with its last message; without it, with the beginning of an answer
	ChatWhole = 1
)

const (
	// keep a copy of the weights of products in the order in which kernels read them: runs are faster, most of all on few rows, for as much memory again (under `parameters` of the bill). Small weights, which are as fast in place, get none. Packed anew when the model's parameters change
	SessionPackWeights = 1
)

// Loss is volta_loss.
type Loss int32

const (
	// output [..., classes] against i32 targets [...]; -1 is ignored; mean
	LossCrossEntropy Loss = 0
	// output against f32 targets of the same shape; mean over all elements
	LossMse Loss = 1
	// as MSE: logits, not probabilities, against targets in 0 .. 1
	LossBinaryCrossEntropy Loss = 2
	// as MSE: absolute differences
	LossL1 Loss = 3
	// as MSE: half the square up to huber_delta, a line beyond
	LossHuber Loss = 4
)

// Optimizer is volta_optimizer.
type Optimizer int32

const (
	Adamw   Optimizer = 0
	Adam    Optimizer = 1
	Sgd     Optimizer = 2
	Adagrad Optimizer = 3
)

// Schedule is volta_schedule.
type Schedule int32

const (
	ScheduleConstant Schedule = 0
	// both after the linear warm-up
	ScheduleCosine Schedule = 1
)

// NonfinitePolicy is volta_nonfinite_policy.
type NonfinitePolicy int32

const (
	// NOT_FINITE, nothing written
	NonfiniteStop NonfinitePolicy = 0
	// log, go on
	NonfiniteLog NonfinitePolicy = 1
)

// PlanPart is volta_plan_part.
type PlanPart int32

const (
	PlanForward  PlanPart = 0
	PlanBackward PlanPart = 1
	PlanUpdate   PlanPart = 2
)

// TapeMode is volta_tape_mode.
type TapeMode int32

const (
	// each call is computed before it returns
	TapeEager TapeMode = 0
	// calls are recorded, and computed together when a result is read: for training
	TapeLazy TapeMode = 1
)

const (
	// a record that would be computed in more than one piece is INVALID_STATE
	TapeOneSegment = 1
)

const (
	// keep no keys and values: every token runs its whole sequence again. The same tokens and logits, slowly; for measuring, and for proof
	GeneratorNoCache = 1
)

// StopReason is volta_stop_reason.
//
// Why writing ended: the first of this list that is true.
type StopReason int32

const (
	// it did not begin, or an error ended it
	StopNone StopReason = 0
	// one of stop_tokens was drawn
	StopToken StopReason = 1
	// the tokenizer's bos or eos was drawn: a new text would begin
	StopEndOfText StopReason = 2
	// the text ran into one of stop_texts
	StopText StopReason = 3
	// max_tokens were drawn
	StopMaxTokens StopReason = 4
	// the sequence has as many tokens as the context holds
	StopContextFull StopReason = 5
	// on_text said so
	StopCallback StopReason = 6
	// volta_cancel_request
	StopCancelled StopReason = 7
	// max_seconds were over
	StopDeadline StopReason = 8
)

const (
	// bos and eos of the tokenizer are tokens like any other
	WritePastEnd = 1
)

const (
	// as a session with VOLTA_SESSION_PACK_WEIGHTS: B is packed before
	ExplainPackedOnce = 1
	// the weights of the plan are more than all of the LLC
	ExplainFromMemory = 2
)

// ProfileKind is volta_profile_kind.
type ProfileKind int32

const (
	// a call of the host, or a part of one: "train_step", and in it "exchange" with the ranks of a group; "evaluate", "session_run", "token_step", and in it "prefill", "decode", "sample"
	ProfileCall ProfileKind = 0
	// one run of a plan's phase: "each", "reduce", "update"
	ProfilePhase ProfileKind = 1
	// a step of the plan: an operator
	ProfileStep ProfileKind = 2
	// what a thread of the pool had of a step; thread 0's share is not told apart
	ProfileWorker ProfileKind = 3
)

// DataFormat is volta_data_format.
type DataFormat int32

const (
	// binary records of 3,073 bytes
	DataCifar10 DataFormat = 1
	// of 3,074 bytes: coarse and fine label; the fine one is the class
	DataCifar100 DataFormat = 2
	// MNIST and its like: a file of images, one of labels; gzip too
	DataIdx DataFormat = 3
	// a folder per class of JPEG and PNG files: the layout of ImageNet
	DataFolder DataFormat = 4
)

// DataSplit is volta_data_split.
//
// Which part of a folder is opened; files that are named one by one are what they are.
type DataSplit int32

const (
	SplitTrain DataSplit = 0
	SplitTest  DataSplit = 1
	// of texts alone
	SplitValidation DataSplit = 2
)

// Filter is volta_filter.
//
// How sizes change: the results of Pillow's Image.resize, bit for bit.
type Filter int32

const (
	// with antialiasing
	FilterBilinear Filter = 0
	// the same
	FilterBicubic Filter = 1
	// the mean of what a pixel covers
	FilterBox      Filter = 2
	FilterPillow12 Filter = 16
)

// DataOrder is volta_data_order.
type DataOrder int32

const (
	// every epoch in the data set's order
	OrderSequential DataOrder = 0
	// another one every epoch
	OrderShuffled DataOrder = 1
)

// DataBatches is volta_data_batches.
type DataBatches int32

const (
	// what does not fill a batch is left out in that epoch
	BatchesFull DataBatches = 0
	// the last batch of an epoch may be shorter
	BatchesAll DataBatches = 1
)

// DataDamaged is volta_data_damaged.
//
// What a damaged sample does.
type DataDamaged int32

const (
	// its batch is an error that names it
	DamagedStop DataDamaged = 0
	// BATCHES_FULL: the next good sample of the data set stands in; BATCHES_ALL: the batch is shorter. volta_batch.skipped counts, the log names it
	DamagedSkip DataDamaged = 1
)

const (
	// nothing random is done to pictures
	LoaderEvaluate = 1
	// volta_loader_next computes all itself
	LoaderNoThreads = 2
)

// Context is volta_context, which C alone makes and ends.
type Context struct{ _ [0]byte }

// Tensor is volta_tensor, which C alone makes and ends.
type Tensor struct{ _ [0]byte }

// Tensors is volta_tensors, which C alone makes and ends.
//
// Named tensors that were read from a file, ascending by name.
type Tensors struct{ _ [0]byte }

// Graph is volta_graph, which C alone makes and ends.
type Graph struct{ _ [0]byte }

// Tokenizer is volta_tokenizer, which C alone makes and ends.
type Tokenizer struct{ _ [0]byte }

// Model is volta_model, which C alone makes and ends.
type Model struct{ _ [0]byte }

// Session is volta_session, which C alone makes and ends.
type Session struct{ _ [0]byte }

// Group is volta_group, which C alone makes and ends.
type Group struct{ _ [0]byte }

// Trainer is volta_trainer, which C alone makes and ends.
type Trainer struct{ _ [0]byte }

// Tape is volta_tape, which C alone makes and ends.
//
// What a program does with tensors, call by call, with gradients and updates. A tape records the calls as a graph and
// computes it by the same plans as sessions and trainers: EAGER at once, LAZY when the host asks for a result. One
// result: the bits are those of the other mode, and of a session or trainer of the same graph.
// volta_tensor *y = volta_op(tape, "relu", volta_op(tape, "matmul", x, w));
// volta_tensor *loss = volta_op(tape, "mean", volta_op(tape, "cross_entropy", y, targets));
// volta_tape_backward(tape, loss);
// status = volta_tape_step(tape, optimizer, &report);
// volta_tape_reset(tape);
// A record is what is called between two resets. Its results belong to the tape and end with the record, unless
// volta_tensor_keep makes them the host's. A record that makes the same calls as an earlier one, with tensors of the
// same shapes, finds its plans there and allocates nothing. Tensors that a record reads stay as they are until it has
// been computed or reset: the host does not write them in between. Records of several tapes may read one tensor.
type Tape struct{ _ [0]byte }

// TapeOptimizer is volta_tape_optimizer, which C alone makes and ends.
type TapeOptimizer struct{ _ [0]byte }

// Compiled is volta_compiled, which C alone makes and ends.
type Compiled struct{ _ [0]byte }

// Generator is volta_generator, which C alone makes and ends.
type Generator struct{ _ [0]byte }

// Sequence is volta_sequence, which C alone makes and ends.
//
// One sequence of a generator. Sequences come and go between steps, each with its own tokens, options and seed.
type Sequence struct{ _ [0]byte }

// Dataset is volta_dataset, which C alone makes and ends.
type Dataset struct{ _ [0]byte }

// Picture is volta_picture, which C alone makes and ends.
type Picture struct{ _ [0]byte }

// Text is volta_text, which C alone makes and ends.
type Text struct{ _ [0]byte }

// Documents is volta_documents, which C alone makes and ends.
type Documents struct{ _ [0]byte }

// Loader is volta_loader, which C alone makes and ends.
type Loader struct{ _ [0]byte }

// Allocator is volta_allocator.
//
// The host's memory. `alignment` is a power of two of at most 64. allocate returns NULL to refuse: the call
// that needed the memory then reports VOLTA_OUT_OF_MEMORY, names the bytes and leaks nothing. release gets the
// same size, alignment and kind as allocate. Generated machine code needs executable pages, mapped separately. Of the
// C heap are, beside it, what the C library takes for each thread it starts and module it opens, and an exception while
// a call fails (docs/decisions/0022-operator-new.md): nothing that grows with a model.
type Allocator struct {
	Allocate unsafe.Pointer
	Release  unsafe.Pointer
	User     unsafe.Pointer
}

// ContextOptions is volta_context_options.
type ContextOptions struct {
	// bytes: sizeof(volta_context_options)
	StructSize uint
	// copied; its functions are used until release. NULL: the C heap
	Allocator *Allocator
	// NULL: no log
	Log unsafe.Pointer
	// passed to log
	LogUser unsafe.Pointer
	// threads that compute, or parts of a parallel_for; 0: one per physical core; at most 256
	ThreadCount uint32
	// 0: VOLTA_STRICT. The log says when it is another
	Level Level
	// 0: the best this processor has
	Isa Isa
	// VOLTA_CONTEXT_* bits
	Flags uint32
	// where volta_tune keeps its results, a file per processor or GPU: read now, written by volta_tune. NULL: no file is read or written
	TuningFolder *byte
	// what models are trained and run on: "cpu"; "cuda", the first device of CUDA, or "cuda:1" and so on; "auto", cuda if a device of it can be used, else cpu: the log says which and why. NULL: "cpu"
	Device *byte
	// where kernels that were compiled for a device are kept. Files of another device, driver or contract are ignored. NULL: in memory alone
	KernelFolder *byte
	// most bytes of the host's memory for what plans read and write: a plan that needs more is refused, OUT_OF_MEMORY; a trainer computes activations again before it is. 0: what there is
	HostBudget uint64
	// the same of a device's own memory, parameters too
	DeviceBudget uint64
	// 0: VOLTA_PRECISION_FP32, the only one of VOLTA_STRICT
	Precision Precision
	// Computes on threads of the host; the context then has none of its own. Work comes as up to thread_count parts: calls part(part_user, i) once for each i of 0 .. count - 1, and returns when all have ended. Parts may run in any order, on any threads, also one after another on one: none waits for another. They may run in any floating-point environment, which is theirs again when they return, need 64 KiB of stack, and call no function of the host. It is called on the thread that calls the library, by contexts that run at once from several threads at once, and never in a forked child. What it leaves out the caller computes, and the call reports what went wrong: INVALID_STATE it left a part out, returned before all had ended, or ran one twice; CANCELLED it threw an exception. Results are whole all the same; whether a step was made says volta_trainer_current_step. NULL: threads of the context's own
	ParallelFor unsafe.Pointer
	// passed to parallel_for
	ParallelUser unsafe.Pointer
	// of every plan; results keep every bit
	StepOrder StepOrder
}

// ContextInfo is volta_context_info.
type ContextInfo struct {
	// in: sizeof(volta_context_info)
	StructSize uint
	// the one in use, never AUTO
	Isa Isa
	// in use
	ThreadCount uint32
	// of this machine, as far as this process may use them
	PhysicalCores uint32
	// 1: kernels run as machine code; 0: interpreted
	JitActive int32
	// plans taken from the context's cache
	PlanCacheHits uint64
	// plans made
	PlanCacheMisses uint64
	// allocations asked from the host since creation
	AllocationCount uint64
	// tensor memory held now, in bytes
	TensorBytes uint64
	// the most ever held at once, in bytes
	TensorBytesPeak uint64
	// executable pages held, in bytes
	CodeBytes uint64
	// the processor's own name
	Cpu [64]byte
	// of everything that it computes
	Level     Level
	Precision Precision
}

// Cancel is volta_cancel.
//
// A request to stop that may come from anywhere. Zero it where you define it: VOLTA_CANCEL_INIT. It needs no release.
type Cancel struct {
	// set by volta_cancel_request alone; zero it again while no call reads it
	Requested int32
}

// StopOptions is volta_stop_options.
//
// What may end a long call before it is through.
type StopOptions struct {
	StructSize uint
	// kept until the next volta_context_set_stop. NULL: none
	Cancel *Cancel
	// not 0: stop. Runs on the caller's thread, and calls nothing of this context. NULL: none
	ShouldStop unsafe.Pointer
	// passed to should_stop
	User unsafe.Pointer
	// from volta_context_set_stop on, by a clock that is never set; 0: no end
	MaxSeconds float64
}

// DeviceInfo is volta_device_info.
//
// A device that plans run on, and what a context moved to and from it.
type DeviceInfo struct {
	// in: sizeof(volta_device_info)
	StructSize uint
	// as volta_context_options.device takes it: "cpu", "cuda:0"
	Name [32]byte
	// the processor's or device's own name
	Description [128]byte
	// of its own; 0: it uses the host's
	MemoryBytes uint64
	// of these, now, within the context's budget
	FreeBytes uint64
	// cores of a processor
	Multiprocessors uint32
	// CUDA compute capability; 0: none
	CapabilityMajor uint32
	CapabilityMinor uint32
	// 0
	Reserved uint32
	// of the context so far; 0 where memory is the host's
	CopiesToDevice uint64
	BytesToDevice  uint64
	CopiesToHost   uint64
	BytesToHost    uint64
	// of kernels and of recorded graphs of them
	Launches uint64
	// of its memory, by the context's objects: what their bills say
	BytesInUse uint64
	// of the host's memory, locked for copies, by the same
	PinnedBytes uint64
}

// MachineSpeed is volta_machine_speed.
//
// The most the context's device does, measured now: what the speed of anything that computes is to be divided by.
// On a processor with the context's threads and instruction set. On a device of its own memory isa is
// VOLTA_ISA_AUTO, thread_count 0, and read and stream are one figure: copying within the device's memory, bytes read
// and bytes written. Medians; a spread is (90th - 10th percentile) / median.
type MachineSpeed struct {
	// in: sizeof(volta_machine_speed)
	StructSize uint
	// in use
	Isa Isa
	// that ran at once
	ThreadCount uint32
	// fused multiply-adds on registers alone, two operations each, GFLOP/s
	FmaGflops float64
	FmaSpread float64
	// reading memory, four streams per thread, GB/s (10^9 bytes)
	ReadGbS    float64
	ReadSpread float64
	// an optimizer pass: 16 bytes read, 12 written per parameter, GB/s of all 28
	StreamGbS    float64
	StreamSpread float64
	// of memory that was walked: eight times the last-level cache, 256 .. 768 MiB; on a device two buffers of 256 MiB, or less where it has less
	BufferBytes uint64
}

// Init is volta_init.
type Init struct {
	Kind InitKind
	// constant: the value | normal: standard deviation, mean 0 | uniform: low
	A float64
	// constant, normal: unused | uniform: high
	B float64
}

// Comparison is volta_comparison.
//
// How far two tensors are apart, over all of their elements.
type Comparison struct {
	// in: sizeof(volta_comparison)
	StructSize uint
	// elements that differ
	Differing int64
	// the first of these, counted in row-major order; -1: none
	First int64
	// of |a - b|; infinite where one is NaN or infinite and the other is another
	LargestAbsolute float64
	// of |a - b| / |b|; infinite there too, and where b alone is 0
	LargestRelative float64
	// f32: steps from one to the next number between a and b, 0 from -0 to +0; i32: |a - b|; where NaN is beside a number UINT64_MAX
	LargestUlps uint64
	// 1: no element differs
	IsEqual int32
}

// Value is volta_value.
//
// A value of a graph: a handle that is valid in that graph only.
type Value struct {
	// < 0: no value
	Id int32
}

// Attribute is volta_attribute.
//
// An attribute of an operator. docs/operators.md lists every operator with its inputs and attributes.
type Attribute struct {
	// "axis", "epsilon", ...
	Name *byte
	// for numeric and yes/no attributes
	Number float64
	// for list attributes ("permutation", ...)
	Integers     *int64
	IntegerCount uint
}

// EncodeOptions is volta_encode_options.
//
// How a text is taken. volta_tokenizer_encode: all zeros.
type EncodeOptions struct {
	StructSize uint
	// 1: bos first and eos last, where the tokenizer adds them (volta_special_ids)
	Ends int32
	// 1: control pieces in the text ("</s>") become their ids; 0: they are text like any other
	Special int32
	// a second text that stands behind it, as models that compare two take them: with `ends` eos is between both (twice where the file says so: RoBERTa's) and behind. NULL: none
	Pair      *byte
	PairBytes uint
	// most ids, ends included: what is too long loses ids at its end, of two texts the longer one until both are of one length, as transformers' truncation=True. 0: no limit
	MaxTokens uint
	// out: room for `capacity`: 0 for ids of the text and what ends it, 1 behind. NULL: not asked for
	Segments *int32
}

// SpecialIds is volta_special_ids.
//
// Ids that stand for no text; -1: the tokenizer has none.
type SpecialIds struct {
	// in: sizeof(volta_special_ids)
	StructSize uint
	// begins and ends a text ([CLS] and [SEP] of wordpiece)
	Bos int32
	// begins and ends a text ([CLS] and [SEP] of wordpiece)
	Eos int32
	// what the vocabulary lacks; fills rows
	Unk int32
	// what the vocabulary lacks; fills rows
	Pad int32
	// 1: encoding with `ends` adds it
	AddsBos int32
	// 1: encoding with `ends` adds it
	AddsEos int32
}

// GptOptions is volta_gpt_options.
//
// A GPT: learned positions, pre-norm, one fused QKV weight, biases, tied head. Zeros are the preset "tiny".
type GptOptions struct {
	StructSize uint
	// number of token ids; required
	Vocabulary int64
	// 0: 6
	Layers int64
	// width; 0: 384; a multiple of heads
	Dim int64
	// 0: 6
	Heads int64
	// longest sequence; 0: 256
	Context int64
	// probability after embedding, attention and both branches; 0: none
	Dropout float64
}

// LlamaOptions is volta_llama_options.
//
// A Llama: rotary positions, RMS norms, gated activations (SwiGLU), grouped keys and values, no biases. Zeros are the
// sizes of the preset "tiny". Parameters, with h = dim / heads: "token_embedding" [vocabulary, dim];
// "block.<i>.norm1.weight" [dim], ".qkv.weight" [dim, (heads + 2 kv_heads) h] (q, k and v side by side),
// ".proj.weight" [dim, dim], ".norm2.weight" [dim], ".gate_up.weight" [dim, 2 hidden] (the gate first),
// ".down.weight" [hidden, dim]; "norm_final.weight" [dim]; untied: "head.weight" [vocabulary, dim].
type LlamaOptions struct {
	StructSize uint
	// number of token ids; required
	Vocabulary int64
	// 0: 6
	Layers int64
	// width; 0: 384; a multiple of heads, dim / heads is even
	Dim int64
	// 0: 6
	Heads int64
	// of keys and values, a divisor of heads; 0: heads
	KvHeads int64
	// width of the gated activation; 0: 8/3 dim, up to a multiple of 32
	Hidden int64
	// longest sequence, at most 2^20; 0: 256
	Context int64
	// pair i of a head turns by base^(-2i/h) per position; 0: 10000
	RopeBase float64
	// of the norms; 0: 1e-5
	Epsilon float64
	// 0: the head is the token embedding; 1: a weight of its own
	Untied int32
	// rotary pairs: 0: (i, i + h/2); 1: (2i, 2i + 1)
	Interleaved int32
}

// BertOptions is volta_bert_options.
//
// A BERT: an encoder in which every token sees all others, post-norm, learned positions and segments, GELU by erf.
// Zeros are BERT-small. Parameters: "token_embedding" [vocabulary, dim], "segment_embedding" [segments, dim],
// "position_embedding" [context, dim], "norm_embedding.weight" and ".bias" [dim]; "block.<i>.qkv.weight"
// [dim, 3 dim] (q, k and v side by side), ".proj.weight" [dim, dim], ".norm1.weight" [dim], ".fc.weight"
// [dim, hidden], ".fc_proj.weight" [hidden, dim], ".norm2.weight" [dim], each with its ".bias"; masked:
// "transform.weight" [dim, dim], "norm_transform.weight" [dim], each with its bias, "head.bias" [vocabulary] (the
// head's weight is the token embedding); classes and pooled: "pooler.weight" [dim, dim] and ".bias"; classes:
// "classifier.weight" [dim, classes] and ".bias".
type BertOptions struct {
	StructSize uint
	// number of token ids; required
	Vocabulary int64
	// 0: 4
	Layers int64
	// width; 0: 512; a multiple of heads
	Dim int64
	// 0: 8
	Heads int64
	// width between the two products of a block; 0: 4 dim
	Hidden int64
	// longest sequence; 0: 512
	Context int64
	// kinds of tokens (first and second sentence); 0: 2
	Segments int64
	// VOLTA_BERT_CLASSES, VOLTA_BERT_TOKENS: required; else 0
	Classes int64
	// probability after embedding, attention, branches, pooling; 0: none
	Dropout float64
	// of the norms; 0: 1e-12
	Epsilon float64
	// 0: VOLTA_BERT_MASKED
	Head BertHead
	// 1: an input says each token's segment; 0: all are of segment 0
	SegmentInput int32
	// 1: an input says which tokens are there; 0: all are, and sequences of a batch have one length
	MaskInput int32
}

// ResnetOptions is volta_resnet_options.
//
// A residual network that classifies pictures: 18, 34 or 50 layers as for ImageNet, or 20, 32, 44 or 56 as for CIFAR
// (three stages of 16, 32 and 64 channels, shortcuts without parameters). Parameters have torchvision's names:
// "conv1.weight" [filters, channels, k, k], "bn1.weight", ".bias", ".running_mean" and ".running_var" [filters],
// "layer<s>.<i>.conv1.weight", ..., "layer<s>.<i>.downsample.0.weight", "fc.weight" [classes, width], "fc.bias".
type ResnetOptions struct {
	StructSize uint
	// 0: 18; else 18, 34, 50, 20, 32, 44 or 56
	Depth int64
	// 0: 1000, or 10 of 20, 32, 44 and 56 layers
	Classes int64
	// of pictures; 0: 3
	Channels int64
	// of pictures; 0: 224 with the large stem, else 32
	Rows int64
	// of pictures; 0: 224 with the large stem, else 32
	Columns int64
	// 0: VOLTA_RESNET_STEM_OF_DEPTH
	Stem ResnetStem
}

// NetworkOptions is volta_network_options.
//
// A network that classifies pictures, by its name:
// "resnet18", "resnet34", "resnet50", "resnet20", "resnet32", "resnet44", "resnet56": see volta_resnet_options
// "mobilenet_v2": inverted residuals with convolutions of each channel alone, and relu6, without dropout; parameters
// have torchvision's names: "features.0.0.weight", "features.0.1.weight", ..., "features.1.conv.0.0.weight", ...,
// "features.18.1.bias", "classifier.1.weight" [classes, 1280] and ".bias"
// "cnn": three times a convolution of 3x3 (to 32, 64, 128 channels), a norm, relu and maxima of 2x2, and a product:
// "conv<i>.weight", "bn<i>.weight", ".bias", ".running_mean", ".running_var", "fc.weight", "fc.bias"
type NetworkOptions struct {
	StructSize uint
	// one of volta_network_name; required
	Name *byte
	// 0: 1000 of ImageNet's networks, 10 of the others
	Classes int64
	// of pictures; 0: 3, of cnn 1
	Channels int64
	// of pictures; 0: 224 with the large stem, 32 with the small one, of cnn 28, which takes no less than 8
	Rows int64
	// of pictures; 0: 224 with the large stem, 32 with the small one, of cnn 28, which takes no less than 8
	Columns int64
	// mobilenet_v2, cnn: numbers of filters times this, as multiples of 8 that are at least nine tenths of it; mobilenet_v2's last is never below 1280. 0: 1
	Width float64
	// 0: VOLTA_STEM_USUAL; cnn has the small one only
	Stem NetworkStem
}

// OpenOptions is volta_open_options.
type OpenOptions struct {
	StructSize uint
	Mode       LoadMode
	// 1: verify every checksum although the file is mapped
	Verify int32
}

// InputShape is volta_input_shape.
//
// The shape that an input of an imported graph gets. -1: an extent stays as the file has it.
type InputShape struct {
	Name  *byte
	Rank  int32
	Shape [8]int64
}

// ImportOptions is volta_import_options.
type ImportOptions struct {
	StructSize uint
	Format     WeightFormat
	// as volta_tokenizer_open takes it; NULL: the one in the file or the folder, where there is one
	TokenizerPath *byte
	// config.json of a safetensors model: what it is, with how many heads; NULL: the one beside the file. Files that say it themselves need none
	ConfigPath *byte
	// a text of lines "their.%d.name = our.%d.name [transpose]" for names that are not built in; NULL: none
	KeyMapPath *byte
	// a BERT of another program: its head, segment_input, mask_input and dropout are these, sizes are the file's and 0 here; NULL: the head that the file has (masked, else classes, else pooled, else hidden), tokens as its only input
	Bert *BertOptions
	// what the weights of products and the tables of tokens become: 0 or VOLTA_F32, f32, exactly; VOLTA_IMPORT_KEEP; or VOLTA_BF16, VOLTA_F16, VOLTA_INT8, VOLTA_INT4, VOLTA_F32_PANELS, as volta_model_quantize makes them of f32
	Weights int32
	// 1: the model carries no tokenizer, whatever the file has; with tokenizer_path NULL
	NoTokenizer int32
	// the file holds a ResNet of this depth and these pictures, by torchvision's names (those of CIFAR may call the last layer "linear"); no config is needed. classes 0: as many as the file has. NULL: it is something else
	Resnet *ResnetOptions
	// of an ONNX file: extents of its inputs that it leaves open, and that the model cannot leave to whoever runs it; may be NULL
	Shapes     *InputShape
	ShapeCount uint
	// what resnet says, of any network of volta_network_name
	Network *NetworkOptions
	// of an ONNX file: 1: its nodes stay as they are written; 0: those that are a layer norm, a GELU, attention and so on become that operator, which may round otherwise (docs/onnx.md)
	ExactGraph int32
}

// ExportOptions is volta_export_options.
type ExportOptions struct {
	StructSize uint
	Names      WeightNames
	// where VOLTA_NAMES_HUGGING_FACE writes the config.json; NULL: nowhere
	ConfigPath *byte
}

// OnnxExportOptions is volta_onnx_export_options.
type OnnxExportOptions struct {
	StructSize uint
	// of ONNX's operators: 13, 17, 20 or 21; 0: 13, which everything reads
	Opset int32
	// parameters of more bytes in all are written beside the file, to its path with ".data" behind; 0: as many as one file can hold, 2 GB
	InlineBytes uint64
}

// GgufExportOptions is volta_gguf_export_options.
type GgufExportOptions struct {
	StructSize uint
	// what weights of products and the table of tokens are written as: VOLTA_F32, VOLTA_F16, VOLTA_BF16, VOLTA_INT8: Q8_0, VOLTA_INT4: Q4_0; 0: as the model has them, to the bit
	Weights Dtype
	// 1: the file has no tokenizer, whatever the model carries
	NoTokenizer int32
}

// LoraOptions is volta_lora_options.
//
// LoRA: what volta_model_add_lora puts beside the weights of a base.
type LoraOptions struct {
	StructSize uint
	// of the two matrices of an adapter; 0: 8; 1 .. 4096
	Rank int64
	// the change is alpha / rank times their product; 0: twice the rank; at most 1e6
	Alpha float64
	// parts q, k, v, o, gate, up, down, fc, fc_proj or names of weights, joined by +; NULL: "q+v"
	Targets *byte
	// of the values that adapters begin with
	Seed uint64
}

// TensorInfo is volta_tensor_info.
//
// Inputs, outputs and parameters, in declaration order. Lends: names until release. Shape: shape has room for
// VOLTA_MAX_RANK extents; -1 stands for an extent that the host chooses per session (batch, time).
type TensorInfo struct {
	Name  *byte
	Dtype Dtype
	Rank  int32
	Shape [8]int64
}

// ChatMessage is volta_chat_message.
//
// A message of a conversation. UTF-8, zero-terminated.
type ChatMessage struct {
	// "system", "user" or "assistant"
	Role    *byte
	Content *byte
}

// Bill is volta_bill.
//
// Bytes of tensor memory by class. The peak that the allocator sees equals `total` exactly.
type Bill struct {
	// in: sizeof(volta_bill)
	StructSize uint
	// copies the plan owns, packed ones too; 0 where it reads the model's
	Parameters uint64
	// one per parameter, kept until the next step
	Gradients uint64
	// moments
	OptimizerState uint64
	// arena: values that live between steps of the plan
	Activations uint64
	// packed panels and per-thread scratch
	Workspace uint64
	// inputs, targets and results the object keeps for the host
	Staging uint64
	Total   uint64
	// keys, values and angles of a generator's sequences; part of the total
	Cache uint64
}

// SessionOptions is volta_session_options.
type SessionOptions struct {
	StructSize uint
	// extents of all inputs, one after the other, in the model's order; NULL when no input has an extent of -1
	InputShapes *int64
	// how many extents in all
	InputExtentCount uint
	// VOLTA_SESSION_* bits
	Flags uint32
}

// GroupOptions is volta_group_options.
type GroupOptions struct {
	StructSize uint
	// "local": processes of one machine; "tcp": of several; "mpi": those that an MPI library has started; "nccl": of several, from device to device; "host": exchange. NULL: "local"
	Transport *byte
	// local: a folder that all of them may write; tcp, nccl: HOST:PORT where rank 0 listens; mpi: the library's file, or "openmpi" or "mpich", NULL: what is found; host: NULL
	Address *byte
	// of this process: 0 .. size - 1
	Rank uint32
	// processes, each with a rank of its own; a power of two. 0: 1; mpi: as many as it says, and rank is what it says
	Size uint32
	// seconds after which a rank that does not answer is given up; 0: 30
	Timeout float64
	// host: the transport
	Exchange unsafe.Pointer
	// handed to exchange
	User unsafe.Pointer
	// nccl: its file; NULL: libnccl.so.2
	Library *byte
}

// TrainerOptions is volta_trainer_options.
//
// Numbers are doubles here, in the file and in the configuration; step factors are rounded to f32 once.
type TrainerOptions struct {
	StructSize uint
	// of one micro-batch; as in volta_session_options
	InputShapes      *int64
	InputExtentCount uint
	Loss             Loss
	Optimizer        Optimizer
	// of batch order and dropout
	Seed uint64
	// the whole run, which the schedule spans; required for COSINE
	Steps uint64
	// accumulated per step; 0: one per shard
	MicroBatches uint64
	Schedule     Schedule
	// linear from lr/warmup to lr
	WarmupSteps uint64
	// 0: 1e-3
	LearningRate float64
	// COSINE ends here
	FinalLearningRate float64
	// ADAM, ADAMW; 0: 0.9 and 0.999; -1: really 0
	Beta1 float64
	// ADAM, ADAMW; 0: 0.9 and 0.999; -1: really 0
	Beta2 float64
	// ADAM, ADAMW: 0: 1e-8; ADAGRAD: 0: 1e-10
	Epsilon float64
	// applied as decay_all_parameters says
	WeightDecay float64
	// 0: parameters of rank >= 2 only; 1: all
	DecayAllParameters int32
	// SGD; 0: none, and no memory for it
	Momentum float64
	// SGD: 1: Nesterov momentum
	Nesterov int32
	// largest global gradient norm; 0: no clipping
	ClipNorm  float64
	Nonfinite NonfinitePolicy
	// the model output that the loss is taken of
	OutputIndex int32
	// CROSS_ENTROPY: what all classes share of a target; at least 0, below 1
	LabelSmoothing float64
	// CROSS_ENTROPY: one per class; the mean is divided by the sum of the targets' weights. BINARY_CROSS_ENTROPY: of the positive, one per column; the mean stays that of all elements. NULL: none. Copied.
	ClassWeights     *float64
	ClassWeightCount uint
	// HUBER: difference at which the square becomes a line; 0: 1
	HuberDelta float64
	// Parameters that keep their bits: names, or patterns in which * stands for any characters and ? for one. They get no gradient and no optimizer state. A batch_norm whose running mean and variance are frozen is computed by them, as in inference. NULL: none. Copied.
	Frozen      **byte
	FrozenCount uint
	// 1: a row holds documents side by side: none sees another, and each begins at position 0. For models with one i32 input [batch, time] and the CROSS_ENTROPY loss. A step takes one input more behind the tokens, i32 of their shape: the place in its row where the document of each token begins. The model that is saved stays as it is.
	PackedDocuments int32
	// The rest says where and when, never what: results keep every bit, and a checkpoint has none of it. Most bytes of the bill's activations: the backward pass computes again what is not kept for it, the cheapest choice that fits (docs/memory.md). OUT_OF_MEMORY names the smallest budget that works. 0: the fastest plan, or, in a context with a host_budget, the fastest that fits in what is left of it.
	ActivationBudget uint64
	// A folder on a disk: moments lie in a file there that has no name, mapped, rather than in memory, and the bill is without them. On a processor only. NULL: in memory. Copied.
	StateFolder *byte
	// 1: a parameter is updated as soon as its gradient is complete, which then needs no memory; there is no volta_trainer_gradient. Needs one micro-batch. With clip_norm a step computes its gradients twice, first for their norm. A step that fails or is not finite has changed some parameters: every later call fails so, go on from a checkpoint.
	UpdateInBackward int32
	// A power of two that divides micro_batches: a step's batch is so many equal parts, whose gradients and losses are each computed complete and added as a tree. Unlike the fields above part of what is computed, and of a checkpoint. Who computes a shard is not: one process or a group of up to so many ranks, with the same bits. 0: 1.
	Shards uint64
	// Of this run alone: the ranks that compute the shards, each rank the same number. All of them make the same calls, on the same model, options and data; the optimizer's state is divided among them. NULL: this process computes all.
	Group *Group
}

// TrainingCost is volta_training_cost.
//
// What a training step costs, beside the memory of its bill.
type TrainingCost struct {
	// in: sizeof(volta_training_cost)
	StructSize uint
	// of products and attention in one step; a multiply-add is two
	Operations float64
	// of these, what is computed again for activation_budget
	RepeatedOperations float64
	// operands and results of the plan's steps, each moved once
	Bytes float64
	// of a step in which all ran at the speed given: no step is faster. 0: none given
	Seconds float64
	// the least activation_budget that works
	SmallestActivations uint64
}

// PlanStep is volta_plan_step.
//
// A step of a trainer's plan, as volta_trainer_estimate_steps tells it.
type PlanStep struct {
	// out: the library's sizeof(volta_plan_step)
	StructSize uint
	// the operator's name
	Operation *byte
	// bytes of activations that hold something while it runs
	Alive uint64
	Part  PlanPart
}

// StepReport is volta_step_report.
//
// What a step reports.
type StepReport struct {
	StructSize uint
	// 1 after the first
	Step uint64
	// mean over the step's targets, before the update
	Loss float32
	// global, before clipping
	GradientNorm float32
	// used in this step
	LearningRate float64
	// Of a group, else 0: seconds of the step in which this rank waited for others to be as far as it was, and in which gradients and parameters went between them. The rest it computed.
	WaitSeconds float64
	// Of a group, else 0: seconds of the step in which this rank waited for others to be as far as it was, and in which gradients and parameters went between them. The rest it computed.
	ExchangeSeconds float64
}

// TapeOptions is volta_tape_options.
type TapeOptions struct {
	StructSize uint
	Mode       TapeMode
	// VOLTA_TAPE_* bits
	Flags uint32
	// of dropout, which needs no input of its own on a tape: it draws anew after each step
	Seed uint64
	// that it keeps; the one that was used the longest ago goes first. 0: 4096
	MostPlans uint64
}

// OptimizerOptions is volta_optimizer_options.
//
// The trainer's options of the same names, and their defaults.
type OptimizerOptions struct {
	StructSize         uint
	Optimizer          Optimizer
	Schedule           Schedule
	Steps              uint64
	WarmupSteps        uint64
	LearningRate       float64
	FinalLearningRate  float64
	Beta1              float64
	Beta2              float64
	Epsilon            float64
	WeightDecay        float64
	DecayAllParameters int32
	Momentum           float64
	Nesterov           int32
	// over the tensors of one step
	ClipNorm float64
}

// CaptureOptions is volta_capture_options.
//
// How a captured model names its tensors, and which extents it leaves open.
type CaptureOptions struct {
	StructSize uint
	// that the record reads, and their names; others are called "p0", "p1", ... if they require a gradient, else "x0", "x1", ...
	Tensors   **Tensor
	Names     **byte
	NameCount uint
	// one per output; NULL: "y0", "y1", ...
	OutputNames **byte
	// 1: the first extent of every input is the host's to choose
	OpenBatch int32
}

// CompileOptions is volta_compile_options.
type CompileOptions struct {
	StructSize uint
	// VOLTA_TAPE_ONE_SEGMENT: a result that is read within the function is an error
	Flags uint32
	// of dropout
	Seed uint64
}

// TapeInfo is volta_tape_info.
type TapeInfo struct {
	StructSize uint
	// that have ended
	Records uint64
	// recorded
	Calls uint64
	// pieces of records that were computed
	Segments uint64
	// of these, whose plan was there
	PlansKnown uint64
	PlansMade  uint64
	// operators computed again, because their results had not been held
	RepeatedNodes uint64
	// different records that are remembered, at most 64
	Traces uint64
	// of results and workspace, for the next record too
	HeldBytes uint64
	// at most most_plans
	PlansHeld uint64
	// because others were used more recently
	PlansReleased uint64
}

// GeneratorOptions is volta_generator_options.
type GeneratorOptions struct {
	StructSize uint
	// 0: greedy
	Temperature float64
	// keep the k most likely; 0: all
	TopK int32
	// keep the smallest head with this mass; 0: all
	TopP float64
	// keep tokens of at least this share of the best; 0: all
	MinP float64
	// > 1 discourages tokens of the sequence; 0: 1, none
	RepetitionPenalty float64
	Seed              uint64
	// the most there are at once; 0: 1. Each has its share of the cache
	Sequences int64
	// the most tokens of a sequence; 0: the model's context. Less saves memory
	Context int64
	// the most tokens of a prompt per run; 0: 256. No bit depends on it
	PrefillChunk int64
	// VOLTA_GENERATOR_* bits
	Flags uint32
	// of each sequence, what the cache has room for at first; 0: the context. It doubles when a sequence outgrows it. Ignored without a cache. No bit depends on it
	CacheTokens int64
}

// TokenCost is volta_token_cost.
//
// What computing one token of one sequence takes at least: to be divided by volta_machine_speed.
type TokenCost struct {
	// in: sizeof(volta_token_cost)
	StructSize uint
	// each parameter once; of an embedding only the rows that are looked up
	ParameterBytes uint64
	// keys and values of the tokens before, and its own
	CacheBytes uint64
	// of products and attention; a multiply-add is two
	Operations float64
}

// SamplingOptions is volta_sampling_options.
type SamplingOptions struct {
	StructSize        uint
	Temperature       float64
	TopK              int32
	TopP              float64
	MinP              float64
	RepetitionPenalty float64
	Seed              uint64
}

// WriteOptions is volta_write_options.
//
// Everything is borrowed until the call returns.
type WriteOptions struct {
	StructSize uint
	// 0: as many as the context holds
	MaxTokens int64
	// the text ends before the first of them that is drawn
	StopTokens *int32
	// at most 65536
	StopTokenCount uint
	// the text ends before the first of them that is complete; of several that are complete with the same byte, before the longest. They may span tokens
	StopTexts **byte
	// at most 1024, each of at most 65536 bytes
	StopTextCount uint
	// from the beginning of the call, by a clock that is never set; 0: no end
	MaxSeconds float64
	// looked at as max_seconds is: before each token, and between the pieces (prefill_chunk) of a prompt. NULL: none
	Cancel *Cancel
	// not 0: stop. NULL: none
	OnText unsafe.Pointer
	// passed to on_text
	User unsafe.Pointer
	// VOLTA_WRITE_* bits
	Flags uint32
}

// WriteResult is volta_write_result.
type WriteResult struct {
	// in: sizeof(volta_write_result)
	StructSize uint
	Reason     StopReason
	// which of stop_tokens or stop_texts it was; -1 for another reason
	StopIndex int32
	// drawn, and appended to the sequence
	TokenCount int64
	// the latest of them; -1: none
	LastToken int32
	// 0 .. 3, at the end of the text: the beginning of a character
	UnfinishedBytes int32
	// of all pieces, with or without an on_text
	TextBytes uint64
}

// TuneShape is volta_tune_shape.
//
// One matrix product C [m, n] = A [m, k] x B [k, n] of f32. A transposed operand is stored as its transpose.
//
// Units: leading dimensions are elements from row to row as stored; 0: dense.
type TuneShape struct {
	// 1 .. 2^24
	M int64
	// 1 .. 2^24
	N int64
	// 1 .. 2^24
	K           int64
	ATransposed int32
	BTransposed int32
	Lda         int64
	Ldb         int64
	Ldc         int64
}

// TuneReport is volta_tune_report.
//
// What volta_tune tells while it works, and about each product when it has been tuned.
type TuneReport struct {
	// sizeof(volta_tune_report) of the library
	StructSize uint
	// which product of how many
	Index uint
	// which product of how many
	Count uint
	// of the whole work, 0 .. 1
	Share float64
	// 1: what follows is final for this product; 0: it is being searched
	Done int32
	// 1: bias, activation or the like follow it (a stand-in is timed)
	HasEpilogue int32
	// leading dimensions filled in
	Shape TuneShape
	// products of this shape in one call
	Batch int64
	// of the default rules; median of the final play-off
	DefaultSeconds float64
	// of the choice; the same where the default stays
	TunedSeconds float64
	// for comparison: tile 8x8 (4x4 in scalar code), K_BLOCK 128, M_BLOCK 64, operands packed; on a GPU tiles of 64 x 64
	ClassicSeconds float64
	PlansTimed     uint64
	// "f32_gemm_14x32_avx512 k_block=512", on a GPU "form=segments tile=64": the fields that are not the default rule; "": the default stays. Lends: until the callback returns
	Choice *byte
	// 1: of a session with VOLTA_SESSION_PACK_WEIGHTS: B is packed before it is timed
	PackedOnce int32
	// 1: the weights of its plan are more than half of the LLC: B is timed as it comes from there, with the memory that those weights take
	FromMemory int32
}

// TuneOptions is volta_tune_options.
type TuneOptions struct {
	StructSize uint
	// may be NULL
	Shapes     *TuneShape
	ShapeCount uint
	// all products of this session; may be NULL
	Session *Session
	// all products of this trainer's step; may be NULL
	Trainer *Trainer
	// timed runs per contender, of which the median counts; 0: 5
	Runs uint32
	// runs before them; 0: 1
	Warmup uint32
	// for all products together, about; 0: 3 each, at most 20 in all
	Seconds float64
	// not 0: stop. NULL: none
	Progress unsafe.Pointer
	// passed to progress
	User unsafe.Pointer
}

// ProfileOptions is volta_profile_options.
//
// A profile is what a context did between start and stop: its calls, the phases of their plans, every step, and what
// each thread of the pool had of it. Results have the same bits with and without; while nothing is recorded a step
// costs one branch more. Recording takes two looks at a clock per step and thread, and allocates nothing.
type ProfileOptions struct {
	StructSize uint
	// events that are kept, 48 bytes each; 0: 65536; at most 2^24. Later ones are counted as dropped; operators are complete all the same
	Capacity uint64
}

// ProfileInfo is volta_profile_info.
type ProfileInfo struct {
	// in: sizeof(volta_profile_info)
	StructSize uint
	// that were kept
	EventCount uint64
	// that came when the room was full
	Dropped uint64
	// rows of volta_profile_get_operator
	OperatorCount uint64
	// of the context: lanes
	ThreadCount uint32
	// from start to stop
	DurationNs uint64
	// in outermost calls: sessions, trainers, generators
	CallsNs uint64
	// of these in steps of plans: the sum over all operators
	StepsNs uint64
	// the most tensor memory that the context held when a call or phase began
	HeldBytesPeak uint64
	// the most of it that was activations which a later step still reads
	LiveBytesPeak uint64
}

// ProfileOperator is volta_profile_operator.
//
// All steps of one operator, dropped events included.
type ProfileOperator struct {
	// in: sizeof(volta_profile_operator)
	StructSize uint
	// "matmul": docs/operators.md. Lends: for ever
	Name    *byte
	Calls   uint64
	TotalNs uint64
	// of all steps, 0 .. 1
	Share float64
	// of products and attention, a multiply-add is two; 0: not known
	Operations float64
	// of its operands and results, each once, wherever they lie; 0: not known
	Bytes uint64
}

// ProfileEvent is volta_profile_event.
//
// Fields that say nothing about an event of its kind are "", -1 or 0.
type ProfileEvent struct {
	// in: sizeof(volta_profile_event)
	StructSize uint
	Kind       ProfileKind
	// the lane: 0: the host's, 1 .. thread_count - 1: the pool's, thread_count: a group's
	Thread uint32
	// events of its lane that it lies in
	Depth uint32
	// since start, monotonic
	BeginNs uint64
	// since start, monotonic
	EndNs uint64
	// CALL, PHASE: as above; STEP, WORKER: the operator
	Name *byte
	// STEP, WORKER: the parameter, gradient or output that it reads or makes: "block.0.qkv.weight"
	Node *byte
	// STEP, WORKER: as the plan prints it: "f32_gemm_8x48_avx512"
	Kernel *byte
	// STEP, WORKER: its number in the plan's print
	Step int64
	// STEP, WORKER: the first value that it writes: 12 is %12
	Value int64
	// CALL: the number of a train_step, tokens of a prefill, rows of a decode, sequences of a token_step; PHASE: the micro-batch
	Number int64
	// STEP: as in volta_profile_operator
	Operations float64
	// STEP: likewise
	Bytes uint64
	// STEP: of the plan's activations that are alive during it
	LiveBytes uint64
	// CALL, PHASE: of tensor memory that the context held as it began
	HeldBytes uint64
}

// DatasetOptions is volta_dataset_options.
//
// Of data sets, and of pictures that are read by themselves.
type DatasetOptions struct {
	StructSize uint
	// copied; its functions are used until release. NULL: the C heap
	Allocator *Allocator
	// NULL: no log
	Log unsafe.Pointer
	// passed to log
	LogUser unsafe.Pointer
	// 0: VOLTA_SPLIT_TRAIN
	Split DataSplit
	// 0
	Reserved uint32
	// height * width of a picture; a larger one is refused before memory is allocated for it. 0: 67,108,864
	MaxPixels uint64
	// of a picture's file, and of a gzip file when it is decompressed; a larger one is refused likewise. 0: 1 GiB
	MaxFileBytes uint64
}

// DatasetInfo is volta_dataset_info.
type DatasetInfo struct {
	// in: sizeof(volta_dataset_info)
	StructSize uint
	// at least 1
	SampleCount uint64
	// at least 1
	ClassCount uint32
	// 1 or 3
	Channels uint32
	// of all pictures; 0: each has its own
	Height uint32
	// the same
	Width uint32
}

// PictureInfo is volta_picture_info.
type PictureInfo struct {
	// in: sizeof(volta_picture_info)
	StructSize uint
	// Shape: [channels, height, width]. Lends: until the picture's release
	Pixels *uint8
	// 1 or 3
	Channels uint32
	Height   uint32
	Width    uint32
	// -1: none
	Label int32
}

// TransformOptions is volta_transform_options.
//
// What becomes of a picture, in the order of docs/data.md. Fields marked "random" are a loader's alone, and left out with
// VOLTA_LOADER_EVALUATE and by volta_picture_transform.
type TransformOptions struct {
	StructSize uint
	// 1 or 3; 0: as the pictures are
	Channels uint32
	// of the result; 0: of the pictures, which then have one size
	Height uint32
	// the same; both are 0 or neither
	Width uint32
	// what the shorter side becomes before the crop; VOLTA_RESIZE_EXACT: to height x width; 0: nothing is resized
	Resize uint32
	// 0: VOLTA_FILTER_BILINEAR
	Filter Filter
	// per channel, of values between 0 and 1; subtracted
	Mean [3]float32
	// per channel; divided by. 0: 1
	Deviation [3]float32
	// random: 1: the crop lies anywhere in picture and padding, not in the middle
	RandomCrop int32
	// random: zeros on each side for random_crop; at most 4096
	CropPadding uint32
	// random: 1: a part of the picture, resized to height x width, in place of resize and crop
	RandomResizedCrop int32
	// random: of that part, of the picture's. 0: 0.08
	AreaMin float32
	// random: 0: 1
	AreaMax float32
	// random: its width over its height. 0: 0.75
	RatioMin float32
	// random: 0: 4/3
	RatioMax float32
	// random: probability of left to right; 0: never
	Flip float32
	// random: factors are between 1 - this and 1 + this; at most 1
	Brightness float32
	// random: the same
	Contrast float32
	// random: the same
	Saturation float32
	// random: side of a square of zeros, in pixels; 0: none
	Cutout uint32
	// random: the parameter of the Beta distribution, 0.01 to 100; 0: none. Labels are then weights of classes
	Mixup float32
}

// TextInfo is volta_text_info.
type TextInfo struct {
	// in: sizeof(volta_text_info)
	StructSize uint
	// Lends: until the text's release; a zero stands behind them
	Bytes *byte
	// at least 1
	ByteCount uint64
	// of the first file that was read. Lends: likewise
	Path *byte
	// how many were
	FileCount uint64
}

// Document is volta_document.
//
// A line of JSON that a model is fine-tuned on: a prompt with its completion, or messages, or a text, perhaps with a pair
// and a label. What it does not have is NULL, 0 or -1. Lends: until the documents' release. UTF-8, zero-terminated.
type Document struct {
	// in: sizeof(volta_document)
	StructSize uint
	Prompt     *byte
	Completion *byte
	// as volta_model_encode_chat takes them
	Messages     *ChatMessage
	MessageCount uint
	Text         *byte
	TextPair     *byte
	// of a label that is a name
	LabelName *byte
	// of one that is a number, from 0
	Label int32
	// where it stands, from 1
	Line uint64
}

// LoaderOptions is volta_loader_options.
type LoaderOptions struct {
	StructSize uint
	// copied; NULL: all defaults
	Transform *TransformOptions
	// of order and augmentation
	Seed uint64
	// the first so many samples of the data set; 0: all
	SampleLimit uint64
	// samples of a batch; 0: 32; at most 65536
	Batch uint32
	// threads that load; 0: 1; at most 256. No bit depends on it
	ThreadCount uint32
	// batches that are loaded ahead; 0: 2; at most 256
	Queue uint32
	// 0: VOLTA_ORDER_SEQUENTIAL
	Order DataOrder
	// 0: VOLTA_BATCHES_FULL
	Batches DataBatches
	// 0: VOLTA_DAMAGED_STOP
	Damaged DataDamaged
	// VOLTA_LOADER_* bits
	Flags uint32
	// 0
	Reserved uint32
}

// Batch is volta_batch.
type Batch struct {
	// in: sizeof(volta_batch)
	StructSize uint
	// Shape: [count, channels, height, width]. At a multiple of 64 bytes
	Pixels *float32
	// Shape: [count], of the samples themselves with mixup
	Labels *int32
	// Shape: [count, class_count] with mixup; else NULL
	Weights *float32
	// Shape: [count]. Which samples of the data set
	Samples *uint64
	Epoch   uint64
	// of the epoch, from 0
	Batch          uint64
	BatchesOfEpoch uint64
	// damaged samples, of this batch
	Skipped uint64
	// samples
	Count    uint32
	Channels uint32
	Height   uint32
	Width    uint32
}

// Version is volta_version.
//
// "0.1.0", of the library that is loaded. Never NULL.
func Version() *byte {
	return (*byte)(unsafe.Pointer(C.volta_version()))
}

// StatusName is volta_status_name.
//
// "VOLTA_OK", ...; "VOLTA_UNKNOWN" for a value that is no status. Never NULL. Thread: any.
func StatusName(status Status) *byte {
	return (*byte)(unsafe.Pointer(C.volta_status_name(C.volta_status(status))))
}

// LastError is volta_last_error.
//
// One English line about the calling thread's latest Volta call: what was wrong, and with which value.
// "" after a call that succeeded; never NULL.
//
// Lends: valid until this thread calls Volta again.
//
// Thread: each thread has its own text. It is thread-local, as are the floating-point environment that a function
// of the host is given back and the allocator that code of others works with; nothing else is.
func LastError() *byte {
	return (*byte)(unsafe.Pointer(C.volta_last_error()))
}

// LastStatus is volta_last_status.
//
// The status that this text belongs to: of a call that returns none itself, as volta_tensor_data. VOLTA_OK after a call
// that succeeded. Thread: as volta_last_error.
func LastStatus() Status {
	return Status(C.volta_last_status())
}

// ContextCreate is volta_context_create.
//
// Owns: *out_context, ended by volta_context_release.
//
// Cost: starts thread_count - 1 threads, which sleep but for 60 microseconds after a call; none with a parallel_for.
//
// Keeps: nothing of tuning_folder but a copy. A tuning file that cannot be used (damaged, of another processor
// or contract) is ignored with one line of the log that says why; it is never an error.
//
// Errors: INVALID_ARGUMENT  an unknown level, precision, isa, step_order, flag or device, VOLTA_STRICT with a precision
// other than FP32, too many threads, an empty folder
// UNSUPPORTED       an isa that this processor does not have; a precision that the device does not have; a
// device of CUDA without the CUDA module, a driver (12.0 or newer) or a device. Nothing
// else is used in its place
// DEVICE_ERROR      the driver failed
func ContextCreate(options *ContextOptions, outContext **Context) Status {
	return Status(C.volta_context_create((*C.volta_context_options)(unsafe.Pointer(options)), (**C.volta_context)(unsafe.Pointer(outContext))))
}

// ContextRelease is volta_context_release.
func ContextRelease(context *Context) {
	C.volta_context_release((*C.volta_context)(unsafe.Pointer(context)))
}

// ContextGetInfo is volta_context_get_info.
//
// Fills what fits in info->struct_size.
func ContextGetInfo(context *Context, info *ContextInfo) Status {
	return Status(C.volta_context_get_info((*C.volta_context)(unsafe.Pointer(context)), (*C.volta_context_info)(unsafe.Pointer(info))))
}

// CancelRequest is volta_cancel_request.
//
// Asks every call that was given `cancel` to end. NULL: no effect. It is one store to a lock-free integer and leaves
// volta_last_error alone.
//
// Thread: any, at any time; also inside a signal handler.
func CancelRequest(cancel *Cancel) {
	C.volta_cancel_request((*C.volta_cancel)(unsafe.Pointer(cancel)))
}

// ContextSetStop is volta_context_set_stop.
//
// From now on, what the long calls of this context and of all that is made from it ask between pieces of their work,
// whether they shall end. One that ends so reports CANCELLED, its text says before which piece, and nothing is lost:
// volta_trainer_step, volta_trainer_step_tokens       before each micro-batch and before the update: parameters,
// moments, step and place in the tokens are as before. On a device of its own memory, and in a group, before the step
// alone; of a group all ranks end so, where one is asked to
// volta_trainer_evaluate_tokens, volta_model_evaluate_tokens   before each batch of windows
// volta_model_import    before each node and parameter;   volta_model_quantize   before each parameter
// volta_model_open, volta_model_open_memory           before each checksum that is verified
// volta_model_save, volta_trainer_save, volta_model_export_*, volta_tensors_save   before each checksum and each
// megabyte, and before the new file takes the old one's place: the old one stays;   volta_tensors_open   before
// each tensor
// volta_tokenizer_train_bpe   before each piece;      volta_tune   after each race: what was tuned by then is kept
// volta_generator_next, volta_generator_step          between pieces (prefill_chunk) of a prompt
// volta_generator_write   before each token and piece; it ends VOLTA_OK, VOLTA_STOP_CANCELLED or VOLTA_STOP_DEADLINE
// The same call made again does the same work, with the same result. options NULL: nothing ends them.
//
// Cost: one store; a question costs one branch where nothing is set.
//
// Errors: INVALID_ARGUMENT  max_seconds is negative or not finite
func ContextSetStop(context *Context, options *StopOptions) Status {
	return Status(C.volta_context_set_stop((*C.volta_context)(unsafe.Pointer(context)), (*C.volta_stop_options)(unsafe.Pointer(options))))
}

// DeviceCount is volta_device_count.
//
// How many devices a backend, "cpu" or "cuda", has on this machine, and what they are. Fills what fits in
// info->struct_size; zeros on failure. Thread: any.
//
// Errors: INVALID_ARGUMENT  an unknown backend, an index that is none
// UNSUPPORTED       no CUDA module, driver or device: the sentence says which
// DEVICE_ERROR      the driver failed
func DeviceCount(backend *byte, outCount *uint32) Status {
	return Status(C.volta_device_count((*C.char)(unsafe.Pointer(backend)), (*C.uint32_t)(unsafe.Pointer(outCount))))
}

// DeviceDescribe is volta_device_describe.
func DeviceDescribe(backend *byte, index uint32, info *DeviceInfo) Status {
	return Status(C.volta_device_describe((*C.char)(unsafe.Pointer(backend)), C.uint32_t(index), (*C.volta_device_info)(unsafe.Pointer(info))))
}

// ContextGetDevice is volta_context_get_device.
//
// The device of a context.
func ContextGetDevice(context *Context, info *DeviceInfo) Status {
	return Status(C.volta_context_get_device((*C.volta_context)(unsafe.Pointer(context)), (*C.volta_device_info)(unsafe.Pointer(info))))
}

// MeasureMachine is volta_measure_machine.
//
// Fills what fits in speed->struct_size; zeros on failure.
//
// Cost: about a second on all threads, and buffer_bytes of structure memory, or of the device's, until it
// returns.
//
// Errors: OUT_OF_MEMORY  the buffer
func MeasureMachine(context *Context, speed *MachineSpeed) Status {
	return Status(C.volta_measure_machine((*C.volta_context)(unsafe.Pointer(context)), (*C.volta_machine_speed)(unsafe.Pointer(speed))))
}

// TensorCreate is volta_tensor_create.
//
// A new tensor of zeros. Shape: rank 0 (one element) to 8; extents >= 0.
//
// Owns: *out_tensor, ended by volta_tensor_release.
func TensorCreate(context *Context, dtype Dtype, shape *int64, rank int32, outTensor **Tensor) Status {
	return Status(C.volta_tensor_create((*C.volta_context)(unsafe.Pointer(context)), C.volta_dtype(dtype), (*C.int64_t)(unsafe.Pointer(shape)), C.int32_t(rank), (**C.volta_tensor)(unsafe.Pointer(outTensor))))
}

// TensorWrap is volta_tensor_wrap.
//
// A tensor over memory of the host, which must outlive it. Units: data holds the shape's product of elements.
//
// Errors: INVALID_ARGUMENT  data is NULL or not aligned to its element size
func TensorWrap(context *Context, dtype Dtype, shape *int64, rank int32, data unsafe.Pointer, outTensor **Tensor) Status {
	return Status(C.volta_tensor_wrap((*C.volta_context)(unsafe.Pointer(context)), C.volta_dtype(dtype), (*C.int64_t)(unsafe.Pointer(shape)), C.int32_t(rank), data, (**C.volta_tensor)(unsafe.Pointer(outTensor))))
}

// TensorRelease is volta_tensor_release.
func TensorRelease(tensor *Tensor) {
	C.volta_tensor_release((*C.volta_tensor)(unsafe.Pointer(tensor)))
}

// TensorDtype is volta_tensor_dtype.
func TensorDtype(tensor *Tensor) Dtype {
	return Dtype(C.volta_tensor_dtype((*C.volta_tensor)(unsafe.Pointer(tensor))))
}

// TensorRank is volta_tensor_rank.
//
// 0 for NULL
func TensorRank(tensor *Tensor) int32 {
	return int32(C.volta_tensor_rank((*C.volta_tensor)(unsafe.Pointer(tensor))))
}

// TensorExtent is volta_tensor_extent.
//
// -1 for NULL
func TensorExtent(tensor *Tensor, axis int32) int64 {
	return int64(C.volta_tensor_extent((*C.volta_tensor)(unsafe.Pointer(tensor)), C.int32_t(axis)))
}

// TensorElements is volta_tensor_elements.
//
// -1: none
func TensorElements(tensor *Tensor) int64 {
	return int64(C.volta_tensor_elements((*C.volta_tensor)(unsafe.Pointer(tensor))))
}

// TensorData is volta_tensor_data.
//
// Lends: the elements, for reading and writing, until release; of a tape's result or gradient, which this computes if
// need be, for reading, until the record ends. NULL: they could not be computed, volta_last_status and volta_last_error
// say why.
func TensorData(tensor *Tensor) unsafe.Pointer {
	return C.volta_tensor_data((*C.volta_tensor)(unsafe.Pointer(tensor)))
}

// TensorFill is volta_tensor_fill.
//
// Sets every element to `value`, rounded once to f32: zeros, ones and any other number.
//
// Errors: INVALID_ARGUMENT  an i32 tensor, and a value that is no whole number of 32 bits
func TensorFill(tensor *Tensor, value float64) Status {
	return Status(C.volta_tensor_fill((*C.volta_tensor)(unsafe.Pointer(tensor)), C.double(value)))
}

// TensorArange is volta_tensor_arange.
//
// Sets element i, in row-major order, to start + i * step, computed in double and rounded once to f32.
//
// Errors: INVALID_ARGUMENT  start or step is not finite; an i32 tensor, and a start or step that is no whole number or
// a last element that 32 bits do not hold. Nothing was set
func TensorArange(tensor *Tensor, start float64, step float64) Status {
	return Status(C.volta_tensor_arange((*C.volta_tensor)(unsafe.Pointer(tensor)), C.double(start), C.double(step)))
}

// TensorRandom is volta_tensor_random.
//
// Sets an f32 tensor to the very bits that a parameter of its shape and init has in a model made from this seed, where
// `stream` is the parameter's number in its graph, from 0 on in the order in which they were declared. init NULL:
// zeros. The same on every number of threads and instruction set.
//
// Errors: INVALID_ARGUMENT  an i32 tensor, an unknown kind, numbers that are not finite, a stream of 2^24 or more
func TensorRandom(tensor *Tensor, init *Init, seed uint64, stream uint32) Status {
	return Status(C.volta_tensor_random((*C.volta_tensor)(unsafe.Pointer(tensor)), (*C.volta_init)(unsafe.Pointer(init)), C.uint64_t(seed), C.uint32_t(stream)))
}

// TensorPrint is volta_tensor_print.
//
// The text that NumPy (2.3 and newer) gives for str() of this array with its default options: rows in brackets, at most
// 75 columns and 8 digits, three elements at both ends of each axis of a tensor of more than 1000. Lends: until the
// tensor's next print or its release.
func TensorPrint(tensor *Tensor, outText **byte) Status {
	return Status(C.volta_tensor_print((*C.volta_tensor)(unsafe.Pointer(tensor)), (**C.char)(unsafe.Pointer(outText))))
}

// TensorCompare is volta_tensor_compare.
//
// Compares a with what is expected, b. Elements are the same where |a - b| <= atol + rtol * |b|, in double; an infinity
// is the same as itself alone, NaN as any NaN. rtol and atol both 0: only where their bits are the same, so -0 and +0
// differ; and NaN as any NaN. Fills what fits in report->struct_size; that they differ is no error.
//
// Errors: INVALID_ARGUMENT  other dtypes; a tolerance that is negative or not finite
// SHAPE_MISMATCH    other shapes, of which the text gives both
func TensorCompare(a *Tensor, b *Tensor, rtol float64, atol float64, report *Comparison) Status {
	return Status(C.volta_tensor_compare((*C.volta_tensor)(unsafe.Pointer(a)), (*C.volta_tensor)(unsafe.Pointer(b)), C.double(rtol), C.double(atol), (*C.volta_comparison)(unsafe.Pointer(report))))
}

// TensorsSave is volta_tensors_save.
//
// Writes named tensors to one file, whose format its name ends with:
// .safetensors  at most 16384 tensors;   .npz  the same, NumPy's archive of .npy files, stored as they are;
// .npy          NumPy's file of one tensor; names may be NULL
// A name is UTF-8 of 1 to 255 bytes without control characters, and there once. The same tensors give the same bytes.
// The file is either the old one or the whole new one at every instant.
//
// Errors: INVALID_ARGUMENT  another ending, a bad or repeated name, a .npy of more or fewer than one tensor
// IO_ERROR          not writable, disk full; the old file is as it was
func TensorsSave(context *Context, path *byte, names **byte, tensors **Tensor, count uint) Status {
	return Status(C.volta_tensors_save((*C.volta_context)(unsafe.Pointer(context)), (*C.char)(unsafe.Pointer(path)), (**C.char)(unsafe.Pointer(names)), (**C.volta_tensor)(unsafe.Pointer(tensors)), C.size_t(count)))
}

// TensorsOpen is volta_tensors_open.
//
// Reads all tensors of a file that ends with .safetensors, .npy or .npz, of this library or another program
// (docs/formats.md). f32 and i32 come as they are; floats of 16, 8 and 64 bits become f32, integers and truth values i32,
// where every element is exactly that. Fortran's order and big-endian numbers are turned. The tensor of a .npy is named
// "arr_0", as NumPy names arrays without one. The file is treated as hostile.
//
// Owns: *out_tensors, ended by volta_tensors_release.
//
// Cost: the bytes of all tensors.
//
// Errors: INVALID_ARGUMENT  another ending
// IO_ERROR          missing, not readable
// CORRUPT_MODEL     damaged; the reason is in the text
// UNSUPPORTED       a compressed archive, other types; an element that f32 or i32 does not hold
func TensorsOpen(context *Context, path *byte, outTensors **Tensors) Status {
	return Status(C.volta_tensors_open((*C.volta_context)(unsafe.Pointer(context)), (*C.char)(unsafe.Pointer(path)), (**C.volta_tensors)(unsafe.Pointer(outTensors))))
}

// TensorsRelease is volta_tensors_release.
func TensorsRelease(tensors *Tensors) {
	C.volta_tensors_release((*C.volta_tensors)(unsafe.Pointer(tensors)))
}

// TensorsCount is volta_tensors_count.
func TensorsCount(tensors *Tensors) uint {
	return uint(C.volta_tensors_count((*C.volta_tensors)(unsafe.Pointer(tensors))))
}

// TensorsName is volta_tensors_name.
//
// Lends: until release. NULL: no tensor of this index.
func TensorsName(tensors *Tensors, index uint) *byte {
	return (*byte)(unsafe.Pointer(C.volta_tensors_name((*C.volta_tensors)(unsafe.Pointer(tensors)), C.size_t(index))))
}

// TensorsTensor is volta_tensors_tensor.
//
// Lends: until release; volta_tensor_release is not for it. NULL: no tensor of this index.
func TensorsTensor(tensors *Tensors, index uint) *Tensor {
	return (*Tensor)(unsafe.Pointer(C.volta_tensors_tensor((*C.volta_tensors)(unsafe.Pointer(tensors)), C.size_t(index))))
}

// GraphCreate is volta_graph_create.
func GraphCreate(context *Context, outGraph **Graph) Status {
	return Status(C.volta_graph_create((*C.volta_context)(unsafe.Pointer(context)), (**C.volta_graph)(unsafe.Pointer(outGraph))))
}

// GraphRelease is volta_graph_release.
func GraphRelease(graph *Graph) {
	C.volta_graph_release((*C.volta_graph)(unsafe.Pointer(graph)))
}

// GraphInput is volta_graph_input.
//
// An input that every run is given. Names are unique within the graph's inputs and parameters.
func GraphInput(graph *Graph, name *byte, dtype Dtype, shape *int64, rank int32, outValue *Value) Status {
	return Status(C.volta_graph_input((*C.volta_graph)(unsafe.Pointer(graph)), (*C.char)(unsafe.Pointer(name)), C.volta_dtype(dtype), (*C.int64_t)(unsafe.Pointer(shape)), C.int32_t(rank), (*C.volta_value)(unsafe.Pointer(outValue))))
}

// GraphParameter is volta_graph_parameter.
//
// A trainable f32 tensor. init NULL: zeros.
func GraphParameter(graph *Graph, name *byte, shape *int64, rank int32, init *Init, outValue *Value) Status {
	return Status(C.volta_graph_parameter((*C.volta_graph)(unsafe.Pointer(graph)), (*C.char)(unsafe.Pointer(name)), (*C.int64_t)(unsafe.Pointer(shape)), C.int32_t(rank), (*C.volta_init)(unsafe.Pointer(init)), (*C.volta_value)(unsafe.Pointer(outValue))))
}

// GraphConstant is volta_graph_constant.
//
// A tensor of fixed values, copied.
func GraphConstant(graph *Graph, tensor *Tensor, outValue *Value) Status {
	return Status(C.volta_graph_constant((*C.volta_graph)(unsafe.Pointer(graph)), (*C.volta_tensor)(unsafe.Pointer(tensor)), (*C.volta_value)(unsafe.Pointer(outValue))))
}

// GraphApply is volta_graph_apply.
//
// Applies the operator named `op` to `inputs`; its outputs go to out_values[0 .. out_count-1]. out_count may be
// smaller than the operator's number of outputs: the rest is not handed out. out_values may be `inputs`.
//
// Errors: INVALID_ARGUMENT  an unknown operator or attribute, a wrong number of inputs
// SHAPE_MISMATCH    shapes that do not fit, "matmul: inner extents differ: [64, 384] x [256, 384]"
func GraphApply(graph *Graph, op *byte, inputs *Value, inputCount uint, attributes *Attribute, attributeCount uint, outValues *Value, outCount uint) Status {
	return Status(C.volta_graph_apply((*C.volta_graph)(unsafe.Pointer(graph)), (*C.char)(unsafe.Pointer(op)), (*C.volta_value)(unsafe.Pointer(inputs)), C.size_t(inputCount), (*C.volta_attribute)(unsafe.Pointer(attributes)), C.size_t(attributeCount), (*C.volta_value)(unsafe.Pointer(outValues)), C.size_t(outCount)))
}

// GraphUnary is volta_graph_unary.
//
// volta_graph_apply for the common case of one or two inputs, no attribute and one output.
func GraphUnary(graph *Graph, op *byte, x Value, outValue *Value) Status {
	return Status(C.volta_graph_unary((*C.volta_graph)(unsafe.Pointer(graph)), (*C.char)(unsafe.Pointer(op)), *(*C.volta_value)(unsafe.Pointer(&x)), (*C.volta_value)(unsafe.Pointer(outValue))))
}

// GraphBinary is volta_graph_binary.
func GraphBinary(graph *Graph, op *byte, a Value, b Value, outValue *Value) Status {
	return Status(C.volta_graph_binary((*C.volta_graph)(unsafe.Pointer(graph)), (*C.char)(unsafe.Pointer(op)), *(*C.volta_value)(unsafe.Pointer(&a)), *(*C.volta_value)(unsafe.Pointer(&b)), (*C.volta_value)(unsafe.Pointer(outValue))))
}

// GraphLinear is volta_graph_linear.
//
// y = x W + b with new parameters "<name>.weight" [in, out], N(0, 1/sqrt(in)), and "<name>.bias" [out], zeros.
//
// Shape: x [..., in]; y [..., out].
func GraphLinear(graph *Graph, name *byte, x Value, outFeatures int64, outValue *Value) Status {
	return Status(C.volta_graph_linear((*C.volta_graph)(unsafe.Pointer(graph)), (*C.char)(unsafe.Pointer(name)), *(*C.volta_value)(unsafe.Pointer(&x)), C.int64_t(outFeatures), (*C.volta_value)(unsafe.Pointer(outValue))))
}

// GraphOutput is volta_graph_output.
//
// Declares a result of the graph, in call order.
func GraphOutput(graph *Graph, name *byte, value Value) Status {
	return Status(C.volta_graph_output((*C.volta_graph)(unsafe.Pointer(graph)), (*C.char)(unsafe.Pointer(name)), *(*C.volta_value)(unsafe.Pointer(&value))))
}

// GraphValueShape is volta_graph_value_shape.
//
// Shape of a value. Shape: shape has room for VOLTA_MAX_RANK extents.
func GraphValueShape(graph *Graph, value Value, shape *int64, outRank *int32) Status {
	return Status(C.volta_graph_value_shape((*C.volta_graph)(unsafe.Pointer(graph)), *(*C.volta_value)(unsafe.Pointer(&value)), (*C.int64_t)(unsafe.Pointer(shape)), (*C.int32_t)(unsafe.Pointer(outRank))))
}

// GraphPrint is volta_graph_print.
//
// The graph as stable text, one node a line. Lends: until the graph changes or is released.
func GraphPrint(graph *Graph, outText **byte) Status {
	return Status(C.volta_graph_print((*C.volta_graph)(unsafe.Pointer(graph)), (**C.char)(unsafe.Pointer(outText))))
}

// TokenizerCreateByte is volta_tokenizer_create_byte.
//
// 256 tokens, one per byte.
func TokenizerCreateByte(context *Context, outTokenizer **Tokenizer) Status {
	return Status(C.volta_tokenizer_create_byte((*C.volta_context)(unsafe.Pointer(context)), (**C.volta_tokenizer)(unsafe.Pointer(outTokenizer))))
}

// TokenizerCreateChar is volta_tokenizer_create_char.
//
// The sorted distinct characters (code points) of a UTF-8 text.
//
// Errors: INVALID_ARGUMENT  an empty text; bytes that are not UTF-8, with their offset
func TokenizerCreateChar(context *Context, text *byte, textBytes uint, outTokenizer **Tokenizer) Status {
	return Status(C.volta_tokenizer_create_char((*C.volta_context)(unsafe.Pointer(context)), (*C.char)(unsafe.Pointer(text)), C.size_t(textBytes), (**C.volta_tokenizer)(unsafe.Pointer(outTokenizer))))
}

// TokenizerOpen is volta_tokenizer_open.
//
// A tokenizer from a file of another program (docs/tokenizers.md). The file is treated as hostile.
//
// Errors: IO_ERROR      missing, not readable
// CORRUPT_MODEL the reason is in the text
// UNSUPPORTED   a kind of tokenizer that this library does not know
func TokenizerOpen(context *Context, path *byte, format TokenizerFormat, outTokenizer **Tokenizer) Status {
	return Status(C.volta_tokenizer_open((*C.volta_context)(unsafe.Pointer(context)), (*C.char)(unsafe.Pointer(path)), C.volta_tokenizer_format(format), (**C.volta_tokenizer)(unsafe.Pointer(outTokenizer))))
}

// TokenizerTrainBpe is volta_tokenizer_train_bpe.
//
// Learns a byte-level BPE vocabulary of `vocabulary` ids from a text: the 256 bytes and the most frequent merges.
// Fewer ids when the text has no more pairs that it has twice. The same text gives the same ids everywhere.
//
// Errors: INVALID_ARGUMENT  an empty text; vocabulary outside 256 to 1048576
func TokenizerTrainBpe(context *Context, text *byte, textBytes uint, vocabulary int32, outTokenizer **Tokenizer) Status {
	return Status(C.volta_tokenizer_train_bpe((*C.volta_context)(unsafe.Pointer(context)), (*C.char)(unsafe.Pointer(text)), C.size_t(textBytes), C.int32_t(vocabulary), (**C.volta_tokenizer)(unsafe.Pointer(outTokenizer))))
}

// TokenizerRelease is volta_tokenizer_release.
func TokenizerRelease(tokenizer *Tokenizer) {
	C.volta_tokenizer_release((*C.volta_tokenizer)(unsafe.Pointer(tokenizer)))
}

// TokenizerKind is volta_tokenizer_kind.
//
// "byte", "char", "bpe", "spm", "wordpiece", "unigram", "wordlevel"
func TokenizerKind(tokenizer *Tokenizer) *byte {
	return (*byte)(unsafe.Pointer(C.volta_tokenizer_kind((*C.volta_tokenizer)(unsafe.Pointer(tokenizer)))))
}

// TokenizerSize is volta_tokenizer_size.
func TokenizerSize(tokenizer *Tokenizer) int32 {
	return int32(C.volta_tokenizer_size((*C.volta_tokenizer)(unsafe.Pointer(tokenizer))))
}

// TokenizerEncode is volta_tokenizer_encode.
//
// Ids of a text. Writes at most `capacity` of them and sets *out_count to how many there are in all, so that a
// first call with capacity 0 asks for the size (ids may then be NULL). No ends, and special pieces are text.
//
// Errors: INVALID_ARGUMENT  a character outside the vocabulary; the text names it and its offset
func TokenizerEncode(tokenizer *Tokenizer, text *byte, textBytes uint, ids *int32, capacity uint, outCount *uint) Status {
	return Status(C.volta_tokenizer_encode((*C.volta_tokenizer)(unsafe.Pointer(tokenizer)), (*C.char)(unsafe.Pointer(text)), C.size_t(textBytes), (*C.int32_t)(unsafe.Pointer(ids)), C.size_t(capacity), (*C.size_t)(unsafe.Pointer(outCount))))
}

// TokenizerEncodeWith is volta_tokenizer_encode_with.
//
// Errors: INVALID_ARGUMENT  as volta_tokenizer_encode; max_tokens has no room for the ends
// UNSUPPORTED       a pair, of a tokenizer.json that puts two texts together in another way
func TokenizerEncodeWith(tokenizer *Tokenizer, options *EncodeOptions, text *byte, textBytes uint, ids *int32, capacity uint, outCount *uint) Status {
	return Status(C.volta_tokenizer_encode_with((*C.volta_tokenizer)(unsafe.Pointer(tokenizer)), (*C.volta_encode_options)(unsafe.Pointer(options)), (*C.char)(unsafe.Pointer(text)), C.size_t(textBytes), (*C.int32_t)(unsafe.Pointer(ids)), C.size_t(capacity), (*C.size_t)(unsafe.Pointer(outCount))))
}

// TokenizerDecode is volta_tokenizer_decode.
//
// The bytes of one id, not zero-terminated: a piece that begins a word has its space before it ("spm",
// "wordpiece"), a control piece has none. Lends: until release.
//
// Errors: INVALID_ARGUMENT  an id outside [0, size)
func TokenizerDecode(tokenizer *Tokenizer, id int32, outText **byte, outBytes *uint) Status {
	return Status(C.volta_tokenizer_decode((*C.volta_tokenizer)(unsafe.Pointer(tokenizer)), C.int32_t(id), (**C.char)(unsafe.Pointer(outText)), (*C.size_t)(unsafe.Pointer(outBytes))))
}

// TokenizerDecodeAfter is volta_tokenizer_decode_after.
//
// The same for an id that follows another, -1 at the start of a text: without the space that the tokenizer put
// before the text. What all ids of a text give, one after the other, is the text. Lends: until release.
func TokenizerDecodeAfter(tokenizer *Tokenizer, previousId int32, id int32, outText **byte, outBytes *uint) Status {
	return Status(C.volta_tokenizer_decode_after((*C.volta_tokenizer)(unsafe.Pointer(tokenizer)), C.int32_t(previousId), C.int32_t(id), (**C.char)(unsafe.Pointer(outText)), (*C.size_t)(unsafe.Pointer(outBytes))))
}

// TokenizerSpecial is volta_tokenizer_special.
func TokenizerSpecial(tokenizer *Tokenizer, outIds *SpecialIds) Status {
	return Status(C.volta_tokenizer_special((*C.volta_tokenizer)(unsafe.Pointer(tokenizer)), (*C.volta_special_ids)(unsafe.Pointer(outIds))))
}

// ModelCreate is volta_model_create.
//
// A model of `graph` as it stands now (copied), with parameters initialised from `seed`.
func ModelCreate(graph *Graph, seed uint64, outModel **Model) Status {
	return Status(C.volta_model_create((*C.volta_graph)(unsafe.Pointer(graph)), C.uint64_t(seed), (**C.volta_model)(unsafe.Pointer(outModel))))
}

// ModelCreateGpt is volta_model_create_gpt.
//
// Shape: input "tokens" i32 [batch, time], time <= context, any batch; output "logits" f32
// [batch, time, vocabulary].
//
// Errors: INVALID_ARGUMENT  dim not a multiple of heads, a size below 1 or so large that its product overflows
func ModelCreateGpt(context *Context, options *GptOptions, seed uint64, outModel **Model) Status {
	return Status(C.volta_model_create_gpt((*C.volta_context)(unsafe.Pointer(context)), (*C.volta_gpt_options)(unsafe.Pointer(options)), C.uint64_t(seed), (**C.volta_model)(unsafe.Pointer(outModel))))
}

// ModelCreateLlama is volta_model_create_llama.
//
// Shape: as volta_model_create_gpt.
//
// Errors: INVALID_ARGUMENT  sizes that do not divide each other, a size below 1 or so large that its product
// overflows, an odd dim / heads, a rope_base below 1, a negative epsilon
func ModelCreateLlama(context *Context, options *LlamaOptions, seed uint64, outModel **Model) Status {
	return Status(C.volta_model_create_llama((*C.volta_context)(unsafe.Pointer(context)), (*C.volta_llama_options)(unsafe.Pointer(options)), C.uint64_t(seed), (**C.volta_model)(unsafe.Pointer(outModel))))
}

// ModelCreateBert is volta_model_create_bert.
//
// Training of the masked head: inputs in which some tokens are replaced, VOLTA_LOSS_CROSS_ENTROPY, targets i32
// [batch, time] with the right token where one was replaced and -1 elsewhere.
//
// Shape: inputs "tokens", then, where wanted, "segments" and "mask", each i32 [batch, time], time <= context, any
// batch. Segments are 0 .. segments-1. Where mask is 0 there is padding, which no token sees: tokens have the
// bits that they have without the padding and without the mask. Without it, less memory is needed.
// Outputs: see volta_bert_head.
//
// Errors: INVALID_ARGUMENT  dim not a multiple of heads, a size below 1 or so large that its product overflows, an
// unknown head, classes for a head that has none, or none for one that has
func ModelCreateBert(context *Context, options *BertOptions, seed uint64, outModel **Model) Status {
	return Status(C.volta_model_create_bert((*C.volta_context)(unsafe.Pointer(context)), (*C.volta_bert_options)(unsafe.Pointer(options)), C.uint64_t(seed), (**C.volta_model)(unsafe.Pointer(outModel))))
}

// ModelCreateResnet is volta_model_create_resnet.
//
// Training: VOLTA_LOSS_CROSS_ENTROPY, targets i32 [batch]. Statistics of its norms are those of each micro-batch.
//
// Shape: input "pictures" f32 [batch, channels, rows, columns], any batch; output "logits" f32 [batch, classes].
//
// Errors: INVALID_ARGUMENT  another depth or stem, a size below 1 or so large that its product overflows
func ModelCreateResnet(context *Context, options *ResnetOptions, seed uint64, outModel **Model) Status {
	return Status(C.volta_model_create_resnet((*C.volta_context)(unsafe.Pointer(context)), (*C.volta_resnet_options)(unsafe.Pointer(options)), C.uint64_t(seed), (**C.volta_model)(unsafe.Pointer(outModel))))
}

// NetworkName is volta_network_name.
//
// The networks that there are. NULL: there are no more.
func NetworkName(index uint) *byte {
	return (*byte)(unsafe.Pointer(C.volta_network_name(C.size_t(index))))
}

// ModelCreateNetwork is volta_model_create_network.
//
// Training and shape: as volta_model_create_resnet.
//
// Errors: INVALID_ARGUMENT  an unknown name, a stem or a width that the network has not, a width below 1/64 or above
// 64, a size below 1 or so large that its product overflows
func ModelCreateNetwork(context *Context, options *NetworkOptions, seed uint64, outModel **Model) Status {
	return Status(C.volta_model_create_network((*C.volta_context)(unsafe.Pointer(context)), (*C.volta_network_options)(unsafe.Pointer(options)), C.uint64_t(seed), (**C.volta_model)(unsafe.Pointer(outModel))))
}

// ModelOpen is volta_model_open.
//
// Opens a model file (docs/model_format.md). The file is treated as hostile: everything in it is checked.
// A folder is a sharded one (volta_model_save_sharded): its parts are read into memory, each compared with its checksum.
//
// Errors: IO_ERROR          missing, a folder without parts, not readable
// CORRUPT_MODEL     the reason is in the text
// UNSUPPORTED       a format version, level or precision this library does not know
func ModelOpen(context *Context, path *byte, options *OpenOptions, outModel **Model) Status {
	return Status(C.volta_model_open((*C.volta_context)(unsafe.Pointer(context)), (*C.char)(unsafe.Pointer(path)), (*C.volta_open_options)(unsafe.Pointer(options)), (**C.volta_model)(unsafe.Pointer(outModel))))
}

// ModelOpenMemory is volta_model_open_memory.
//
// The same from memory that the host keeps unchanged until release. Shape: data is 64-byte aligned, or copied
// by VOLTA_LOAD_COPY.
func ModelOpenMemory(context *Context, data unsafe.Pointer, bytes uint, options *OpenOptions, outModel **Model) Status {
	return Status(C.volta_model_open_memory((*C.volta_context)(unsafe.Pointer(context)), data, C.size_t(bytes), (*C.volta_open_options)(unsafe.Pointer(options)), (**C.volta_model)(unsafe.Pointer(outModel))))
}

// ModelRelease is volta_model_release.
func ModelRelease(model *Model) {
	C.volta_model_release((*C.volta_model)(unsafe.Pointer(model)))
}

// ModelSave is volta_model_save.
//
// Writes graph, parameters, tokenizer and metadata. Crash-safe: at every instant the path has the old file or the
// whole new one, which is written beside it first as "<path>.tmp-<process>-<n>". What a killed process left of that
// is removed by the next save of the same path. The same model gives the same file, byte for byte.
//
// Errors: IO_ERROR  the folder is missing or read-only, the disk is full; the old file is untouched. Only where the
// folder could not be synced at the end is the new file in its place: the text says so, and that it
// may not survive a power cut
func ModelSave(model *Model, path *byte) Status {
	return Status(C.volta_model_save((*C.volta_model)(unsafe.Pointer(model)), (*C.char)(unsafe.Pointer(path))))
}

// ModelSaveSharded is volta_model_save_sharded.
//
// Writes the bytes of that same file as `parts` files of a folder, and behind them the manifest, which names them with
// their checksums: until it is in its place the folder has what it had before. Opened and saved, it is the one file again,
// byte for byte. The folder is made if it is not there; what else is in it stays. docs/distributed.md.
//
// Errors: INVALID_ARGUMENT  parts is 0, or above 4096
// IO_ERROR          as volta_model_save
func ModelSaveSharded(model *Model, parts uint32, folder *byte) Status {
	return Status(C.volta_model_save_sharded((*C.volta_model)(unsafe.Pointer(model)), C.uint32_t(parts), (*C.char)(unsafe.Pointer(folder))))
}

// ModelImport is volta_model_import.
//
// A model from weights of another program (docs/import.md says which, and which types, f32 to mxfp4), or from a folder
// with safetensors, config.json and a tokenizer, as Hugging Face's libraries write it; or from an ONNX
// file, graph and weights (docs/onnx.md), whose inputs and outputs keep their names and are f32, or i32 where they
// are integers or truth values. Parameters that
// volta_model_quantize would leave alone become f32, exactly; the others become what `weights` says, and a model with
// packed weights cannot be exported, nor these be trained. The log says what was rounded: f64 to f32, and by how much weights of the
// type that is wanted differ from the file's. The files are treated as hostile: everything in them is checked.
//
// Keeps: nothing: files may go when it returns.
//
// Cost: reads the whole file, one tensor at a time; memory for the parameters alone.
//
// Errors: IO_ERROR          missing, not readable
// CORRUPT_MODEL     the file or its config is damaged; a tensor is missing or there twice
// SHAPE_MISMATCH    a tensor that does not fit the sizes of the model
// UNSUPPORTED       an architecture, a head, a type, a setting or a tokenizer that no model of Volta has; a tensor
// that is not known, or changes results; a config that says one thing twice, differently; a
// value that is not finite, or too large, for the type that `weights` says
// INVALID_ARGUMENT  no config where one is needed; a line of the key map; a shape for no input of the file
func ModelImport(context *Context, path *byte, options *ImportOptions, outModel **Model) Status {
	return Status(C.volta_model_import((*C.volta_context)(unsafe.Pointer(context)), (*C.char)(unsafe.Pointer(path)), (*C.volta_import_options)(unsafe.Pointer(options)), (**C.volta_model)(unsafe.Pointer(outModel))))
}

// ModelSurvey is volta_model_survey.
//
// What an ONNX file holds, without making a model of it: JSON with its ir_version, producer, opsets, nodes, each
// operator with its count and whether it is imported, its inputs and outputs with their types and what these become,
// "recognised", the operators that several nodes together become, with counts, and "refused", the sentence with which volta_model_import would refuse the graph; "" where it would not. New keys may come.
//
// Units: as in volta_explain_matmul: capacity is bytes of text with its final 0, *out_bytes the length of the whole
// text without it.
//
// Errors: IO_ERROR; CORRUPT_MODEL  it is damaged; UNSUPPORTED  it is no ONNX file
func ModelSurvey(context *Context, path *byte, options *ImportOptions, text *byte, capacity uint, outBytes *uint) Status {
	return Status(C.volta_model_survey((*C.volta_context)(unsafe.Pointer(context)), (*C.char)(unsafe.Pointer(path)), (*C.volta_import_options)(unsafe.Pointer(options)), (*C.char)(unsafe.Pointer(text)), C.size_t(capacity), (*C.size_t)(unsafe.Pointer(outBytes))))
}

// ModelExportSafetensors is volta_model_export_safetensors.
//
// Writes parameters and metadata as a safetensors file with Volta's own names; importing it gives the same hash.
// The tokenizer, and a graph that no volta_model_create_* makes, stay behind. Crash-safe; the same model gives the
// same bytes.
//
// Errors: IO_ERROR  as volta_model_save
func ModelExportSafetensors(model *Model, path *byte) Status {
	return Status(C.volta_model_export_safetensors((*C.volta_model)(unsafe.Pointer(model)), (*C.char)(unsafe.Pointer(path))))
}

// ModelExportSafetensorsWith is volta_model_export_safetensors_with.
//
// The same with options. options NULL: all zeros. The config is written after the weights.
//
// Errors: UNSUPPORTED  Hugging Face's names for a graph of the host's own, or for a Llama whose rotary pairs are
// neighbours
func ModelExportSafetensorsWith(model *Model, options *ExportOptions, path *byte) Status {
	return Status(C.volta_model_export_safetensors_with((*C.volta_model)(unsafe.Pointer(model)), (*C.volta_export_options)(unsafe.Pointer(options)), (*C.char)(unsafe.Pointer(path))))
}

// ModelExportOnnx is volta_model_export_onnx.
//
// Writes graph and parameters as an ONNX file (docs/onnx.md). options NULL: all zeros. Inputs, outputs and parameters
// keep their names; i32 are int64 there, results of comparisons bool; open extents stay open; a model drops nothing.
// volta_model_import gives the same model back, in every bit, with its metadata and its tokenizer.
// Crash-safe; the same model gives the same bytes. A file beside is replaced first.
//
// Errors: UNSUPPORTED  an operator, or one of its results, that has no form in ONNX, or a parameter that is stored in
// fewer bits, other than VOLTA_INT8 from opset 21 on: the text names node, operator and opset
// IO_ERROR     as volta_model_save
func ModelExportOnnx(model *Model, options *OnnxExportOptions, path *byte) Status {
	return Status(C.volta_model_export_onnx((*C.volta_model)(unsafe.Pointer(model)), (*C.volta_onnx_export_options)(unsafe.Pointer(options)), (*C.char)(unsafe.Pointer(path))))
}

// ModelExportGguf is volta_model_export_gguf.
//
// Writes a GPT, a Llama or a BERT as a GGUF file, with its tokenizer (docs/import.md), for programs like llama.cpp.
// options NULL: all zeros. f32 is rounded as llama.cpp's reference rounds; rows that are no whole blocks of 32 are f32.
// volta_model_import gives the same parameters back, but that rotary pairs of a Llama become neighbours. Crash-safe; the
// same model gives the same bytes.
//
// Errors: UNSUPPORTED  a graph of the host's own, a network of pictures, a BERT's masked head, a tokenizer of
// characters or that cuts words in another way, a value that the type has not: the text names it
// IO_ERROR     as volta_model_save
func ModelExportGguf(model *Model, options *GgufExportOptions, path *byte) Status {
	return Status(C.volta_model_export_gguf((*C.volta_model)(unsafe.Pointer(model)), (*C.volta_gguf_export_options)(unsafe.Pointer(options)), (*C.char)(unsafe.Pointer(path))))
}

// ModelHash is volta_model_hash.
//
// 128-bit hash of all parameter bits in name order. Shape: text has room for 33 bytes (32 hex digits, zero).
func ModelHash(model *Model, text *byte) Status {
	return Status(C.volta_model_hash((*C.volta_model)(unsafe.Pointer(model)), (*C.char)(unsafe.Pointer(text))))
}

// ModelGetArithmetic is volta_model_get_arithmetic.
//
// The level and precision of the context that gave the parameters their values: the one that the model was made in,
// or trained in last. A file keeps them; opening and saving it elsewhere changes neither.
func ModelGetArithmetic(model *Model, outLevel *Level, outPrecision *Precision) Status {
	return Status(C.volta_model_get_arithmetic((*C.volta_model)(unsafe.Pointer(model)), (*C.volta_level)(unsafe.Pointer(outLevel)), (*C.volta_precision)(unsafe.Pointer(outPrecision))))
}

// ModelQuantize is volta_model_quantize.
//
// A model with the same graph whose weights are stored for reading alone, in fewer bits or, VOLTA_F32_PANELS, in another
// order, which gives the bits of the f32 model faster: those that products read, and the tables of tokens. Others
// (norms, biases, positions) stay f32; so does a weight that something else reads as well, or whose inner extent is
// below 32. All arithmetic stays f32: docs/quantization.md has the formats and the formulas. A packed weight has the
// shape [outputs, inputs] and is read in place, a mapped file included. The result runs, generates, saves and
// loads like any model, with the same bits everywhere. What is stored is not trained itself: parameters beside it are,
// where it is frozen, as adapters are (volta_model_add_lora). Training state is left out.
//
// Units: dtype VOLTA_BF16, VOLTA_F16, VOLTA_INT8, VOLTA_INT4 or VOLTA_F32_PANELS.
//
// Owns: *out_model, ended by volta_model_release; it keeps nothing of `model`.
//
// Errors: INVALID_ARGUMENT  another dtype; a weight that is not finite or beyond the type's range, which no weight is
// for VOLTA_F32_PANELS; no weight to store; a model that is stored already. The text
// names it
func ModelQuantize(model *Model, dtype Dtype, outModel **Model) Status {
	return Status(C.volta_model_quantize((*C.volta_model)(unsafe.Pointer(model)), C.volta_dtype(dtype), (**C.volta_model)(unsafe.Pointer(outModel))))
}

// ModelAddLora is volta_model_add_lora.
//
// A model that computes what `base` does and learns by adapters alone: beside each product x W of a target stand A
// [inputs, rank], uniform in +-1/sqrt(inputs), and B [rank, outputs], zeros, and y = x W + ((alpha / rank) (x A)) B. A
// part of a weight that holds several side by side (q, k and v of "qkv"; gate and up) has an adapter of its own; their
// names are "block.0.qkv.lora.q.a", "block.0.proj.lora.b". Parameters of the base keep their values in training, have
// neither gradients nor state, and may be stored (volta_model_quantize). volta_model_save, and a trainer's, write the
// adapters alone, for volta_model_open_adapter. docs/fine_tuning.md has an example.
//
// Owns: *out_model, ended by volta_model_release.
//
// Keeps: base, which may be released before: its parameters are lent, not copied, and cannot be set as long as a model
// or trainer with adapters on them lives.
//
// Cost: reads all of the base once, for its hash.
//
// Errors: INVALID_ARGUMENT  a rank, an alpha; a target that the base does not have, or that means what another one
// means; a base with adapters
func ModelAddLora(base *Model, options *LoraOptions, outModel **Model) Status {
	return Status(C.volta_model_add_lora((*C.volta_model)(unsafe.Pointer(base)), (*C.volta_lora_options)(unsafe.Pointer(options)), (**C.volta_model)(unsafe.Pointer(outModel))))
}

// ModelOpenAdapter is volta_model_open_adapter.
//
// The same with the adapters of a file that volta_model_save or a trainer wrote; of a checkpoint,
// volta_trainer_resume goes on. `options` are of the file, whose values are copied.
//
// Errors: IO_ERROR; CORRUPT_MODEL  damaged, no adapters, or such as do not fit the base
// INVALID_ARGUMENT         they are of another base: the text tells both hashes
func ModelOpenAdapter(base *Model, path *byte, options *OpenOptions, outModel **Model) Status {
	return Status(C.volta_model_open_adapter((*C.volta_model)(unsafe.Pointer(base)), (*C.char)(unsafe.Pointer(path)), (*C.volta_open_options)(unsafe.Pointer(options)), (**C.volta_model)(unsafe.Pointer(outModel))))
}

// ModelMergeAdapter is volta_model_merge_adapter.
//
// A model of the base's graph with the adapters added to its weights, W + (alpha / rank) A B, summed in f64 and rounded
// once; a weight that is stored is stored again, in its type. It computes the same within rounding, and nothing more is
// promised.
//
// Owns: *out_model, ended by volta_model_release; it keeps nothing of `model`. *out_difference, which may be NULL, is
// the largest distance of a merged weight from the sum in f64.
//
// Errors: INVALID_ARGUMENT  no adapters; a merged weight that its type does not have
func ModelMergeAdapter(model *Model, outDifference *float64, outModel **Model) Status {
	return Status(C.volta_model_merge_adapter((*C.volta_model)(unsafe.Pointer(model)), (*C.double)(unsafe.Pointer(outDifference)), (**C.volta_model)(unsafe.Pointer(outModel))))
}

// ModelExportPeft is volta_model_export_peft.
//
// Writes the adapters of a model, or of one that their file was opened as, as PEFT reads them: adapter_config.json and
// adapter_model.safetensors in a folder that is there. A module that is several parts here, as GPT-2's c_attn, gets the
// sum of their ranks, and zeros where a part has none of another's.
//
// Errors: UNSUPPORTED  an architecture that has no names of Hugging Face; CORRUPT_MODEL  no adapters; IO_ERROR
func ModelExportPeft(model *Model, folder *byte) Status {
	return Status(C.volta_model_export_peft((*C.volta_model)(unsafe.Pointer(model)), (*C.char)(unsafe.Pointer(folder))))
}

// ModelImportPeft is volta_model_import_peft.
//
// A model on `base`, as volta_model_add_lora makes it, with the adapters of such a folder. A module that is several parts
// here gives each of them its A. The files are treated as hostile: everything in them is checked.
//
// Owns: *out_model, ended by volta_model_release. Keeps: base, as volta_model_add_lora does.
//
// Errors: IO_ERROR; CORRUPT_MODEL  damaged, or of other sizes than the base
// UNSUPPORTED  a setting, a tensor or a module that adapters of Volta do not have: the text names it
func ModelImportPeft(base *Model, folder *byte, outModel **Model) Status {
	return Status(C.volta_model_import_peft((*C.volta_model)(unsafe.Pointer(base)), (*C.char)(unsafe.Pointer(folder)), (**C.volta_model)(unsafe.Pointer(outModel))))
}

// ModelReplaceHead is volta_model_replace_head.
//
// A model with the same graph but for its last layer, which gets `classes` columns: the product with a weight, and where
// there is one the bias, that make the first output. Both are drawn from `seed` as in a new model; all other parameters
// keep their bits. For training on other classes than the model's own. Training state is left out.
//
// Owns: *out_model, ended by volta_model_release; it keeps nothing of `model`.
//
// Errors: INVALID_ARGUMENT  a first output that is no such layer, or whose weight or bias is read elsewhere too; classes
// below 1; sizes that overflow
// UNSUPPORTED       a weight that is stored (volta_model_quantize)
func ModelReplaceHead(model *Model, classes int64, seed uint64, outModel **Model) Status {
	return Status(C.volta_model_replace_head((*C.volta_model)(unsafe.Pointer(model)), C.int64_t(classes), C.uint64_t(seed), (**C.volta_model)(unsafe.Pointer(outModel))))
}

// ModelFoldBatchNorm is volta_model_fold_batch_norm.
//
// A model in which every batch_norm of a convolution's result is part of that convolution: its weight is multiplied, and it
// has a bias, "conv1.bias" beside "conv1.weight" where there was none (docs/numerics.md, 5, has the formula). It runs
// faster, with other bits and another hash, and computes the same within rounding. A batch_norm of something else, or
// whose parameters or the convolution's are read elsewhere too, stays. Training state is left out, and so is what the
// library's metadata says of the architecture, which it no longer is.
//
// Owns: *out_model, ended by volta_model_release; it keeps nothing of `model`. *out_folded is how many norms were folded;
// out_folded may be NULL.
//
// Errors: INVALID_ARGUMENT  nothing to fold: no batch_norm, or none that follows a convolution with parameters of their
// own
func ModelFoldBatchNorm(model *Model, outModel **Model, outFolded *uint) Status {
	return Status(C.volta_model_fold_batch_norm((*C.volta_model)(unsafe.Pointer(model)), (**C.volta_model)(unsafe.Pointer(outModel)), (*C.size_t)(unsafe.Pointer(outFolded))))
}

// ModelHiddenStates is volta_model_hidden_states.
//
// A model that ends with the states of a language model's tokens, behind the last block and its norm: what an embedding of
// a text is made of. Inputs and weights are those of `model`, stored ones too.
//
// Shape: output "hidden" f32 [batch, time, dim].
//
// Owns: *out_model, ended by volta_model_release; it keeps nothing of `model`.
//
// Errors: UNSUPPORTED  the model is no GPT, Llama or BERT
func ModelHiddenStates(model *Model, outModel **Model) Status {
	return Status(C.volta_model_hidden_states((*C.volta_model)(unsafe.Pointer(model)), (**C.volta_model)(unsafe.Pointer(outModel))))
}

// ModelInputCount is volta_model_input_count.
func ModelInputCount(model *Model) uint {
	return uint(C.volta_model_input_count((*C.volta_model)(unsafe.Pointer(model))))
}

// ModelInputInfo is volta_model_input_info.
func ModelInputInfo(model *Model, index uint, info *TensorInfo) Status {
	return Status(C.volta_model_input_info((*C.volta_model)(unsafe.Pointer(model)), C.size_t(index), (*C.volta_tensor_info)(unsafe.Pointer(info))))
}

// ModelOutputCount is volta_model_output_count.
func ModelOutputCount(model *Model) uint {
	return uint(C.volta_model_output_count((*C.volta_model)(unsafe.Pointer(model))))
}

// ModelOutputInfo is volta_model_output_info.
func ModelOutputInfo(model *Model, index uint, info *TensorInfo) Status {
	return Status(C.volta_model_output_info((*C.volta_model)(unsafe.Pointer(model)), C.size_t(index), (*C.volta_tensor_info)(unsafe.Pointer(info))))
}

// ModelParameterCount is volta_model_parameter_count.
func ModelParameterCount(model *Model) uint {
	return uint(C.volta_model_parameter_count((*C.volta_model)(unsafe.Pointer(model))))
}

// ModelParameterInfo is volta_model_parameter_info.
func ModelParameterInfo(model *Model, index uint, info *TensorInfo) Status {
	return Status(C.volta_model_parameter_info((*C.volta_model)(unsafe.Pointer(model)), C.size_t(index), (*C.volta_tensor_info)(unsafe.Pointer(info))))
}

// ModelParameter is volta_model_parameter.
//
// Lends: a parameter's elements, read-only, until the model is released.
//
// Errors: INVALID_ARGUMENT  unknown name; UNSUPPORTED  a packed weight (volta_model_quantize)
func ModelParameter(model *Model, name *byte, outData **float32, outElements *uint) Status {
	return Status(C.volta_model_parameter((*C.volta_model)(unsafe.Pointer(model)), (*C.char)(unsafe.Pointer(name)), (**C.float)(unsafe.Pointer(outData)), (*C.size_t)(unsafe.Pointer(outElements))))
}

// ModelSetParameter is volta_model_set_parameter.
//
// Replaces a parameter's values (for weights from elsewhere). A mapped model takes a private copy first.
//
// Errors: INVALID_ARGUMENT unknown name; SHAPE_MISMATCH another number of elements
func ModelSetParameter(model *Model, name *byte, data *float32, elements uint) Status {
	return Status(C.volta_model_set_parameter((*C.volta_model)(unsafe.Pointer(model)), (*C.char)(unsafe.Pointer(name)), (*C.float)(unsafe.Pointer(data)), C.size_t(elements)))
}

// ModelSetTokenizer is volta_model_set_tokenizer.
//
// The tokenizer that the file carries. Attaching copies it. get: *out is NULL when there is none; Owns: release it.
func ModelSetTokenizer(model *Model, tokenizer *Tokenizer) Status {
	return Status(C.volta_model_set_tokenizer((*C.volta_model)(unsafe.Pointer(model)), (*C.volta_tokenizer)(unsafe.Pointer(tokenizer))))
}

// ModelGetTokenizer is volta_model_get_tokenizer.
func ModelGetTokenizer(model *Model, outTokenizer **Tokenizer) Status {
	return Status(C.volta_model_get_tokenizer((*C.volta_model)(unsafe.Pointer(model)), (**C.volta_tokenizer)(unsafe.Pointer(outTokenizer))))
}

// ModelSetMetadata is volta_model_set_metadata.
//
// Free text that the file carries, by key ("title", "licence", ...). Keys that start with "volta." are reserved
// (readable: "volta.architecture" is "gpt" for models of volta_model_create_gpt, with "volta.gpt.layers" ..., "llama"
// for models of volta_model_create_llama, with "volta.llama.layers" ..., and "bert" and the networks of pictures,
// "resnet", "mobilenet_v2" and "cnn", in the same way).
// set: value NULL removes. get: *out_value is NULL when there is none. Lends: until the key changes.
func ModelSetMetadata(model *Model, key *byte, value *byte) Status {
	return Status(C.volta_model_set_metadata((*C.volta_model)(unsafe.Pointer(model)), (*C.char)(unsafe.Pointer(key)), (*C.char)(unsafe.Pointer(value))))
}

// ModelGetMetadata is volta_model_get_metadata.
func ModelGetMetadata(model *Model, key *byte, outValue **byte) Status {
	return Status(C.volta_model_get_metadata((*C.volta_model)(unsafe.Pointer(model)), (*C.char)(unsafe.Pointer(key)), (**C.char)(unsafe.Pointer(outValue))))
}

// ChatFormatName is volta_chat_format_name.
//
// The formats, by which conversations become text: "chatml", "llama3", ... NULL past the last.
func ChatFormatName(index uint) *byte {
	return (*byte)(unsafe.Pointer(C.volta_chat_format_name(C.size_t(index))))
}

// ModelSetChatFormat is volta_model_set_chat_format.
//
// The format of the model's conversations, which its file carries. volta_model_import sets it from the chat template
// that lies beside the tokenizer or stands in a GGUF file, where it knows it; "volta.chat.format" of the metadata is its
// name, and "volta.chat.refused" says why an imported model has none. system: what the system says in a conversation
// that does not say it; NULL: what the format says. name NULL: none.
//
// Errors: INVALID_ARGUMENT  no format of that name
// UNSUPPORTED       the tokenizer lacks a piece that the format needs; the text names it
// INVALID_STATE     the model has no tokenizer
func ModelSetChatFormat(model *Model, name *byte, system *byte) Status {
	return Status(C.volta_model_set_chat_format((*C.volta_model)(unsafe.Pointer(model)), (*C.char)(unsafe.Pointer(name)), (*C.char)(unsafe.Pointer(system))))
}

// ModelGetChatEnd is volta_model_get_chat_end.
//
// The id that ends an answer: a stop token of volta_generator_write. Errors: as volta_model_encode_chat.
func ModelGetChatEnd(model *Model, outId *int32) Status {
	return Status(C.volta_model_get_chat_end((*C.volta_model)(unsafe.Pointer(model)), (*C.int32_t)(unsafe.Pointer(outId))))
}

// ModelEncodeChat is volta_model_encode_chat.
//
// The tokens of a conversation by the model's format: those of Hugging Face's apply_chat_template. Pieces of the format
// become their ids; a content cannot forge them: there they are plain text, or refused where the tokenizer finds them
// in any text. Writes at most `capacity` ids, and sets *out_count to how many there are in all.
// answers: of each id, 1 where it belongs to an answer of the assistant, the piece that ends it included, else 0: what
// fine-tuning learns; may be NULL
//
// Errors: INVALID_ARGUMENT  a role that is not known, an order of roles that the format does not have
// UNSUPPORTED       no format, or none that is known; a piece that the tokenizer lacks
// INVALID_STATE     the model has no tokenizer
func ModelEncodeChat(model *Model, messages *ChatMessage, count uint, flags uint32, ids *int32, answers *uint8, capacity uint, outCount *uint) Status {
	return Status(C.volta_model_encode_chat((*C.volta_model)(unsafe.Pointer(model)), (*C.volta_chat_message)(unsafe.Pointer(messages)), C.size_t(count), C.uint32_t(flags), (*C.int32_t)(unsafe.Pointer(ids)), (*C.uint8_t)(unsafe.Pointer(answers)), C.size_t(capacity), (*C.size_t)(unsafe.Pointer(outCount))))
}

// SessionCreate is volta_session_create.
//
// Compiles `model` for these input shapes and plans every byte it will use.
//
// Owns: *out_session, ended by volta_session_release.
//
// Keeps: `model` alive and its parameters unchanged: the two may be released in either order.
//
// Cost: generates machine code: milliseconds.
//
// Errors: SHAPE_MISMATCH  shapes that do not fit the model
// UNSUPPORTED     an operator without a kernel; the text names it
func SessionCreate(model *Model, options *SessionOptions, outSession **Session) Status {
	return Status(C.volta_session_create((*C.volta_model)(unsafe.Pointer(model)), (*C.volta_session_options)(unsafe.Pointer(options)), (**C.volta_session)(unsafe.Pointer(outSession))))
}

// SessionRelease is volta_session_release.
func SessionRelease(session *Session) {
	C.volta_session_release((*C.volta_session)(unsafe.Pointer(session)))
}

// SessionRun is volta_session_run.
//
// Runs the graph once, inputs and outputs in the model's declared order.
//
// Shape: outputs must not share memory with inputs: a plan may write an output before its last read.
//
// Keeps: nothing; tensors are read and written only during the call.
//
// Cost: allocates nothing.
//
// Errors: SHAPE_MISMATCH    the text gives index, expected and actual shape
// INVALID_ARGUMENT  a token id outside the vocabulary; the text names it
func SessionRun(session *Session, inputs **Tensor, inputCount uint, outputs **Tensor, outputCount uint) Status {
	return Status(C.volta_session_run((*C.volta_session)(unsafe.Pointer(session)), (**C.volta_tensor)(unsafe.Pointer(inputs)), C.size_t(inputCount), (**C.volta_tensor)(unsafe.Pointer(outputs)), C.size_t(outputCount)))
}

// SessionOutputShape is volta_session_output_shape.
//
// The shape of output `index` for this session's input shapes. Shape: shape has room for VOLTA_MAX_RANK extents.
//
// Errors: INVALID_ARGUMENT  no such output
func SessionOutputShape(session *Session, index uint, shape *int64, outRank *int32) Status {
	return Status(C.volta_session_output_shape((*C.volta_session)(unsafe.Pointer(session)), C.size_t(index), (*C.int64_t)(unsafe.Pointer(shape)), (*C.int32_t)(unsafe.Pointer(outRank))))
}

// SessionGetBill is volta_session_get_bill.
func SessionGetBill(session *Session, bill *Bill) Status {
	return Status(C.volta_session_get_bill((*C.volta_session)(unsafe.Pointer(session)), (*C.volta_bill)(unsafe.Pointer(bill))))
}

// SessionPrintPlan is volta_session_print_plan.
//
// The plan as stable text: steps, kernels, offsets, bill, hash. Lends: until release.
func SessionPrintPlan(session *Session, outText **byte) Status {
	return Status(C.volta_session_print_plan((*C.volta_session)(unsafe.Pointer(session)), (**C.char)(unsafe.Pointer(outText))))
}

// GroupCreate is volta_group_create.
//
// Joins the group: returns when all ranks have. A trainer that is given the group (volta_trainer_options.group) makes its
// steps with the trainers of the other ranks, each of which computes its part of every batch. docs/distributed.md.
// Memory: of transport "local" gradients and parameters lie in memory that the ranks of the machine share, so that none has
// to be sent; a trainer's bill counts its own, which does not come from the host's allocator.
//
// Thread: one trainer of a group at a time. Over tcp and mpi it sends by a thread of its own; with parallel_for it has none.
//
// Errors: IO_ERROR          a rank did not come within timeout, or has ended; the text names it
// UNSUPPORTED       mpi or nccl, and no library of it can be opened; nccl, and the context has no device
// INVALID_ARGUMENT  a size that is no power of two, a rank that is not below it, a transport that does not exist
func GroupCreate(context *Context, options *GroupOptions, outGroup **Group) Status {
	return Status(C.volta_group_create((*C.volta_context)(unsafe.Pointer(context)), (*C.volta_group_options)(unsafe.Pointer(options)), (**C.volta_group)(unsafe.Pointer(outGroup))))
}

// GroupRelease is volta_group_release.
//
// Trainers of the group keep what they need of it. Where they are gone too, the other ranks see this one end.
func GroupRelease(group *Group) {
	C.volta_group_release((*C.volta_group)(unsafe.Pointer(group)))
}

// GroupRank is volta_group_rank.
func GroupRank(group *Group) uint32 {
	return uint32(C.volta_group_rank((*C.volta_group)(unsafe.Pointer(group))))
}

// GroupSize is volta_group_size.
func GroupSize(group *Group) uint32 {
	return uint32(C.volta_group_size((*C.volta_group)(unsafe.Pointer(group))))
}

// TrainerCreate is volta_trainer_create.
//
// A batch_norm is trained by the statistics of each micro-batch, which its running mean and variance follow: these
// are parameters without a gradient, of one batch_norm each. Inference takes what they hold.
// Any model may be trained, whatever made it: one from a file or from another program begins with its weights, at step
// 0 and without moments. volta_trainer_resume goes on with a run instead.
//
// Keeps: `model` alive. The trainer works on its own copy of the parameters: the model does not change until
// volta_trainer_update_model.
//
// Errors: UNSUPPORTED       an operator without a gradient rule; packed weights (volta_model_quantize); packed_documents
// of a model whose tokens meet elsewhere than in causal attention; the text names it
// INVALID_ARGUMENT  an option out of its range; a pattern of frozen that matches no parameter, all of them frozen,
// or one alone of a batch_norm's running mean and variance; the text names it
// OUT_OF_MEMORY     activation_budget, or what is left of the context's host_budget; the text names what is
// needed at least
// IO_ERROR          state_folder: the text names it and the reason
func TrainerCreate(model *Model, options *TrainerOptions, outTrainer **Trainer) Status {
	return Status(C.volta_trainer_create((*C.volta_model)(unsafe.Pointer(model)), (*C.volta_trainer_options)(unsafe.Pointer(options)), (**C.volta_trainer)(unsafe.Pointer(outTrainer))))
}

// TrainerRelease is volta_trainer_release.
func TrainerRelease(trainer *Trainer) {
	C.volta_trainer_release((*C.volta_trainer)(unsafe.Pointer(trainer)))
}

// TrainerEstimate is volta_trainer_estimate.
//
// The bill of the trainer that volta_trainer_create would make, of a group this rank's, and what its steps cost; nothing is
// allocated for it but plans. bill, cost and speed (volta_measure_machine) may be NULL. Zeros on failure.
//
// Cost: some tens of plans: milliseconds each for a network of a thousand operations.
//
// Errors: as volta_trainer_create; OUT_OF_MEMORY where it would be refused for its memory
func TrainerEstimate(model *Model, options *TrainerOptions, speed *MachineSpeed, bill *Bill, cost *TrainingCost) Status {
	return Status(C.volta_trainer_estimate((*C.volta_model)(unsafe.Pointer(model)), (*C.volta_trainer_options)(unsafe.Pointer(options)), (*C.volta_machine_speed)(unsafe.Pointer(speed)), (*C.volta_bill)(unsafe.Pointer(bill)), (*C.volta_training_cost)(unsafe.Pointer(cost))))
}

// TrainerEstimateSteps is volta_trainer_estimate_steps.
//
// Tells the steps of the plan that volta_trainer_create would make for one micro-batch and its update, in their order;
// with shards, of the plan that computes one.
//
// Lends: what visit is given, until it returns.
//
// Cost: as volta_trainer_estimate.
//
// Errors: as volta_trainer_estimate; CANCELLED where visit threw an exception
func TrainerEstimateSteps(model *Model, options *TrainerOptions, visit unsafe.Pointer, user unsafe.Pointer) Status {
	return Status(C.volta_trainer_estimate_steps((*C.volta_model)(unsafe.Pointer(model)), (*C.volta_trainer_options)(unsafe.Pointer(options)), (C.volta_plan_visit)(visit), user))
}

// TrainerStep is volta_trainer_step.
//
// One optimizer step on the host's data. Shape: inputs hold all micro-batches one after the other: the first
// extent is micro_batches times that of input_shapes; so do targets. report may be NULL.
//
// Cost: allocates nothing after the first step.
//
// Errors: NOT_FINITE    the text names step and tensor; parameters and moments are as before the step
// DEVICE_ERROR  the step has not been made; where the text says that parameters were changing by
// then, every later call of the trainer fails so: go on from a checkpoint
func TrainerStep(trainer *Trainer, inputs **Tensor, inputCount uint, targets *Tensor, report *StepReport) Status {
	return Status(C.volta_trainer_step((*C.volta_trainer)(unsafe.Pointer(trainer)), (**C.volta_tensor)(unsafe.Pointer(inputs)), C.size_t(inputCount), (*C.volta_tensor)(unsafe.Pointer(targets)), (*C.volta_step_report)(unsafe.Pointer(report))))
}

// TrainerRows is volta_trainer_rows.
//
// The rows of a step's batch that this process reads, counted along the first extent of the inputs: the others may hold
// anything. All of them, where there is no group.
//
// Errors: INVALID_ARGUMENT  an input of rank 0, which has no rows
func TrainerRows(trainer *Trainer, outFirst *uint64, outCount *uint64) Status {
	return Status(C.volta_trainer_rows((*C.volta_trainer)(unsafe.Pointer(trainer)), (*C.uint64_t)(unsafe.Pointer(outFirst)), (*C.uint64_t)(unsafe.Pointer(outCount))))
}

// TrainerSetTokens is volta_trainer_set_tokens.
//
// Token stream as data: for models with one i32 input [batch, time] and the cross-entropy loss. Samples are
// windows of time + 1 tokens; each epoch shifts and shuffles them by the seed (docs/training.md).
//
// Owns: a copy of the tokens, counted under `staging`.
//
// Errors: INVALID_ARGUMENT  fewer than time + 1 tokens, an id outside the vocabulary, another loss, targets that
// are not one for each token (one for each sequence), after a resume another text
// than the checkpoint's
// UNSUPPORTED       a model in which a token sees later ones, as in a BERT
func TrainerSetTokens(trainer *Trainer, tokens *int32, count uint) Status {
	return Status(C.volta_trainer_set_tokens((*C.volta_trainer)(unsafe.Pointer(trainer)), (*C.int32_t)(unsafe.Pointer(tokens)), C.size_t(count)))
}

// TrainerStepTokens is volta_trainer_step_tokens.
//
// One step on the next batch of the token stream.
func TrainerStepTokens(trainer *Trainer, report *StepReport) Status {
	return Status(C.volta_trainer_step_tokens((*C.volta_trainer)(unsafe.Pointer(trainer)), (*C.volta_step_report)(unsafe.Pointer(report))))
}

// TrainerEvaluateTokens is volta_trainer_evaluate_tokens.
//
// Mean loss of the current parameters over consecutive windows of `tokens` (time tokens each, the last one
// shorter, each token but the first predicted once), whatever label_smoothing and class_weights are. Units:
// natural logarithm per token.
func TrainerEvaluateTokens(trainer *Trainer, tokens *int32, count uint, outLoss *float64) Status {
	return Status(C.volta_trainer_evaluate_tokens((*C.volta_trainer)(unsafe.Pointer(trainer)), (*C.int32_t)(unsafe.Pointer(tokens)), C.size_t(count), (*C.double)(unsafe.Pointer(outLoss))))
}

// TrainerCurrentStep is volta_trainer_current_step.
func TrainerCurrentStep(trainer *Trainer) uint64 {
	return uint64(C.volta_trainer_current_step((*C.volta_trainer)(unsafe.Pointer(trainer))))
}

// TrainerParameter is volta_trainer_parameter.
//
// Lends: a parameter's current values, and its gradient of the latest step (summed over micro-batches, before
// clipping), read-only, until the next call on this trainer. In a group a gradient is on the rank that updates its
// parameter, on the others INVALID_STATE.
func TrainerParameter(trainer *Trainer, name *byte, outData **float32, outElements *uint) Status {
	return Status(C.volta_trainer_parameter((*C.volta_trainer)(unsafe.Pointer(trainer)), (*C.char)(unsafe.Pointer(name)), (**C.float)(unsafe.Pointer(outData)), (*C.size_t)(unsafe.Pointer(outElements))))
}

// TrainerGradient is volta_trainer_gradient.
func TrainerGradient(trainer *Trainer, name *byte, outData **float32, outElements *uint) Status {
	return Status(C.volta_trainer_gradient((*C.volta_trainer)(unsafe.Pointer(trainer)), (*C.char)(unsafe.Pointer(name)), (**C.float)(unsafe.Pointer(outData)), (*C.size_t)(unsafe.Pointer(outElements))))
}

// TrainerHash is volta_trainer_hash.
//
// 128-bit hash of the current parameters: what volta_model_hash gives for the saved file. Shape: room for 33 bytes.
func TrainerHash(trainer *Trainer, text *byte) Status {
	return Status(C.volta_trainer_hash((*C.volta_trainer)(unsafe.Pointer(trainer)), (*C.char)(unsafe.Pointer(text))))
}

// TrainerUpdateModel is volta_trainer_update_model.
//
// Copies the trained parameters into the model, for sessions and generators made afterwards.
func TrainerUpdateModel(trainer *Trainer) Status {
	return Status(C.volta_trainer_update_model((*C.volta_trainer)(unsafe.Pointer(trainer))))
}

// TrainerSave is volta_trainer_save.
//
// Writes a checkpoint: a model file with the current parameters that also holds moments, seed, step, running
// beta products, data cursor and every option. Crash-safe, see volta_model_save. Of a group all ranks make the call, and
// rank 0 writes the file: that of one process, byte for byte.
//
// Errors: IO_ERROR  as volta_model_save; of a group, on the other ranks too where rank 0 could not save
func TrainerSave(trainer *Trainer, path *byte) Status {
	return Status(C.volta_trainer_save((*C.volta_trainer)(unsafe.Pointer(trainer)), (*C.char)(unsafe.Pointer(path))))
}

// TrainerSaveSharded is volta_trainer_save_sharded.
//
// The same checkpoint as files in a folder that all ranks of the group share, as volta_model_save_sharded: each rank writes
// a part, its own moments among it, and none has the whole. volta_model_open opens it for any number of ranks.
//
// Errors: IO_ERROR  as volta_model_save; of a group, on all ranks where one could not write, naming it
func TrainerSaveSharded(trainer *Trainer, folder *byte) Status {
	return Status(C.volta_trainer_save_sharded((*C.volta_trainer)(unsafe.Pointer(trainer)), (*C.char)(unsafe.Pointer(folder))))
}

// TrainerExtend is volta_trainer_extend.
//
// Plans a longer run: `steps` in all, from which a schedule's learning rates follow from now on. The steps that were made
// stay as they are, so that the result is not that of a run planned so from the beginning; it is the same for every run
// that was extended at the same step.
//
// Errors: INVALID_ARGUMENT  fewer steps than are planned, or 2^32; a run without a planned end
func TrainerExtend(trainer *Trainer, steps uint64) Status {
	return Status(C.volta_trainer_extend((*C.volta_trainer)(unsafe.Pointer(trainer)), C.uint64_t(steps)))
}

// TrainerResume is volta_trainer_resume.
//
// A trainer that goes on where the checkpoint `model` (volta_model_open) was written, bit for bit. options NULL:
// those of the checkpoint; given options must agree with them (`steps` included), but activation_budget, state_folder,
// update_in_backward and group are this run's alone; where input_shapes is NULL these are all that is read. In a context
// of another level or precision than the checkpoint's it goes on in the context's: at the first step a warning of the log names both.
//
// Errors: INVALID_ARGUMENT  options that contradict the checkpoint; the text names both values
// INVALID_STATE     the model is no checkpoint
func TrainerResume(model *Model, options *TrainerOptions, outTrainer **Trainer) Status {
	return Status(C.volta_trainer_resume((*C.volta_model)(unsafe.Pointer(model)), (*C.volta_trainer_options)(unsafe.Pointer(options)), (**C.volta_trainer)(unsafe.Pointer(outTrainer))))
}

// TrainerGetOptions is volta_trainer_get_options.
//
// The options in force, input_shapes, class_weights and frozen lent until release; frozen has the names of all parameters
// that are.
func TrainerGetOptions(trainer *Trainer, options *TrainerOptions) Status {
	return Status(C.volta_trainer_get_options((*C.volta_trainer)(unsafe.Pointer(trainer)), (*C.volta_trainer_options)(unsafe.Pointer(options))))
}

// TrainerGetBill is volta_trainer_get_bill.
func TrainerGetBill(trainer *Trainer, bill *Bill) Status {
	return Status(C.volta_trainer_get_bill((*C.volta_trainer)(unsafe.Pointer(trainer)), (*C.volta_bill)(unsafe.Pointer(bill))))
}

// TrainerPrintPlan is volta_trainer_print_plan.
func TrainerPrintPlan(trainer *Trainer, outText **byte) Status {
	return Status(C.volta_trainer_print_plan((*C.volta_trainer)(unsafe.Pointer(trainer)), (**C.char)(unsafe.Pointer(outText))))
}

// ModelEvaluateTokens is volta_model_evaluate_tokens.
//
// Mean loss of a model over consecutive windows of `tokens`, as volta_trainer_evaluate_tokens. For models with
// one i32 input [batch, time] and logits as first output.
func ModelEvaluateTokens(model *Model, tokens *int32, count uint, outLoss *float64) Status {
	return Status(C.volta_model_evaluate_tokens((*C.volta_model)(unsafe.Pointer(model)), (*C.int32_t)(unsafe.Pointer(tokens)), C.size_t(count), (*C.double)(unsafe.Pointer(outLoss))))
}

// TapeCreate is volta_tape_create.
//
// Errors: UNSUPPORTED  the context computes on a device of its own memory
func TapeCreate(context *Context, options *TapeOptions, outTape **Tape) Status {
	return Status(C.volta_tape_create((*C.volta_context)(unsafe.Pointer(context)), (*C.volta_tape_options)(unsafe.Pointer(options)), (**C.volta_tape)(unsafe.Pointer(outTape))))
}

// TapeRelease is volta_tape_release.
//
// Ends the tape and its record, with all results that are not kept.
func TapeRelease(tape *Tape) {
	C.volta_tape_release((*C.volta_tape)(unsafe.Pointer(tape)))
}

// TapeCall is volta_tape_call.
//
// volta_op with attributes; inputs are an array. file may be NULL. Lends: the result, until the record ends.
// Beside the operators of docs/operators.md there is "batch_norm_train", with the inputs and attributes of batch_norm: it
// takes the batch's own mean and variance, and the running ones follow in volta_tape_step, as in a trainer.
func TapeCall(tape *Tape, op *byte, inputs **Tensor, inputCount uint, attributes *Attribute, attributeCount uint, file *byte, line int32) *Tensor {
	return (*Tensor)(unsafe.Pointer(C.volta_tape_call((*C.volta_tape)(unsafe.Pointer(tape)), (*C.char)(unsafe.Pointer(op)), (**C.volta_tensor)(unsafe.Pointer(inputs)), C.size_t(inputCount), (*C.volta_attribute)(unsafe.Pointer(attributes)), C.size_t(attributeCount), (*C.char)(unsafe.Pointer(file)), C.int32_t(line))))
}

// TapeApply is volta_tape_apply.
//
// The same for operators of several outputs, with a status. out_count may be smaller than their number.
//
// Errors: INVALID_ARGUMENT  an unknown operator or attribute, a wrong number of inputs, a tensor of another context
// INVALID_STATE     a result of a record that has ended
// SHAPE_MISMATCH    the operator's own sentence, with the place of the call
func TapeApply(tape *Tape, op *byte, inputs **Tensor, inputCount uint, attributes *Attribute, attributeCount uint, outTensors **Tensor, outCount uint, file *byte, line int32) Status {
	return Status(C.volta_tape_apply((*C.volta_tape)(unsafe.Pointer(tape)), (*C.char)(unsafe.Pointer(op)), (**C.volta_tensor)(unsafe.Pointer(inputs)), C.size_t(inputCount), (*C.volta_attribute)(unsafe.Pointer(attributes)), C.size_t(attributeCount), (**C.volta_tensor)(unsafe.Pointer(outTensors)), C.size_t(outCount), (*C.char)(unsafe.Pointer(file)), C.int32_t(line)))
}

// TapeStatus is volta_tape_status.
//
// The first failure of the record, VOLTA_OK if there is none; its sentence is volta_last_error's. It ends with the record:
// after volta_tape_reset the tape records again.
func TapeStatus(tape *Tape) Status {
	return Status(C.volta_tape_status((*C.volta_tape)(unsafe.Pointer(tape))))
}

// TapeAt is volta_tape_at.
//
// Returns the tape, and says from where the host calls it next, for the report and for sentences: with backward, step,
// flush or detach, or to read a result's or gradient's elements. It counts for one call. file may be NULL: unknown.
// volta_tape_backward(volta_here(tape), loss);
func TapeAt(tape *Tape, file *byte, line int32) *Tape {
	return (*Tape)(unsafe.Pointer(C.volta_tape_at((*C.volta_tape)(unsafe.Pointer(tape)), (*C.char)(unsafe.Pointer(file)), C.int32_t(line))))
}

// TapeDetach is volta_tape_detach.
//
// The same elements, through which no gradient goes back.
func TapeDetach(tape *Tape, tensor *Tensor) *Tensor {
	return (*Tensor)(unsafe.Pointer(C.volta_tape_detach((*C.volta_tape)(unsafe.Pointer(tape)), (*C.volta_tensor)(unsafe.Pointer(tensor)))))
}

// TapeSetGradients is volta_tape_set_gradients.
//
// 0: results of later calls get no gradient, until it is 1 again, as it is at first.
func TapeSetGradients(tape *Tape, enabled int32) Status {
	return Status(C.volta_tape_set_gradients((*C.volta_tape)(unsafe.Pointer(tape)), C.int32_t(enabled)))
}

// TapeFlush is volta_tape_flush.
//
// Computes all results of the record that the host holds, and the gradients.
func TapeFlush(tape *Tape) Status {
	return Status(C.volta_tape_flush((*C.volta_tape)(unsafe.Pointer(tape))))
}

// TapeReset is volta_tape_reset.
//
// Ends the record. Kept results and gradients that nothing has computed are computed first.
//
// Errors: those of computing: the record has ended all the same
func TapeReset(tape *Tape) Status {
	return Status(C.volta_tape_reset((*C.volta_tape)(unsafe.Pointer(tape))))
}

// TensorItem is volta_tensor_item.
//
// The one element of a tensor, as a double; of a result it is computed if need be.
//
// Errors: SHAPE_MISMATCH  it has none or several
func TensorItem(tensor *Tensor, outValue *float64) Status {
	return Status(C.volta_tensor_item((*C.volta_tensor)(unsafe.Pointer(tensor)), (*C.double)(unsafe.Pointer(outValue))))
}

// TensorKeep is volta_tensor_keep.
//
// A result outlives its record from now on, and is the host's to release. No effect on other tensors.
//
// Errors: INVALID_STATE  it was not computed before a step changed what it depends on
func TensorKeep(tensor *Tensor) Status {
	return Status(C.volta_tensor_keep((*C.volta_tensor)(unsafe.Pointer(tensor))))
}

// TensorSetRequiresGrad is volta_tensor_set_requires_grad.
//
// 1: volta_tape_backward gives the tensor a gradient; 0: it does not, as at first.
//
// Errors: INVALID_ARGUMENT  a result; elements that are not f32 or not aligned to 64 bytes (volta_tensor_wrap)
// INVALID_STATE     a record holds the tensor
func TensorSetRequiresGrad(tensor *Tensor, required int32) Status {
	return Status(C.volta_tensor_set_requires_grad((*C.volta_tensor)(unsafe.Pointer(tensor)), C.int32_t(required)))
}

// TensorGrad is volta_tensor_grad.
//
// The gradient that backward gave, NULL: none since it was zeroed. Lends: the tensor, until the next backward or zero;
// its elements are computed when they are read.
func TensorGrad(tensor *Tensor) *Tensor {
	return (*Tensor)(unsafe.Pointer(C.volta_tensor_grad((*C.volta_tensor)(unsafe.Pointer(tensor)))))
}

// TensorZeroGrad is volta_tensor_zero_grad.
//
// The next backward starts from nothing.
func TensorZeroGrad(tensor *Tensor) Status {
	return Status(C.volta_tensor_zero_grad((*C.volta_tensor)(unsafe.Pointer(tensor))))
}

// TapeBackward is volta_tape_backward.
//
// Adds the gradient of `loss`, a result of one f32 element, to those of the record's tensors that require one, by the
// operators' own rules (docs/operators.md); several uses of a tensor add up as in a trainer, the last one first.
// Gradients of several tapes add up too, one record after the other.
//
// Errors: INVALID_STATE   the loss is no result of this record, or depends on no such tensor; another tape's record holds
// a gradient that this one would add to: volta_tape_reset of that tape ends it
// SHAPE_MISMATCH  the loss has several elements
// UNSUPPORTED     an operator on the way without a gradient rule: second derivatives among them
func TapeBackward(tape *Tape, loss *Tensor) Status {
	return Status(C.volta_tape_backward((*C.volta_tape)(unsafe.Pointer(tape)), (*C.volta_tensor)(unsafe.Pointer(loss))))
}

// TapeOptimizerCreate is volta_tape_optimizer_create.
//
// An optimizer of tensors that require a gradient, with the trainer's rules and factors.
//
// Keeps: the tensors and the tape alive.
func TapeOptimizerCreate(tape *Tape, options *OptimizerOptions, tensors **Tensor, count uint, outOptimizer **TapeOptimizer) Status {
	return Status(C.volta_tape_optimizer_create((*C.volta_tape)(unsafe.Pointer(tape)), (*C.volta_optimizer_options)(unsafe.Pointer(options)), (**C.volta_tensor)(unsafe.Pointer(tensors)), C.size_t(count), (**C.volta_tape_optimizer)(unsafe.Pointer(outOptimizer))))
}

// TapeOptimizerRelease is volta_tape_optimizer_release.
func TapeOptimizerRelease(optimizer *TapeOptimizer) {
	C.volta_tape_optimizer_release((*C.volta_tape_optimizer)(unsafe.Pointer(optimizer)))
}

// TapeOptimizerZeroGrad is volta_tape_optimizer_zero_grad.
//
// volta_tensor_zero_grad of all its tensors.
func TapeOptimizerZeroGrad(optimizer *TapeOptimizer) Status {
	return Status(C.volta_tape_optimizer_zero_grad((*C.volta_tape_optimizer)(unsafe.Pointer(optimizer))))
}

// TapeStep is volta_tape_step.
//
// Computes what is recorded, with the gradients and the update of the optimizer's tensors that have one, as one plan.
// The loss of the last backward, results of one element and kept ones can be read afterwards; other results that depend
// on an updated tensor are gone if they had not been computed. report may be NULL.
//
// Errors: INVALID_STATE  no tensor has a gradient; another tape's record reads a tensor that would change
// NOT_FINITE     the loss, or the gradient the text names: nothing was updated
func TapeStep(tape *Tape, optimizer *TapeOptimizer, report *StepReport) Status {
	return Status(C.volta_tape_step((*C.volta_tape)(unsafe.Pointer(tape)), (*C.volta_tape_optimizer)(unsafe.Pointer(optimizer)), (*C.volta_step_report)(unsafe.Pointer(report))))
}

// TapeCapture is volta_tape_capture.
//
// What `outputs`, results of the record, compute, as a model: to be saved, trained, exported, run in sessions. Tensors that
// require a gradient and running statistics of batch norms are its parameters, with the elements that they have now;
// others are its inputs. batch_norm_train becomes batch_norm. Dropout draws by the trainer's seed. options may be NULL. Owns: *out_model.
//
// Errors: INVALID_STATE     an output is no result of the record
// INVALID_ARGUMENT  a name that a graph refuses, or that is given twice; a tensor that the record does not read
// SHAPE_MISMATCH    open_batch, and an operator that was given the first extent as a number
func TapeCapture(tape *Tape, outputs **Tensor, outputCount uint, options *CaptureOptions, outModel **Model) Status {
	return Status(C.volta_tape_capture((*C.volta_tape)(unsafe.Pointer(tape)), (**C.volta_tensor)(unsafe.Pointer(outputs)), C.size_t(outputCount), (*C.volta_capture_options)(unsafe.Pointer(options)), (**C.volta_model)(unsafe.Pointer(outModel))))
}

// Compile is volta_compile.
//
// A function with a LAZY tape of its own. It runs whenever it is called, since it is the host's code; what it records is
// computed as one plan, that of the last call with the same shapes and path. options may be NULL.
func Compile(context *Context, function unsafe.Pointer, user unsafe.Pointer, options *CompileOptions, outCompiled **Compiled) Status {
	return Status(C.volta_compile((*C.volta_context)(unsafe.Pointer(context)), (C.volta_function)(function), user, (*C.volta_compile_options)(unsafe.Pointer(options)), (**C.volta_compiled)(unsafe.Pointer(outCompiled))))
}

// CompiledRelease is volta_compiled_release.
func CompiledRelease(compiled *Compiled) {
	C.volta_compiled_release((*C.volta_compiled)(unsafe.Pointer(compiled)))
}

// CompiledCall is volta_compiled_call.
//
// Runs the function and computes its outputs. Lends: outputs, until the next call or release.
//
// Errors: those of the function, its calls and its plan; CANCELLED  it threw an exception
func CompiledCall(compiled *Compiled, inputs **Tensor, inputCount uint, outputs **Tensor, outputCount uint) Status {
	return Status(C.volta_compiled_call((*C.volta_compiled)(unsafe.Pointer(compiled)), (**C.volta_tensor)(unsafe.Pointer(inputs)), C.size_t(inputCount), (**C.volta_tensor)(unsafe.Pointer(outputs)), C.size_t(outputCount)))
}

// CompiledTape is volta_compiled_tape.
//
// The function's tape: for backward, steps, reports and capture after a call. Lends: until release.
func CompiledTape(compiled *Compiled) *Tape {
	return (*Tape)(unsafe.Pointer(C.volta_compiled_tape((*C.volta_compiled)(unsafe.Pointer(compiled)))))
}

// TapeGetInfo is volta_tape_get_info.
func TapeGetInfo(tape *Tape, info *TapeInfo) Status {
	return Status(C.volta_tape_get_info((*C.volta_tape)(unsafe.Pointer(tape)), (*C.volta_tape_info)(unsafe.Pointer(info))))
}

// TapeReport is volta_tape_report.
//
// When the tape computed, why, and what would make it one piece: the latest 256 times (of an EAGER tape, the first
// of each call). json 0: lines for people; 1: one
// JSON object. Reasons are explained in docs/compile.md. Lends: until the next report or release.
func TapeReport(tape *Tape, json int32, outText **byte) Status {
	return Status(C.volta_tape_report((*C.volta_tape)(unsafe.Pointer(tape)), C.int32_t(json), (**C.char)(unsafe.Pointer(outText))))
}

// GeneratorCreate is volta_generator_create.
//
// For models whose first input is i32 [batch, time] and first output f32 [batch, time, vocabulary]. Keys and values of
// the tokens so far are cached, so that each token is computed once; a sequence has the same tokens and logits,
// bit for bit, with or without cache, alone or in any batch, its prompt in one piece or in many.
//
// Keeps: `model` alive.
//
// Cost: compiles plans; every later token allocates nothing. With cache_tokens a step or piece that the cache has no
// room for compiles plans again and holds the old cache beside the new one while it copies; if that fails
// (OUT_OF_MEMORY), every sequence is as it was.
//
// Errors: UNSUPPORTED       attention that is not causal; the text names the node
// INVALID_ARGUMENT  an option outside its range: temperature 0 .. 1000, top_k from 0, top_p and min_p 0 .. 1,
// repetition_penalty 0.001 .. 1000, sequences and prefill_chunk 1 .. 65536, context 1 .. the
// model's, cache_tokens 1 .. context; 0 is each one's default. A model with
// other inputs or outputs than these
func GeneratorCreate(model *Model, options *GeneratorOptions, outGenerator **Generator) Status {
	return Status(C.volta_generator_create((*C.volta_model)(unsafe.Pointer(model)), (*C.volta_generator_options)(unsafe.Pointer(options)), (**C.volta_generator)(unsafe.Pointer(outGenerator))))
}

// GeneratorRelease is volta_generator_release.
func GeneratorRelease(generator *Generator) {
	C.volta_generator_release((*C.volta_generator)(unsafe.Pointer(generator)))
}

// GeneratorStart is volta_generator_start.
//
// Starts a sequence with these tokens (at least one), in the place of the one that was started before: what the cache
// holds of a common beginning is not computed again. It takes one of the generator's `sequences`.
//
// Errors: INVALID_ARGUMENT  none, more than the context, an id outside the vocabulary
// INVALID_STATE     all sequences are in use
func GeneratorStart(generator *Generator, tokens *int32, count uint) Status {
	return Status(C.volta_generator_start((*C.volta_generator)(unsafe.Pointer(generator)), (*C.int32_t)(unsafe.Pointer(tokens)), C.size_t(count)))
}

// GeneratorNext is volta_generator_next.
//
// Draws the next token and appends it to the sequence.
//
// Errors: INVALID_STATE  no sequence, or the context is full
// NOT_FINITE     the model gave NaN logits
func GeneratorNext(generator *Generator, outToken *int32) Status {
	return Status(C.volta_generator_next((*C.volta_generator)(unsafe.Pointer(generator)), (*C.int32_t)(unsafe.Pointer(outToken))))
}

// GeneratorLogits is volta_generator_logits.
//
// The logits of which the latest token was drawn. Lends: until the next call on this generator.
func GeneratorLogits(generator *Generator, outLogits **float32, outCount *uint) Status {
	return Status(C.volta_generator_logits((*C.volta_generator)(unsafe.Pointer(generator)), (**C.float)(unsafe.Pointer(outLogits)), (*C.size_t)(unsafe.Pointer(outCount))))
}

// GeneratorGetBill is volta_generator_get_bill.
//
// What it holds now; with cache_tokens the cache has more later.
func GeneratorGetBill(generator *Generator, bill *Bill) Status {
	return Status(C.volta_generator_get_bill((*C.volta_generator)(unsafe.Pointer(generator)), (*C.volta_bill)(unsafe.Pointer(bill))))
}

// GeneratorGetCost is volta_generator_get_cost.
//
// Of the token at `position`, 0 .. context - 1. Errors: INVALID_ARGUMENT  another position
func GeneratorGetCost(generator *Generator, position int64, cost *TokenCost) Status {
	return Status(C.volta_generator_get_cost((*C.volta_generator)(unsafe.Pointer(generator)), C.int64_t(position), (*C.volta_token_cost)(unsafe.Pointer(cost))))
}

// GeneratorNoCacheReason is volta_generator_no_cache_reason.
//
// Why this generator has no cache: "node %12 (mean) joins tokens". "" where it has one; never NULL. A model whose
// tokens meet elsewhere than in causal attention is run whole for every token.
func GeneratorNoCacheReason(generator *Generator) *byte {
	return (*byte)(unsafe.Pointer(C.volta_generator_no_cache_reason((*C.volta_generator)(unsafe.Pointer(generator)))))
}

// SequenceCreate is volta_sequence_create.
//
// A sequence without tokens. sampling NULL: the generator's.
//
// Owns: *out_sequence, ended by volta_sequence_release. It keeps the generator alive.
//
// Errors: INVALID_STATE  all sequences of the generator are in use
func SequenceCreate(generator *Generator, sampling *SamplingOptions, outSequence **Sequence) Status {
	return Status(C.volta_sequence_create((*C.volta_generator)(unsafe.Pointer(generator)), (*C.volta_sampling_options)(unsafe.Pointer(sampling)), (**C.volta_sequence)(unsafe.Pointer(outSequence))))
}

// SequenceFork is volta_sequence_fork.
//
// A new sequence with the same tokens; its cache is copied, nothing is computed again. sampling NULL: the same.
//
// Errors: INVALID_STATE  all sequences of the generator are in use
func SequenceFork(sequence *Sequence, sampling *SamplingOptions, outSequence **Sequence) Status {
	return Status(C.volta_sequence_fork((*C.volta_sequence)(unsafe.Pointer(sequence)), (*C.volta_sampling_options)(unsafe.Pointer(sampling)), (**C.volta_sequence)(unsafe.Pointer(outSequence))))
}

// SequenceRelease is volta_sequence_release.
func SequenceRelease(sequence *Sequence) {
	C.volta_sequence_release((*C.volta_sequence)(unsafe.Pointer(sequence)))
}

// SequenceAppend is volta_sequence_append.
//
// Tokens that follow: a prompt, or what another speaker says. They are computed by the next step.
//
// Errors: INVALID_ARGUMENT  more than the context holds, an id outside the vocabulary; the sequence is as before
func SequenceAppend(sequence *Sequence, tokens *int32, count uint) Status {
	return Status(C.volta_sequence_append((*C.volta_sequence)(unsafe.Pointer(sequence)), (*C.int32_t)(unsafe.Pointer(tokens)), C.size_t(count)))
}

// SequenceRewind is volta_sequence_rewind.
//
// Forgets all but the first `count` tokens. Errors: INVALID_ARGUMENT  there are fewer
func SequenceRewind(sequence *Sequence, count uint) Status {
	return Status(C.volta_sequence_rewind((*C.volta_sequence)(unsafe.Pointer(sequence)), C.size_t(count)))
}

// GeneratorStep is volta_generator_step.
//
// Draws the next token of each sequence and appends it: out_tokens[i] to sequences[i]. Sequences whose tokens are
// computed but for the last share one run of the model.
//
// Errors: INVALID_ARGUMENT  a sequence twice, or of another generator
// INVALID_STATE     a sequence without tokens, or whose context is full
// NOT_FINITE        NaN logits
// OUT_OF_MEMORY     a cache that grows. After any error all sequences have the tokens that they had
func GeneratorStep(generator *Generator, sequences **Sequence, count uint, outTokens *int32) Status {
	return Status(C.volta_generator_step((*C.volta_generator)(unsafe.Pointer(generator)), (**C.volta_sequence)(unsafe.Pointer(sequences)), C.size_t(count), (*C.int32_t)(unsafe.Pointer(outTokens))))
}

// SequenceTokens is volta_sequence_tokens.
//
// All tokens of the sequence. Lends: until the next call on its generator.
func SequenceTokens(sequence *Sequence, outTokens **int32, outCount *uint) Status {
	return Status(C.volta_sequence_tokens((*C.volta_sequence)(unsafe.Pointer(sequence)), (**C.int32_t)(unsafe.Pointer(outTokens)), (*C.size_t)(unsafe.Pointer(outCount))))
}

// SequenceLogits is volta_sequence_logits.
//
// The logits of which its latest token was drawn. Lends: until the next call on its generator.
//
// Errors: INVALID_STATE  none was drawn yet
func SequenceLogits(sequence *Sequence, outLogits **float32, outCount *uint) Status {
	return Status(C.volta_sequence_logits((*C.volta_sequence)(unsafe.Pointer(sequence)), (**C.float)(unsafe.Pointer(outLogits)), (*C.size_t)(unsafe.Pointer(outCount))))
}

// GeneratorWrite is volta_generator_write.
//
// Draws tokens as volta_generator_step does, bit for bit, and tells their text until something ends it.
// on_text is called once for each token, in order, with the piece of text that this token decided; it may be empty.
// Held back are what may be the beginning of a stop text, which is never given, not even partly, and a UTF-8 character
// that is not complete: no piece ends within one. Bytes that cannot become UTF-8 are given as they are. Where writing
// ends, what is held back is text: it comes with the last token or, when cancelled or late, in one more piece with
// token -1. All pieces together are the text of the tokens (volta_tokenizer_decode_after), byte for byte, up to where
// it stopped; only there may it end within a character (unfinished_bytes). After on_text said stop it is not called
// again, not even for what was held back. A piece is not zero-terminated, and lent until on_text returns.
// The sequence keeps all tokens that were drawn, those of the stop too, and can be written on by a further call, whose
// stop texts are looked for in its own text alone. However it ended, but for an error, this is VOLTA_OK.
// sequence NULL: the one of volta_generator_start. tokenizer NULL: the model's. options NULL: to the end of the text
// or the context. result may be NULL; after an error it has the reason VOLTA_STOP_NONE and what was written before it.
//
// Thread: on_text runs on the caller's. It may look at this generator, its sequences and the tokenizer, not change or
// release them.
//
// Cost: a few allocations when it begins; none per token.
//
// Errors: INVALID_ARGUMENT  a sequence of another generator; an empty stop text, or one that is not UTF-8; a stop
// token outside the model's vocabulary; a drawn token outside the tokenizer's
// INVALID_STATE     a sequence without tokens; no tokenizer
// NOT_FINITE        NaN logits
// CANCELLED         on_text threw an exception; the sequence keeps its token
func GeneratorWrite(generator *Generator, sequence *Sequence, tokenizer *Tokenizer, options *WriteOptions, result *WriteResult) Status {
	return Status(C.volta_generator_write((*C.volta_generator)(unsafe.Pointer(generator)), (*C.volta_sequence)(unsafe.Pointer(sequence)), (*C.volta_tokenizer)(unsafe.Pointer(tokenizer)), (*C.volta_write_options)(unsafe.Pointer(options)), (*C.volta_write_result)(unsafe.Pointer(result))))
}

// Tune is volta_tune.
//
// Searches the fastest tile, blocks, loop order, prefetch, unrolling and packing of each product, for this
// context's threads and instruction set; on a GPU its form and tile. No choice changes a bit of any result. The
// default rules stay unless a final play-off beats them by more than 2 %. Sessions, trainers and generators made
// from this context from now on use what was found; those that exist do not change. Results are kept in the
// context and, where it has a tuning_folder, added to its file (docs/matmul_tuning.md). On the processor what was
// found counts where a plan uses a product as it was timed: B packed once or not, its columns summed or not, and
// weights that the LLC holds or not. Shapes are timed with a B that is packed by each call, if at all, and
// that the cache holds; those of a session and a trainer as these use them.
//
// Keeps: nothing of the options.
//
// Cost: about `seconds`, with all threads or the GPU busy; on a GPU kernels are compiled besides. The product's
// matrices are allocated as tensor memory, or on the GPU, and given back. On a machine that is busy
// otherwise the choices are worse, never the results.
//
// Errors: INVALID_ARGUMENT  nothing to tune, a size out of range, a session or trainer of another context
// UNSUPPORTED       on a GPU at a level other than strict, shapes of more than 16 rows: cuBLASLt chooses
// IO_ERROR          the tuning_folder cannot be written; found out before anything is timed
// CANCELLED         progress said so, or threw an exception; products that were done by then are kept
// OUT_OF_MEMORY     of a product's matrices: the error names the product, those before it are kept
func Tune(context *Context, options *TuneOptions) Status {
	return Status(C.volta_tune((*C.volta_context)(unsafe.Pointer(context)), (*C.volta_tune_options)(unsafe.Pointer(options))))
}

// ExplainMatmul is volta_explain_matmul.
//
// Why a product is computed as it is on the processor: the machine as the rules see it, every rule that applied, every
// other one with what was against it, the schedule and the kernel. Lines for people: their words may change.
//
// Shape: of `shape` as in volta_tune; a product alone, with nothing behind it. What volta_tune found counts.
//
// Units: capacity is bytes of text with its final 0, which is always written where capacity is above 0; what does not
// fit is cut. *out_bytes is the length of the whole text without that 0: a first call with capacity 0 asks for
// it (text may then be NULL).
//
// Cost: compiles the product, and keeps its kernels: milliseconds.
//
// Errors: INVALID_ARGUMENT  a size out of range, an unknown bit of use
// UNSUPPORTED       on a GPU
func ExplainMatmul(context *Context, shape *TuneShape, use uint32, text *byte, capacity uint, outBytes *uint) Status {
	return Status(C.volta_explain_matmul((*C.volta_context)(unsafe.Pointer(context)), (*C.volta_tune_shape)(unsafe.Pointer(shape)), C.uint32_t(use), (*C.char)(unsafe.Pointer(text)), C.size_t(capacity), (*C.size_t)(unsafe.Pointer(outBytes))))
}

// ProfileStart is volta_profile_start.
//
// Starts recording, in the place of the profile that the context had before.
//
// Owns: the context keeps the profile until the next start or its release.
//
// Cost: allocates room for all events, as structure memory, and some for each plan of the context.
//
// Thread: as every call on the context: never while another one runs, from a callback of one neither. The same holds
// for all functions below. Threads of the pool record by themselves.
//
// Errors: INVALID_STATE     the context is recording already
// INVALID_ARGUMENT  a capacity above 2^24
// OUT_OF_MEMORY     the profile before stays
func ProfileStart(context *Context, options *ProfileOptions) Status {
	return Status(C.volta_profile_start((*C.volta_context)(unsafe.Pointer(context)), (*C.volta_profile_options)(unsafe.Pointer(options))))
}

// ProfileStop is volta_profile_stop.
//
// Ends recording; what was recorded can be read from now on.
//
// Errors: INVALID_STATE  nothing is being recorded, or a call of the context runs
func ProfileStop(context *Context) Status {
	return Status(C.volta_profile_stop((*C.volta_context)(unsafe.Pointer(context))))
}

// ProfileGetInfo is volta_profile_get_info.
//
// Of the profile that was stopped. Fills what fits in info->struct_size.
//
// Errors: INVALID_STATE  nothing was recorded yet, or it is being recorded
func ProfileGetInfo(context *Context, info *ProfileInfo) Status {
	return Status(C.volta_profile_get_info((*C.volta_context)(unsafe.Pointer(context)), (*C.volta_profile_info)(unsafe.Pointer(info))))
}

// ProfileGetOperator is volta_profile_get_operator.
//
// Row `index` of the table of operators, the longest total first.
//
// Errors: INVALID_ARGUMENT  no such row; INVALID_STATE as volta_profile_get_info
func ProfileGetOperator(context *Context, index uint, row *ProfileOperator) Status {
	return Status(C.volta_profile_get_operator((*C.volta_context)(unsafe.Pointer(context)), C.size_t(index), (*C.volta_profile_operator)(unsafe.Pointer(row))))
}

// ProfileGetEvent is volta_profile_get_event.
//
// Event `index`. Those of one lane are in the order of their beginnings, outer ones first; lanes are mixed.
//
// Lends: names until the context is released.
//
// Errors: INVALID_ARGUMENT  no such event; INVALID_STATE as volta_profile_get_info
func ProfileGetEvent(context *Context, index uint, event *ProfileEvent) Status {
	return Status(C.volta_profile_get_event((*C.volta_context)(unsafe.Pointer(context)), C.size_t(index), (*C.volta_profile_event)(unsafe.Pointer(event))))
}

// ProfileWriteTrace is volta_profile_write_trace.
//
// Writes the profile in the Chrome trace event format (JSON), for Perfetto and chrome://tracing: a lane per thread, and
// counters of the memory. docs/profiling.md. Crash-safe, see volta_model_save.
//
// Errors: IO_ERROR  as volta_model_save; INVALID_STATE as volta_profile_get_info
func ProfileWriteTrace(context *Context, path *byte) Status {
	return Status(C.volta_profile_write_trace((*C.volta_context)(unsafe.Pointer(context)), (*C.char)(unsafe.Pointer(path))))
}

// DataVersion is volta_data_version.
//
// "0.1.0", of the library that is loaded. Never NULL.
func DataVersion() *byte {
	return (*byte)(unsafe.Pointer(C.volta_data_version()))
}

// DataLastError is volta_data_last_error.
//
// One English line about the calling thread's latest call of this library that reports a status: what was wrong, and with
// which value. "" after one that succeeded; never NULL.
//
// Lends: valid until this thread calls the library again.
//
// Thread: each thread has its own text; nothing else of this library is thread-local but the floating-point
// environment that a function of the host is given back, and the allocator that code of others works with.
func DataLastError() *byte {
	return (*byte)(unsafe.Pointer(C.volta_data_last_error()))
}

// DatasetOpen is volta_dataset_open.
//
// Opens a data set: a folder, or record files one by one (VOLTA_DATA_IDX: images, then labels). Reads sizes, names and,
// of IDX, labels; pictures are read when they are needed.
//
// Owns: *out_dataset, ended by volta_dataset_release.
//
// Keeps: nothing of paths. Record files stay open.
//
// Cost: lists the files of a folder; decompresses gzip files into memory.
//
// Errors: INVALID_ARGUMENT  an unknown format or split, no path, a number of paths that the format does not take, an
// allocator with a NULL function
// IO_ERROR          a file or folder that is not there or cannot be read, a split that the folder lacks
// CORRUPT_MODEL     a file that is no such data: its size, a count, a list of names; a class without pictures
// UNSUPPORTED       IDX of another type or number of dimensions; more than 2^32 - 1 samples
func DatasetOpen(format DataFormat, paths **byte, pathCount uint, options *DatasetOptions, outDataset **Dataset) Status {
	return Status(C.volta_dataset_open(C.volta_data_format(format), (**C.char)(unsafe.Pointer(paths)), C.size_t(pathCount), (*C.volta_dataset_options)(unsafe.Pointer(options)), (**C.volta_dataset)(unsafe.Pointer(outDataset))))
}

// DatasetRelease is volta_dataset_release.
func DatasetRelease(dataset *Dataset) {
	C.volta_dataset_release((*C.volta_dataset)(unsafe.Pointer(dataset)))
}

// DatasetGetInfo is volta_dataset_get_info.
//
// Fills what fits in info->struct_size.
func DatasetGetInfo(dataset *Dataset, info *DatasetInfo) Status {
	return Status(C.volta_dataset_get_info((*C.volta_dataset)(unsafe.Pointer(dataset)), (*C.volta_dataset_info)(unsafe.Pointer(info))))
}

// DatasetClassName is volta_dataset_class_name.
//
// The name of a class, UTF-8 in one line; its number where the data has no names. NULL: there is no such class.
//
// Lends: valid until the data set's release.
func DatasetClassName(dataset *Dataset, index uint32) *byte {
	return (*byte)(unsafe.Pointer(C.volta_dataset_class_name((*C.volta_dataset)(unsafe.Pointer(dataset)), C.uint32_t(index))))
}

// DatasetSampleName is volta_dataset_sample_name.
//
// Where a sample comes from, in words: a path, or "PATH, record 17". Cut where it does not fit `capacity` bytes with the
// closing zero.
//
// Errors: INVALID_ARGUMENT  no such sample, no capacity
func DatasetSampleName(dataset *Dataset, index uint64, text *byte, capacity uint) Status {
	return Status(C.volta_dataset_sample_name((*C.volta_dataset)(unsafe.Pointer(dataset)), C.uint64_t(index), (*C.char)(unsafe.Pointer(text)), C.size_t(capacity)))
}

// DatasetRead is volta_dataset_read.
//
// Sample `index` of a data set, as it is in its file.
//
// Owns: *out_picture, ended by volta_picture_release. Keeps the data set.
//
// Thread: any number at once.
//
// Errors: INVALID_ARGUMENT  no such sample
// CORRUPT_MODEL, UNSUPPORTED, IO_ERROR  as above; the text names the file
func DatasetRead(dataset *Dataset, index uint64, outPicture **Picture) Status {
	return Status(C.volta_dataset_read((*C.volta_dataset)(unsafe.Pointer(dataset)), C.uint64_t(index), (**C.volta_picture)(unsafe.Pointer(outPicture))))
}

// PictureOpen is volta_picture_open.
//
// One JPEG or PNG file. Of options, split is not looked at. Owns and Errors: the same.
func PictureOpen(path *byte, options *DatasetOptions, outPicture **Picture) Status {
	return Status(C.volta_picture_open((*C.char)(unsafe.Pointer(path)), (*C.volta_dataset_options)(unsafe.Pointer(options)), (**C.volta_picture)(unsafe.Pointer(outPicture))))
}

// PictureRelease is volta_picture_release.
func PictureRelease(picture *Picture) {
	C.volta_picture_release((*C.volta_picture)(unsafe.Pointer(picture)))
}

// PictureGetInfo is volta_picture_get_info.
//
// Fills what fits in info->struct_size.
func PictureGetInfo(picture *Picture, info *PictureInfo) Status {
	return Status(C.volta_picture_get_info((*C.volta_picture)(unsafe.Pointer(picture)), (*C.volta_picture_info)(unsafe.Pointer(info))))
}

// PictureResize is volta_picture_resize.
//
// Another size of a picture. Owns: *out_picture.
//
// Errors: INVALID_ARGUMENT  a height or width of 0, an unknown filter
// UNSUPPORTED       more pixels than max_pixels of the data set's or picture's options
func PictureResize(picture *Picture, height uint32, width uint32, filter Filter, outPicture **Picture) Status {
	return Status(C.volta_picture_resize((*C.volta_picture)(unsafe.Pointer(picture)), C.uint32_t(height), C.uint32_t(width), C.volta_filter(filter), (**C.volta_picture)(unsafe.Pointer(outPicture))))
}

// PictureTransform is volta_picture_transform.
//
// A picture as a model takes it. Shape: values[channels, height, width], as many as value_count says.
//
// Errors: INVALID_ARGUMENT  an option out of its range, a value_count that is not the shape's
// SHAPE_MISMATCH    the picture is smaller than the crop
func PictureTransform(picture *Picture, options *TransformOptions, values *float32, valueCount uint) Status {
	return Status(C.volta_picture_transform((*C.volta_picture)(unsafe.Pointer(picture)), (*C.volta_transform_options)(unsafe.Pointer(options)), (*C.float)(unsafe.Pointer(values)), C.size_t(valueCount)))
}

// TextOpen is volta_text_open.
//
// Reads files of text into memory, one behind the other, as they are: no byte is changed, whatever its encoding. Where a
// path is a folder, its file of options->split: wiki.PART.tokens, wiki.PART.raw or PART.txt, PART being train, valid or
// test, the first that is there: WikiText's layout. A folder without any part's file is a train part of all its files
// *.txt, by the bytes of their names. Any file may be compressed by gzip (in a folder also named so, *.gz).
//
// Owns: *out_text, ended by volta_text_release.
//
// Keeps: nothing of paths.
//
// Errors: INVALID_ARGUMENT  an unknown split, no path
// IO_ERROR          a file that cannot be read, a folder without that part
// CORRUPT_MODEL     no text at all, damaged gzip data, a file of more than max_file_bytes
// UNSUPPORTED       a file that expands to more
func TextOpen(paths **byte, pathCount uint, options *DatasetOptions, outText **Text) Status {
	return Status(C.volta_text_open((**C.char)(unsafe.Pointer(paths)), C.size_t(pathCount), (*C.volta_dataset_options)(unsafe.Pointer(options)), (**C.volta_text)(unsafe.Pointer(outText))))
}

// TextRelease is volta_text_release.
func TextRelease(text *Text) {
	C.volta_text_release((*C.volta_text)(unsafe.Pointer(text)))
}

// TextGetInfo is volta_text_get_info.
//
// Fills what fits in info->struct_size.
func TextGetInfo(text *Text, info *TextInfo) Status {
	return Status(C.volta_text_get_info((*C.volta_text)(unsafe.Pointer(text)), (*C.volta_text_info)(unsafe.Pointer(info))))
}

// TextParts is volta_text_parts.
//
// Which parts a folder of texts has: the sum of 1u << split over those that volta_text_open finds; 0: it has no text.
//
// Keeps: nothing of folder.
//
// Errors: INVALID_ARGUMENT  an empty name
// IO_ERROR          there is no folder of that name, or it cannot be read
func TextParts(folder *byte, options *DatasetOptions, outParts *uint32) Status {
	return Status(C.volta_text_parts((*C.char)(unsafe.Pointer(folder)), (*C.volta_dataset_options)(unsafe.Pointer(options)), (*C.uint32_t)(unsafe.Pointer(outParts))))
}

// DocumentsParse is volta_documents_parse.
//
// The documents of a text of lines of JSON, as volta_text_open gives it: each {"prompt", "completion"}, {"messages": [{"role",
// "content"}, ...]}, {"text"} or {"text"[, "text_pair"], "label"}. Empty lines are none. The text is treated as hostile.
// name:   of the file, for sentences: "<name>:<line>: ..."
//
// Owns: *out_documents, ended by volta_documents_release.
//
// Keeps: nothing of the text.
//
// Errors: CORRUPT_MODEL  a line that is none of these; no document at all
func DocumentsParse(name *byte, text *byte, textBytes uint, options *DatasetOptions, outDocuments **Documents) Status {
	return Status(C.volta_documents_parse((*C.char)(unsafe.Pointer(name)), (*C.char)(unsafe.Pointer(text)), C.size_t(textBytes), (*C.volta_dataset_options)(unsafe.Pointer(options)), (**C.volta_documents)(unsafe.Pointer(outDocuments))))
}

// DocumentsRelease is volta_documents_release.
func DocumentsRelease(documents *Documents) {
	C.volta_documents_release((*C.volta_documents)(unsafe.Pointer(documents)))
}

// DocumentsCount is volta_documents_count.
func DocumentsCount(documents *Documents) uint64 {
	return uint64(C.volta_documents_count((*C.volta_documents)(unsafe.Pointer(documents))))
}

// DocumentsGet is volta_documents_get.
//
// Fills what fits in document->struct_size. Errors: INVALID_ARGUMENT  there are fewer
func DocumentsGet(documents *Documents, index uint64, document *Document) Status {
	return Status(C.volta_documents_get((*C.volta_documents)(unsafe.Pointer(documents)), C.uint64_t(index), (*C.volta_document)(unsafe.Pointer(document))))
}

// DocumentsPack is volta_documents_pack.
//
// Documents side by side in rows, for training with packed_documents of volta_trainer_options: each, in order, goes into
// the first row that has room for it. The same lengths give the same rows.
// lengths: of each document, in tokens that a row takes: of a language model one less than it has, as the last is only
// asked for
// rows, places: of each document, which row it is in, and where it begins there
//
// Cost: count * log(count).
//
// Errors: INVALID_ARGUMENT  a length of 0, or of more than row_tokens; the text names the document
func DocumentsPack(lengths *uint64, count uint64, rowTokens uint64, options *DatasetOptions, rows *uint64, places *uint64, outRowCount *uint64) Status {
	return Status(C.volta_documents_pack((*C.uint64_t)(unsafe.Pointer(lengths)), C.uint64_t(count), C.uint64_t(rowTokens), (*C.volta_dataset_options)(unsafe.Pointer(options)), (*C.uint64_t)(unsafe.Pointer(rows)), (*C.uint64_t)(unsafe.Pointer(places)), (*C.uint64_t)(unsafe.Pointer(outRowCount))))
}

// LoaderCreate is volta_loader_create.
//
// Starts loading at epoch 0, batch 0.
//
// Owns: *out_loader, ended by volta_loader_release, which waits for what its threads are doing.
//
// Keeps: the data set.
//
// Cost: allocates (queue + 1) batches; starts thread_count threads, which sleep while the queue is full.
//
// Errors: INVALID_ARGUMENT  an option out of its range; height and width of 0 where pictures differ in size; a
// VOLTA_BATCHES_FULL of which no batch is full
// OUT_OF_MEMORY     also: the system starts no thread
func LoaderCreate(dataset *Dataset, options *LoaderOptions, outLoader **Loader) Status {
	return Status(C.volta_loader_create((*C.volta_dataset)(unsafe.Pointer(dataset)), (*C.volta_loader_options)(unsafe.Pointer(options)), (**C.volta_loader)(unsafe.Pointer(outLoader))))
}

// LoaderRelease is volta_loader_release.
func LoaderRelease(loader *Loader) {
	C.volta_loader_release((*C.volta_loader)(unsafe.Pointer(loader)))
}

// LoaderNext is volta_loader_next.
//
// The next batch; after the last one of an epoch the first of the next. Fills what fits in batch->struct_size.
//
// Lends: what batch points to, until the next call of next or seek, or release.
//
// Cost: waits until it is loaded; allocates nothing once the largest picture has been seen.
//
// Errors: CORRUPT_MODEL, UNSUPPORTED, IO_ERROR, SHAPE_MISMATCH, OUT_OF_MEMORY  of the first sample of the batch that has
// one: the text names it. The loader stays where it is: the next call tries that batch again, volta_loader_seek
// goes past it
func LoaderNext(loader *Loader, batch *Batch) Status {
	return Status(C.volta_loader_next((*C.volta_loader)(unsafe.Pointer(loader)), (*C.volta_batch)(unsafe.Pointer(batch))))
}

// LoaderGetPosition is volta_loader_get_position.
//
// Where the loader is: epoch and batch of what volta_loader_next gives next. Saved with a checkpoint, these two resume it.
func LoaderGetPosition(loader *Loader, outEpoch *uint64, outBatch *uint64) Status {
	return Status(C.volta_loader_get_position((*C.volta_loader)(unsafe.Pointer(loader)), (*C.uint64_t)(unsafe.Pointer(outEpoch)), (*C.uint64_t)(unsafe.Pointer(outBatch))))
}

// LoaderSeek is volta_loader_seek.
//
// Goes to a batch of an epoch.
//
// Cost: waits for what threads are doing; computes the epoch's order.
//
// Errors: INVALID_ARGUMENT  an epoch of 2^32 or more, a batch that the epoch does not have
func LoaderSeek(loader *Loader, epoch uint64, batch uint64) Status {
	return Status(C.volta_loader_seek((*C.volta_loader)(unsafe.Pointer(loader)), C.uint64_t(epoch), C.uint64_t(batch)))
}
