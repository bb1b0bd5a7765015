// What package volta costs over C per run of a tiny model: overhead ROUNDS RUNS. One line of JSON: nanoseconds of each round.
package main

// #cgo pkg-config: volta
// #include "../../../../bench/overhead/loop.h"
import "C"

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"volta"
	"volta/sys"
)

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, "overhead:", err)
		os.Exit(1)
	}
	return value
}

func model(engine *volta.Context) *volta.Model {
	graph := must(volta.NewGraph(engine))
	y := must(graph.Linear("fc", must(graph.Input("x", volta.F32, 1, 4)), 4))
	must(0, graph.Output("y", y))
	return must(volta.NewModel(graph, 1))
}

// A session of C's own, of the model's file: package volta gives no pointers away.
func ofC(path string) (session *sys.Session, x, y *sys.Tensor) {
	runtime.LockOSThread() // a sentence is the thread's
	defer runtime.UnlockOSThread()
	check := func(status sys.Status) {
		if status != sys.OK {
			must(0, fmt.Errorf("%s", sys.GoText(sys.LastError())))
		}
	}
	options := &sys.ContextOptions{StructSize: uint(unsafe.Sizeof(sys.ContextOptions{})), ThreadCount: 1}
	var context *sys.Context
	var model *sys.Model
	check(sys.ContextCreate(options, &context))
	name := sys.TextOf(path)
	check(sys.ModelOpen(context, name, nil, &model))
	check(sys.SessionCreate(model, nil, &session))
	shape := []int64{1, 4}
	check(sys.TensorCreate(context, sys.F32, &shape[0], 2, &x))
	check(sys.TensorCreate(context, sys.F32, &shape[0], 2, &y))
	return session, x, y
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: overhead ROUNDS RUNS")
		os.Exit(2)
	}
	rounds, runs := must(strconv.Atoi(os.Args[1])), must(strconv.Atoi(os.Args[2]))
	engine := must(volta.NewContext(&volta.ContextOptions{ThreadCount: 1}))
	of := model(engine)
	session := must(volta.NewSession(of, volta.SessionOptions{}))
	inputs := []*volta.Tensor{must(volta.NewTensor(engine, volta.F32, 1, 4))}
	outputs := []*volta.Tensor{must(volta.NewTensor(engine, volta.F32, 1, 4))}

	folder := must(os.MkdirTemp("", "volta"))
	path := folder + "/tiny.volta"
	must(0, of.Save(path))
	raw, x, y := ofC(path)
	must(0, os.RemoveAll(folder))

	var c, own []float64
	for round := 0; round < rounds; round++ {
		c = append(c, float64(C.volta_overhead_loop((*C.volta_session)(unsafe.Pointer(raw)), (*C.volta_tensor)(unsafe.Pointer(x)),
			(*C.volta_tensor)(unsafe.Pointer(y)), C.int64_t(runs))))
		begin := time.Now()
		for i := 0; i < runs; i++ {
			if err := session.Run(inputs, outputs); err != nil {
				must(0, err)
			}
		}
		own = append(own, float64(time.Since(begin).Nanoseconds())/float64(runs))
	}
	must(0, json.NewEncoder(os.Stdout).Encode(map[string]any{"language": "Go", "c": c, "own": own}))
}
