package keys_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// remedySources are sources of all kinds with a state, each of which asks for its numbers
// one by one where it can, so that each error comes at once.
func remedySources(e harness.Engine) []harness.KeyKind {
	one := func(s *policy.Source) { s.Block = 1 }
	created := func(change func(*policy.Source)) func(*policy.Source) {
		return func(s *policy.Source) { s.Create = new(false); change(s) }
	}
	all := []harness.KeyKind{
		{Name: "sequence", Source: harness.Mapped(policy.KindSequence, one)},
		{Name: "sequence-uncreated", Source: harness.Mapped(policy.KindSequence, created(one))},
		{Name: "sequence-optimistic", Source: harness.Mapped(policy.KindSequence, func(s *policy.Source) { s.Block, s.Lock = 1, policy.LockOptimistic })},
		{Name: "sequence-joined", Source: harness.Mapped(policy.KindSequence, func(s *policy.Source) { s.Transaction = policy.TransactionJoined })},
		{Name: "sequence-procedure", Source: harness.Mapped(policy.KindSequence, func(s *policy.Source) { s.Block, s.Via = 1, policy.ViaProcedure }), Servers: true},
		{Name: "pseudorandom", Source: harness.Mapped(policy.KindPseudorandom, one)},
		{Name: "scatter", Source: harness.Mapped(policy.KindScatter, one)},
		{Name: "coprime", Source: harness.Mapped(policy.KindCoprime, func(s *policy.Source) { s.Block, s.Length = 1, 6 }), Column: "VARCHAR(6)"},
		{Name: "recycled", Source: harness.Mapped(policy.KindRecycled, one)},
		{Name: "snowflake", Source: harness.Mapped(policy.KindSnowflake, func(s *policy.Source) { s.Worker = harness.NewWorker() })},
		{Name: "composite", Source: harness.Mapped(policy.KindComposite, func(s *policy.Source) { s.Worker = harness.NewWorker() }), Column: "CHAR(20)"},
		{Name: "maxplusone", Source: harness.Mapped(policy.KindMaxPlusOne, nil)},
		{Name: "native", Source: policy.Source{Kind: policy.KindNative, Sequence: "numbers", Block: 10},
			Before: "CREATE SEQUENCE numbers INCREMENT BY 10", Servers: true},
		{Name: "native-one", Source: policy.Source{Kind: policy.KindNative, Sequence: "numbers", OnBehind: keysource.RemedyError, OnStoreRollback: keysource.RemedyError},
			Before: "CREATE SEQUENCE numbers", Servers: true},
	}
	// What a server does not say otherwise than SQLite is asked of that alone.
	return slices.DeleteFunc(all, func(k harness.KeyKind) bool {
		return k.Servers && e.Server == nil || e.Server != nil && !k.Servers && k.Name != "sequence" && k.Name != "sequence-joined"
	})
}

// faultsOf are what happens to the state of a source, and the error of the source for it where
// it has one.
var faultsOf = []struct {
	name  string
	texts func(k harness.KeyKind) []string
}{
	{"back", func(k harness.KeyKind) []string {
		if k.Source.Kind == policy.KindNative {
			return []string{"ALTER SEQUENCE numbers RESTART WITH 1"}
		}
		return []string{"UPDATE keyfill_sequences SET next_value = 1"}
	}},
	{"below one", func(k harness.KeyKind) []string {
		if k.Source.Kind == policy.KindNative {
			return nil
		}
		return []string{"UPDATE keyfill_sequences SET next_value = -5"}
	}},
	{"no row", func(k harness.KeyKind) []string {
		if k.Source.Kind == policy.KindNative {
			return []string{"DROP SEQUENCE numbers"}
		}
		return []string{"DELETE FROM keyfill_sequences"}
	}},
	{"other increment", func(k harness.KeyKind) []string {
		if k.Source.Kind != policy.KindNative {
			return nil
		}
		return []string{"ALTER SEQUENCE numbers INCREMENT BY 7"}
	}},
	{"at its end", func(k harness.KeyKind) []string {
		if k.Source.Kind == policy.KindNative {
			return []string{"ALTER SEQUENCE numbers MAXVALUE 1000 RESTART WITH 1000"}
		}
		return []string{"UPDATE keyfill_sequences SET next_value = 9223372036854775807"}
	}},
	{"other parameters", func(k harness.KeyKind) []string {
		if k.Source.Kind == policy.KindNative {
			return nil
		}
		return []string{"UPDATE keyfill_sequences SET parameters = 'series=7'"}
	}},
	{"another column's", func(k harness.KeyKind) []string {
		if k.Source.Kind == policy.KindNative {
			return nil
		}
		return []string{"UPDATE keyfill_sequences SET table_name = 'other'"}
	}},
}

