package volta

import (
	"fmt"
	"runtime"
	"unsafe"

	"volta/sys"
)

// A Tape applies operators to tensors, one call after the other, with gradients and updates: docs/autograd.md. What is called between two
// resets is a record. Its results belong to the tape and end with the record, unless Keep makes them the program's.
//
// A call that fails gives a tensor that stands for none, and whatever follows in the record reports the first failure, with its place in the
// program: errors need to be looked at once, at Backward, Step or Err.
type Tape struct {
	*handle[sys.Tape]
	record *record
	of     *Compiled // whose tape it is; nil: its own
}

// A record is what package volta knows of a tape's: no pointer of a result is used when the record has ended, since the next one has its own
// results there. It refers to no Tape, so that the collector finds one that nobody uses.
type record struct {
	results []*handle[sys.Tensor]
	failure error // the first; nil: none
}

// end takes over what was kept, and ends the rest. The library has ended its record.
func (r *record) end() {
	for i, result := range r.results {
		r.results[i] = nil
		switch {
		case result.pointer == nil:
		case result.loan.kept:
			lent := result.loan.lent
			result.take(sys.TensorRelease)
			if !lent {
				result.watch()
			}
		default:
			result.away(refused(InvalidState, "the tensor is a result of a record that has ended: mark it with Keep, or read it before"))
		}
	}
	r.results, r.failure = r.results[:0], nil
}

// NewTape makes a tape: TapeEager computes each call before it returns, TapeLazy when a result is read.
func NewTape(in *Context, options TapeOptions) (*Tape, error) {
	record := new(record)
	end := func(tape *sys.Tape) {
		sys.TapeRelease(tape)
		record.end()
	}
	tape, err := made(in.handle, "tape", end, func(context *sys.Context, out **sys.Tape) Status {
		return sys.TapeCreate(context, sized(options), out)
	})
	if err != nil {
		return nil, err
	}
	return &Tape{handle: tape, record: record}, nil
}

// do runs a function on the tape, which may refuse before the library is asked; after a failure of the record it does not run.
func (t *Tape) do(function func(*sys.Tape) (Status, error)) error {
	var wrong error
	err := t.change(func(tape *sys.Tape) Status {
		if wrong = t.record.failure; wrong != nil {
			return OK
		}
		status, err := function(tape)
		wrong = err
		return status
	})
	runtime.KeepAlive(t)
	if err == nil {
		err = wrong
	}
	return err
}

// A place is where the program called from.
type place struct {
	file string
	line int
}

// on says from where the tape's next call comes, for its report and sentences.
func (p place) on(a *arena, tape *sys.Tape) *sys.Tape {
	return sys.TapeAt(tape, a.name(p.file), int32(p.line))
}

// here is the place of whoever calls the caller.
func here() (at place) {
	_, at.file, at.line, _ = runtime.Caller(2)
	return at
}

// operands are the pointers of a call's inputs. Its error says what the library says of results that it still knows.
func (t *Tape) operands(op string, inputs []*Tensor, at place) ([]*sys.Tensor, error) {
	given := make([]*sys.Tensor, len(inputs))
	for i, input := range inputs {
		if input == nil {
			return nil, refused(InvalidArgument, "%s: input %d is nil (%s:%d)", op, i, at.file, at.line)
		}
		pointer, err := input.in(t.owner)
		if err != nil {
			return nil, refused(StatusOf(err), "%s: input %d: %s (%s:%d)", op, i, err, at.file, at.line)
		}
		given[i] = pointer
	}
	return given, nil
}

// apply records one call, whose results the function sets; the first failure stays with the record.
func (t *Tape) apply(op string, attributes []Attribute, inputs []*Tensor, outputs int, at place,
	function func(a *arena, tape *sys.Tape, given, results []*sys.Tensor) Status) ([]*Tensor, error) {
	results, made := make([]*sys.Tensor, outputs), make([]*Tensor, outputs)
	var a arena
	defer a.free()
	err := t.do(func(tape *sys.Tape) (Status, error) {
		if err := whole(named(op, attributes)...); err != nil {
			t.record.failure = err
			return OK, err
		}
		given, err := t.operands(op, inputs, at)
		if err == nil {
			err = checked(function(&a, tape, given, results), t.owner.library)
		}
		if t.record.failure = err; err == nil {
			for i, result := range results {
				made[i] = &Tensor{borrow(t.owner, "tensor", result, sys.TensorRelease), t}
				t.record.results = append(t.record.results, made[i].handle)
			}
		}
		return OK, err
	})
	runtime.KeepAlive(inputs)
	if err != nil {
		for i := range made {
			made[i] = &Tensor{borrow[sys.Tensor](t.owner, "tensor", nil, nil), t}
			made[i].loan.over = err
		}
	}
	return made, err
}

