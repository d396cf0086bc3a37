package keys_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// periodModes are the modes in which numbers begin again with each period.
var periodModes = map[string]func(*policy.Source){
	"joined":     func(s *policy.Source) { s.Transaction = policy.TransactionJoined },
	"one by one": func(s *policy.Source) { s.Block = 1 },
}

// periodic returns the policy for texts that begin again with each year.
func periodic(format, mode string, change func(*policy.Source)) *policy.Config {
	return formatted(format, func(s *policy.Source) {
		s.Period.Every = policy.PeriodYear
		periodModes[mode](s)
		if change != nil {
			change(s)
		}
	})
}

// eachPeriodMode runs a test for each engine and mode, on an empty table t (no, issued_on,
// branch, a).
func eachPeriodMode(t *testing.T, f func(t *testing.T, s *harness.Scratch, mode string)) {
	t.Helper()
	harness.Each(t, numberEngines, func(t *testing.T, s *harness.Scratch) {
		for mode := range periodModes {
			t.Run(mode, func(t *testing.T) {
				branch := "VARCHAR(20)"
				if s.Server == harness.MariaDB {
					branch += " COLLATE utf8mb4_bin"
				}
				harness.Exec(t, s.Raw, "CREATE TABLE t (no VARCHAR(30) NOT NULL PRIMARY KEY, issued_on DATE, branch "+branch+", a INT, UNIQUE (branch, no))")
				defer func() {
					harness.Exec(t, s.Raw, "DROP TABLE t")
					_, _ = s.Raw.Exec("DELETE FROM keyfill_sequences") // it is not there where no number was drawn
				}()
				f(t, s, mode)
			})
		}
	})
}

// TestPeriodByClock: the server's clock says the period, and each way in gets numbers of it.
func TestPeriodByClock(t *testing.T) {
	t.Parallel()
	eachPeriodMode(t, func(t *testing.T, s *harness.Scratch, mode string) {
		db, m := s.Open(t, periodic("INV-{year}-{n:05}", mode, nil))
		ctx, rec := keyfill.Record(context.Background())
		place := s.Placeholders("INSERT INTO t (a) VALUES (?)")
		year := time.Now().UTC().Year()
		if _, err := db.ExecContext(ctx, place, 1); err != nil {
			t.Fatal(err)
		}
		if no, _ := keyfill.Last[string](rec, "t"); no != fmt.Sprintf("INV-%d-00001", year) {
			t.Errorf("the last number is %q", no)
		}
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (2), (3)")
		if _, err := harness.PreparedExec(db, place, 4); err != nil {
			t.Fatal(err)
		}
		undone := errors.New("undone")
		for a, fails := range map[int]error{50: undone, 5: nil} {
			if err := harness.InTx(db, func(tx *sql.Tx) error {
				if _, err := tx.Exec(place, a); err != nil {
					t.Error(err)
				}
				return fails
			}); err != fails {
				t.Error(err)
			}
		}
		harness.Exec(t, db, s.Placeholders("INSERT INTO t (no, a) VALUES (?, ?)"), "", 6)
		got := numbersOf(t, s)
		if mode == "joined" || s.Dialect.OneWriter {
			var want []string
			for n := range 6 {
				want = append(want, fmt.Sprintf("INV-%d-%05d", year, n+1))
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("stored %v, want %v", got, want)
			}
		} else if slices.Sort(got); len(slices.Compact(got)) != 6 {
			t.Errorf("stored %v", got)
		}
		row := fmt.Sprintf("t.no[%d]", year)
		if next := s.Next(t, row); next < 7 {
			t.Errorf("the row %s stands at %d", row, next)
		}
		if keys, err := m.Keys(context.Background(), "t", 1); err == nil {
			t.Errorf("Keys gives %v", keys)
		}
		if _, err := db.Exec("INSERT INTO t (a) SELECT a + 100 FROM t"); err == nil {
			t.Error("an INSERT … SELECT is filled")
		}
	})
}

