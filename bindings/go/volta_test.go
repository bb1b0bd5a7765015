package volta

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const text = "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness"

// must ends the test where a call failed.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func done(err error) {
	if err != nil {
		panic(err)
	}
}

func newContext(t *testing.T, options *ContextOptions) *Context {
	c := must(NewContext(options))
	t.Cleanup(func() { c.Close() })
	return c
}

func smallGpt(c *Context) (*Model, *Tokenizer) {
	tokenizer := must(NewCharTokenizer(c, text))
	model := must(NewGpt(c, GptOptions{Vocabulary: int64(tokenizer.Size()), Layers: 1, Dim: 16, Heads: 2, Context: 64}, 1))
	done(model.SetTokenizer(tokenizer))
	return model, tokenizer
}

func trained(c *Context, steps int) *Trainer {
	model, tokenizer := smallGpt(c)
	trainer := must(NewTrainer(model, TrainerOptions{InputShapes: [][]int64{{4, 16}}, LearningRate: 1e-2, Seed: 3, Frozen: []string{"position_*"}}))
	done(trainer.SetTokens(must(tokenizer.Encode(text))))
	must(trainer.Run(context.Background(), steps, nil))
	return trainer
}

func TestTrainingInLessMemory(t *testing.T) {
	c := newContext(t, nil)
	model, tokenizer := smallGpt(c)
	options := TrainerOptions{InputShapes: [][]int64{{4, 16}}, LearningRate: 1e-2, Seed: 3}
	bill, cost, err := EstimateTraining(model, options, nil)
	done(err)
	var largest uint64
	steps := must(EstimateSteps(model, options))
	for _, step := range steps {
		if step.Alive > largest {
			largest = step.Alive
		}
	}
	if largest != bill.Activations || steps[0].Part != PlanForward || steps[len(steps)-1].Part != PlanUpdate {
		t.Errorf("the largest of %d steps holds %d bytes, of %d", len(steps), largest, bill.Activations)
	}
	hashes := map[string]bool{}
	for _, budget := range []uint64{0, cost.SmallestActivations} {
		options.ActivationBudget = budget
		trainer := must(NewTrainer(model, options))
		done(trainer.SetTokens(must(tokenizer.Encode(text))))
		must(trainer.Run(context.Background(), 3, nil))
		hashes[must(trainer.Hash())] = true
		if found := must(trainer.Bill()); budget == 0 && found.Activations != bill.Activations {
			t.Errorf("the bill is %v, planned %v", found, bill)
		}
		options.StateFolder = t.TempDir()
	}
	if len(hashes) != 1 {
		t.Errorf("not one hash: %v", hashes)
	}
	options.ActivationBudget = 1
	if _, err := NewTrainer(model, options); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("%v", err)
	}
}

func TestOneResult(t *testing.T) {
	hashes := map[string]bool{}
	for _, options := range []ContextOptions{{ThreadCount: 1, Isa: IsaScalar}, {ThreadCount: 2}, {ThreadCount: 3}} {
		hashes[must(trained(newContext(t, &options), 5).Hash())] = true
	}
	if len(hashes) != 1 {
		t.Errorf("not one hash: %v", hashes)
	}
}

