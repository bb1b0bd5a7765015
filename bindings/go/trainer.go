package volta

import (
	"context"

	"volta/sys"
)

// A Trainer is forward, backward, clipping and update as one plan. Its parameters are its own: the model changes when UpdateModel
// is called.
type Trainer struct {
	*handle[sys.Trainer]
	ranks []int // of the model's inputs
	group *Group
}

// TrainerOptions are volta_trainer_options; zeros are the defaults.
type TrainerOptions struct {
	InputShapes        [][]int64 // of one micro-batch, all inputs in the model's order
	Loss               Loss
	Optimizer          Optimizer
	Seed               uint64
	Steps              uint64
	MicroBatches       uint64
	Schedule           Schedule
	WarmupSteps        uint64
	LearningRate       float64
	FinalLearningRate  float64
	Beta1, Beta2       float64
	Epsilon            float64
	WeightDecay        float64
	DecayAllParameters bool
	Momentum           float64
	Nesterov           bool
	ClipNorm           float64
	Nonfinite          NonfinitePolicy
	OutputIndex        int32
	LabelSmoothing     float64
	ClassWeights       []float64
	HuberDelta         float64
	Frozen             []string // names, or patterns with * and ?
	PackedDocuments    bool     // rows hold documents side by side
	ActivationBudget   uint64   // bytes; 0: as many as are fastest
	StateFolder        string   // where moments lie in a file; "": in memory
	UpdateInBackward   bool
	Shards             uint64 // of a batch; a power of two. 0: 1
	Group              *Group `volta:"-"` // of the same context: the ranks that compute the shards; nil: this process
}

// planned calls what plans a trainer that is not made.
func planned(of *Model, options TrainerOptions, plan func(*sys.Model, *sys.TrainerOptions) Status) error {
	var a arena
	defer a.free()
	raw := new(sys.TrainerOptions)
	if err := fill(&a, raw, options); err != nil {
		return err
	}
	var wrong error
	err := of.look(func(model *sys.Model) Status {
		if raw.Group, wrong = options.Group.pointerIn(of.owner); wrong != nil {
			return OK
		}
		return plan(model, raw)
	})
	if wrong != nil {
		err = wrong
	}
	return err
}

// EstimateTraining is what NewTrainer's trainer would need, and what its steps would cost. speed nil: the cost has no seconds.
func EstimateTraining(of *Model, options TrainerOptions, speed *MachineSpeed) (Bill, TrainingCost, error) {
	bill, cost := sized(Bill{}), sized(TrainingCost{})
	err := planned(of, options, func(model *sys.Model, raw *sys.TrainerOptions) Status {
		return sys.TrainerEstimate(model, raw, speed, bill, cost)
	})
	return *bill, *cost, err
}

// A PlanStep is a step of a trainer's plan.
type PlanStep struct {
	Operation string // the operator's name
	Alive     uint64 // bytes of activations that hold something while it runs
	Part      PlanPart
}

// EstimateSteps are the steps of the plan that NewTrainer would make, in their order.
func EstimateSteps(of *Model, options TrainerOptions) ([]PlanStep, error) {
	var steps []PlanStep
	user := sys.Hand(&sys.Receiver{Owner: of.owner.mark, Visit: func(step *sys.PlanStep) {
		steps = append(steps, PlanStep{sys.GoText(step.Operation), step.Alive, step.Part})
	}})
	defer sys.Unhand(user)
	err := planned(of, options, func(model *sys.Model, raw *sys.TrainerOptions) Status {
		return sys.TrainerEstimateSteps(model, raw, sys.OnVisit, user)
	})
	return steps, err
}

func newTrainer(of *Model, options *TrainerOptions, make func(*sys.Model, *sys.TrainerOptions, **sys.Trainer) Status) (*Trainer, error) {
	var a arena
	defer a.free()
	var raw *sys.TrainerOptions
	if options != nil {
		raw = new(sys.TrainerOptions)
		if err := fill(&a, raw, *options); err != nil {
			return nil, err
		}
	}
	inputs, err := of.Inputs()
	if err != nil {
		return nil, err
	}
	t := &Trainer{}
	if options != nil {
		t.group = options.Group
	}
	var wrong error
	var failed failure
	transport := t.group.shared()
	end := func(trainer *sys.Trainer) {
		sys.TrainerRelease(trainer)
		transport.leave()
	}
	t.handle, err = made(of.handle, "trainer", end, func(model *sys.Model, out **sys.Trainer) Status {
		if t.group != nil {
			if raw.Group, wrong = t.group.pointerIn(of.owner); wrong != nil {
				return OK
			}
		}
		status := make(model, raw, out)
		if status == OK {
			transport.join()
		}
		failed = transport.taken()
		return status
	})
	if wrong != nil {
		return nil, wrong
	}
	if err = failed.of(err); err != nil {
		return nil, err
	}
	for _, input := range inputs {
		t.ranks = append(t.ranks, len(input.Shape))
	}
	return t, nil
}

// NewTrainer makes a trainer that begins with the model's parameters.
func NewTrainer(of *Model, options TrainerOptions) (*Trainer, error) {
	return newTrainer(of, &options, sys.TrainerCreate)
}

// Resume goes on where the checkpoint (OpenModel) was written, bit for bit. options nil: those of the checkpoint, with which given
// ones must agree.
func Resume(checkpoint *Model, options *TrainerOptions) (*Trainer, error) {
	return newTrainer(checkpoint, options, sys.TrainerResume)
}

