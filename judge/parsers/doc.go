// Package parsers reads queries with the parsers of the engines themselves, or the nearest
// to them for Go, and returns trees to compare:
//
//	PostgreSQL      PostgreSQL's own parser (pg_query_go; needs a C compiler)
//	MySQL, MariaDB  TiDB's parser
//	SQL Server      teesql, after Microsoft's ScriptDom
//	SQLite          SQLite's own prepare, which says yes or no and gives no tree
//
// For Oracle there is no such parser: package checker reads its queries.
package parsers

import (
	"errors"
	"fmt"

	"github.com/keyfill/keyfill/judge/tree"
)

// ErrNoCompiler is returned for PostgreSQL by a program that was built without cgo, for
// which a C compiler is needed.
var ErrNoCompiler = errors.New("parsers: PostgreSQL's parser is in C: install a C compiler and build with CGO_ENABLED=1")

// recovered turns a parser's panic r into an error: this program cannot repair the parser,
// and has many other texts to read.
func recovered(r any, t **tree.Text, err *error) {
	if r != nil {
		*t, *err = nil, fmt.Errorf("parsers: panic: %v", r)
	}
}
