package keyfill_test

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// twoWays is one row unless sql_mode has NO_BACKSLASH_ESCAPES, else two.
const (
	twoWays = `INSERT INTO t (a, b) VALUES ('\', 1), (' , 2) -- ', 3)`
	oneRow  = "INSERT INTO t (a, b, `id`) VALUES ('\\', 1), (' , 2, '"
	twoRows = "INSERT INTO t (a, b, `id`) VALUES ('\\', 1, '"
)

// answersMode makes a driver of MySQL answer the question for sql_mode.
func answersMode(d *fakeDriver, answer driver.Value, err error) {
	switch modes := answer.(type) { // a client's character set follows them
	case string:
		answer = modes + ",utf8mb4"
	case []byte:
		answer = append(modes, ",latin1"...)
	}
	d.query = func(query string, _ []driver.NamedValue) (driver.Rows, error) {
		if !asksMode(query) {
			return &fakeRows{}, nil
		}
		return &fakeRows{columns: []string{"@@SESSION.sql_mode"}, rows: [][]driver.Value{{answer}}}, err
	}
}

func asksMode(query string) bool { return query == dialect.MySQL().Setting.Query }

// questionsIn counts the questions for sql_mode, and returns the last INSERT that was sent:
// under dry_run a check asks beside it.
func questionsIn(d *fakeDriver) (n int, last string) {
	for _, c := range d.sent() {
		switch {
		case asksMode(c.query):
			n++
		case strings.HasPrefix(c.query, "INSERT"):
			last = c.query
		}
	}
	return n, last
}

// TestSettingsAsked: what a connection answers decides, it is asked only where
// that matters, and what it cannot answer is not guessed.
//
//deviation:settings | If a connection has prepared a statement that may change the setting, or was used through `keyfill.Unwrap`, keyfill asks for the setting before each INSERT whose meaning depends on it. | MySQL, MariaDB, PostgreSQL, SQL Server | `conn.Prepare("CALL p")` | `sql_mode:`, `standard_conforming_strings:`, `quoted_identifier:` in the policy
func TestSettingsAsked(t *testing.T) {
	lost := errors.New("connection lost")
	for _, c := range []struct {
		name   string
		change func(*keyfill.Options)
		answer driver.Value
		fails  error
		text   string // twoWays where it is left out
		asks   int
		sent   string // the beginning of the text that is sent; may be empty
		err    error
	}{
		{name: "usual", answer: "STRICT_TRANS_TABLES", asks: 1, sent: oneRow},
		{name: "bytes", answer: []byte("IGNORE_SPACE,NO_BACKSLASH_ESCAPES"), asks: 1, sent: twoRows},
		{name: "none", answer: "", asks: 1, sent: oneRow},
		{name: "one way", text: "INSERT INTO t (a) VALUES ('it\\'s')", sent: "INSERT INTO t (a, `id`) VALUES ('it\\'s', '"},
		{name: "the driver's error", fails: lost, asks: 1, err: lost},
		{name: "no answer", answer: nil, asks: 1, err: rewrite.ErrSettings},
		{name: "reads the count", text: strings.Replace(twoWays, "1)", "ROW_COUNT())", 1) + "\n", answer: "", err: rewrite.ErrSettings},
		{name: "the policy's", change: func(c *keyfill.Options) { c.Policy.SQLMode = "no_backslash_escapes" }, sent: twoRows},
		{name: "the policy's default", change: func(c *keyfill.Options) { c.Policy.SQLMode = "default" }, sent: oneRow},
		{name: "off", change: func(c *keyfill.Options) { c.Policy.Mode = policy.ModeOff }, sent: twoWays},
		{name: "dry run", change: func(c *keyfill.Options) { c.Policy.Mode = policy.ModeDryRun }, answer: "", asks: 1, sent: twoWays},
		{name: "dry run's error", change: func(c *keyfill.Options) { c.Policy.Mode = policy.ModeDryRun }, fails: lost, asks: 1, sent: twoWays},
		{name: "unfilled", change: func(c *keyfill.Options) { c.Policy.Unsupported = policy.Unfilled }, answer: nil, asks: 1, sent: twoWays},
		{name: "stand-ins", change: func(c *keyfill.Options) { c.Reservers = func(string) keysource.Reserver { return nil } }, sent: oneRow},
		{name: "a name", text: `INSERT INTO "t" (a) VALUES (1)`, answer: "ANSI_QUOTES", asks: 1, sent: "INSERT INTO \"t\" (a, `id`) VALUES (1, '"},
		{name: "a string", text: `INSERT INTO "t" (a) VALUES (1)`, answer: "", asks: 1, err: rewrite.ErrDoubleQuotes},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &fakeDriver{strength: contexts}
			answersMode(d, c.answer, c.fails)
			cfg := keyfill.Options{Policy: config("mysql")}
			if c.change != nil {
				c.change(&cfg)
			}
			if c.text == "" {
				c.text = twoWays
			}
			_, err := open(t, d, cfg).Exec(c.text)
			if !errors.Is(err, c.err) {
				t.Errorf("the error is %v, want %v", err, c.err)
			}
			asks, sent := questionsIn(d)
			if asks != c.asks {
				t.Errorf("asked %d times, want %d", asks, c.asks)
			}
			if !strings.HasPrefix(sent, c.sent) || c.sent == "" && sent != "" {
				t.Errorf("sent %q, want %q…", sent, c.sent)
			}
		})
	}
}

