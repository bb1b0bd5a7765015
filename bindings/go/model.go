package volta

import (
	"context"
	"unsafe"

	"volta/sys"
)

// A Model is a graph and its parameters.
type Model struct {
	*handle[sys.Model]
}

func newModel[T any](of *handle[T], make func(*T, **sys.Model) Status) (*Model, error) {
	model, err := made(of, "model", sys.ModelRelease, make)
	if err != nil {
		return nil, err
	}
	return &Model{model}, nil
}

// NewModel makes a model of a graph as it stands now, its parameters drawn from the seed.
func NewModel(of *Graph, seed uint64) (*Model, error) {
	return newModel(of.handle, func(graph *sys.Graph, out **sys.Model) Status { return sys.ModelCreate(graph, seed, out) })
}

// NewGpt makes a GPT: learned positions, pre-norm, tied head.
func NewGpt(in *Context, sizes GptOptions, seed uint64) (*Model, error) {
	return newModel(in.handle, func(context *sys.Context, out **sys.Model) Status {
		return sys.ModelCreateGpt(context, sized(sizes), seed, out)
	})
}

// NewLlama makes a Llama: rotary positions, RMS norms, gated activations.
func NewLlama(in *Context, sizes LlamaOptions, seed uint64) (*Model, error) {
	return newModel(in.handle, func(context *sys.Context, out **sys.Model) Status {
		return sys.ModelCreateLlama(context, sized(sizes), seed, out)
	})
}

// NewBert makes a BERT with a head of BertMasked and so on.
func NewBert(in *Context, sizes BertOptions, seed uint64) (*Model, error) {
	return newModel(in.handle, func(context *sys.Context, out **sys.Model) Status {
		return sys.ModelCreateBert(context, sized(sizes), seed, out)
	})
}

// NewResnet makes a residual network that classifies pictures.
func NewResnet(in *Context, sizes ResnetOptions, seed uint64) (*Model, error) {
	return newModel(in.handle, func(context *sys.Context, out **sys.Model) Status {
		return sys.ModelCreateResnet(context, sized(sizes), seed, out)
	})
}

// NetworkOptions are volta_network_options.
type NetworkOptions struct {
	Name     string // one of NetworkNames
	Classes  int64
	Channels int64
	Rows     int64
	Columns  int64
	Width    float64
	Stem     NetworkStem
}

// NewNetwork makes a network of pictures by its name.
func NewNetwork(in *Context, sizes NetworkOptions, seed uint64) (*Model, error) {
	var a arena
	defer a.free()
	var raw sys.NetworkOptions
	if err := fill(&a, &raw, sizes); err != nil {
		return nil, err
	}
	return newModel(in.handle, func(context *sys.Context, out **sys.Model) Status {
		return sys.ModelCreateNetwork(context, &raw, seed, out)
	})
}

// NetworkNames are the networks that there are.
func NetworkNames() (names []string) {
	for {
		name := sys.NetworkName(uint(len(names)))
		if name == nil {
			return names
		}
		names = append(names, sys.GoText(name))
	}
}

// OpenModel opens a model file: OpenOptions{} maps it, in milliseconds.
func OpenModel(in *Context, path string, options OpenOptions) (*Model, error) {
	if err := whole(path); err != nil {
		return nil, err
	}
	var a arena
	defer a.free()
	return newModel(in.handle, func(context *sys.Context, out **sys.Model) Status {
		return sys.ModelOpen(context, a.name(path), sized(options), out)
	})
}

// ReadModel opens a model file that is in memory, which is copied.
func ReadModel(in *Context, data []byte) (*Model, error) {
	return newModel(in.handle, func(context *sys.Context, out **sys.Model) Status {
		options := sized(OpenOptions{Mode: LoadCopy})
		return sys.ModelOpenMemory(context, unsafe.Pointer(first(data)), uint(len(data)), options, out)
	})
}

// InputShape is the shape that an input of an imported graph gets; an extent of -1 stays as the file has it.
type InputShape struct {
	Name  string
	Shape []int64
}

