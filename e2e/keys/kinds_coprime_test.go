package keys_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// coprimeEngines are one of each engine.
var coprimeEngines = []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}

// coprimeID is the policy for keys of both cases; change may be nil.
func coprimeID(e harness.Engine, change func(*policy.Source)) *policy.Config {
	k := harness.KeyKind{Source: harness.Mapped(policy.KindCoprime, func(s *policy.Source) {
		s.Length, s.Alphabet, s.Collation = 6, policy.AlphabetBase62, policy.CollationBinary
		if change != nil {
			change(s)
		}
	})}
	return k.Config(e)
}

// article is the k of the article on short keys.
func article(s *policy.Source) { s.K, s.Block = 67*71*73*79*83*89, 1 }

// TestCoprimeArticle: keys 200 and 42,045,358 of the article's pair are one under
// MariaDB's default collation, which the check finds before the first key, and
// two under ascii_bin.
func TestCoprimeArticle(t *testing.T) {
	t.Parallel()
	steps, err := keysource.NewCoprime(keysource.CoprimeOptions{Length: 6, Alphabet: keysource.AlphabetBase62, K: 67 * 71 * 73 * 79 * 83 * 89})
	if err != nil {
		t.Fatal(err)
	}
	first, second := steps.Key(200, ""), steps.Key(42_045_358, "")
	s := harness.MySQLDefault.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE clashes (id VARCHAR(6) NOT NULL PRIMARY KEY)")
	harness.Exec(t, s.Raw, "INSERT INTO clashes VALUES (?)", first)
	if _, err := s.Raw.Exec("INSERT INTO clashes VALUES (?)", second); err == nil || !strings.Contains(err.Error(), "1062") {
		t.Errorf("the second key: %v, want error 1062", err)
	}
	harness.Exec(t, s.Raw, "CREATE TABLE t (id VARCHAR(6) NOT NULL PRIMARY KEY, a INT)")
	db, _ := s.Open(t, coprimeID(s.Engine, article))
	_, err = db.Exec("INSERT INTO t (a) VALUES (1)")
	var collation string
	if e := s.Raw.QueryRow("SELECT collation_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 't' AND column_name = 'id'").Scan(&collation); e != nil {
		t.Fatal(e)
	}
	if !errors.Is(err, catalog.ErrCollation) || !strings.Contains(err.Error(), collation) || !strings.Contains(err.Error(), "ascii_bin") {
		t.Errorf("under %s: %v", collation, err)
	}
	if rows := harness.CountInt(t, s.Raw, "SELECT COUNT(*) FROM t"); rows != 0 {
		t.Errorf("%d rows are stored", rows)
	}
	harness.Exec(t, s.Raw, "DROP TABLE t")
	harness.Exec(t, s.Raw, "CREATE TABLE t (id VARCHAR(6) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY, a INT)")
	db, _ = s.Open(t, coprimeID(s.Engine, article))
	harness.Exec(t, db, "INSERT INTO t (a) VALUES (0)")
	for _, number := range []int{200, 42_045_358} {
		harness.Exec(t, s.Raw, "UPDATE keyfill_sequences SET next_value = ?", number)
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (?)", number)
	}
	got := harness.KeysOf(t, s.Raw, context.Background(), "SELECT id FROM t WHERE a > 0 ORDER BY a")
	if want := fmt.Sprint([]any{first, second}); fmt.Sprint(got) != want {
		t.Errorf("stored %v, want %s", got, want)
	}
}

// TestCoprimeNarrow: a column that is too short for the keys, grown ones among
// them, is found before the first one.
func TestCoprimeNarrow(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id "+asciiBin(s.Engine, 6)+" NOT NULL PRIMARY KEY, a INT)")
		for length, grow := range map[int]bool{7: false, 6: true} {
			db, _ := s.Open(t, coprimeID(s.Engine, func(src *policy.Source) { src.Length, src.Grow = length, grow }))
			_, err := db.Exec("INSERT INTO t (a) VALUES (1)")
			if !errors.Is(err, catalog.ErrType) || !strings.Contains(err.Error(), "7 characters") {
				t.Errorf("length %d, grow %v: %v", length, grow, err)
			}
		}
	})
}

