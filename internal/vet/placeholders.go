package vet

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// foreigns are, for each family, the signs that begin placeholders of libraries, but none
// of the engine's own. SQLite has placeholders with each of these signs.
var foreigns = map[dialect.Family]string{
	dialect.FamilyMySQL: ":", dialect.FamilyPostgreSQL: "?:@", dialect.FamilySQLServer: "?:", dialect.FamilyOracle: "?",
}

// bound returns a text of Go source with the engine's placeholders instead of those that a
// library replaces before it sends the text: ? by sqlx.Rebind and GORM, :name by
// sqlx.Named, and on PostgreSQL @name by pgx.NamedArgs. They are recognized by their
// position at the start of a value, where the engine has no operator.
func (j *Judge) bound(query string) string {
	if foreigns[j.dialect.Family] == "" {
		return query
	}
	own := j.dialect.Placeholder(1)
	var b strings.Builder
	starts := false // whether a value starts at the next token
	for at := 0; at < len(query); {
		kind, end := scan.NextToken(j.dialect, query, at)
		end = max(end, at+1)
		if n := j.foreign(query[at:]); n > 0 && starts && kind.IsOther() {
			b.WriteString(own)
			at, starts = at+n, false
			continue
		}
		if kind != scan.Space && kind != scan.Comment {
			starts = kind.IsOther() && strings.IndexByte("(,=", query[end-1]) >= 0
		}
		b.WriteString(query[at:end])
		at = end
	}
	return b.String()
}

// foreign returns the length of the library's placeholder that a text begins with; zero if
// it begins with none, or with one of the engine's own.
func (j *Judge) foreign(text string) int {
	name := 1
	for name < len(text) && isNamePart(text[name]) {
		name++
	}
	switch {
	case strings.IndexByte(foreigns[j.dialect.Family], text[0]) < 0:
		return 0
	case text[0] != '?' && name > 1:
		return name
	case text[0] == '?' && name == 1 && (len(text) == 1 || strings.IndexByte("?|&", text[1]) < 0):
		return 1
	}
	return 0
}
