package catalog

import "context"

// Exact reports whether a server of MySQL or MariaDB compares the names of tables
// as they are written: "Identifier Case Sensitivity" of the MySQL 8.4 Reference
// Manual.
func Exact(ctx context.Context, q Querier) (bool, error) {
	rows, err := q.Rows(ctx, "SELECT @@lower_case_table_names")
	if err != nil || len(rows) == 0 {
		return false, err
	}
	c := cells{row: rows[0]}
	return c.number(0) == 0, c.err
}
