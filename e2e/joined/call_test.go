package joined_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// calls are texts behind which a procedure has done something to the transaction. {insert}
// is an INSERT that is filled.
var calls = []struct {
	name  string
	texts []string
}{
	{"nothing", []string{"CALL do_reads()", "{insert}", "{insert}"}},
	{"it begins", []string{"CALL do_begins()", "{insert}", "ROLLBACK", "{insert}"}},
	{"it begins, and commits", []string{"CALL do_begins()", "{insert}", "COMMIT", "{insert}", "ROLLBACK"}},
	{"it commits", []string{"START TRANSACTION", "{insert}", "CALL do_commits()", "{insert}", "ROLLBACK", "{insert}"}},
	{"it rolls back", []string{"START TRANSACTION", "{insert}", "CALL do_undoes()", "{insert}", "ROLLBACK"}},
	{"it leaves the transaction", []string{"START TRANSACTION", "{insert}", "CALL do_reads()", "{insert}", "ROLLBACK", "{insert}"}},
	{"it fails", []string{"CALL do_fails()", "{insert}", "START TRANSACTION", "CALL do_fails()", "{insert}", "ROLLBACK"}},
	{"it begins and fails", []string{"CALL do_begins_fails()", "{insert}", "ROLLBACK", "{insert}"}},
	{"it is missing", []string{"CALL do_missing()", "{insert}", "ROLLBACK"}},
	{"autocommit", []string{"CALL do_off()", "{insert}", "ROLLBACK", "{insert}", "COMMIT", "CALL do_onn()", "{insert}", "ROLLBACK"}},
	{"autocommit inside", []string{"START TRANSACTION", "{insert}", "CALL do_off()", "{insert}", "ROLLBACK", "CALL do_onn()", "{insert}"}},
	{"it inserts", []string{"CALL do_inserts()", "{insert}", "START TRANSACTION", "CALL do_inserts()", "{insert}", "ROLLBACK"}},
	{"DDL", []string{"START TRANSACTION", "{insert}", "CALL do_makes()", "{insert}", "ROLLBACK", "{insert}"}},
	{"tables are locked", []string{"LOCK TABLES t WRITE, s WRITE", "CALL do_reads()", "UNLOCK TABLES"}},
	{"a savepoint", []string{"START TRANSACTION", "SAVEPOINT one", "{insert}", "CALL do_reads()", "{insert}", "ROLLBACK TO one", "{insert}", "COMMIT"}},
	{"a comment that is run", []string{"/*!50000 CALL do_begins() */", "ROLLBACK", "{insert}"}},
}

// TestJoinedCall: behind a procedure MariaDB is asked whether a transaction is open, so that
// the rows that are stored are those that the plain driver stores, with no number left out.
func TestJoinedCall(t *testing.T) {
	t.Parallel()
	sources := map[string]policy.Source{
		"joined":     {Kind: policy.KindSequence, EnsureSchema: true, Transaction: policy.TransactionJoined, Start: 1},
		"maxplusone": {Kind: policy.KindMaxPlusOne, EnsureSchema: true},
	}
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.MySQLInterp}, func(t *testing.T, s *harness.Scratch) {
		for kind, source := range sources {
			for _, c := range calls {
				t.Run(kind+"/"+c.name, func(t *testing.T) {
					plain, _ := calledRows(t, s, nil, c.texts)
					filled, ids := calledRows(t, s, &source, c.texts)
					if filled != plain {
						t.Errorf("filled: %s\nplain:  %s", filled, plain)
					}
					for i, id := range ids {
						if id != i+1 {
							t.Errorf("numbers %v, want 1 to %d", ids, len(ids))
							break
						}
					}
				})
			}
		}
	})
}

// calledRows executes the texts on one connection, and returns what they answer and which
// rows are stored, and the numbers of these.
func calledRows(t *testing.T, of *harness.Scratch, source *policy.Source, texts []string) (said string, ids []int) {
	t.Helper()
	s := of.Engine.Scratch(t)
	key := "BIGINT PRIMARY KEY"
	db := s.Raw
	if source == nil {
		key = "BIGINT AUTO_INCREMENT PRIMARY KEY"
	}
	harness.Must(t, s.Raw, "CREATE TABLE t (id "+key+", a INT)", "CREATE TABLE s (a INT)",
		"CREATE PROCEDURE do_reads() SELECT 1", "CREATE PROCEDURE do_begins() START TRANSACTION", "CREATE PROCEDURE do_commits() COMMIT",
		"CREATE PROCEDURE do_undoes() ROLLBACK", "CREATE PROCEDURE do_fails() SIGNAL SQLSTATE '45000'",
		"CREATE PROCEDURE do_begins_fails() BEGIN START TRANSACTION; INSERT INTO s VALUES (8); SIGNAL SQLSTATE '45000'; END",
		"CREATE PROCEDURE do_off() SET autocommit = 0", "CREATE PROCEDURE do_onn() SET autocommit = 1",
		"CREATE PROCEDURE do_inserts() INSERT INTO s VALUES (1)", "CREATE PROCEDURE do_makes() CREATE TABLE made (a INT)")
	if source != nil {
		db, _ = s.Open(t, harness.FillID("t", policy.Table{InPlace: source}))
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (0)") // makes keyfill's tables
	} else {
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (0)")
	}
	var b strings.Builder
	c := harness.ConnOf(t, db)
	for i, text := range texts {
		_, err := c.ExecContext(t.Context(), strings.ReplaceAll(text, "{insert}", fmt.Sprintf("INSERT INTO t (a) VALUES (%d)", i)))
		said, _, _ := strings.Cut(fmt.Sprint(err), "(")
		fmt.Fprintf(&b, "%d %s; ", i, said)
	}
	_ = c.Close()
	db.SetMaxIdleConns(0) // what is open is rolled back
	rows, err := s.Raw.Query("SELECT id, a FROM t ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, a sql.NullInt64
		if err := rows.Scan(&id, &a); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, int(id.Int64))
		fmt.Fprint(&b, " ", a.Int64)
	}
	return fmt.Sprint(b.String(), " others: ", harness.IntegersOf(t, s.Raw, "SELECT a FROM s ORDER BY a")), ids
}
