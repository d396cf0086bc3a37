package engine

// The names of keyfill's tables.
const (
	SequencesTable = "keyfill_sequences"
	WorkersTable   = "keyfill_workers"
	SeriesTable    = "keyfill_series"
)

// Tables are the names of the tables that the statements of an engine create.
var Tables = [...]string{SequencesTable, WorkersTable, SeriesTable}
