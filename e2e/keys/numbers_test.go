package keys_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// numberEngines are one of each engine.
var numberEngines = []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}

// formatted returns the policy for texts of numbers in the column no of t; change may be nil.
func formatted(format string, change func(*policy.Source)) *policy.Config {
	s := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Format: format}
	if change != nil {
		change(&s)
	}
	return &policy.Config{Tables: map[string]policy.Table{"t": {Column: "no", InPlace: &s}}}
}

// numberModes are the modes of a sequence.
var numberModes = map[string]func(*policy.Source){
	"blocks":     nil,
	"one by one": func(s *policy.Source) { s.Block = 1 },
	"joined":     func(s *policy.Source) { s.Transaction = policy.TransactionJoined },
	"optimistic": func(s *policy.Source) { s.Lock = policy.LockOptimistic },
}

func createNumbers(t *testing.T, s *harness.Scratch) {
	t.Helper()
	harness.Exec(t, s.Raw, "CREATE TABLE t (no VARCHAR(20) NOT NULL PRIMARY KEY, a INT)")
}

// numbersOf returns the texts of t in the order of a.
func numbersOf(t *testing.T, s *harness.Scratch) []string {
	t.Helper()
	return harness.KeysOf(t, s.Raw, context.Background(), "SELECT no FROM t ORDER BY a")
}

// TestNumbers: the texts are stored in each mode and by each way in, and Record, Last and
// Keys show them.
func TestNumbers(t *testing.T) {
	t.Parallel()
	harness.Each(t, numberEngines, func(t *testing.T, s *harness.Scratch) {
		for mode, change := range numberModes {
			t.Run(mode, func(t *testing.T) {
				createNumbers(t, s)
				defer harness.Exec(t, s.Raw, "DROP TABLE t")
				db, m := s.Open(t, formatted("INV-{n:05}", change))
				ctx, rec := keyfill.Record(context.Background())
				place := s.Placeholders("INSERT INTO t (a) VALUES (?)")
				if _, err := db.ExecContext(ctx, place, 1); err != nil {
					t.Fatal(err)
				}
				if no, ok := keyfill.Last[string](rec, "t"); !ok || no != "INV-00001" {
					t.Errorf("the last number is %q, %t, want INV-00001", no, ok)
				}
				harness.Exec(t, db, "INSERT INTO t (a) VALUES (2), (3)")
				harness.Exec(t, db, s.Placeholders("INSERT INTO t (no, a) VALUES (?, ?), (?, ?)"), "", 4, nil, 5)
				harness.Exec(t, db, "INSERT INTO t (no, a) VALUES ('', 6), (DEFAULT, 7)"[:len("INSERT INTO t (no, a) VALUES ('', 6)")])
				if _, err := harness.PreparedExec(db, place, 7); err != nil {
					t.Fatal(err)
				}
				if err := harness.InTx(db, func(tx *sql.Tx) error {
					_, err := tx.Exec(place, 8)
					return err
				}); err != nil {
					t.Fatal(err)
				}
				var want []string
				for n := range 8 {
					want = append(want, fmt.Sprintf("INV-%05d", n+1))
				}
				if got := numbersOf(t, s); !slices.Equal(got, want) {
					t.Errorf("stored %v, want %v", got, want)
				}
				keys, err := m.Keys(context.Background(), "t", 2)
				if joined := mode == "joined"; joined != (err != nil) || !joined && (keys[0] != "INV-00009" || keys[1] != "INV-00010") {
					t.Errorf("Keys gives %v, %v", keys, err)
				}
				if first, err := m.Reserve(context.Background(), "t", 2); err == nil {
					t.Errorf("Reserve gives %d", first)
				}
				if _, err := db.Exec("INSERT INTO t (a) SELECT a + 100 FROM t"); err == nil {
					t.Error("an INSERT … SELECT of several rows is filled")
				}
				harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences")
			})
		}
	})
}

