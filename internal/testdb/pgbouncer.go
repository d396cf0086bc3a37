package testdb

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// PgBouncer returns the engine whose program is pgbouncer (Debian's package of that name),
// to be handed to [Start]: a pooler in front of a PostgreSQL server. For each database of
// that server, DSN returns a data source name of the pooler. mode is its pool_mode, such as
// transaction, and size is the most connections to each database. All its clients are the
// administrator of the server.
//
// The server has to run: see [Server.Need]. The part of its DSN in the environment after
// the "?" is not used between the pooler and the server.
func PgBouncer(server *Server, mode string, size int) *Engine {
	return &Engine{
		name:   "pgbouncer",
		scheme: "postgres",
		admin:  server.address.User.Username(),
		files: serverFiles{
			find: func() (programs, error) { return findEach("pgbouncer") },
			configure: func(l *local) error {
				text := []byte(configPgBouncer(l, server, mode, size))
				return os.WriteFile(fileOfPgBouncer(l), text, 0o644) // users other than the owner cannot enter the folder, so the file may be readable
			},
		},
		serve: func(l *local) []string { return []string{l.programs["pgbouncer"], fileOfPgBouncer(l)} },
		// If the port is taken, pgbouncer does not end, but serves only its Unix socket.
		taken:  "cannot listen on",
		socket: socketPostgreSQL,
		stop:   syscall.SIGTERM, // "immediate shutdown"
		abort:  syscall.SIGKILL,
		greet:  greetPostgreSQL,
		dsn:    dsnPostgreSQL,
		path:   pathPostgreSQL,
	}
}

func fileOfPgBouncer(l *local) string { return filepath.Join(l.folder, "pgbouncer.ini") }

// configPgBouncer writes the configuration: https://www.pgbouncer.org/config.html.
func configPgBouncer(l *local, server *Server, mode string, size int) string {
	database := fmt.Sprintf("* = host=%s port=%s user=%s",
		server.address.Hostname(), server.address.Port(), quotedPgBouncer(server.address.User.Username()))
	if password, ok := server.address.User.Password(); ok {
		database += " password=" + quotedPgBouncer(password)
	}
	return strings.Join([]string{
		"[databases]",
		database,
		"[pgbouncer]",
		"listen_addr = 127.0.0.1",
		"listen_port = " + l.port,
		"unix_socket_dir = " + l.folder,
		"auth_type = any", // every client is the user in the line of the databases
		"pool_mode = " + mode,
		fmt.Sprintf("default_pool_size = %d", size),
		"max_client_conn = 200",
		"query_wait_timeout = 0", // a client waits for a connection without a limit
		// lib/pq sends this parameter with each connection.
		"ignore_startup_parameters = extra_float_digits",
		"",
	}, "\n")
}

func quotedPgBouncer(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
