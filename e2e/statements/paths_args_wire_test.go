package statements_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	go_ora "github.com/sijms/go-ora/v2"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/faketds"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// argumentReasons are the refusals for what stands among the arguments.
var argumentReasons = []rewrite.Reason{
	rewrite.ErrNamed, rewrite.ErrArguments, rewrite.ErrOption, rewrite.ErrArray, rewrite.ErrStyles,
	rewrite.ErrFirstUse, rewrite.ErrShared, rewrite.ErrPerStatement,
}

// sentArgument is a statement as a driver without a server has it on its way:
// what each column of the row would get.
type sentArgument struct {
	columns map[string]string // by the name of the column
	err     error
}

// rowPattern takes an INSERT of one row apart.
var rowPattern = regexp.MustCompile(`\(([^)]*)\) VALUES \(([^)]*)\)`)

// resolve says what each column of an INSERT gets, where value gives what a
// placeholder stands for.
func resolve(query string, value func(placeholder string) string) map[string]string {
	m := rowPattern.FindStringSubmatch(query)
	columns, values := strings.Split(m[1], ", "), strings.Split(m[2], ", ")
	row := map[string]string{}
	for i, c := range columns {
		v := strings.Trim(values[i], "'")
		if strings.HasPrefix(v, "@") || strings.HasPrefix(v, ":") {
			v = value(v)
		}
		row[strings.ToLower(strings.Trim(c, `[]"`))] = v
	}
	return row
}

// judgeSent compares what is sent for a kind by hand and through keyfill.
func judgeSent(t *testing.T, k *argumentKind, byHand, ours sentArgument) string {
	t.Helper()
	var refusal *keyfill.Error
	switch {
	case errors.As(ours.err, &refusal):
		if ours.columns != nil {
			t.Errorf("refused, and sent %v", ours.columns)
		}
		return outcomeRefused + reasonOf(t, ours.err)
	case errors.Is(ours.err, errListOfRows) && errors.Is(byHand.err, errListOfRows):
		return outcomeRows
	case ours.err != nil:
		if byHand.err == nil || byHand.err.Error() != ours.err.Error() {
			t.Errorf("error %v; by hand %v", ours.err, byHand.err)
		}
		return outcomeError
	case byHand.err != nil && !k.key:
		t.Errorf("no error; by hand %v", byHand.err)
	}
	for _, c := range []string{"v", "w", "n"} {
		if byHand.err == nil && ours.columns[c] != byHand.columns[c] {
			t.Errorf("column %s gets %s; by hand %s", c, ours.columns[c], byHand.columns[c])
		}
	}
	got, want := ours.columns["id"], byHand.columns["id"]
	return judgeKey(t, k, got, want, byHand.err)
}

// trySQLServer sends a kind through go-mssqldb to a server that takes down what
// comes over the wire.
func trySQLServer(t *testing.T, k *argumentKind) string {
	s := faketds.NewServer(t)
	connector := harness.ConnectorOf(t, "sqlserver", harness.ServerDSN("sqlserver", s.Listener.Addr()))
	raw := sql.OpenDB(connector)
	defer raw.Close()
	db, _ := harness.OpenConnector(t, connector, harness.FillID("people", policy.Table{}))
	sent := func(path string, db *sql.DB, withKey bool) (a sentArgument) {
		a.err = harness.SeveralPaths[path](context.Background(), db, k.text("sqlserver", "people", withKey), k.args...)
		calls := s.Take()
		if len(calls) == 0 {
			return a
		}
		c := calls[len(calls)-1]
		a.columns = resolve(c.Query, func(placeholder string) string {
			for _, p := range c.Params {
				if strings.EqualFold(p.Name, placeholder) {
					return fmt.Sprint(printed(p.Value))
				}
			}
			return "no parameter " + placeholder
		})
		return a
	}
	var outcomes []string
	for _, path := range []string{"exec", "prepared"} {
		outcome := judgeSent(t, k, sent(path, raw, true), sent(path, db, false))
		if !slices.Contains(outcomes, outcome) {
			outcomes = append(outcomes, outcome)
		}
	}
	return strings.Join(outcomes, ", or ")
}

// printed makes bytes readable, and NULL another thing than text.
func printed(v any) any {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case []byte:
		return fmt.Sprintf("%x", v)
	}
	return v
}

