package policy_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/txtar"
	"github.com/keyfill/keyfill/policy"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata, and keyfill.schema.json")

// goldenCase is a pair of sections: name.in and name.out or name.err.
type goldenCase struct {
	archive, name string
	dialect       *dialect.Dialect
	in            string
	want          string
	bad           bool
}

// archives returns the golden archives by path.
func archives(t testing.TB) map[string]*txtar.Archive {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden archives in testdata (%v)", err)
	}
	found := make(map[string]*txtar.Archive)
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Files) == 0 {
			t.Fatalf("%s has no cases", path)
		}
		found[path] = a
	}
	return found
}

// dialectOf returns the dialect in the comment of an archive.
func dialectOf(t testing.TB, path string, a *txtar.Archive) *dialect.Dialect {
	t.Helper()
	for line := range strings.Lines(string(a.Comment)) {
		if name, ok := strings.CutPrefix(line, "dialect: "); ok {
			d, err := dialect.ByName(strings.TrimSpace(name))
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			return d
		}
	}
	t.Fatalf("%s names no dialect", path)
	return nil
}

func goldenCases(t testing.TB) []goldenCase {
	t.Helper()
	var cases []goldenCase
	for path, a := range archives(t) {
		d := dialectOf(t, path, a)
		sections := make(map[string]string)
		for _, f := range a.Files {
			if _, double := sections[f.Name]; double {
				t.Fatalf("%s: %s twice", path, f.Name)
			}
			sections[f.Name] = string(f.Data)
		}
		for _, f := range a.Files {
			name, ok := strings.CutSuffix(f.Name, ".in")
			if !ok {
				continue
			}
			c := goldenCase{archive: path, name: name, dialect: d, in: string(f.Data)}
			if c.want, c.bad = sections[name+".err"]; !c.bad {
				c.want = sections[name+".out"]
			}
			cases = append(cases, c)
		}
	}
	return cases
}

// outcome returns the section that a file leads to, and its suffix.
func outcome(d *dialect.Dialect, in string) (suffix, text string) {
	files := fstest.MapFS{"keyfill.yaml": &fstest.MapFile{Data: []byte(in)}}
	cfg, err := policy.LoadFS(files, "keyfill.yaml")
	if err != nil {
		return ".err", plain(err) + "\n"
	}
	p, err := cfg.Compile(d)
	if err != nil {
		return ".err", plain(err) + "\n"
	}
	return ".out", policy.Dump(p)
}

func TestGolden(t *testing.T) {
	if *update {
		updateGolden(t)
	}
	good, bad := 0, 0
	for _, c := range goldenCases(t) {
		if c.bad {
			bad++
		} else {
			good++
		}
		t.Run(strings.TrimSuffix(filepath.Base(c.archive), ".txtar")+"/"+c.name, func(t *testing.T) {
			if c.want == "" {
				t.Fatalf("%s has neither %s.out nor %s.err, or an empty one", c.archive, c.name, c.name)
			}
			if _, got := outcome(c.dialect, c.in); got != c.want {
				t.Errorf("LoadFS and Compile(%s) of\n%s\n got:\n%s\nwant:\n%s", c.dialect.Name, c.in, got, c.want)
			}
		})
	}
	if good < 15 || bad < 30 {
		t.Errorf("%d good and %d bad files, want 15 and 30 at least", good, bad)
	}
}

// updateGolden rewrites the expectations in the order of the cases.
func updateGolden(t *testing.T) {
	for path, a := range archives(t) {
		d := dialectOf(t, path, a)
		var files []txtar.File
		for _, f := range a.Files {
			name, ok := strings.CutSuffix(f.Name, ".in")
			if !ok {
				continue
			}
			suffix, text := outcome(d, string(f.Data))
			files = append(files, f, txtar.File{Name: name + suffix, Data: []byte(text)})
		}
		a.Files = files
		if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
