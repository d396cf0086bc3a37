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

// holesOf returns the holes (the places for keys) as [bind.FindHoles] does. It refuses
// arguments whose first value the driver may treat as an option: the other arguments
// would then have other positions than the text says.
func holesOf(p *plans.Plan, args []driver.NamedValue) (bind.Holes, error) {
	if len(args) > 0 && isOption(args[0].Value) {
		return bind.Holes{}, p.Refused(rewrite.ErrOption)
	}
	return bind.FindHoles(p, args)
}

// pgxOptions lists the types of pgx whose values are options if they come first. All
// types that rewrite the query are options too (pgx v5, Conn.Query and QueryRewriter).
var pgxOptions = map[string]bool{"QueryExecMode": true, "QueryResultFormats": true, "QueryResultFormatsByOID": true}

// isOption reports whether an argument in the first position is an option.
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
