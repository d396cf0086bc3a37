package policy

// The words that the file has in the fields of a [Source].
const (
	TransactionAutonomous = "autonomous"
	TransactionJoined     = "joined"

	LockPessimistic = "pessimistic" // the row of the counter is locked, then read
	LockOptimistic  = "optimistic"  // the row is read, then changed if it is still the same
	LockRange       = "range"       // one statement at a time reads the greatest key
	LockNone        = "none"        // several statements may read the same greatest key; only the primary key prevents a duplicate

	ViaTable     = "table"
	ViaProcedure = "procedure"

	AlphabetBase62 = "base62" // [keysource.AlphabetBase62]
	AlphabetBase32 = "base32" // [keysource.AlphabetBase32]

	CollationBinary = "binary"

	StoredNext = "next" // the stored number is the next free number
	StoredLast = "last" // the stored number is the last number that was used

	PeriodNone    = "none"
	PeriodDay     = "day"
	PeriodMonth   = "month"
	PeriodQuarter = "quarter"
	PeriodYear    = "year"

	ScopeInteger = "integer"
	ScopeText    = "text"
)
