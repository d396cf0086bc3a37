// Package columnscan_test scans columns as pgx does from Go 1.27 on, where rows have
// driver.RowsColumnScanner. It is a package of its own so that it is built soon by
// another Go than the other tests: see "make newest".
package columnscan_test

import (
	"context"
	"database/sql"
	"fmt"
	"go/build"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/policy"
)

var postgresql = testdb.New(testdb.PostgreSQL())

func TestMain(m *testing.M) { testdb.Main(m, postgresql) }

// queryer is a *sql.DB or a statement with its query.
type queryer func(ctx context.Context, args ...any) (*sql.Rows, error)

// TestScanArray scans a text[] into a []string by every way on which rows come, by
// the plain driver and through keyfill: the same list, or before Go 1.27 the same
// error.
//
//deviation:wrapper | From Go 1.27 on, rows of an INSERT whose key belongs to its transaction have no `driver.RowsColumnScanner` where they are in memory, so `Scan` takes from them what it took before Go 1.27. | all | pgx: a `text[]` of RETURNING into a `[]string` | `pgtype.Map.SQLScanner`
func TestScanArray(t *testing.T) {
	dsn := postgresql.DSN(postgresql.Database(t, "pgx"))
	plain, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	for _, query := range []string{
		"CREATE TABLE uuids (id uuid PRIMARY KEY, tags text[])",
		"CREATE TABLE numbers (id bigint PRIMARY KEY, tags text[])",
		"CREATE TABLE plain_uuids (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), tags text[])",
		"CREATE TABLE plain_numbers (id bigserial PRIMARY KEY, tags text[])",
	} {
		if _, err := plain.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	mount, err := keyfill.RegisterByName("pgx-columnscan-keyfill", "pgx", keyfill.Options{Policy: &policy.Config{Tables: map[string]policy.Table{
		"uuids":   {Column: "id"},
		"numbers": {Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx-columnscan-keyfill", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()

	cases := []struct{ name, query string }{
		{"select", "SELECT $1::text[], 1"},
		{"elsewhere", "INSERT INTO plain_numbers (tags) VALUES ($1) RETURNING tags, id"},
		{"uuid", "INSERT INTO uuids (tags) VALUES ($1) RETURNING tags, id"},
		{"number", "INSERT INTO numbers (tags) VALUES ($1) RETURNING tags, id"},
	}
	for _, c := range cases {
		for _, recorded := range []bool{false, true} {
			for _, prepared := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/recorded=%t/prepared=%t", c.name, recorded, prepared), func(t *testing.T) {
					ctx, rec := context.Background(), (*keyfill.Recorder)(nil)
					if recorded {
						ctx, rec = keyfill.Record(ctx)
					}
					want, wanted := scan(t, ctx, plain, plainly.Replace(c.query), prepared)
					got, failed := scan(t, ctx, db, c.query, prepared)
					if !slices.Equal(got, want) || fmt.Sprint(failed) != fmt.Sprint(wanted) {
						t.Errorf("through keyfill %q, %v; the plain driver %q, %v", got, failed, want, wanted)
					}
					if slices.Contains(build.Default.ReleaseTags, "go1.27") != slices.Equal(want, tags) {
						t.Errorf("the plain driver scans %q, %v", want, wanted)
					}
					if recorded && c.name == "uuid" && failed == nil {
						stored(t, plain, rec)
					}
				})
			}
		}
	}
	filled := mount.Stats().Tables
	if filled["uuids"].Filled != 4 || filled["numbers"].Filled != 4 {
		t.Errorf("filled were %+v, want 4 of each", filled)
	}
}

// plainly makes a query one of tables whose keys the engine makes.
var plainly = strings.NewReplacer("INTO uuids", "INTO plain_uuids", "INTO numbers", "INTO plain_numbers")

var tags = []string{"a", "b c"}

// scan executes a query and scans the first column of its only row into a list.
func scan(t *testing.T, ctx context.Context, db *sql.DB, query string, prepared bool) ([]string, error) {
	t.Helper()
	run := queryer(func(ctx context.Context, args ...any) (*sql.Rows, error) { return db.QueryContext(ctx, query, args...) })
	if prepared {
		stmt, err := db.PrepareContext(ctx, query)
		if err != nil {
			t.Fatal(err)
		}
		defer stmt.Close()
		run = stmt.QueryContext
	}
	rows, err := run(ctx, tags)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		if err := rows.Scan(&list, new(any)); err != nil {
			return nil, err
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list, nil
}

// stored checks that the key of a record is in the table.
func stored(t *testing.T, db *sql.DB, rec *keyfill.Recorder) {
	t.Helper()
	id, ok := keyfill.Last[uuid.UUID](rec, "uuids")
	n := 0
	if err := db.QueryRow("SELECT COUNT(*) FROM uuids WHERE id = $1", id).Scan(&n); err != nil || !ok || n != 1 {
		t.Errorf("the recorded key %v, %t is in %d rows, error %v", id, ok, n, err)
	}
}
