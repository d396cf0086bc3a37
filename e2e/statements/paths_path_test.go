package statements_test

import (
	"database/sql"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// path is a way by which database/sql executes statements.
type path struct {
	name string
	// uses is how many times the statement is executed.
	uses int
	// rows says that the statement gives its keys back.
	rows bool
	// undone says that nothing of it is stored.
	undone bool
	run    func(c *cell, uses []statement)
}

var paths = []path{
	{name: "exec", uses: 2, run: direct},
	{name: "query", uses: 2, rows: true, run: direct},
	{name: "prepared-exec", uses: 3, run: prepared},
	{name: "prepared-query", uses: 3, rows: true, run: prepared},
	{name: "commit", uses: 3, run: inTransaction},
	{name: "commit-query", uses: 3, rows: true, run: inTransaction},
	{name: "rollback", uses: 3, undone: true, run: inTransaction},
}

// direct executes each statement on its own.
func direct(c *cell, uses []statement) {
	for _, st := range uses {
		c.send(c.db, st)
	}
}

// prepared executes one prepared statement three times, on two connections.
func prepared(c *cell, uses []statement) {
	stmt, err := c.db.PrepareContext(c.ctx, uses[0].query)
	if err != nil {
		c.t.Fatal(err)
	}
	defer stmt.Close()
	if c.Memory {
		for _, st := range uses {
			c.use(stmt, st)
		}
		return
	}
	// The pool has room for two: while one is held, the statement runs on the
	// other.
	first := c.hold()
	defer first.Close()
	c.use(stmt, uses[0])
	second := c.hold()
	defer second.Close()
	first.Close()
	c.use(stmt, uses[1])
	second.Close()
	c.use(stmt, uses[2])
	if n := c.db.Stats().OpenConnections; n != 2 {
		c.t.Errorf("%d connections are open, want 2", n)
	}
}

// hold takes a connection out of the pool.
func (c *cell) hold() *sql.Conn {
	c.t.Helper()
	conn, err := c.db.Conn(c.ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	return conn
}

// inTransaction executes directly, by a statement of the transaction and by one
// that was prepared outside of it.
func inTransaction(c *cell, uses []statement) {
	outside, err := c.db.PrepareContext(c.ctx, uses[0].query)
	if err != nil {
		c.t.Fatal(err)
	}
	defer outside.Close()
	tx, err := c.db.BeginTx(c.ctx, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	defer tx.Rollback()
	c.send(tx, uses[0])
	inside, err := tx.PrepareContext(c.ctx, uses[1].query)
	if err != nil {
		c.t.Fatal(err)
	}
	c.use(inside, uses[1])
	c.use(tx.StmtContext(c.ctx, outside), uses[2])
	if c.path.undone {
		err = tx.Rollback()
	} else {
		err = tx.Commit()
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// send executes a statement that is not prepared.
func (c *cell) send(r harness.Runner, st statement) {
	c.t.Helper()
	if !c.path.rows {
		res, err := r.ExecContext(c.ctx, st.query, st.args...)
		c.executed(st, res, err)
		return
	}
	rows, err := r.QueryContext(c.ctx, st.query, st.args...)
	c.queried(rows, err)
}

// use executes a prepared statement.
func (c *cell) use(stmt *sql.Stmt, st statement) {
	c.t.Helper()
	if !c.path.rows {
		res, err := stmt.ExecContext(c.ctx, st.args...)
		c.executed(st, res, err)
		return
	}
	rows, err := stmt.QueryContext(c.ctx, st.args...)
	c.queried(rows, err)
}

func (c *cell) executed(st statement, res sql.Result, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
	n, err := res.RowsAffected()
	want := int64(len(st.rows))
	if c.shape.updates && c.Dialect.Name == "mariadb" {
		want *= 2 // a row that is changed counts twice
	}
	if err != nil || n != want {
		c.t.Errorf("%d rows affected, error %v; want %d", n, err, want)
	}
	id, err := res.LastInsertId()
	c.lastIDs = append(c.lastIDs, lastID{id, err})
}

// queried reads the keys that came back.
func (c *cell) queried(rows *sql.Rows, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var r returned
		if err := rows.Scan(&r.id, &r.name); err != nil {
			c.t.Fatal(err)
		}
		r.id = c.key.key(c.t, r.id)
		c.returned = append(c.returned, r)
	}
	if err := rows.Err(); err != nil {
		c.t.Fatal(err)
	}
}
