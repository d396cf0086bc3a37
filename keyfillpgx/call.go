package keyfillpgx

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// call is a text of the application with its arguments, read as pgx reads them.
type call struct {
	text    string // the result of the application's own QueryRewriter
	name    string // of the prepared statement that the text stands for; may be empty
	args    []any
	options []any // of pgx, which stand before the arguments

	passes bool // the text does not concern keyfill
	once   bool // the text never comes again: pgx is to keep no statement for it
}

// read reads the arguments of a call: options first, then the result of a QueryRewriter
// among them for the others. takesFormats reports whether pgx takes formats of results.
func (c *Conn) read(ctx context.Context, sql string, args []any, takesFormats bool) (call, error) {
	var rewriter pgx.QueryRewriter
	k := call{text: sql}
options:
	for len(args) > 0 {
		switch arg := args[0].(type) {
		case pgx.QueryExecMode:
			k.options = append(k.options, arg)
		case pgx.QueryRewriter:
			rewriter = arg
		case pgx.QueryResultFormats, pgx.QueryResultFormatsByOID:
			if !takesFormats {
				break options
			}
			k.options = append(k.options, arg)
		default:
			break options
		}
		args = args[1:]
	}
	k.args = args
	k, err := rewritten(ctx, c.native.conn, rewriter, k)
	return c.named(k), err
}

// rewritten has the application's own QueryRewriter rewrite a call, where there is one.
func rewritten(ctx context.Context, conn *pgx.Conn, rewriter pgx.QueryRewriter, k call) (call, error) {
	if rewriter == nil {
		return k, nil
	}
	var err error
	k.text, k.args, err = rewriter.RewriteQuery(ctx, conn, k.text, k.args)
	if err != nil {
		return call{}, fmt.Errorf("rewrite query failed: %w", err)
	}
	return k, nil
}

// named returns a call with the text of the statement that was prepared by the name.
func (c *Conn) named(k call) call {
	if text, ok := c.prepared[k.text]; ok {
		k.text, k.name = text, k.text
	}
	return k
}

// sent returns the text to send: the name of its statement, unless keyfill has changed
// the text.
func (k *call) sent(query string) string {
	if k.name != "" && query == k.text {
		return k.name
	}
	return query
}

// with returns the arguments of pgx: the options of the call, followed by the bound
// arguments.
func (k *call) with(args []driver.NamedValue) []any {
	all := make([]any, 0, len(k.options)+len(args)+1)
	if k.once {
		all = append(all, pgx.QueryExecModeDescribeExec) // a later option counts more
	}
	all = append(all, k.options...)
	for i := range args {
		all = append(all, args[i].Value)
	}
	return all
}

// bound returns arguments as keyfill takes them.
func bound(args []any) []driver.NamedValue {
	named := make([]driver.NamedValue, len(args))
	for i, v := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return named
}

// values returns arguments as pgx takes them.
func values(args []driver.NamedValue) []any {
	plain := make([]any, len(args))
	for i := range args {
		plain[i] = args[i].Value
	}
	return plain
}
