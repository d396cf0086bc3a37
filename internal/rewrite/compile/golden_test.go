package compile_test

import (
	"database/sql/driver"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/goldens"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/internal/txtar"
	"github.com/keyfill/keyfill/rewrite"
)

var update = flag.Bool("update", false, "rewrite the expectations of the golden cases")

const goldenDir = "../../../testdata"

// archive is one file of golden cases; testdata/README.md describes its form.
type archive struct {
	path     string
	txtar    *txtar.Archive
	dialects []*dialect.Dialect
	targets  []string
	manuals  map[string]string // by dialect: the pages that allow the forms
	cases    []*goldenCase
}

// goldenCase is one query and what becomes of it in some dialects.
type goldenCase struct {
	name     string // with the dialects that it names
	dialects []*dialect.Dialect
	in       string
	want     map[string]string // by part: "out", "err" …
}

// parts are the last parts of a section's name: the query and its expectations.
var parts = []string{"in", "out", "keep", "pass", "err", "slots", "literal", "session"}

func openArchive(path string) (*archive, error) {
	a := &archive{path: path, manuals: map[string]string{}}
	var err error
	if a.txtar, err = txtar.ParseFile(path); err != nil {
		return nil, err
	}
	if err := a.readComment(); err != nil {
		return nil, err
	}
	byName := map[string]*goldenCase{}
	for _, f := range a.txtar.Files {
		dot := strings.LastIndexByte(f.Name, '.')
		name, part := f.Name[:max(dot, 0)], f.Name[dot+1:]
		if !slices.Contains(parts, part) {
			return nil, fmt.Errorf("%s: section %q: its last part is none of %v", path, f.Name, parts)
		}
		text := strings.TrimSuffix(string(f.Data), "\n")
		c := byName[name]
		if part == "in" {
			c = &goldenCase{name: name, dialects: a.dialects, in: text, want: map[string]string{}}
			if _, names, ok := strings.Cut(name, "."); ok {
				if c.dialects, err = goldens.Dialects(strings.Split(names, "+")); err != nil {
					return nil, fmt.Errorf("%s: section %q: %w", path, f.Name, err)
				}
			}
			if byName[name] != nil {
				return nil, fmt.Errorf("%s: section %q stands twice", path, f.Name)
			}
			byName[name] = c
			a.cases = append(a.cases, c)
			continue
		}
		if c == nil {
			return nil, fmt.Errorf("%s: section %q has no .in in front of it", path, f.Name)
		}
		c.want[part] = text
	}
	return a, nil
}

// readComment reads the lines of an archive's comment that say something.
func (a *archive) readComment() error {
	for line := range strings.Lines(string(a.txtar.Comment)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch word {
		case "dialects":
			var err error
			if a.dialects, err = goldens.Dialects(strings.Fields(rest)); err != nil {
				return err
			}
		case "target":
			a.targets = append(a.targets, rest)
		case "manual":
			name, pages, _ := strings.Cut(strings.TrimSpace(rest), ":")
			a.manuals[name] += pages
		}
	}
	if len(a.dialects) == 0 || len(a.targets) == 0 {
		return fmt.Errorf("%s: no dialects: or no target: line", a.path)
	}
	return nil
}

// archives returns all golden archives. There being none is a failure.
func archives(tb testing.TB) []*archive {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(goldenDir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no golden archives in %s: %v", goldenDir, err)
	}
	var all []*archive
	for _, p := range paths {
		a, err := openArchive(p)
		if err != nil {
			tb.Fatal(err)
		}
		if len(a.cases) == 0 {
			tb.Fatalf("%s holds no case", p)
		}
		all = append(all, a)
	}
	return all
}

// byTable returns the archive's targets under the folding of a dialect, by table.
func (a *archive) byTable(tb testing.TB, d *dialect.Dialect) map[string]*plans.Target {
	tb.Helper()
	targets := map[string]*plans.Target{}
	for _, text := range a.targets {
		t, err := parseTarget(d, text)
		if err != nil {
			tb.Fatalf("%s: target:%s: %v", a.path, text, err)
		}
		targets[d.Fold(t.Table, false)] = t
	}
	return targets
}

