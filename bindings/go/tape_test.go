package volta

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A perceptron of 4 inputs and 3 classes, and its data.
type trainee struct {
	context    *Context
	x, targets *Tensor
	parameters []*Tensor
}

func newTrainee(t *testing.T) *trainee {
	p := &trainee{context: newContext(t, &ContextOptions{ThreadCount: 2})}
	p.x, p.targets = must(NewTensor(p.context, F32, 8, 4)), must(NewTensor(p.context, I32, 8))
	for stream, shape := range [][]int64{{4, 16}, {16}, {16, 3}, {3}} {
		parameter := must(NewTensor(p.context, F32, shape...))
		done(parameter.Random(&Init{Kind: InitNormal, A: 0.3}, 7, uint32(stream)))
		done(parameter.RequireGrad(true))
		p.parameters = append(p.parameters, parameter)
	}
	p.fill(0)
	return p
}

func (p *trainee) fill(step int) {
	x, targets := make([]float32, 8*4), make([]int32, 8)
	for i := range x {
		x[i] = float32((i*7+step)%13) / 13
	}
	for i := range targets {
		targets[i] = int32(3 * x[4*i])
	}
	done(Set(p.x, x))
	done(Set(p.targets, targets))
}

func (p *trainee) logits(tape *Tape, x *Tensor) *Tensor {
	h := tape.Call("tanh", tape.Call("add", tape.Call("matmul", x, p.parameters[0]), p.parameters[1]))
	return tape.Call("add", tape.Call("matmul", h, p.parameters[2]), p.parameters[3])
}

func (p *trainee) loss(tape *Tape) *Tensor {
	return tape.Call("mean", tape.Call("cross_entropy", p.logits(tape, p.x), p.targets))
}

func modes(t *testing.T, test func(t *testing.T, p *trainee, tape *Tape)) {
	for name, mode := range map[string]TapeMode{"eager": TapeEager, "lazy": TapeLazy} {
		t.Run(name, func(t *testing.T) {
			p := newTrainee(t)
			test(t, p, must(NewTape(p.context, TapeOptions{Mode: mode})))
		})
	}
}

func TestTrainingOnATape(t *testing.T) {
	bits := map[string]bool{}
	modes(t, func(t *testing.T, p *trainee, tape *Tape) {
		optimizer := must(NewOptimizer(tape, OptimizerOptions{LearningRate: 0.02, ClipNorm: 1}, p.parameters...))
		var losses []float32
		for step := 0; step < 60; step++ {
			p.fill(step)
			done(optimizer.ZeroGrad())
			done(tape.Backward(p.loss(tape)))
			report := must(tape.Step(optimizer))
			if report.Step != uint64(step+1) {
				t.Fatalf("step %d is reported as %d", step+1, report.Step)
			}
			losses = append(losses, report.Loss)
			done(tape.Reset())
		}
		if losses[59] >= losses[0] {
			t.Errorf("the loss goes from %g to %g", losses[0], losses[59])
		}
		text := fmt.Sprint(losses)
		for _, parameter := range p.parameters {
			text += fmt.Sprint(must(Get[float32](parameter)))
		}
		bits[text] = true
		info := must(tape.Info())
		if info.Records != 60 || info.Traces != 1 {
			t.Errorf("%+v", info)
		}
	})
	if len(bits) != 1 {
		t.Error("the modes have other bits")
	}
}

// shown is a path as the library's sentences have it: the last part of a long one.
func shown(path string) string {
	if len(path) > 80 {
		return path[len(path)-80:]
	}
	return path
}

