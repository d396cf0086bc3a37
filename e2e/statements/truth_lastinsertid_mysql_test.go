package statements_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// lastIDCell is an INSERT whose result is read from two tables: "native", whose id is
// AUTO_INCREMENT (SQLite: the rowid), and "filled", which keyfill fills. In the query {t}
// is the table.
//
// Both have a row of the code "old" before, and the session's LAST_INSERT_ID()
// is the id of a parent.
type lastIDCell struct {
	name  string
	query string
	args  []any

	// native is what the table with AUTO_INCREMENT answers, and the other one
	// too unless filled says what that answers instead. Then deviation is the
	// first cell of the row of docs/deviations.md that says so.
	native, filled string
	deviation      string
}

// answer is what an application can see of an INSERT: LastInsertId of its Result,
// LAST_INSERT_ID() after it, each as the code of the row with that id, and the rows.
type answer struct {
	ids  string
	rows []string
}

// lastIDForms are the ways to send the query of a cell on a connection.
var lastIDForms = []struct {
	name string
	exec func(ctx context.Context, conn *sql.Conn, query string, args []any) (sql.Result, error)
}{
	{"literals", func(ctx context.Context, conn *sql.Conn, query string, args []any) (sql.Result, error) {
		return conn.ExecContext(ctx, withLiterals(query, args))
	}},
	{"arguments", func(ctx context.Context, conn *sql.Conn, query string, args []any) (sql.Result, error) {
		return conn.ExecContext(ctx, query, args...)
	}},
	{"prepared", func(ctx context.Context, conn *sql.Conn, query string, args []any) (sql.Result, error) {
		stmt, err := conn.PrepareContext(ctx, query)
		if err != nil {
			return nil, err
		}
		defer stmt.Close()
		return stmt.ExecContext(ctx, args...)
	}},
	{"transaction", func(ctx context.Context, conn *sql.Conn, query string, args []any) (sql.Result, error) {
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return nil, err
		}
		defer tx.Rollback()
		res, err := tx.ExecContext(ctx, query, args...)
		if err != nil {
			return nil, err
		}
		return res, tx.Commit()
	}},
}

// withLiterals writes the arguments into a query.
func withLiterals(query string, args []any) string {
	for _, a := range args {
		text := fmt.Sprint(a)
		switch a := a.(type) {
		case nil:
			text = "NULL"
		case string:
			text = "'" + a + "'"
		}
		query = strings.Replace(query, "?", text, 1)
	}
	return query
}

// lastIDEngines are MariaDB under the parameters of a DSN that change what an
// INSERT answers, or how it travels.
var lastIDEngines = []harness.Engine{
	harness.MySQLDefault,
	harness.MySQLInterp,
	{Name: "mysql-clientFoundRows", Driver: "mysql", Dialect: dialect.MariaDB(), Server: harness.MariaDB, Params: "clientFoundRows=true"},
	{Name: "mysql-multiStatements", Driver: "mysql", Dialect: dialect.MariaDB(), Server: harness.MariaDB, Params: "multiStatements=true"},
}

// TestLastInsertID compares, on MariaDB, what LastInsertId and LAST_INSERT_ID()
// give after an INSERT that keyfill has filled with what they give after the
// same INSERT into a table with AUTO_INCREMENT: alike, or a deviation that is
// in the list.
//
//deviation:lastinsertid | `LAST_INSERT_ID()` keeps its old value after an INSERT with IGNORE or an upsert clause, or with one of its keys as an expression. LastInsertId is the key. | MySQL, MariaDB | `INSERT IGNORE INTO t (a) VALUES (1)`; `VALUES (NULL, 1), (400 + 1, 2)` | leave the key out of the columns
//deviation:lastinsertid | `LAST_INSERT_ID()` is a key that is not stored after an INSERT of one row that failed. | MySQL, MariaDB | a duplicate in another unique column | `last_insert_id: result`
//deviation:lastinsertid | `LAST_INSERT_ID()` keeps its old value after an INSERT of several rows that failed after the first row and before the last. The plain driver gives the number of the first row, which is not stored. | MySQL, MariaDB | `VALUES (1), (1), (2)`, and 1 is unique | –
//deviation:lastinsertid | LastInsertId is 0 after an upsert that inserted no row. An upsert of one row gives the id of the updated row if the table has just one other unique index, the values for its columns are arguments or plain literals, and the upsert does not change them. | MySQL, MariaDB | `VALUES (LOWER(?)) ON DUPLICATE KEY UPDATE a = 2`; two rows | `id = LAST_INSERT_ID(id)` in the update part
//deviation:lastinsertid | LastInsertId is 0 after an INSERT of several rows that has stored none of the filled ones, unless its last row brought its key as a number and is stored, or has changed the row of that key. | MySQL, MariaDB | `VALUES (7, 1), (NULL, 2) ON DUPLICATE KEY UPDATE id = id`, and 2 is there | send the rows one by one
//deviation:lastinsertid | LastInsertId and `LAST_INSERT_ID()` are the id of the last updated row after an upsert of several rows with `LAST_INSERT_ID(id)`. | MySQL, MariaDB | two rows, one of which is there | send the rows one by one
//deviation:lastinsertid | LastInsertId is 0 after an INSERT that brings all its keys. | MySQL, MariaDB | `INSERT INTO t (id, a) VALUES (7, 1)` | –
func TestLastInsertID(t *testing.T) {
	t.Parallel()
	harness.Each(t, lastIDEngines, func(t *testing.T, s *harness.Scratch) {
		for _, column := range []string{"BIGINT", "BIGINT UNSIGNED", "INT"} {
			if column != "BIGINT" && s.Name != "mysql" {
				continue // what the DSN changes does not depend on the column
			}
			t.Run(column, func(t *testing.T) {
				dropTables(t, s)
				createLastID(t, s, column)
				cfg := harness.SequenceID("filled")
				if rule := cfg.Tables["filled"]; column == "INT" {
					rule.MaxBits = 31
					cfg.Tables["filled"] = rule
				}
				db, _ := s.Open(t, cfg)
				for _, c := range lastIDCells {
					compareLastID(t, s, db, c)
				}
			})
		}
	})
}

