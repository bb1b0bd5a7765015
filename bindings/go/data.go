package volta

import (
	"unsafe"

	"volta/sys"
)

// DataVersion is the version of libvolta_data that is loaded.
func DataVersion() string { return sys.GoText(sys.DataVersion()) }

// DatasetOptions are volta_dataset_options; zeros are the defaults.
type DatasetOptions struct {
	Log          func(level LogLevel, line string) `volta:"-"`
	Split        DataSplit
	MaxPixels    uint64
	MaxFileBytes uint64
}

// dataObject makes an object of libvolta_data with an owner of its own: each is used by one goroutine at a time, and any number of
// them at once.
func dataObject[T any](options *DatasetOptions, name string, end func(*T), make func(*sys.DatasetOptions, **T) Status) (*handle[T], error) {
	if options == nil {
		options = &DatasetOptions{}
	}
	var a arena
	defer a.free()
	raw := new(sys.DatasetOptions)
	if err := fill(&a, raw, *options); err != nil {
		return nil, err
	}
	o := newOwner(sys.DataLastError)
	if options.Log != nil {
		user := sys.Hand(&sys.Receiver{Owner: o.mark, Log: options.Log})
		raw.Log, raw.LogUser = sys.OnLog, user
		o.ends = append(o.ends, func() { sys.Unhand(user) })
	}
	return owned(o, name, end, func(out **T) Status { return make(raw, out) })
}

// owned makes the first object of an owner.
func owned[T any](o *owner, name string, end func(*T), make func(**T) Status) (object *handle[T], err error) {
	err = o.call(false, func() Status {
		var out *T
		status := make(&out)
		if out != nil {
			object = hold(o, name, out, end)
		}
		return status
	})
	return object, err
}

// A Dataset is labelled pictures in files.
type Dataset struct {
	*handle[sys.Dataset]
}

// OpenDataset opens a folder, or record files one by one (DataIdx: images, then labels). options nil: the defaults.
func OpenDataset(format DataFormat, paths []string, options *DatasetOptions) (*Dataset, error) {
	if err := whole(paths...); err != nil {
		return nil, err
	}
	var a arena
	defer a.free()
	dataset, err := dataObject(options, "data set", sys.DatasetRelease, func(raw *sys.DatasetOptions, out **sys.Dataset) Status {
		return sys.DatasetOpen(format, a.texts(paths), uint(len(paths)), raw, out)
	})
	if err != nil {
		return nil, err
	}
	return &Dataset{dataset}, nil
}

// Info is how many samples and classes there are, and of what size.
func (d *Dataset) Info() (DatasetInfo, error) {
	info := sized(DatasetInfo{})
	err := d.look(func(dataset *sys.Dataset) Status { return sys.DatasetGetInfo(dataset, info) })
	return *info, err
}

// ClassName is the name of a class; "": there is no such class.
func (d *Dataset) ClassName(index int) (name string) {
	_ = d.look(func(dataset *sys.Dataset) Status {
		name = sys.GoText(sys.DatasetClassName(dataset, uint32(index)))
		return OK
	})
	return name
}

// SampleName says where a sample comes from.
func (d *Dataset) SampleName(index uint64) (string, error) {
	var text [4096]byte
	err := d.look(func(dataset *sys.Dataset) Status {
		return sys.DatasetSampleName(dataset, index, &text[0], uint(len(text)))
	})
	return sys.GoText(&text[0]), err
}

// A Picture is bytes, [channels, height, width].
type Picture struct {
	*handle[sys.Picture]
}

// Read is a sample of the data set, as it is in its file.
func (d *Dataset) Read(index uint64) (*Picture, error) {
	picture, err := made(d.handle, "picture", sys.PictureRelease, func(dataset *sys.Dataset, out **sys.Picture) Status {
		return sys.DatasetRead(dataset, index, out)
	})
	if err != nil {
		return nil, err
	}
	return &Picture{picture}, nil
}

// OpenPicture reads one JPEG or PNG file.
func OpenPicture(path string, options *DatasetOptions) (*Picture, error) {
	if err := whole(path); err != nil {
		return nil, err
	}
	var a arena
	defer a.free()
	picture, err := dataObject(options, "picture", sys.PictureRelease, func(raw *sys.DatasetOptions, out **sys.Picture) Status {
		return sys.PictureOpen(a.name(path), raw, out)
	})
	if err != nil {
		return nil, err
	}
	return &Picture{picture}, nil
}

