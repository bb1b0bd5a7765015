// Fine-tuning: weights of another program are imported, evaluated, trained further on a text, quantized and given back.
//
//	fine_tune WEIGHTS.safetensors TEXT OUT [STEPS]
//
// writes OUT.volta, OUT.int8.volta and OUT.safetensors with OUT.json, which Hugging Face's GPT-2 reads. A config.json lies beside the
// weights, and a tokenizer.json too, unless tokens are bytes.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"

	"volta"
)

// The model of the weights, with a tokenizer.
func imported(ctx context.Context, engine *volta.Context, weights string) (*volta.Model, *volta.Tokenizer, error) {
	model, err := volta.ImportModel(ctx, engine, weights, nil) // architecture and sizes are what config.json says
	if err != nil {
		return nil, nil, err
	}
	tokenizer, err := model.Tokenizer()
	if err == nil && tokenizer == nil {
		if tokenizer, err = volta.NewByteTokenizer(engine); err == nil {
			err = model.SetTokenizer(tokenizer)
		}
	}
	return model, tokenizer, err
}

// Trains: what the tables of tokens and positions hold stays; the rest moves slowly.
func tune(ctx context.Context, model *volta.Model, tokens []int32, steps int) error {
	trainer, err := volta.NewTrainer(model, volta.TrainerOptions{InputShapes: [][]int64{{8, 32}}, Steps: uint64(steps),
		Schedule: volta.ScheduleCosine, WarmupSteps: uint64(steps / 10), LearningRate: 1e-3, ClipNorm: 1, Frozen: []string{"*embedding*"}})
	if err != nil {
		return err
	}
	defer trainer.Close()
	if err = trainer.SetTokens(tokens); err != nil {
		return err
	}
	if _, err = trainer.Run(ctx, steps, nil); err != nil {
		return err
	}
	return trainer.UpdateModel()
}

func run(ctx context.Context, weights, path, out string, steps int) error {
	engine, err := volta.NewContext(nil)
	if err != nil {
		return err
	}
	defer engine.Close()
	model, tokenizer, err := imported(ctx, engine, weights)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	tokens, err := tokenizer.Encode(string(text))
	if err != nil {
		return err
	}
	train := len(tokens) * 9 / 10 // one tenth is kept to say whether it helped
	before, err := model.EvaluateTokens(tokens[train:])
	if err != nil {
		return err
	}
	if err = tune(ctx, model, tokens[:train], steps); err != nil {
		return err
	}
	after, err := model.EvaluateTokens(tokens[train:])
	if err != nil {
		return err
	}
	if err = model.Save(out + ".volta"); err != nil {
		return err
	}
	small, err := model.Quantize(volta.Int8) // a model of its own, a quarter of the size
	if err != nil {
		return err
	}
	quantized, err := small.EvaluateTokens(tokens[train:])
	if err != nil {
		return err
	}
	if err = small.Save(out + ".int8.volta"); err != nil {
		return err
	}
	fmt.Printf("loss on the last tenth: %.4f imported, %.4f fine-tuned, %.4f in int8\n", before, after, quantized)
	names := volta.ExportOptions{Names: volta.NamesHuggingFace, ConfigPath: out + ".json"} // those that the weights came with
	if err = model.ExportSafetensorsWith(out+".safetensors", names); err != nil {
		return err
	}
	hash, err := model.Hash()
	fmt.Println("hash", hash)
	if err == nil && (after >= before || quantized >= before) {
		err = errors.New("it did not help")
	}
	return err
}

func main() {
	if len(os.Args) != 4 && len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: fine_tune WEIGHTS.safetensors TEXT OUT [STEPS]")
		os.Exit(2)
	}
	steps := 100
	if len(os.Args) == 5 {
		steps, _ = strconv.Atoi(os.Args[4])
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1], os.Args[2], os.Args[3], steps); err != nil {
		fmt.Fprintln(os.Stderr, "fine_tune:", err)
		os.Exit(1)
	}
}
