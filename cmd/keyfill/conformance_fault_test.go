package main

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/conformance"
	"github.com/keyfill/keyfill/internal/testturn"
)

// faultVariable has the name of the fault that a process plants which fills a table for a
// claim; empty for none.
const faultVariable = "KEYFILL_TEST_FAULT"

// fault is what a wrapping driver does wrongly. A nil function changes nothing.
type fault struct {
	name    string
	claims  []string // each of them has to be refused
	servers []string

	query  func(query string) string
	args   func(query string, args []driver.NamedValue) []driver.NamedValue
	skips  func(query string) bool // an Exec is answered without being sent
	undone func(query string) bool // a Query is rolled back after its answer
	result func(driver.Result) driver.Result
	row    func(query string, row []driver.Value) bool // false hides the row
	err    func(error) error
	tx     func(driver.Tx) driver.Tx
}

// faults are the planted faults.
var faults = []fault{
	{name: "the first bytes of a UUID in another order", claims: []string{"order/uuidv7, default", "order/ulid, binary"}, servers: []string{"sqlite", "mysql", "pgx", "postgres"},
		args: func(query string, args []driver.NamedValue) []driver.NamedValue {
			return changed(args, func(v driver.Value) driver.Value {
				switch v := v.(type) {
				case string:
					if len(v) == 36 {
						return v[4:8] + v[:4] + v[8:]
					}
				case []byte:
					if len(v) == 16 {
						return append(bytes.Clone(v[4:8]), append(bytes.Clone(v[:4]), v[8:]...)...)
					}
				}
				return v
			})
		}},
	{name: "integers rounded to floating-point numbers", claims: []string{"integers", "unique/scatter"}, servers: []string{"sqlite", "mysql", "pgx", "postgres"},
		args: func(query string, args []driver.NamedValue) []driver.NamedValue {
			return changed(args, func(v driver.Value) driver.Value {
				if n, ok := v.(int64); ok {
					return rounded(n)
				}
				return v
			})
		}},
	{name: "integers rounded when they are read", claims: []string{"integers"}, servers: []string{"sqlite", "mysql", "pgx"},
		row: func(_ string, row []driver.Value) bool {
			for i, v := range row {
				if n, ok := v.(int64); ok {
					row[i] = rounded(n)
				}
			}
			return true
		}},
	{name: "another LastInsertId", claims: []string{"told/identity"}, servers: []string{"sqlite", "mysql"},
		result: func(r driver.Result) driver.Result { return wrongResult{r, 1, 0} }},
	{name: "RowsAffected of one row less", claims: []string{"told/rows-affected"}, servers: []string{"sqlite", "mysql", "pgx"},
		result: func(r driver.Result) driver.Result { return wrongResult{r, 0, 1} }},
	{name: "RETURNING of other keys", claims: []string{"told/returning"}, servers: []string{"sqlite", "mysql", "pgx"},
		row: func(query string, row []driver.Value) bool {
			if n, ok := row[0].(int64); ok && strings.Contains(query, "RETURNING id") {
				row[0] = n + 1
			}
			return true
		}},
	{name: "a lost lock", claims: []string{"maxplusone"}, servers: []string{"pgx", "postgres"},
		query: func(query string) string {
			return strings.Replace(query, "SELECT pg_advisory_xact_lock($1)", "SELECT $1::bigint", 1)
		}},
	{name: "a ROLLBACK that commits", claims: []string{"session/rollback", "joined"}, servers: []string{"sqlite", "mysql", "pgx"},
		tx: func(tx driver.Tx) driver.Tx { return wrongTx{commit: tx.Commit, rollback: tx.Commit} }},
	{name: "a COMMIT that rolls back", claims: []string{"joined", "scope"}, servers: []string{"mysql", "pgx"},
		tx: func(tx driver.Tx) driver.Tx { return wrongTx{commit: tx.Rollback, rollback: tx.Rollback} }},
	{name: "errors without their codes", claims: []string{"errors/duplicate", "errors/waiting"}, servers: []string{"sqlite", "mysql", "pgx", "postgres"},
		err: func(err error) error {
			if errors.Is(err, driver.ErrSkip) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) {
				return err
			}
			return errors.New("failed")
		}},
	{name: "a sequence that gives the same again", claims: []string{"native"}, servers: []string{"mysql", "pgx"},
		row: func(query string, row []driver.Value) bool {
			if n, ok := row[0].(int64); ok && strings.Contains(strings.ToLower(query), "nextval") {
				row[0] = 1 + n%2*50
			}
			return true
		}},
	{name: "a catalog that shows no index", claims: []string{"catalog"}, servers: []string{"sqlite", "mysql", "pgx"},
		row: func(query string, _ []driver.Value) bool {
			lower := strings.ToLower(query)
			return !strings.Contains(lower, "statistics") && !strings.Contains(lower, "pg_index") && !strings.Contains(lower, "index_list")
		}},
	{name: "settings that are not sent", claims: []string{"session/settings"}, servers: []string{"mysql", "pgx"},
		skips: func(query string) bool {
			return strings.Contains(query, "SET SESSION sql_mode") || strings.Contains(query, "SET standard_conforming")
		}},
	{name: "a reserved block that the server forgets", claims: []string{"blocks"}, servers: []string{"pgx"},
		undone: func(query string) bool { return strings.Contains(query, "UPDATE keyfill_sequences") }},
	{name: "an INSERT that is not sent", claims: []string{"blocks", "order/sequence"}, servers: []string{"sqlite", "mysql", "pgx"},
		skips: everyNth("INSERT INTO kf_", 2)},
}