func TestTapeFailuresHaveTheirPlace(t *testing.T) {
	modes(t, func(t *testing.T, p *trainee, tape *Tape) {
		_, file, line, _ := runtime.Caller(0)
		wrong := tape.Call("matmul", p.x, p.parameters[2])
		after, err := tape.Apply("tanh", nil, wrong)
		sentence := fmt.Sprintf("matmul: inner extents differ: [8, 4] x [16, 3] (%s:%d)", shown(file), line+1)
		_, got := Get[float32](after)
		for i, err := range []error{err, got, tape.Err(), tape.Backward(after), tape.Flush()} {
			if !errors.Is(err, ErrShapeMismatch) || err.Error() != sentence {
				t.Errorf("%d: %v, not %s", i, err, sentence)
			}
		}
		done(tape.Reset())
		done(tape.Err())

		// A result of a record that has ended, whose place another one has now.
		before := p.loss(tape)
		done(tape.Reset())
		now := p.loss(tape)
		must(now.Item())
		if _, err = before.Item(); !errors.Is(err, ErrInvalidState) || !strings.Contains(err.Error(), "record that has ended") {
			t.Errorf("a result that is gone: %v", err)
		}
		_, file, line, _ = runtime.Caller(0)
		_, err = tape.Apply("neg", nil, before)
		if !errors.Is(err, ErrInvalidState) || !strings.HasPrefix(err.Error(), "neg: input 0: ") || !strings.HasSuffix(err.Error(), fmt.Sprintf("(%s:%d)", file, line+1)) {
			t.Errorf("an operand that is gone: %v", err)
		}
		if later := tape.Err(); later == nil || later.Error() != err.Error() {
			t.Errorf("the first failure is %v", later)
		}
		done(tape.Reset())

		_, file, line, _ = runtime.Caller(0)
		_, err = tape.Apply("softmax", []Attribute{{Name: "colour", Number: 1}}, p.x)
		if !errors.Is(err, ErrInvalidArgument) || !strings.HasSuffix(err.Error(), fmt.Sprintf("(%s:%d)", shown(file), line+1)) {
			t.Errorf("an unknown attribute: %v", err)
		}
		done(tape.Reset())
		foreign := must(NewTensor(newContext(t, nil), F32, 8, 4))
		if _, err = tape.Apply("neg", nil, foreign); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("a tensor of another context: %v", err)
		}
		done(tape.Reset())
		done(tape.Close())
		if _, err = now.Item(); !errors.Is(err, ErrInvalidState) {
			t.Errorf("a result of a closed tape: %v", err)
		}
	})
}

func TestKeptResultsAndGradients(t *testing.T) {
	modes(t, func(t *testing.T, p *trainee, tape *Tape) {
		loss := p.loss(tape)
		value := must(loss.Item())
		if must(p.parameters[3].Grad()) != nil {
			t.Error("a gradient without backward")
		}
		done(tape.Backward(loss))
		first := must(p.parameters[3].Grad())
		kept, dropped := tape.Call("mul", loss, loss), tape.Call("neg", loss)
		done(kept.Keep())
		done(dropped.Keep())
		done(dropped.Close())
		done(loss.Close()) // without effect
		must(loss.Item())
		done(tape.Reset())
		if _, err := dropped.Item(); !errors.Is(err, ErrInvalidState) || !strings.HasPrefix(err.Error(), "the tensor is a result of a record that has ended") {
			t.Errorf("kept, then closed: %v", err)
		}

		done(tape.Backward(p.loss(tape)))
		done(tape.Reset())
		for i, twice := range must(p.parameters[3].Grad()) {
			if twice != first[i]+first[i] {
				t.Errorf("gradient %d is %g after a second backward, it was %g", i, twice, first[i])
			}
		}
		done(p.parameters[3].ZeroGrad())
		if must(p.parameters[3].Grad()) != nil {
			t.Error("the gradient was not zeroed")
		}

		// Nothing goes back through what is detached, or made while gradients are off.
		detached := tape.Call("mean", tape.Detach(p.logits(tape, p.x)))
		if err := tape.Backward(detached); !errors.Is(err, ErrInvalidState) {
			t.Errorf("through what is detached: %v", err)
		}
		done(tape.Reset())
		done(tape.SetGradients(false))
		loss = p.loss(tape)
		done(tape.SetGradients(true))
		done(tape.Flush())
		if again := must(loss.Item()); again != value {
			t.Errorf("%g is not %g", again, value)
		}
		if err := tape.Backward(loss); !errors.Is(err, ErrInvalidState) {
			t.Errorf("with gradients off: %v", err)
		}
		done(tape.Close())
		if square := must(kept.Item()); float32(square) != float32(value)*float32(value) {
			t.Errorf("kept: %g of %g", square, value)
		}
		done(kept.Close())
		if _, err := kept.Item(); err == nil || err.Error() != "the tensor was closed" {
			t.Errorf("a kept tensor that was closed: %v", err)
		}
	})
}

