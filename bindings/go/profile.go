package volta

import "volta/sys"

// StartProfile begins recording what the context does; capacity 0: 65536 events.
func (c *Context) StartProfile(capacity uint64) error {
	options := sized(ProfileOptions{Capacity: capacity})
	return c.change(func(context *sys.Context) Status { return sys.ProfileStart(context, options) })
}

// StopProfile ends recording.
func (c *Context) StopProfile() error { return c.change(sys.ProfileStop) }

// Profile is what was recorded between start and stop.
func (c *Context) Profile() (ProfileInfo, error) {
	info := sized(ProfileInfo{})
	err := c.change(func(context *sys.Context) Status { return sys.ProfileGetInfo(context, info) })
	return *info, err
}

// ProfileOperator is all steps of one operator.
type ProfileOperator struct {
	Name       string
	Calls      uint64
	TotalNs    uint64
	Share      float64
	Operations float64
	Bytes      uint64
}

// ProfileOperators are the rows of the profile, the longest total first.
func (c *Context) ProfileOperators() (rows []ProfileOperator, err error) {
	info, err := c.Profile()
	for i := uint(0); err == nil && uint64(i) < info.OperatorCount; i++ {
		raw := sized(sys.ProfileOperator{})
		err = c.change(func(context *sys.Context) Status { return sys.ProfileGetOperator(context, i, raw) })
		var row ProfileOperator
		read(&row, *raw)
		rows = append(rows, row)
	}
	return rows, err
}

// ProfileEvent is one event of one lane.
type ProfileEvent struct {
	Kind             ProfileKind
	Thread, Depth    uint32
	BeginNs, EndNs   uint64
	Name             string
	Node             string
	Kernel           string
	Step             int64
	Value            int64
	Number           int64
	Operations       float64
	Bytes, LiveBytes uint64
	HeldBytes        uint64
}

// ProfileEvent is event `index`, below Profile().EventCount.
func (c *Context) ProfileEvent(index uint64) (event ProfileEvent, err error) {
	raw := sized(sys.ProfileEvent{})
	err = c.change(func(context *sys.Context) Status { return sys.ProfileGetEvent(context, uint(index), raw) })
	read(&event, *raw)
	return event, err
}

// WriteTrace writes the profile in the Chrome trace event format.
func (c *Context) WriteTrace(path string) error {
	if err := whole(path); err != nil {
		return err
	}
	var a arena
	defer a.free()
	return c.change(func(context *sys.Context) Status { return sys.ProfileWriteTrace(context, a.name(path)) })
}