func TestResumeIsExact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "half.volta")
	c := newContext(t, nil)
	whole := must(trained(c, 9).Hash())
	half := trained(c, 4)
	done(half.Save(path))

	checkpoint := must(OpenModel(newContext(t, nil), path, OpenOptions{}))
	parts, sharded := filepath.Join(t.TempDir(), "parts"), filepath.Join(t.TempDir(), "sharded")
	done(checkpoint.SaveSharded(3, parts))
	done(half.SaveSharded(sharded))
	for _, folder := range []string{parts, sharded} {
		if hash := must(must(OpenModel(c, folder, OpenOptions{})).Hash()); hash != must(checkpoint.Hash()) {
			t.Errorf("%s has another hash: %s", folder, hash)
		}
	}
	resumed := must(Resume(checkpoint, nil))
	if resumed.CurrentStep() != 4 {
		t.Errorf("it goes on at step %d", resumed.CurrentStep())
	}
	options := must(resumed.Options())
	if fmt.Sprint(options.InputShapes, options.Frozen, options.LearningRate) != "[[4 16]] [position_embedding] 0.01" {
		t.Errorf("options in force: %+v", options)
	}
	tokens := must(must(checkpoint.Tokenizer()).Encode(text))
	done(resumed.SetTokens(tokens))
	must(resumed.Run(context.Background(), 5, nil))
	if hash := must(resumed.Hash()); hash != whole {
		t.Errorf("%s is not %s", hash, whole)
	}
	done(resumed.UpdateModel())
	if hash := must(checkpoint.Hash()); hash != whole {
		t.Errorf("the model has %s, not %s", hash, whole)
	}
}

func TestErrorsMatchTheirStatus(t *testing.T) {
	c := newContext(t, nil)
	_, err := OpenModel(c, "/nowhere/model.volta", OpenOptions{})
	if !errors.Is(err, ErrIo) || errors.Is(err, ErrCorruptModel) || !strings.Contains(err.Error(), "/nowhere/model.volta") {
		t.Errorf("a missing file: %v", err)
	}
	if wrapped := fmt.Errorf("opening: %w", err); StatusOf(wrapped) != IoError || !errors.Is(wrapped, ErrIo) {
		t.Errorf("status of a wrapped error: %d", StatusOf(wrapped))
	}
	path := filepath.Join(t.TempDir(), "not")
	done(os.WriteFile(path, []byte("no model"), 0o600))
	if _, err = OpenModel(c, path, OpenOptions{}); !errors.Is(err, ErrCorruptModel) {
		t.Errorf("a file that is no model: %v", err)
	}
	if _, err = NewContext(&ContextOptions{Device: "toaster"}); !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("an unknown device: %v", err)
	}
	if _, err = OpenModel(c, "a\x00b", OpenOptions{}); !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("a text with a zero byte: %v", err)
	}
	sentinels := []error{nil, ErrInvalidArgument, ErrInvalidState, ErrShapeMismatch, ErrOutOfMemory, ErrIo, ErrCorruptModel, ErrUnsupported,
		ErrDevice, ErrInternal, ErrNotFinite, ErrCancelled}
	for status := InvalidArgument; StatusName(status) != "VOLTA_UNKNOWN"; status++ {
		for other, sentinel := range sentinels {
			if errors.Is(&Error{status, "a sentence"}, sentinel) != (other == int(status)) {
				t.Errorf("status %d against the sentinel of %d", status, other)
			}
		}
	}
}

func TestPairsOfTexts(t *testing.T) {
	ids, segments, err := must(NewByteTokenizer(newContext(t, nil))).EncodePair("ab", "cde", 4)
	if got := fmt.Sprint(ids, segments, err); got != "[97 98 99 100] [0 0 1 1] <nil>" {
		t.Error(got)
	}
}

func TestClosedObjectsSaySo(t *testing.T) {
	c := newContext(t, nil)
	model, tokenizer := smallGpt(c)
	done(model.Close())
	done(model.Close())
	if _, err := model.Hash(); !errors.Is(err, ErrInvalidArgument) || err.Error() != "the model was closed" {
		t.Errorf("a closed model: %v", err)
	}
	done(c.Close()) // what was made from it goes on
	if tokenizer.Size() == 0 {
		t.Error("the tokenizer went with its context")
	}
	other := newContext(t, nil)
	foreign, _ := smallGpt(other)
	if err := foreign.SetTokenizer(tokenizer); !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("a tokenizer of another context: %v", err)
	}
}

func generator(c *Context) (*Generator, *Tokenizer) {
	model, tokenizer := smallGpt(c)
	g := must(NewGenerator(model, GeneratorOptions{Temperature: 0.9, Seed: 5, Sequences: 4}))
	done(g.Start(must(tokenizer.Encode("It was"))))
	return g, tokenizer
}

