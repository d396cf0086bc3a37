package main

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestRead: the counts of functions are summed up, the runtime's apart.
func TestRead(t *testing.T) {
	const text = `desc: I1 cache: 32768 B
cmd: ./x -n 3
events: Ir
fl=/go/src/runtime/proc.go
fn=runtime.schedule
10 100
11 20
fl=/go/src/internal/runtime/maps/map.go
fn=internal/runtime/maps.(*Map).get
3 7
fl=a.go
fn=example.com/runtime.Run
12 5
13 1
summary: 133
`
	got, err := read(text)
	if err != nil || got != (counted{133, 6}) {
		t.Errorf("read = %+v, %v, want 133 and 6", got, err)
	}
	if _, err := read("events: Ir\nfn=runtime.main\n1 2\n"); err == nil {
		t.Error("a file without a function of the program is read")
	}
}

// TestOverlay: the functions that count are there, and their copies are empty and read by
// Go's parser.
func TestOverlay(t *testing.T) {
	if _, err := writeOverlay("../..", t.TempDir()); err != nil {
		t.Fatal(err)
	}
	text := []byte("package p\n\nfunc (r *R) count() { work() }\n\nfunc other() { work() }\n\nfunc seen() bool { return work() }\n")
	got, err := withBodies("p.go", text, map[string]string{"R.count": "{}", "seen": "{ return false }"})
	if err != nil {
		t.Fatal(err)
	}
	const want = "package p\n\nfunc (r *R) count() {}\n\nfunc other() { work() }\n\nfunc seen() bool { return false }\n"
	if string(got) != want {
		t.Errorf("the copy is\n%s, want\n%s", got, want)
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "p.go", got, 0); err != nil {
		t.Error(err)
	}
	if _, err := withBodies("p.go", text, map[string]string{"R.gone": "{}"}); err == nil || !strings.Contains(err.Error(), "0 of the 1") {
		t.Errorf("for a function that is not there the error is %v", err)
	}
}