// ImportOptions are volta_import_options; zeros are the defaults.
type ImportOptions struct {
	Format        WeightFormat
	TokenizerPath string
	ConfigPath    string
	KeyMapPath    string
	Bert          *BertOptions `volta:"-"`
	Weights       int32        // 0: f32; ImportKeep; or int32(Bf16) and so on
	NoTokenizer   bool
	Resnet        *ResnetOptions  `volta:"-"`
	Shapes        []InputShape    `volta:"-"`
	Network       *NetworkOptions `volta:"-"`
	ExactGraph    bool
}

func (o *ImportOptions) raw(a *arena) (*sys.ImportOptions, error) {
	raw := new(sys.ImportOptions)
	if o == nil {
		o = &ImportOptions{}
	}
	if err := fill(a, raw, *o); err != nil {
		return nil, err
	}
	if o.Bert != nil {
		raw.Bert = list(a, []sys.BertOptions{*sized(*o.Bert)})
	}
	if o.Resnet != nil {
		raw.Resnet = list(a, []sys.ResnetOptions{*sized(*o.Resnet)})
	}
	if o.Network != nil {
		network := make([]sys.NetworkOptions, 1)
		if err := fill(a, &network[0], *o.Network); err != nil {
			return nil, err
		}
		raw.Network = list(a, network)
	}
	shapes := make([]sys.InputShape, len(o.Shapes))
	for i, of := range o.Shapes {
		if err := whole(of.Name); err != nil {
			return nil, err
		}
		if len(of.Shape) > MaxRank {
			return nil, refused(InvalidArgument, "the shape of %q has %d extents, there are %d at most", of.Name, len(of.Shape), MaxRank)
		}
		shapes[i].Name, shapes[i].Rank = a.name(of.Name), int32(len(of.Shape))
		copy(shapes[i].Shape[:], of.Shape)
	}
	raw.Shapes, raw.ShapeCount = list(a, shapes), uint(len(shapes))
	return raw, nil
}

// ImportModel makes a model from weights of another program, or from an ONNX file. The end of ctx ends it, between two
// parameters.
func ImportModel(ctx context.Context, in *Context, path string, options *ImportOptions) (*Model, error) {
	if err := whole(path); err != nil {
		return nil, err
	}
	var a arena
	defer a.free()
	raw, err := options.raw(&a)
	if err != nil {
		return nil, err
	}
	var model *Model
	err = in.Until(ctx, func() (err error) {
		model, err = newModel(in.handle, func(context *sys.Context, out **sys.Model) Status {
			return sys.ModelImport(context, a.name(path), raw, out)
		})
		return err
	})
	return model, err
}

// Survey is what an ONNX file holds, as JSON, without making a model of it.
func Survey(in *Context, path string, options *ImportOptions) (string, error) {
	if err := whole(path); err != nil {
		return "", err
	}
	var a arena
	defer a.free()
	raw, err := options.raw(&a)
	if err != nil {
		return "", err
	}
	return asked(func(text *byte, capacity uint, bytes *uint) error {
		return in.change(func(context *sys.Context) Status {
			return sys.ModelSurvey(context, a.name(path), raw, text, capacity, bytes)
		})
	})
}

// to runs a function that writes a file.
func (m *Model) to(path string, write func(*sys.Model, *byte) Status) error {
	if err := whole(path); err != nil {
		return err
	}
	var a arena
	defer a.free()
	return m.change(func(model *sys.Model) Status { return write(model, a.name(path)) })
}

// Save writes a model file: at every instant the path has the old one or the whole new one.
func (m *Model) Save(path string) error { return m.to(path, sys.ModelSave) }

// SaveSharded writes the bytes of that file as so many files of a folder, which OpenModel takes too.
func (m *Model) SaveSharded(parts uint32, folder string) error {
	return m.to(folder, func(model *sys.Model, folder *byte) Status { return sys.ModelSaveSharded(model, parts, folder) })
}

