package keys

import "github.com/keyfill/keyfill/internal/session"

// Session is a connection of the application with what is known of the tables as it sees
// them: those that it alone sees, those that its transaction has changed, and keyfill's own.
// Like a [session.Conn], it is used by one goroutine at a time.
type Session struct {
	session.Conn
	tables *Tables

	// JoinedDraws counts the numbers that were asked for in its transactions.
	JoinedDraws uint64
	drawnIn     uint64 // Begins when the last of them was asked for

	memoryDetected bool   // DetectOwnMemory has run
	ensured        bool   // keyfill's tables were there
	ensuredAt      uint64 // gone of the tables then

	gates         map[*Table]*gate // of tables that it alone sees
	temporary     temporaryGates
	own           ownTables
	AlteredTables alteredTables
	Drawn         Drawn
}

// noteJoinedDraw notes that a number is asked for in the transaction.
func (g *Session) noteJoinedDraw() {
	g.JoinedDraws++
	g.drawnIn = g.Begins
}

// hasDrawn reports whether a number was asked for in the transaction.
func (g *Session) hasDrawn() bool { return g.drawnIn == g.Begins }
