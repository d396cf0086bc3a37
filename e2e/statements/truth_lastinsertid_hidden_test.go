package statements_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// readingTrigger is a trigger that reads the parent's id while the child is
// inserted; the row "old" is not of its business.
const readingTrigger = "CREATE TRIGGER {t}_before BEFORE INSERT ON {t} FOR EACH ROW " +
	"SET NEW.parent = IF(NEW.code = 'old', NULL, LAST_INSERT_ID())"

// twoRows is an INSERT that keyfill could give to the session.
const twoRows = "INSERT INTO {t} (code) VALUES (?), (?)"

var twoCodes = []any{"a", "b"}

// hiddenCases are places besides the statement where LAST_INSERT_ID() may be
// read while the child is inserted. It must be the parent's id there. {t} is
// the table; made is executed before the first INSERT.
var hiddenCases = []struct {
	name string
	made string
	cell lastIDCell
}{
	{"trigger before", readingTrigger,
		lastIDCell{query: twoRows, args: twoCodes, native: "a a", filled: "a parent", deviation: devTrigger}},
	// It turns the n of the parent that it reads from 1 to 0.
	{"trigger after", "CREATE TRIGGER {t}_after AFTER INSERT ON {t} FOR EACH ROW UPDATE parents SET n = 0 WHERE id = LAST_INSERT_ID()",
		lastIDCell{query: twoRows, args: twoCodes, native: "a a", filled: "a parent", deviation: devTrigger}},
	{"trigger on update", "CREATE TRIGGER {t}_other BEFORE UPDATE ON {t} FOR EACH ROW SET NEW.parent = LAST_INSERT_ID()",
		lastIDCell{query: twoRows, args: twoCodes, native: "a a"}},
	{"function", "CREATE FUNCTION {t}_parent() RETURNS BIGINT NOT DETERMINISTIC READS SQL DATA RETURN LAST_INSERT_ID()",
		lastIDCell{query: "INSERT INTO {t} (code, parent) VALUES (?, {t}_parent()), (?, {t}_parent())", args: twoCodes,
			native: "a a"}},
	{"function that inserts", "CREATE FUNCTION {t}_made() RETURNS BIGINT NOT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO parents (n) VALUES (0); RETURN 5; END",
		lastIDCell{query: "INSERT INTO {t} (id, n, parent, code) VALUES (NULL, {t}_made(), LAST_INSERT_ID(), ?), (NULL, {t}_made(), LAST_INSERT_ID(), ?)", args: twoCodes,
			native: "a a"}},
	{"default", "ALTER TABLE {t} MODIFY parent BIGINT DEFAULT (@@last_insert_id)",
		lastIDCell{query: twoRows, args: twoCodes, native: "a a", filled: "a parent", deviation: devTrigger}},
	{"default of identity", "ALTER TABLE {t} MODIFY parent BIGINT DEFAULT (1 + @@session.identity - 1)",
		lastIDCell{query: twoRows, args: twoCodes, native: "a a", filled: "a parent", deviation: devTrigger}},
}

// hiddenRefused are such places that MariaDB has not: 10.11 answers with error 1901.
// Therefore keyfill does not look for them.
var hiddenRefused = []string{
	"ALTER TABLE filled MODIFY parent BIGINT DEFAULT (LAST_INSERT_ID())",
	"ALTER TABLE filled ADD g BIGINT AS (LAST_INSERT_ID())",
	"ALTER TABLE filled ADD CHECK (LAST_INSERT_ID() > 0)",
}

// TestLastInsertIDReadElsewhere: no trigger, function or default gets our key
// for the parent's.
func TestLastInsertIDReadElsewhere(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		for _, c := range hiddenCases {
			t.Run(c.name, func(t *testing.T) {
				dropTables(t, s)
				createLastID(t, s, "BIGINT")
				harness.Exec(t, s.Raw, strings.ReplaceAll(c.made, "{t}", "native"))
				harness.Exec(t, s.Raw, strings.ReplaceAll(c.made, "{t}", "filled"))
				db, _ := s.Open(t, harness.SequenceID("filled"))
				compareLastID(t, s, db, c.cell)
				if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM parents WHERE n = 1"); c.name == "trigger after" && n != 0 {
					t.Errorf("the trigger has not read the ids of %d parents", n)
				}
			})
		}
		for _, ddl := range hiddenRefused {
			var refusal *mysql.MySQLError
			if _, err := s.Raw.Exec(ddl); !errors.As(err, &refusal) || refusal.Number != 1901 {
				t.Errorf("%s: error %v: the server has this place now", ddl, err)
			}
		}
	})
}

