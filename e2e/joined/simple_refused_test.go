package joined_test

import (
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestSimpleProtocolRefused: under the simple protocol pgx takes no arguments, and no queries,
// where standard_conforming_strings is off or the client's encoding is not UTF8. keyfill's own
// statements go through there, with the names that tables have.
func TestSimpleProtocolRefused(t *testing.T) {
	t.Parallel()
	sources := map[string]policy.Source{
		"joined":     *harness.JoinedSource(),
		"maxplusone": {Kind: policy.KindMaxPlusOne, Lock: policy.LockRange, EnsureSchema: true},
		"sequence":   {Kind: policy.KindSequence, EnsureSchema: true},
		"scope":      {Kind: policy.KindSequence, Scope: &policy.Scope{{Column: "p"}}, EnsureSchema: true},
		"uuidv7":     {Kind: policy.KindUUIDv7},
	}
	harness.Each(t, []harness.Engine{harness.PgxSimple, harness.PgxMode("exec"), harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		for name, source := range sources {
			for _, setting := range []string{"standard_conforming_strings = off", "client_encoding = 'LATIN1'"} {
				t.Run(name+"/"+setting, func(t *testing.T) { simpleRefused(t, s, source, setting) })
			}
		}
	})
}

func simpleRefused(t *testing.T, s *harness.Scratch, source policy.Source, setting string) {
	const table = `t\'' it's`
	kind := "BIGINT"
	if source.Kind == policy.KindUUIDv7 {
		kind = "UUID"
	}
	harness.Must(t, s.Raw, `DROP TABLE IF EXISTS "`+table+`", keyfill_sequences`, `CREATE TABLE "`+table+`" (id `+kind+` PRIMARY KEY, p INT DEFAULT 1, a INT)`)
	db, _ := s.Open(t, harness.FillID(`"`+table+`"`, policy.Table{InPlace: &source}))
	db.SetMaxOpenConns(1)
	insert := fmt.Sprintf(`INSERT INTO "%s" (p, a) VALUES (1, 1)`, table)
	harness.Must(t, db, "SET "+setting, insert, insert, "SET "+setting, insert)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := tx.Exec(insert); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if n := harness.Count(t, s.Raw, `SELECT COUNT(*) FROM "`+table+`"`); n != 5 {
		t.Errorf("%d rows are stored, want 5", n)
	}
}
