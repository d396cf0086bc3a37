package keyfillpgx_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

// TestCopyColumnTypes: the keys of a COPY are stored as the keys of an INSERT are,
// whatever the type of their column, and whether the column is listed or not.
func TestCopyColumnTypes(t *testing.T) {
	for name, c := range map[string]struct {
		column, text string // text is how the column is read as text
		rule         policy.Table
	}{
		"uuid":           {column: "uuid", text: "id::text"},
		"text":           {column: "text", text: "id"},
		"varchar":        {column: "varchar(36)", text: "id::text"},
		"char":           {column: "char(36)", text: "id::text"},
		"domain of uuid": {column: "ids", text: "id::text"},
		"domain of text": {column: "names", text: "id::text"},
		"bytea":          {column: "bytea", text: "encode(id, 'hex')", rule: policy.Table{Layout: dialect.SequentialAsBinary}},
		"other texts":    {column: "text", text: "id", rule: policy.Table{InPlace: &policy.Source{Kind: policy.KindULID}}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			rule := c.rule
			rule.Column = "id"
			if rule.InPlace == nil {
				rule.InPlace = &policy.Source{Kind: policy.KindUUIDv7}
			}
			p := open(t, &policy.Config{Version: 1, Tables: map[string]policy.Table{"t": rule}},
				"CREATE DOMAIN ids AS uuid; CREATE DOMAIN names AS text CHECK (length(value) = 36); CREATE TABLE t (id "+c.column+" PRIMARY KEY, a INT)")
			ctx, rec := keyfill.Record(t.Context())
			if _, err := p.filled.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a"}, pgx.CopyFromRows([][]any{{1}, {2}})); err != nil {
				t.Fatal(err)
			}
			if _, err := p.filled.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"id", "a"}, pgx.CopyFromRows([][]any{{nil, 3}})); err != nil {
				t.Fatal(err)
			}
			if _, err := p.filled.Exec(ctx, "INSERT INTO t (a) VALUES (4)"); err != nil {
				t.Fatal(err)
			}
			stored := column(t, p.plain, "SELECT "+c.text+" FROM t ORDER BY a")
			var recorded []string
			for _, k := range rec.All() {
				key := line("%v", k.Key)
				if name == "bytea" {
					key = strings.ReplaceAll(key, "-", "")
				}
				recorded = append(recorded, key)
			}
			if len(stored) != 4 || !slices.Equal(stored, recorded) {
				t.Errorf("stored is %v, recorded %v", stored, recorded)
			}
		})
	}
}
