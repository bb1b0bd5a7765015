package volta

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"volta/sys"
)

func perceptron(c *Context) *Model {
	graph := must(NewGraph(c))
	x := must(graph.Input("x", F32, -1, 3))
	y := must(graph.Linear("fc", x, 4))
	y = must(graph.Apply("relu", []Value{y}, 1))[0]
	y = must(graph.Binary("add", y, must(graph.Constant(must(TensorOf(c, []float32{1}))))))
	if shape := must(graph.Shape(y)); len(shape) != 2 || shape[1] != 4 {
		panic(fmt.Sprint(shape))
	}
	done(graph.Output("y", must(graph.Unary("neg", y))))
	if !strings.Contains(graph.String(), "relu") {
		panic(graph.String())
	}
	return must(NewModel(graph, 7))
}

func TestSessionOnArrays(t *testing.T) {
	c := newContext(t, nil)
	model := perceptron(c)
	session := must(NewSession(model, SessionOptions{InputShapes: [][]int64{{2, 3}}, Flags: SessionPackWeights}))
	x, y := must(TensorOf(c, []float32{1, 2, 3, 4, 5, 6}, 2, 3)), must(NewTensor(c, F32, must(session.OutputShape(0))...))
	done(session.Run([]*Tensor{x}, []*Tensor{y}))
	weight, bias := must(model.Parameter("fc.weight")), must(model.Parameter("fc.bias"))
	for row, got := range must(Get[float32](y)) {
		want := float64(bias[row%4])
		for i := 0; i < 3; i++ {
			want += float64(float32(1+row/4*3+i) * weight[i*4+row%4])
		}
		if math.Abs(-(math.Max(want, 0)+1)-float64(got)) > 1e-5 {
			t.Errorf("element %d is %g", row, got)
		}
	}
	lent := must(Lend[float32](x))
	lent[0] = 9
	if must(Get[float32](x))[0] != 9 {
		t.Error("lent elements are not the tensor's")
	}
	if _, err := Get[int32](x); !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("elements of another type: %v", err)
	}
	if err := Set(x, []float32{1}); !errors.Is(err, ErrShapeMismatch) {
		t.Errorf("too few elements: %v", err)
	}
	if err := session.Run([]*Tensor{y}, []*Tensor{x}); !errors.Is(err, ErrShapeMismatch) {
		t.Errorf("the wrong way round: %v", err)
	}
	if bill := must(session.Bill()); bill.Total == 0 || must(session.Plan()) == "" {
		t.Errorf("%+v", bill)
	}
	memory := sys.Malloc(16)
	defer sys.Free(memory)
	wrapped := must(WrapTensor(c, I32, memory, 4))
	defer wrapped.Close()
	done(Set(wrapped, []int32{1, 2, 3, 4}))
	if *(*int32)(memory) != 1 || wrapped.Len() != 4 || wrapped.Dtype() != I32 || len(wrapped.Shape()) != 1 {
		t.Error("a tensor over memory of C")
	}
	if allocations := testing.AllocsPerRun(100, func() { done(session.Run([]*Tensor{x}, []*Tensor{y})) }); allocations > 0 {
		t.Errorf("a run allocates %v times", allocations)
	}
}

func TestTrainingOnArrays(t *testing.T) {
	c := newContext(t, nil)
	trainer := must(NewTrainer(perceptron(c), TrainerOptions{InputShapes: [][]int64{{4, 3}}, Loss: LossMse, Optimizer: Sgd, LearningRate: 0.05}))
	x := must(TensorOf(c, []float32{1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}, 4, 3))
	y := must(TensorOf(c, []float32{-1, -1, -2, -2, -1, -3, -1, -1, -2, -1, -1, -1, -2, -2, -2, -2}, 4, 4))
	before := must(trainer.Step([]*Tensor{x}, y)).Loss
	for i := 0; i < 50; i++ {
		must(trainer.Step([]*Tensor{x}, y))
	}
	if after := must(trainer.Step([]*Tensor{x}, y)).Loss; !(after < before) {
		t.Errorf("the loss goes from %g to %g", before, after)
	}
	if len(must(trainer.Parameter("fc.bias"))) != 4 || len(must(trainer.Gradient("fc.weight"))) != 12 || must(trainer.Bill()).Gradients == 0 {
		t.Error("parameters and gradients")
	}
}