// rounded returns an integer as a program has it that keeps all numbers as float64.
func rounded(n int64) int64 {
	const most = 1<<63 - 1024 // the greatest float64 below 2^63
	return int64(float64(min(n, most)))
}

// everyNth reports each n-th call for a text that has a part.
func everyNth(part string, n int64) func(string) bool {
	var calls atomic.Int64
	return func(query string) bool {
		return strings.Contains(query, part) && calls.Add(1)%n == 0
	}
}

// changed returns the arguments after f.
func changed(args []driver.NamedValue, f func(driver.Value) driver.Value) []driver.NamedValue {
	var all []driver.NamedValue
	for _, a := range args {
		a.Value = f(a.Value)
		all = append(all, a)
	}
	return all
}

// faultOf returns the fault of a name, none for an empty one.
func faultOf(name string) *fault {
	for i := range faults {
		if faults[i].name == name {
			return &faults[i]
		}
	}
	return &fault{}
}

// faultyChild fills a table for a claim, with a fault.
func faultyChild(name string) int {
	if err := conformance.Child(context.Background(), os.Stdin, os.Stdout, driverOf, faultOf(name).wrap); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestConformanceFindsFaults: each planted fault is found by each of its claims, on each of
// its servers, and nothing is left.
func TestConformanceFindsFaults(t *testing.T) {
	if len(faults) < 12 {
		t.Fatalf("%d faults", len(faults))
	}
	for _, name := range []string{"sqlite", "mysql", "pgx", "postgres"} {
		if testing.Short() && name != "sqlite" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var here []fault
			for _, f := range faults {
				if strings.Contains(" "+strings.Join(f.servers, " ")+" ", " "+name+" ") {
					here = append(here, f)
				}
			}
			for _, f := range testturn.Some(t, here, 4) {
				t.Run(f.name, func(t *testing.T) { f.isFound(t, conformanceServer(t, name)) })
			}
		})
	}
}