// ExportSafetensors writes parameters and metadata by Volta's own names.
func (m *Model) ExportSafetensors(path string) error { return m.to(path, sys.ModelExportSafetensors) }

// ExportOptions are volta_export_options.
type ExportOptions struct {
	Names      WeightNames
	ConfigPath string // where NamesHuggingFace writes the config.json
}

// ExportSafetensorsWith is the same by the names of another program.
func (m *Model) ExportSafetensorsWith(path string, options ExportOptions) error {
	var a arena
	defer a.free()
	var raw sys.ExportOptions
	if err := fill(&a, &raw, options); err != nil {
		return err
	}
	return m.to(path, func(model *sys.Model, path *byte) Status {
		return sys.ModelExportSafetensorsWith(model, &raw, path)
	})
}

// ExportOnnx writes graph and parameters as an ONNX file.
func (m *Model) ExportOnnx(path string, options OnnxExportOptions) error {
	return m.to(path, func(model *sys.Model, path *byte) Status { return sys.ModelExportOnnx(model, sized(options), path) })
}

// ExportGguf writes a GPT, a Llama or a BERT as a GGUF file, for programs like llama.cpp.
func (m *Model) ExportGguf(path string, options GgufExportOptions) error {
	return m.to(path, func(model *sys.Model, path *byte) Status { return sys.ModelExportGguf(model, sized(options), path) })
}

// hash is what a function of the kind (object, 33 bytes) gives.
func hash[T any](h *handle[T], ask func(*T, *byte) Status) (string, error) {
	var text [33]byte
	err := h.change(func(pointer *T) Status { return ask(pointer, &text[0]) })
	return sys.GoText(&text[0]), err
}

// Hash is 128 bits of all parameters, 32 hexadecimal digits.
func (m *Model) Hash() (string, error) { return hash(m.handle, sys.ModelHash) }

// Arithmetic is the level and precision that gave the parameters their values.
func (m *Model) Arithmetic() (level Level, precision Precision, err error) {
	err = m.look(func(model *sys.Model) Status {
		return sys.ModelGetArithmetic(model, (*sys.Level)(&level), (*sys.Precision)(&precision))
	})
	return level, precision, err
}

// Quantize gives a model of stored weights: Bf16, F16, Int8, Int4 or F32Panels.
func (m *Model) Quantize(dtype Dtype) (*Model, error) {
	return newModel(m.handle, func(model *sys.Model, out **sys.Model) Status { return sys.ModelQuantize(model, dtype, out) })
}

// LoraOptions is what AddLora puts beside the weights of a base; zeros are the defaults.
type LoraOptions struct {
	Rank    int64
	Alpha   float64
	Targets string // parts or names of weights, joined by +; "": q+v
	Seed    uint64
}

// AddLora gives a model with adapters beside the weights of this one, its base: they alone are trained, and saved.
func (m *Model) AddLora(options LoraOptions) (*Model, error) {
	var a arena
	defer a.free()
	var raw sys.LoraOptions
	if err := fill(&a, &raw, options); err != nil {
		return nil, err
	}
	return newModel(m.handle, func(model *sys.Model, out **sys.Model) Status { return sys.ModelAddLora(model, &raw, out) })
}

// at is what a function of the kind (model, path, out) gives.
func (m *Model) at(path string, open func(*sys.Model, *byte, **sys.Model) Status) (*Model, error) {
	if err := whole(path); err != nil {
		return nil, err
	}
	var a arena
	defer a.free()
	return newModel(m.handle, func(model *sys.Model, out **sys.Model) Status { return open(model, a.name(path), out) })
}

// OpenAdapter gives the adapters of a file on this model, their base.
func (m *Model) OpenAdapter(path string) (*Model, error) {
	return m.at(path, func(model *sys.Model, path *byte, out **sys.Model) Status {
		return sys.ModelOpenAdapter(model, path, nil, out)
	})
}

