package volta

import (
	"unsafe"

	"volta/sys"
)

// A Tokenizer turns text to ids and back.
type Tokenizer struct {
	*handle[sys.Tokenizer]
}

func newTokenizer(in *Context, make func(*sys.Context, **sys.Tokenizer) Status) (*Tokenizer, error) {
	tokenizer, err := made(in.handle, "tokenizer", sys.TokenizerRelease, make)
	if err != nil {
		return nil, err
	}
	return &Tokenizer{tokenizer}, nil
}

// bytesOf is the address and length of a text, which C reads during a call and does not keep.
func bytesOf(text string) (*byte, uint) {
	bytes := []byte(text)
	return first(bytes), uint(len(bytes))
}

// NewByteTokenizer has 256 tokens, one per byte.
func NewByteTokenizer(in *Context) (*Tokenizer, error) {
	return newTokenizer(in, sys.TokenizerCreateByte)
}

// NewCharTokenizer has the distinct characters of a text.
func NewCharTokenizer(in *Context, text string) (*Tokenizer, error) {
	return newTokenizer(in, func(context *sys.Context, out **sys.Tokenizer) Status {
		bytes, count := bytesOf(text)
		return sys.TokenizerCreateChar(context, bytes, count, out)
	})
}

// TrainBpe learns byte-level BPE of so many ids.
func TrainBpe(in *Context, text string, vocabulary int32) (*Tokenizer, error) {
	return newTokenizer(in, func(context *sys.Context, out **sys.Tokenizer) Status {
		bytes, count := bytesOf(text)
		return sys.TokenizerTrainBpe(context, bytes, count, vocabulary, out)
	})
}

// OpenTokenizer reads one of another program; TokenizerAuto: whichever it is.
func OpenTokenizer(in *Context, path string, format TokenizerFormat) (*Tokenizer, error) {
	if err := whole(path); err != nil {
		return nil, err
	}
	var a arena
	defer a.free()
	return newTokenizer(in, func(context *sys.Context, out **sys.Tokenizer) Status {
		return sys.TokenizerOpen(context, a.name(path), format, out)
	})
}

// Kind is "byte", "char", "bpe", "spm" or "wordpiece".
func (t *Tokenizer) Kind() (kind string) {
	_ = t.look(func(tokenizer *sys.Tokenizer) Status { kind = sys.GoText(sys.TokenizerKind(tokenizer)); return OK })
	return kind
}

// Size is the number of ids.
func (t *Tokenizer) Size() (size int) {
	_ = t.look(func(tokenizer *sys.Tokenizer) Status { size = int(sys.TokenizerSize(tokenizer)); return OK })
	return size
}

// Encode gives the ids of a text: no ends, and special pieces are text.
func (t *Tokenizer) Encode(text string) ([]int32, error) {
	bytes, length := bytesOf(text)
	return t.ids(func(tokenizer *sys.Tokenizer, ids *int32, capacity uint, count *uint) Status {
		return sys.TokenizerEncode(tokenizer, bytes, length, ids, capacity, count)
	})
}

// EncodeOptions says how a text is taken: with bos and eos (Ends 1), with control pieces that become their ids (Special 1),
// and with at most so many ids, the ends included (MaxTokens, where that is not 0).
type EncodeOptions struct {
	Ends, Special int32
	MaxTokens     uint
}

// EncodeWith is the same as the options say.
func (t *Tokenizer) EncodeWith(text string, options EncodeOptions) ([]int32, error) {
	bytes, length := bytesOf(text)
	how := sized(sys.EncodeOptions{Ends: options.Ends, Special: options.Special, MaxTokens: options.MaxTokens})
	return t.ids(func(tokenizer *sys.Tokenizer, ids *int32, capacity uint, count *uint) Status {
		return sys.TokenizerEncodeWith(tokenizer, how, bytes, length, ids, capacity, count)
	})
}

// EncodePair gives the ids of two texts beside each other, with ends, and of each id its segment: 0 for those of the
// first text and what ends it, 1 behind. At most maxTokens ids, where that is not 0.
func (t *Tokenizer) EncodePair(text, pair string, maxTokens uint) (ids, segments []int32, err error) {
	bytes, length := bytesOf(text)
	var a arena
	defer a.free()
	how := sized(sys.EncodeOptions{Ends: 1, Pair: a.name(pair), PairBytes: uint(len(pair)), MaxTokens: maxTokens})
	ids, err = t.ids(func(tokenizer *sys.Tokenizer, ids *int32, capacity uint, count *uint) Status {
		if capacity > 0 {
			how.Segments = (*int32)(a.memory(uintptr(capacity) * unsafe.Sizeof(*how.Segments)))
		}
		return sys.TokenizerEncodeWith(tokenizer, how, bytes, length, ids, capacity, count)
	})
	if err == nil && len(ids) > 0 {
		segments = append(segments, unsafe.Slice(how.Segments, len(ids))...)
	}
	return ids, segments, err
}

func (t *Tokenizer) ids(encode func(*sys.Tokenizer, *int32, uint, *uint) Status) (ids []int32, err error) {
	err = t.look(func(tokenizer *sys.Tokenizer) Status {
		var count uint
		if status := encode(tokenizer, nil, 0, &count); status != OK {
			return status
		}
		ids = make([]int32, count)
		return encode(tokenizer, first(ids), count, &count)
	})
	return ids, err
}

// Decode gives the text of ids.
func (t *Tokenizer) Decode(ids []int32) (string, error) {
	var text []byte
	err := t.look(func(tokenizer *sys.Tokenizer) Status {
		previous := int32(-1)
		for _, id := range ids {
			var piece *byte
			var bytes uint
			if status := sys.TokenizerDecodeAfter(tokenizer, previous, id, &piece, &bytes); status != OK {
				return status
			}
			text = append(text, unsafe.Slice(piece, int(bytes))...)
			previous = id
		}
		return OK
	})
	return string(text), err
}

// Piece gives the bytes of one id by itself.
func (t *Tokenizer) Piece(id int32) (text []byte, err error) {
	err = t.look(func(tokenizer *sys.Tokenizer) Status {
		var piece *byte
		var bytes uint
		status := sys.TokenizerDecode(tokenizer, id, &piece, &bytes)
		text = append(text, unsafe.Slice(piece, int(bytes))...)
		return status
	})
	return text, err
}

// Special gives the ids that stand for no text; -1: there is none.
func (t *Tokenizer) Special() (SpecialIds, error) {
	ids := sized(SpecialIds{})
	err := t.look(func(tokenizer *sys.Tokenizer) Status { return sys.TokenizerSpecial(tokenizer, ids) })
	return *ids, err
}