// Any goroutine may use any object: with -race, this is the proof.
func TestManyGoroutines(t *testing.T) {
	c := newContext(t, nil)
	model, tokenizer := smallGpt(c)
	want := must(model.Hash())
	var group sync.WaitGroup
	for worker := 0; worker < 8; worker++ {
		own := worker%2 == 1
		group.Add(1)
		go func() {
			defer group.Done()
			in, of, by := c, model, tokenizer
			if own {
				in = must(NewContext(&ContextOptions{ThreadCount: 1}))
				defer in.Close()
				of, by = smallGpt(in)
			}
			for round := 0; round < 20; round++ {
				ids := must(by.Encode(text[:8]))
				session := must(NewSession(of, SessionOptions{InputShapes: [][]int64{{1, 8}}}))
				logits := must(NewTensor(in, F32, must(session.OutputShape(0))...))
				done(session.Run([]*Tensor{must(TensorOf(in, ids, 1, 8))}, []*Tensor{logits}))
				if _, err := OpenModel(in, "/nowhere", OpenOptions{}); !errors.Is(err, ErrIo) || !strings.Contains(err.Error(), "/nowhere") {
					panic(err) // each has its own sentence
				}
				if must(of.Hash()) != want {
					panic("another hash")
				}
				if round%2 == 0 {
					done(session.Close()) // else the collector's
				}
			}
		}()
	}
	group.Wait()
}

func TestTheCollectorEndsObjects(t *testing.T) {
	c := newContext(t, nil)
	kept := must(NewTensor(c, F32, 1000))
	lent := must(Lend[float32](must(NewTensor(c, F32, 1000))))
	for i := 0; i < 100; i++ {
		must(NewTensor(c, F32, 100000))
	}
	for try := 0; ; try++ {
		runtime.GC()
		runtime.Gosched()
		bytes := must(c.Info()).TensorBytes
		if bytes == 8000 { // what is used, and what lent its elements
			break
		}
		if try == 100 {
			t.Fatalf("%d bytes of tensors are not released", bytes)
		}
	}
	lent[999] = 1
	runtime.KeepAlive(kept)
}

// What the options of this package take is all that C has.
func TestOptionsAreComplete(t *testing.T) {
	ours := regexp.MustCompile(`^(StructSize|Reserved|.*User|.*Count|InputShapes|Data)$`)
	for _, pair := range [][2]any{
		{ContextOptions{}, sys.ContextOptions{}}, {ContextInfo{}, sys.ContextInfo{}}, {DeviceInfo{}, sys.DeviceInfo{}},
		{NetworkOptions{}, sys.NetworkOptions{}}, {ImportOptions{}, sys.ImportOptions{}}, {ExportOptions{}, sys.ExportOptions{}},
		{SessionOptions{}, sys.SessionOptions{}}, {TrainerOptions{}, sys.TrainerOptions{}}, {TuneOptions{}, sys.TuneOptions{}},
		{TuneReport{}, sys.TuneReport{}}, {ProfileOperator{}, sys.ProfileOperator{}}, {ProfileEvent{}, sys.ProfileEvent{}},
		{PlanStep{}, sys.PlanStep{}}, {GroupOptions{}, sys.GroupOptions{}}, {LoaderOptions{}, sys.LoaderOptions{}}, {WriteOptions{}, sys.WriteOptions{}}, {TensorInfo{}, sys.TensorInfo{}},
		{InputShape{}, sys.InputShape{}}, {Attribute{}, sys.Attribute{}},
	} {
		known, raw := reflect.TypeOf(pair[0]), reflect.TypeOf(pair[1])
		for i := 0; i < raw.NumField(); i++ {
			name := raw.Field(i).Name
			if _, has := known.FieldByName(name); !has && !ours.MatchString(name) && name != "Rank" && !(known.Name() == "WriteOptions" && name == "Cancel") {
				t.Errorf("%s has no %s", known.Name(), name)
			}
		}
	}
}

// Every function of the headers is called by this package.
func TestEveryFunctionIsCalled(t *testing.T) {
	printed := string(must(os.ReadFile("sys/sys.go")))
	var source strings.Builder
	for _, path := range must(filepath.Glob("*.go")) {
		if !strings.HasSuffix(path, "_test.go") && path != "names.go" {
			source.Write(must(os.ReadFile(path)))
		}
	}
	functions := regexp.MustCompile(`(?m)^func ([A-Z]\w*)\(`).FindAllStringSubmatch(printed, -1)
	if len(functions) < 140 {
		t.Errorf("%d functions are printed", len(functions))
	}
	standsFor := map[string]string{"SessionRun": "Run"}
	for _, function := range functions {
		if other, has := standsFor[function[1]]; has {
			function[1] = other
		}
		if !regexp.MustCompile(`sys\.` + function[1] + `\b`).MatchString(source.String()) {
			t.Errorf("no method calls sys.%s", function[1])
		}
	}
}

