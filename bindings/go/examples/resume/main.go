// Training that is interrupted: half of the steps, a checkpoint, and the rest in another process give the bits of all steps in one. Run it
// twice: the first call ends half-way, the second goes on.
//
//	resume TEXT CHECKPOINT.volta STEPS [END]    END: the step to end at now
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"volta"
)

// A trainer of the checkpoint, which has all of it: moments, seed, step, place in the data, options; else a new one, to be trained half-way.
func trainer(engine *volta.Context, path string, steps int) (of *volta.Trainer, end int, err error) {
	model, err := volta.OpenModel(engine, path, volta.OpenOptions{})
	if err == nil {
		of, err = volta.Resume(model, nil)
		return of, steps, err
	}
	if !errors.Is(err, volta.ErrIo) {
		return nil, 0, err
	}
	sizes := volta.GptOptions{Vocabulary: 256, Layers: 2, Dim: 32, Heads: 2, Context: 32, Dropout: 0.1}
	if model, err = volta.NewGpt(engine, sizes, 1); err != nil {
		return nil, 0, err
	}
	of, err = volta.NewTrainer(model, volta.TrainerOptions{InputShapes: [][]int64{{4, 32}}, Steps: uint64(steps),
		Schedule: volta.ScheduleCosine, Seed: 7})
	return of, steps / 2, err
}

func run(text, path string, steps, chosen int) error {
	bytes, err := os.ReadFile(text)
	if err != nil {
		return err
	}
	tokens := make([]int32, len(bytes))
	for i, one := range bytes { // a token is a byte
		tokens[i] = int32(one)
	}
	engine, err := volta.NewContext(nil)
	if err != nil {
		return err
	}
	defer engine.Close()
	of, end, err := trainer(engine, path, steps)
	if err != nil {
		return err
	}
	if chosen > 0 {
		end = chosen
	}
	if err = of.SetTokens(tokens); err != nil {
		return err
	}
	if _, err = of.Run(context.Background(), end-int(of.CurrentStep()), nil); err != nil {
		return err
	}
	if err = of.Save(path); err != nil {
		return err
	}
	hash, err := of.Hash()
	fmt.Printf("step %d hash %s\n", of.CurrentStep(), hash)
	return err
}

func main() {
	steps, end := 0, 0
	if len(os.Args) == 4 || len(os.Args) == 5 {
		steps, _ = strconv.Atoi(os.Args[3])
	}
	if len(os.Args) == 5 {
		end, _ = strconv.Atoi(os.Args[4])
	}
	if steps < 2 {
		fmt.Fprintln(os.Stderr, "usage: resume TEXT CHECKPOINT.volta STEPS [END]")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], steps, end); err != nil {
		fmt.Fprintln(os.Stderr, "resume:", err)
		os.Exit(1)
	}
}