// Pixels is a copy of a picture's bytes with what they are.
type Pixels struct {
	Bytes                   []byte // [channels, height, width]
	Channels, Height, Width int
	Label                   int // -1: none
}

// Pixels are the picture's bytes.
func (p *Picture) Pixels() (pixels Pixels, err error) {
	raw := sized(sys.PictureInfo{})
	err = p.look(func(picture *sys.Picture) Status {
		status := sys.PictureGetInfo(picture, raw)
		count := int(raw.Channels) * int(raw.Height) * int(raw.Width)
		pixels = Pixels{append([]byte{}, unsafe.Slice(raw.Pixels, count)...), int(raw.Channels), int(raw.Height), int(raw.Width), int(raw.Label)}
		return status
	})
	return pixels, err
}

// Resize gives another size of the picture, with the results of Pillow.
func (p *Picture) Resize(height, width int, filter Filter) (*Picture, error) {
	resized, err := made(p.handle, "picture", sys.PictureRelease, func(picture *sys.Picture, out **sys.Picture) Status {
		return sys.PictureResize(picture, uint32(height), uint32(width), filter, out)
	})
	if err != nil {
		return nil, err
	}
	return &Picture{resized}, nil
}

// Transform gives the picture as a model takes it: values must have room for [channels, height, width].
func (p *Picture) Transform(options TransformOptions, values []float32) error {
	how := sized(options)
	return p.look(func(picture *sys.Picture) Status {
		return sys.PictureTransform(picture, how, first(values), uint(len(values)))
	})
}

// ReadTexts reads files of text, one behind the other, as they are; a folder is its file of options.Split.
func ReadTexts(paths []string, options *DatasetOptions) (string, error) {
	if err := whole(paths...); err != nil {
		return "", err
	}
	var a arena
	defer a.free()
	text, err := dataObject(options, "text", sys.TextRelease, func(raw *sys.DatasetOptions, out **sys.Text) Status {
		return sys.TextOpen(a.texts(paths), uint(len(paths)), raw, out)
	})
	if err != nil {
		return "", err
	}
	defer text.Close()
	var copied string
	info := sized(sys.TextInfo{})
	err = text.look(func(text *sys.Text) Status {
		status := sys.TextGetInfo(text, info)
		copied = string(unsafe.Slice(info.Bytes, int(info.ByteCount)))
		return status
	})
	return copied, err
}

// A Document is a line of JSON to fine-tune on; what it does not have is "", nil or -1.
type Document struct {
	Prompt, Completion string
	Messages           []ChatMessage
	Text, TextPair     string
	LabelName          string
	Label              int32
	Line               uint64
}

// ParseDocuments reads a text of lines of JSON; name is the file that sentences name.
func ParseDocuments(name, text string, options *DatasetOptions) (documents []Document, err error) {
	if err = whole(name); err != nil {
		return nil, err
	}
	var a arena
	defer a.free()
	bytes, length := bytesOf(text)
	parsed, err := dataObject(options, "documents", sys.DocumentsRelease, func(raw *sys.DatasetOptions, out **sys.Documents) Status {
		return sys.DocumentsParse(a.name(name), bytes, length, raw, out)
	})
	if err != nil {
		return nil, err
	}
	defer parsed.Close()
	err = parsed.look(func(of *sys.Documents) Status {
		for index := uint64(0); index < sys.DocumentsCount(of); index++ {
			raw := sized(sys.Document{})
			if status := sys.DocumentsGet(of, index, raw); status != OK {
				return status
			}
			document := Document{Prompt: sys.GoText(raw.Prompt), Completion: sys.GoText(raw.Completion), Text: sys.GoText(raw.Text),
				TextPair: sys.GoText(raw.TextPair), LabelName: sys.GoText(raw.LabelName), Label: raw.Label, Line: raw.Line}
			for _, message := range unsafe.Slice(raw.Messages, int(raw.MessageCount)) {
				document.Messages = append(document.Messages, ChatMessage{sys.GoText(message.Role), sys.GoText(message.Content)})
			}
			documents = append(documents, document)
		}
		return OK
	})
	return documents, err
}