// TestCoprimeChanged: other parameters than those that the row was made with are
// refused before a key is made; they would repeat keys.
func TestCoprimeChanged(t *testing.T) {
	t.Parallel()
	harness.Each(t, coprimeEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id "+asciiBin(s.Engine, 8)+" NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.Open(t, coprimeID(s.Engine, article))
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		for name, change := range map[string]func(*policy.Source){
			"k":        func(src *policy.Source) { src.K = 62 + 1 },
			"length":   func(src *policy.Source) { article(src); src.Length = 5 },
			"alphabet": func(src *policy.Source) { article(src); src.Alphabet = policy.AlphabetBase32 },
			"start":    func(src *policy.Source) { article(src); src.Start = 1 },
		} {
			other, _ := s.Open(t, coprimeID(s.Engine, change))
			if _, err := other.Exec("INSERT INTO t (a) VALUES (2)"); !errors.Is(err, store.ErrParameters) {
				t.Errorf("another %s: %v", name, err)
			}
		}
		same, _ := s.Open(t, coprimeID(s.Engine, func(src *policy.Source) { article(src); src.Grow = true }))
		harness.Exec(t, same, "INSERT INTO t (a) VALUES (3)")
		if rows := harness.CountInt(t, s.Raw, "SELECT COUNT(*) FROM t"); rows != 2 {
			t.Errorf("%d rows, want 2", rows)
		}
	})
}

// TestCoprimeEnd: all 238,328 keys of three characters are different, and the
// error after the last one says which source it is, its limit and what to do.
// With grow the keys go on with four.
func TestCoprimeEnd(t *testing.T) {
	t.Parallel()
	const all = 62 * 62 * 62
	harness.Each(t, coprimeEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id "+asciiBin(s.Engine, 4)+" NOT NULL PRIMARY KEY, a INT)")
		short := func(src *policy.Source) { src.Length = 3 }
		db, m := s.Open(t, coprimeID(s.Engine, short))
		seen := map[string]bool{}
		for left := all - 2; left > 0; {
			n := min(left, 7000)
			keys, err := m.Keys(context.Background(), "t", n)
			if err != nil {
				t.Fatalf("with %d left: %v", left, err)
			}
			for _, key := range keys {
				seen[key.(string)] = true
			}
			left -= n
		}
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1), (2)")
		for _, key := range harness.KeysOf(t, s.Raw, context.Background(), "SELECT id FROM t") {
			seen[key] = true
		}
		if len(seen) != all {
			t.Errorf("%d different keys, want %d", len(seen), all)
		}
		_, err := db.Exec("INSERT INTO t (a) VALUES (3)")
		var ours *keyfill.Error
		if !errors.Is(err, keysource.ErrExhausted) || !errors.As(err, &ours) || ours.Table != "t" || ours.Column != "id" {
			t.Errorf("after the last one: %v", err)
		} else if text := err.Error(); !strings.Contains(text, "238328") || !strings.Contains(text, "grow: true") {
			t.Errorf("after the last one: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db, _ = s.Open(t, coprimeID(s.Engine, func(src *policy.Source) { short(src); src.Grow = true }))
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (4), (5)")
		for _, key := range harness.KeysOf(t, s.Raw, context.Background(), "SELECT id FROM t WHERE a > 3") {
			if len(key) != 4 {
				t.Errorf("%q has %d characters, want 4", key, len(key))
			}
		}
	})
}

// TestCoprimeFull: keys in the table whose numbers are not known are no start for
// a new row.
//
//deviation:integer-keys | The first key of a state without a row is refused where the column holds keys, also keys of another tenant's state with `{value:…}`: make its row by hand. | all, `pseudorandom`, `scatter`, `coprime` | `name: codes.{value:tenant}` | a column or table for each
func TestCoprimeFull(t *testing.T) {
	t.Parallel()
	harness.Each(t, coprimeEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id "+asciiBin(s.Engine, 6)+" NOT NULL PRIMARY KEY, a INT)")
		harness.Exec(t, s.Raw, "INSERT INTO t VALUES ('000001', 1)")
		db, _ := s.Open(t, coprimeID(s.Engine, nil))
		_, err := db.Exec("INSERT INTO t (a) VALUES (2)")
		if !errors.Is(err, store.ErrFresh) {
			t.Errorf("INSERT: %v", err)
		}
	})
}

// TestCoprimeCaseless: columns of other engines that take both cases for one are
// found before the first key too.
func TestCoprimeCaseless(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		column, named := "TEXT COLLATE NOCASE", "NOCASE"
		if s.IsPostgres() {
			column, named = "text COLLATE caseless", "caseless"
			if _, err := s.Raw.Exec("CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"); err != nil {
				harness.Skip(t, "PostgreSQL without ICU: "+err.Error())
			}
		}
		harness.Exec(t, s.Raw, "CREATE TABLE t (id "+column+" NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.Open(t, coprimeID(s.Engine, nil))
		if _, err := db.Exec("INSERT INTO t (a) VALUES (1)"); !errors.Is(err, catalog.ErrCollation) || !strings.Contains(err.Error(), named) {
			t.Errorf("INSERT: %v", err)
		}
		db, _ = s.Open(t, coprimeID(s.Engine, func(src *policy.Source) { src.Alphabet = policy.AlphabetBase32 }))
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1), (2)")
	})
}
