package sys

// #include <stdlib.h>
import "C"

import "unsafe"

// Malloc gives C's memory, of zeros. It does not fail: Go's runtime ends the program where there is none.
func Malloc(bytes uintptr) unsafe.Pointer {
	memory := C.malloc(C.size_t(bytes))
	clear := unsafe.Slice((*byte)(memory), bytes)
	for i := range clear {
		clear[i] = 0
	}
	return memory
}

// Free gives it back.
func Free(memory unsafe.Pointer) { C.free(memory) }

// TextOf gives a text in C's memory, ended by a zero.
func TextOf(text string) *byte {
	memory := unsafe.Slice((*byte)(Malloc(uintptr(len(text))+1)), len(text)+1)
	copy(memory, text)
	return &memory[0]
}

// GoText copies what C lends; "" of NULL.
func GoText(text *byte) string { return C.GoString((*C.char)(unsafe.Pointer(text))) }
