package knots_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/knots"
	"github.com/keyfill/keyfill/internal/testturn"
)

// The bars of a package. Lines of a circle are the lines of its declarations, lines of a
// package all lines of its files.
const (
	mostCircle      = 2000
	mostCircleFiles = 20
	mostFiles       = 30
	mostLines       = 4500
)

// larger are the packages that are above a bar, with their own: no more than they have now.
// One that has come below all bars is to be taken out.
var larger = map[string]knots.Knot{
	// One package, whose files are found by the names of the fields and the kinds.
	"policy": {Files: 77, Lines: 7080},
}

// TestKnots bounds how much of a package has to be understood at once.
func TestKnots(t *testing.T) {
	testturn.WhenChanged(t, "*.go")
	var all []knots.Knot
	for _, folder := range []string{"../..", "../../cmd/keyfill"} {
		measured, err := knots.Measure(folder, "./...")
		if err != nil || len(measured) < 10 {
			t.Fatalf("%d packages, %v", len(measured), err)
		}
		all = append(all, measured...)
	}
	for _, k := range all {
		name := strings.TrimPrefix(strings.TrimPrefix(k.Path, "github.com/keyfill/keyfill"), "/")
		own, isLarger := larger[name]
		above := false
		for _, c := range []struct {
			what             string
			have, bar, owned int
		}{
			{"lines in its largest circle of types", k.Circle, mostCircle, own.Circle},
			{"files that use each other in a circle", k.CircleFiles, mostCircleFiles, own.CircleFiles},
			{"files", k.Files, mostFiles, own.Files},
			{"lines", k.Lines, mostLines, own.Lines},
		} {
			above = above || c.have > c.bar
			if c.have > max(c.bar, c.owned) {
				t.Errorf("%s has %d %s, want at most %d: split it", name, c.have, c.what, max(c.bar, c.owned))
			}
			if c.owned > 0 && c.have <= c.bar {
				t.Errorf("%s has %d %s: take its own bar out", name, c.have, c.what)
			}
		}
		if isLarger && !above {
			t.Errorf("%s is above no bar any more: take it out of the list", name)
		}
	}
}

// TestMeasure: a circle through a method, one through files alone, and none.
func TestMeasure(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  knots.Knot
	}{
		{"none", map[string]string{
			"a.go": "package p\n\nfunc a() { b() }\n",
			"b.go": "package p\n\nfunc b() {}\n",
		}, knots.Knot{Files: 2, Lines: 6, CircleFiles: 1}},
		{"of files", map[string]string{
			"a.go": "package p\n\nfunc a() { b() }\n\nfunc c() {}\n",
			"b.go": "package p\n\nfunc b() { c() }\n",
		}, knots.Knot{Files: 2, Lines: 8, CircleFiles: 2}},
		{"through a method and a field", map[string]string{
			"a.go": "package p\n\ntype a struct {\n\tof *b\n}\n\nfunc (x a) f() {}\n",
			"b.go": "package p\n\ntype b struct{ n int }\n\nfunc (x *b) g() { a{}.f() }\n\nfunc h(x a) int { return x.of.n }\n",
		}, knots.Knot{Files: 2, Lines: 14, Circle: 6, CircleFiles: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			c.files["go.mod"] = "module p\n\ngo 1.26\n"
			for name, text := range c.files {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("GOWORK", "off")
			got, err := knots.Measure(folder, ".")
			c.want.Path = "p"
			if err != nil || len(got) != 1 || got[0] != c.want {
				t.Errorf("Measure = %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}
