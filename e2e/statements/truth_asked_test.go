package statements_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ngrok/sqlmw"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// openSpied opens a database through keyfill, with a spy between it and the driver.
func openSpied(t *testing.T, s *harness.Scratch, cfg *policy.Config) (*sql.DB, *harness.Spy) {
	t.Helper()
	spy := new(harness.Spy)
	db, _ := harness.OpenConnector(t, harness.AsDriver{Connector: harness.WrapSqlmw(t, s.Connector, spy), As: s.Connector.Driver()}, cfg)
	return db, spy
}

// questions returns the conditions with which a table was asked for keys.
func questions(spy *harness.Spy, table string) (all []string) {
	for _, query := range spy.All() {
		if _, where, ok := strings.Cut(query, " FROM "+table+" WHERE "); ok {
			all = append(all, where)
		}
	}
	return all
}

// rowsOf returns n rows of VALUES, the second of which has the code of the first.
func rowsOf(n int, before string) string {
	var rows []string
	for i := range n {
		if i == 1 {
			i = 0
		}
		rows = append(rows, fmt.Sprintf("(%s'c%d')", before, i))
	}
	return strings.Join(rows, ", ")
}

// TestQuestionNamesKeys: consecutive integers of no parent are asked for as a range;
// other keys are named, at most 500 in one query, since between them others may have
// theirs.
func TestQuestionNamesKeys(t *testing.T) {
	t.Parallel()
	sequence := policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 101}}
	harness.Each(t, []harness.Engine{harness.MySQLInterp, harness.SQLiteFile}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE people (id BIGINT PRIMARY KEY, code VARCHAR(20) UNIQUE)",
			"CREATE TABLE uuids (id CHAR(36) PRIMARY KEY, code VARCHAR(20) UNIQUE)")
		cfg := harness.FillID("people", sequence)
		cfg.Tables["uuids"] = policy.Table{Column: "id", Source: "uuidv4"}
		db, spy := openSpied(t, s, cfg)
		id := s.Dialect.QuoteIdent("id")
		ask := func(table string, n int) []string {
			t.Helper()
			spy.Take()
			ctx, rec := keyfill.Record(t.Context())
			query := strings.Replace(leavesOut(s, rowsOf(n, "")), "INTO people", "INTO "+table, 1)
			if _, err := db.ExecContext(ctx, query); err != nil {
				t.Fatal(err)
			}
			if got := rec.Keys(table); len(got) != n || got[0].Outcome != keyfill.Stored || got[1].Outcome != keyfill.NotStored {
				t.Errorf("%s: %d keys of %d rows are recorded, want the first as stored and the second as not stored", table, len(got), n)
			}
			return questions(spy, table)
		}
		if got, want := ask("people", 620), []string{id + " BETWEEN 101 AND 720"}; !slices.Equal(got, want) {
			t.Errorf("asked %.200q, want %q", got, want)
		}
		var sizes []int
		for _, where := range ask("uuids", 620) {
			if !strings.HasPrefix(where, id+" IN (") {
				t.Errorf("asked %.100s, want IN", where)
			}
			sizes = append(sizes, strings.Count(where, ",")+1)
		}
		if !slices.Equal(sizes, []int{500, 120}) {
			t.Errorf("asked for %v keys, want 500 and 120", sizes)
		}
	})
}

// TestQuestionNamesParents: keys that are numbered within parents are asked for with
// the parents' values, since another parent has the same numbers. REPLACE alone may
// leave its rows out there: what else does is refused for a numbering without gaps.
func TestQuestionNamesParents(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLInterp, harness.SQLiteFile}, func(t *testing.T, s *harness.Scratch) {
		harness.CreateLines(t, s)
		harness.Must(t, s.Raw, "CREATE UNIQUE INDEX items ON order_lines (item)")
		db, spy := openSpied(t, s, harness.LinesOf(harness.ByOrder))
		q := s.Dialect.QuoteIdent
		for _, c := range []struct {
			values, recorded string
			asked            []string
		}{
			{"(5, 'a'), (5, 'b')", "SS", []string{q("order_id") + " = 5 AND " + q("no") + " IN (1, 2)"}},
			{"(6, 'a'), (6, 'c'), (7, 'd')", "SSS", []string{q("order_id") + " = 6 AND " + q("no") + " IN (1, 2)", q("order_id") + " = 7 AND " + q("no") + " IN (1)"}},
			// Order 9 has a line 1, which order 8 has lost.
			{"(8, 'e'), (9, 'e')", "NS", []string{q("order_id") + " = 8 AND " + q("no") + " IN (1)", q("order_id") + " = 9 AND " + q("no") + " IN (1)"}},
		} {
			ctx, rec := keyfill.Record(t.Context())
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			spy.Take()
			if _, err := tx.ExecContext(ctx, "REPLACE INTO order_lines (order_id, item) VALUES "+c.values); err != nil {
				t.Fatal(err)
			}
			got := slices.DeleteFunc(questions(spy, "order_lines"), func(where string) bool { return !strings.Contains(where, "IN (") })
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, c.asked) {
				t.Errorf("%s: asked %q, want %q of %q", c.values, got, c.asked, spy.All())
			}
			word := ""
			for _, k := range rec.Keys("order_lines") {
				word += map[keyfill.Outcome]string{keyfill.Stored: "S", keyfill.NotStored: "N", keyfill.Unknown: "U"}[k.Outcome]
			}
			if word != c.recorded {
				t.Errorf("%s: recorded is %s, want %s", c.values, word, c.recorded)
			}
		}
	})
}

