package volta

import (
	"fmt"
	"unsafe"

	"volta/sys"
)

// A Group is processes that train one model together, given to trainers as TrainerOptions.Group. Close leaves it when its trainers
// are closed too.
type Group struct {
	*handle[sys.Group]
	transport *transport
}

// GroupOptions are volta_group_options; zeros are the defaults.
type GroupOptions struct {
	// "local": processes of one machine; "tcp": of several; "mpi": those that an MPI library has started; "nccl": of several, from
	// device to device; "": "local", or Exchange where it is given.
	Transport string
	Address   string // local: a folder that all of them may write; tcp, nccl: HOST:PORT where rank 0 listens; mpi: ""
	Library   string // nccl: its file; "": libnccl.so.2
	Rank      uint32
	Size      uint32  // processes, a power of two; 0: 1; mpi: as many as it says, and Rank is what it says
	Timeout   float64 // seconds; 0: 30
	// A transport of the program's own: sends to a rank, and fills the other slice with what that rank sends, both ways at once; either
	// may be empty, and both are lent. It runs within the call of a trainer. Its error ends the group and is the call's.
	Exchange func(peer uint32, send, receive []byte) error `volta:"-"`
}

// NewGroup joins the group: it returns when all ranks have.
func NewGroup(in *Context, options GroupOptions) (*Group, error) {
	var a arena
	defer a.free()
	if options.Exchange != nil && options.Transport == "" {
		options.Transport = "host"
	}
	raw := new(sys.GroupOptions)
	if err := fill(&a, raw, options); err != nil {
		return nil, err
	}
	g := &Group{transport: &transport{exchange: options.Exchange}}
	if options.Exchange != nil {
		g.transport.user = sys.Hand(&sys.Receiver{Owner: in.owner.mark, Exchange: g.transport.run})
		raw.Exchange, raw.User = sys.OnExchange, g.transport.user
	}
	transport := g.transport
	transport.join()
	end := func(group *sys.Group) {
		sys.GroupRelease(group)
		transport.leave()
	}
	var err error
	g.handle, err = made(in.handle, "group", end, func(context *sys.Context, out **sys.Group) Status {
		return sys.GroupCreate(context, raw, out)
	})
	if err != nil {
		transport.leave()
		return nil, err
	}
	return g, nil
}

// Rank is that of this process.
func (g *Group) Rank() (rank uint32) {
	_ = g.look(func(group *sys.Group) Status { rank = sys.GroupRank(group); return OK })
	return rank
}

// Size is how many ranks there are.
func (g *Group) Size() (size uint32) {
	_ = g.look(func(group *sys.Group) Status { size = sys.GroupSize(group); return OK })
	return size
}

// pointerIn is the pointer in a call of an owner, which must be its own; NULL of nil.
func (g *Group) pointerIn(o *owner) (*sys.Group, error) {
	if g == nil {
		return nil, nil
	}
	return g.in(o)
}

func (g *Group) shared() *transport {
	if g == nil {
		return nil
	}
	return g.transport
}

// A transport is what a group's trainers need of it when it is closed. Under the owner's lock; nil: of no group.
type transport struct {
	exchange func(peer uint32, send, receive []byte) error
	user     unsafe.Pointer // what C has of it; nil: the library's own
	users    int
	failed   failure
}

// A failure is of an exchange: its error, or what it panicked with.
type failure struct {
	err    error
	thrown any
}

func (t *transport) join() {
	if t != nil {
		t.users++
	}
}

func (t *transport) leave() {
	if t == nil {
		return
	}
	if t.users--; t.users == 0 && t.user != nil {
		sys.Unhand(t.user)
	}
}

func (t *transport) run(peer uint32, send, receive []byte) (err error) {
	defer func() {
		if t.failed.thrown = recover(); t.failed.thrown != nil {
			err = fmt.Errorf("exchange with rank %d panicked", peer)
		}
	}()
	t.failed.err = t.exchange(peer, send, receive)
	return t.failed.err
}

// taken is the failure of the exchanges of one call.
func (t *transport) taken() (failed failure) {
	if t != nil {
		failed, t.failed = t.failed, failure{}
	}
	return failed
}

// of is the error of that call.
func (f failure) of(err error) error {
	switch {
	case err == nil:
		return nil
	case f.thrown != nil:
		panic(f.thrown)
	case f.err != nil:
		return f.err
	}
	return err
}
