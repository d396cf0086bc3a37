package statements_test

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestLexerTexts compares what is stored of each text with and without keyfill,
// whether the policy says how the sessions are set or not. A text that the
// engine runs is not refused for want of settings.
//
//deviation:settings | An INSERT whose table or column is in double quotes is refused where they make a string. The plain driver gets the engine's error. | MySQL, MariaDB without ANSI_QUOTES; SQL Server with QUOTED_IDENTIFIER off, if the policy says so | `INSERT INTO "t" (a) VALUES (1)` | `unsupported: unfilled`
func TestLexerTexts(t *testing.T) {
	t.Parallel()
	eachSession(t, func(t *testing.T, s lexerSession, db *harness.Scratch) {
		texts := slices.Clone(lexerTexts)
		r := rand.New(rand.NewPCG(7, 11))
		for range 80 {
			texts = append(texts, lexerText(r))
		}
		asking, _ := db.Open(t, s.config(false))
		told, _ := db.Open(t, s.config(true))
		ran := 0
		for _, text := range texts {
			_, plain := db.Raw.Exec(text)
			want := takeRows(t, db)
			for name, filling := range map[string]*sql.DB{"asking": asking, "told": told} {
				_, err := filling.Exec(text)
				got := takeRows(t, db)
				var e *keyfill.Error
				switch {
				case plain != nil && (err == nil || len(got) > 0 && filledLike(got, want) != ""):
					t.Errorf("%s: %s: stored %v; the engine alone says %v", name, text, got, plain)
				case plain != nil:
				case errors.As(err, &e) && errors.Is(err, rewrite.ErrSettings):
					t.Errorf("%s: %s: %v", name, text, err)
				case errors.As(err, &e):
					if len(got) > 0 {
						t.Errorf("%s: %s: refused, and stored %v", name, text, got)
					}
				case err != nil:
					t.Errorf("%s: %s: %v; the engine alone stores %v", name, text, err, want)
				default:
					ran++
					if what := filledLike(got, want); what != "" {
						t.Errorf("%s: %s: %s: stored %v, want %v", name, text, what, got, want)
					}
				}
			}
		}
		if ran < 30 {
			t.Errorf("%d texts were filled: too few to say anything", ran)
		}
	})
}

// TestLexerAsksOnce: a session is asked at the first text that depends on the
// answer, and not for others; with the policy's answer never.
//
//deviation:settings | keyfill asks for the setting before a connection's first INSERT that depends on it, and again after a statement that may have changed it: any but INSERT, REPLACE, UPDATE, DELETE and SELECT; on PostgreSQL these too with a function; on SQL Server any. `mode: off` asks nothing. | MySQL, MariaDB, PostgreSQL, SQL Server | `SELECT CONCAT(@@SESSION.sql_mode, …)`; `SHOW standard_conforming_strings` | `sql_mode:`, `standard_conforming_strings:`, `quoted_identifier:` in the policy
//deviation:settings | With go-mssqldb, pgx with a function that resets sessions, and unknown drivers, the setting is asked at each checkout. | PostgreSQL, SQL Server, others | `OptionResetSession` | `sql_mode:`, `standard_conforming_strings:`, `quoted_identifier:` in the policy
func TestLexerAsksOnce(t *testing.T) {
	t.Parallel()
	eachSession(t, func(t *testing.T, s lexerSession, db *harness.Scratch) {
		for _, says := range []bool{false, true} {
			below := new(harness.Spy)
			spied := harness.AsDriver{Connector: harness.WrapSqlmw(t, db.Connector, below), As: harness.Registered(t, s.Driver)}
			filling, _ := harness.OpenConnector(t, spied, s.config(says))
			filling.SetMaxOpenConns(1)
			asked := func() (n int) {
				for _, q := range below.All() {
					if q == s.Dialect.Setting.Query {
						n++
					}
				}
				return n
			}
			for _, text := range []string{
				`INSERT INTO orders (a, b) VALUES ('x', 'C:\dir')`,
				`INSERT INTO orders (a, b) VALUES ('{"k": "v"}', '\\')`,
				"SELECT a FROM orders WHERE b = '\"x\"' AND a = '\\\\'",
				"UPDATE orders SET a = 'x' WHERE b = '\\\\'",
			} {
				harness.Exec(t, filling, text)
			}
			if n := asked(); n != 0 {
				t.Errorf("asked %d times for texts that read one way", n)
			}
			for range 3 {
				harness.Exec(t, filling, twoWays)
				harness.Exec(t, filling, "UPDATE orders SET a = 'y'")
				if _, err := harness.PreparedExec(filling, twoWays); err != nil {
					t.Fatal(err)
				}
			}
			want := 1
			if s.Driver == "pgx" {
				want = 6 // at each checkout, since the application may reset sessions
			}
			if says {
				want = 0
			}
			if n := asked(); n != want {
				t.Errorf("asked %d times, want %d (the policy says: %v)", n, want, says)
			}
			if n := harness.Count(t, db.Raw, "SELECT COUNT(*) FROM orders WHERE id IS NULL"); n != 0 {
				t.Errorf("%d rows have no key", n)
			}
			harness.Exec(t, db.Raw, "DELETE FROM orders")
		}
	})
}

