package testdb

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// PgPool returns the engine whose program is pgpool (Debian's package pgpool2), to be handed
// to [Start]: a proxy that sends what it takes for a read to the standby, and everything else
// to the primary. Its weights let each such read go to the standby. Both servers have to run.
func PgPool(primary *Server, standby *Standby) *Engine {
	var pcp string
	return &Engine{
		name:   "pgpool",
		scheme: "postgres",
		admin:  primary.address.User.Username(),
		files: serverFiles{
			find: func() (programs, error) { return findEach("pgpool") },
			configure: func(l *local) (err error) {
				if pcp, err = freePort(); err != nil {
					return err
				}
				return os.WriteFile(fileOfPgPool(l), []byte(configPgPool(l, pcp, primary, standby.Server)), 0o644)
			},
		},
		serve:  func(l *local) []string { return []string{l.programs["pgpool"], "-n", "-f", fileOfPgPool(l)} },
		socket: socketPostgreSQL,
		stop:   syscall.SIGINT,
		abort:  syscall.SIGINT, // SIGKILL would leave its shared memory
		greet:  greetPostgreSQL,
		dsn:    dsnPostgreSQL,
		path:   pathPostgreSQL,
	}
}

func fileOfPgPool(l *local) string { return filepath.Join(l.folder, "pgpool.conf") }

// configPgPool writes the configuration:
// https://www.pgpool.net/docs/43/en/html/runtime-config.html.
func configPgPool(l *local, pcp string, primary, standby *Server) string {
	lines := []string{
		"backend_clustering_mode = 'streaming_replication'",
		"listen_addresses = '127.0.0.1'",
		"port = " + l.port,
		"socket_dir = '" + l.folder + "'",
		"pcp_listen_addresses = '127.0.0.1'",
		"pcp_port = " + pcp,
		"pcp_socket_dir = '" + l.folder + "'",
		"pid_file_name = '" + filepath.Join(l.folder, "pgpool.pid") + "'",
		"logdir = '" + l.folder + "'",
		"num_init_children = 32",
		"load_balance_mode = on",
		"sr_check_period = 1",
		"sr_check_user = '" + primary.address.User.Username() + "'",
		"health_check_period = 0",
		"failover_on_backend_error = off",
	}
	for i, s := range []*Server{primary, standby} {
		lines = append(lines,
			fmt.Sprintf("backend_hostname%d = '%s'", i, s.address.Hostname()),
			fmt.Sprintf("backend_port%d = %s", i, s.address.Port()),
			fmt.Sprintf("backend_weight%d = %d", i, i),
			fmt.Sprintf("backend_flag%d = 'DISALLOW_TO_FAILOVER'", i))
	}
	return strings.Join(append(lines, ""), "\n")
}
