package testdb

import (
	"net"
	"net/url"
	"syscall"
	"time"
)

// Engine is the facts about one kind of server: see [MariaDB], [PostgreSQL], [PgBouncer]
// and [Prometheus].
type Engine struct {
	name     string // the engine's name as messages spell it
	variable string // the variable of the environment that names a running server
	scheme   string // the scheme of the URL in that variable
	admin    string // the name of the user with all rights

	files serverFiles

	serve  func(l *local) []string // the command line that starts the server
	socket func(l *local) string   // the Unix socket that serve opens; nil if there is none

	durable []string // further options of serve if commits are to be flushed: see Durable
	forgets []string // further options of serve if no data has to survive a kill: see Forgetful

	// killed frees the resources that a process keeps after SIGKILL; nil if there are none.
	killed func(pid int)

	// taken is the text that the server logs if its port is in use. It is empty for a
	// server that writes "Address already in use" and ends.
	taken string

	stop  syscall.Signal // the signal that ends the server without waiting for its clients
	abort syscall.Signal // the signal that ends the server at once if its data is not needed any more

	// sharesMemory reports whether the server does not free its shared memory after
	// SIGKILL, which its next start frees.
	sharesMemory bool

	// greet talks to a server until it is clear that the server accepts connections.
	greet func(conn net.Conn, user string) error

	dsn  func(address *url.URL, database string) string
	path func(dsn, socket string) string // makes a DSN that has the Unix socket instead of the port

	statements databaseStatements
}

// databaseStatements are statements with %s for the name of a database.
type databaseStatements struct {
	create []string // statements that create the database; the first one that the server accepts is used
	drop   string
}

// serverFiles are the programs and files of a server.
type serverFiles struct {
	find    func() (programs, error)
	install func(l *local) []string // the command that fills the data folder; nil if no command is needed
	scripts map[string]string       // scripts of this package that serve finds in its PATH
	// configure writes the files that serve reads, when the port is known; nil if there are
	// none.
	configure func(l *local) error
}

// answers returns an error unless the server at the address accepts connections.
func (e *Engine) answers(network, address, user string) error {
	conn, err := net.DialTimeout(network, address, 5*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	return e.greet(conn, user)
}