// TestLexerArguments: which placeholders a text has depends on the settings too.
func TestLexerArguments(t *testing.T) {
	t.Parallel()
	eachSession(t, func(t *testing.T, s lexerSession, db *harness.Scratch) {
		texts := []string{
			`INSERT INTO orders (a, b) VALUES ('\', ?), (' , ?) -- ', ?)`,
			`INSERT INTO orders (a, id, b) VALUES ('\', NULL, ?), (' , NULL, ?) -- ', NULL, ?)`,
		}
		args := []any{"first"}
		if s.to == "on" || strings.Contains(s.to, "NO_BACKSLASH") {
			args = []any{"first", "second"}
		}
		for _, says := range []bool{false, true} {
			filling, _ := db.Open(t, s.config(says))
			for _, text := range texts {
				if s.IsPostgres() {
					// The one in what is a string or a comment does not count.
					for _, n := range [][]string{{"$9", "$1", "$9"}, {"$1", "$9", "$2"}}[len(args)-1] {
						text = strings.Replace(text, "?", n, 1)
					}
				}
				if _, err := db.Raw.Exec(text, args...); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				want := takeRows(t, db)
				if len(want) != len(args) {
					t.Fatalf("%s: the engine alone stores %v", text, want)
				}
				_, err := filling.Exec(text, args...)
				if got := takeRows(t, db); err != nil || filledLike(got, want) != "" {
					t.Errorf("%s: %v: stored %v, want %v", text, err, got, want)
				}
				_, err = harness.PreparedExec(filling, text, args...)
				if got := takeRows(t, db); err != nil || filledLike(got, want) != "" {
					t.Errorf("prepared %s: %v: stored %v, want %v", text, err, got, want)
				}
			}
		}
	})
}

// TestLexerColonPlaceholders: :name is a placeholder by its place in ORACLE
// mode, beside which the key has one of its own.
func TestLexerColonPlaceholders(t *testing.T) {
	t.Parallel()
	for _, s := range lexerSessions() {
		if !strings.Contains(s.to, "ORACLE") || strings.Contains(s.Name, "interpolate") {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			db := s.Scratch(t)
			harness.Exec(t, db.Raw, "CREATE TABLE orders (id VARCHAR(36), a VARCHAR(200), b VARCHAR(200))")
			for _, says := range []bool{false, true} {
				filling, _ := db.Open(t, s.config(says))
				for _, text := range []string{
					`INSERT INTO orders (a, b) VALUES (:a, :b)`,
					`INSERT INTO orders (a, b) VALUES (:2, :1)`,
					`INSERT INTO orders (a, b) VALUES (:x, :x)`,
					`INSERT INTO "orders" (a, b) VALUES (:"X", ?)`,
				} {
					if _, err := filling.Exec(text, "first", "second"); err != nil {
						t.Errorf("%s: %v", text, err)
					}
					got := takeRows(t, db)
					if len(got) != 1 || got[0].a.String != "first" || got[0].b.String != "second" || !got[0].id.Valid {
						t.Errorf("%s: stored %v", text, got)
					}
				}
				_, err := filling.Exec("BEGIN INSERT INTO orders (a) VALUES ('x'); END")
				if !errors.Is(err, rewrite.ErrBlock) {
					t.Errorf("a block: %v, want %v", err, rewrite.ErrBlock)
				}
				if got := takeRows(t, db); len(got) != 0 {
					t.Errorf("a block stored %v", got)
				}
			}
		})
	}
}

// TestLexerSequence: what keyfill sends itself, for states, catalogs and INSERT …
// SELECT, is read rightly whatever the sessions are set to.
func TestLexerSequence(t *testing.T) {
	t.Parallel()
	eachSession(t, func(t *testing.T, s lexerSession, db *harness.Scratch) {
		harness.Exec(t, db.Raw, "CREATE TABLE parts (id BIGINT PRIMARY KEY, a VARCHAR(200))")
		harness.Exec(t, db.Raw, "CREATE TABLE marks (id BIGINT PRIMARY KEY, a VARCHAR(200))")
		for i, says := range []bool{false, true} {
			cfg := s.config(says)
			for _, table := range []string{"parts", "marks"} {
				cfg.Tables[table] = policy.Table{Column: "id", InPlace: &policy.Source{
					Kind: policy.KindSequence, EnsureSchema: true, Block: 10, Name: `it's "{table}" \`,
				}}
			}
			filling, m := db.Open(t, cfg)
			harness.Exec(t, filling, "INSERT INTO parts (a) VALUES ('x'), ('y')")
			harness.Exec(t, filling, "INSERT INTO parts VALUES (NULL, 'z')")
			harness.Exec(t, filling, "INSERT INTO parts (a) SELECT a FROM parts")
			harness.Exec(t, filling, "INSERT INTO marks (a) SELECT a FROM parts WHERE a <> '\\\\'")
			for table, want := range map[string]int{"parts": []int{6, 18}[i], "marks": []int{6, 24}[i]} {
				if got := harness.Count(t, db.Raw, "SELECT COUNT(*) FROM "+table); got != want {
					t.Errorf("%d rows in %s, want %d", got, table, want)
				}
			}
			if _, err := m.Reserve(context.Background(), "marks", 3); err != nil {
				t.Error(err)
			}
		}
	})
}
