package volta

import (
	"context"
	"io"
	"unsafe"

	"volta/sys"
)

// WriteOptions are volta_write_options; zeros are the defaults.
type WriteOptions struct {
	MaxTokens  int64    // 0: as many as the context holds
	StopTokens []int32  // the text ends before the first of them that is drawn
	StopTexts  []string // and before the first of them that is complete; they may span tokens
	MaxSeconds float64  // 0: no end, but for the context's
	Flags      uint32   // WritePastEnd
	// Called with each piece, which it must not keep, and its token; its error ends the writing and is the call's. It may look at
	// the generator, its sequences and tokenizers, not change them.
	OnText    func(piece []byte, token int32) error `volta:"-"`
	Sequence  *Sequence                             `volta:"-"` // nil: the one of Start
	Tokenizer *Tokenizer                            `volta:"-"` // nil: the model's
}

// Write draws tokens and writes their text to w, piece by piece, until something ends it: the result says what. w may be nil. The end of ctx
// ends it before the next token: the error then matches ctx.Err and ErrCancelled, and all that was drawn stays.
func (g *Generator) Write(ctx context.Context, w io.Writer, options WriteOptions) (WriteResult, error) {
	result := sized(WriteResult{})
	if err := ofContext(ctx); err != nil {
		return *result, err
	}
	var a arena
	defer a.free()
	raw := new(sys.WriteOptions)
	if err := fill(&a, raw, options); err != nil {
		return *result, err
	}
	out := &output{to: w, on: options.OnText}
	raw.OnText, raw.User = sys.OnText, sys.Hand(&sys.Receiver{Owner: g.owner.mark, Text: out.piece})
	defer sys.Unhand(raw.User)

	var wrong error
	err := watched(ctx, func(cancel *sys.Cancel) error {
		raw.Cancel = cancel
		return g.change(func(generator *sys.Generator) Status {
			var sequence *sys.Sequence
			var tokenizer *sys.Tokenizer
			if options.Sequence != nil {
				sequence, wrong = options.Sequence.in(g.owner)
			}
			if options.Tokenizer != nil && wrong == nil {
				tokenizer, wrong = options.Tokenizer.in(g.owner)
			}
			if wrong != nil {
				return OK
			}
			return sys.GeneratorWrite(generator, sequence, tokenizer, raw, result)
		})
	})
	if out.thrown != nil {
		panic(out.thrown)
	}
	switch {
	case out.err != nil:
		err = out.err
	case wrong != nil:
		err = wrong
	case err == nil && result.Reason == StopCancelled:
		err = ofContext(ctx)
	}
	return *result, err
}

// Generate gives the text that follows a prompt, by the tokenizer of options, or the model's.
func (g *Generator) Generate(ctx context.Context, of *Tokenizer, prompt string, options WriteOptions) (string, error) {
	ids, err := of.Encode(prompt)
	if err != nil {
		return "", err
	}
	if err = g.Start(ids); err != nil {
		return "", err
	}
	var text []byte
	on := options.OnText
	options.Tokenizer = of
	options.OnText = func(piece []byte, token int32) error {
		text = append(text, piece...)
		if on != nil {
			return on(piece, token)
		}
		return nil
	}
	_, err = g.Write(ctx, nil, options)
	return string(text), err
}

// output is where pieces go. What its functions throw does not pass through C: the call throws it again.
type output struct {
	to     io.Writer
	on     func([]byte, int32) error
	err    error
	thrown any
}

func (o *output) piece(text []byte, token int32) (stop bool) {
	defer func() {
		if thrown := recover(); thrown != nil {
			o.thrown, stop = thrown, true
		}
	}()
	if o.to != nil && len(text) > 0 {
		_, o.err = o.to.Write(text)
	}
	if o.err == nil && o.on != nil {
		o.err = o.on(text, token)
	}
	return o.err != nil
}

// watched runs a call with a volta_cancel that the end of ctx requests; nil where ctx has none.
func watched(ctx context.Context, call func(cancel *sys.Cancel) error) error {
	if ctx == nil || ctx.Done() == nil {
		return call(nil)
	}
	cancel := (*sys.Cancel)(sys.Malloc(unsafe.Sizeof(sys.Cancel{})))
	over, watcher := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watcher)
		select {
		case <-ctx.Done():
			sys.CancelRequest(cancel)
		case <-over:
		}
	}()
	defer func() {
		close(over)
		<-watcher
		sys.Free(unsafe.Pointer(cancel))
	}()
	return call(cancel)
}
