package session

import (
	"sync/atomic"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// Server holds what the connections of one database share: facts about their driver, and
// about the server. It is safe for concurrent use.
type Server struct {
	Driver drivers.Facts

	// Detached means that a test has replaced the stores from which keys come: the engine
	// is asked nothing, and keeps no state.
	Detached bool

	may []*dialect.Dialect // the dialects that the server may have: one, or MySQL's and MariaDB's

	KnownDialect  atomic.Pointer[dialect.Dialect] // nil until the server is known to be MySQL or MariaDB
	Casing        atomic.Uint32                   // whether the case of tables' names matters: one of Casing…
	ServerVersion atomic.Pointer[[2]int]          // major and minor version; nil until they are asked for
	Places        places

	// converts caches the Conversion of new sessions, plus 1; 0 until a session was asked.
	converts atomic.Int32

	// Drops counts the texts of the application that begin with DROP.
	Drops atomic.Uint64

	// ResetsForget is true if the application's own function for a connection that comes back
	// from the pool makes the server forget prepared statements.
	ResetsForget atomic.Bool
}

// NewServer returns a server that was not asked anything yet.
func NewServer(facts drivers.Facts, may []*dialect.Dialect) *Server {
	s := &Server{Driver: facts, may: may}
	if len(may) == 1 {
		s.KnownDialect.Store(may[0])
	}
	return s
}

// Dialect returns the server's dialect; until the server is known to be MySQL or MariaDB,
// one of the two.
func (s *Server) Dialect() *dialect.Dialect {
	if d := s.KnownDialect.Load(); d != nil {
		return d
	}
	return s.may[0]
}

// On MySQL and MariaDB the server's lower_case_table_names decides whether ORDERS means the
// table orders. It never changes while a server runs. The server is asked for it when a
// name comes up for the first time whose case matters.
const (
	CasingUnknown = iota
	CasingFolds
	CasingExact
)

// StatesOnConnection reports whether keyfill reads and writes its states on the connection
// of each statement: an engine with one writer would wait for itself on any other
// connection.
func (s *Server) StatesOnConnection() bool { return s.may[0].OneWriter && !s.Detached }

// IsUndone reports whether err means that the engine has rolled back a transaction in
// favour of another one, such as a deadlock's winner or a transaction on another node.
func (s *Server) IsUndone(err error) bool {
	return sqlcode.ClassOf(s.Dialect(), err) == dialect.ErrorTransaction
}
