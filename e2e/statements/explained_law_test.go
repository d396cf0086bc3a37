package statements_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/internal/txtar"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// explainedKinds are the policies under which golden cases are explained.
var explainedKinds = []string{"autonomous", "session", "joined"}

// TestExplainedAsDriven: with a database an explanation says what the driver does, for
// every golden case of its dialect: the action, the text that is sent up to the keys in it,
// and why it is refused. The driver sends nothing here but its questions, so that each case
// finds the database as the explanation did. The explanations change nothing.
func TestExplainedAsDriven(t *testing.T) {
	t.Parallel()
	archives := goldenArchives(t)
	for _, e := range slices.Concat([]harness.Engine{harness.SQLiteFile}, harness.ByTurns(t, []harness.Engine{harness.MySQLMulti, harness.PgxDefault})) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			s := e.Scratch(t)
			goldenTables(t, s)
			for _, query := range selectRows {
				harness.Exec(t, s.Raw, query)
			}
			compared := 0
			some := archives
			if s.Server != nil { // SQLite takes a second for all
				some = testturn.Some(t, archives, 6)
			}
			for _, a := range some {
				for _, kind := range explainedKinds {
					if kind == "session" && s.Dialect.Name != "mariadb" {
						continue
					}
					compared += explainedAsDriven(t, s, a, kind)
				}
			}
			if compared == 0 {
				t.Error("nothing was compared")
			}
			t.Logf("%d explanations", compared)
		})
	}
}

// goldenArchive is an archive of golden cases with its topic.
type goldenArchive struct {
	topic string
	*txtar.Archive
}

func goldenArchives(t *testing.T) (all []goldenArchive) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(goldenDir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden archives in %s: %v", goldenDir, err)
	}
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, goldenArchive{strings.TrimSuffix(filepath.Base(path), ".txtar"), a})
	}
	return all
}

