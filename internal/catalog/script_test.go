package catalog_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/internal/catalog"
)

// script is a Querier that gives its answers one after the other and logs the
// queries.
type script struct {
	answers [][][]any
	err     error // of the query after the last answer
	log     []string
}

func (s *script) Rows(_ context.Context, query string, args ...any) ([][]any, error) {
	text := query
	for i, arg := range args {
		text += fmt.Sprintf("\n  %d = %#v", i+1, arg)
	}
	s.log = append(s.log, text)
	if len(s.log) > len(s.answers) {
		return nil, s.err
	}
	return s.answers[len(s.log)-1], nil
}

// describe writes a table as a few lines.
func describe(t *catalog.Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.%s: triggers %s, view %v\n", t.Schema, t.Name, t.InsertTriggers, t.View)
	if t.KeyTriggers != t.InsertTriggers || t.RowSecurity {
		fmt.Fprintf(&b, "triggers of the key %s, row security %v\n", t.KeyTriggers, t.RowSecurity)
	}
	for _, x := range t.UniqueIndexes {
		fmt.Fprintf(&b, "%s (%s)\n", x.Name, strings.Join(x.Columns, ","))
	}
	for _, c := range t.Columns {
		line := c.Name + " " + c.Type + ":"
		add := func(is bool, format string, args ...any) {
			if is {
				line += " " + fmt.Sprintf(format, args...)
			}
		}
		add(c.Integer, "integer %d", c.Bits)
		add(c.Text, "text %d", c.Length)
		add(c.Binary, "binary %d", c.Length)
		add(c.UUID, "uuid")
		add(c.Generated, "generated")
		add(c.Identity != "", "%s", c.Identity)
		add(c.IdentityAlways, "always")
		add(c.RowID, "rowid")
		add(c.Indexes.LeadsIndex, "led")
		add(c.Indexes.Unique != nil, "unique %s", strings.Join(c.Indexes.Unique, ","))
		add(c.Indexes.UniqueAlone, "alone")
		add(c.Collation != "", "collation %s", c.Collation)
		b.WriteString(line + "\n")
	}
	return b.String()
}