// TestConformanceOnCockroachDB: a server that has no columns with COLLATE "C", and one value
// alone of standard_conforming_strings, as CockroachDB, keeps the claims about texts and
// settings.
func TestConformanceOnCockroachDB(t *testing.T) {
	if testing.Short() && os.Getenv("KEYFILL_TEST_REQUIRE") != "1" {
		t.Skip("it starts a server")
	}
	standIn := &fault{query: func(query string) string {
		query = strings.ReplaceAll(query, ` COLLATE "C"`, ` COLLATE "no such"`)
		query = strings.ReplaceAll(query, "standard_conforming_strings = off", "standard_conforming_strings = none")
		return strings.ReplaceAll(query, "SELECT version()", "SELECT 'CockroachDB CCL v25.3.0 (x86_64-pc-linux-gnu)'")
	}}
	s := conformanceServer(t, "pgx")
	target := s.target()
	target.Wrap = standIn.wrap
	var out bytes.Buffer
	report, err := conformance.Run(t.Context(), target, conformance.Options{
		Rows: 3000, Rate: 1_000_000, Shared: true, Child: testChild(""), Only: []string{"order/uuidv7, string", "order/ulid, string", "session/settings"}, Out: &out,
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if len(report.Claims) != 3 {
		t.Errorf("%d claims, want 3", len(report.Claims))
	}
	for _, c := range report.Claims {
		if c.Result != conformance.Shown {
			t.Errorf("%s is %s: %s\n%s", c.Name, c.Result, c.Seen, &out)
		}
	}
}

func (f *fault) isFound(t *testing.T, s *server) {
	target := s.target()
	target.Wrap = f.wrap
	var out bytes.Buffer
	o := conformance.Options{Rows: 3000, Rate: 1_000_000, Shared: true, Child: testChild(f.name), Only: f.claims, Out: &out}
	report, err := conformance.Run(t.Context(), target, o)
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if len(report.Claims) != len(f.claims) {
		t.Errorf("%d claims, want %q", len(report.Claims), f.claims)
	}
	for _, c := range report.Claims {
		if c.Result != conformance.Refused || c.Seen == "" {
			t.Errorf("%s is %s: %s", c.Name, c.Result, c.Seen)
		}
		t.Logf("%s: %s", c.Name, c.Seen)
	}
	if all := s.left(t); len(all) > 0 {
		t.Errorf("left are %q", all)
	}
}

// wrap returns a connector whose connections have the fault.
func (f *fault) wrap(c driver.Connector) driver.Connector { return faultyConnector{c, f} }

type faultyConnector struct {
	driver.Connector // its Driver is the plain one, so that keyfill sees nothing of the fault
	fault            *fault
}

func (c faultyConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &faultyConn{Conn: conn, fault: c.fault}, nil
}

type faultyConn struct {
	driver.Conn
	fault *fault
	open  bool // a transaction is open
}

// change returns a text and its arguments with the fault in them.
func (f *fault) change(query string, args []driver.NamedValue) (string, []driver.NamedValue) {
	if f.args != nil {
		args = f.args(query, args)
	}
	if f.query != nil {
		query = f.query(query)
	}
	return query, args
}

func (f *fault) results(r driver.Result, err error) (driver.Result, error) {
	if err == nil && f.result != nil {
		r = f.result(r)
	}
	return r, f.errs(err)
}

func (f *fault) errs(err error) error {
	if err != nil && f.err != nil {
		return f.err(err)
	}
	return err
}

func (f *fault) rows(query string, rows driver.Rows, err error) (driver.Rows, error) {
	if err == nil && (f.row != nil || f.err != nil) {
		rows = &faultyRows{rows, query, f}
	}
	return rows, f.errs(err)
}

func (c *faultyConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if f := c.fault.skips; f != nil && f(query) {
		return driver.RowsAffected(1), nil
	}
	query, args = c.fault.change(query, args)
	return c.fault.results(c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args))
}

func (c *faultyConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	sent, args := c.fault.change(query, args)
	queryer := c.Conn.(driver.QueryerContext)
	if f := c.fault.undone; f == nil || !f(query) || c.open {
		rows, err := queryer.QueryContext(ctx, sent, args)
		return c.fault.rows(query, rows, err)
	}
	execer := c.Conn.(driver.ExecerContext)
	if _, err := execer.ExecContext(ctx, "BEGIN", nil); err != nil {
		return nil, err
	}
	rows, err := queryer.QueryContext(ctx, sent, args)
	if err != nil {
		return nil, err
	}
	kept := &keptRows{columns: rows.Columns()}
	for {
		row := make([]driver.Value, len(kept.columns))
		if err := rows.Next(row); err != nil {
			break
		}
		kept.rows = append(kept.rows, row)
	}
	if err := rows.Close(); err != nil {
		return nil, err
	}
	_, err = execer.ExecContext(ctx, "ROLLBACK", nil)
	return kept, err
}

func (c *faultyConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
	if err != nil {
		return nil, c.fault.errs(err)
	}
	c.open = true
	if c.fault.tx != nil {
		tx = c.fault.tx(tx)
	}
	end := func(f func() error) func() error {
		return func() error {
			c.open = false
			return c.fault.errs(f())
		}
	}
	return wrongTx{commit: end(tx.Commit), rollback: end(tx.Rollback)}, nil
}

func (c *faultyConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	sent, _ := c.fault.change(query, nil)
	stmt, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, sent)
	if err != nil {
		return nil, c.fault.errs(err)
	}
	return &faultyStmt{stmt, query, c.fault}, nil
}

