package relation

import (
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/session"
)

// Session is a connection of the application with what is known of the tables as it sees
// them: those that it alone sees, those that its transaction has changed, and keyfill's own.
// Like a [session.Conn], it is used by one goroutine at a time.
type Session struct {
	session.Conn
	Tables *Tables

	// JoinedDraws counts the numbers that were asked for in its transactions.
	JoinedDraws uint64
	drawnIn     uint64 // Begins when the last of them was asked for

	memoryDetected bool   // DetectOwnMemory has run
	ensured        bool   // keyfill's tables were there
	ensuredAt      uint64 // gone of the tables then

	gates         map[*table.Table]*table.Gate // of tables that it alone sees
	temporary     table.TemporaryGates
	own           ownTables
	AlteredTables AlteredTables
	Drawn         Drawn
}

// NoteJoinedDraw notes that a number is asked for in the transaction.
func (g *Session) NoteJoinedDraw() {
	g.JoinedDraws++
	g.drawnIn = g.Begins
}

// HasDrawn reports whether a number was asked for in the transaction.
func (g *Session) HasDrawn() bool { return g.drawnIn == g.Begins }