// TestLastInsertIDOfLaterTrigger: whether a table has triggers is asked once;
// what one that comes later does is in the list of deviations.
//
//deviation:lastinsertid | A trigger created after the first filled INSERT that reads `LAST_INSERT_ID()` for the last row gets the key of the first row instead of the value before. LastInsertId is 0 then. | MySQL, MariaDB | `CREATE TRIGGER` while the program runs | `last_insert_id: result`
func TestLastInsertIDOfLaterTrigger(t *testing.T) {
	t.Parallel()
	s := harness.MySQLDefault.Scratch(t)
	createLastID(t, s, "BIGINT")
	db, _ := s.Open(t, harness.SequenceID("filled"))
	c := lastIDCell{name: "before", query: twoRows, args: twoCodes, native: "a a"}
	compareLastID(t, s, db, c)
	harness.Exec(t, s.Raw, strings.ReplaceAll(readingTrigger, "{t}", "filled"))
	got := answerOf(t, s, db, "filled", func(ctx context.Context, conn *sql.Conn) (sql.Result, error) {
		return conn.ExecContext(ctx, "INSERT INTO filled (code) VALUES ('a'), ('b')")
	})
	checkListed(t, devLaterTrigger)
	if want := []string{"a n= of parent", "b n= of a", "old n=1"}; got.ids != "none a" || !slices.Equal(got.rows, want) {
		t.Errorf("answers %q with the rows %q, want %q", got.ids, got.rows, want)
	}
}

// TestLastInsertIDWithoutPrivilege: a user who may not see triggers inserts into
// a table that has one, and into one that has none.
//
//deviation:lastinsertid | `LAST_INSERT_ID()` keeps its old value after an INSERT into a table with INSERT triggers, with triggers that the user may not see, or with `@@last_insert_id` in a default. LastInsertId is the key. | MySQL, MariaDB | a user without the TRIGGER privilege | `GRANT TRIGGER`, where there are no triggers
func TestLastInsertIDWithoutPrivilege(t *testing.T) {
	t.Parallel()
	s := harness.MySQLDefault.Scratch(t)
	createLastID(t, s, "BIGINT")
	db := asUser(t, s, "SELECT, INSERT, UPDATE, DELETE, CREATE")
	c := lastIDCell{name: "no trigger", query: twoRows, args: twoCodes,
		native: "a a", filled: "a parent", deviation: devTrigger}
	compareLastID(t, s, db, c)
	db.Close()
	harness.Exec(t, s.Raw, strings.ReplaceAll(readingTrigger, "{t}", "native"))
	harness.Exec(t, s.Raw, strings.ReplaceAll(readingTrigger, "{t}", "filled"))
	c.name = "trigger"
	compareLastID(t, s, asUser(t, s, "SELECT"), c)
}

// asUser opens the database through keyfill for a user who has only these
// privileges on it.
func asUser(t *testing.T, s *harness.Scratch, privileges string) *sql.DB {
	t.Helper()
	dsn := s.DSN(t)
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	var database string
	if err := s.Raw.QueryRow("SELECT DATABASE()").Scan(&database); err != nil {
		t.Fatal(err)
	}
	cfg.DBName, cfg.User, cfg.Passwd = database, database[:20], ""
	harness.Exec(t, s.Raw, "CREATE USER IF NOT EXISTS "+cfg.User)
	t.Cleanup(func() { harness.Exec(t, s.Raw, "DROP USER IF EXISTS "+cfg.User) })
	harness.Exec(t, s.Raw, "GRANT "+privileges+" ON "+database+".* TO "+cfg.User)
	db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, "mysql", cfg.FormatDSN()), harness.SequenceID("filled"))
	return db
}

// TestLastInsertIDSwitch: last_insert_id: result leaves LAST_INSERT_ID() alone,
// and off LastInsertId too.
func TestLastInsertIDSwitch(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		createLastID(t, s, "BIGINT")
		for word, want := range map[policy.LastInsertID][]string{
			policy.LastInsertIDResult: {"a parent", "error parent", "a parent"},
			policy.LastInsertIDOff:    {"none parent", "error parent", "none parent"},
		} {
			cfg := harness.SequenceID("filled")
			rule := cfg.Tables["filled"]
			rule.LastInsertID = word
			cfg.Tables["filled"] = rule
			db, _ := s.Open(t, cfg)
			for i, c := range []lastIDCell{
				{name: "stored", query: "INSERT INTO {t} (code) VALUES (?)", args: []any{"a"}, native: "a a"},
				{name: "failed", query: "INSERT INTO {t} (code) VALUES (?)", args: []any{"old"}, native: "error parent"},
				{name: "listed", query: "INSERT INTO {t} (id, code) VALUES (?, ?)", args: []any{nil, "a"}, native: "a a"},
			} {
				c.name, c.filled = string(word)+"/"+c.name, want[i]
				compareLastID(t, s, db, c)
			}
		}
	})
}