func (t *Tape) applied(op string, attributes []Attribute, inputs []*Tensor, outputs int, at place) ([]*Tensor, error) {
	return t.apply(op, attributes, inputs, outputs, at, func(a *arena, tape *sys.Tape, given, results []*sys.Tensor) Status {
		return sys.TapeApply(tape, a.name(op), first(given), uint(len(given)), a.attributes(attributes), uint(len(attributes)),
			first(results), uint(outputs), a.name(at.file), int32(at.line))
	})
}

// Apply is the first result of an operator, docs/operators.md. The tensor is never nil.
func (t *Tape) Apply(op string, attributes []Attribute, inputs ...*Tensor) (*Tensor, error) {
	results, err := t.applied(op, attributes, inputs, 1, here())
	return results[0], err
}

// ApplyMany is the same for operators of several results; outputs is how many of them are handed out.
func (t *Tape) ApplyMany(op string, attributes []Attribute, outputs int, inputs ...*Tensor) ([]*Tensor, error) {
	if outputs < 0 {
		return nil, refused(InvalidArgument, "%s: %d outputs are asked for", op, outputs)
	}
	return t.applied(op, attributes, inputs, outputs, here())
}

// Call is Apply without attributes, for expressions: Err says later what was wrong.
func (t *Tape) Call(op string, inputs ...*Tensor) *Tensor {
	at := here()
	results, _ := t.apply(op, nil, inputs, 1, at, func(a *arena, tape *sys.Tape, given, results []*sys.Tensor) Status {
		results[0] = sys.TapeCall(tape, a.name(op), first(given), uint(len(given)), nil, 0, a.name(at.file), int32(at.line))
		return sys.TapeStatus(tape)
	})
	return results[0]
}

// Detach is the same elements, through which no gradient goes back. The tensor is never nil.
func (t *Tape) Detach(tensor *Tensor) *Tensor {
	at := here()
	results, _ := t.apply("detach", nil, []*Tensor{tensor}, 1, at, func(a *arena, tape *sys.Tape, given, results []*sys.Tensor) Status {
		results[0] = sys.TapeDetach(at.on(a, tape), given[0])
		return sys.TapeStatus(tape)
	})
	return results[0]
}

// Err is the first failure of the record, nil if there is none.
func (t *Tape) Err() error {
	return t.do(func(tape *sys.Tape) (Status, error) { return sys.TapeStatus(tape), nil })
}

// SetGradients says whether results of later calls get gradients, as they do at first.
func (t *Tape) SetGradients(enabled bool) error {
	return t.change(func(tape *sys.Tape) Status { return sys.TapeSetGradients(tape, yes(enabled)) })
}

func yes(is bool) int32 {
	if is {
		return 1
	}
	return 0
}

// Flush computes all results of the record, and the gradients.
func (t *Tape) Flush() error {
	at := here()
	var a arena
	defer a.free()
	return t.do(func(tape *sys.Tape) (Status, error) { return sys.TapeFlush(at.on(&a, tape)), nil })
}

// Reset ends the record, whatever it reports. Kept results and gradients that nothing has computed are computed first.
func (t *Tape) Reset() error {
	return t.change(func(tape *sys.Tape) Status {
		defer t.record.end()
		return sys.TapeReset(tape)
	})
}

// Backward adds the gradient of loss, a result of one element, to those of the record's tensors that require one.
func (t *Tape) Backward(loss *Tensor) error {
	at := here()
	var a arena
	defer a.free()
	return t.do(func(tape *sys.Tape) (Status, error) {
		given, err := loss.in(t.owner)
		if err != nil {
			return OK, err
		}
		return sys.TapeBackward(at.on(&a, tape), given), nil
	})
}

// Item is the one element of a tensor, computed if need be.
func (t *Tensor) Item() (value float64, err error) {
	at := here()
	var a arena
	defer a.free()
	err = t.change(func(tensor *sys.Tensor) Status {
		if t.tape != nil {
			at.on(&a, t.tape.pointer)
		}
		return sys.TensorItem(tensor, &value)
	})
	runtime.KeepAlive(t)
	return value, err
}

// Keep lets a result outlive its record. It has no effect on other tensors.
func (t *Tensor) Keep() error {
	err := t.change(func(tensor *sys.Tensor) Status {
		status := sys.TensorKeep(tensor)
		if status == OK && t.loan != nil {
			t.loan.kept = true
		}
		return status
	})
	runtime.KeepAlive(t)
	return err
}

// RequireGrad says whether Backward gives the tensor a gradient; it does not at first.
func (t *Tensor) RequireGrad(required bool) error {
	return t.change(func(tensor *sys.Tensor) Status { return sys.TensorSetRequiresGrad(tensor, yes(required)) })
}

