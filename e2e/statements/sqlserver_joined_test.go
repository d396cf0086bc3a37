package statements_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/faketds"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// numbersOverTDS opens a table t whose ids are numbered as the source says, on one
// connection.
func numbersOverTDS(t *testing.T, source *policy.Source, n *faketds.Numbers) *sql.DB {
	t.Helper()
	s := faketds.NewServer(t)
	s.Connects(n.Connect)
	db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, "sqlserver", harness.ServerDSN("sqlserver", s.Listener.Addr())), harness.FillID("t", policy.Table{InPlace: source}))
	db.SetMaxOpenConns(1)
	return db
}

// tdsSources are the sources whose numbers belong to the INSERT's transaction.
func tdsSources() map[string]*policy.Source {
	return map[string]*policy.Source{
		"joined":       harness.JoinedSource(),
		"max plus one": {Kind: policy.KindMaxPlusOne},
	}
}

// TestTDSAsksForTheTransaction: after a text that may have begun or ended a transaction,
// the session is asked, and the INSERT is neither refused nor takes its number outside of
// one.
func TestTDSAsksForTheTransaction(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const several = "BEGIN TRAN; UPDATE x SET a = 1; COMMIT"
	commit := func(t *testing.T, c *sql.Conn) {
		tx, err := c.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err == nil {
			t.Error("the commit has not failed")
		}
	}
	for _, w := range []struct {
		name  string
		way   func(t *testing.T, c *sql.Conn)
		stays bool // a transaction is open after it
	}{
		{"a procedure", func(t *testing.T, c *sql.Conn) { harness.Must(t, c, "EXEC p") }, false},
		{"a procedure that begins", func(t *testing.T, c *sql.Conn) { harness.Must(t, c, "EXEC begins") }, true},
		{"several", func(t *testing.T, c *sql.Conn) { harness.Must(t, c, several) }, false},
		{"a commit that fails", commit, false},
	} {
		for kind, source := range tdsSources() {
			t.Run(w.name+", "+kind, func(t *testing.T) {
				n := &faketds.Numbers{Next: 1, Texts: map[string]func(*faketds.NumbersSession){
					"EXEC p":      func(*faketds.NumbersSession) {},
					"EXEC begins": func(s *faketds.NumbersSession) { s.Begin() },
					several:       func(s *faketds.NumbersSession) { s.Begin(); s.Commit() },
				}}
				db := numbersOverTDS(t, source, n)
				harness.Must(t, db, "INSERT INTO t (a) VALUES (1)") // a commit of ours, which is to be one
				n.Fails = func(text string) *faketds.Error {
					if text == "TM commit" {
						n.Fails = nil
						return &faketds.Error{Number: 3930, Ends: true}
					}
					return nil
				}
				c := harness.ConnOf(t, db)
				w.way(t, c)
				n.Fails = nil
				n.Take()
				harness.Must(t, c, "INSERT INTO t (a) VALUES (2)", "INSERT INTO t (a) VALUES (3)")
				log := n.Take()
				if asked := strings.Count(strings.Join(log, "\n"), "SELECT CASE WHEN @@TRANCOUNT"); asked != 1 {
					t.Errorf("asked %d times: %q", asked, log)
				}
				_, stored, outside := n.State()
				if !slices.Equal(stored, []int64{1, 2, 3}) || outside != 0 {
					t.Errorf("stored %v, %d outside of transactions: %q", stored, outside, log)
				}
				if own := slices.Contains(log, "TM commit"); own == w.stays {
					t.Errorf("a transaction was open: %v, and one of ours was committed: %v", w.stays, own)
				}
				// The next one gets the session as it began.
				c.Close()
				harness.Must(t, db, "INSERT INTO t (a) VALUES (4)")
				_, stored, outside = n.State()
				want := []int64{1, 2, 3, 4}
				if w.stays {
					want = []int64{1, 2} // the open transaction was not committed
				}
				if !slices.Equal(stored, want) || outside != 0 {
					t.Errorf("stored %v, want %v; %d outside of transactions", stored, want, outside)
				}
			})
		}
	}
}

