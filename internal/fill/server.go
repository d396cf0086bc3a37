package fill

import (
	"sync/atomic"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// server is what the connections of one database share: facts about their driver, and
// what any of them has found out about the server. It is safe for concurrent use.
type server struct {
	Driver drivers.Facts
	may    []*dialect.Dialect // what the server may speak: one, or MySQL's and MariaDB's

	spoken        atomic.Pointer[dialect.Dialect] // nil until those two are told apart
	casing        atomic.Uint32                   // whether the case of tables' names counts: casing…
	serverVersion atomic.Pointer[[2]int]          // major and minor, once they were asked for
	places        places
}

// newServer returns the server of a database before it was asked anything.
func newServer(facts drivers.Facts, may []*dialect.Dialect) *server {
	s := &server{Driver: facts, may: may}
	if len(may) == 1 {
		s.spoken.Store(may[0])
	}
	return s
}

// dialect returns what the server speaks; while MySQL and MariaDB are not told apart,
// one of them.
func (s *server) dialect() *dialect.Dialect {
	if d := s.spoken.Load(); d != nil {
		return d
	}
	return s.may[0]
}

// On MySQL and MariaDB the server's lower_case_table_names says whether ORDERS is
// the table orders. It never changes while a server runs, and is asked for when
// the first name comes for which it matters.
const (
	casingUnknown = iota
	casingFolds
	casingExact
)

// onConnection reports whether states are kept on the connection of each statement:
// an engine with one writer would wait for itself on any other.
func (s *server) onConnection() bool { return s.may[0].OneWriter }

// isUndone reports whether the engine has answered that it undid a transaction for the
// sake of others, such as another node's.
func (s *server) isUndone(err error) bool {
	return sqlcode.ClassOf(s.dialect(), err) == dialect.ErrorTransaction
}