// Grad is a copy of the gradient that Backward gave; nil: none since it was zeroed.
func (t *Tensor) Grad() (gradient []float32, err error) {
	err = t.change(func(tensor *sys.Tensor) Status {
		grad := sys.TensorGrad(tensor)
		if grad == nil {
			return OK
		}
		data, count := (*float32)(sys.TensorData(grad)), int(sys.TensorElements(grad))
		if data == nil && count > 0 { // the function gives no status
			return sys.LastStatus()
		}
		gradient = append([]float32{}, unsafe.Slice(data, count)...)
		return OK
	})
	return gradient, err
}

// ZeroGrad lets the next Backward start from nothing.
func (t *Tensor) ZeroGrad() error { return t.change(sys.TensorZeroGrad) }

// A TapeOptimizer updates tensors that require a gradient, with a trainer's rules.
type TapeOptimizer struct {
	*handle[sys.TapeOptimizer]
}

// NewOptimizer makes one of a tape's tensors: volta_optimizer_options, zeros are the defaults.
func NewOptimizer(of *Tape, options OptimizerOptions, tensors ...*Tensor) (*TapeOptimizer, error) {
	var wrong error
	optimizer, err := made(of.handle, "optimizer", sys.TapeOptimizerRelease, func(tape *sys.Tape, out **sys.TapeOptimizer) Status {
		given, err := pointers(of.owner, nil, tensors)
		if wrong = err; err != nil {
			return OK
		}
		return sys.TapeOptimizerCreate(tape, sized(options), first(given), uint(len(given)), out)
	})
	runtime.KeepAlive(tensors)
	if err == nil {
		err = wrong
	}
	if err != nil {
		return nil, err
	}
	return &TapeOptimizer{optimizer}, nil
}

// ZeroGrad is ZeroGrad of all its tensors.
func (o *TapeOptimizer) ZeroGrad() error { return o.change(sys.TapeOptimizerZeroGrad) }

// Step computes what is recorded, with the gradients and the update of the optimizer's tensors that have one, as one plan.
func (t *Tape) Step(optimizer *TapeOptimizer) (StepReport, error) {
	report := sized(StepReport{})
	at := here()
	var a arena
	defer a.free()
	err := t.do(func(tape *sys.Tape) (Status, error) {
		given, err := optimizer.in(t.owner)
		if err != nil {
			return OK, err
		}
		return sys.TapeStep(at.on(&a, tape), given, report), nil
	})
	runtime.KeepAlive(optimizer)
	return *report, err
}

// CaptureOptions are volta_capture_options.
type CaptureOptions struct {
	Tensors     []NamedTensor // that the record reads; others are "p0", "p1", ... if they require a gradient, else "x0", "x1", ...
	OutputNames []string      // one per output; none: "y0", "y1", ...
	OpenBatch   bool          // the first extent of every input is chosen per session
}

// Capture is what outputs, results of the record, compute, as a model. Tensors that require a gradient are its parameters, others its inputs.
func (t *Tape) Capture(outputs []*Tensor, options CaptureOptions) (*Model, error) {
	if len(options.OutputNames) > 0 && len(options.OutputNames) != len(outputs) {
		return nil, refused(InvalidArgument, "%d names are given for %d outputs", len(options.OutputNames), len(outputs))
	}
	names, tensors := make([]string, len(options.Tensors)), make([]*Tensor, len(options.Tensors))
	for i, tensor := range options.Tensors {
		names[i], tensors[i] = tensor.Name, tensor.Tensor
	}
	if err := whole(append(append([]string{}, names...), options.OutputNames...)...); err != nil {
		return nil, err
	}
	var a arena
	defer a.free()
	var model *Model
	err := t.do(func(tape *sys.Tape) (Status, error) {
		given, err := pointers(t.owner, nil, outputs)
		if err != nil {
			return OK, err
		}
		named, err := pointers(t.owner, nil, tensors)
		if err != nil {
			return OK, err
		}
		raw := sized(sys.CaptureOptions{Tensors: list(&a, named), Names: a.texts(names), NameCount: uint(len(names)),
			OutputNames: a.texts(options.OutputNames), OpenBatch: yes(options.OpenBatch)})
		var out *sys.Model
		status := sys.TapeCapture(tape, first(given), uint(len(given)), raw, &out)
		if out != nil {
			model = &Model{hold(t.owner, "model", out, sys.ModelRelease)}
		}
		return status, nil
	})
	runtime.KeepAlive(tensors)
	return model, err
}

// Info is what the tape has recorded, computed and remembered.
func (t *Tape) Info() (TapeInfo, error) {
	info := sized(TapeInfo{})
	err := t.look(func(tape *sys.Tape) Status { return sys.TapeGetInfo(tape, info) })
	return *info, err
}