// change is the handle's, with the error of an exchange that it asked for.
func (t *Trainer) change(function func(*sys.Trainer) Status) error {
	var failed failure
	err := t.handle.change(func(trainer *sys.Trainer) Status {
		status := function(trainer)
		failed = t.group.shared().taken()
		return status
	})
	return failed.of(err)
}

// Rows says which rows of a step's batch this process reads, counted along the first extent of the inputs: the others may hold
// anything.
func (t *Trainer) Rows() (first, count uint64, err error) {
	err = t.look(func(trainer *sys.Trainer) Status { return sys.TrainerRows(trainer, &first, &count) })
	return first, count, err
}

// Step is one step: inputs and targets hold all micro-batches one after the other.
func (t *Trainer) Step(inputs []*Tensor, targets *Tensor) (StepReport, error) {
	report := sized(StepReport{})
	var wrong error
	err := t.change(func(trainer *sys.Trainer) Status {
		given, err := pointers(t.owner, nil, append(append([]*Tensor{}, inputs...), targets))
		if wrong = err; err != nil {
			return OK
		}
		return sys.TrainerStep(trainer, first(given), uint(len(inputs)), given[len(inputs)], report)
	})
	if err == nil {
		err = wrong
	}
	return *report, err
}

// SetTokens gives a token stream as data, copied.
func (t *Trainer) SetTokens(tokens []int32) error {
	return t.change(func(trainer *sys.Trainer) Status {
		return sys.TrainerSetTokens(trainer, first(tokens), uint(len(tokens)))
	})
}

// StepTokens is one step on the next batch of the token stream.
func (t *Trainer) StepTokens() (StepReport, error) {
	report := sized(StepReport{})
	err := t.change(func(trainer *sys.Trainer) Status { return sys.TrainerStepTokens(trainer, report) })
	return *report, err
}

// Run makes so many steps on the token stream. The end of ctx ends it between two steps, or in one, which then
// has not been made, and so does an error of progress, which is called after each and may be nil. The error matches ctx.Err and ErrCancelled, or is
// that of progress.
func (t *Trainer) Run(ctx context.Context, steps int, progress func(StepReport) error) (report StepReport, err error) {
	err = t.owner.until(ctx, func() error {
		for step := 0; step < steps; step++ {
			if err := ofContext(ctx); err != nil {
				return err
			}
			latest, err := t.StepTokens()
			if err != nil {
				return err
			}
			report = latest
			if progress != nil {
				if err = progress(report); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return report, err
}

// EvaluateTokens is the mean loss per token of the current parameters.
func (t *Trainer) EvaluateTokens(tokens []int32) (loss float64, err error) {
	err = t.change(func(trainer *sys.Trainer) Status {
		return sys.TrainerEvaluateTokens(trainer, first(tokens), uint(len(tokens)), &loss)
	})
	return loss, err
}

// CurrentStep is how many steps were made.
func (t *Trainer) CurrentStep() (step uint64) {
	_ = t.look(func(trainer *sys.Trainer) Status { step = sys.TrainerCurrentStep(trainer); return OK })
	return step
}

// Parameter is a copy of a parameter's current values.
func (t *Trainer) Parameter(name string) ([]float32, error) {
	return floats(t.handle, name, sys.TrainerParameter)
}

// Gradient is a copy of its gradient of the latest step, before clipping.
func (t *Trainer) Gradient(name string) ([]float32, error) {
	return floats(t.handle, name, sys.TrainerGradient)
}

// Hash is what Model.Hash gives for the saved file.
func (t *Trainer) Hash() (string, error) {
	var text [33]byte
	err := t.change(func(trainer *sys.Trainer) Status { return sys.TrainerHash(trainer, &text[0]) })
	return sys.GoText(&text[0]), err
}

// Extend plans so many steps in all, from which the schedule follows from now on.
func (t *Trainer) Extend(steps uint64) error {
	return t.change(func(trainer *sys.Trainer) Status { return sys.TrainerExtend(trainer, steps) })
}

// UpdateModel copies the trained parameters into the model.
func (t *Trainer) UpdateModel() error { return t.change(sys.TrainerUpdateModel) }

// to runs a function that writes a file or a folder.
func (t *Trainer) to(path string, write func(*sys.Trainer, *byte) Status) error {
	if err := whole(path); err != nil {
		return err
	}
	var a arena
	defer a.free()
	return t.change(func(trainer *sys.Trainer) Status { return write(trainer, a.name(path)) })
}

// Save writes a checkpoint: a model file from which Resume goes on.
func (t *Trainer) Save(path string) error { return t.to(path, sys.TrainerSave) }

// SaveSharded writes the same checkpoint as a folder in which every rank of the group writes a part.
func (t *Trainer) SaveSharded(folder string) error { return t.to(folder, sys.TrainerSaveSharded) }

// Options are those in force.
func (t *Trainer) Options() (options TrainerOptions, err error) {
	raw := sized(sys.TrainerOptions{})
	err = t.look(func(trainer *sys.Trainer) Status {
		status := sys.TrainerGetOptions(trainer, raw)
		if status == OK { // what it lends is copied within the call
			read(&options, *raw, t.ranks...)
			options.Group = t.group
		}
		return status
	})
	return options, err
}

// Bill is the tensor memory of the plan, in bytes.
func (t *Trainer) Bill() (Bill, error) { return bill(t.handle, sys.TrainerGetBill) }

// Plan is the plan as text.
func (t *Trainer) Plan() (string, error) { return lent(t.handle, sys.TrainerPrintPlan) }
