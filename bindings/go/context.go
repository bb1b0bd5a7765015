package volta

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"volta/sys"
)

// Version is the version of the library that is loaded.
func Version() string { return sys.GoText(sys.Version()) }

// StatusName is "VOLTA_OK", ...
func StatusName(status Status) string { return sys.GoText(sys.StatusName(status)) }

// A Context is what everything is made in: threads, instruction set, device, memory. Any goroutine may use it and what was made
// from it; calls on one context wait for each other. Contexts of their own run in parallel.
type Context struct {
	*handle[sys.Context]
}

// ContextOptions are volta_context_options; zeros are the defaults.
type ContextOptions struct {
	// Called with warnings and remarks, from the call that they are of. It may look at objects of the context.
	Log          func(level LogLevel, line string) `volta:"-"`
	ThreadCount  uint32
	Level        Level
	Isa          Isa
	Flags        uint32
	TuningFolder string
	Device       string // "cpu", "cuda", "cuda:1", "auto"
	KernelFolder string
	HostBudget   uint64
	DeviceBudget uint64
	Precision    Precision
	StepOrder    StepOrder      // of every plan
	Allocator    *sys.Allocator `volta:"-"` // functions of C; nil: its heap
	// Runs the parts of some work on threads of the program, and returns when all have ended; the context then has none of its own.
	// Goroutines does. nil: threads of the context's own.
	ParallelFor func(count uint32, part func(index uint32)) `volta:"-"`
}

// NewContext starts the threads of a context. options nil: the defaults.
func NewContext(options *ContextOptions) (*Context, error) {
	if options == nil {
		options = &ContextOptions{}
	}
	var a arena
	defer a.free()
	var raw sys.ContextOptions
	if err := fill(&a, &raw, *options); err != nil {
		return nil, err
	}
	o := newOwner(sys.LastError)
	if options.Allocator != nil {
		raw.Allocator = list(&a, []sys.Allocator{*options.Allocator})
	}
	if options.Log != nil || options.ParallelFor != nil {
		user := sys.Hand(&sys.Receiver{Owner: o.mark, Log: options.Log, Parallel: options.ParallelFor})
		if options.Log != nil {
			raw.Log, raw.LogUser = sys.OnLog, user
		}
		if options.ParallelFor != nil {
			raw.ParallelFor, raw.ParallelUser = sys.OnParallel, user
		}
		o.ends = append(o.ends, func() { sys.Unhand(user) }) // what was made from a context keeps it alive
	}
	var made *handle[sys.Context]
	err := o.call(false, func() Status {
		var out *sys.Context
		status := sys.ContextCreate(&raw, &out)
		if out != nil {
			o.context = out
			made = hold(o, "context", out, func(c *sys.Context) { // what was made from it may still ask it to end
				o.ends = append([]func(){func() { sys.ContextRelease(c) }}, o.ends...)
			})
		}
		return status
	})
	if err != nil {
		return nil, err
	}
	return &Context{made}, nil
}

// Goroutines is a ParallelFor that runs each part on a goroutine.
func Goroutines(count uint32, part func(index uint32)) {
	var group sync.WaitGroup
	for i := uint32(1); i < count; i++ {
		group.Add(1)
		go func(i uint32) {
			defer group.Done()
			part(i)
		}(i)
	}
	if count > 0 {
		part(0)
	}
	group.Wait()
}

// until runs a body whose calls on the owner's objects end when ctx does.
func (o *owner) until(ctx context.Context, body func() error) error {
	if err := ofContext(ctx); err != nil {
		return err
	}
	return watched(ctx, func(cancel *sys.Cancel) error {
		if cancel == nil {
			return body()
		}
		var before *sys.Cancel
		set := func(one *sys.Cancel) error {
			return o.call(false, func() Status {
				before, o.cancel = o.cancel, one
				if one == nil {
					return sys.ContextSetStop(o.context, nil)
				}
				return sys.ContextSetStop(o.context, sized(sys.StopOptions{Cancel: one}))
			})
		}
		if err := set(cancel); err != nil {
			return err
		}
		outer := before
		defer func() { _ = set(outer) }()
		err := body()
		if ended := ofContext(ctx); ended != nil && errors.Is(err, ErrCancelled) {
			return ended
		}
		return err
	})
}

// Until runs a body. The end of ctx ends, between two pieces of its work, whatever long call on this context is made meanwhile: a step of
// training, an evaluation, an import, a save. Nothing is lost; the same call made again does the same work. The error then matches ctx.Err
// and ErrCancelled.
func (c *Context) Until(ctx context.Context, body func() error) error {
	defer runtime.KeepAlive(c)
	return c.owner.until(ctx, body)
}

// ContextInfo is volta_context_info.
type ContextInfo struct {
	Isa             Isa
	ThreadCount     uint32
	PhysicalCores   uint32
	JitActive       bool
	PlanCacheHits   uint64
	PlanCacheMisses uint64
	AllocationCount uint64
	TensorBytes     uint64
	TensorBytesPeak uint64
	CodeBytes       uint64
	Cpu             string
	Level           Level
	Precision       Precision
}

// Info is what is in use and what was asked of memory.
func (c *Context) Info() (info ContextInfo, err error) {
	raw := sized(sys.ContextInfo{})
	err = c.look(func(context *sys.Context) Status { return sys.ContextGetInfo(context, raw) })
	read(&info, *raw)
	return info, err
}

// DeviceInfo is volta_device_info.
type DeviceInfo struct {
	Name            string
	Description     string
	MemoryBytes     uint64
	FreeBytes       uint64
	Multiprocessors uint32
	CapabilityMajor uint32
	CapabilityMinor uint32
	CopiesToDevice  uint64
	BytesToDevice   uint64
	CopiesToHost    uint64
	BytesToHost     uint64
	Launches        uint64
	BytesInUse      uint64
	PinnedBytes     uint64
}

// Device is the device of the context.
func (c *Context) Device() (info DeviceInfo, err error) {
	raw := sized(sys.DeviceInfo{})
	err = c.look(func(context *sys.Context) Status { return sys.ContextGetDevice(context, raw) })
	read(&info, *raw)
	return info, err
}

// anywhere runs a function that belongs to no object.
func anywhere(function func() Status) error {
	return (&owner{library: sys.LastError, live: 1}).call(false, function)
}

// DeviceCount is how many devices a backend, "cpu" or "cuda", has.
func DeviceCount(backend string) (int, error) {
	var a arena
	defer a.free()
	var count uint32
	err := anywhere(func() Status { return sys.DeviceCount(a.name(backend), &count) })
	return int(count), err
}

// DescribeDevice is one of them.
func DescribeDevice(backend string, index int) (info DeviceInfo, err error) {
	var a arena
	defer a.free()
	raw := sized(sys.DeviceInfo{})
	err = anywhere(func() Status { return sys.DeviceDescribe(a.name(backend), uint32(index), raw) })
	read(&info, *raw)
	return info, err
}

// MeasureMachine is the most that the context's device does, measured now: about a second on all threads.
func (c *Context) MeasureMachine() (MachineSpeed, error) {
	speed := sized(MachineSpeed{})
	err := c.change(func(context *sys.Context) Status { return sys.MeasureMachine(context, speed) })
	return *speed, err
}