// TestPeriodByColumn: the date of the row says the period, in whatever order dates come, and
// each period begins at 1 or above the numbers that are there.
//
//deviation:filled-inserts | With `period: {column: …}`, an INSERT is an error where the row's date is NULL, an expression, a default, or not in the form YYYY-MM-DD. | all | `INSERT INTO t (issued_on) VALUES (CURRENT_DATE)` | give the date as an argument; a period without column
func TestPeriodByColumn(t *testing.T) {
	t.Parallel()
	eachPeriodMode(t, func(t *testing.T, s *harness.Scratch, mode string) {
		harness.Exec(t, s.Raw, "INSERT INTO t (no, issued_on, a) VALUES ('INV-2024-00041', '2024-05-01', 0)")
		db, _ := s.Open(t, periodic("INV-{year}-{n:05}", mode, func(src *policy.Source) { src.Period.Column = "issued_on" }))
		place := s.Placeholders("INSERT INTO t (issued_on, a) VALUES (?, ?)")
		utc := func(year, day int) time.Time { return time.Date(year, 1, 1, 12, 0, 0, 0, time.UTC).AddDate(0, 0, day) }
		for i, date := range []any{"2025-12-31", "2026-01-01", "2025-01-01", utc(2026, 100), "2024-12-31", utc(2025, 200)} {
			harness.Exec(t, db, place, date, i+1)
		}
		harness.Exec(t, db, "INSERT INTO t (a, issued_on) VALUES (7, '2026-06-01'), (8, '2025-06-01'), (9, '2026-07-01'), (10, '2027-01-01')")
		harness.Exec(t, db, s.Placeholders("INSERT INTO t (issued_on, no, a) VALUES (?, ?, ?), (?, NULL, ?)"), "2027-02-02", "", 11, "2024-02-29", 12)
		got := strings.Join(numbersOf(t, s), " ")
		want := "INV-2024-00041 INV-2025-00001 INV-2026-00001 INV-2025-00002 INV-2026-00002 INV-2024-00042 INV-2025-00003 INV-2026-00003 INV-2025-00004 INV-2026-00004 INV-2027-00001 INV-2027-00002 INV-2024-00043"
		if got != want {
			t.Errorf("stored\n%s, want\n%s", got, want)
		}
		for query, reason := range map[string]rewrite.Reason{
			"INSERT INTO t (a) VALUES (90)":                                rewrite.ErrScope,
			"INSERT INTO t (issued_on, a) VALUES (NULL, 90)":               rewrite.ErrScope,
			"INSERT INTO t (issued_on, a) VALUES (CURRENT_DATE, 90)":       rewrite.ErrScope,
			"INSERT INTO t (issued_on, a) SELECT '2025-01-01', a FROM t":   "",
			"INSERT INTO t (issued_on, a) VALUES ('2025-02-30', 90)":       "",
			"INSERT INTO t (issued_on, a) VALUES ('1.1.2025', 90)":         "",
			"INSERT INTO t (issued_on, a) VALUES (20250101, 90)":           "",
			"INSERT INTO t (issued_on, a) VALUES ('2025-01-01 00:00', 90)": "",
		} {
			_, err := db.Exec(query)
			if err == nil || reason != "" && !errors.Is(err, reason) {
				t.Errorf("%s: %v", query, err)
			}
		}
		if _, err := db.Exec(place, nil, 90); !errors.Is(err, rewrite.ErrScope) {
			t.Errorf("NULL: %v", err)
		}
		if n := harness.CountInt(t, s.Raw, "SELECT COUNT(*) FROM t WHERE a = 90"); n != 0 {
			t.Errorf("%d rows without a date are stored", n)
		}
	})
}

