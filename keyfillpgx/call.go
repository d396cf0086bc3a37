package keyfillpgx

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// call is a text of the application with its arguments, read as pgx reads them.
type call struct {
	text    string // the text, after the application's own QueryRewriter
	name    string // the name of the prepared statement that has this text; empty if the text is not prepared
	args    []any
	options []any // pgx's options, which come before the arguments

	passes bool // whether the text does not concern keyfill
	once   bool // whether the text is not sent again, so that pgx should keep no prepared statement for it
}

// read splits the arguments of a call. Options come first; a QueryRewriter among them
// replaces the text and the arguments. takesFormats reports whether pgx accepts formats of
// results here.
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

// rewritten returns the call as the application's QueryRewriter rewrites it, or k if there
// is no rewriter.
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

// named returns a call with the text of its prepared statement, if the call has the name of
// one.
func (c *Conn) named(k call) call {
	if p, ok := c.prepared[k.text]; ok {
		k.text, k.name = p.text, k.text
	}
	return k
}

// sent returns the text to send: the name of the prepared statement, unless keyfill has
// changed the text.
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
		all = append(all, pgx.QueryExecModeDescribeExec) // put first, since of several modes pgx uses the last one
	}
	all = append(all, k.options...)
	for i := range args {
		all = append(all, args[i].Value)
	}
	return all
}

// bound converts arguments to the type that keyfill uses.
func bound(args []any) []driver.NamedValue {
	named := make([]driver.NamedValue, len(args))
	for i, v := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return named
}

// values converts arguments to the type that pgx uses.
func values(args []driver.NamedValue) []any {
	plain := make([]any, len(args))
	for i := range args {
		plain[i] = args[i].Value
	}
	return plain
}