func TestPictures(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"rgb.png", "grey8.png", "rgb_444.jpg"} { // a class each
		done(os.Mkdir(filepath.Join(folder, name), 0o700))
		done(os.WriteFile(filepath.Join(folder, name, name), must(os.ReadFile("../../tests/data/files/"+name)), 0o600))
	}
	dataset := must(OpenDataset(DataFolder, []string{folder}, nil))
	defer dataset.Close()
	info := must(dataset.Info())
	if info.SampleCount == 0 || dataset.ClassName(0) == "" || must(dataset.SampleName(0)) == "" {
		t.Fatalf("%+v", info)
	}
	loader := must(NewLoader(dataset, LoaderOptions{Batch: 2, Damaged: DamagedSkip, Batches: BatchesAll,
		Transform: TransformOptions{Channels: 3, Height: 8, Width: 8, Resize: ResizeExact}}))
	defer loader.Close()
	first := must(loader.Next(nil))
	if len(first.Pixels) != len(first.Labels)*3*8*8 {
		t.Errorf("%d pixels of %d pictures", len(first.Pixels), len(first.Labels))
	}
	done(loader.Seek(0, 0))
	if again := must(loader.Next(nil)); !reflect.DeepEqual(first, again) {
		t.Error("a batch differs when it is loaded again")
	}
	if _, batch, err := loader.Position(); batch != 1 || err != nil {
		t.Errorf("batch %d, %v", batch, err)
	}
	picture := must(dataset.Read(first.Samples[0]))
	values := make([]float32, 3*8*8)
	done(picture.Transform(TransformOptions{Channels: 3, Height: 8, Width: 8, Resize: ResizeExact}, values))
	if !reflect.DeepEqual(values, first.Pixels[:len(values)]) {
		t.Error("a picture by itself is not that of the batch")
	}
	if small := must(must(picture.Resize(4, 5, FilterBox)).Pixels()); small.Height != 4 || small.Width != 5 {
		t.Errorf("%+v", small)
	}
	if _, err := OpenPicture("/nowhere.png", nil); !errors.Is(err, ErrIo) || !strings.Contains(err.Error(), "/nowhere.png") {
		t.Errorf("a picture that is not there: %v", err)
	}
	folder = t.TempDir()
	done(os.WriteFile(filepath.Join(folder, "train.txt"), []byte(text), 0o600))
	if must(TextParts(folder)) != 1 || must(ReadTexts([]string{folder}, nil)) != text {
		t.Error("a folder of texts")
	}
}

func TestHostTensors(t *testing.T) {
	c := newContext(t, nil)
	x, y := must(NewTensor(c, F32, 2, 3)), must(NewTensor(c, F32, 2, 3))
	done(x.Arange(1, 0.5))
	done(y.Fill(2))
	if text := must(x.Text()); text != "[[1.  1.5 2. ]\n [2.5 3.  3.5]]" {
		t.Error(text)
	}
	if report := must(x.Compare(y, 0, 0)); report.IsEqual != 0 || report.Differing != 5 || report.LargestAbsolute != 1.5 {
		t.Errorf("%+v", report)
	}
	done(y.Random(&Init{Kind: InitUniform, A: 0, B: 1}, 7, 0))
	path := filepath.Join(t.TempDir(), "t.npz")
	done(SaveTensors(c, path, NamedTensor{"y", y}, NamedTensor{"x", x}))
	read := must(OpenTensors(c, path))
	if len(read) != 2 || read[0].Name != "x" || read[1].Name != "y" {
		t.Fatalf("%+v", read)
	}
	for i, expected := range []*Tensor{x, y} {
		if must(read[i].Tensor.Compare(expected, 0, 0)).IsEqual != 1 {
			t.Errorf("%s is another", read[i].Name)
		}
	}
	if _, err := OpenTensors(c, path+".npy"); !errors.Is(err, ErrIo) {
		t.Errorf("no file: %v", err)
	}
	if err := SaveTensors(c, path, NamedTensor{"x", must(NewTensor(newContext(t, nil), F32, 1))}); !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("a tensor of another context: %v", err)
	}
}
