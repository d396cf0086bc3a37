package check

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keyfill/keyfill/internal/sqlcode"
)

const (
	// poolerPatience is how long an answer to a question about a pooler may take. A pooler
	// whose connections are all held by other clients does not answer.
	poolerPatience = 3 * time.Second

	// poolerRounds is how often two connections are asked in turn. An idle pooler gives
	// both of them the same session of the server in the first round. A busy pooler may
	// need more rounds.
	poolerRounds = 4
)

// pooler holds what two connections to PostgreSQL have found out about a pooler between
// them and the server.
type pooler struct {
	shares   bool // one session of the server serves several connections in turn
	loses    bool // a statement that the driver has prepared is missing at its next execution
	twoTrips bool // a query with an argument takes two transactions
}

// askPooler asks on two connections of db, as the driver asks for the application, and
// waits for each answer for up to patience. It changes nothing on the server except what
// the driver prepares there.
func askPooler(ctx context.Context, db *sql.DB, patience time.Duration) (found pooler, err error) {
	var sessions [2]*poolerSession
	for i := range sessions {
		limited, cancel := context.WithTimeout(ctx, patience)
		conn, err := db.Conn(limited)
		cancel()
		if err != nil {
			return found, err
		}
		defer conn.Close()
		sessions[i] = newPoolerSession(conn, patience)
	}
	for range poolerRounds {
		for _, s := range sessions {
			if err := s.ask(ctx); err != nil {
				lost := isLostStatement(err)
				return pooler{shares: lost, loses: lost}, poolerError(err)
			}
		}
		if shared(sessions) {
			found.shares = true
			break
		}
	}
	if !found.shares {
		return found, nil
	}
	if found.loses, err = sessions[0].isParted(ctx, sessions[1]); err != nil || found.loses {
		return found, err
	}
	found.twoTrips, err = sessions[0].takesTwo(ctx)
	if isLostStatement(err) {
		found.loses, err = true, nil
	}
	return found, err
}

// poolerError returns err, or nil if err itself shows that there is a pooler.
func poolerError(err error) error {
	if isLostStatement(err) {
		return nil
	}
	return err
}

// isLostStatement reports whether an error says that a session of the server does not
// have the statement that the driver has prepared, or has another one of its name:
// invalid_sql_statement_name, duplicate_prepared_statement, protocol_violation.
func isLostStatement(err error) bool {
	code, ok := sqlcode.Of(err)
	return ok && slices.Contains([]string{"26000", "42P05", "08P01"}, code.State)
}

// poolerSession is a connection, and the server processes that have served it.
type poolerSession struct {
	conn     *sql.Conn
	patience time.Duration
	query    string // no other connection sends the same text
	seen     []int64
}

func newPoolerSession(conn *sql.Conn, patience time.Duration) *poolerSession {
	return &poolerSession{conn: conn, patience: patience, query: "SELECT pg_catalog.pg_backend_pid() + CAST($1 AS integer) AS k" + rand.Text()}
}

// read reads the only value of a query that has an argument.
func (s *poolerSession) read(ctx context.Context, query string, value any) error {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	return s.conn.QueryRowContext(ctx, query, 0).Scan(value)
}

// ask notes which process of the server serves the connection now.
func (s *poolerSession) ask(ctx context.Context) error {
	var pid int64
	if err := s.read(ctx, s.query, &pid); err != nil {
		return err
	}
	if !slices.Contains(s.seen, pid) {
		s.seen = append(s.seen, pid)
	}
	return nil
}

// shared reports whether one server process has served both connections, which are open, or
// two processes have served one connection. Without a pooler, each connection has one
// process, from its beginning to its end.
func shared(sessions [2]*poolerSession) bool {
	a, b := sessions[0].seen, sessions[1].seen
	return len(a) > 1 || len(b) > 1 || slices.ContainsFunc(a, func(pid int64) bool { return slices.Contains(b, pid) })
}

