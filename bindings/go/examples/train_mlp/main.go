// A two-layer classifier defined operator by operator: two interleaved spirals, trained with Adam, saved, loaded, and run in a session.
//
//	train_mlp OUT.volta
package main

import (
	"fmt"
	"math"
	"os"

	"volta"
)

const (
	points = 256
	hidden = 32
	steps  = 400
)

// Point i of class i % 2 on a spiral arm of one and a half turns.
func spirals() (places []float32, classes []int32) {
	for i := 0; i < points; i++ {
		t := float64(i/2) / (points / 2)
		angle := 9.42*t + 3.14159265*float64(i%2)
		places = append(places, float32(t*math.Cos(angle)), float32(t*math.Sin(angle)))
		classes = append(classes, int32(i%2))
	}
	return places, classes
}

func define(engine *volta.Context) (*volta.Model, error) {
	graph, err := volta.NewGraph(engine)
	if err != nil {
		return nil, err
	}
	x, err := graph.Input("points", volta.F32, -1, 2) // any number of points
	for _, layer := range []struct {
		name, activation string
		width            int64
	}{{"hidden1", "tanh", hidden}, {"hidden2", "relu", hidden}, {"head", "", 2}} {
		if err == nil {
			x, err = graph.Linear(layer.name, x, layer.width)
		}
		if err == nil && layer.activation != "" {
			x, err = graph.Unary(layer.activation, x)
		}
	}
	if err == nil {
		err = graph.Output("logits", x)
	}
	if err != nil {
		return nil, err
	}
	return volta.NewModel(graph, 1)
}

func run(path string) (right int, err error) {
	engine, err := volta.NewContext(nil)
	if err != nil {
		return 0, err
	}
	defer engine.Close()
	places, classes := spirals()
	x, err := volta.TensorOf(engine, places, points, 2)
	if err != nil {
		return 0, err
	}
	y, err := volta.TensorOf(engine, classes, points)
	if err != nil {
		return 0, err
	}
	model, err := define(engine)
	if err != nil {
		return 0, err
	}
	shape := [][]int64{{points, 2}}
	trainer, err := volta.NewTrainer(model, volta.TrainerOptions{InputShapes: shape, Loss: volta.LossCrossEntropy,
		Optimizer: volta.Adam, LearningRate: 0.01})
	if err != nil {
		return 0, err
	}
	var report volta.StepReport
	for step := 0; step < steps; step++ {
		if report, err = trainer.Step([]*volta.Tensor{x}, y); err != nil {
			return 0, err
		}
		if step%100 == 0 {
			fmt.Printf("step %d loss %.6f\n", step+1, report.Loss)
		}
	}
	fmt.Printf("step %d loss %.6f\n", steps, report.Loss)
	if err = trainer.Save(path); err != nil {
		return 0, err
	}
	hash, err := trainer.Hash()
	if err != nil {
		return 0, err
	}
	fmt.Println("hash", hash)

	if model, err = volta.OpenModel(engine, path, volta.OpenOptions{}); err != nil {
		return 0, err
	}
	session, err := volta.NewSession(model, volta.SessionOptions{InputShapes: shape})
	if err != nil {
		return 0, err
	}
	scores, err := volta.NewTensor(engine, volta.F32, points, 2)
	if err != nil {
		return 0, err
	}
	if err = session.Run([]*volta.Tensor{x}, []*volta.Tensor{scores}); err != nil {
		return 0, err
	}
	logits, err := volta.Get[float32](scores)
	for i, class := range classes {
		if (logits[2*i+1] > logits[2*i]) == (class == 1) {
			right++
		}
	}
	return right, err
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: train_mlp OUT.volta")
		os.Exit(2)
	}
	right, err := run(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "train_mlp:", err)
		os.Exit(1)
	}
	fmt.Printf("%d of %d points right\n", right, points)
	if right <= points*9/10 {
		os.Exit(1)
	}
}
