package testdb

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
)

// Prometheus returns the engine whose program is prometheus (Debian's package of that
// name), to be handed to [Start]. config and rules are the texts of its configuration,
// which names rules.yml as a file of rules, and of that file. [Server.Addr] has its API.
func Prometheus(config, rules string) *Engine {
	return &Engine{
		name: "Prometheus",
		files: serverFiles{
			find: func() (programs, error) { return findEach("prometheus") },
			configure: func(l *local) error {
				// Users other than the owner cannot enter the folder, so the files may be
				// readable.
				return errors.Join(
					os.WriteFile(filepath.Join(l.folder, "prometheus.yml"), []byte(config), 0o644),
					os.WriteFile(filepath.Join(l.folder, "rules.yml"), []byte(rules), 0o644))
			},
		},
		serve: func(l *local) []string {
			return []string{
				l.programs["prometheus"],
				"--config.file=" + filepath.Join(l.folder, "prometheus.yml"),
				"--storage.tsdb.path=" + l.data,
				"--web.listen-address=" + net.JoinHostPort("127.0.0.1", l.port),
			}
		},
		taken: "address already in use",
		stop:  syscall.SIGTERM,
		abort: syscall.SIGKILL,
		greet: greetPrometheus,
		dsn:   func(address *url.URL, _ string) string { return "http://" + address.Host },
	}
}

// greetPrometheus asks whether its storage is open:
// https://prometheus.io/docs/prometheus/latest/management_api/.
func greetPrometheus(conn net.Conn, _ string) error {
	if _, err := fmt.Fprint(conn, "GET /-/ready HTTP/1.0\r\n\r\n"); err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New("it is not ready: " + answer.Status)
	}
	return nil
}