func TestWriting(t *testing.T) {
	g, tokenizer := generator(newContext(t, nil))
	var out bytes.Buffer
	var tokens []int32
	result := must(g.Write(context.Background(), &out, WriteOptions{MaxTokens: 20, OnText: func(_ []byte, token int32) error {
		tokens = append(tokens, token)
		return nil
	}}))
	if result.Reason != StopMaxTokens || result.TokenCount != 20 || out.String() != must(tokenizer.Decode(tokens)) {
		t.Errorf("%+v %q", result, out.String())
	}
	again, tokenizer := generator(newContext(t, &ContextOptions{ThreadCount: 1}))
	if text := must(again.Generate(context.Background(), tokenizer, "It was", WriteOptions{MaxTokens: 20})); text != out.String() {
		t.Errorf("%q is not %q", text, out.String())
	}
	stop := must(g.Write(nil, nil, WriteOptions{StopTexts: []string{"zz", out.String()[3:4]}, MaxTokens: 30}))
	if stop.Reason != StopText && stop.Reason != StopMaxTokens {
		t.Errorf("%+v", stop)
	}
}

type limited struct{ room int }

func (l *limited) Write(piece []byte) (int, error) {
	if l.room -= len(piece); l.room < 0 {
		return 0, errors.New("full")
	}
	return len(piece), nil
}

func TestWhatEndsWriting(t *testing.T) {
	g, tokenizer := generator(newContext(t, nil))
	if result, err := g.Write(context.Background(), &limited{5}, WriteOptions{}); err == nil || err.Error() != "full" || result.TokenCount == 0 {
		t.Errorf("a writer that is full: %+v %v", result, err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done(g.Start(must(tokenizer.Encode("It"))))
	result, err := g.Write(ctx, nil, WriteOptions{OnText: func([]byte, int32) error { cancel(); time.Sleep(5 * time.Millisecond); return nil }})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, ErrCancelled) || result.Reason != StopCancelled || result.TokenCount == 0 {
		t.Errorf("cancelled: %+v %v", result, err)
	}

	late, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	done(g.Start(must(tokenizer.Encode("It"))))
	_, err = g.Write(late, nil, WriteOptions{OnText: func([]byte, int32) error { time.Sleep(3 * time.Millisecond); return nil }})
	if !errors.Is(err, context.DeadlineExceeded) || StatusOf(err) != Cancelled {
		t.Errorf("late: %v", err)
	}

	done(g.Start(must(tokenizer.Encode("It"))))
	func() {
		defer func() {
			if recover() != "from the callback" {
				t.Error("what a callback throws is lost")
			}
		}()
		g.Write(context.Background(), nil, WriteOptions{OnText: func([]byte, int32) error { panic("from the callback") }})
	}()
	must(g.Next()) // the generator goes on
}

func TestWhatEndsLongCalls(t *testing.T) {
	c := newContext(t, nil)
	model, tokenizer := smallGpt(c)
	tokens := must(tokenizer.Encode(strings.Repeat(text, 2000)))
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	begin := time.Now()
	err := c.Until(ctx, func() error { _, err := model.EvaluateTokens(tokens); return err })
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrCancelled) {
		t.Errorf("an evaluation that is late: %v after %v", err, time.Since(begin))
	}
	must(model.EvaluateTokens(tokens[:100])) // nothing asks it any more
	done(c.Close())
	trainer := trained(newContext(t, nil), 1)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err = trainer.Run(over, 1, nil); !errors.Is(err, context.Canceled) || trainer.CurrentStep() != 1 {
		t.Errorf("%v at step %d", err, trainer.CurrentStep())
	}
}

