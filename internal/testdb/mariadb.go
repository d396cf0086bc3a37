package testdb

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
)

// MariaDB returns the engine whose programs are mariadbd and
// mariadb-install-db (Debian's packages mariadb-server-core and
// mariadb-client-core).
func MariaDB() *Engine {
	return &Engine{
		name:     "MariaDB",
		variable: "KEYFILL_TEST_MARIADB",
		scheme:   "mysql",
		admin:    "root",
		files: serverFiles{
			find:    findMariaDB,
			install: installMariaDB,
		},
		serve:   serveMariaDB,
		socket:  socketMariaDB,
		durable: []string{"--innodb-flush-log-at-trx-commit=1", "--innodb-flush-method=fsync"},
		forgets: []string{
			"--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=OFF",
			// Without this option the server writes statistics at each CREATE TABLE.
			"--innodb-stats-persistent=OFF",
		},
		stop:  syscall.SIGTERM,
		abort: syscall.SIGKILL,
		greet: greetMariaDB,
		dsn:   dsnMariaDB,
		path:  pathMariaDB,
		statements: databaseStatements{
			create: []string{"CREATE DATABASE %s"},
			drop:   "DROP DATABASE %s",
		},
	}
}

func findMariaDB() (programs, error) {
	// mariadb-install-db calls my_print_defaults.
	return findEach("mariadbd", "mariadb-install-db", "my_print_defaults")
}

func installMariaDB(l *local) []string {
	return append([]string{
		l.programs["mariadb-install-db"], "--no-defaults",
		"--datadir=" + l.data,
		// This creates an administrator without a password, at localhost and 127.0.0.1.
		"--auth-root-authentication-method=normal",
		"--skip-test-db", "--skip-name-resolve",
	}, fastMariaDB(l)...)
}

func serveMariaDB(l *local) []string {
	return append([]string{
		l.programs["mariadbd"], "--no-defaults",
		"--datadir=" + l.data,
		"--socket=" + socketMariaDB(l),
		"--pid-file=" + filepath.Join(l.folder, "mariadb.pid"),
		"--port=" + l.port, "--bind-address=127.0.0.1", "--skip-networking=0",
		"--skip-name-resolve",
		"--max-connections=400",
		// The built-in character set of MariaDB 10.11 is latin1; utf8mb4 is the one of
		// Debian's and of newer servers.
		"--character-set-server=utf8mb4",
	}, fastMariaDB(l)...)
}

// mariadbd and mariadb-install-db both get these options: if they differed in the size of
// the log, the server would create the log again at its first start.
func fastMariaDB(l *local) []string {
	return []string{
		"--tmpdir=" + l.folder,
		"--innodb-buffer-pool-size=64M",
		"--innodb-log-file-size=16M",
		// Write at each commit, but never sync. With 0 up to a second of
		// committed work would be lost by Kill.
		"--innodb-flush-log-at-trx-commit=2",
		"--innodb-flush-method=nosync",
	}
}

func socketMariaDB(l *local) string { return filepath.Join(l.folder, "mariadb.sock") }

// greetMariaDB reads the packet with which the server opens: a length of
// three bytes, a sequence number, the protocol version 10, and the server's
// version: https://mariadb.com/kb/en/connection/#initial-handshake-packet
func greetMariaDB(conn net.Conn, _ string) error {
	head := make([]byte, 5)
	if _, err := io.ReadFull(conn, head); err != nil {
		return fmt.Errorf("no greeting: %w", err)
	}
	if head[4] != 10 {
		return fmt.Errorf("not a MariaDB greeting: % x", head)
	}
	rest := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16-1)
	if _, err := io.ReadFull(conn, rest); err != nil {
		return fmt.Errorf("greeting cut short: %w", err)
	}
	version, _, _ := bytes.Cut(rest, []byte{0})
	if !bytes.Contains(version, []byte("MariaDB")) {
		return fmt.Errorf("not MariaDB, but version %q", version)
	}
	return nil
}

// dsnMariaDB writes a DSN as go-sql-driver/mysql reads it. That driver
// decodes the database's name, but neither user nor password.
func dsnMariaDB(address *url.URL, database string) string {
	user := address.User.Username()
	if password, ok := address.User.Password(); ok {
		user += ":" + password
	}
	dsn := user + "@tcp(" + address.Host + ")/" + url.PathEscape(database)
	if address.RawQuery != "" {
		dsn += "?" + address.RawQuery
	}
	return dsn
}

func pathMariaDB(dsn, socket string) string {
	before, rest, _ := strings.Cut(dsn, "@tcp(")
	_, after, _ := strings.Cut(rest, ")")
	return before + "@unix(" + socket + ")" + after
}