// TestPeriodOfATime: a time is of the period whose date the driver stores: near the end of a
// year by another time zone than the time's.
//
//deviation:filled-inserts | Where the date of a period is a time near the period's end, keyfill first asks the engine, on the same connection, which date the driver sends. | all | `db.Exec("INSERT INTO t (issued_on) VALUES (?)", time.Now())` on the last two days of a year | text YYYY-MM-DD
func TestPeriodOfATime(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	engines := append(slices.Clone(numberEngines), harness.PQDefault, harness.PgxSimple,
		harness.Engine{Name: "mysql-berlin", Driver: "mysql", Dialect: harness.MySQLDefault.Dialect, Server: harness.MariaDB, Params: "loc=Europe%2FBerlin&parseTime=true"},
		harness.Engine{Name: "mysql-interpolated", Driver: "mysql", Dialect: harness.MySQLDefault.Dialect, Server: harness.MariaDB, Params: "loc=Europe%2FBerlin&interpolateParams=true"})
	harness.Each(t, engines, func(t *testing.T, s *harness.Scratch) {
		for mode := range periodModes {
			harness.Exec(t, s.Raw, "CREATE TABLE t (no VARCHAR(30) NOT NULL PRIMARY KEY, issued_on DATE, a INT)")
			db, _ := s.Open(t, periodic("{year}-{n:05}", mode, func(src *policy.Source) { src.Period.Column = "issued_on" }))
			for i, at := range []time.Time{
				time.Date(2025, 12, 31, 23, 30, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 30, 0, 0, time.UTC),
				time.Date(2026, 1, 1, 0, 30, 0, 0, berlin), time.Date(2025, 12, 31, 23, 30, 0, 0, berlin),
				time.Date(2026, 1, 1, 0, 30, 0, 0, time.FixedZone("", -11*3600)), time.Date(2026, 6, 1, 0, 0, 0, 0, berlin),
			} {
				harness.Exec(t, db, s.Placeholders("INSERT INTO t (issued_on, a) VALUES (?, ?)"), at, i)
			}
			years := "SELECT COUNT(*) FROM t WHERE SUBSTR(no, 1, 4) <> SUBSTR(CAST(issued_on AS CHAR(10)), 1, 4)"
			if n := harness.CountInt(t, s.Raw, years); n != 0 {
				t.Errorf("%s: %d numbers are of another year than their dates: %v", mode, n, harness.RowsOf(t, s.Raw, "SELECT no, issued_on FROM t ORDER BY a"))
			}
			harness.Must(t, s.Raw, "DROP TABLE t", "DELETE FROM keyfill_sequences")
		}
	})
}

// TestPeriodInScope: each branch has numbers of its own in each period, and a fiscal year
// begins on its day.
func TestPeriodInScope(t *testing.T) {
	t.Parallel()
	eachPeriodMode(t, func(t *testing.T, s *harness.Scratch, mode string) {
		if mode != "joined" {
			return // a scope is joined
		}
		harness.Exec(t, s.Raw, "INSERT INTO t (no, issued_on, branch, a) VALUES ('N/2025-26/007', '2025-05-01', 'N', 0), ('S/2025-26/011', '2025-05-01', 'S', 0)")
		db, _ := s.Open(t, periodic("{column:branch}/{fy}/{n:03}", mode, func(src *policy.Source) {
			src.Period.Column, src.Period.Starts = "issued_on", "04-01"
			src.Scope = &policy.Scope{{Column: "branch", Type: policy.ScopeText}}
			src.Transaction = ""
		}))
		place := s.Placeholders("INSERT INTO t (branch, issued_on, a) VALUES (?, ?, ?)")
		for i, row := range [][2]string{{"N", "2026-03-31"}, {"N", "2026-04-01"}, {"S", "2026-04-01"}, {"S", "2026-03-31"}, {"N", "2026-04-02"}, {"W", "2025-04-01"}} {
			harness.Exec(t, db, place, row[0], row[1], i+1)
		}
		got := strings.Join(harness.KeysOf(t, s.Raw, context.Background(), "SELECT no FROM t WHERE a > 0 ORDER BY a"), " ")
		if want := "N/2025-26/008 N/2026-27/001 S/2026-27/001 S/2025-26/012 N/2026-27/002 W/2025-26/001"; got != want {
			t.Errorf("stored %s, want %s", got, want)
		}
	})
}