func TestThreadsOfTheProgram(t *testing.T) {
	want := must(trained(newContext(t, nil), 4).Hash())
	calls := int32(0)
	for _, run := range []func(uint32, func(uint32)){Goroutines, func(count uint32, part func(uint32)) {
		atomic.AddInt32(&calls, 1)
		for i := count; i > 0; i-- { // on one thread, the last first
			part(i - 1)
		}
	}} {
		if hash := must(trained(newContext(t, &ContextOptions{ThreadCount: 3, ParallelFor: run}), 4).Hash()); hash != want {
			t.Errorf("%s is not %s", hash, want)
		}
	}
	if calls == 0 {
		t.Error("no part was run by the program")
	}
	lazy := newContext(t, &ContextOptions{ThreadCount: 3, ParallelFor: func(uint32, func(uint32)) {}})
	if _, err := must(smallTrainer(lazy)).StepTokens(); !errors.Is(err, ErrInvalidState) {
		t.Errorf("parts that nobody runs: %v", err)
	}
}

func smallTrainer(c *Context) (*Trainer, error) {
	model, tokenizer := smallGpt(c)
	trainer, err := NewTrainer(model, TrainerOptions{InputShapes: [][]int64{{16, 64}}, LearningRate: 1e-2, Seed: 3})
	if err == nil {
		err = trainer.SetTokens(must(tokenizer.Encode(strings.Repeat(text, 20))))
	}
	return trainer, err
}

func TestWhatEndsTraining(t *testing.T) {
	trainer := trained(newContext(t, nil), 1)
	ctx, cancel := context.WithCancel(context.Background())
	_, err := trainer.Run(ctx, 100, func(report StepReport) error {
		if report.Step == 3 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, ErrCancelled) || trainer.CurrentStep() != 3 {
		t.Errorf("%v at step %d", err, trainer.CurrentStep())
	}
	enough := errors.New("enough")
	if _, err = trainer.Run(context.Background(), 100, func(StepReport) error { return enough }); err != enough || trainer.CurrentStep() != 4 {
		t.Errorf("%v at step %d", err, trainer.CurrentStep())
	}
	if _, err = ImportModel(ctx, newContext(t, nil), "/nowhere", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("an import whose context is over: %v", err)
	}
}

func TestACallbackLooksAndDoesNotChange(t *testing.T) {
	g, tokenizer := generator(newContext(t, nil))
	sequence := must(g.NewSequence(nil))
	done(sequence.Append(must(tokenizer.Encode("It"))))
	_, err := g.Write(context.Background(), nil, WriteOptions{MaxTokens: 3, Sequence: sequence, Tokenizer: tokenizer, OnText: func(_ []byte, token int32) error {
		if tokens := must(sequence.Tokens()); tokens[len(tokens)-1] != token {
			t.Errorf("%v does not end with %d", tokens, token)
		}
		must(tokenizer.Decode([]int32{token}))
		if _, err := g.Next(); !errors.Is(err, ErrInvalidState) {
			t.Errorf("a call that changes, from a callback: %v", err)
		}
		if err := sequence.Close(); !errors.Is(err, ErrInvalidState) {
			t.Errorf("Close from a callback: %v", err)
		}
		return nil
	}})
	done(err)
	other := must(sequence.Fork(&SamplingOptions{Seed: 9}))
	done(other.Rewind(1))
	if tokens := must(g.Step([]*Sequence{sequence, other})); len(tokens) != 2 || len(must(other.Logits())) != tokenizer.Size() {
		t.Errorf("a step of two: %v", tokens)
	}
}

func TestLog(t *testing.T) {
	var lines []string
	c := newContext(t, &ContextOptions{Level: Fast, Log: func(_ LogLevel, line string) { lines = append(lines, line); panic("has no effect") }})
	if len(lines) == 0 {
		t.Error("the log of a level other than strict is empty")
	}
	if info := must(c.Info()); info.Cpu == "" || info.ThreadCount == 0 || info.Level != Fast {
		t.Errorf("%+v", info)
	}
	if device := must(c.Device()); device.Name != "cpu" {
		t.Errorf("%+v", device)
	}
}
