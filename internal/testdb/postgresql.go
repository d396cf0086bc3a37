package testdb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"syscall"
)

// PostgreSQL returns the engine whose programs are postgres and initdb (Debian's package
// postgresql). If several versions are installed, each in its own folder below
// /usr/lib/postgresql, it uses the newest one.
func PostgreSQL() *Engine {
	return &Engine{
		name:     "PostgreSQL",
		variable: "KEYFILL_TEST_POSTGRESQL",
		scheme:   "postgres",
		admin:    "postgres",
		files: serverFiles{
			find:    findPostgreSQL,
			install: installPostgreSQL,
		},
		serve:   servePostgreSQL,
		socket:  socketPostgreSQL,
		durable: []string{"-c", "fsync=on", "-c", "full_page_writes=on"},
		forgets: []string{
			"-c", "synchronous_commit=off", "-c", "wal_level=minimal", "-c", "max_wal_senders=0",
			// Frequent vacuuming keeps tables from growing that are filled and emptied all
			// the time.
			"-c", "autovacuum_naptime=10s",
		},
		stop:  syscall.SIGINT,  // "fast shutdown"
		abort: syscall.SIGQUIT, // "immediate shutdown"
		greet: greetPostgreSQL,
		dsn:   dsnPostgreSQL,
		path:  pathPostgreSQL,
		statements: databaseStatements{
			// Copying files is half the work of the default in PostgreSQL 15, which writes
			// each page of the template into the log. Older versions always copy files, and
			// do not know STRATEGY.
			create: []string{"CREATE DATABASE %s STRATEGY FILE_COPY", "CREATE DATABASE %s"},
			drop:   "DROP DATABASE %s WITH (FORCE)",
		},

		sharesMemory: true,
	}
}

func findPostgreSQL() (programs, error) {
	return findTogether("postgres", "initdb")
}

// folder18 is where scripts/servers installs PostgreSQL 18 beside the system's version.
const folder18 = "/usr/local/lib/keyfill/postgresql-18/bin"

// PostgreSQL18 returns the engine of version 18, whose programs scripts/servers installs in
// a folder of their own if npm is installed.
func PostgreSQL18() *Engine {
	e := PostgreSQL()
	e.name, e.variable = "PostgreSQL 18", "KEYFILL_TEST_POSTGRESQL18"
	e.files.find = func() (programs, error) { return findIn([]string{folder18}, "postgres", "initdb") }
	return e
}

func installPostgreSQL(l *local) []string {
	return []string{
		l.programs["initdb"],
		"--pgdata=" + l.data,
		"--username=postgres", "--auth=trust",
		"--encoding=UTF8", "--locale=C.UTF-8",
		"--no-sync",
	}
}

func servePostgreSQL(l *local) []string {
	args := []string{l.programs["postgres"], "-D", l.data}
	for _, setting := range []string{
		"listen_addresses=127.0.0.1",
		"port=" + l.port,
		"unix_socket_directories=" + l.folder,
		"max_connections=400",
		"fsync=off",
		"full_page_writes=off",
		// Commits are written before they are confirmed, though never
		// synced. With "off" some would be lost by Kill.
		"synchronous_commit=on",
		// Shared memory is in files of the data folder, so that none remains after Kill.
		"dynamic_shared_memory_type=mmap",
	} {
		args = append(args, "-c", setting)
	}
	return args
}

func socketPostgreSQL(l *local) string { return filepath.Join(l.folder, ".s.PGSQL."+l.port) }

// greetPostgreSQL sends a StartupMessage and reads the first byte of the
// answer, 'R' for a request to authenticate. A server that is still starting
// up or already shutting down answers 'E':
// https://www.postgresql.org/docs/15/protocol-message-formats.html
func greetPostgreSQL(conn net.Conn, user string) error {
	const protocol = 3 << 16 // version 3.0
	message := binary.BigEndian.AppendUint32(make([]byte, 4), protocol)
	message = append(message, "user\x00"+user+"\x00database\x00postgres\x00\x00"...)
	binary.BigEndian.PutUint32(message, uint32(len(message)))
	if _, err := conn.Write(message); err != nil {
		return err
	}
	head := make([]byte, 5) // the message's kind (1 byte) and length (4 bytes)
	if _, err := io.ReadFull(conn, head); err != nil {
		return fmt.Errorf("no answer to the startup message: %w", err)
	}
	switch head[0] {
	case 'R':
		// Terminate, so that its log does not report a lost connection.
		_, err := conn.Write([]byte{'X', 0, 0, 0, 4})
		return err
	case 'E':
		text, _ := io.ReadAll(io.LimitReader(conn, 1000))
		return fmt.Errorf("refused: %s", bytes.ReplaceAll(text, []byte{0}, []byte{' '}))
	}
	return fmt.Errorf("not a PostgreSQL answer: % x", head)
}

func dsnPostgreSQL(address *url.URL, database string) string {
	if database == "" {
		database = "postgres"
	}
	u := *address
	u.Path = "/" + database
	if u.RawQuery == "" {
		u.RawQuery = "sslmode=disable"
	}
	return u.String()
}

// pathPostgreSQL returns a DSN that names the socket's folder, from which pgx and lib/pq
// make the socket's path.
func pathPostgreSQL(dsn, socket string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn
	}
	q := u.Query()
	q.Set("host", filepath.Dir(socket))
	q.Set("port", u.Port())
	u.Host, u.RawQuery = "", q.Encode()
	return u.String()
}