// tryOracle hands a kind to a connection that finds the arguments of
// placeholders as go-ora does, and neither encodes nor sends them: its encoder
// asks the session for the character set.
func tryOracle(t *testing.T, k *argumentKind) string {
	conn := new(bindingConn)
	connector := harness.AsDriver{Connector: fixedConnector{conn}, As: harness.Registered(t, "oracle")}
	raw := sql.OpenDB(connector)
	defer raw.Close()
	db, _ := harness.OpenConnector(t, connector, harness.FillID("people", policy.Table{Layout: "string"}))
	sent := func(path string, db *sql.DB, withKey bool) (a sentArgument) {
		conn.last = nil
		a.err = harness.SeveralPaths[path](context.Background(), db, k.text("oracle", "people", withKey), k.args...)
		a.columns = conn.last
		return a
	}
	var outcomes []string
	for _, path := range []string{"exec", "prepared"} {
		outcome := judgeSent(t, k, sent(path, raw, true), sent(path, db, false))
		if !slices.Contains(outcomes, outcome) {
			outcomes = append(outcomes, outcome)
		}
	}
	return strings.Join(outcomes, ", or ")
}

// fixedConnector hands out one connection.
type fixedConnector struct{ conn driver.Conn }

func (c fixedConnector) Connect(context.Context) (driver.Conn, error) { return c.conn, nil }

func (c fixedConnector) Driver() driver.Driver { return nil }

// bindingConn is a connection with the abilities of go-ora's (TestOracleShape), which
// binds arguments as Stmt._exec of go-ora 2.8.24 does: each at its ordinal, or all by
// their names if every one has a name.
type bindingConn struct{ last map[string]string }

var errNoBinding = errors.New("the number of arguments is not that of the placeholders")

func (c *bindingConn) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	row, err := bindOracle(query, args)
	if err != nil {
		return nil, err
	}
	c.last = row
	return driver.RowsAffected(1), nil
}

func (c *bindingConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return nil, errNoBinding
}

func (c *bindingConn) Prepare(query string) (driver.Stmt, error) {
	return &bindingStmt{c, query}, nil
}

func (c *bindingConn) PrepareContext(_ context.Context, query string) (driver.Stmt, error) {
	return c.Prepare(query)
}

func (c *bindingConn) CheckNamedValue(*driver.NamedValue) error { return nil }

func (c *bindingConn) Begin() (driver.Tx, error) { return nil, errNoBinding }

func (c *bindingConn) Close() error { return nil }

// bindingStmt is a prepared statement of a bindingConn.
type bindingStmt struct {
	conn  *bindingConn
	query string
}

func (s *bindingStmt) Close() error { return nil }

func (s *bindingStmt) NumInput() int { return -1 } // as go-ora's

func (s *bindingStmt) CheckNamedValue(*driver.NamedValue) error { return nil }

func (s *bindingStmt) Exec([]driver.Value) (driver.Result, error) {
	return nil, errNoBinding
}

func (s *bindingStmt) Query([]driver.Value) (driver.Rows, error) { return nil, errNoBinding }

func (s *bindingStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.conn.ExecContext(ctx, s.query, args)
}

// handedOver is an argument as it reaches the driver, in words.
func handedOver(v driver.Value) string {
	switch out := v.(type) {
	case sql.Out:
		v = reflect.ValueOf(out.Dest).Elem().Interface()
	case go_ora.Out:
		v = reflect.ValueOf(out.Dest).Elem().Interface()
	}
	if plain, err := driver.DefaultParameterConverter.ConvertValue(v); err == nil {
		v = plain
	}
	if b, ok := v.([]byte); ok && b != nil {
		return string(b)
	}
	if a, ok := v.([16]byte); ok {
		return uuid.UUID(a).String()
	}
	return fmt.Sprint(printed(v))
}

var (
	errMixedLists = errors.New("to activate bulk insert/merge all parameters should be arrays")
	errListOfRows = errors.New("the statement is executed for several rows")
)

// takesLists reports what go-ora takes for array DML, which begins with a list in
// the first place: every slice and array but []byte, a UUID too.
func takesLists(args []driver.NamedValue) error {
	lists := 0
	for _, a := range args {
		switch a.Value.(type) {
		case sql.Out, go_ora.Out, []byte, nil:
		default:
			if k := reflect.TypeOf(a.Value).Kind(); k == reflect.Slice || k == reflect.Array {
				lists++
				continue
			}
		}
		if lists > 0 {
			return errMixedLists
		}
		return nil
	}
	if lists > 0 {
		return errListOfRows
	}
	return nil
}

// bindOracle says what each column gets.
func bindOracle(query string, args []driver.NamedValue) (row map[string]string, err error) {
	if err := takesLists(args); err != nil {
		return nil, err
	}
	handed := make([]string, len(args))
	named := len(args) > 0
	for i, a := range args {
		named = named && a.Name != ""
		handed[i] = handedOver(a.Value)
	}
	n := 0
	row = resolve(query, func(placeholder string) string {
		n++
		if !named {
			if n > len(handed) {
				err = errNoBinding
				return ""
			}
			return handed[n-1]
		}
		for i, a := range args {
			if strings.EqualFold(a.Name, placeholder[1:]) {
				return handed[i]
			}
		}
		err = errNoBinding
		return ""
	})
	if err == nil && !named && n != len(args) {
		err = errNoBinding
	}
	return row, err
}
