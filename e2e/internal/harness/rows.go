package harness

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
)

// CreateIDs creates tables with an id and a number.
func CreateIDs(t *testing.T, s *Scratch, tables ...string) {
	t.Helper()
	for _, table := range tables {
		Exec(t, s.Raw, "CREATE TABLE "+table+" (id BIGINT NOT NULL PRIMARY KEY, a INT)")
	}
}

// InsertT inserts one row into the table t without its key.
const InsertT = "INSERT INTO t (a) VALUES (1)"

// WantNumbers compares the ids of t with those that are expected.
func (s *Scratch) WantNumbers(t *testing.T, want ...int64) {
	t.Helper()
	if got := IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id"); !slices.Equal(got, want) {
		t.Errorf("stored %v, want %v", got, want)
	}
}

// UpTo returns the numbers from 1 to n.
func UpTo(n int64) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = int64(i) + 1
	}
	return all
}

// KeysOf returns the first column of a query's rows as text.
func KeysOf(t *testing.T, q interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, ctx context.Context, query string, args ...any) []string {
	t.Helper()
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// Above returns n numbers from first on.
func Above(first int64, n int) (all []int64) {
	for i := range n {
		all = append(all, first+int64(i))
	}
	return all
}

// LinesOf returns the policy for the table order_lines, whose column no is numbered within
// columns.
func LinesOf(columns ...policy.ScopeColumn) *policy.Config {
	scope := policy.Scope(columns)
	return &policy.Config{Tables: map[string]policy.Table{"order_lines": {Keys: []policy.Key{
		{Column: "no", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Scope: &scope}},
	}}}}
}

// ByOrder is the scope in which lines are numbered within their order.
var ByOrder = policy.ScopeColumn{Column: "order_id"}

// CreateLines creates the table order_lines.
func CreateLines(t *testing.T, s *Scratch) {
	t.Helper()
	Exec(t, s.Raw, "CREATE TABLE order_lines (order_id BIGINT NOT NULL, no BIGINT NOT NULL, item VARCHAR(50), PRIMARY KEY (order_id, no))")
}

// IntegersOf returns the first column of a query's rows.
func IntegersOf(t *testing.T, db *sql.DB, query string) []int64 {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []int64
	for rows.Next() {
		var one int64
		if err := rows.Scan(&one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// Next returns the next value in the row of a state (a stored counter).
func (s *Scratch) Next(t *testing.T, state string) int {
	t.Helper()
	return Count(t, s.Raw, "SELECT next_value FROM keyfill_sequences WHERE name = '"+state+"'")
}

// InsertWhenRemade inserts a row. It retries for a minute, since the INSERT fails while
// keyfill's tables are dropped.
func InsertWhenRemade(t *testing.T, db *sql.DB) {
	t.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		_, err := db.Exec(InsertT)
		if err == nil {
			return
		}
		if !errors.Is(err, store.ErrTables) || time.Now().After(until) {
			t.Fatal(err)
		}
	}
}

// Key is a UUID that no source makes.
const Key = "01900000-0000-7000-8000-0000000000aa"

// IsKey reports whether s is the text of a UUID.
func IsKey(s string) bool {
	_, err := uuid.Parse(s)
	return err == nil && len(s) == 36
}

// ColumnTypes returns the types of one column by the name of the dialect.
func ColumnTypes(postgres, mariadb, sqlite string) map[string]string {
	return map[string]string{"postgres": postgres, "mariadb": mariadb, "sqlite": sqlite}
}
