package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// Partitioning describes how a table is partitioned. The zero value means a table without
// partitions.
type Partitioning struct {
	// Columns are the partitioning columns of all levels of partitions, as the catalog has
	// them. Computed reports whether an expression partitions the table too, or alone.
	Columns  []string
	Computed bool

	// Parts are the partitions that hold rows. They are read on PostgreSQL only: on other
	// engines, no index belongs to a single partition.
	Parts []PartName
}

// PartName is the name of a partition, as found.
type PartName struct{ Schema, Name string }

// CanBeUnique reports whether the engine makes a unique index of the columns over all
// partitions: they must include the partitioning columns. MySQL 8.4 Reference Manual,
// section 26.6.1; PostgreSQL 18 documentation, section 5.12.2.3.
func (p *Partitioning) CanBeUnique(columns []string) bool {
	return !p.Computed && !slices.ContainsFunc(p.Columns, func(c string) bool { return !slices.Contains(columns, c) })
}

const (
	partColumnsPostgreSQL = `SELECT DISTINCT COALESCE(CAST(a.attname AS text), '')
FROM pg_catalog.pg_partition_tree(CAST(CAST($1 AS text) AS regclass)) t
JOIN pg_catalog.pg_partitioned_table p ON p.partrelid = t.relid
CROSS JOIN LATERAL pg_catalog.unnest(CAST(p.partattrs AS smallint[])) AS k (number)
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = k.number AND k.number > 0
ORDER BY 1`

	partsPostgreSQL = `SELECT CAST(n.nspname AS text), CAST(c.relname AS text)
FROM pg_catalog.pg_partition_tree(CAST(CAST($1 AS text) AS regclass)) t
JOIN pg_catalog.pg_class c ON c.oid = t.relid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE t.isleaf AND c.relkind = 'r'
ORDER BY n.nspname, c.relname`

	partColumnsMySQL = `SELECT DISTINCT COALESCE(partition_expression, ''), COALESCE(subpartition_expression, '')
FROM information_schema.partitions
WHERE table_schema = ? AND table_name = ? AND partition_name IS NOT NULL`
)

// ReadPartitioning reads how a table of PostgreSQL, MySQL or MariaDB is partitioned. Its
// names are as the catalog has them.
func ReadPartitioning(ctx context.Context, d *dialect.Dialect, q Querier, schema, table string) (p Partitioning, err error) {
	if read := engines[d.Family].partitioning; read != nil {
		return read(ctx, d, q, schema, table)
	}
	return p, nil
}

func partitioningPostgreSQL(ctx context.Context, d *dialect.Dialect, q Querier, schema, table string) (p Partitioning, err error) {
	name := d.QuoteIdent(schema) + "." + d.QuoteIdent(table)
	columns, err := q.Rows(ctx, partColumnsPostgreSQL, name)
	if err != nil || len(columns) == 0 {
		return p, err
	}
	parts, err := q.Rows(ctx, partsPostgreSQL, name)
	if err != nil {
		return p, err
	}
	c := new(cells)
	for _, c.row = range columns {
		p.add(c.text(0))
	}
	for _, c.row = range parts {
		p.Parts = append(p.Parts, PartName{c.text(0), c.text(1)})
	}
	return p, c.err
}

func partitioningMySQL(ctx context.Context, _ *dialect.Dialect, q Querier, schema, table string) (p Partitioning, err error) {
	rows, err := q.Rows(ctx, partColumnsMySQL, schema, table)
	if err != nil {
		return p, err
	}
	c := new(cells)
	for _, c.row = range rows {
		for i := range 2 {
			for part := range strings.SplitSeq(c.text(i), ",") {
				name, isName := strings.CutPrefix(part, "`")
				name, ends := strings.CutSuffix(name, "`")
				switch {
				case isName && ends && !strings.Contains(name, "`"):
					p.add(name)
				case i == 0 || part != "":
					p.add("") // an expression, or KEY() without columns
				}
			}
		}
	}
	return p, c.err
}

// add adds a partitioning column; an empty name means an expression.
func (p *Partitioning) add(column string) {
	switch {
	case column == "":
		p.Computed = true
	case !slices.Contains(p.Columns, column):
		p.Columns = append(p.Columns, column)
	}
}
