package steps

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	text := Text{Head: "a", Unit: "b" + Number + ",", Middle: "c", Second: "d", Tail: "e"}
	if got, want := text.Of(2), "ab0000000,b0000001,cdde"; got != want {
		t.Errorf("Of(2) = %q, want %q", got, want)
	}
	all := text.sizes()
	if len(all) != doublings+1 || all[0]%2 != 0 {
		t.Fatalf("sizes() = %v, want %d even ones", all, doublings+1)
	}
	for i, size := range []int{least, greatest} {
		n := all[i*doublings]
		if got := len(text.Of(n)) - len("ace"); got < size || got > size+size/100 {
			t.Errorf("%d units have %d bytes, want %d", n, got, size)
		}
	}
}

func TestGrowth(t *testing.T) {
	costs := func(steps, bytes uint64, factors ...uint64) (all []Cost) {
		all = []Cost{{Steps: steps, Bytes: bytes}}
		for _, f := range factors {
			all = append(all, Cost{Steps: steps * f, Bytes: bytes * f})
		}
		return all
	}
	for _, c := range []struct {
		name  string
		costs []Cost
		want  string
	}{
		{"once", costs(1e6, 1e6), ""},
		{"linear", costs(1e6, 1e6, 2, 4, 8), ""},
		{"square of steps", costs(1e6, 0, 4), "steps grow"},
		{"square of the last doubling", costs(1e6, 0, 2, 4, 16), "steps grow"},
		{"square of few steps", costs(100, 0, 4), ""},
		{"square of bytes", costs(0, 1e6, 4, 16), "bytes grow"},
		{"bytes that jump", costs(0, 1e6, 5, 5, 9), ""},
		{"square of few bytes", costs(0, 1000, 4, 16, 64), ""},
	} {
		if got := growth(c.costs); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: growth() = %q, want %q", c.name, got, c.want)
		}
	}
}
