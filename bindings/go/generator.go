package volta

import (
	"unsafe"

	"volta/sys"
)

// A Generator draws tokens from a language model.
type Generator struct {
	*handle[sys.Generator]
}

// NewGenerator makes one: volta_generator_options, zeros are the defaults.
func NewGenerator(of *Model, options GeneratorOptions) (*Generator, error) {
	generator, err := made(of.handle, "generator", sys.GeneratorRelease, func(model *sys.Model, out **sys.Generator) Status {
		return sys.GeneratorCreate(model, sized(options), out)
	})
	if err != nil {
		return nil, err
	}
	return &Generator{generator}, nil
}

// Start begins a sequence with these tokens, in the place of the one that was started before.
func (g *Generator) Start(tokens []int32) error {
	return g.change(func(generator *sys.Generator) Status {
		return sys.GeneratorStart(generator, first(tokens), uint(len(tokens)))
	})
}

// Next draws the next token and appends it.
func (g *Generator) Next() (token int32, err error) {
	err = g.change(func(generator *sys.Generator) Status { return sys.GeneratorNext(generator, &token) })
	return token, err
}

// copied is a copy of the elements that a function of the kind (object, out data, out count) lends.
func copied[T, E any](h *handle[T], ask func(*T, **E, *uint) Status) (elements []E, err error) {
	err = h.look(func(pointer *T) Status {
		var data *E
		var count uint
		status := ask(pointer, &data, &count)
		elements = append([]E{}, unsafe.Slice(data, int(count))...)
		return status
	})
	return elements, err
}

// Logits are those of which the latest token was drawn.
func (g *Generator) Logits() ([]float32, error) { return copied(g.handle, sys.GeneratorLogits) }

// Bill is the tensor memory that the generator holds now, in bytes.
func (g *Generator) Bill() (Bill, error) { return bill(g.handle, sys.GeneratorGetBill) }

// Cost is what computing one token at a position takes at least.
func (g *Generator) Cost(position int64) (TokenCost, error) {
	cost := sized(TokenCost{})
	err := g.look(func(generator *sys.Generator) Status { return sys.GeneratorGetCost(generator, position, cost) })
	return *cost, err
}

// NoCacheReason says why the generator has no cache; "": it has one.
func (g *Generator) NoCacheReason() (reason string) {
	_ = g.look(func(generator *sys.Generator) Status {
		reason = sys.GoText(sys.GeneratorNoCacheReason(generator))
		return OK
	})
	return reason
}

// A Sequence is one text of a generator among others.
type Sequence struct {
	*handle[sys.Sequence]
}

func newSequence[T any](of *handle[T], sampling *SamplingOptions, make func(*T, *sys.SamplingOptions, **sys.Sequence) Status) (*Sequence, error) {
	if sampling != nil {
		sampling = sized(*sampling)
	}
	sequence, err := made(of, "sequence", sys.SequenceRelease, func(pointer *T, out **sys.Sequence) Status {
		return make(pointer, sampling, out)
	})
	if err != nil {
		return nil, err
	}
	return &Sequence{sequence}, nil
}

// NewSequence makes one without tokens. sampling nil: the generator's.
func (g *Generator) NewSequence(sampling *SamplingOptions) (*Sequence, error) {
	return newSequence(g.handle, sampling, sys.SequenceCreate)
}

// Fork gives a new sequence with the same tokens; nothing is computed again. sampling nil: the same.
func (s *Sequence) Fork(sampling *SamplingOptions) (*Sequence, error) {
	return newSequence(s.handle, sampling, func(of *sys.Sequence, how *sys.SamplingOptions, out **sys.Sequence) Status {
		return sys.SequenceFork(of, how, out)
	})
}

// Append adds tokens that follow; the next step computes them.
func (s *Sequence) Append(tokens []int32) error {
	return s.change(func(sequence *sys.Sequence) Status {
		return sys.SequenceAppend(sequence, first(tokens), uint(len(tokens)))
	})
}

// Rewind forgets all but the first tokens.
func (s *Sequence) Rewind(count int) error {
	return s.change(func(sequence *sys.Sequence) Status { return sys.SequenceRewind(sequence, uint(count)) })
}

// Tokens are all of the sequence.
func (s *Sequence) Tokens() ([]int32, error) { return copied(s.handle, sys.SequenceTokens) }

// Logits are those of which its latest token was drawn.
func (s *Sequence) Logits() ([]float32, error) { return copied(s.handle, sys.SequenceLogits) }

// Step draws the next token of each sequence; they share runs of the model.
func (g *Generator) Step(sequences []*Sequence) ([]int32, error) {
	tokens := make([]int32, len(sequences))
	var wrong error
	err := g.change(func(generator *sys.Generator) Status {
		given := make([]*sys.Sequence, len(sequences))
		for i, sequence := range sequences {
			if given[i], wrong = sequence.in(g.owner); wrong != nil {
				return OK
			}
		}
		return sys.GeneratorStep(generator, first(given), uint(len(given)), first(tokens))
	})
	if err == nil {
		err = wrong
	}
	return tokens, err
}