// TestTDSCommitLeavesOpen: a transaction that a failed Commit has left open would never
// be committed, so the INSERT is refused until it has ended.
func TestTDSCommitLeavesOpen(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for kind, source := range tdsSources() {
		t.Run(kind, func(t *testing.T) {
			n := &faketds.Numbers{Next: 1}
			c := harness.ConnOf(t, numbersOverTDS(t, source, n))
			for _, failing := range []bool{true, false} { // the second one is inside of the first
				tx, err := c.BeginTx(ctx, nil)
				if err != nil {
					t.Fatal(err)
				}
				n.Fails = func(text string) *faketds.Error {
					if failing && text == "TM commit" {
						return &faketds.Error{Number: 3930, Ends: false}
					}
					return nil
				}
				if err := tx.Commit(); (err != nil) != failing {
					t.Errorf("Commit: %v", err)
				}
				_, err = c.ExecContext(ctx, "INSERT INTO t (a) VALUES (1)")
				harness.RefusedFor(t, "behind the Commit", err, rewrite.ErrTransaction)
			}
			harness.Must(t, c, "ROLLBACK", "INSERT INTO t (a) VALUES (1)")
			if _, stored, outside := n.State(); !slices.Equal(stored, []int64{1}) || outside != 0 {
				t.Errorf("stored %v, %d outside of transactions", stored, outside)
			}
		})
	}
}

// TestTDSImplicitTransactions: if transactions begin implicitly, nothing is filled before
// one has begun.
func TestTDSImplicitTransactions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for kind, source := range tdsSources() {
		t.Run(kind, func(t *testing.T) {
			n := &faketds.Numbers{Next: 1}
			c := harness.ConnOf(t, numbersOverTDS(t, source, n))
			harness.Must(t, c, "SET IMPLICIT_TRANSACTIONS ON")
			_, err := c.ExecContext(ctx, "INSERT INTO t (a) VALUES (1)")
			harness.RefusedFor(t, "outside", err, rewrite.ErrTransaction)
			tx, err := c.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			harness.Must(t, tx, "INSERT INTO t (a) VALUES (1)")
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			if next, stored, outside := n.State(); next != 1 || len(stored) != 0 || outside != 0 {
				t.Errorf("next %d, stored %v, %d outside", next, stored, outside)
			}
		})
	}
}

