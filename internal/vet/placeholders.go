package vet

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/rewrite"
)

// bound returns a text of Go source with the engine's placeholders instead of those that
// a library replaces before it sends the text: ? by sqlx.Rebind and GORM, :name by
// sqlx.Named, and on PostgreSQL @name by pgx.NamedArgs. They are recognized by their
// place, at the start of a value, where the engine has no operator.
func (j *Judge) bound(query string) string {
	own := "?"
	switch j.dialect.Family {
	case dialect.FamilyPostgreSQL:
		own = "$1"
	case dialect.FamilySQLServer:
		own = "@p1"
	case dialect.FamilyOracle:
		own = ":1"
	case dialect.FamilySQLite:
		return query // it has them all
	}
	var b strings.Builder
	starts := false // a value starts here
	for at := 0; at < len(query); {
		kind, end := rewrite.NextToken(j.dialect, query, at)
		end = max(end, at+1)
		if n := j.foreign(query[at:]); n > 0 && starts && kind == rewrite.TokenOther {
			b.WriteString(own)
			at, starts = at+n, false
			continue
		}
		if kind != rewrite.TokenSpace && kind != rewrite.TokenComment {
			starts = kind == rewrite.TokenOther && strings.IndexByte("(,=", query[end-1]) >= 0
		}
		b.WriteString(query[at:end])
		at = end
	}
	return b.String()
}

// foreign returns the length of the placeholder of a library at the start of a text, 0 for
// none and for one of the engine.
func (j *Judge) foreign(text string) int {
	name := 1
	for name < len(text) && isNamePart(text[name]) {
		name++
	}
	switch family := j.dialect.Family; {
	case text[0] == '?' && family != dialect.FamilyMySQL && name == 1 && (len(text) == 1 || strings.IndexByte("?|&", text[1]) < 0):
		return 1
	case text[0] == ':' && family != dialect.FamilyOracle && name > 1, text[0] == '@' && family == dialect.FamilyPostgreSQL && name > 1:
		return name
	}
	return 0
}