// PackDocuments puts documents of so many tokens side by side, each into the first row that has room for it: which row takes
// which, and where it begins there.
func PackDocuments(lengths []uint64, rowTokens uint64) (rows, places []uint64, count uint64, err error) {
	rows, places = make([]uint64, len(lengths)), make([]uint64, len(lengths))
	if len(lengths) == 0 {
		return rows, places, 0, nil
	}
	err = (&owner{library: sys.DataLastError, live: 1}).call(false, func() Status {
		return sys.DocumentsPack(&lengths[0], uint64(len(lengths)), rowTokens, nil, &rows[0], &places[0], &count)
	})
	return rows, places, count, err
}

// TextParts says which parts a folder of texts has: the sum of 1 << split.
func TextParts(folder string) (parts uint32, err error) {
	if err = whole(folder); err != nil {
		return 0, err
	}
	var a arena
	defer a.free()
	err = (&owner{library: sys.DataLastError, live: 1}).call(false, func() Status {
		return sys.TextParts(a.name(folder), nil, &parts)
	})
	return parts, err
}

// LoaderOptions are volta_loader_options; zeros are the defaults.
type LoaderOptions struct {
	Transform   TransformOptions `volta:"-"`
	Seed        uint64
	SampleLimit uint64
	Batch       uint32
	ThreadCount uint32
	Queue       uint32
	Order       DataOrder
	Batches     DataBatches
	Damaged     DataDamaged
	Flags       uint32
}

// A Loader gives batches, loaded ahead by threads of its own.
type Loader struct {
	*handle[sys.Loader]
	classes int
}

// NewLoader starts loading at epoch 0, batch 0.
func NewLoader(of *Dataset, options LoaderOptions) (*Loader, error) {
	var a arena
	defer a.free()
	raw := new(sys.LoaderOptions)
	if err := fill(&a, raw, options); err != nil {
		return nil, err
	}
	raw.Transform = list(&a, []sys.TransformOptions{*sized(options.Transform)})
	info, err := of.Info()
	if err != nil {
		return nil, err
	}
	var loader *handle[sys.Loader]
	err = of.look(func(dataset *sys.Dataset) Status {
		loader, err = owned(newOwner(sys.DataLastError), "loader", sys.LoaderRelease, func(out **sys.Loader) Status {
			return sys.LoaderCreate(dataset, raw, out)
		})
		return OK
	})
	if err != nil {
		return nil, err
	}
	return &Loader{loader, int(info.ClassCount)}, nil
}

// Batch is a copy of volta_batch.
type Batch struct {
	Pixels                  []float32 // [count, channels, height, width]
	Labels                  []int32   // [count]
	Weights                 []float32 // [count, classes] with mixup; else nil
	Samples                 []uint64  // [count]
	Epoch, Batch            uint64
	BatchesOfEpoch          uint64
	Skipped                 uint64
	Channels, Height, Width int
}

// Next is the next batch; into, where it is not nil, lends its memory.
func (l *Loader) Next(into *Batch) (*Batch, error) {
	if into == nil {
		into = new(Batch)
	}
	raw := sized(sys.Batch{})
	err := l.change(func(loader *sys.Loader) Status {
		status := sys.LoaderNext(loader, raw)
		if status != OK {
			return status
		}
		count := int(raw.Count)
		size := int(raw.Channels) * int(raw.Height) * int(raw.Width)
		into.Pixels = append(into.Pixels[:0], unsafe.Slice(raw.Pixels, count*size)...)
		into.Labels = append(into.Labels[:0], unsafe.Slice(raw.Labels, count)...)
		into.Samples = append(into.Samples[:0], unsafe.Slice(raw.Samples, count)...)
		into.Weights = nil
		if raw.Weights != nil {
			into.Weights = append(into.Weights, unsafe.Slice(raw.Weights, count*l.classes)...)
		}
		into.Epoch, into.Batch, into.BatchesOfEpoch, into.Skipped = raw.Epoch, raw.Batch, raw.BatchesOfEpoch, raw.Skipped
		into.Channels, into.Height, into.Width = int(raw.Channels), int(raw.Height), int(raw.Width)
		return OK
	})
	return into, err
}

// Position is epoch and batch of what Next gives next.
func (l *Loader) Position() (epoch, batch uint64, err error) {
	err = l.look(func(loader *sys.Loader) Status { return sys.LoaderGetPosition(loader, &epoch, &batch) })
	return epoch, batch, err
}

// Seek goes to a batch of an epoch.
func (l *Loader) Seek(epoch, batch uint64) error {
	return l.change(func(loader *sys.Loader) Status { return sys.LoaderSeek(loader, epoch, batch) })
}