// TestSettingsExplained: without a database a text that reads in two ways is
// refused, unless the policy says which.
func TestSettingsExplained(t *testing.T) {
	for mode, want := range map[string]string{"": "refuse", "default": "fill", "NO_BACKSLASH_ESCAPES": "fill"} {
		cfg := config("mysql")
		cfg.SQLMode = mode
		x, err := keyfill.WrapConnector(explain.NoDatabase{}, keyfill.Options{Policy: cfg})
		if err != nil {
			t.Fatal(err)
		}
		ex, err := explain.By(x).Explain(twoWays)
		if err != nil || ex.Action != want {
			t.Errorf("sql_mode %q: Explain = %q, %v, want %q", mode, ex.Action, err, want)
		}
		if want == "refuse" && (ex.Reason != rewrite.ErrSettings.Error() || ex.SQL != twoWays || ex.Table != "t") {
			t.Errorf("sql_mode %q: Explain = %+v", mode, ex)
		}
	}
}

// TestConversionUnasked: where stores are replaced, no engine is asked whether it converts
// the bytes of a key; elsewhere it is asked once, and not in front of an INSERT that reads
// the count of rows, which gets a literal.
func TestConversionUnasked(t *testing.T) {
	for name, tt := range map[string]struct {
		query  string
		change func(*keyfill.Options)
		asked  int
		bytes  bool // the key is an argument
	}{
		"asked":           {"INSERT INTO t (a) VALUES (?)", nil, 1, true},
		"reads the count": {"INSERT INTO t (a, n) VALUES (?, ROW_COUNT())", nil, 0, false},
		"stood in": {"INSERT INTO t (a) VALUES (?)", func(o *keyfill.Options) {
			o.Reservers = func(string) keysource.Reserver { return nil }
		}, 0, true},
	} {
		for _, prepared := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", name, prepared), func(t *testing.T) {
				d := &fakeDriver{strength: contexts}
				d.query = func(query string, _ []driver.NamedValue) (driver.Rows, error) {
					if query != dialect.MySQL().Conversion {
						return &fakeRows{}, nil
					}
					return &fakeRows{columns: []string{"c"}, rows: [][]driver.Value{{int64(0)}}}, nil
				}
				o := keyfill.Options{Policy: config("mysql")}
				o.Policy.Tables["t*"] = policy.Table{Column: "id", Layout: dialect.SequentialAsBinary}
				if tt.change != nil {
					tt.change(&o)
				}
				db := open(t, d, o)
				ctx, _ := keyfill.Record(t.Context())
				for range 2 {
					exec := func(args ...any) (sql.Result, error) { return db.ExecContext(ctx, tt.query, args...) }
					if prepared {
						stmt, err := db.PrepareContext(ctx, tt.query)
						if err != nil {
							t.Fatal(err)
						}
						defer stmt.Close()
						exec = func(args ...any) (sql.Result, error) { return stmt.ExecContext(ctx, args...) }
					}
					if _, err := exec(1); err != nil {
						t.Fatal(err)
					}
				}
				asked := 0
				for _, c := range d.sent() {
					if c.query == dialect.MySQL().Conversion {
						asked++
					} else if strings.HasPrefix(c.query, "INSERT") && (len(c.args) == 2) != tt.bytes {
						t.Errorf("%q is sent with %d arguments", c.query, len(c.args))
					}
				}
				if asked != tt.asked {
					t.Errorf("asked %d times, want %d", asked, tt.asked)
				}
			})
		}
	}
}