// TestNumbersGoOn: a new state begins above the greatest number of its texts, whatever other
// texts are in the column and however it compares text.
func TestNumbersGoOn(t *testing.T) {
	t.Parallel()
	harness.Each(t, numberEngines, func(t *testing.T, s *harness.Scratch) {
		columns := []string{"VARCHAR(30)"}
		switch {
		case s.IsPostgres():
			columns = append(columns, `VARCHAR(30) COLLATE "C"`, "CHAR(30)", `TEXT COLLATE "en-x-icu"`)
		case s.Dialect.LastRowID:
			columns = append(columns, "TEXT COLLATE NOCASE")
		default:
			columns = append(columns, "VARCHAR(30) COLLATE utf8mb4_bin", "VARCHAR(30) CHARACTER SET latin1", "CHAR(30)")
		}
		for _, column := range columns {
			t.Run(column, func(t *testing.T) {
				harness.Exec(t, s.Raw, "CREATE TABLE t (no "+column+" NOT NULL PRIMARY KEY, a INT)")
				defer func() { harness.Must(t, s.Raw, "DROP TABLE t", "DELETE FROM keyfill_sequences") }()
				for i, text := range []string{
					"A_1-00041", "A_1-00042", "A_1-00007", "A_1-9", "A_1-0004a", "A_1-000050", "A_1-00060x", "Z_1-00099", "a_2-00098", "A-1-00097", "A_1_00096", "A_1-0009 ",
				} {
					harness.Exec(t, s.Raw, s.Placeholders("INSERT INTO t VALUES (?, ?)"), text, i)
				}
				db, _ := s.Open(t, formatted("A_1-{n:05}", func(src *policy.Source) { src.Transaction = policy.TransactionJoined }))
				harness.Exec(t, db, "INSERT INTO t (a) VALUES (100)")
				got := harness.Text(t, s.Raw, "SELECT no FROM t WHERE a = 100 -- in "+column)
				if strings.TrimRight(got, " ") != "A_1-00043" {
					t.Errorf("the first number is %q, want A_1-00043", got)
				}
			})
		}
	})
}

// TestNumbersUnordered: a new state of texts that do not sort as their numbers do is refused
// where there are such texts, and the error has the statement that makes it. Texts of
// another prefix do not count.
func TestNumbersUnordered(t *testing.T) {
	t.Parallel()
	harness.Each(t, numberEngines, func(t *testing.T, s *harness.Scratch) {
		createNumbers(t, s)
		harness.Exec(t, s.Raw, "INSERT INTO t VALUES ('INV-9', 1), ('INV-12', 2)")
		db, _ := s.Open(t, formatted("INV-{n}", nil))
		_, err := db.Exec("INSERT INTO t (a) VALUES (3)")
		if !errors.Is(err, store.ErrFresh) || !strings.Contains(err.Error(), "INSERT INTO keyfill_sequences") {
			t.Errorf("a new state: %v", err)
		}
		other, _ := s.Open(t, formatted("B-{n}", func(src *policy.Source) { src.Name = "b" }))
		harness.Exec(t, other, "INSERT INTO t (a) VALUES (3)")
		harness.Exec(t, other, "INSERT INTO t (a) VALUES (4)")
		if got, want := numbersOf(t, s), []string{"INV-9", "INV-12", "B-1", "B-2"}; !slices.Equal(got, want) {
			t.Errorf("stored %v, want %v", got, want)
		}
	})
}

// TestNumbersOfTenants: each value has its own numbers, and begins above those that the
// column has of it.
func TestNumbersOfTenants(t *testing.T) {
	t.Parallel()
	harness.Each(t, numberEngines, func(t *testing.T, s *harness.Scratch) {
		createNumbers(t, s)
		harness.Exec(t, s.Raw, "INSERT INTO t VALUES ('acme-0006', 1)")
		db, _ := s.Open(t, formatted("{value:tenant}-{n:04}", func(src *policy.Source) {
			src.Name, src.Exclusive, src.Create, src.Alphabet, src.MaxLength = "{table}.{value:tenant}", true, new(true), "a-z0-9-", 12
		}))
		insert := func(tenant string, a int) error {
			_, err := db.ExecContext(keyfill.WithValue(context.Background(), "tenant", tenant), s.Placeholders("INSERT INTO t (a) VALUES (?)"), a)
			return err
		}
		for i, tenant := range []string{"acme", "zeta", "acme", "zeta"} {
			if err := insert(tenant, i+2); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := numbersOf(t, s), []string{"acme-0006", "acme-0007", "zeta-0001", "acme-0008", "zeta-0002"}; !slices.Equal(got, want) {
			t.Errorf("stored %v, want %v", got, want)
		}
		for tenant, want := range map[string]string{
			"Acme": "alphabet does not have", "acme-north": "more than max_length", "": `needs the value "tenant"`,
		} {
			if err := insert(tenant, 50); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Acme") {
				t.Errorf("the value %q: %v, want %q", tenant, err, want)
			}
		}
		if rows := harness.CountInt(t, s.Raw, "SELECT COUNT(*) FROM t"); rows != 5 {
			t.Errorf("%d rows, want 5", rows)
		}
	})
}

