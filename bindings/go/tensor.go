package volta

import (
	"runtime"
	"unsafe"

	"volta/sys"
)

// An Element is what a tensor is made of.
type Element interface{ float32 | int32 }

func dtypeOf[E Element]() Dtype {
	var zero E
	if _, is := any(zero).(int32); is {
		return I32
	}
	return F32
}

// A Tensor is a dense array, row-major, in memory of the library.
type Tensor struct {
	*handle[sys.Tensor]
	tape *Tape // whose result it is; nil: of none
}

// NewTensor makes a tensor of zeros: F32 or I32.
func NewTensor(in *Context, dtype Dtype, shape ...int64) (*Tensor, error) {
	extents := append([]int64{}, shape...)
	tensor, err := made(in.handle, "tensor", sys.TensorRelease, func(context *sys.Context, out **sys.Tensor) Status {
		return sys.TensorCreate(context, dtype, first(extents), int32(len(extents)), out)
	})
	if err != nil {
		return nil, err
	}
	return &Tensor{handle: tensor}, nil
}

// TensorOf makes a tensor with a copy of the elements.
func TensorOf[E Element](in *Context, elements []E, shape ...int64) (*Tensor, error) {
	tensor, err := NewTensor(in, dtypeOf[E](), shape...)
	if err != nil {
		return nil, err
	}
	if err = Set(tensor, elements); err != nil {
		_ = tensor.Close()
		return nil, err
	}
	return tensor, nil
}

// WrapTensor makes a tensor over memory of C, aligned to its elements, which must outlive it. Memory of Go would have to be kept by
// C, which Go does not allow.
func WrapTensor(in *Context, dtype Dtype, memory unsafe.Pointer, shape ...int64) (*Tensor, error) {
	extents := append([]int64{}, shape...)
	tensor, err := made(in.handle, "tensor", sys.TensorRelease, func(context *sys.Context, out **sys.Tensor) Status {
		return sys.TensorWrap(context, dtype, first(extents), int32(len(extents)), memory, out)
	})
	if err != nil {
		return nil, err
	}
	return &Tensor{handle: tensor}, nil
}

// first is the address of the first element; nil of none.
func first[T any](elements []T) *T {
	if len(elements) == 0 {
		return nil
	}
	return &elements[0]
}

// Dtype is F32 or I32; 0 of a closed tensor.
func (t *Tensor) Dtype() (dtype Dtype) {
	_ = t.look(func(tensor *sys.Tensor) Status { dtype = sys.TensorDtype(tensor); return OK })
	runtime.KeepAlive(t) // with it the tape whose result it may be
	return dtype
}

// Shape has no extents for a tensor of one element without axes, and for a closed one.
func (t *Tensor) Shape() (shape []int64) {
	_ = t.look(func(tensor *sys.Tensor) Status {
		for axis := int32(0); axis < sys.TensorRank(tensor); axis++ {
			shape = append(shape, sys.TensorExtent(tensor, axis))
		}
		return OK
	})
	runtime.KeepAlive(t)
	return shape
}

// Len is the number of elements.
func (t *Tensor) Len() (count int) {
	_ = t.look(func(tensor *sys.Tensor) Status { count = int(sys.TensorElements(tensor)); return OK })
	runtime.KeepAlive(t)
	return count
}

// elements runs a function on a tensor's elements.
func elements[E Element](t *Tensor, use func([]E) error) error {
	var wrong error
	var at place
	var a arena
	defer a.free()
	if t.tape != nil {
		_, at.file, at.line, _ = runtime.Caller(2)
	}
	err := t.run(t.tape == nil, func(tensor *sys.Tensor) Status { // a result may have to be computed
		if dtype := sys.TensorDtype(tensor); dtype != dtypeOf[E]() {
			wrong = refused(InvalidArgument, "the tensor has elements of dtype %d, not %d", dtype, dtypeOf[E]())
			return OK
		}
		if t.tape != nil {
			at.on(&a, t.tape.pointer)
		}
		data, count := sys.TensorData(tensor), int(sys.TensorElements(tensor))
		if data == nil && count > 0 { // the function gives no status
			return sys.LastStatus()
		}
		wrong = use(unsafe.Slice((*E)(data), count))
		return OK
	})
	runtime.KeepAlive(t)
	if err == nil {
		err = wrong
	}
	return err
}

// Set copies elements into a tensor: all of them.
func Set[E Element](t *Tensor, from []E) error {
	return elements(t, func(to []E) error {
		if len(to) != len(from) {
			return refused(ShapeMismatch, "%d elements are not the %d of the tensor", len(from), len(to))
		}
		copy(to, from)
		return nil
	})
}

// Get copies the elements of a tensor.
func Get[E Element](t *Tensor) (copied []E, err error) {
	err = elements(t, func(from []E) error { copied = append([]E{}, from...); return nil })
	return copied, err
}