// TestLastInsertIDOfRows: after INSERT … RETURNING, whose rows have the ids,
// LAST_INSERT_ID() gives the first.
func TestLastInsertIDOfRows(t *testing.T) {
	t.Parallel()
	harness.Each(t, lastIDEngines, func(t *testing.T, s *harness.Scratch) {
		createLastID(t, s, "BIGINT")
		db, _ := s.Open(t, harness.SequenceID("filled"))
		returning := func(query string, args ...any) func(ctx context.Context, conn *sql.Conn) (sql.Result, error) {
			return func(ctx context.Context, conn *sql.Conn) (sql.Result, error) {
				rows, err := conn.QueryContext(ctx, query, args...)
				if err != nil {
					return nil, err
				}
				defer rows.Close()
				first := int64(0)
				for rows.Next() {
					var id int64
					if err := rows.Scan(&id); err != nil {
						return nil, err
					}
					if first == 0 {
						first = id
					}
				}
				return idResult{first}, rows.Err()
			}
		}
		for _, values := range []string{"(?)", "(?), (?), (?)"} {
			args := []any{"a", "b", "c"}[:strings.Count(values, "?")]
			query := "INSERT INTO {t} (code) VALUES " + values + " RETURNING id"
			for _, send := range []struct {
				query string
				args  []any
			}{{query, args}, {withLiterals(query, args), nil}} {
				c := lastIDCell{query: send.query, native: "a a"}
				c.check(t, s,
					answerOf(t, s, s.Raw, "native", returning(strings.ReplaceAll(send.query, "{t}", "native"), send.args...)),
					answerOf(t, s, db, "filled", returning(strings.ReplaceAll(send.query, "{t}", "filled"), send.args...)))
			}
		}
	})
}

// idResult is a Result with an id.
type idResult struct{ id int64 }

func (r idResult) LastInsertId() (int64, error) { return r.id, nil }

func (r idResult) RowsAffected() (int64, error) { return 0, nil }

// TestLastInsertIDOfBigKeys: keys of the application that are negative or have
// the high bit come back as through the raw driver, and do not keep later
// statements from being filled.
func TestLastInsertIDOfBigKeys(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		for _, c := range []struct {
			column, own string
		}{{"BIGINT", "-5"}, {"BIGINT UNSIGNED", "9223372036854775813"}} {
			t.Run(c.column, func(t *testing.T) {
				dropTables(t, s)
				createLastID(t, s, c.column)
				db, _ := s.Open(t, harness.SequenceID("filled"))
				plain := lastIDCell{name: "before", query: "INSERT INTO {t} (code) VALUES (?)", args: []any{"a"}, native: "a a"}
				compareLastID(t, s, db, plain)
				compareLastID(t, s, db, lastIDCell{name: "own", query: "INSERT INTO {t} (id, code) VALUES (" + c.own + ", ?)", args: []any{"a"},
					native: "a parent", filled: "none parent", deviation: devOwnKey})
				harness.Exec(t, s.Raw, "DELETE FROM native")
				harness.Exec(t, s.Raw, "ALTER TABLE native AUTO_INCREMENT = 1000")
				plain.name = "behind"
				compareLastID(t, s, db, plain)
			})
		}
	})
}

// TestLastInsertIDInOneString: an INSERT with other statements in its string
// answers as natively, to them and to the driver.
//
//deviation:lastinsertid | In a text of several statements LastInsertId is the driver's own. An INSERT whose key is not written as `LAST_INSERT_ID(key)` leaves it as it was. | MySQL, MariaDB, SQLite | `INSERT IGNORE …; INSERT …` | one statement a text
func TestLastInsertIDInOneString(t *testing.T) {
	t.Parallel()
	s := lastIDEngines[3].Scratch(t)
	createLastID(t, s, "BIGINT")
	db, _ := s.Open(t, harness.SequenceID("filled"))
	for _, c := range []lastIDCell{
		{query: "INSERT INTO {t} (code) VALUES ('a'); INSERT INTO {t} (code) VALUES ('b'), ('c')", native: "b b"},
		{query: "INSERT INTO {t} (code) VALUES ('a'); SELECT LAST_INSERT_ID()", native: "none a"},
		{query: "INSERT INTO {t} (code) VALUES ('a'); UPDATE parents SET n = LAST_INSERT_ID() WHERE 1 = 0", native: "none a"},
		{query: "START TRANSACTION; INSERT INTO {t} (code) VALUES ('a'); COMMIT", native: "none a"},
		{query: "SET @n = 1; INSERT INTO {t} (code) VALUES ('a')", native: "a a"},
		{query: "INSERT INTO {t} (code) VALUES ('a'); INSERT IGNORE INTO {t} (code) VALUES ('old')", native: "none a"},
		{query: "INSERT INTO {t} (code) VALUES ('a'); INSERT IGNORE INTO {t} (code) VALUES ('b')", native: "b b",
			filled: "none a", deviation: devSession},
		{query: "INSERT INTO {t} (code) VALUES (?);", args: []any{"a"}, native: "a a"},
	} {
		c.name = "one string"
		ask := func(db *sql.DB, table string) answer {
			return answerOf(t, s, db, table, func(ctx context.Context, conn *sql.Conn) (sql.Result, error) {
				return conn.ExecContext(ctx, strings.ReplaceAll(c.query, "{t}", table), c.args...)
			})
		}
		c.check(t, s, ask(s.Raw, "native"), ask(db, "filled"))
	}
}