// TestNumbersInScope: each branch has numbers of its own without periods too.
func TestNumbersInScope(t *testing.T) {
	t.Parallel()
	harness.Each(t, numberEngines, func(t *testing.T, s *harness.Scratch) {
		branch := "VARCHAR(20)"
		if s.Server == harness.MariaDB {
			branch += " COLLATE utf8mb4_bin"
		}
		for _, c := range []struct{ format, want string }{
			{"{column:branch}-{n:03}", "N-008 S-001 N-009 S-002"},
			{"{n:03}", "008 001 009 002"},
			{"{column:branch}-{n}", ""},
		} {
			harness.Must(t, s.Raw, "CREATE TABLE t (no VARCHAR(30) NOT NULL, branch "+branch+" NOT NULL, a INT, PRIMARY KEY (branch, no))")
			harness.Exec(t, s.Raw, "INSERT INTO t VALUES ('"+map[string]string{"{n:03}": "007", "{column:branch}-{n}": "N-7"}[c.format]+"', 'N', 0)")
			harness.Exec(t, s.Raw, "UPDATE t SET no = 'N-007' WHERE no = ''")
			db, _ := s.Open(t, formatted(c.format, func(src *policy.Source) {
				src.Scope = &policy.Scope{{Column: "branch", Type: policy.ScopeText}}
			}))
			var errs []error
			for i, branch := range []string{"N", "S", "N", "S"} {
				_, err := db.Exec(s.Placeholders("INSERT INTO t (branch, a) VALUES (?, ?)"), branch, i+1)
				errs = append(errs, err)
			}
			got := strings.Join(harness.KeysOf(t, s.Raw, context.Background(), "SELECT no FROM t WHERE a > 0 ORDER BY a"), " ")
			switch err := errors.Join(errs...); {
			case c.want == "":
				if err == nil || !strings.Contains(errs[0].Error(), "give {n} a width") {
					t.Errorf("%s: %v", c.format, errs[0])
				}
			case err != nil || got != c.want:
				t.Errorf("%s: stored %s, want %s: %v", c.format, got, c.want, err)
			}
			harness.Must(t, s.Raw, "DROP TABLE t", "DELETE FROM keyfill_sequences")
		}
	})
}

// TestPeriodEnd: a number that outgrows its width in a period is an error, and the next period
// goes on.
func TestPeriodEnd(t *testing.T) {
	t.Parallel()
	eachPeriodMode(t, func(t *testing.T, s *harness.Scratch, mode string) {
		db, _ := s.Open(t, periodic("{year}-{n:01}", mode, func(src *policy.Source) { src.Period.Column = "issued_on" }))
		place := s.Placeholders("INSERT INTO t (issued_on, a) VALUES (?, ?)")
		for a := range 9 {
			harness.Exec(t, db, place, "2025-01-01", a)
		}
		if _, err := db.Exec(place, "2025-12-31", 99); !errors.Is(err, keysource.ErrExhausted) || !strings.Contains(err.Error(), "2025") {
			t.Errorf("number 10: %v", err)
		}
		harness.Exec(t, db, place, "2026-01-01", 10)
		if got := numbersOf(t, s); len(got) != 10 || got[9] != "2026-1" {
			t.Errorf("stored %v", got)
		}
	})
}

// TestPeriodTemplate: all numbers of a period are written by the template of its first one,
// also by processes whose policy has another; the next period has the new one.
func TestPeriodTemplate(t *testing.T) {
	t.Parallel()
	eachPeriodMode(t, func(t *testing.T, s *harness.Scratch, mode string) {
		by := func(src *policy.Source) { src.Period.Column = "issued_on" }
		older, _ := s.Open(t, periodic("INV-{year}-{n:04}", mode, by))
		var log strings.Builder
		newer, _ := s.OpenWith(t, keyfill.Options{Policy: periodic("R{yy}/{n:06}", mode, by), Logger: slog.New(slog.NewTextHandler(&log, nil))})
		place := s.Placeholders("INSERT INTO t (issued_on, a) VALUES (?, ?)")
		harness.Exec(t, older, place, "2025-01-01", 1)
		harness.Exec(t, newer, place, "2025-01-01", 2)
		harness.Exec(t, newer, place, "2025-12-01", 0)
		harness.Exec(t, newer, place, "2026-01-01", 3)
		harness.Exec(t, older, place, "2026-01-01", 4)
		harness.Exec(t, older, place, "2025-01-01", 5)
		if got, want := strings.Join(numbersOf(t, s), " "), "INV-2025-0003 INV-2025-0001 INV-2025-0002 R26/000001 R26/000002 INV-2025-0004"; got != want {
			t.Errorf("stored %s, want %s", got, want)
		}
		if told := strings.Count(log.String(), "another format"); told != 1 || !strings.Contains(log.String(), "period=2025") {
			t.Errorf("the log says %d times that a period has another format: %s", told, log.String())
		}
	})
}

