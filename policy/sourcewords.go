package policy

// The words that the file has in the fields of a [Source].
const (
	TransactionAutonomous = "autonomous"
	TransactionJoined     = "joined"

	LockPessimistic = "pessimistic" // the row is locked, then read
	LockOptimistic  = "optimistic"  // the row is read, then changed if it is as it was
	LockRange       = "range"       // one statement at a time asks for the greatest key
	LockNone        = "none"        // several may get the same: only the primary key guards it

	ViaTable     = "table"
	ViaProcedure = "procedure"

	AlphabetBase62 = "base62" // [keysource.AlphabetBase62]
	AlphabetBase32 = "base32" // [keysource.AlphabetBase32]

	CollationBinary = "binary"

	StoredNext = "next" // the next free number
	StoredLast = "last" // the last number that was used

	ScopeInteger = "integer"
	ScopeText    = "text"
)
