// Pictures in a folder for each class: trains a small convolutional network on its train part, counts what is right of its test part, and
// says what one more picture shows.
//
//	classify_pictures FOLDER PICTURE OUT.volta
package main

import (
	"fmt"
	"os"

	"volta"
)

const (
	batchSize = 16
	side      = 28
	epochs    = 4
)

// The same for training, testing and asking: grey, 28 x 28, about -2 to 2.
var prepared = volta.TransformOptions{Channels: 1, Height: side, Width: side, Resize: volta.ResizeExact,
	Mean: [3]float32{0.5}, Deviation: [3]float32{0.25}}

func train(engine *volta.Context, model *volta.Model, dataset *volta.Dataset, path string) error {
	random := prepared
	random.RandomCrop, random.CropPadding = 1, 2
	loader, err := volta.NewLoader(dataset, volta.LoaderOptions{Transform: random, Batch: batchSize, Order: volta.OrderShuffled,
		Damaged: volta.DamagedSkip, Seed: 1})
	if err != nil {
		return err
	}
	defer loader.Close()
	trainer, err := volta.NewTrainer(model, volta.TrainerOptions{InputShapes: [][]int64{{batchSize, 1, side, side}}, LearningRate: 3e-3})
	if err != nil {
		return err
	}
	defer trainer.Close()
	x, err := volta.NewTensor(engine, volta.F32, batchSize, 1, side, side)
	if err != nil {
		return err
	}
	y, err := volta.NewTensor(engine, volta.I32, batchSize)
	if err != nil {
		return err
	}
	batch := new(volta.Batch)
	for {
		if batch, err = loader.Next(batch); err != nil {
			return err
		}
		if batch.Epoch == epochs {
			break
		}
		if err = volta.Set(x, batch.Pixels); err != nil {
			return err
		}
		if err = volta.Set(y, batch.Labels); err != nil {
			return err
		}
		report, err := trainer.Step([]*volta.Tensor{x}, y)
		if err != nil {
			return err
		}
		if batch.Batch+1 == batch.BatchesOfEpoch {
			fmt.Printf("epoch %d loss %.4f\n", batch.Epoch+1, report.Loss)
		}
	}
	if err = trainer.Save(path); err != nil {
		return err
	}
	hash, err := trainer.Hash()
	fmt.Println("hash", hash)
	if err != nil {
		return err
	}
	return trainer.UpdateModel()
}

// A classifier says which class a picture is of.
type classifier struct {
	session *volta.Session
	x, y    *volta.Tensor
}

func newClassifier(engine *volta.Context, model *volta.Model, classes int64) (c *classifier, err error) {
	c = new(classifier)
	if c.session, err = volta.NewSession(model, volta.SessionOptions{InputShapes: [][]int64{{1, 1, side, side}}}); err != nil {
		return nil, err
	}
	if c.x, err = volta.NewTensor(engine, volta.F32, 1, 1, side, side); err != nil {
		return nil, err
	}
	c.y, err = volta.NewTensor(engine, volta.F32, 1, classes)
	return c, err
}

func (c *classifier) classify(picture *volta.Picture) (best int, err error) {
	pixels := make([]float32, side*side)
	if err = picture.Transform(prepared, pixels); err != nil {
		return 0, err
	}
	if err = volta.Set(c.x, pixels); err != nil {
		return 0, err
	}
	if err = c.session.Run([]*volta.Tensor{c.x}, []*volta.Tensor{c.y}); err != nil {
		return 0, err
	}
	logits, err := volta.Get[float32](c.y)
	for i := range logits {
		if logits[i] > logits[best] {
			best = i
		}
	}
	return best, err
}

func test(c *classifier, dataset *volta.Dataset) (right, count uint64, err error) {
	info, err := dataset.Info()
	for count = 0; err == nil && count < info.SampleCount; count++ {
		picture, err := dataset.Read(count)
		if err != nil {
			return 0, 0, err
		}
		class, err := c.classify(picture)
		if err != nil {
			return 0, 0, err
		}
		shown, err := picture.Pixels()
		if err != nil {
			return 0, 0, err
		}
		if class == shown.Label {
			right++
		}
	}
	return right, count, err
}

func run(folder, shown, path string) error {
	training, err := volta.OpenDataset(volta.DataFolder, []string{folder}, nil)
	if err != nil {
		return err
	}
	defer training.Close()
	kept, err := volta.OpenDataset(volta.DataFolder, []string{folder}, &volta.DatasetOptions{Split: volta.SplitTest})
	if err != nil {
		return err
	}
	defer kept.Close()
	info, err := training.Info()
	if err != nil {
		return err
	}
	engine, err := volta.NewContext(nil)
	if err != nil {
		return err
	}
	defer engine.Close()
	network := volta.NetworkOptions{Name: "cnn", Classes: int64(info.ClassCount), Width: 0.25} // or "resnet18", "mobilenet_v2", ...
	model, err := volta.NewNetwork(engine, network, 1)
	if err != nil {
		return err
	}
	if err = train(engine, model, training, path); err != nil {
		return err
	}
	c, err := newClassifier(engine, model, int64(info.ClassCount))
	if err != nil {
		return err
	}
	right, count, err := test(c, kept)
	if err != nil {
		return err
	}
	fmt.Printf("%d of %d test pictures right\n", right, count)
	picture, err := volta.OpenPicture(shown, nil)
	if err != nil {
		return err
	}
	class, err := c.classify(picture)
	fmt.Printf("%s: %s\n", shown, training.ClassName(class))
	return err
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: classify_pictures FOLDER PICTURE OUT.volta")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "classify_pictures:", err)
		os.Exit(1)
	}
}
