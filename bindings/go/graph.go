package volta

import (
	"volta/sys"
)

// A Graph is what to compute.
type Graph struct {
	*handle[sys.Graph]
}

// NewGraph makes an empty one.
func NewGraph(in *Context) (*Graph, error) {
	graph, err := made(in.handle, "graph", sys.GraphRelease, sys.GraphCreate)
	if err != nil {
		return nil, err
	}
	return &Graph{graph}, nil
}

// An Attribute of an operator, docs/operators.md: a number, a yes (1) or no (0), or a list.
type Attribute struct {
	Name     string
	Number   float64
	Integers []int64
}

func (g *Graph) value(function func(*arena, *sys.Graph, *Value) Status, texts ...string) (value Value, err error) {
	value.Id = -1
	if err = whole(texts...); err != nil {
		return value, err
	}
	var a arena
	defer a.free()
	err = g.change(func(graph *sys.Graph) Status { return function(&a, graph, &value) })
	return value, err
}

// Input is what every run is given. An extent of -1 is chosen per session.
func (g *Graph) Input(name string, dtype Dtype, shape ...int64) (Value, error) {
	return g.value(func(a *arena, graph *sys.Graph, out *Value) Status {
		return sys.GraphInput(graph, a.name(name), dtype, list(a, shape), int32(len(shape)), out)
	}, name)
}

// Parameter is a trainable tensor; init nil: zeros.
func (g *Graph) Parameter(name string, init *Init, shape ...int64) (Value, error) {
	return g.value(func(a *arena, graph *sys.Graph, out *Value) Status {
		return sys.GraphParameter(graph, a.name(name), list(a, shape), int32(len(shape)), init, out)
	}, name)
}

// Constant is a tensor of fixed values, copied.
func (g *Graph) Constant(tensor *Tensor) (Value, error) {
	var wrong error
	value, err := g.value(func(_ *arena, graph *sys.Graph, out *Value) Status {
		values, err := tensor.in(g.owner)
		if wrong = err; err != nil {
			return OK
		}
		return sys.GraphConstant(graph, values, out)
	})
	if err == nil {
		err = wrong
	}
	return value, err
}

// Apply is the operator of that name; outputs is how many of its results are handed out.
func (g *Graph) Apply(op string, inputs []Value, outputs int, attributes ...Attribute) ([]Value, error) {
	results := make([]Value, outputs)
	_, err := g.value(func(a *arena, graph *sys.Graph, _ *Value) Status {
		return sys.GraphApply(graph, a.name(op), first(inputs), uint(len(inputs)), a.attributes(attributes), uint(len(attributes)),
			first(results), uint(outputs))
	}, named(op, attributes)...)
	return results, err
}

// named gives the texts of a call of an operator.
func named(op string, attributes []Attribute) []string {
	texts := []string{op}
	for _, attribute := range attributes {
		texts = append(texts, attribute.Name)
	}
	return texts
}

func (a *arena) attributes(given []Attribute) *sys.Attribute {
	raw := make([]sys.Attribute, len(given))
	for i, attribute := range given {
		raw[i] = sys.Attribute{Name: a.name(attribute.Name), Number: attribute.Number,
			Integers: list(a, attribute.Integers), IntegerCount: uint(len(attribute.Integers))}
	}
	return list(a, raw)
}

// Unary is the operator of one input, no attribute and one result.
func (g *Graph) Unary(op string, x Value) (Value, error) {
	return g.value(func(a *arena, graph *sys.Graph, out *Value) Status { return sys.GraphUnary(graph, a.name(op), x, out) }, op)
}

// Binary is the same of two inputs.
func (g *Graph) Binary(op string, x, y Value) (Value, error) {
	return g.value(func(a *arena, graph *sys.Graph, out *Value) Status {
		return sys.GraphBinary(graph, a.name(op), x, y, out)
	}, op)
}

// Linear is x W + b with new parameters "<name>.weight" and "<name>.bias".
func (g *Graph) Linear(name string, x Value, features int64) (Value, error) {
	return g.value(func(a *arena, graph *sys.Graph, out *Value) Status {
		return sys.GraphLinear(graph, a.name(name), x, features, out)
	}, name)
}

// Output declares a result, in call order.
func (g *Graph) Output(name string, value Value) error {
	_, err := g.value(func(a *arena, graph *sys.Graph, _ *Value) Status { return sys.GraphOutput(graph, a.name(name), value) }, name)
	return err
}

// Shape is that of a value.
func (g *Graph) Shape(value Value) ([]int64, error) {
	return shaped(g.handle, func(graph *sys.Graph, shape *int64, rank *int32) Status {
		return sys.GraphValueShape(graph, value, shape, rank)
	})
}

// shaped is a shape that a function of the kind (object, shape, out rank) gives.
func shaped[T any](h *handle[T], ask func(*T, *int64, *int32) Status) ([]int64, error) {
	var shape [MaxRank]int64
	var rank int32
	err := h.look(func(pointer *T) Status { return ask(pointer, &shape[0], &rank) })
	return append([]int64{}, shape[:rank]...), err
}

// String is the graph as text, one node a line.
func (g *Graph) String() string {
	text, err := lent(g.handle, sys.GraphPrint)
	if err != nil {
		return err.Error()
	}
	return text
}

// lent is a copy of the text that a function of the kind (object, out text) lends.
func lent[T any](h *handle[T], ask func(*T, **byte) Status) (string, error) {
	var copied string
	err := h.change(func(pointer *T) Status {
		var text *byte
		status := ask(pointer, &text)
		copied = sys.GoText(text)
		return status
	})
	return copied, err
}