// TestNumbersEnd: a number that outgrows its width, or max_length, is an error before it is
// stored, and one that is out of the column's width before the first.
func TestNumbersEnd(t *testing.T) {
	t.Parallel()
	harness.Each(t, numberEngines, func(t *testing.T, s *harness.Scratch) {
		createNumbers(t, s)
		for name, cfg := range map[string]*policy.Config{
			"width":      formatted("W{n:02}", func(src *policy.Source) { src.Start = 98 }),
			"joined":     formatted("J{n:02}", func(src *policy.Source) { src.Start, src.Transaction = 98, policy.TransactionJoined }),
			"max_length": formatted("M{n}", func(src *policy.Source) { src.Start, src.MaxLength = 98, 3 }),
		} {
			db, _ := s.Open(t, cfg)
			harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
			harness.Exec(t, db, "INSERT INTO t (a) VALUES (2)")
			_, err := db.Exec("INSERT INTO t (a) VALUES (3)")
			if !errors.Is(err, keysource.ErrExhausted) || !strings.Contains(err.Error(), "more digits") {
				t.Errorf("%s: number 100: %v", name, err)
			}
			harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences")
		}
		if got := harness.CountInt(t, s.Raw, "SELECT COUNT(*) FROM t WHERE a = 3"); got != 0 {
			t.Errorf("%d rows have number 100", got)
		}
		if s.Dialect.LastRowID {
			return // a column of SQLite has no width
		}
		db, _ := s.Open(t, formatted("A-LONG-PREFIX-{n:08}", func(src *policy.Source) { src.Name = "long" }))
		if _, err := db.Exec("INSERT INTO t (a) VALUES (3)"); !errors.Is(err, catalog.ErrType) || !strings.Contains(err.Error(), "22 characters") {
			t.Errorf("a text of 22 characters in VARCHAR(20): %v", err)
		}
		integers, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{"t": {
			Column: "a", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Format: "{n:05}"},
		}}})
		if _, err := integers.Exec("INSERT INTO t (no) VALUES ('x')"); !errors.Is(err, catalog.ErrType) {
			t.Errorf("texts in a column of integers: %v", err)
		}
	})
}

// TestNumbersChanged: another template is refused, since it could write a text that another
// number already has.
func TestNumbersChanged(t *testing.T) {
	t.Parallel()
	harness.Each(t, numberEngines, func(t *testing.T, s *harness.Scratch) {
		createNumbers(t, s)
		db, _ := s.Open(t, formatted("A{n:05}", nil))
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		for _, format := range []string{"A{n:06}", "A{n}", "B{n:05}"} {
			other, _ := s.Open(t, formatted(format, nil))
			if _, err := other.Exec("INSERT INTO t (a) VALUES (2)"); !errors.Is(err, store.ErrParameters) {
				t.Errorf("%s: %v", format, err)
			}
		}
		integers, _ := s.Open(t, formatted("", nil))
		if _, err := integers.Exec("INSERT INTO t (a) VALUES (2)"); err == nil {
			t.Error("integers are stored beside the texts")
		}
	})
}

// TestNumbersFollow: the state is raised above the texts that INSERTs bring, of its own
// numbering alone.
func TestNumbersFollow(t *testing.T) {
	t.Parallel()
	harness.Each(t, numberEngines, func(t *testing.T, s *harness.Scratch) {
		for mode, change := range map[string]func(*policy.Source){
			"joined": func(src *policy.Source) { src.Transaction = policy.TransactionJoined },
			"told":   func(src *policy.Source) { src.FollowExplicit, src.Block = true, 1 },
		} {
			t.Run(mode, func(t *testing.T) {
				createNumbers(t, s)
				defer func() { harness.Must(t, s.Raw, "DROP TABLE t", "DELETE FROM keyfill_sequences") }()
				db, _ := s.Open(t, formatted("INV-{n:05}", change))
				place := s.Placeholders("INSERT INTO t (no, a) VALUES (?, ?)")
				harness.Exec(t, db, place, nil, 1)
				harness.Exec(t, db, place, "INV-00007", 2)
				harness.Exec(t, db, place, "", 3)
				harness.Exec(t, db, "INSERT INTO t (no, a) VALUES ('INV-00020', 4)")
				harness.Exec(t, db, "INSERT INTO t (a) VALUES (5)")
				for i, other := range []string{"INV-30", "30", "inx-00031", "INV-99999", "INV-0004x"} {
					harness.Exec(t, db, place, other, 10+i)
				}
				harness.Exec(t, db, s.Placeholders("INSERT INTO t (no, a) VALUES (?, ?), (?, ?)"), "INV-00041", 21, nil, 22)
				got := strings.Join(harness.KeysOf(t, s.Raw, context.Background(), "SELECT no FROM t WHERE a IN (1, 3, 5, 22) ORDER BY a"), " ")
				want := "INV-00001 INV-00008 INV-00021 INV-00042"
				if mode == "told" {
					want = "INV-00001 INV-00008 INV-00021 INV-00022" // drawn before the INSERT, which raises the state
				}
				if got != want {
					t.Errorf("stored %s, want %s", got, want)
				}
			})
		}
	})
}

