package fill

import (
	"database/sql/driver"
	"path"
	"reflect"
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/rewrite"
)

// holesOf is [bind.FindHoles] for arguments of which the driver may take the
// first for an option of its own: the places of the others, and of the key, are
// not those that the text says then.
func holesOf(p *plans.Plan, args []driver.NamedValue) (bind.Holes, error) {
	if len(args) > 0 && isOption(args[0].Value) {
		return bind.Holes{}, p.Refused(rewrite.ErrOption)
	}
	return bind.FindHoles(p, args)
}

// pgxOptions are types of pgx whose values are options where they come first;
// besides there are all those that rewrite the query (pgx v5, Conn.Query and
// QueryRewriter).
var pgxOptions = map[string]bool{"QueryExecMode": true, "QueryResultFormats": true, "QueryResultFormatsByOID": true}

// isOption reports whether an argument in the first place is an option.
func isOption(v driver.Value) bool {
	if driver.IsValue(v) {
		return false
	}
	t := reflect.TypeOf(v)
	if pgxOptions[t.Name()] && path.Dir(t.PkgPath()) == "github.com/jackc/pgx" && strings.HasPrefix(path.Base(t.PkgPath()), "v") {
		return true
	}
	_, rewrites := t.MethodByName("RewriteQuery")
	return rewrites
}
