package conformance

import "strings"

// These let tests look inside.
var (
	GoldenTables = goldenTables
	GoldenTopics = goldenTopics
	RunAt        = runAt
	WithDatabase = withDatabase
	ErrExists    = errExists
	ErrNotOurs   = errNotOurs
)

// Name returns the name of a table.
func (t goldenTable) Name() string { return t.name }

// ColumnNames returns the names of the columns.
func (t goldenTable) ColumnNames() (names []string) {
	for _, c := range t.columns {
		name, _, _ := strings.Cut(c, " ")
		names = append(names, name)
	}
	return names
}
