package volta

import (
	"context"

	"volta/sys"
)

// TuneReport is volta_tune_report: about one product of the work.
type TuneReport struct {
	Index, Count   uint
	Share          float64
	Done           bool
	HasEpilogue    bool
	Shape          TuneShape
	Batch          int64
	DefaultSeconds float64
	TunedSeconds   float64
	ClassicSeconds float64
	PlansTimed     uint64
	Choice         string
	PackedOnce     bool
	FromMemory     bool
}

// TuneOptions are volta_tune_options.
type TuneOptions struct {
	Shapes   []TuneShape `volta:"-"`
	Session  *Session    `volta:"-"` // all its products
	Trainer  *Trainer    `volta:"-"` // the same
	Runs     uint32
	Warmup   uint32
	Seconds  float64
	Progress func(TuneReport) error `volta:"-"` // its error ends the tuning and is the call's
}

// Tune searches the fastest way through products for this machine. No choice changes a bit of any result. The end of ctx ends it;
// products that were done by then are kept.
func (c *Context) Tune(ctx context.Context, options TuneOptions) error {
	if err := ofContext(ctx); err != nil {
		return err
	}
	var a arena
	defer a.free()
	raw := new(sys.TuneOptions)
	if err := fill(&a, raw, options); err != nil {
		return err
	}
	raw.Shapes, raw.ShapeCount = list(&a, options.Shapes), uint(len(options.Shapes))
	var stopped error
	var thrown any
	raw.Progress, raw.User = sys.OnProgress, sys.Hand(&sys.Receiver{Owner: c.owner.mark, Progress: func(report *sys.TuneReport) (stop bool) {
		defer func() {
			if thrown = recover(); thrown != nil {
				stop = true
			}
		}()
		if stopped = ofContext(ctx); stopped == nil && options.Progress != nil {
			var one TuneReport
			read(&one, *report)
			stopped = options.Progress(one)
		}
		return stopped != nil
	}})
	defer sys.Unhand(raw.User)
	var wrong error
	err := c.change(func(context *sys.Context) Status {
		if options.Session != nil {
			raw.Session, wrong = options.Session.in(c.owner)
		}
		if options.Trainer != nil && wrong == nil {
			raw.Trainer, wrong = options.Trainer.in(c.owner)
		}
		if wrong != nil {
			return OK
		}
		return sys.Tune(context, raw)
	})
	switch {
	case thrown != nil:
		panic(thrown)
	case stopped != nil:
		return stopped
	case wrong != nil:
		return wrong
	}
	return err
}

// ExplainMatmul says why a product is computed as it is; use: ExplainPackedOnce, ExplainFromMemory.
func (c *Context) ExplainMatmul(shape TuneShape, use uint32) (string, error) {
	return asked(func(text *byte, capacity uint, bytes *uint) error {
		return c.change(func(context *sys.Context) Status {
			return sys.ExplainMatmul(context, &shape, use, text, capacity, bytes)
		})
	})
}