// What nobody uses any more is found by the collector, kept results of a record that has not ended too.
func TestTapesAreCollected(t *testing.T) {
	c := newContext(t, nil)
	before := must(c.Info()).TensorBytes
	var kept *Tensor
	for i := 0; i < 20; i++ {
		tape := must(NewTape(c, TapeOptions{}))
		kept = tape.Call("exp", must(NewTensor(c, F32, 8, 4)))
		done(kept.Keep())
	}
	runtime.GC()
	if text := must(kept.Text()); !strings.HasPrefix(text, "[[") {
		t.Errorf("it was taken for garbage: %s", text)
	}
	kept = nil
	for i := 0; i < 50 && must(c.Info()).TensorBytes > before; i++ {
		runtime.GC()
		runtime.Gosched()
	}
	if now := must(c.Info()).TensorBytes; now > before {
		t.Errorf("%d bytes, before %d", now, before)
	}
}

func TestManyResultsAndReports(t *testing.T) {
	p := newTrainee(t)
	tape := must(NewTape(p.context, TapeOptions{Mode: TapeLazy}))
	parts, err := tape.ApplyMany("rms_norm", []Attribute{{Name: "epsilon", Number: 1e-6}}, 2, p.x, must(TensorOf(p.context, []float32{1, 2, 3, 4}, 4)))
	if err != nil {
		t.Fatal(err)
	}
	if shapes := fmt.Sprint(parts[0].Shape(), parts[1].Shape()); shapes != "[8 4] [8]" {
		t.Errorf("parts of %s", shapes)
	}
	must(Get[float32](parts[1]))
	if report := must(tape.Report(false)); !strings.Contains(report, "VG002") {
		t.Errorf("%q", report)
	}
	if report := must(tape.Report(false)); !strings.Contains(report, "tape_test.go:") {
		t.Error(report)
	}
	if report := must(tape.Report(true)); !strings.HasPrefix(report, "{") {
		t.Errorf("%q", report)
	}
}

// What an update has made impossible is refused, not computed wrongly.
func TestResultsFromBeforeAnUpdate(t *testing.T) {
	p := newTrainee(t)
	tape := must(NewTape(p.context, TapeOptions{Mode: TapeLazy}))
	optimizer := must(NewOptimizer(tape, OptimizerOptions{}, p.parameters...))
	if _, err := tape.Step(optimizer); !errors.Is(err, ErrInvalidState) {
		t.Errorf("a step without gradients: %v", err)
	}
	early := p.logits(tape, p.x)
	loss := tape.Call("mean", tape.Call("cross_entropy", early, p.targets))
	done(tape.Backward(loss))
	must(tape.Step(optimizer))
	must(loss.Item())
	if _, err := Get[float32](early); !errors.Is(err, ErrInvalidState) || !strings.Contains(err.Error(), "was not computed before a step") {
		t.Errorf("logits of the parameters before: %v", err)
	}
}

func TestCapturedModels(t *testing.T) {
	p := newTrainee(t)
	tape := must(NewTape(p.context, TapeOptions{Mode: TapeLazy}))
	y := p.logits(tape, p.x)
	want := fmt.Sprint(must(Get[float32](y)))
	if _, err := tape.Capture([]*Tensor{y}, CaptureOptions{OutputNames: []string{"a", "b"}}); !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("two names of one output: %v", err)
	}
	model := must(tape.Capture([]*Tensor{y}, CaptureOptions{Tensors: []NamedTensor{{"pixels", p.x}, {"bias", p.parameters[3]}},
		OutputNames: []string{"classes"}, OpenBatch: true}))
	path := filepath.Join(t.TempDir(), "captured.volta")
	done(model.Save(path))
	read := must(OpenModel(p.context, path, OpenOptions{}))
	if inputs := must(read.Inputs()); len(inputs) != 1 || inputs[0].Name != "pixels" || inputs[0].Shape[0] != -1 {
		t.Errorf("%+v", inputs)
	}
	session := must(NewSession(read, SessionOptions{InputShapes: [][]int64{{8, 4}}}))
	result := must(NewTensor(p.context, F32, 8, 3))
	done(session.Run([]*Tensor{p.x}, []*Tensor{result}))
	if got := fmt.Sprint(must(Get[float32](result))); got != want {
		t.Errorf("%s is not %s", got, want)
	}
}