// MergeAdapter gives the base with the adapters added to its weights, and by how much one of these was rounded.
func (m *Model) MergeAdapter() (*Model, float64, error) {
	var difference float64
	model, err := newModel(m.handle, func(model *sys.Model, out **sys.Model) Status {
		return sys.ModelMergeAdapter(model, &difference, out)
	})
	return model, difference, err
}

// ExportPeft writes the adapters as PEFT reads them, two files in a folder that is there.
func (m *Model) ExportPeft(folder string) error { return m.to(folder, sys.ModelExportPeft) }

// ImportPeft gives the adapters of such a folder on this model, their base.
func (m *Model) ImportPeft(folder string) (*Model, error) { return m.at(folder, sys.ModelImportPeft) }

// ReplaceHead gives a model whose last layer has so many columns, drawn from the seed.
func (m *Model) ReplaceHead(classes int64, seed uint64) (*Model, error) {
	return newModel(m.handle, func(model *sys.Model, out **sys.Model) Status {
		return sys.ModelReplaceHead(model, classes, seed, out)
	})
}

// FoldBatchNorm gives a model whose norms are part of their convolutions, and how many are.
func (m *Model) FoldBatchNorm() (*Model, int, error) {
	var folded uint
	model, err := newModel(m.handle, func(model *sys.Model, out **sys.Model) Status {
		return sys.ModelFoldBatchNorm(model, out, &folded)
	})
	return model, int(folded), err
}

// HiddenStates gives a model that ends with the states of a language model's tokens.
func (m *Model) HiddenStates() (*Model, error) { return newModel(m.handle, sys.ModelHiddenStates) }

// TensorInfo is an input, an output or a parameter. An extent of -1 is chosen per session.
type TensorInfo struct {
	Name  string
	Dtype Dtype
	Shape []int64
}

func (m *Model) infos(count func(*sys.Model) uint, ask func(*sys.Model, uint, *sys.TensorInfo) Status) (infos []TensorInfo, err error) {
	err = m.look(func(model *sys.Model) Status {
		for i := uint(0); i < count(model); i++ {
			var raw sys.TensorInfo
			if status := ask(model, i, &raw); status != OK {
				return status
			}
			infos = append(infos, TensorInfo{sys.GoText(raw.Name), raw.Dtype, append([]int64{}, raw.Shape[:raw.Rank]...)})
		}
		return OK
	})
	return infos, err
}

// Inputs are those of every run, in order.
func (m *Model) Inputs() ([]TensorInfo, error) {
	return m.infos(sys.ModelInputCount, sys.ModelInputInfo)
}

// Outputs are those of every run, in order.
func (m *Model) Outputs() ([]TensorInfo, error) {
	return m.infos(sys.ModelOutputCount, sys.ModelOutputInfo)
}

// Parameters are in declaration order.
func (m *Model) Parameters() ([]TensorInfo, error) {
	return m.infos(sys.ModelParameterCount, sys.ModelParameterInfo)
}

// floats is a copy of what a function of the kind (object, name, out data, out count) lends.
func floats[T any](h *handle[T], name string, ask func(*T, *byte, **float32, *uint) Status) (copied []float32, err error) {
	if err = whole(name); err != nil {
		return nil, err
	}
	var a arena
	defer a.free()
	err = h.change(func(pointer *T) Status {
		var data *float32
		var count uint
		status := ask(pointer, a.name(name), &data, &count)
		copied = append([]float32{}, unsafe.Slice(data, int(count))...)
		return status
	})
	return copied, err
}

// Parameter is a copy of a parameter's values.
func (m *Model) Parameter(name string) ([]float32, error) {
	return floats(m.handle, name, sys.ModelParameter)
}

// SetParameter replaces them.
func (m *Model) SetParameter(name string, values []float32) error {
	return m.to(name, func(model *sys.Model, name *byte) Status {
		return sys.ModelSetParameter(model, name, first(values), uint(len(values)))
	})
}