// TestRemediesExist: no error of a source names a field or a word of the policy that the
// source has not, or a place where its state is not.
func TestRemediesExist(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}) {
		for _, k := range remedySources(e) {
			for _, fault := range faultsOf {
				texts := fault.texts(k)
				if texts == nil {
					continue
				}
				t.Run(e.Name+"/"+k.Name+"/"+fault.name, func(t *testing.T) {
					t.Parallel()
					s, k := e.Scratch(t), k
					if k.Source.Worker != nil {
						k.Source.Worker = harness.NewWorker()
					}
					k.Create(t, s)
					if strings.HasSuffix(k.Name, "uncreated") {
						made := k
						made.Source.Create = nil
						db, _ := s.Open(t, made.Config(e))
						harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
					}
					db, _ := s.Open(t, k.Config(e))
					for range 45 { // with blocks, more than one
						harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
					}
					for _, text := range texts {
						// Some sources have no such table.
						if _, err := s.Raw.Exec(text); err != nil && k.Source.Kind == policy.KindNative {
							t.Fatal(err)
						}
					}
					wantRemedies(t, e, k, insertAll(db))
					if k.Source.Worker == nil { // which only one process has
						late, _ := s.Open(t, k.Config(e))
						wantRemedies(t, e, k, insertAll(late))
						wantRemedies(t, e, k, insertTwice(late))
					}
				})
			}
		}
	}
}

// insertAll inserts until there is an error, or enough rows.
func insertAll(db *sql.DB) (err error) {
	for range 50 {
		if _, err = db.Exec("INSERT INTO t (a) VALUES (1)"); err != nil {
			break
		}
	}
	return err
}

// insertTwice inserts in a transaction, and again after an error.
func insertTwice(db *sql.DB) error {
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var all []error
	for range 2 {
		if _, err := tx.Exec("SAVEPOINT a"); err != nil {
			return err
		}
		_, err := tx.Exec("INSERT INTO t (a) VALUES (1)")
		all = append(all, err)
		if _, err := tx.Exec("ROLLBACK TO SAVEPOINT a"); err != nil {
			return err
		}
	}
	return errors.Join(all...)
}

// namedField finds the fields of a source that a text names, alone or with a value.
var namedField = regexp.MustCompile(`\bsay ([a-z_]+)|\b([a-z_]+): (?:true|error|advance|warn|[0-9]+)\b`)

// wantRemedies checks what an error names.
func wantRemedies(t *testing.T, e harness.Engine, k harness.KeyKind, err error) {
	t.Helper()
	if err == nil {
		return
	}
	text := err.Error()
	allows := func(field, word string) bool {
		_, err := compiled(e, fmt.Sprintf("kind: %s, %s%s: %s", k.Source.Kind, needed[k.Source.Kind], field, word))
		return err == nil || !strings.Contains(err.Error(), field+": ")
	}
	if strings.Contains(text, "advance") {
		field := "on_behind"
		if errors.Is(err, keysource.ErrStoreBack) {
			field = "on_store_rollback"
		}
		if !allows(field, "advance") {
			t.Errorf("%s has no %s: advance, and says: %s", k.Name, field, text)
		}
	}
	for _, found := range namedField.FindAllStringSubmatch(text, -1) {
		if field := cmp.Or(found[1], found[2]); !allows(field, "1") && !allows(field, "true") {
			t.Errorf("%s has no %s, and says: %s", k.Name, field, text)
		}
	}
	if k.Source.Kind == policy.KindNative && regexp.MustCompile("next_value|in keyfill_sequences").MatchString(text) {
		t.Errorf("%s has no row, and says: %s", k.Name, text)
	}
	if k.Source.Kind != policy.KindNative && regexp.MustCompile(`(?i)setval|ALTER SEQUENCE`).MatchString(text) {
		t.Errorf("%s has no sequence of the engine, and says: %s", k.Name, text)
	}
}

// needed are the fields that a kind cannot do without.
var needed = map[string]string{
	policy.KindSnowflake: "worker: 1, ", policy.KindComposite: "worker: 1, ", policy.KindCoprime: "length: 6, ",
}

// compiled compiles the policy of a source.
func compiled(e harness.Engine, source string) (*policy.Policy, error) {
	cfg, err := policy.Parse([]byte("version: 1\ndialect: " + e.Dialect.Name + "\ntables:\n  t: {column: id, source: {" + source + "}}\n"))
	if err != nil {
		return nil, err
	}
	return cfg.Compile(e.Dialect)
}
