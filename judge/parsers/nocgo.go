//go:build !cgo

package parsers

import "github.com/keyfill/keyfill/judge/tree"

// HasPostgreSQL reports whether [PostgreSQL] can read a query. Without cgo it cannot, since
// its parser is in C.
const HasPostgreSQL = false

// PostgreSQL fails with [ErrNoCompiler].
func PostgreSQL(string) (*tree.Text, error) { return nil, ErrNoCompiler }
