// Package volta defines, trains, saves, resumes, loads and runs small and medium neural networks, with the same bits as from C.
//
//	engine, err := volta.NewContext(nil)
//	model, err := volta.OpenModel(engine, "model.volta", volta.OpenOptions{})
//	generator, err := volta.NewGenerator(model, volta.GeneratorOptions{Temperature: 0.8, Seed: 1})
//	tokenizer, err := model.Tokenizer()
//	ids, err := tokenizer.Encode("Once")
//	err = generator.Start(ids)
//	_, err = generator.Write(ctx, os.Stdout, volta.WriteOptions{})
//
// What was made is ended by Close, or by the collector; objects keep what they need alive, so that they may be closed in any order.
// Any goroutine may use any object: calls on one Context, with everything made from it, wait for each other, as the header's rule
// asks; contexts of their own run in parallel. A failure is an *Error with the library's sentence, which matches ErrIo and so on by
// errors.Is. A context.Context ends writing, training and tuning. Options are the structs of volta.h; what has no method here is in
// package volta/sys, as C has it.
package volta
