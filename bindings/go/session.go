package volta

import (
	"runtime"

	"volta/sys"
)

// A Session is a model compiled to run.
type Session struct {
	*handle[sys.Session]
	inputs, outputs []*sys.Tensor // of the latest run; under the owner's lock
}

// SessionOptions are volta_session_options.
type SessionOptions struct {
	InputShapes [][]int64 // of all inputs, in the model's order; none where it leaves no extent open
	Flags       uint32    // SessionPackWeights
}

// NewSession compiles a model for these input shapes.
func NewSession(of *Model, options SessionOptions) (*Session, error) {
	var a arena
	defer a.free()
	var raw sys.SessionOptions
	if err := fill(&a, &raw, options); err != nil {
		return nil, err
	}
	session, err := made(of.handle, "session", sys.SessionRelease, func(model *sys.Model, out **sys.Session) Status {
		return sys.SessionCreate(model, &raw, out)
	})
	if err != nil {
		return nil, err
	}
	return &Session{handle: session}, nil
}

// Run runs the graph once, inputs and outputs in the model's order. It allocates nothing.
func (s *Session) Run(inputs, outputs []*Tensor) error {
	entered, err := s.owner.enter(false)
	if err != nil {
		return err
	}
	err = s.run(inputs, outputs)
	if entered {
		s.owner.leave()
	}
	runtime.KeepAlive(s)
	return err
}

func (s *Session) run(inputs, outputs []*Tensor) (err error) {
	if err = s.closed(); err != nil {
		return err
	}
	if s.inputs, err = pointers(s.owner, s.inputs[:0], inputs); err != nil {
		return err
	}
	if s.outputs, err = pointers(s.owner, s.outputs[:0], outputs); err != nil {
		return err
	}
	runtime.LockOSThread()
	status := sys.Run(s.pointer, s.inputs, s.outputs)
	if status != OK {
		err = checked(status, s.owner.library)
	}
	runtime.UnlockOSThread()
	return err
}

// pointers appends those of tensors, which must be of the owner.
func pointers(o *owner, to []*sys.Tensor, tensors []*Tensor) ([]*sys.Tensor, error) {
	for _, tensor := range tensors {
		pointer, err := tensor.in(o)
		if err != nil {
			return to, err
		}
		to = append(to, pointer)
	}
	return to, nil
}

// OutputShape is that of an output for this session's input shapes.
func (s *Session) OutputShape(index int) ([]int64, error) {
	return shaped(s.handle, func(session *sys.Session, shape *int64, rank *int32) Status {
		return sys.SessionOutputShape(session, uint(index), shape, rank)
	})
}

// bill is what a function of the kind (object, bill) says.
func bill[T any](h *handle[T], ask func(*T, *Bill) Status) (Bill, error) {
	bill := sized(Bill{})
	err := h.look(func(pointer *T) Status { return ask(pointer, bill) })
	return *bill, err
}

// Bill is the tensor memory of the plan, in bytes.
func (s *Session) Bill() (Bill, error) { return bill(s.handle, sys.SessionGetBill) }

// Plan is the plan as text: steps, kernels, offsets, bill, hash.
func (s *Session) Plan() (string, error) { return lent(s.handle, sys.SessionPrintPlan) }
