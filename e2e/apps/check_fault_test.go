package apps_test

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/check"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
)

// fault is a planted one.
type fault struct {
	name   string
	schema []string // statements
	policy string   // what follows "version: 1\ntables:\n", whose first line is line 3

	rule, table, column string
	line                int

	// The remedy is SQL, which is run, unless one of these mends the fault as the
	// remedy says: another policy, or other statements.
	fixed string
	mend  []string

	says string // a part of the message or remedy; empty for any
}

const head = "version: 1\ntables:\n"

// look runs the check of a policy, as the command does.
func look(t *testing.T, s *harness.Scratch, text string) ([]check.Finding, int) {
	t.Helper()
	return lookWith(t, s, text, check.Options{Connector: s.Connector})
}

// lookWith is look with options besides the tables.
func lookWith(t *testing.T, s *harness.Scratch, text string, o check.Options) ([]check.Finding, int) {
	t.Helper()
	o.PoolerPatience = cmp.Or(o.PoolerPatience, harness.Limit)
	cfg := parsed(t, text)
	facts, _ := drivers.Of(o.Connector.Driver())
	dialects := []*dialect.Dialect{facts.Dialect}
	if facts.Family {
		dialects = []*dialect.Dialect{dialect.MySQL(), dialect.MariaDB()}
	}
	var err error
	if cfg.Dialect != "" {
		if dialects[0], err = dialect.ByName(cfg.Dialect); err != nil {
			t.Fatal(err)
		}
		dialects = dialects[:1]
	}
	if o.Tables, err = relation.NewTables(table.Options{Policy: cfg}, facts, dialects); err != nil {
		t.Fatal(err)
	}
	findings, statements, err := check.RunCounted(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if !slices.Contains(check.Rules(), f.Rule) || f.Message == "" || f.Remedy == "" || f.Severity == "" {
			t.Errorf("an unfinished finding: %+v", f)
		}
		if all := f.Message + f.Remedy; strings.Contains(all, secretWord) || strings.Contains(all, "://") {
			t.Errorf("a finding holds a DSN: %+v", f)
		}
	}
	return findings, statements
}

// secretWord is the password of the users that the tests make, and a part of the DSNs
// that nothing answers.
const secretWord = "secretword"

// ruled returns the findings of a rule.
func ruled(findings []check.Finding, rule string) []check.Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f check.Finding) bool { return f.Rule != rule })
}

func executeAll(t *testing.T, s *harness.Scratch, statements ...string) {
	t.Helper()
	c, err := s.Raw.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, statement := range statements {
		if _, err := c.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// TestFaults: each fault is found with its table, column and line, and is gone when
// its remedy was applied. An INSERT through keyfill fails where a finding says so. After the
// remedies one into each table of the policy works.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, on := range []struct {
		engine harness.Engine
		faults []fault
	}{
		{harness.SQLiteFile, sqliteFaults}, {harness.MySQLDefault, mariadbFaults}, {harness.PgxDefault, postgresqlFaults},
	} {
		t.Run(on.engine.Name, func(t *testing.T) {
			t.Parallel()
			for _, f := range on.faults {
				t.Run(f.name, func(t *testing.T) { f.test(t, on.engine) })
			}
		})
	}
	if n := len(sqliteFaults) + len(mariadbFaults) + len(postgresqlFaults); n < 40 {
		t.Errorf("%d faults are planted", n)
	}
}

func (f *fault) test(t *testing.T, e harness.Engine) {
	s := e.Scratch(t)
	executeAll(t, s, f.schema...)
	findings, _ := look(t, s, f.policy)
	i := slices.IndexFunc(findings, f.is)
	if i < 0 {
		t.Fatalf("%s of %s.%s in line %d is not among %+v", f.rule, f.table, f.column, f.line, findings)
	}
	found := findings[i]
	if !strings.Contains(found.Message+"\n"+found.Remedy, f.says) {
		t.Errorf("%+v does not say %q", found, f.says)
	}
	listedIsRead(t, s)
	before := e.Scratch(t) // whose INSERT would change what the remedy is for
	executeAll(t, before, f.schema...)
	follow(t, before, f, findings)
	text := f.policy
	switch {
	case f.fixed != "":
		text = f.fixed
	case f.mend != nil:
		executeAll(t, s, f.mend...)
	case !found.IsSQL():
		t.Fatalf("the remedy is no SQL: %s", found.Remedy)
	default:
		// The script has the remedies of all findings, as --fix prints them.
		runScript(t, s, check.Script(findings))
	}
	findings, _ = look(t, s, text)
	for _, one := range findings {
		if found.IsSQL() && one.IsSQL() {
			t.Errorf("the script leaves %+v\n%s", one, check.Script(findings))
		}
		if one.Rule == f.rule && (one.Table == f.table && one.Column == f.column || f.fixed != "") {
			t.Errorf("after %q there is %+v", found.Remedy, one)
		}
	}
	works(t, s, f, text, findings)
}

func (f *fault) is(one check.Finding) bool {
	return one.Rule == f.rule && one.Table == f.table && one.Column == f.column && one.Line == f.line
}

// listedIsRead compares what all tables are listed as with what the run reads of each:
// the check must not say otherwise than the run.
func listedIsRead(t *testing.T, s *harness.Scratch) {
	t.Helper()
	q := catalog.DB(s.Raw)
	exact := s.Dialect
	if s.Dialect.Grammar.TableCase {
		if is, err := catalog.Exact(t.Context(), q); err != nil {
			t.Fatal(err)
		} else if is {
			exact = s.Dialect.WithExactTables()
		}
	}
	over, err := catalog.List(t.Context(), exact, q, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, listed := range over.Tables {
		read, err := catalog.Read(t.Context(), exact, q, exact.Fold(listed.Schema, true), exact.FoldTable(listed.Name, true))
		if err != nil {
			t.Error(err)
			continue
		}
		got, want := *listed.Table, *read
		if s.Dialect.Family == dialect.FamilyMySQL {
			// The right to see triggers is not asked for.
			want.InsertTriggers, want.KeyTriggers = got.InsertTriggers, got.KeyTriggers
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s is listed as\n%+v\nand read as\n%+v", listed.Name, got, want)
		}
	}
}