// lookup finds the archive's targets under the folding of a dialect.
func (a *archive) lookup(tb testing.TB, d *dialect.Dialect) plans.Lookup {
	tb.Helper()
	targets := a.byTable(tb, d)
	return func(schema, table string) *plans.Target {
		if t := targets[schema+"."+table]; t != nil {
			return t
		}
		return targets[table]
	}
}

// parseTarget reads "orders key=id:integer columns=id,name fill=missing,null"; a
// key is :session when it is an integer that wants the session, :counted when
// the rows of a query are numbered, :decimal when they are and it is text, :gapless when
// they are and have no gaps, :sole when no other unique index is there in addition, :uuidv7
// when the rows of a query get a prefix and a number. scope=a,b
// behind a key names the columns that it is numbered within.
func parseTarget(d *dialect.Dialect, text string) (*plans.Target, error) {
	words := strings.Fields(text)
	t := &plans.Target{Table: words[0]}
	fill := plans.FillMissing | plans.FillNull | plans.FillDefault
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "key":
			column, kind, _ := strings.Cut(value, ":")
			t.Keys = append(t.Keys, plans.Key{
				Column:  d.Fold(column, false),
				Integer: kind != "" && kind != "decimal" && kind != "uuidv7", Session: kind == "session",
				Counted: kind == "counted" || kind == "decimal" || kind == "gapless" || kind == "sole",
				Gapless: kind == "gapless" || kind == "sole", Sole: kind == "sole",
			})
			if kind == "uuidv7" {
				t.Keys[len(t.Keys)-1].Tail = d.Numbering.Tails.Of(d.DefaultLayout, false)
			}
		case "scope":
			k := &t.Keys[len(t.Keys)-1]
			for c := range strings.SplitSeq(value, ",") {
				k.Scope = append(k.Scope, d.Fold(c, false))
			}
		case "date":
			t.Keys[len(t.Keys)-1].Date = d.Fold(value, false)
		case "columns":
			for c := range strings.SplitSeq(value, ",") {
				t.Columns = append(t.Columns, d.Fold(c, false))
			}
		case "fill":
			fill = 0
			for f := range strings.SplitSeq(value, ",") {
				i := slices.Index([]string{"missing", "null", "default", "zero"}, f)
				if i < 0 {
					return nil, fmt.Errorf("unknown word %q of fill", f)
				}
				fill |= 1 << i
			}
		default:
			return nil, fmt.Errorf("unknown word %q", w)
		}
	}
	for i := range t.Keys {
		t.Keys[i].Fill = fill
		if t.Keys[i].Type = "uuid"; t.Keys[i].Integer {
			t.Keys[i].Type = "bigint"
		}
	}
	return t, nil
}

// testKey returns the n-th key, counted from 1, that goldens show: 1001, 1002 …
// or a UUID that ends in 001, 002 … in the dialect's layout.
func testKey(d *dialect.Dialect, k *plans.Key, n int) driver.Value {
	if k.Integer {
		return int64(1000 + n)
	}
	return d.DefaultLayout.Value([16]byte{0x01, 0x90, 6: 0x70, 8: 0x80, 14: byte(n >> 8), 15: byte(n)})
}

// testKeys returns the keys that the holes ask for.
func testKeys(p *plans.Plan, h bind.Holes) [][]driver.Value {
	keys := make([][]driver.Value, len(p.Draws))
	n := 0
	for i, draw := range p.Draws {
		k := &p.Inserts[draw.Insert].Target.Keys[draw.Key]
		if k.Tail != "" && p.Inserts[draw.Insert].Query != nil {
			keys[i] = k.TailValues("01a22267-d7c9-75bd-80cd-", 42019999999999, h.Counts[i])
			continue
		}
		for range h.Counts[i] {
			n++
			if p.Inserts[draw.Insert].Query != nil {
				keys[i] = append(keys[i], int64(1000+n))
				continue
			}
			keys[i] = append(keys[i], testKey(p.Dialect, k, n))
		}
	}
	return keys
}

