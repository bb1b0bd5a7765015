package volta

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"volta/sys"
)

// An arena is C's memory for what an options struct points to: no pointer of Go reaches C within one. It is freed when the call
// has returned.
type arena struct{ pieces []unsafe.Pointer }

func (a *arena) free() {
	for _, piece := range a.pieces {
		sys.Free(piece)
	}
}

func (a *arena) memory(bytes uintptr) unsafe.Pointer {
	if bytes == 0 {
		return nil
	}
	memory := sys.Malloc(bytes)
	a.pieces = append(a.pieces, memory)
	return memory
}

// text gives a text ended by a zero; NULL of "".
func (a *arena) text(text string) *byte {
	if text == "" {
		return nil
	}
	return a.name(text)
}

// name gives a text ended by a zero, "" too.
func (a *arena) name(text string) *byte {
	memory := sys.TextOf(text)
	a.pieces = append(a.pieces, unsafe.Pointer(memory))
	return memory
}

// An error for a text that C would take for a shorter one.
func whole(texts ...string) error {
	for _, text := range texts {
		if strings.IndexByte(text, 0) >= 0 {
			return refused(InvalidArgument, "%q has a zero byte", text)
		}
	}
	return nil
}

// list copies elements without pointers; NULL of none.
func list[T any](a *arena, elements []T) *T {
	if len(elements) == 0 {
		return nil
	}
	memory := (*T)(a.memory(uintptr(len(elements)) * unsafe.Sizeof(elements[0])))
	copy(unsafe.Slice(memory, len(elements)), elements)
	return memory
}

func (a *arena) texts(texts []string) **byte {
	pointers := make([]*byte, len(texts))
	for i, text := range texts {
		pointers[i] = a.name(text)
	}
	return list(a, pointers)
}

// fill writes a struct of this package into the struct of C of the same meaning, field by field of the same name: numbers as they
// are, texts and lists into the arena, a list's length into the field that counts it. Structs that are embedded count as theirs.
func fill(a *arena, raw, of any) error {
	to, from := reflect.ValueOf(raw).Elem(), reflect.ValueOf(of)
	if size := to.FieldByName("StructSize"); size.IsValid() {
		size.SetUint(uint64(to.Type().Size()))
	}
	for i := 0; i < from.NumField(); i++ {
		field := from.Type().Field(i)
		target := to.FieldByName(field.Name)
		if !target.IsValid() || field.Tag.Get("volta") == "-" {
			continue // what the caller fills in by hand
		}
		if err := a.field(to, target, field.Name, from.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

func (a *arena) field(to, target reflect.Value, name string, value reflect.Value) error {
	switch given := value.Interface().(type) {
	case string:
		if err := whole(given); err != nil {
			return err
		}
		target.Set(reflect.ValueOf(a.text(given)))
	case []string:
		if err := whole(given...); err != nil {
			return err
		}
		target.Set(reflect.ValueOf(a.texts(given)))
		to.FieldByName(count(name)).SetUint(uint64(len(given)))
	case []int32:
		target.Set(reflect.ValueOf(list(a, given)))
		to.FieldByName(count(name)).SetUint(uint64(len(given)))
	case []float64:
		target.Set(reflect.ValueOf(list(a, given)))
		to.FieldByName(count(name)).SetUint(uint64(len(given)))
	case [][]int64: // shapes, one after the other
		extents := joined(given)
		target.Set(reflect.ValueOf(list(a, extents)))
		to.FieldByName("InputExtentCount").SetUint(uint64(len(extents)))
	case bool:
		if given {
			target.SetInt(1)
		}
	default:
		if target.Type() != value.Type() {
			return fmt.Errorf("volta: field %s of %s is %s in C", name, value.Type(), target.Type())
		}
		target.Set(value)
	}
	return nil
}

// The field that counts a list: Frozen: FrozenCount, StopTokens: StopTokenCount.
func count(name string) string {
	if name == "ClassWeights" || strings.HasPrefix(name, "Stop") {
		name = strings.TrimSuffix(name, "s")
	}
	return name + "Count"
}

func joined(shapes [][]int64) []int64 {
	var extents []int64
	for _, shape := range shapes {
		extents = append(extents, shape...)
	}
	return extents
}

// read writes a struct of C into the struct of this package of the same meaning; texts and lists are copied. ranks: of shapes that
// lie one after the other.
func read(of, raw any, ranks ...int) {
	to, from := reflect.ValueOf(of).Elem(), reflect.ValueOf(raw)
	for i := 0; i < to.NumField(); i++ {
		name, target := to.Type().Field(i).Name, to.Field(i)
		if to.Type().Field(i).Tag.Get("volta") == "-" {
			continue // what the caller fills in by hand
		}
		value := from.FieldByName(name)
		length := func() int { return int(from.FieldByName(count(name)).Uint()) }
		switch target.Interface().(type) {
		case string:
			if text, is := value.Interface().(*byte); is {
				target.SetString(sys.GoText(text))
			} else {
				target.SetString(untilZero(value))
			}
		case []string:
			var texts []string
			for _, text := range unsafe.Slice(value.Interface().(**byte), length()) {
				texts = append(texts, sys.GoText(text))
			}
			target.Set(reflect.ValueOf(texts))
		case []float64:
			target.Set(reflect.ValueOf(append([]float64(nil), unsafe.Slice(value.Interface().(*float64), length())...)))
		case [][]int64:
			extents := append([]int64{}, unsafe.Slice(value.Interface().(*int64), int(from.FieldByName("InputExtentCount").Uint()))...)
			var shapes [][]int64
			for _, rank := range ranks {
				shapes, extents = append(shapes, extents[:rank:rank]), extents[rank:]
			}
			target.Set(reflect.ValueOf(shapes))
		case bool:
			target.SetBool(value.Int() != 0)
		default:
			target.Set(value)
		}
	}
}

func untilZero(array reflect.Value) string {
	var text []byte
	for i := 0; i < array.Len() && array.Index(i).Uint() != 0; i++ {
		text = append(text, byte(array.Index(i).Uint()))
	}
	return string(text)
}

// sized gives a struct of C with its size.
func sized[T any](raw T) *T {
	if size := reflect.ValueOf(&raw).Elem().FieldByName("StructSize"); size.IsValid() {
		size.SetUint(uint64(unsafe.Sizeof(raw)))
	}
	return &raw
}

// asked gives a text of a function of the kind (memory, capacity, out length).
func asked(ask func(text *byte, capacity uint, bytes *uint) error) (string, error) {
	var bytes uint
	if err := ask(nil, 0, &bytes); err != nil {
		return "", err
	}
	text := make([]byte, bytes+1)
	if err := ask(&text[0], bytes+1, &bytes); err != nil {
		return "", err
	}
	return string(text[:bytes]), nil
}
