package testdb

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// RedisServer is a server of Redis that belongs to one test: see [StartRedis]. Its methods
// may not be called at the same time as each other, but for Addr and Command.
type RedisServer struct{ local *local }

// StartRedis returns a running server of Redis (Debian's packages redis-server and
// redis-tools), which belongs to the test t alone and ends with it. It answers a change
// when the change is on the disk: appendonly yes, appendfsync always. options are further
// options of redis-server, such as "--appendonly", "no"; if one is given twice, the last
// one counts. It skips the test as [Server.Need] does.
func StartRedis(t testing.TB, options ...string) *RedisServer {
	t.Helper()
	return startRedis(t, redisServer(options...))
}

// redisServer returns the engine of a server with options.
func redisServer(options ...string) *Engine {
	return redisEngine(func(l *local) []string {
		return append([]string{
			l.programs["redis-server"], "--port", l.port, "--bind", "127.0.0.1",
			"--unixsocket", l.engine.socket(l), "--dir", l.data,
			"--appendonly", "yes", "--appendfsync", "always", "--save", "",
		}, options...)
	})
}

// StartRedisCluster returns the running nodes of a Redis Cluster, which divide the slots
// (parts of the keys) among them and have no replicas. They belong to the test t alone and
// end with it.
func StartRedisCluster(t testing.TB, nodes int) []*RedisServer {
	t.Helper()
	var all []*RedisServer
	for range nodes {
		bus, err := freePort()
		if err != nil {
			t.Fatalf("testdb: Redis: %v", err)
		}
		all = append(all, StartRedis(t, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port", bus))
	}
	const slots = 16384
	for i, s := range all {
		s.Command(t, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(slots*i/nodes), strconv.Itoa(slots*(i+1)/nodes-1))
		if i > 0 {
			// Two nodes must not have the same epoch for their slots.
			s.Command(t, "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
			port := all[0].Command(t, "CONFIG", "GET", "cluster-port")
			s.Command(t, "CLUSTER", "MEET", "127.0.0.1", all[0].local.port, port[strings.LastIndexByte(port, '\n')+1:])
		}
	}
	for _, s := range all {
		s.Await(t, "the cluster", func() bool {
			info := s.Command(t, "CLUSTER", "INFO")
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:"+strconv.Itoa(nodes))
		})
	}
	return all
}

// StartRedisSentinel returns a running sentinel that watches a primary by the name "main",
// and makes a replica the primary as soon as the sentinel alone has missed the primary for
// ten minutes. A test shortens that time by SENTINEL SET after it has killed the primary.
// With a short time the sentinel could also miss a running primary on a busy machine.
func StartRedisSentinel(t testing.TB, primary *RedisServer) *RedisServer {
	t.Helper()
	e := redisEngine(func(l *local) []string {
		return []string{
			l.programs["redis-server"], sentinelFile(l), "--sentinel", "--port", l.port, "--bind", "127.0.0.1",
			"--unixsocket", l.engine.socket(l), "--dir", l.data,
		}
	})
	e.files.configure = func(l *local) error {
		text := fmt.Sprintf("sentinel monitor main 127.0.0.1 %s 1\n"+
			"sentinel down-after-milliseconds main 600000\nsentinel failover-timeout main 10000\n", primary.local.port)
		if err := makeData(l); err != nil {
			return err
		}
		if err := os.WriteFile(sentinelFile(l), []byte(text), 0o644); err != nil {
			return err
		}
		return own(l, sentinelFile(l)) // the sentinel writes its findings into this file, so the server's user must own it
	}
	return startRedis(t, e)
}

func sentinelFile(l *local) string { return filepath.Join(l.data, "sentinel.conf") }

// redisEngine returns the engine with a command line.
func redisEngine(serve func(l *local) []string) *Engine {
	return &Engine{
		name: "Redis", files: serverFiles{find: func() (programs, error) { return findEach("redis-server") },
			configure: makeData}, serve: serve, greet: greetRedis,
		socket: func(l *local) string { return filepath.Join(l.folder, "redis.sock") },
		stop:   syscall.SIGTERM, abort: syscall.SIGKILL,
	}
}

func startRedis(t testing.TB, e *Engine) *RedisServer {
	t.Helper()
	l, err := newLocal(e)
	failOrSkip(t, e.name, err)
	t.Cleanup(l.discard)
	return &RedisServer{l}
}

// makeData makes the data folder, which the server does not make itself.
func makeData(l *local) error {
	if err := os.Mkdir(l.data, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return own(l, l.data)
}

// own gives a file or a folder to the user that runs the server.
func own(l *local, path string) error {
	if l.owner == nil {
		return nil
	}
	return os.Chown(path, int(l.owner.Uid), int(l.owner.Gid))
}

// greetRedis asks whether the server has loaded its data.
func greetRedis(conn net.Conn, _ string) error {
	answer, err := commandRedis(conn, "PING")
	if err == nil && answer != "PONG" {
		err = fmt.Errorf("it answers PING with %q", answer)
	}
	return err
}

// PID returns the id of the server's process.
func (s *RedisServer) PID() int { return s.local.process.pid() }

// Addr returns the server's host:port, for the life of the server.
func (s *RedisServer) Addr() string { return net.JoinHostPort("127.0.0.1", s.local.port) }

// Command returns the server's answer to a command: the texts of a list with line feeds
// between them, and an empty text for nil. An error of the server's fails the test.
func (s *RedisServer) Command(t testing.TB, words ...string) string {
	t.Helper()
	answer, err := s.Ask(words...)
	if err != nil {
		t.Fatalf("testdb: Redis: %s: %v", words[0], err)
	}
	return answer
}

// Ask does what [RedisServer.Command] does, for a server that may break the connection, as
// a replica does when it is made the primary.
func (s *RedisServer) Ask(words ...string) (string, error) {
	conn, err := net.DialTimeout("tcp", s.Addr(), startTimeout)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(startTimeout)); err != nil {
		return "", err
	}
	return commandRedis(conn, words...)
}

// Kill ends the server by SIGKILL and returns when it is gone.
func (s *RedisServer) Kill(t testing.TB) {
	t.Helper()
	if err := s.local.kill(); err != nil {
		t.Fatalf("testdb: Redis: %v", err)
	}
}

// Restart starts the server again after [RedisServer.Kill], with its data, and returns when
// it answers.
func (s *RedisServer) Restart(t testing.TB) {
	t.Helper()
	if err := s.local.start(); err != nil {
		t.Fatalf("testdb: Redis: %v", err)
	}
}

// Save copies the data of a server that was killed, and returns a function that puts the
// copy back while the server is not running, like an operator who restores a backup.
func (s *RedisServer) Save(t testing.TB) (restore func()) {
	t.Helper()
	saved := filepath.Join(s.local.folder, "saved")
	if out, err := exec.Command("cp", "-a", s.local.data, saved).CombinedOutput(); err != nil {
		t.Fatalf("testdb: Redis: %v: %s", err, out)
	}
	return func() {
		t.Helper()
		if err := errors.Join(os.RemoveAll(s.local.data), os.Rename(saved, s.local.data)); err != nil {
			t.Fatalf("testdb: Redis: %v", err)
		}
	}
}

// Follow makes the server a replica of a primary, and returns when it has the primary's
// data. If primary is nil, the server becomes a primary.
func (s *RedisServer) Follow(t testing.TB, primary *RedisServer) {
	t.Helper()
	if primary == nil {
		s.Command(t, "REPLICAOF", "NO", "ONE")
		return
	}
	s.Command(t, "REPLICAOF", "127.0.0.1", primary.local.port)
	s.Await(t, "the replica", func() bool {
		return strings.Contains(s.Command(t, "INFO", "replication"), "master_link_status:up")
	})
}

// Reach waits until a replica has each write that the primary has by now. The command WAIT
// is not enough, since it ignores writes on other connections.
func (s *RedisServer) Reach(t testing.TB, primary *RedisServer) {
	t.Helper()
	written := primary.offset(t)
	s.Await(t, "the replica", func() bool { return s.offset(t) >= written })
}

// offset returns where the server is in the stream of writes.
func (s *RedisServer) offset(t testing.TB) int {
	t.Helper()
	for line := range strings.Lines(s.Command(t, "INFO", "replication")) {
		if text, found := strings.CutPrefix(strings.TrimSpace(line), "master_repl_offset:"); found {
			n, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("testdb: Redis: INFO replication says no offset")
	return 0
}

// Await waits until is returns true, and fails the test if that takes too long.
func (s *RedisServer) Await(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(startTimeout); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("testdb: Redis: %s was not ready for %v", what, startTimeout)
		}
	}
}

// commandRedis sends a command and reads the answer:
// https://redis.io/docs/latest/develop/reference/protocol-spec/.
func commandRedis(conn net.Conn, words ...string) (string, error) {
	text := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		return "", err
	}
	return readRedis(bufio.NewReader(conn))
}

func readRedis(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	kind, rest := line[0], strings.TrimRight(line[1:], "\r\n")
	switch kind {
	case '+', ':':
		return rest, nil
	case '-':
		return "", errors.New(rest)
	case '$', '*':
	default:
		return "", fmt.Errorf("an answer that begins with %q", kind)
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 0 {
		return "", err
	}
	if kind == '$' {
		text := make([]byte, n+2)
		_, err := io.ReadFull(r, text)
		return string(text[:n]), err
	}
	var all []string
	for range n {
		one, err := readRedis(r)
		if err != nil {
			return "", err
		}
		all = append(all, one)
	}
	return strings.Join(all, "\n"), nil
}