// TestNumbersChecked: check finds numbers that outgrow their width before the period ends, and
// a unique index that refuses equal texts of two numberings.
func TestNumbersChecked(t *testing.T) {
	t.Parallel()
	harness.Each(t, numberEngines, func(t *testing.T, s *harness.Scratch) {
		branch := "VARCHAR(20)"
		if s.Server == harness.MariaDB {
			branch += " COLLATE utf8mb4_bin"
		}
		harness.Exec(t, s.Raw, "CREATE TABLE t (no VARCHAR(30) NOT NULL PRIMARY KEY, branch "+branch+" NOT NULL, a INT, UNIQUE (branch, no))")
		found := func(cfg *policy.Config, insert string) string {
			t.Helper()
			db, m := s.Open(t, cfg)
			if insert != "" {
				harness.Exec(t, db, insert)
			}
			findings, err := m.Check(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, f := range findings {
				all = append(all, f.Rule+": "+f.Message)
			}
			return strings.Join(all, "\n")
		}
		yearly := func(format string) *policy.Config {
			return formatted(format, func(src *policy.Source) {
				src.Period.Every, src.Transaction = policy.PeriodYear, policy.TransactionJoined
			})
		}
		if got := found(yearly("{year}-{n:05}"), "INSERT INTO t (branch, a) VALUES ('x', 1)"); strings.Contains(got, "runs-out") || strings.Contains(got, "scope:") {
			t.Errorf("a wide format: %s", got)
		}
		year := time.Now().UTC().Year()
		harness.Exec(t, s.Raw, fmt.Sprintf("UPDATE keyfill_sequences SET next_value = 99990 WHERE name = 't.no[%d]'", year))
		if got := found(yearly("{year}-{n:05}"), ""); !strings.Contains(got, "outgrow their width") && time.Now().UTC().YearDay() < 365 {
			t.Errorf("99,989 of 99,999 numbers are used: %s", got)
		}
		harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences")
		harness.Exec(t, s.Raw, "DELETE FROM t")
		scoped := func(format string) *policy.Config {
			return formatted(format, func(src *policy.Source) { src.Scope = &policy.Scope{{Column: "branch", Type: policy.ScopeText}} })
		}
		if got := found(scoped("{n:05}"), ""); !strings.Contains(got, "which the text does not show") {
			t.Errorf("a text without its scope: %s", got)
		}
		if got := found(scoped("{column:branch}-{n:05}"), ""); strings.Contains(got, "scope:") || strings.Contains(got, "not-unique") {
			t.Errorf("a text with its scope: %s", got)
		}
		// MariaDB's default collation takes A-00001 and a-00001 for equal.
		db, _ := s.Open(t, scoped("{column:branch}-{n:05}"))
		harness.Exec(t, db, "INSERT INTO t (branch, a) VALUES ('A', 1)")
		_, refused := db.Exec("INSERT INTO t (branch, a) VALUES ('a', 1)")
		if got := found(scoped("{column:branch}-{n:05}"), ""); strings.Contains(got, "collation: ") != (refused != nil) || (refused != nil) != (s.Server == harness.MariaDB) {
			t.Errorf("texts that differ by case: %v, and check finds %s", refused, got)
		}
	})
}

// TestPeriodRowsBeforehand: the rows of a period and of the next one are there after the first
// INSERT, whose rollback does not undo that; on SQLite, which has one writer, it does.
//
//deviation:keys-of-a-transaction | The first INSERT of a process in a period makes the rows of that period and the next one on a connection of keyfill's, and asks once for the server's time. | all but SQLite | `period: year` | –
func TestPeriodRowsBeforehand(t *testing.T) {
	t.Parallel()
	eachPeriodMode(t, func(t *testing.T, s *harness.Scratch, mode string) {
		db, _ := s.Open(t, periodic("{year}-{n:05}", mode, nil))
		undone := errors.New("undone")
		if err := harness.InTx(db, func(tx *sql.Tx) error {
			if _, err := tx.Exec("INSERT INTO t (a) VALUES (1)"); err != nil {
				return err
			}
			return undone
		}); err != undone {
			t.Fatal(err)
		}
		want := int64(2)
		if s.Dialect.OneWriter {
			want = 0
		}
		if rows := harness.CountInt(t, s.Raw, "SELECT COUNT(*) FROM keyfill_sequences WHERE name LIKE 't.no[%'"); rows != want {
			t.Errorf("%d rows of periods, want %d", rows, want)
		}
	})
}

// TestPeriodFaults: a number that is in use, a row that was set back and a closed period are
// found, and the next INSERT goes on as the policy says.
func TestPeriodFaults(t *testing.T) {
	t.Parallel()
	eachPeriodMode(t, func(t *testing.T, s *harness.Scratch, mode string) {
		open := func(change func(*policy.Source)) *sql.DB {
			db, _ := s.Open(t, periodic("{year}-{n:03}", mode, func(src *policy.Source) {
				src.Period.Column = "issued_on"
				if change != nil {
					change(src)
				}
			}))
			return db
		}
		place := s.Placeholders("INSERT INTO t (issued_on, a) VALUES (?, ?)")
		plain := open(nil)
		advances := open(func(src *policy.Source) {
			src.OnBehind, src.OnStoreRollback = keysource.RemedyAdvance, keysource.RemedyAdvance
		})
		for _, db := range []*sql.DB{plain, advances} {
			harness.Exec(t, db, place, "2025-01-01", 1)
		}
		harness.Exec(t, s.Raw, "INSERT INTO t (no, issued_on, a) VALUES ('2025-003', '2025-01-01', 1), ('2025-004', '2025-01-01', 1)")
		for _, c := range []struct {
			db   *sql.DB
			want error
		}{{plain, keysource.ErrStoreBehind}, {advances, nil}} {
			harness.Exec(t, s.Raw, "UPDATE keyfill_sequences SET next_value = 3 WHERE name = 't.no[2025]'")
			if _, err := c.db.Exec(place, "2025-02-01", 1); err == nil {
				t.Error("a number that is in use is stored again")
			}
			if _, err := c.db.Exec(place, "2025-02-01", 1); !errors.Is(err, c.want) {
				t.Errorf("after a duplicate: %v, want %v", err, c.want)
			}
		}
		harness.Exec(t, s.Raw, "UPDATE keyfill_sequences SET next_value = 10 WHERE name = 't.no[2025]'")
		back := open(nil)
		goesOn := open(func(src *policy.Source) { src.OnStoreRollback = keysource.RemedyAdvance })
		for _, db := range []*sql.DB{back, goesOn} {
			harness.Exec(t, db, place, "2025-03-01", 2)
		}
		harness.Exec(t, s.Raw, "UPDATE keyfill_sequences SET next_value = 5 WHERE name = 't.no[2025]'")
		if _, err := back.Exec(place, "2025-03-01", 2); !errors.Is(err, store.ErrBack) {
			t.Errorf("a row that was set back: %v", err)
		}
		harness.Exec(t, goesOn, place, "2025-03-01", 3)
		if got := harness.KeysOf(t, s.Raw, context.Background(), "SELECT no FROM t WHERE a = 3"); len(got) != 1 || got[0] < "2025-012" {
			t.Errorf("after a row was set back, %v is stored", got)
		}
		before := harness.CountInt(t, s.Raw, "SELECT COUNT(*) FROM t")
		harness.Exec(t, s.Raw, "UPDATE keyfill_sequences SET next_value = -next_value WHERE name = 't.no[2025]'")
		for _, db := range []*sql.DB{plain, goesOn, open(nil)} {
			if _, err := db.Exec(place, "2025-12-31", 4); !errors.Is(err, store.ErrPeriodClosed) || !strings.Contains(err.Error(), "2025") {
				t.Errorf("a closed period: %v", err)
			}
		}
		harness.Exec(t, plain, place, "2026-01-01", 5)
		if rows := harness.CountInt(t, s.Raw, "SELECT COUNT(*) FROM t"); rows != before+1 {
			t.Errorf("%d rows, want %d", rows, before+1)
		}
	})
}