// outcome returns what a plan says, by the parts of a golden case. The parts
// slots and literal are there where they say something.
func outcome(p *plans.Plan, in string) map[string]string {
	got := map[string]string{}
	switch p.Action {
	case plans.Pass:
		got["pass"] = ""
	case plans.Refuse:
		got["err"] = p.Refusal.Error()
	case plans.Keep:
		got["keep"] = ""
		if p.AtExecution {
			got["keep"] = "at execution"
			if out := bind.Text(p, false); out != in {
				got["out"] = out
			}
		}
	case plans.Fill:
		got["out"] = bind.Text(p, false)
		if p.Session {
			got["session"] = bind.Text(p, true)
		}
		h := bind.AssumedHoles(p)
		got["literal"] = bind.InlineAssumed(p, h, testKeys(p, h), false)
		var b strings.Builder
		for i, place := range bind.Places(p, false) {
			if i > 0 {
				b.WriteByte('\n')
			}
			in := &p.Inserts[place.Insert]
			fmt.Fprintf(&b, "arg %d: row %d, %s", place.Arg, place.Row, in.Target.Keys[place.Key].Column)
		}
		got["slots"] = b.String()
		if p.Unbound() == rewrite.ErrFirstUse {
			delete(got, "out") // nobody sends it
			delete(got, "slots")
		}
	}
	return got
}

func TestGolden(t *testing.T) {
	names := 0
	for _, a := range archives(t) {
		topic := strings.TrimSuffix(filepath.Base(a.path), ".txtar")
		for _, c := range a.cases {
			for _, d := range c.dialects {
				names++
				t.Run(topic+"/"+c.name+"/"+d.Name, func(t *testing.T) {
					a.run(t, c, d)
				})
			}
		}
		if *update {
			if err := os.WriteFile(a.path, txtar.Format(a.updated()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d cases and dialects", names)
}

// Cases that no engine here can judge name the pages of the manual that do.
func TestGoldenManuals(t *testing.T) {
	for _, a := range archives(t) {
		unjudged := map[string]bool{}
		for _, c := range a.cases {
			for _, d := range c.dialects {
				// MariaDB reads what it shares with MySQL.
				mysqlAlone := d.Name == "mysql" && !slices.ContainsFunc(c.dialects, func(d *dialect.Dialect) bool { return d.Name == "mariadb" })
				if mysqlAlone || d.Name == "sqlserver" || d.Name == "oracle" {
					unjudged[d.Name] = true
				}
			}
		}
		for name := range unjudged {
			// A page's title stands in double quotes.
			if strings.Count(a.manuals[name], `"`) < 2 {
				t.Errorf("%s has cases of %s and no line that begins with %q and names the page of the manual", a.path, name, "manual: "+name+":")
			}
		}
		for name := range a.manuals {
			if !unjudged[name] {
				t.Errorf("%s names the manual of %q and has no case for it", a.path, name)
			}
		}
	}
}

// run compares one case in one dialect. Under -update it takes what it got.
func (a *archive) run(t *testing.T, c *goldenCase, d *dialect.Dialect) {
	p := compile.Query(d, a.lookup(t, d), c.in)
	got := outcome(p, c.in)
	if p.Action != plans.Pass && words.Concerns(d, c.in)&words.ConcernsInsert == 0 {
		t.Errorf("Concerns(%q) has no ConcernsInsert, but the plan is to %s", c.in, p.Action)
	}
	if *update {
		for _, part := range []string{"slots", "literal"} {
			if _, ok := c.want[part]; !ok && got["out"] != "" {
				delete(got, part)
			}
		}
		c.want = got
		return
	}
	for _, part := range parts[1:] {
		g, inGot := got[part]
		w, inWant := c.want[part]
		switch {
		case !inWant && (part == "slots" || part == "literal"):
		case !inWant && inGot:
			t.Errorf("Compile(%q): unexpected .%s %q", c.in, part, g)
		case inWant && !inGot:
			t.Errorf("Compile(%q): no .%s, want %q; got %v", c.in, part, w, got)
		case g != w:
			t.Errorf("Compile(%q): .%s = %q, want %q", c.in, part, g, w)
		}
	}
}

// updated returns the archive with its cases' expectations.
func (a *archive) updated() *txtar.Archive {
	u := &txtar.Archive{Comment: a.txtar.Comment}
	for _, c := range a.cases {
		u.Files = append(u.Files, txtar.File{Name: c.name + ".in", Data: []byte(c.in + "\n")})
		for _, part := range parts[1:] {
			if text, ok := c.want[part]; ok {
				if text != "" || part != "keep" && part != "pass" {
					text += "\n"
				}
				u.Files = append(u.Files, txtar.File{Name: c.name + "." + part, Data: []byte(text)})
			}
		}
	}
	return u
}
