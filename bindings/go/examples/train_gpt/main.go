// The whole life cycle of a small GPT: define, train, save, load in a fresh context, generate.
//
//	train_gpt TEXT OUT.volta [STEPS]
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"

	"volta"
)

func train(ctx context.Context, text, path string, steps int) error {
	engine, err := volta.NewContext(nil) // all cores, the best instruction set
	if err != nil {
		return err
	}
	defer engine.Close()
	tokenizer, err := volta.NewCharTokenizer(engine, text)
	if err != nil {
		return err
	}
	sizes := volta.GptOptions{Vocabulary: int64(tokenizer.Size()), Layers: 2, Dim: 64, Heads: 4, Context: 32}
	model, err := volta.NewGpt(engine, sizes, 1)
	if err != nil {
		return err
	}
	if err = model.SetTokenizer(tokenizer); err != nil {
		return err
	}
	trainer, err := volta.NewTrainer(model, volta.TrainerOptions{
		InputShapes:  [][]int64{{8, 32}}, // 8 sequences of 32 tokens
		Steps:        uint64(steps),
		Schedule:     volta.ScheduleCosine,
		LearningRate: 3e-3,
		WeightDecay:  0.1,
		ClipNorm:     1.0,
		Seed:         1,
	})
	if err != nil {
		return err
	}
	tokens, err := tokenizer.Encode(text)
	if err != nil {
		return err
	}
	if err = trainer.SetTokens(tokens); err != nil {
		return err
	}
	_, err = trainer.Run(ctx, steps, func(report volta.StepReport) error {
		if report.Step%50 == 1 {
			fmt.Fprintf(os.Stderr, "step %d loss %.4f\n", report.Step, report.Loss)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err = trainer.Save(path); err != nil { // the model and everything to go on from here
		return err
	}
	hash, err := trainer.Hash()
	fmt.Println("hash", hash)
	return err
}

func generate(ctx context.Context, path, prompt string) error {
	engine, err := volta.NewContext(nil)
	if err != nil {
		return err
	}
	defer engine.Close()
	model, err := volta.OpenModel(engine, path, volta.OpenOptions{}) // mapped: opens in milliseconds
	if err != nil {
		return err
	}
	tokenizer, err := model.Tokenizer()
	if err != nil {
		return err
	}
	ids, err := tokenizer.Encode(prompt)
	if err != nil {
		return err
	}
	generator, err := volta.NewGenerator(model, volta.GeneratorOptions{Temperature: 0.8, Seed: 1})
	if err != nil {
		return err
	}
	if err = generator.Start(ids); err != nil {
		return err
	}
	fmt.Print(prompt)
	_, err = generator.Write(ctx, os.Stdout, volta.WriteOptions{}) // until the context is full
	fmt.Println()
	return err
}

func main() {
	if len(os.Args) != 3 && len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: train_gpt TEXT OUT.volta [STEPS]")
		os.Exit(2)
	}
	steps := 200
	if len(os.Args) == 4 {
		steps, _ = strconv.Atoi(os.Args[3])
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) // Ctrl-C ends it between two steps or tokens
	defer stop()
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = train(ctx, string(text), os.Args[2], steps)
	}
	if err == nil {
		err = generate(ctx, os.Args[2], string([]rune(string(text))[:4]))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "train_gpt:", err)
		os.Exit(1)
	}
}
