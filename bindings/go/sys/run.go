package sys

/*
#include <volta.h>
static volta_status volta_go_run(void *session, void *inputs, size_t input_count, void *outputs, size_t output_count) {
	return volta_session_run(session, inputs, input_count, outputs, output_count);
}
*/
import "C"

import "unsafe"

// Run is SessionRun without its allocation: cgo checks a pointer to a struct that C hides by putting it on Go's heap.
func Run(session *Session, inputs, outputs []*Tensor) Status {
	var in, out unsafe.Pointer
	if len(inputs) > 0 {
		in = unsafe.Pointer(&inputs[0])
	}
	if len(outputs) > 0 {
		out = unsafe.Pointer(&outputs[0])
	}
	return Status(C.volta_go_run(unsafe.Pointer(session), in, C.size_t(len(inputs)), out, C.size_t(len(outputs))))
}
