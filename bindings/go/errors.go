package volta

import (
	"context"
	"errors"
	"fmt"

	"volta/sys"
)

// Error is what a call of the library says: a status, and one sentence with what was wrong and with which value. It matches
// the Err of its status by errors.Is.
type Error struct {
	Status Status
	Text   string
}

func (e *Error) Error() string { return e.Text }

// Is says whether target is the Err of the error's status.
func (e *Error) Is(target error) bool {
	of, known := target.(*kind)
	return known && of.status == e.Status
}

// An Err that errors.Is takes: one for each status.
type kind struct {
	status Status
	text   string
}

func (k *kind) Error() string { return k.text }

// One for each status.
var (
	ErrInvalidArgument error = &kind{InvalidArgument, "the call itself is wrong"}
	ErrInvalidState    error = &kind{InvalidState, "a right call at the wrong moment"}
	ErrShapeMismatch   error = &kind{ShapeMismatch, "tensors that do not fit"}
	ErrOutOfMemory     error = &kind{OutOfMemory, "out of memory"}
	ErrIo              error = &kind{IoError, "a file could not be read or written"}
	ErrCorruptModel    error = &kind{CorruptModel, "a file that is not valid"}
	ErrUnsupported     error = &kind{Unsupported, "valid, but not supported"}
	ErrDevice          error = &kind{DeviceError, "the device failed"}
	ErrInternal        error = &kind{Internal, "a bug in Volta"}
	ErrNotFinite       error = &kind{NotFinite, "NaN or infinite"}
	ErrCancelled       error = &kind{Cancelled, "cancelled"}
)

// ended is a call that a context ended: ErrCancelled, and what the context says.
type ended struct{ cause error }

func (e *ended) Error() string { return "ended by its context: " + e.cause.Error() }
func (e *ended) Unwrap() error { return e.cause }
func (e *ended) Is(target error) bool {
	return target == ErrCancelled
}

// ofContext is the error of a context that is over; nil while it is not.
func ofContext(ctx context.Context) error {
	if ctx == nil || ctx.Err() == nil {
		return nil
	}
	return &ended{ctx.Err()}
}

func refused(status Status, format string, values ...any) error {
	return &Error{status, fmt.Sprintf(format, values...)}
}

// checked is the error of a status. The caller's goroutine is still on the thread of the call.
func checked(status Status, sentence func() *byte) error {
	if status == OK {
		return nil
	}
	return &Error{status, sys.GoText(sentence())}
}

// StatusOf is the status of an error: Internal where it is none of the library's, OK of nil.
func StatusOf(err error) Status {
	var of *Error
	switch {
	case err == nil:
		return OK
	case errors.As(err, &of):
		return of.Status
	case errors.Is(err, ErrCancelled):
		return Cancelled
	}
	return Internal
}
