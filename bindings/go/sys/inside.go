package sys

/*
#include <stdint.h>

static __thread void *volta_go_inside;
static void *volta_go_enter(void *owner) {
	void *before = volta_go_inside;
	volta_go_inside = owner;
	return before;
}
static void *volta_go_owner(void) { return volta_go_inside; }
static void volta_go_part(void *part, void *part_user, uint32_t index) {
	((void (*)(void *, uint32_t))part)(part_user, index);
}
*/
import "C"

import "unsafe"

// Inside is the owner whose call has come back into Go on this thread; nil: none. While it has, Go keeps the goroutine on
// the thread.
func Inside() unsafe.Pointer { return C.volta_go_owner() }

func enter(owner unsafe.Pointer) (before unsafe.Pointer) { return C.volta_go_enter(owner) }

// runPart runs a part of a parallel_for.
func runPart(part, partUser unsafe.Pointer, index uint32) {
	C.volta_go_part(part, partUser, C.uint32_t(index))
}
