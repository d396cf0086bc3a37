package store

// The names of keyfill's tables.
const (
	sequencesTable = "keyfill_sequences"
	workersTable   = "keyfill_workers"
	seriesTable    = "keyfill_series"
)

// tables are the names of what the statements of an engine create.
var tables = [...]string{sequencesTable, workersTable, seriesTable}
