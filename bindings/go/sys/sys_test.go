package sys

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

// A call with nothing gives a status and, with each failure, a sentence; it never ends the program.
func checkNothing(t *testing.T, name string, call func() Status) {
	runtime.LockOSThread() // the sentence is the thread's
	defer runtime.UnlockOSThread()
	status := call()
	if status <= OK {
		return
	}
	if GoText(LastError()) == "" && GoText(DataLastError()) == "" {
		t.Errorf("%s gives status %d without a sentence", name, status)
	}
	if GoText(StatusName(status)) == "VOLTA_UNKNOWN" {
		t.Errorf("%s gives %d, which is no status", name, status)
	}
}

func TestStructsAreTheCompilers(t *testing.T) {
	program := os.Getenv("VOLTA_LAYOUT") // tests/bindings/layout.c
	if program == "" {
		t.Skip("VOLTA_LAYOUT names no program that prints the layout of structs")
	}
	output, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	if len(lines) != len(layout) {
		t.Errorf("C has %d sizes and offsets, Go %d", len(lines), len(layout))
	}
	for _, line := range lines {
		words := strings.Fields(line)
		ours := layout[words[0]]
		if len(ours) != len(words)-1 {
			t.Errorf("%s: Go has %v", line, ours)
			continue
		}
		for i, number := range ours {
			if words[i+1] != strconv.Itoa(int(number)) {
				t.Errorf("%s: Go has %v", line, ours)
			}
		}
	}
}

func TestTextsOfC(t *testing.T) {
	text := TextOf("für")
	defer Free(unsafe.Pointer(text))
	if GoText(text) != "für" || GoText(nil) != "" {
		t.Error("a text changes on its way")
	}
	user := Hand(&Receiver{})
	Unhand(user)
	if Inside() != nil {
		t.Error("no call is inside")
	}
}