// TestTDSUnwrapped: what runs on the driver's own connection is not seen, so that
// each INSERT asks.
func TestTDSUnwrapped(t *testing.T) {
	t.Parallel()
	n := &faketds.Numbers{Next: 1}
	c := harness.ConnOf(t, numbersOverTDS(t, harness.JoinedSource(), n))
	raw := func(text string) {
		t.Helper()
		err := c.Raw(func(dc any) error {
			stmt, err := keyfill.Unwrap(dc).(driver.Conn).Prepare(text)
			if err == nil {
				_, err = stmt.Exec(nil) //lint:ignore SA1019 the fake's statement has no other
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	raw("BEGIN TRAN")
	harness.Must(t, c, "INSERT INTO t (a) VALUES (1)")
	raw("ROLLBACK")
	harness.Must(t, c, "INSERT INTO t (a) VALUES (2)")
	raw("BEGIN TRAN")
	harness.Must(t, c, "INSERT INTO t (a) VALUES (3)")
	raw("ROLLBACK")
	if next, stored, outside := n.State(); next != 2 || !slices.Equal(stored, []int64{1}) || outside != 0 {
		t.Errorf("next %d, stored %v, %d outside of transactions, want 2, [1] and none", next, stored, outside)
	}
}

// TestTDSNested: a transaction that a text begins inside of the application's is
// counted, and is open still when that one is committed.
func TestTDSNested(t *testing.T) {
	t.Parallel()
	n := &faketds.Numbers{Next: 1}
	c := harness.ConnOf(t, numbersOverTDS(t, harness.JoinedSource(), n))
	tx, err := c.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	harness.Must(t, tx, "BEGIN TRAN", "INSERT INTO t (a) VALUES (1)")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	harness.Must(t, c, "INSERT INTO t (a) VALUES (2)")
	n.Fails = func(text string) *faketds.Error {
		if strings.HasPrefix(text, "INSERT") {
			return &faketds.Error{Number: 547, Ends: false}
		}
		return nil
	}
	if _, err := c.ExecContext(context.Background(), "INSERT INTO t (a) VALUES (3)"); err == nil {
		t.Error("the INSERT has not failed")
	}
	n.Fails = nil
	harness.Must(t, c, "COMMIT")
	if next, stored, outside := n.State(); next != 3 || !slices.Equal(stored, []int64{1, 2}) || outside != 0 {
		t.Errorf("next %d, stored %v, %d outside of transactions, want 3, [1 2] and none", next, stored, outside)
	}
}

// TestTDSEndedUnseen: a transaction that has ended without a word is noticed by the
// statement that would draw.
//
//deviation:keys-of-a-transaction | To prove an open transaction the statements on the numbering follow `IF @@TRANCOUNT > 0 OR @@OPTIONS & 2 = 2`. | SQL Server | – | –
func TestTDSEndedUnseen(t *testing.T) {
	t.Parallel()
	for kind, source := range tdsSources() {
		t.Run(kind, func(t *testing.T) {
			n := &faketds.Numbers{Next: 1}
			ended := false
			n.Texts = map[string]func(*faketds.NumbersSession){"DELETE FROM x": func(s *faketds.NumbersSession) {
				s.Rollback()
				s.Tokens, ended = nil, true
			}}
			c := harness.ConnOf(t, numbersOverTDS(t, source, n))
			tx, err := c.BeginTx(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			harness.Must(t, tx, "INSERT INTO t (a) VALUES (1)", "DELETE FROM x")
			for range 2 {
				_, err = tx.Exec("INSERT INTO t (a) VALUES (2)")
				if err == nil || !strings.Contains(err.Error(), "the transaction had ended") {
					t.Errorf("the INSERT behind its end: %v", err)
				}
			}
			if next, stored, outside := n.State(); !ended || next != 1 || len(stored) != 0 || outside != 0 {
				t.Errorf("next %d, stored %v, %d outside of transactions: %q", next, stored, outside, n.Take())
			}
			_ = tx.Rollback()
			harness.Must(t, c, "INSERT INTO t (a) VALUES (3)")
			if _, stored, outside := n.State(); !slices.Equal(stored, []int64{1}) || outside != 0 {
				t.Errorf("stored %v, %d outside of transactions", stored, outside)
			}
		})
	}
}

// TestTDSFailures: whichever statement fails, and whether that ends the transaction
// or not, an application that ignores the error has no number drawn and no row
// inserted outside of a transaction, and none twice; a numbering without gaps has
// none.
func TestTDSFailures(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	errorsOf := []faketds.Error{{Number: 3930, Ends: false}, {Number: 3998, Ends: true}, {Number: 1205, Ends: true}, {Number: 3609, Ends: true}, {Number: 547, Ends: false}, {Number: 2627, Ends: true}}
	for kind, source := range tdsSources() {
		for _, begins := range []string{"", "BeginTx", "BEGIN TRAN", "implicit"} {
			for _, step := range []string{"SAVE", "UPDATE keyfill", faketds.Proof, "INSERT", "ROLLBACK TRAN", "TM begin", "TM commit", "TM rollback", "COMMIT"} {
				for _, e := range errorsOf {
					n := &faketds.Numbers{Next: 1}
					db := numbersOverTDS(t, source, n)
					harness.Must(t, db, "INSERT INTO t (a) VALUES (0)")
					n.Take()
					failures := 0
					n.Fails = func(text string) *faketds.Error {
						if failures < 1 && strings.HasPrefix(text, step) || failures == 0 && step == "ROLLBACK TRAN" && strings.HasPrefix(text, "INSERT") {
							failures++
							return &e
						}
						return nil
					}
					c, err := db.Conn(ctx)
					if err != nil {
						t.Fatal(err)
					}
					ok := 1 // rows that were reported as stored
					insert := func(x harness.Execer) {
						if _, err := x.ExecContext(ctx, "INSERT INTO t (a) VALUES (1)"); err == nil {
							ok++
						}
					}
					switch begins {
					case "BeginTx":
						if tx, err := c.BeginTx(ctx, nil); err == nil {
							before := ok
							insert(tx)
							insert(tx)
							insert(tx)
							if tx.Commit() != nil {
								ok = before
							}
						}
						insert(c)
					case "":
						insert(c)
						insert(c)
						insert(c)
					default:
						text := begins
						if begins == "implicit" {
							text = "SET IMPLICIT_TRANSACTIONS ON"
						}
						_, _ = c.ExecContext(ctx, text)
						insert(c)
						insert(c)
						insert(c)
						_, _ = c.ExecContext(ctx, "COMMIT")
						ok = -1 // only the application knows who has committed what
					}
					_ = c.Close()
					n.Fails = nil
					harness.Must(t, db, "INSERT INTO t (a) VALUES (2)")
					name := strings.Join([]string{kind, begins, step, strconv.Itoa(e.Number)}, ", ")
					next, stored, outside := n.State()
					if outside != 0 {
						t.Errorf("%s: %d outside of transactions: %q", name, outside, n.Take())
					}
					slices.Sort(stored)
					if !slices.Equal(stored, harness.UpTo(int64(len(stored)))) || source.Kind != policy.KindMaxPlusOne && next != int64(len(stored))+1 {
						t.Errorf("%s: stored %v, next %d: %q", name, stored, next, n.Take())
					}
					if ok >= 0 && len(stored) != ok+1 {
						t.Errorf("%s: %d rows were told to be stored, and %d are: %q", name, ok+1, len(stored), n.Take())
					}
					db.Close()
				}
			}
		}
	}
}