// TestNothingIsAskedBeforeRowsAreRead: a connection whose rows are not read yet can
// run nothing else.
func TestNothingIsAskedBeforeRowsAreRead(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLInterp, harness.SQLiteFile, harness.MattnFile, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE people (id BIGINT PRIMARY KEY, code VARCHAR(20) UNIQUE)", "INSERT INTO people VALUES (1, 'dup')")
		db, spy := openSpied(t, s, harness.FillID("people", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 101}}))
		harness.Exec(t, db, "INSERT INTO people (code) VALUES ('first')")
		for i, inside := range []bool{false, true} {
			ctx, rec := keyfill.Record(t.Context())
			conn := harness.ConnOf(t, db)
			if inside {
				harness.Must(t, conn, "BEGIN")
			}
			spy.Take()
			rows, err := conn.QueryContext(ctx, leavesOut(s, fmt.Sprintf("('dup'), ('a%d'), ('b%[1]d')", i))+" RETURNING id, code")
			if err != nil {
				t.Fatal(err)
			}
			sent, read := len(spy.All()), 0
			if last := spy.All()[sent-1]; !strings.Contains(last, "INTO people") {
				t.Errorf("behind the INSERT was sent %s", last)
			}
			for rows.Next() {
				read++
				if now := spy.All(); len(now) != sent {
					t.Errorf("while rows were unread, %q were sent", now[sent:])
				}
			}
			if err := rows.Close(); err != nil || read != 2 {
				t.Errorf("%d rows were read, error %v, want 2", read, err)
			}
			if inside {
				harness.Must(t, conn, "COMMIT")
			}
			if word := outcomesOf(t, s, rec, "people"); word != "NSS" {
				t.Errorf("inside %v: recorded is %s, want NSS", inside, word)
			}
			conn.Close()
		}
	})
}

// twice is a driver that counts each row of an upsert twice, as MySQL and MariaDB
// count those that they have changed.
type twice struct{ sqlmw.NullInterceptor }

func (twice) ConnExecContext(ctx context.Context, conn driver.ExecerContext, query string, args []driver.NamedValue) (driver.Result, error) {
	res, err := conn.ExecContext(ctx, query, args)
	if err != nil || !strings.Contains(query, "DO UPDATE") {
		return res, err
	}
	return countedTwice{res}, nil
}

// countedTwice is a result with twice the number of rows.
type countedTwice struct{ driver.Result }

func (r countedTwice) RowsAffected() (int64, error) {
	n, err := r.Result.RowsAffected()
	return 2 * n, err
}

// TestTwoRowsForOne: on engines other than MySQL and MariaDB two affected rows for one
// of an upsert do not say that the row was there before.
func TestTwoRowsForOne(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	harness.Must(t, s.Raw, "CREATE TABLE people (id BIGINT PRIMARY KEY, code VARCHAR(20) UNIQUE)")
	wrapped := harness.OpenDriver(t, sqlmw.Driver(harness.ConnectorDriver{Connector: s.Connector}, twice{}))
	db, _ := harness.OpenConnector(t, harness.AsDriver{Connector: wrapped, As: s.Connector.Driver()}, harness.SequenceID("people"))
	for _, c := range []struct{ values, want string }{{"('a')", "S"}, {"('b'), ('c')", "SS"}, {"('a')", "N"}, {"('a'), ('d')", "NS"}} {
		ctx, rec := keyfill.Record(t.Context())
		res, err := db.ExecContext(ctx, "INSERT INTO people (code) VALUES "+c.values+" ON CONFLICT (code) DO UPDATE SET code = excluded.code")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := res.RowsAffected(); err != nil || n != int64(2*len(c.want)) {
			t.Errorf("%s: %d rows are affected, error %v", c.values, n, err)
		}
		if word := outcomesOf(t, s, rec, "people"); word != c.want {
			t.Errorf("%s: recorded is %s, want %s", c.values, word, c.want)
		}
	}
}
