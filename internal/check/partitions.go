package check

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
)

// noIndexOverAll says why no statement creates a unique index of a partitioned table.
const noIndexOverAll = "none can be had over all partitions, since the engine makes no unique index without the columns by which the table is partitioned"

// uniqueOf returns the remedy for columns that lack a unique index. whole reports whether
// the engine can create one for the whole table. If PostgreSQL cannot, the remedy has a
// statement for each partition that lacks an index; it is empty if no partition does.
func (c *checker) uniqueOf(t *catalog.Listed, columns []string) (remedy string, whole bool) {
	if !t.Split || c.o.Overview != nil {
		return createUnique(c.d, t, columns), true
	}
	p, err := catalog.ReadPartitioning(c.ctx, c.d, c.q, t.Schema, t.Name)
	switch {
	case err != nil:
		return noIndexOverAll, false
	case p.CanBeUnique(columns):
		return createUnique(c.d, t, columns), true
	case !c.listsParts() || len(p.Parts) == 0:
		return noIndexOverAll, false
	}
	var statements []string
	for _, name := range p.Parts {
		part := c.listed(name)
		if part == nil {
			part = &catalog.Listed{Table: &catalog.Table{Schema: name.Schema, Name: name.Name}}
		}
		if !part.IsUniqueWith(columns[len(columns)-1], columns) {
			statements = append(statements, createUnique(c.d, part, columns))
		}
	}
	return strings.Join(statements, "\n"), false
}

// listsParts reports whether the partitions of a table are known one by one, so that each
// may have an index of its own.
func (c *checker) listsParts() bool {
	return c.d.Family == dialect.FamilyPostgreSQL && c.o.Overview == nil
}

// listed returns the partition with a name, nil if its schema was not listed.
func (c *checker) listed(name catalog.PartName) *catalog.Listed {
	i := slices.IndexFunc(c.over.Tables, func(t *catalog.Listed) bool { return t.Schema == name.Schema && t.Name == name.Name })
	if i < 0 {
		return nil
	}
	return c.over.Tables[i]
}
