package policy

// SessionReads is what happens to a statement that asks the session for a number which
// keyfill has made instead of the engine: lastval(), currval and the like return the
// number of another row then.
type SessionReads string

// What happens to such a statement.
const (
	SessionReadsError SessionReads = "error" // it is an error, before anything is sent
	SessionReadsWarn  SessionReads = "warn"  // it is sent, and the log gets a warning
	SessionReadsPass  SessionReads = "pass"  // it is sent
)

var sessionReadsWords = []string{string(SessionReadsError), string(SessionReadsWarn), string(SessionReadsPass)}

// sessionReadsWhat names such a word in messages.
const sessionReadsWhat = "word for session_reads:"
