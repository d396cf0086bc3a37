package dialect_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
)

var update = flag.Bool("update", false, "write docs/distributed.md")

// TestProducts: each fact says where it is known from, and what to do if the source does
// not suit. Each sign is answered by what it looks for, and not by the version of the
// family's own engine.
func TestProducts(t *testing.T) {
	names := map[string]bool{}
	for _, p := range dialect.Products() {
		if p.Name == "" || p.Title == "" || names[p.Name] || len(p.Signs) == 0 {
			t.Errorf("%+v is not described, or twice", p)
		}
		names[p.Name] = true
		for _, s := range p.Signs {
			if s.From == "" || !s.Found("x"+strings.ToUpper(s.Holds)+"x") {
				t.Errorf("%s: %+v", p.Name, s)
			}
			for _, own := range []string{"", "PostgreSQL 18.1 on x86_64-pc-linux-gnu", "8.4.6", "10.11.14-MariaDB"} {
				if strings.Contains(strings.ToLower(s.Query), "version()") && s.Found(own) {
					t.Errorf("%s is found in %q", p.Name, own)
				}
			}
		}
		for u, a := range p.Advice {
			switch a.Fit {
			case dialect.FitUnknown:
				if a != (dialect.Advice{}) {
					t.Errorf("%s, use %d: %+v", p.Name, u, a)
				}
			case dialect.FitYes:
				if a.Why == "" || a.From == "" || a.Cure != "" {
					t.Errorf("%s, use %d: %+v", p.Name, u, a)
				}
			default:
				if a.Why == "" || a.From == "" || a.Cure == "" {
					t.Errorf("%s, use %d: %+v", p.Name, u, a)
				}
			}
		}
	}
}

// TestUseOf: each kind has a use, and joined keys have their own.
func TestUseOf(t *testing.T) {
	for _, c := range []struct {
		kind   string
		joined bool
		use    dialect.Use
		ok     bool
	}{
		{"uuidv7", false, dialect.UseTime, true},
		{"sequence", false, dialect.UseRising, true},
		{"sequence", true, dialect.UseJoined, true},
		{"maxplusone", true, dialect.UseGreatest, true},
		{"unheard", false, 0, false},
	} {
		if use, ok := dialect.UseOf(c.kind, c.joined); use != c.use || ok != c.ok {
			t.Errorf("%s, joined %t: %d, %t", c.kind, c.joined, use, ok)
		}
	}
}

const (
	pageBegin = "<!-- engines: go test ./dialect -run TestDistributedPage -update -->\n"
	pageEnd   = "<!-- end of engines -->\n"
)

// TestDistributedPage: docs/distributed.md says what the data of package dialect says.
func TestDistributedPage(t *testing.T) {
	file := filepath.FromSlash("../docs/distributed.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(page), pageBegin)
	_, after, found := strings.Cut(rest, pageEnd)
	if !found {
		t.Fatal("the page lacks the comments around its table")
	}
	want := before + pageBegin + productPage() + pageEnd + after
	if string(page) == want {
		return
	}
	if !*update {
		t.Error("docs/distributed.md differs from package dialect: run this test with -update")
		return
	}
	if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

// productPage returns the table of products, and the reasons for each.
func productPage() string {
	var shown []*dialect.Product
	for _, p := range dialect.Products() {
		if p.Advice != [dialect.Uses]dialect.Advice{} {
			shown = append(shown, p)
		}
	}
	var b strings.Builder
	b.WriteString("| source |")
	for _, p := range shown {
		b.WriteString(" " + p.Title + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(shown)) + "\n")
	for u := range dialect.Uses {
		b.WriteString("| " + useName(u) + " |")
		for _, p := range shown {
			b.WriteString(" " + p.Advice[u].Fit.String() + " |")
		}
		b.WriteString("\n")
	}
	b.WriteString("\n`hot`: keys are right, and all INSERTs go to one place.\n")
	for _, p := range shown {
		how := "read, not run"
		if p.Run {
			how = "run"
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", p.Title, strings.ToUpper(how[:1])+how[1:]+".")
		var signs []string
		for _, s := range p.Signs {
			signs = append(signs, fmt.Sprintf("`%s` holds `%s` (%s)", s.Query, s.Holds, s.From))
		}
		fmt.Fprintf(&b, "- Known by: %s.\n", strings.Join(signs, "; "))
		for _, line := range reasons(p) {
			b.WriteString("- " + line + "\n")
		}
	}
	return b.String()
}

// reasons returns a line for each advice of a product; uses with the same advice share one.
func reasons(p *dialect.Product) []string {
	var lines []string
	var told []dialect.Advice
	for _, a := range p.Advice {
		if a.Fit == dialect.FitUnknown || slices.Contains(told, a) {
			continue
		}
		told = append(told, a)
		var uses []string
		for u, other := range p.Advice {
			if other == a {
				uses = append(uses, useName(dialect.Use(u)))
			}
		}
		line := fmt.Sprintf("%s: **%s**, since %s.", strings.Join(uses, ", "), a.Fit, a.Why)
		if a.Cure != "" {
			line += " " + strings.ToUpper(a.Cure[:1]) + a.Cure[1:] + "."
		}
		lines = append(lines, line+" ["+a.From+"]")
	}
	return lines
}

func useName(u dialect.Use) string {
	if u == dialect.UseJoined {
		return "joined"
	}
	return "`" + strings.Join(u.Kinds(), "`, `") + "`"
}