// isParted keeps the session of the server that has served s busy on the other connection,
// and reports whether s then misses the statement that it has prepared there.
func (s *poolerSession) isParted(ctx context.Context, other *poolerSession) (bool, error) {
	for range poolerRounds {
		if err := s.ask(ctx); err != nil {
			return isLostStatement(err), poolerError(err)
		}
		missed, err := s.askBeside(ctx, other)
		if err != nil || missed {
			return missed, err
		}
	}
	return false, nil
}

// askBeside calls s.ask while the other connection is in a transaction.
func (s *poolerSession) askBeside(ctx context.Context, other *poolerSession) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	tx, err := other.conn.BeginTx(ctx, nil)
	if err != nil {
		return isLostStatement(err), poolerError(err)
	}
	defer func() { _ = tx.Rollback() }() // the transaction changed nothing
	err = s.ask(ctx)
	return isLostStatement(err), poolerError(err)
}

// takesTwo reports whether a query with an argument takes two transactions of the server,
// so that a pooler may use another session for the second one. It compares the numbers that
// the server gives its transactions. A driver that first asks for the types of the
// arguments takes two.
func (s *poolerSession) takesTwo(ctx context.Context) (bool, error) {
	query := "SELECT virtualtransaction FROM pg_catalog.pg_locks WHERE pid = pg_catalog.pg_backend_pid() AND locktype = 'virtualxid' AND CAST($1 AS integer) = 0 /* " + rand.Text() + " */"
	least, last, lastOf := int64(0), int64(0), ""
	for range 3 * poolerRounds {
		var text string
		if err := s.read(ctx, query, &text); err != nil {
			return false, err
		}
		backend, number, _ := strings.Cut(text, "/")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return false, err
		}
		// Transactions of other clients in the same session of the server make the step
		// greater, never smaller, so the least step is the right one.
		if step := n - last; backend == lastOf && step > 0 && (least == 0 || step < least) {
			least = step
		}
		last, lastOf = n, backend
	}
	return least > 1, nil
}

// lookAtPooler finds out whether a pooler serves a database of PostgreSQL that gives a
// connection another session of the server with each transaction.
func (c *checker) lookAtPooler(name string, one *openedStore) error {
	if one.single {
		return nil
	}
	found, err := askPooler(c.ctx, one.db, cmp.Or(c.o.PoolerPatience, poolerPatience))
	if !found.shares {
		return err
	}
	c.addPooler(name, found)
	return nil
}

// addPooler adds a finding about the effect of a pooler on the sources in use.
func (c *checker) addPooler(name string, found pooler) {
	f := Finding{Severity: Info, Rule: ruleProxy, Line: c.lineOfDatabase(name),
		Message: c.before(name) + "stands a pooler, such as pgbouncer in transaction mode, that gives a connection another session of the server with each transaction: " +
			"SET and temporary tables outside of a transaction are gone with the next one",
		Remedy: "in the pooler: two connections more than SetMaxOpenConns of all processes, see docs/pool.md"}
	if len(c.usesOf(name)) == 0 && name == "" {
		f.Remedy = "none is needed for sources without a state: see docs/pool.md"
	}
	const modes = "in the DSN: binary_parameters=yes with lib/pq, default_query_exec_mode=exec with pgx; or in the pooler: pool_mode = session"
	switch {
	case found.loses:
		f.Severity, f.Remedy = Error, modes
		f.Message = c.before(name) + "stands a pooler, such as pgbouncer in transaction mode, and the statements that the driver prepares by this DSN are missing in the session that the next transaction gets, so that INSERTs fail"
	case found.twoTrips:
		f.Severity, f.Remedy = Error, modes
		f.Message = c.before(name) + "stands a pooler, such as pgbouncer in transaction mode, and the driver takes two transactions for a statement by this DSN, between which the session may change: INSERTs fail, or store rows in another table"
	}
	c.add(f)
}

// before returns the beginning of a message about a pooler or proxy.
func (c *checker) before(name string) string {
	if name == "" {
		return "before the server "
	}
	return fmt.Sprintf("before the server of the store %q ", name)
}

// lineOfDatabase returns the line of a store in the policy, 0 for the application's
// database.
func (c *checker) lineOfDatabase(name string) int {
	if name == "" {
		return 0
	}
	return c.cfg.Line("stores", name)
}
