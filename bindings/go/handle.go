package volta

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"volta/sys"
)

// An owner is what the header calls one object: a context with everything made from it, a loader, a picture. One call at a
// time; the others wait, so that any goroutine may use any of it. What the collector finds is released by whoever holds the
// lock, at the end of its call.
type owner struct {
	mutex   sync.Mutex
	library func() *byte   // where the library keeps its sentence
	context *sys.Context   // whose long calls are asked to end; it ends when no object is left
	cancel  *sys.Cancel    // what asks them now; under mutex
	mark    unsafe.Pointer // memory of C that stands for it in callbacks
	within  unsafe.Pointer // the same in functions that may change its objects: those that Compile was given
	live    int            // of its objects; under mutex
	ends    []func()       // called when none is left; under mutex

	waiting int32 // how many lie in lost
	found   sync.Mutex
	lost    []func() // of the collector: what is to be released
}

func newOwner(library func() *byte) *owner {
	mark := sys.Malloc(2)
	o := &owner{library: library, mark: mark, within: unsafe.Add(mark, 1)}
	o.ends = []func(){func() { sys.Free(mark) }}
	return o
}

// enter begins a call. Where it is one of a function that a call of this owner is calling now, there is nothing to wait for:
// it may look at objects, not change them, unless it is there to change them.
func (o *owner) enter(looks bool) (entered bool, err error) {
	if o.mutex.TryLock() {
		return true, nil
	}
	switch sys.Inside() {
	case o.within:
		return false, nil
	case o.mark:
		if looks {
			return false, nil
		}
		return false, refused(InvalidState, "a function that a call is calling may look at the objects of its context, not change them")
	}
	o.mutex.Lock()
	return true, nil
}

// leave ends it.
func (o *owner) leave() {
	for {
		if atomic.LoadInt32(&o.waiting) != 0 {
			o.release()
		}
		ends := o.ends
		if o.live > 0 {
			ends = nil
		} else {
			o.ends = nil
		}
		o.mutex.Unlock()
		for _, end := range ends {
			end()
		}
		// What came after release() looked, and found the lock taken.
		if atomic.LoadInt32(&o.waiting) == 0 || !o.mutex.TryLock() {
			return
		}
	}
}

// release ends what the collector has found.
func (o *owner) release() {
	o.found.Lock()
	lost := o.lost
	o.lost = nil
	atomic.StoreInt32(&o.waiting, 0)
	o.found.Unlock()
	for _, end := range lost {
		end()
	}
	o.live -= len(lost)
}

// lose takes what the collector has found. It never waits for a call.
func (o *owner) lose(end func()) {
	o.found.Lock()
	o.lost = append(o.lost, end)
	atomic.StoreInt32(&o.waiting, int32(len(o.lost)))
	o.found.Unlock()
	if o.mutex.TryLock() {
		o.leave()
	}
}

// call runs a function of the library on the owner, and gives its error.
func (o *owner) call(looks bool, function func() Status) error {
	entered, err := o.enter(looks)
	if err != nil {
		return err
	}
	if entered {
		defer o.leave()
	}
	runtime.LockOSThread() // the sentence is the thread's
	defer runtime.UnlockOSThread()
	return checked(function(), o.library)
}

// A handle is an object of C. Close ends it; else the collector does.
type handle[T any] struct {
	owner   *owner
	pointer *T // nil: closed. Under the owner's lock
	name    string
	end     func(*T)
	loan    *loan // nil: the handle owns the object. Under the owner's lock
}

// A loan is of an object that another one ends: a result that a tape holds, a compiled function's tape.
type loan struct {
	kept bool  // a result that will be the handle's own
	lent bool  // a result whose elements are lent
	over error // what a call on it says; nil: it is there
}

// hold takes an object over; within a call of its owner.
func hold[T any](o *owner, name string, pointer *T, end func(*T)) *handle[T] {
	h := &handle[T]{owner: o, pointer: pointer, name: name}
	h.take(end)
	h.watch()
	return h
}

// take makes the handle the object's owner.
func (h *handle[T]) take(end func(*T)) {
	h.end, h.loan = end, nil
	h.owner.live++
}

// watch lets the collector end the object.
func (h *handle[T]) watch() {
	runtime.SetFinalizer(h, func(h *handle[T]) {
		pointer, end := h.pointer, h.end
		h.owner.lose(func() { end(pointer) })
	})
}

// borrow gives a handle of an object that another one ends.
func borrow[T any](o *owner, name string, pointer *T, end func(*T)) *handle[T] {
	return &handle[T]{owner: o, pointer: pointer, name: name, end: end, loan: new(loan)}
}

// away says from now on that the object has ended.
func (h *handle[T]) away(over error) { h.pointer, h.loan.over = nil, over }

// Close releases the object. Closing twice is fine; calls that come later report ErrInvalidArgument.
func (h *handle[T]) Close() error {
	entered, err := h.owner.enter(false)
	if err != nil {
		return err
	}
	if entered {
		defer h.owner.leave()
	}
	switch {
	case h.pointer == nil:
	case h.loan == nil:
		runtime.SetFinalizer(h, nil)
		h.end(h.pointer)
		h.pointer = nil
		h.owner.live--
	case h.loan.kept: // it ends with its record after all
		h.end(h.pointer)
		h.loan.kept = false
	}
	return nil
}

// closed is the error of an object that was closed; within a call.
func (h *handle[T]) closed() error {
	if h.loan != nil && h.loan.over != nil {
		return h.loan.over
	}
	if h.pointer == nil {
		return refused(InvalidArgument, "the %s was closed", h.name)
	}
	return nil
}

// change runs a function of the library on the object; look the same of one that changes nothing.
func (h *handle[T]) change(function func(*T) Status) error { return h.run(false, function) }
func (h *handle[T]) look(function func(*T) Status) error   { return h.run(true, function) }

func (h *handle[T]) run(looks bool, function func(*T) Status) error {
	var wrong error
	err := h.owner.call(looks, func() Status {
		if wrong = h.closed(); wrong != nil {
			return OK
		}
		return function(h.pointer)
	})
	runtime.KeepAlive(h)
	if wrong != nil {
		return wrong
	}
	return err
}

// made runs a function that makes an object of the same owner out of this one.
func made[T, M any](h *handle[T], name string, end func(*M), function func(*T, **M) Status) (*handle[M], error) {
	var result *handle[M]
	err := h.change(func(pointer *T) Status {
		var out *M
		status := function(pointer, &out)
		if out != nil {
			result = hold(h.owner, name, out, end)
		}
		return status
	})
	return result, err
}

// The pointer of another object in a call of an owner, which must be its own.
func (h *handle[T]) in(o *owner) (*T, error) {
	if h.owner != o {
		return nil, refused(InvalidArgument, "the %s is of another context", h.name)
	}
	return h.pointer, h.closed()
}