func (c *faultyConn) CheckNamedValue(nv *driver.NamedValue) error {
	if c, ok := c.Conn.(driver.NamedValueChecker); ok {
		return c.CheckNamedValue(nv)
	}
	return driver.ErrSkip
}

func (c *faultyConn) ResetSession(ctx context.Context) error {
	if c, ok := c.Conn.(driver.SessionResetter); ok {
		return c.ResetSession(ctx)
	}
	return nil
}

type faultyStmt struct {
	driver.Stmt
	query string
	fault *fault
}

func (s *faultyStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if f := s.fault.skips; f != nil && f(s.query) {
		return driver.RowsAffected(1), nil
	}
	_, args = s.fault.change(s.query, args)
	return s.fault.results(s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args))
}

func (s *faultyStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	_, args = s.fault.change(s.query, args)
	rows, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	return s.fault.rows(s.query, rows, err)
}

func (s *faultyStmt) CheckNamedValue(nv *driver.NamedValue) error {
	if c, ok := s.Stmt.(driver.NamedValueChecker); ok {
		return c.CheckNamedValue(nv)
	}
	return driver.ErrSkip
}

type faultyRows struct {
	driver.Rows
	query string
	fault *fault
}

func (r *faultyRows) Next(row []driver.Value) error {
	for {
		if err := r.Rows.Next(row); err != nil {
			return r.fault.errs(err)
		}
		if r.fault.row == nil || r.fault.row(r.query, row) {
			return nil
		}
	}
}

// keptRows are rows that were read before.
type keptRows struct {
	columns []string
	rows    [][]driver.Value
}

func (r *keptRows) Columns() []string { return r.columns }
func (r *keptRows) Close() error      { return nil }
func (r *keptRows) Next(row []driver.Value) error {
	if len(r.rows) == 0 {
		return io.EOF
	}
	copy(row, r.rows[0])
	r.rows = r.rows[1:]
	return nil
}

type wrongTx struct{ commit, rollback func() error }

func (tx wrongTx) Commit() error   { return tx.commit() }
func (tx wrongTx) Rollback() error { return tx.rollback() }

// wrongResult is a result whose numbers differ from the driver's.
type wrongResult struct {
	driver.Result
	more, less int64
}

func (r wrongResult) LastInsertId() (int64, error) {
	id, err := r.Result.LastInsertId()
	return id + r.more, err
}

func (r wrongResult) RowsAffected() (int64, error) {
	n, err := r.Result.RowsAffected()
	return n - r.less, err
}
