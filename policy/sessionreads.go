package policy

// SessionReads is what happens to a statement that asks the session for the number that
// the engine generated last, by lastval(), currval and the like, if keyfill has made
// that number instead: the engine would return the number of another row.
type SessionReads string

// The values of SessionReads.
const (
	SessionReadsError SessionReads = "error" // the statement is an error, before anything is sent
	SessionReadsWarn  SessionReads = "warn"  // the statement is sent, and the log gets a warning
	SessionReadsPass  SessionReads = "pass"  // the statement is sent without an error or a warning
)

var sessionReadsWords = []string{string(SessionReadsError), string(SessionReadsWarn), string(SessionReadsPass)}

// sessionReadsWhat is what messages call a value of session_reads.
const sessionReadsWhat = "word for session_reads:"
