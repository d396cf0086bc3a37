package joined_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
)

// TestStopped: where a time limit of the session stops the statement that draws a key, as
// at a lock, the error says that it was that statement, and has the engine's code.
func TestStopped(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault, harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t")
		db, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) { s.Block, s.Transaction = 0, policy.TransactionJoined })))
		harness.Exec(t, db, harness.InsertT)
		limit, want := "SET SESSION max_statement_time = 0.001", sqlcode.Code{Number: 1969}
		if s.IsPostgres() {
			limit, want = "SET LOCAL statement_timeout = 1", sqlcode.Code{State: "57014"}
		}
		first, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer first.Rollback()
		if _, err := first.Exec(harness.InsertT); err != nil {
			t.Fatal(err)
		}
		second, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer second.Rollback()
		if _, err := second.Exec(limit); err != nil {
			t.Fatal(err)
		}
		_, err = second.Exec(harness.InsertT)
		if err == nil {
			t.Fatal("it was filled")
		}
		if code, _ := sqlcode.Of(err); code != want {
			t.Errorf("%v: the code %+v, want %+v", err, code, want)
		}
		if !strings.Contains(err.Error(), "its own statement before the INSERT") {
			t.Errorf("%v: does not say which statement was stopped", err)
		}
	})
}