// Report says when the tape computed, and why, in lines, or as one JSON object; docs/compile.md explains the reasons.
func (t *Tape) Report(json bool) (string, error) {
	return lent(t.handle, func(tape *sys.Tape, text **byte) Status { return sys.TapeReport(tape, yes(json), text) })
}

// A Function is what Compile takes: calls on the tape, from inputs to the outputs that it gives. It may branch and loop as it likes, and
// change objects of its context.
type Function func(tape *Tape, inputs []*Tensor) ([]*Tensor, error)

// A Compiled is a function of tensors whose calls are computed together, with a lazy tape of its own.
type Compiled struct {
	*handle[sys.Compiled]
	function Function
	outputs  int
	tape     *Tape
	receiver *sys.Receiver
	running  bool // under the owner's lock
}

// Compile makes one of a function of so many outputs. The function runs in every call; what it records is computed as one plan, that of
// the last call with the same shapes and path.
func Compile(in *Context, outputs int, function Function, options CompileOptions) (*Compiled, error) {
	if outputs < 1 {
		return nil, refused(InvalidArgument, "a function has at least one output, %d are given", outputs)
	}
	receiver := &sys.Receiver{Owner: in.owner.within} // it refers to no object but in a call
	record, user := new(record), sys.Hand(receiver)
	var tape *handle[sys.Tape]
	end := func(compiled *sys.Compiled) {
		sys.CompiledRelease(compiled)
		record.end()
		tape.away(refused(InvalidArgument, "the compiled function was closed"))
		sys.Unhand(user)
	}
	compiled, err := made(in.handle, "compiled function", end, func(context *sys.Context, out **sys.Compiled) Status {
		status := sys.Compile(context, sys.OnFunction, user, sized(options), out)
		if status == OK {
			tape = borrow[sys.Tape](in.owner, "tape", sys.CompiledTape(*out), nil)
		}
		return status
	})
	if err != nil {
		sys.Unhand(user)
		return nil, err
	}
	c := &Compiled{handle: compiled, function: function, outputs: outputs, receiver: receiver}
	c.tape = &Tape{handle: tape, record: record, of: c}
	return c, nil
}

// Tape is the function's tape: for Backward, Step, Report and Capture after a call. Its Close has no effect.
func (c *Compiled) Tape() *Tape { return c.tape }

// Close releases the function and its tape; it is refused within the function itself.
func (c *Compiled) Close() error {
	var wrong error
	_ = c.change(func(*sys.Compiled) Status {
		if c.running {
			wrong = refused(InvalidState, "a compiled function cannot be closed while it runs")
		}
		return OK
	})
	if wrong != nil {
		return wrong
	}
	return c.handle.Close()
}

// Call runs the function and computes its outputs, which are there until the next call, or kept. The error is the function's if it gives one.
func (c *Compiled) Call(inputs ...*Tensor) (outputs []*Tensor, err error) {
	var wrong error
	var thrown any
	began := false
	err = c.change(func(compiled *sys.Compiled) Status {
		if c.running {
			wrong = refused(InvalidState, "a compiled function cannot call itself")
			return OK
		}
		given, err := pointers(c.owner, nil, inputs)
		if wrong = err; err != nil {
			return OK
		}
		c.receiver.Function = func(to []*sys.Tensor) (status Status) {
			defer func() {
				if thrown = recover(); thrown != nil {
					status = Cancelled
				}
			}()
			began = true
			c.tape.record.end() // the library has ended the one before
			if outputs, wrong = c.body(inputs, to); wrong != nil {
				return Cancelled
			}
			return OK
		}
		c.running = true
		defer func() { c.running, c.receiver.Function = false, nil }()
		results := make([]*sys.Tensor, c.outputs)
		status := sys.CompiledCall(compiled, first(given), uint(len(given)), first(results), uint(len(results)))
		if !began {
			c.tape.record.end()
		}
		return status
	})
	runtime.KeepAlive(inputs)
	switch {
	case thrown != nil:
		panic(thrown)
	case wrong != nil:
		return nil, wrong
	case err != nil:
		return nil, err
	}
	return outputs, nil
}

// body runs the function and writes what it gives.
func (c *Compiled) body(inputs []*Tensor, to []*sys.Tensor) ([]*Tensor, error) {
	outputs, err := c.function(c.tape, inputs)
	if err == nil {
		err = c.tape.Err()
	}
	if err != nil {
		return nil, err
	}
	if len(outputs) != len(to) {
		return nil, fmt.Errorf("volta: the function gave %d outputs, not %d", len(outputs), len(to))
	}
	given, err := pointers(c.owner, nil, outputs)
	copy(to, given)
	return outputs, err
}