func TestCompiledFunctions(t *testing.T) {
	p := newTrainee(t)
	long := false
	var compiled *Compiled
	compiled = must(Compile(p.context, 1, func(tape *Tape, inputs []*Tensor) ([]*Tensor, error) {
		y := p.logits(tape, inputs[0])
		if long {
			y = tape.Call("neg", y)
		}
		return []*Tensor{y}, nil
	}, CompileOptions{}))
	eager := must(NewTape(p.context, TapeOptions{}))
	var before *Tensor
	for call := 0; call < 6; call++ {
		long = call%2 == 1
		y := must(compiled.Call(p.x))[0]
		got := fmt.Sprint(must(Get[float32](y)))
		if call == 3 {
			done(compiled.Tape().Reset()) // the eager tape may have the tensors
			want := fmt.Sprint(must(Get[float32](eager.Call("neg", p.logits(eager, p.x)))))
			if done(eager.Reset()); got != want {
				t.Errorf("%s is not %s", got, want)
			}
		}
		if before != nil {
			if _, err := Get[float32](before); !errors.Is(err, ErrInvalidState) {
				t.Errorf("an output of the call before: %v", err)
			}
		}
		before = y
	}
	if info := must(compiled.Tape().Info()); info.Segments != 6 || info.PlansMade != 2 {
		t.Errorf("%+v", info)
	}
	done(compiled.Tape().Close()) // without effect
	done(compiled.Tape().Backward(compiled.Tape().Call("mean", before)))
	if must(p.parameters[0].Grad()) == nil {
		t.Error("no gradient of a compiled function")
	}
	done(compiled.Close())
	if _, err := compiled.Tape().Info(); !errors.Is(err, ErrInvalidArgument) || err.Error() != "the compiled function was closed" {
		t.Errorf("the tape of a closed function: %v", err)
	}
}

func TestWhatAFunctionReports(t *testing.T) {
	p := newTrainee(t)
	ours := errors.New("ours")
	var body Function
	compiled := must(Compile(p.context, 1, func(tape *Tape, inputs []*Tensor) ([]*Tensor, error) { return body(tape, inputs) }, CompileOptions{Flags: TapeOneSegment}))
	call := func(function Function) error { body = function; _, err := compiled.Call(p.x); return err }
	for name, expected := range map[string]struct {
		function Function
		is       func(error) bool
	}{
		"its own": {func(*Tape, []*Tensor) ([]*Tensor, error) { return nil, ours }, func(err error) bool { return err == ours }},
		"too few": {func(*Tape, []*Tensor) ([]*Tensor, error) { return nil, nil },
			func(err error) bool { return err != nil && strings.Contains(err.Error(), "0 outputs, not 1") }},
		"of a call": {func(tape *Tape, inputs []*Tensor) ([]*Tensor, error) {
			return []*Tensor{tape.Call("matmul", inputs[0], inputs[0])}, nil
		}, func(err error) bool {
			return errors.Is(err, ErrShapeMismatch) && strings.Contains(err.Error(), "tape_test.go:")
		}},
		"two pieces": {func(tape *Tape, inputs []*Tensor) ([]*Tensor, error) {
			y := tape.Call("tanh", inputs[0])
			if _, err := Get[float32](y); err != nil {
				return nil, err
			}
			return []*Tensor{tape.Call("neg", y)}, nil
		}, func(err error) bool { return errors.Is(err, ErrInvalidState) && strings.Contains(err.Error(), "VG005") }},
		"itself": {func(tape *Tape, inputs []*Tensor) ([]*Tensor, error) { return compiled.Call(inputs...) },
			func(err error) bool { return errors.Is(err, ErrInvalidState) }},
		"its end": {func(tape *Tape, inputs []*Tensor) ([]*Tensor, error) { return nil, compiled.Close() },
			func(err error) bool { return errors.Is(err, ErrInvalidState) }},
	} {
		if err := call(expected.function); !expected.is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	func() {
		defer func() {
			if recover() != "from the function" {
				t.Error("what a function throws is lost")
			}
		}()
		_ = call(func(*Tape, []*Tensor) ([]*Tensor, error) { panic("from the function") })
	}()
	done(call(func(tape *Tape, inputs []*Tensor) ([]*Tensor, error) {
		return []*Tensor{tape.Call("tanh", inputs[0])}, nil
	}))
}