// Lend gives the elements themselves, for reading and writing without copies, until Close: the collector does not end a tensor
// that lent its elements. Those of a tape's result, which is not kept, are gone with the record.
func Lend[E Element](t *Tensor) (lent []E, err error) {
	err = elements(t, func(of []E) error {
		if t.loan != nil {
			t.loan.lent = true
		} else {
			runtime.SetFinalizer(t.handle, nil)
		}
		lent = of
		return nil
	})
	return lent, err
}

// Fill sets every element.
func (t *Tensor) Fill(value float64) error {
	return t.change(func(tensor *sys.Tensor) Status { return sys.TensorFill(tensor, value) })
}

// Arange sets element i to start + i * step.
func (t *Tensor) Arange(start, step float64) error {
	return t.change(func(tensor *sys.Tensor) Status { return sys.TensorArange(tensor, start, step) })
}

// Random draws what a parameter of this shape starts with in a model made from the seed; stream is its number in the graph. Init
// nil: zeros.
func (t *Tensor) Random(init *Init, seed uint64, stream uint32) error {
	return t.change(func(tensor *sys.Tensor) Status { return sys.TensorRandom(tensor, init, seed, stream) })
}

// Text is the tensor as NumPy prints an array.
func (t *Tensor) Text() (text string, err error) {
	err = t.change(func(tensor *sys.Tensor) Status {
		var lent *byte
		status := sys.TensorPrint(tensor, &lent)
		text = sys.GoText(lent)
		return status
	})
	runtime.KeepAlive(t)
	return text, err
}

// Compare says how far the tensor is from what is expected, of the same context. Tolerances of 0: by bits.
func (t *Tensor) Compare(expected *Tensor, rtol, atol float64) (Comparison, error) {
	report := sized(Comparison{})
	var wrong error
	err := t.look(func(tensor *sys.Tensor) Status {
		other, err := expected.in(t.owner)
		if wrong = err; err != nil {
			return OK
		}
		return sys.TensorCompare(tensor, other, rtol, atol, report)
	})
	runtime.KeepAlive(expected)
	if err == nil {
		err = wrong
	}
	return *report, err
}

// A NamedTensor is one of a file.
type NamedTensor struct {
	Name   string
	Tensor *Tensor
}

// SaveTensors writes tensors of the context to a file that ends with .safetensors, .npz or, a single one, .npy.
func SaveTensors(in *Context, path string, tensors ...NamedTensor) error {
	names, handles := make([]string, len(tensors)), make([]*Tensor, len(tensors))
	for i, tensor := range tensors {
		names[i], handles[i] = tensor.Name, tensor.Tensor
	}
	if err := whole(append(names, path)...); err != nil {
		return err
	}
	var a arena
	defer a.free()
	var wrong error
	err := in.change(func(context *sys.Context) Status {
		raw, err := pointers(in.owner, nil, handles)
		if wrong = err; err != nil {
			return OK
		}
		return sys.TensorsSave(context, a.name(path), a.texts(names), list(&a, raw), uint(len(raw)))
	})
	runtime.KeepAlive(tensors)
	if err == nil {
		err = wrong
	}
	return err
}

// OpenTensors reads all tensors of such a file, of this library or another program, ascending by name.
func OpenTensors(in *Context, path string) ([]NamedTensor, error) {
	if err := whole(path); err != nil {
		return nil, err
	}
	var a arena
	defer a.free()
	var read []NamedTensor
	err := in.change(func(context *sys.Context) Status {
		var opened *sys.Tensors
		status := sys.TensorsOpen(context, a.name(path), &opened)
		defer sys.TensorsRelease(opened)
		for i := uint(0); i < sys.TensorsCount(opened) && status == OK; i++ {
			var copied *sys.Tensor
			if status = copyOf(context, sys.TensorsTensor(opened, i), &copied); status == OK {
				tensor := &Tensor{handle: hold(in.owner, "tensor", copied, sys.TensorRelease)}
				read = append(read, NamedTensor{sys.GoText(sys.TensorsName(opened, i)), tensor})
			}
		}
		return status
	})
	if err != nil {
		for _, tensor := range read {
			_ = tensor.Tensor.Close()
		}
		return nil, err
	}
	return read, nil
}

// copyOf makes a tensor of its own of one that a file lends.
func copyOf(context *sys.Context, of *sys.Tensor, out **sys.Tensor) Status {
	var extents []int64
	for axis := int32(0); axis < sys.TensorRank(of); axis++ {
		extents = append(extents, sys.TensorExtent(of, axis))
	}
	status := sys.TensorCreate(context, sys.TensorDtype(of), first(extents), int32(len(extents)), out)
	if status == OK {
		const elementBytes = 4
		bytes := elementBytes * int(sys.TensorElements(of))
		copy(unsafe.Slice((*byte)(sys.TensorData(*out)), bytes), unsafe.Slice((*byte)(sys.TensorData(of)), bytes))
	}
	return status
}