func dropTables(t *testing.T, s *harness.Scratch) {
	t.Helper()
	harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS native, filled, parents, keyfill_sequences, keyfill_workers")
}

// createLastID creates the tables. The ids of parents are far from the others.
func createLastID(t *testing.T, s *harness.Scratch, column string) {
	t.Helper()
	rest := ", code VARCHAR(20) UNIQUE, n INT, parent BIGINT, empty INT DEFAULT 5)"
	harness.Exec(t, s.Raw, "CREATE TABLE native (id "+column+" NOT NULL AUTO_INCREMENT PRIMARY KEY"+rest)
	harness.Exec(t, s.Raw, "CREATE TABLE filled (id "+column+" NOT NULL PRIMARY KEY"+rest)
	harness.Exec(t, s.Raw, "CREATE TABLE parents (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, n INT) AUTO_INCREMENT = 7000000")
}

// compareLastID runs one cell in all forms on both tables.
func compareLastID(t *testing.T, s *harness.Scratch, db *sql.DB, c lastIDCell) {
	for _, form := range lastIDForms {
		t.Run(c.name+"/"+form.name, func(t *testing.T) {
			ask := func(db *sql.DB, table string) answer {
				return answerOf(t, s, db, table, func(ctx context.Context, conn *sql.Conn) (sql.Result, error) {
					return form.exec(ctx, conn, strings.ReplaceAll(c.query, "{t}", table), c.args)
				})
			}
			c.check(t, s, ask(s.Raw, "native"), ask(db, "filled"))
		})
	}
}

// check compares the answers of the two tables.
func (c *lastIDCell) check(t *testing.T, s *harness.Scratch, native, filled answer) {
	t.Helper()
	if !slices.Equal(native.rows, filled.rows) {
		t.Errorf("%s: native has the rows %q, filled %q", c.query, native.rows, filled.rows)
	}
	want := cmp.Or(c.filled, c.native)
	if c.deviation != "" {
		checkListed(t, c.deviation)
	}
	if native.ids != c.native || filled.ids != want {
		t.Errorf("%s: native answers %q, filled %q; want %q and %q", c.query, native.ids, filled.ids, c.native, want)
	}
}

// answerOf executes an INSERT into a table that holds the row "old", on a connection
// whose last insert was a parent's.
func answerOf(t *testing.T, s *harness.Scratch, db *sql.DB, table string, insert func(context.Context, *sql.Conn) (sql.Result, error)) answer {
	t.Helper()
	ctx := context.Background()
	harness.Exec(t, s.Raw, "DELETE FROM "+table)
	harness.Exec(t, s.Raw, "INSERT INTO "+table+" (id, code, n, parent, empty) VALUES (500, 'old', 1, NULL, NULL)")
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	res, err := conn.ExecContext(ctx, "INSERT INTO parents (n) VALUES (1)")
	if err != nil {
		t.Fatal(err)
	}
	parent, err := res.LastInsertId()
	if err != nil {
		t.Fatal(err)
	}
	l := labels{"0": "none", fmt.Sprint(parent): "parent"}
	result := "error"
	if res, err = insert(ctx, conn); err == nil {
		id, err := res.LastInsertId()
		if err != nil {
			t.Fatal(err)
		}
		result = fmt.Sprint(id)
	} else {
		t.Logf("%s: %v", table, err)
	}
	var session string
	ask := "SELECT LAST_INSERT_ID()"
	if s.Dialect.LastRowID {
		ask = "SELECT last_insert_rowid()"
	}
	if err := conn.QueryRowContext(ctx, ask).Scan(&session); err != nil {
		t.Fatal(err)
	}
	rows := l.rowsOf(t, s.Raw, table)
	if id, err := strconv.ParseInt(result, 10, 64); err == nil && id < 0 && l[result] == "" {
		result = fmt.Sprint(uint64(id)) // an unsigned one, as database/sql gives it
	}
	return answer{l.of(result) + " " + l.of(session), rows}
}

// labels name ids.
type labels map[string]string

// of returns the name of an id: a small one has its own, another one without a
// name is in no row.
func (l labels) of(id string) string {
	if name := l[id]; name != "" {
		return name
	}
	if id == "error" {
		return id
	}
	return "unstored"
}

// rowsOf returns the rows of a table, and makes their codes the names of their
// ids.
func (l labels) rowsOf(t *testing.T, db *sql.DB, table string) []string {
	t.Helper()
	found, err := db.Query("SELECT id, code, n, parent FROM " + table + " ORDER BY code, id")
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	var rows []string
	for found.Next() {
		var id string
		var code, n, parent sql.NullString
		if err := found.Scan(&id, &code, &n, &parent); err != nil {
			t.Fatal(err)
		}
		l[id] = code.String
		if !code.Valid {
			l[id] = "null"
		}
		row := l[id] + " n=" + n.String
		if parent.Valid {
			row += " of " + l.of(parent.String)
		}
		rows = append(rows, row)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// checkListed checks that a deviation is in the list, with an engine, an example
// and what turns it off.
func checkListed(t *testing.T, deviation string) {
	t.Helper()
	list, err := os.ReadFile("../../docs/deviations.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		if cells := strings.Split(line, " | "); strings.TrimPrefix(cells[0], "| ") == deviation && len(cells) == 5 {
			return
		}
	}
	t.Errorf("docs/deviations.md has no row %q", deviation)
}
