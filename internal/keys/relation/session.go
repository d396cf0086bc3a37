package relation

import (
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/session"
)

// Session is a connection of the application, with what is known about the tables that
// it sees: tables that only it sees, tables that its transaction has changed, and
// keyfill's own. Like a [session.Conn], it is used by one goroutine at a time.
type Session struct {
	session.Conn
	Tables *Tables

	// JoinedDraws counts the numbers that were drawn in its transactions.
	JoinedDraws uint64
	drawnIn     uint64 // the value of Begins (a count of transactions) when JoinedDraws was last raised

	memoryDetected bool   // DetectOwnMemory was called
	ensured        bool   // keyfill's tables were found or created
	ensuredAt      uint64 // the value of Tables.Gone when ensured was last set

	gates         map[*table.Table]*table.Gate // what is known from the catalog about tables that only this connection sees
	temporary     table.TemporaryGates
	own           ownTables
	ahead         readAhead
	AlteredTables AlteredTables
	Drawn         Drawn
}

// NoteJoinedDraw records that a number is drawn in the transaction.
func (g *Session) NoteJoinedDraw() {
	g.JoinedDraws++
	g.drawnIn = g.Begins
}

// HasDrawn reports whether a number was drawn in the transaction.
func (g *Session) HasDrawn() bool { return g.drawnIn == g.Begins }
