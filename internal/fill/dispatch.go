package fill

import (
	"context"
	"database/sql/driver"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/rewrite"
)

// concernsOf says what a query concerns, and of names only where it may really give a
// table another one.
func concernsOf(d *dialect.Dialect, query string) rewrite.Concern {
	what := rewrite.Concerns(d, query)
	if what&rewrite.ConcernsNames != 0 && !rewrite.Renames(d, query) {
		what &^= rewrite.ConcernsNames
	}
	return what
}

// ExecText executes a text that may be an INSERT, or begin or end a
// transaction.
func (db *Database) ExecText(ctx context.Context, g *Conn, query string, args []driver.NamedValue, what rewrite.Concern) (driver.Result, error) {
	if res, done, err := db.execPlain(ctx, g, g.seen, args); done {
		return res, err
	}
	g.NoteTemporary(query, what)
	effect := db.TransactionEffect(query, what)
	res, err := driver.Result(nil), error(nil)
	if what&rewrite.ConcernsInsert != 0 {
		res, err = db.exec(ctx, g, query, args)
	} else {
		res, err = g.ExecContext(ctx, query, args)
	}
	g.NoteRan(effect, what, err)
	return res, err
}

// QueryText is ExecText for a text that gives rows.
func (db *Database) QueryText(ctx context.Context, g *Conn, query string, args []driver.NamedValue, what rewrite.Concern) (driver.Rows, error) {
	if rows, done, err := db.queryPlain(ctx, g, g.seen, args); done {
		return rows, err
	}
	g.NoteTemporary(query, what)
	effect := db.TransactionEffect(query, what)
	rows, err := driver.Rows(nil), error(nil)
	if what&rewrite.ConcernsInsert != 0 {
		rows, err = db.query(ctx, g, query, args)
	} else {
		rows, err = g.QueryContext(ctx, query, args)
	}
	g.NoteRan(effect, what, err)
	return rows, err
}

// PrepareText prepares a text that may be an INSERT, or begin or end a transaction
// when it is executed.
func (db *Database) PrepareText(ctx context.Context, g *Conn, query string, what rewrite.Concern) (driver.Stmt, error) {
	if stmt, done, err := db.preparePlain(ctx, g, g.seen); done {
		return stmt, err
	}
	g.NoteTemporary(query, what)
	stmt, err := driver.Stmt(nil), error(nil)
	if what&rewrite.ConcernsInsert != 0 {
		stmt, err = db.prepare(ctx, g, query)
	} else {
		stmt, err = g.PrepareContext(ctx, query)
	}
	if err != nil || what&(rewrite.ConcernsTransaction|rewrite.ConcernsNames) == 0 {
		return stmt, err
	}
	effect := db.TransactionEffect(query, what)
	if db.StatesOnConnection() && effect != rewrite.TxUnchanged && strings.Contains(strings.TrimRight(query, "; \t\r\n"), ";") {
		effect = rewrite.TxUnknown // some drivers for SQLite prepare the first statement alone
	}
	return g.FollowStmt(stmt, effect, what), nil
}
