package sys

// Functions of Go that C calls. What C calls `user` is memory of C with a cgo.Handle in it, made by Hand.

/*
#include <stddef.h>
#include <stdint.h>

void voltaGoLog(void *user, int32_t level, char *line);
int32_t voltaGoOnText(void *user, char *text, size_t bytes, int32_t token);
int32_t voltaGoProgress(void *user, void *report);
void voltaGoVisit(void *user, void *step);
int32_t voltaGoFunction(void *user, void *tape, void *inputs, size_t input_count, void *outputs, size_t output_count);
void voltaGoParallel(void *user, uint32_t count, void *part, void *part_user);
int32_t voltaGoExchange(void *user, uint32_t peer, void *send, size_t send_bytes, void *receive, size_t receive_bytes,
                        char *text, size_t text_bytes);
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// Pointers to the functions, as the structs of options take them.
var (
	OnLog      = unsafe.Pointer(C.voltaGoLog)
	OnText     = unsafe.Pointer(C.voltaGoOnText)
	OnProgress = unsafe.Pointer(C.voltaGoProgress)
	OnVisit    = unsafe.Pointer(C.voltaGoVisit)
	OnFunction = unsafe.Pointer(C.voltaGoFunction)
	OnParallel = unsafe.Pointer(C.voltaGoParallel)
	OnExchange = unsafe.Pointer(C.voltaGoExchange)
)

// Receiver is what Hand takes: the functions that C may call of it, and whose objects it is a call of.
type Receiver struct {
	Owner    unsafe.Pointer // memory of C that stands for it
	Log      func(level LogLevel, line string)
	Text     func(piece []byte, token int32) (stop bool) // the piece is lent
	Progress func(report *TuneReport) (stop bool)        // lent too
	Visit    func(step *PlanStep)                        // lent too
	Function func(outputs []*Tensor) Status              // of Compile; the inputs are those of the call
	Parallel func(count uint32, part func(index uint32))
	Exchange func(peer uint32, send, receive []byte) error // both are lent
}

// Hand makes the user pointer of a Receiver, ended by Unhand.
func Hand(receiver *Receiver) unsafe.Pointer {
	user := Malloc(unsafe.Sizeof(cgo.Handle(0)))
	*(*cgo.Handle)(user) = cgo.NewHandle(receiver)
	return user
}

// Unhand ends what Hand made.
func Unhand(user unsafe.Pointer) {
	(*(*cgo.Handle)(user)).Delete()
	Free(user)
}

func received(user unsafe.Pointer, call func(*Receiver)) {
	receiver := (*(*cgo.Handle)(user)).Value().(*Receiver)
	defer enter(enter(receiver.Owner))
	call(receiver)
}

func number(stop bool) C.int32_t {
	if stop {
		return 1
	}
	return 0
}

//export voltaGoLog
func voltaGoLog(user unsafe.Pointer, level C.int32_t, line *C.char) {
	received(user, func(receiver *Receiver) {
		defer func() { _ = recover() }() // as the header says of a log: what it throws has no effect
		receiver.Log(LogLevel(level), C.GoString(line))
	})
}

//export voltaGoOnText
func voltaGoOnText(user unsafe.Pointer, text *C.char, bytes C.size_t, token C.int32_t) (stop C.int32_t) {
	received(user, func(receiver *Receiver) {
		stop = number(receiver.Text(unsafe.Slice((*byte)(unsafe.Pointer(text)), int(bytes)), int32(token)))
	})
	return stop
}

//export voltaGoProgress
func voltaGoProgress(user, report unsafe.Pointer) (stop C.int32_t) {
	received(user, func(receiver *Receiver) { stop = number(receiver.Progress((*TuneReport)(report))) })
	return stop
}

//export voltaGoVisit
func voltaGoVisit(user, step unsafe.Pointer) {
	received(user, func(receiver *Receiver) { receiver.Visit((*PlanStep)(step)) })
}

//export voltaGoFunction
func voltaGoFunction(user, tape, inputs unsafe.Pointer, inputCount C.size_t, outputs unsafe.Pointer, outputCount C.size_t) (status C.int32_t) {
	received(user, func(receiver *Receiver) {
		status = C.int32_t(receiver.Function(unsafe.Slice((**Tensor)(outputs), int(outputCount))))
	})
	return status
}

//export voltaGoParallel
func voltaGoParallel(user unsafe.Pointer, count C.uint32_t, part, partUser unsafe.Pointer) {
	received(user, func(receiver *Receiver) {
		defer func() { _ = recover() }() // the call then reports the part that was left out
		receiver.Parallel(uint32(count), func(index uint32) { runPart(part, partUser, index) })
	})
}

//export voltaGoExchange
func voltaGoExchange(user unsafe.Pointer, peer C.uint32_t, send unsafe.Pointer, sendBytes C.size_t, receive unsafe.Pointer, receiveBytes C.size_t, text *C.char, textBytes C.size_t) (status C.int32_t) {
	received(user, func(receiver *Receiver) {
		err := receiver.Exchange(uint32(peer), unsafe.Slice((*byte)(send), int(sendBytes)), unsafe.Slice((*byte)(receive), int(receiveBytes)))
		if err == nil {
			return
		}
		sentence := unsafe.Slice((*byte)(unsafe.Pointer(text)), int(textBytes))
		sentence[copy(sentence[:len(sentence)-1], err.Error())] = 0
		status = C.int32_t(IoError)
	})
	return status
}
