package keys_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestColumnKind: a key column that does not hold the keys, and one of a view, are
// reported as such, and no row is stored.
func TestColumnKind(t *testing.T) {
	t.Parallel()
	const notAsSent = "does not hold every key as it is sent"
	for _, c := range []struct {
		name    string
		engines []harness.Engine
		create  []string
		want    string // in the error
	}{
		{"decimal", []harness.Engine{harness.MySQLDefault}, []string{"CREATE TABLE t (id DECIMAL(18,2) NOT NULL PRIMARY KEY, a INT)"}, "decimal(18,2) " + notAsSent},
		{"timestamp", []harness.Engine{harness.MySQLDefault}, []string{"CREATE TABLE t (id TIMESTAMP NOT NULL PRIMARY KEY, a INT)"}, "timestamp " + notAsSent},
		{"double", []harness.Engine{harness.MySQLDefault}, []string{"CREATE TABLE t (id DOUBLE NOT NULL PRIMARY KEY, a INT)"}, "double is a floating-point number"},
		{"timestamptz", []harness.Engine{harness.PgxDefault, harness.PQDefault}, []string{"CREATE TABLE t (id TIMESTAMPTZ NOT NULL PRIMARY KEY, a INT)"}, "timestamp with time zone " + notAsSent},
		{"numeric", []harness.Engine{harness.PgxDefault, harness.PQDefault}, []string{"CREATE TABLE t (id NUMERIC(18,2) NOT NULL PRIMARY KEY, a INT)"}, "numeric(18,2) " + notAsSent},
		{"money", []harness.Engine{harness.PgxDefault, harness.PQDefault}, []string{"CREATE TABLE t (id MONEY NOT NULL PRIMARY KEY, a INT)"}, "money " + notAsSent},
		{"a domain", []harness.Engine{harness.PgxDefault, harness.PQDefault}, []string{"CREATE DOMAIN price AS NUMERIC(18,2)", "CREATE TABLE t (id price NOT NULL PRIMARY KEY, a INT)"}, "price " + notAsSent},
		{"a view of another type", []harness.Engine{harness.MySQLDefault}, []string{"CREATE TABLE r (id DECIMAL(18,2) NOT NULL PRIMARY KEY, a INT)", "CREATE VIEW t AS SELECT id, a FROM r"},
			"the column is a view's, with the type of its query: decimal(18,2) " + notAsSent},
	} {
		t.Run(c.name, func(t *testing.T) {
			harness.Each(t, c.engines, func(t *testing.T, s *harness.Scratch) {
				harness.Must(t, s.Raw, c.create...)
				db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 1}}))
				_, err := db.Exec("INSERT INTO t (a) VALUES (1)")
				if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, keysource.ErrStoreDown) {
					t.Errorf("%v, want %q", err, c.want)
				}
				if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 0 {
					t.Errorf("%d rows", n)
				}
			})
		})
	}
}

// TestColumnKindView: the error of an INSERT into a view that the engine refuses is the
// engine's, which the plain driver gives too.
func TestColumnKindView(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE r (id BIGINT NOT NULL PRIMARY KEY, a INT)", "CREATE VIEW t AS SELECT id, max(a) AS a FROM r GROUP BY id")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 1}}))
		_, plain := s.Raw.Exec("INSERT INTO t (id, a) VALUES (1, 1)")
		_, err := db.Exec("INSERT INTO t (a) VALUES (1)")
		if plain == nil || err == nil || !strings.Contains(err.Error(), "view") && !strings.Contains(err.Error(), plain.Error()) {
			t.Errorf("%v, and through the plain driver %v", err, plain)
		}
	})
}
