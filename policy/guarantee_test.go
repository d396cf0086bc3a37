package policy_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

const (
	guaranteesPage = "../docs/guarantees.md"

	tableBegin = "<!-- table of guarantees: go test ./policy -update -->\n"
	tableEnd   = "<!-- end of table -->\n"
)

// methodName returns a source of policy.Methods as the table calls it.
func methodName(s policy.Source) string {
	words := []string{"`" + s.Kind + "`"}
	add := func(format string, args ...any) { words = append(words, "`"+fmt.Sprintf(format, args...)+"`") }
	switch {
	case s.Prefix != "":
		add("prefix: %s", s.Prefix)
	case s.Block != 0:
		add("block: %d", s.Block)
	case s.Length != 0:
		add("length: %d", s.Length)
	}
	for _, f := range []struct{ name, value string }{
		{"transaction", s.Transaction}, {"via", s.Via}, {"lock", s.Lock}, {"spread", s.Spread}, {"store", s.Store},
	} {
		if f.value != "" {
			add("%s: %s", f.name, f.value)
		}
	}
	if s.Format != "" {
		add("format: %q", s.Format)
	}
	if s.Period.Every != "" {
		add("period: %s", s.Period.Every)
	}
	if s.WorkerLease != 0 {
		add("worker_lease: %s", s.WorkerLease)
	}
	if s.From != nil {
		add("from: [%s, %s]", (*s.From)[0].Column, (*s.From)[1].Column)
	}
	if s.Scope != nil {
		add("scope: [%s]", (*s.Scope)[0].Column)
	}
	return strings.Join(words, ", ")
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// cells returns what the table says of a guarantee.
func cells(g policy.Guarantee) string {
	return fmt.Sprintf("%s | %s | %s | %s | %s | %s",
		g.Unique, g.Ordered, yes(g.Contiguous), yes(g.GapFree), yes(g.Short), yes(g.Unguessable))
}

// onGalera returns what the table says of a cluster, in a row about some engines.
func onGalera(s policy.Source, engines []string) string {
	if !slices.Contains(engines, dialect.MariaDB().Title) {
		return ""
	}
	g, _ := policy.Guarantees(s, dialect.MariaDB())
	on, ok := policy.GuaranteesOnGalera(s)
	switch {
	case !ok:
		return "refused"
	case on == g:
		return "the same"
	case on.Unique == g.Unique && on.Ordered == policy.NotOrdered && !on.Contiguous:
		return "not ordered, one row a statement"
	}
	return fmt.Sprintf("%+v", on)
}

// guaranteeTable returns the table, with a row for each method and all engines
// for which it is the same.
func guaranteeTable() string {
	var b strings.Builder
	b.WriteString("| method | engines | unique | ordered | contiguous | gap-free | short | unguessable | on Galera |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	for _, s := range policy.Methods() {
		if s.Kind == policy.KindIdentity {
			fmt.Fprintf(&b, "| %s | all | as the engine has it | | | | | | |\n", methodName(s))
			continue
		}
		var order []string
		engines := make(map[string][]string)
		for _, d := range dialect.All() {
			g, ok := policy.Guarantees(s, d)
			if !ok {
				continue
			}
			c := cells(g)
			if engines[c] == nil {
				order = append(order, c)
			}
			engines[c] = append(engines[c], d.Title)
		}
		for _, c := range order {
			who := strings.Join(engines[c], ", ")
			if len(engines[c]) == len(dialect.All()) {
				who = "all"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", methodName(s), who, c, onGalera(s, engines[c]))
		}
		if g, _ := policy.Guarantees(s, dialect.MySQL()); s.Kind == policy.KindUUIDv7 {
			fmt.Fprintf(&b, "| %s, `layout: swapped` | all | %s | the same |\n", methodName(s), cells(g.In(dialect.Swapped)))
		}
	}
	return b.String()
}

// TestGuaranteesPage: the table of docs/guarantees.md is what the code declares.
func TestGuaranteesPage(t *testing.T) {
	text, err := os.ReadFile(guaranteesPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), tableBegin)
	got, after, closed := strings.Cut(rest, tableEnd)
	if !found || !closed {
		t.Fatalf("%s has no table between %q and %q", guaranteesPage, tableBegin, tableEnd)
	}
	want := guaranteeTable()
	if *update {
		if err := os.WriteFile(guaranteesPage, []byte(before+tableBegin+want+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("%s has the table\n%s\nwant\n%s\nrun go test ./policy -update", guaranteesPage, got, want)
	}
}

// TestMethods: every kind is among the methods, each of which compiles for the
// engines that have it, and for no other.
func TestMethods(t *testing.T) {
	kinds := make(map[string]bool)
	for _, s := range policy.Methods() {
		kinds[s.Kind] = true
		had := 0
		for _, d := range dialect.All() {
			cfg := policy.Config{Tables: map[string]policy.Table{"t": {Column: "id", InPlace: &s}}}
			_, err := cfg.Compile(d)
			_, ok := policy.Guarantees(s, d)
			if s.Kind != policy.KindIdentity && ok != (err == nil) {
				t.Errorf("%s: Guarantees of %+v are known: %v; Compile says %v", d.Name, s, ok, err)
			}
			if err == nil {
				had++
			}
		}
		if had == 0 {
			t.Errorf("no engine has %+v", s)
		}
	}
	for _, kind := range policy.KindNames() {
		if !kinds[kind] {
			t.Errorf("%s is not among the methods", kind)
		}
	}
	if _, ok := policy.Guarantees(policy.Source{Kind: "x"}, dialect.MySQL()); ok {
		t.Error("an unknown kind has guarantees")
	}
}

// TestGuaranteesAreThoseOfTheSources compares them with what the sources say of
// themselves.
func TestGuaranteesAreThoseOfTheSources(t *testing.T) {
	compared := 0
	for _, s := range policy.Methods() {
		if s.Format != "" {
			continue // the source counts, and a mapping makes the texts: see TestGuaranteesOfMappings
		}
		if s.WorkerEnv != "" {
			s.WorkerEnv, s.Worker = "", new(1)
		}
		var source keysource.Source
		var err error
		switch s.Kind {
		case policy.KindSequence:
			o := sequenceOptions(s)
			o.Reserver = idle{}
			source, err = counting.NewSequence(o, keysource.Env{})
		default:
			if source, err = policy.NewSource(s, keysource.Env{}); err != nil {
				continue // a database makes it
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		compared++
		g, _ := policy.Guarantees(s, dialect.PostgreSQL())
		ordered := g.Ordered != policy.NotOrdered && g.Ordered != policy.OrderedByMillisecond
		traits := source.Traits()
		if traits.Ordered != ordered || traits.Contiguous != g.Contiguous || traits.Integer != g.Short {
			t.Errorf("%+v has the traits %+v and the guarantees %+v", s, traits, g)
		}
	}
	if compared < 8 {
		t.Errorf("%d sources were compared, want 8 at least", compared)
	}
}

// TestGuaranteesOfMappings looks at keys of consecutive numbers.
func TestGuaranteesOfMappings(t *testing.T) {
	for _, s := range policy.Methods() {
		m, err := s.Mapping("state", 63)
		if err != nil {
			t.Fatal(err)
		}
		if m == nil || s.Kind == policy.KindComposite {
			continue // a composite has the numbers of a snowflake
		}
		g, _ := policy.Guarantees(s, dialect.PostgreSQL())
		numbers := 1000
		if s.Kind == policy.KindPseudorandom {
			numbers = 130_000 // so that it goes around
		}
		ascending, long := true, false
		seen, last := make(map[any]bool), any(nil)
		for number := range numbers {
			key := m.Key(int64(number)+1, "")
			if seen[key] {
				t.Errorf("%s makes a key twice", s.Kind)
			}
			seen[key] = true
			text, isText := key.(string)
			long = long || isText && len(text) > 8
			if number > 0 {
				ascending = ascending && less(last, key)
			}
			last = key
		}
		if ascending != (g.Ordered != policy.NotOrdered) || g.Contiguous || long == g.Short {
			t.Errorf("%s: the keys ascend: %v, one is long: %v; its guarantees are %+v", s.Kind, ascending, long, g)
		}
	}
}

func less(a, b any) bool {
	if text, ok := a.(string); ok {
		return text < b.(string)
	}
	return a.(int64) < b.(int64)
}

// TestGuaranteesDepend is about what the fields of a source change.
func TestGuaranteesDepend(t *testing.T) {
	numbers := policy.Guarantee{Unique: policy.Unique, Ordered: policy.OrderedInProcess, Contiguous: true, Short: true}
	with := func(change func(g *policy.Guarantee)) policy.Guarantee {
		g := numbers
		change(&g)
		return g
	}
	tests := []struct {
		name    string
		source  policy.Source
		dialect *dialect.Dialect
		want    policy.Guarantee
	}{
		{"sequence", policy.Source{Kind: "sequence"}, dialect.MySQL(), numbers},
		{"one at a time", policy.Source{Kind: "sequence", Block: 1}, dialect.MySQL(),
			with(func(g *policy.Guarantee) { g.Ordered = policy.Ordered })},
		{"joined", policy.Source{Kind: "sequence", Transaction: policy.TransactionJoined}, dialect.MySQL(),
			with(func(g *policy.Guarantee) { g.Ordered, g.GapFree = policy.Ordered, true })},
		{"scoped", policy.Source{Kind: "sequence", Scope: &policy.Scope{{Column: "a"}}}, dialect.MySQL(),
			with(func(g *policy.Guarantee) {
				g.Unique, g.Ordered, g.GapFree = policy.UniqueInScope, policy.OrderedInScope, true
			})},
		{"native in blocks", policy.Source{Kind: "native", Block: 20}, dialect.Oracle(), numbers},
		{"native of a cluster", policy.Source{Kind: "native"}, dialect.Oracle(), numbers},
		{"native", policy.Source{Kind: "native"}, dialect.PostgreSQL(),
			with(func(g *policy.Guarantee) { g.Ordered = policy.Ordered })},
		{"snowflake on SQLite", policy.Source{Kind: "snowflake", Worker: new(1)}, dialect.SQLite(),
			with(func(g *policy.Guarantee) { g.Unique = policy.UniqueByWorker })},
		{"snowflake of a store on SQLite", policy.Source{Kind: "snowflake", Worker: new(1), Store: "s"}, dialect.SQLite(), numbers},
		{"long text", policy.Source{Kind: "coprime", Length: 9}, dialect.MySQL(),
			policy.Guarantee{Unique: policy.Unique, Ordered: policy.NotOrdered}},
		{"text that grows long", policy.Source{Kind: "coprime", Length: 8, Grow: true}, dialect.MySQL(),
			policy.Guarantee{Unique: policy.Unique, Ordered: policy.NotOrdered}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := policy.Guarantees(tt.source, tt.dialect); got != tt.want || !ok {
				t.Errorf("Guarantees of %+v = %+v, %v, want %+v", tt.source, got, ok, tt.want)
			}
		})
	}
}