// explainedAsDriven compares the cases of an archive, and returns how many there are.
func explainedAsDriven(t *testing.T, s *harness.Scratch, a goldenArchive, kind string) int {
	t.Helper()
	targets, err := goldenTargets(a.Archive)
	if err != nil {
		t.Fatal(err)
	}
	c, err := keyfill.WrapConnector(explain.Database{Connector: s.Connector}, keyfill.Options{Policy: explainedPolicy(s.Dialect, targets, kind)})
	if err != nil {
		t.Fatalf("%s: %v", a.topic, err)
	}
	x, err := explain.On(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()

	var cases []goldenCase
	for _, f := range a.Files {
		name, isIn := strings.CutSuffix(f.Name, ".in")
		one := goldenCase{name: a.topic + "/" + name, dialects: dialectsOf(a.Archive, name), archive: a.Archive, in: strings.TrimSuffix(string(f.Data), "\n")}
		if isIn && one.holdsIn(s.Dialect) {
			cases = append(cases, one)
		}
	}
	before := everythingIn(t, s)
	explained := make([]explain.Explanation, len(cases))
	for i, one := range cases {
		setUp(t, s, one.name, func() {
			if explained[i], err = x.Explain(one.in); err != nil {
				t.Errorf("%s, %s: %v", one.name, kind, err)
			}
		})
	}
	if after := everythingIn(t, s); after != before {
		t.Fatalf("%s, %s: an explanation has changed the database from\n%s\nto\n%s", a.topic, kind, before, after)
	}
	driven := drive(t, s, explainedPolicy(s.Dialect, targets, kind))
	for i, one := range cases {
		p := compile.Query(s.Dialect, goldenLookup(s.Dialect, targets), one.in)
		setUp(t, s, one.name, func() { compareExplained(t, s, one, kind, p, explained[i], driven) })
	}
	driven.db.Close()
	dropStates(t, s)
	return len(cases)
}

// compareExplained compares an explanation with what the driver does. It returns false where
// the driver asks for what an explanation does not have.
func compareExplained(t *testing.T, s *harness.Scratch, c goldenCase, kind string, p *plans.Plan, ex explain.Explanation, driven *drivenDatabase) bool {
	t.Helper()
	if p.Parts != nil && kind == "joined" {
		return false // each part would have to store as many rows as were counted
	}
	got := driven.send(c.in, p.Parts != nil, argsOf(make([]argKind, p.Placeholders()), c.names()))
	switch {
	case isOfArguments(got.err):
		return false // which an explanation does not have
	case ex.Action == "fill" && got.isUncounted(), got.err != nil && strings.HasSuffix(got.err.Error(), "#no-table]"):
		return false // it has no tables here
	case ex.Reason == "decided at execution" && (errors.Is(got.err, catalog.ErrType) || errors.Is(got.err, catalog.ErrNarrow)):
		return false // the argument brings a key, but a text that is prepared must take keyfill's too
	}
	tell := func(what string) {
		t.Helper()
		t.Errorf("%s, %s: %s\nexplained: %s %q\n  %s\ndriver: %s %v\n  %s\nin: %s", c.name, kind, what, ex.Action, ex.Reason, ex.SQL, got.action, got.err, got.text, c.in)
	}
	switch {
	case ex.Action != got.action:
		tell("another action")
	case ex.Action == "refuse" && !strings.Contains(got.err.Error(), ex.Reason):
		tell("another reason")
	case ex.Action == "refuse" || ex.Action == "keep" && ex.Reason != "":
	case maskedKeys(s.Dialect, ex.SQL) != maskedKeys(s.Dialect, got.text):
		tell("another text")
	}
	return true
}

// isOfArguments reports whether an INSERT is refused for the arguments that were bound.
func isOfArguments(err error) bool {
	return slices.ContainsFunc([]rewrite.Reason{rewrite.ErrArguments, rewrite.ErrNamed, rewrite.ErrArray, rewrite.ErrScope}, func(r rewrite.Reason) bool { return errors.Is(err, r) })
}

// isUncounted reports whether the rows of a query could not be counted: the engine's
// error is the query's.
func (d driven) isUncounted() bool {
	var own *keyfill.Error
	return d.err != nil && d.text == "" && !errors.As(d.err, &own)
}

// drivenDatabase is a database that keyfill opens and that executes nothing but
// questions.
type drivenDatabase struct {
	connector withholding
	db        *sql.DB // through keyfill
}

// driven is what the driver has done with a text.
type driven struct {
	action, text string
	err          error
}

// drive opens a database that is closed when the test ends.
func drive(t *testing.T, s *harness.Scratch, cfg *policy.Config) *drivenDatabase {
	t.Helper()
	connector := withholding{s.Connector, &withheldText{dialect: s.Dialect}}
	db, _ := harness.OpenConnector(t, connector, keyfill.Options{Policy: cfg})
	db.SetMaxIdleConns(0) // so that each text finds a new session
	return &drivenDatabase{connector, db}
}

// send executes a text, up to what would change something.
func (d *drivenDatabase) send(query string, parts bool, args []any) (got driven) {
	var actions []string
	ctx := keyfill.WithTrace(context.Background(), func(e keyfill.Event) { actions = append(actions, e.Action) })
	d.connector.text.begin(query, parts)
	_, got.err = d.db.ExecContext(ctx, query, args...)
	got.text = d.connector.text.noted()
	got.action = "pass"
	for _, action := range []string{"keep", "fill", "refuse"} {
		if slices.Contains(actions, action) {
			got.action = action
		}
	}
	if got.err != nil && !errors.Is(got.err, errWithheld) {
		got.action = "refuse" // before the INSERT was sent
	}
	return got
}

// maskedKeys returns a text with all strings and numbers alike.
func maskedKeys(d *dialect.Dialect, text string) string {
	var b strings.Builder
	for at := 0; at < len(text); {
		kind, end := scan.NextToken(d, text, at)
		switch piece := text[at:end]; {
		case kind == scan.String, kind.IsOther() && piece[0] >= '0' && piece[0] <= '9':
			b.WriteString("0")
		default:
			b.WriteString(piece)
		}
		at = end
	}
	return b.String()
}

// setUp calls f with what a case needs beside the tables.
func setUp(t *testing.T, s *harness.Scratch, name string, f func()) {
	t.Helper()
	for _, query := range goldenSetup[name].before {
		harness.Exec(t, s.Raw, query)
	}
	f()
	for _, query := range goldenSetup[name].behind {
		_, _ = s.Raw.Exec(query) // what the case itself would make is not there
	}
}

// explainedPolicy returns the targets as a policy whose integers come from sequences in the
// database itself.
func explainedPolicy(d *dialect.Dialect, targets []goldenTarget, kind string) *policy.Config {
	cfg := goldenOptions(d, targets, kind == "session").Policy
	cfg.Dialect = "" // the driver decides, or the server
	for _, table := range cfg.Tables {
		for i := range table.Keys {
			storeHere(table.Keys[i].InPlace, kind)
		}
	}
	return cfg
}

// storeHere makes an integer come from a state in the database itself.
func storeHere(src *policy.Source, kind string) {
	if src == nil {
		return
	}
	src.EnsureSchema, src.Start, src.OnBehind = true, 1, keysource.RemedyAdvance
	if src.Scope != nil {
		return // which is joined in any case
	}
	src.Exclusive = true
	if kind == "joined" {
		src.Transaction = policy.TransactionJoined
	}
}

// dropStates drops the tables of the states that a driver has made.
func dropStates(t *testing.T, s *harness.Scratch) {
	t.Helper()
	for _, table := range goldenCatalog(t, s) {
		if strings.HasPrefix(table.name, "keyfill_") {
			harness.Exec(t, s.Raw, "DROP TABLE "+quoted(s, table.name))
		}
	}
}

// everythingIn returns all rows of all tables.
func everythingIn(t *testing.T, s *harness.Scratch) string {
	t.Helper()
	var b strings.Builder
	for _, table := range goldenCatalog(t, s) {
		fmt.Fprintf(&b, "%s %v\n", table.name, table.columns)
		rows, err := s.Raw.Query("SELECT * FROM " + quoted(s, table.name))
		if err != nil {
			t.Fatal(err)
		}
		sets, err := goldenRows(rows)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, set := range sets {
			line := ""
			for _, v := range set {
				line += " " + keyNamed(v, nil)
			}
			lines = append(lines, line+"\n")
		}
		slices.Sort(lines)
		b.WriteString(strings.Join(lines, ""))
	}
	return b.String()
}