// TestNumbersBehind: a greater text that another program has stored is an error for the next
// process, or raises the state.
func TestNumbersBehind(t *testing.T) {
	t.Parallel()
	harness.Each(t, numberEngines, func(t *testing.T, s *harness.Scratch) {
		for mode, change := range numberModes {
			createNumbers(t, s)
			db, _ := s.Open(t, formatted("INV-{n:05}", change))
			harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
			harness.Must(t, s.Raw, "INSERT INTO t VALUES ('INV-00500', 2)", "INSERT INTO t VALUES ('XYZ-00900', 3)")
			behind := func(remedy keysource.Remedy) (string, error) {
				again, _ := s.Open(t, formatted("INV-{n:05}", func(src *policy.Source) {
					if change != nil {
						change(src)
					}
					src.OnBehind = remedy
				}))
				_, err := again.Exec("INSERT INTO t (a) VALUES (4)")
				return strings.Join(harness.KeysOf(t, s.Raw, context.Background(), "SELECT no FROM t WHERE a = 4"), " "), err
			}
			if no, err := behind(keysource.RemedyError); !errors.Is(err, keysource.ErrStoreBehind) {
				t.Errorf("%s: %q, %v", mode, no, err)
			}
			if no, err := behind(keysource.RemedyAdvance); err != nil || no != "INV-00501" {
				t.Errorf("%s: %q, %v, want INV-00501", mode, no, err)
			}
			harness.Must(t, s.Raw, "DROP TABLE t", "DELETE FROM keyfill_sequences")
		}
	})
}

// TestNumbersOddValues: a value with any characters is stored as it is, in a literal and as an
// argument, whatever the settings of the session are.
func TestNumbersOddValues(t *testing.T) {
	t.Parallel()
	engines := append(slices.Clone(numberEngines), harness.SQLiteMemory, harness.MySQLInterp, harness.PgxSimple, harness.PQDefault)
	harness.Each(t, engines, func(t *testing.T, s *harness.Scratch) {
		createNumbers(t, s)
		cfg := formatted("{value:tenant}:{n:03}", func(src *policy.Source) {
			src.Name, src.Exclusive, src.Create, src.Start = "{table}.{value:tenant}", true, new(true), 1
		})
		db, _ := s.Open(t, cfg)
		db.SetMaxOpenConns(1)
		settings := []string{""}
		switch {
		case strings.HasPrefix(s.Name, harness.PgxSimple.Name): // which needs standard_conforming_strings
		case s.IsPostgres():
			settings = append(settings, "SET standard_conforming_strings = off")
		case s.Server != nil:
			settings = append(settings, "SET sql_mode = 'NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES'", "SET sql_mode = 'ANSI_QUOTES'")
		}
		a := 0
		var want []string
		for i, setting := range settings {
			if setting != "" {
				harness.Exec(t, db, setting)
			}
			for _, tenant := range []string{`a'b`, `a\`, `a"b`, "é?", "$1;--"} {
				ctx := keyfill.WithValue(context.Background(), "tenant", tenant)
				for _, insert := range []func() error{
					func() error {
						_, err := db.ExecContext(ctx, fmt.Sprintf("INSERT INTO t (a) VALUES (%d)", a))
						return err
					},
					func() error {
						_, err := db.ExecContext(ctx, s.Placeholders("INSERT INTO t (a) VALUES (?)"), a)
						return err
					},
				} {
					if err := insert(); err != nil {
						t.Fatalf("%s: %q: %v", setting, tenant, err)
					}
					want = append(want, fmt.Sprintf("%s:%03d", tenant, 2*i+1+a%2))
					a++
				}
			}
		}
		if got := harness.KeysOf(t, db, context.Background(), "SELECT no FROM t ORDER BY a"); !slices.Equal(got, want) {
			t.Errorf("stored %q, want %q", got, want)
		}
	})
}