// Tokenizer is the one that the model carries; nil: none.
func (m *Model) Tokenizer() (*Tokenizer, error) {
	tokenizer, err := made(m.handle, "tokenizer", sys.TokenizerRelease, func(model *sys.Model, out **sys.Tokenizer) Status {
		return sys.ModelGetTokenizer(model, out)
	})
	if err != nil || tokenizer == nil {
		return nil, err
	}
	return &Tokenizer{tokenizer}, nil
}

// SetTokenizer copies a tokenizer into the model.
func (m *Model) SetTokenizer(of *Tokenizer) error {
	var wrong error
	err := m.change(func(model *sys.Model) Status {
		tokenizer, err := of.in(m.owner)
		if wrong = err; err != nil {
			return OK
		}
		return sys.ModelSetTokenizer(model, tokenizer)
	})
	if err == nil {
		err = wrong
	}
	return err
}

// ChatFormatNames are the formats of conversations.
func ChatFormatNames() (names []string) {
	for {
		name := sys.ChatFormatName(uint(len(names)))
		if name == nil {
			return names
		}
		names = append(names, sys.GoText(name))
	}
}

// SetChatFormat says how conversations become tokens, "": not at all. system is what the system says where no message does; "": what
// the format says.
func (m *Model) SetChatFormat(name, system string) error {
	if err := whole(name, system); err != nil {
		return err
	}
	var a arena
	defer a.free()
	return m.change(func(model *sys.Model) Status { return sys.ModelSetChatFormat(model, a.text(name), a.text(system)) })
}

// ChatEnd is the id that ends an answer.
func (m *Model) ChatEnd() (id int32, err error) {
	err = m.look(func(model *sys.Model) Status { return sys.ModelGetChatEnd(model, &id) })
	return id, err
}

// A ChatMessage is one of a conversation; roles are system, user and assistant.
type ChatMessage struct{ Role, Content string }

// EncodeChat gives the tokens of a conversation, and of each whether it belongs to an answer. wholly: without the beginning of the next
// answer.
func (m *Model) EncodeChat(messages []ChatMessage, wholly bool) (ids []int32, answers []uint8, err error) {
	var a arena
	defer a.free()
	raw := make([]sys.ChatMessage, len(messages))
	for i, message := range messages {
		if err = whole(message.Role, message.Content); err != nil {
			return nil, nil, err
		}
		raw[i] = sys.ChatMessage{Role: a.name(message.Role), Content: a.name(message.Content)}
	}
	given, flags := list(&a, raw), uint32(0)
	if wholly {
		flags = ChatWhole
	}
	err = m.look(func(model *sys.Model) Status {
		var count uint
		status := sys.ModelEncodeChat(model, given, uint(len(raw)), flags, nil, nil, 0, &count)
		if status != OK {
			return status
		}
		ids, answers = make([]int32, count), make([]uint8, count)
		return sys.ModelEncodeChat(model, given, uint(len(raw)), flags, first(ids), first(answers), count, &count)
	})
	return ids, answers, err
}

// Metadata is free text that the model carries; "" where there is none.
func (m *Model) Metadata(key string) (value string, err error) {
	err = m.to(key, func(model *sys.Model, key *byte) Status {
		var lent *byte
		status := sys.ModelGetMetadata(model, key, &lent)
		value = sys.GoText(lent)
		return status
	})
	return value, err
}

// SetMetadata sets it; "" removes it.
func (m *Model) SetMetadata(key, value string) error {
	if err := whole(value); err != nil {
		return err
	}
	var a arena
	defer a.free()
	return m.to(key, func(model *sys.Model, key *byte) Status { return sys.ModelSetMetadata(model, key, a.text(value)) })
}

// EvaluateTokens is the mean loss per token over consecutive windows.
func (m *Model) EvaluateTokens(tokens []int32) (loss float64, err error) {
	err = m.change(func(model *sys.Model) Status {
		return sys.ModelEvaluateTokens(model, first(tokens), uint(len(tokens)), &loss)
	})
	return loss, err
}
