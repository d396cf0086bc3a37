package testdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// galeraLibraries are where the write-set replication provider of Galera 4 may be:
// Debian's package galera-4, and the packages of other systems.
var galeraLibraries = []string{
	"/usr/lib/galera/libgalera_smm.so",
	"/usr/lib64/galera-4/libgalera_smm.so",
	"/usr/lib64/galera/libgalera_smm.so",
}

// galeraNode is one node of a Galera cluster.
type galeraNode struct {
	name  string
	peers string // gcomm:// and the addresses of other nodes; without addresses the node begins a new cluster
	group string // the port at which nodes talk to each other
	ist   string // the port at which the node receives changes that it has missed

	change   []func(*Engine) *Engine // changes of the engine, as in StartGalera
	position string                  // the position from which the node joins again after SIGKILL; otherwise empty

	cluster []*Server // all nodes of the node's cluster, including itself
}

// StartGalera returns the running nodes of a Galera cluster of MariaDB, which belong to the
// test t alone and end with it. Each node accepts writes, on 127.0.0.1. driver is the name
// of a driver of database/sql that reads their DSNs. Each function in change, such as
// [Engine.Moved], changes the engine that the nodes run. It skips the test as [Server.Need]
// does.
//
// The data folder is filled once. The first node writes the cluster's position into it and
// ends. The other nodes begin with copies, so that they have missed only a few changes (an
// incremental state transfer). The script of the state transfer is galeraTransfer, which
// needs neither rsync nor socat.
func StartGalera(t testing.TB, driver string, nodes int, change ...func(*Engine) *Engine) []*Server {
	t.Helper()
	cluster, err := tryGalera(driver, nodes, change...)
	needGalera(t, err)
	for _, s := range cluster {
		t.Cleanup(s.discard)
	}
	return cluster
}

// Cluster is a Galera cluster that the tests of one test binary share: see
// [StartGalera]. It starts when the first test needs it. A test that stops a node uses
// a cluster of its own.
type Cluster struct {
	driver string
	size   int

	once  sync.Once
	nodes []*Server
	err   error
}

// NewCluster returns a cluster of a number of nodes.
func NewCluster(driver string, nodes int) *Cluster { return &Cluster{driver: driver, size: nodes} }

// Nodes returns the running nodes. It skips the test as [Server.Need] does.
func (c *Cluster) Nodes(t testing.TB) []*Server {
	t.Helper()
	c.once.Do(func() { c.nodes, c.err = tryGalera(c.driver, c.size) })
	needGalera(t, c.err)
	return c.nodes
}

// End ends the nodes and removes their data, as [Main] does for servers.
func (c *Cluster) End() {
	for _, s := range c.nodes {
		s.discard()
	}
}

// tryGalera starts a cluster, and tries again if another process has taken a port.
func tryGalera(driver string, nodes int, change ...func(*Engine) *Engine) (cluster []*Server, err error) {
	for range 3 {
		if cluster, err = startGalera(driver, nodes, change); err == nil || isMissing(err) {
			break
		}
	}
	return cluster, err
}

// needGalera skips or fails the test if there is no cluster.
func needGalera(t testing.TB, err error) {
	t.Helper()
	if missing := (*missingError)(nil); errors.As(err, &missing) {
		Skip(t, "Galera", missing.Error())
	}
	if err != nil {
		t.Fatalf("testdb: Galera: %v", err)
	}
}

func isMissing(err error) bool {
	var missing *missingError
	return errors.As(err, &missing)
}

func startGalera(driver string, nodes int, change []func(*Engine) *Engine) (cluster []*Server, err error) {
	defer func() {
		if err != nil {
			for _, s := range cluster {
				s.discard()
			}
		}
	}()
	first := &galeraNode{name: "node1", peers: "gcomm://", change: change}
	s, err := first.start()
	if err != nil {
		return nil, err
	}
	cluster = append(cluster, s)
	if err := s.synced(driver); err != nil {
		return cluster, err
	}
	if err := s.local.stop(s.engine.stop); err != nil {
		return cluster, err
	}
	data := s.local.data
	for i := range nodes - 1 {
		node := &galeraNode{name: fmt.Sprintf("node%d", i+2), peers: "gcomm://127.0.0.1:" + first.group, change: change}
		other, err := node.copyOf(data)
		if err != nil {
			return cluster, err
		}
		cluster = append(cluster, other)
	}
	// The first node starts alone, since the other nodes would wait for seconds if they
	// found no node.
	for i, s := range cluster {
		if err := s.local.start(); err != nil {
			return cluster, fmt.Errorf("node %d: %w", i+1, err)
		}
		if i == 0 {
			if err := s.synced(driver); err != nil {
				return cluster, err
			}
			first.peers = cluster[len(cluster)-1].galera.address() // the first node uses this address if it is started again
		}
	}
	for i, s := range cluster {
		if err := s.synced(driver); err != nil {
			return cluster, fmt.Errorf("node %d: %w", i+1, err)
		}
	}
	for _, s := range cluster {
		s.galera.cluster = cluster
	}
	return cluster, nil
}

// awaitDatabase waits until each running node of the cluster has a database. A commit of
// one node reaches the others only a moment later, and wsrep_sync_wait does not help a
// connection that names a database which its node does not know yet.
func (n *galeraNode) awaitDatabase(driver, name string) error {
	for _, s := range n.cluster {
		if !s.local.isRunning() {
			continue
		}
		err := s.await(driver, "the database of another node did not come", func(ctx context.Context, db *sql.DB) error {
			return db.QueryRowContext(ctx, "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?", name).Scan(new(string))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// address returns the address at which other nodes find this one.
func (n *galeraNode) address() string { return "gcomm://127.0.0.1:" + n.group }

// engine returns MariaDB as the node runs it.
func (n *galeraNode) engine() *Engine {
	e := *MariaDB()
	e.name = "Galera"
	e.files.find = findGalera
	e.files.scripts = map[string]string{"wsrep_sst_" + galeraMethod: galeraTransfer}
	serve := e.serve
	e.serve = func(l *local) []string { return append(serve(l), n.options(l)...) }
	changed := &e
	for _, change := range n.change {
		changed = change(changed)
	}
	return changed
}

func findGalera() (programs, error) {
	found, err := findMariaDB()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(galeraLibraries, func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
	if i < 0 {
		return nil, &missingError{[]string{filepath.Base(galeraLibraries[0]) + " (Debian's package galera-4)"}}
	}
	found["galera"] = galeraLibraries[i]
	return found, nil
}

// options returns the options of a node, which follow the options of a single server: see
// "Galera Cluster System Variables" in the MariaDB documentation and "Galera Parameters".
func (n *galeraNode) options(l *local) []string {
	options := []string{
		"--binlog-format=ROW", "--innodb-autoinc-lock-mode=2",
		"--wsrep-on=ON",
		"--wsrep-provider=" + l.programs["galera"],
		"--wsrep-cluster-name=keyfill",
		"--wsrep-cluster-address=" + n.peers,
		"--wsrep-node-name=" + n.name,
		"--wsrep-node-address=127.0.0.1:" + n.group,
		"--wsrep-sst-method=" + galeraMethod,
		"--wsrep-provider-options=" + strings.Join([]string{
			"base_port=" + n.group,
			"gmcast.listen_addr=tcp://127.0.0.1:" + n.group,
			"ist.recv_addr=127.0.0.1:" + n.ist,
			"gcache.size=16M", "gcache.page_size=16M",
			"pc.announce_timeout=PT1S",
		}, ";"),
	}
	if n.position != "" {
		options = append(options, "--wsrep-start-position="+n.position)
	}
	return options
}

var recoveredPosition = regexp.MustCompile(`Recovered position:\s*([0-9a-f-]+:-?[0-9]+)`)

// beforeRestart reads, if the node was killed, the position from which on it has missed the
// cluster's changes. A node that shuts down properly stores the position itself.
func (n *galeraNode) beforeRestart(l *local) error {
	if n.position = ""; !l.killed {
		return nil
	}
	if err := l.finish("reading the position", append(l.engine.serve(l), "--wsrep-recover")); err != nil {
		return err
	}
	text, err := os.ReadFile(logPath(l.folder))
	if err != nil {
		return err
	}
	found := recoveredPosition.FindSubmatch(text)
	if found == nil {
		return l.failed("no position was recovered")
	}
	n.position = string(found[1])
	return nil
}

// AwaitSynced waits until a node that was started again has received all changes of its
// Galera cluster. The driver is as for [StartGalera].
func (s *Server) AwaitSynced(t testing.TB, driver string) {
	t.Helper()
	if err := s.synced(driver); err != nil {
		t.Fatalf("testdb: %s: %v", s.engine.name, err)
	}
}

// start makes a node with a data folder of its own and starts it.
func (n *galeraNode) start() (*Server, error) {
	if err := n.choosePorts(); err != nil {
		return nil, err
	}
	s := New(n.engine())
	s.galera, s.mayEnd = n, true
	s.once.Do(s.startLocal)
	return s, s.err
}

// copyOf makes a node with a copy of data, the data folder of another node. It does not
// start it.
func (n *galeraNode) copyOf(data string) (*Server, error) {
	if err := n.choosePorts(); err != nil {
		return nil, err
	}
	s := New(n.engine())
	s.galera, s.mayEnd = n, true
	s.once.Do(func() { s.use(copyLocal(s.engine, data)) })
	return s, s.err
}

// choosePorts chooses the ports at which the nodes talk to each other.
func (n *galeraNode) choosePorts() (err error) {
	if n.group, err = freePort(); err != nil {
		return err
	}
	n.ist, err = freePort()
	return err
}

// copyLocal does what newLocal does, with a copy of data, a folder of a server that has
// ended. It does not start the server.
func copyLocal(e *Engine, data string) (_ *local, err error) {
	l, err := emptyLocal(e)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l.discard()
		}
	}()
	if out, err := exec.Command("cp", "-a", data, l.data).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("copying the data folder: %w (%s)", err, out)
	}
	l.port, err = freePort()
	return l, err
}

// synced waits until a node has received all changes of the cluster and executes
// statements.
func (s *Server) synced(driver string) error {
	return s.await(driver, "the node did not join the cluster", func(ctx context.Context, db *sql.DB) error {
		var name, state string
		err := db.QueryRowContext(ctx, "SHOW STATUS LIKE 'wsrep_local_state_comment'").Scan(&name, &state)
		if err == nil && state != "Synced" {
			err = fmt.Errorf("its state is %q", state)
		}
		return err
	})
}

// await waits until ready returns no error. If that takes too long, its error begins with
// failure.
func (s *Server) await(driver, failure string, ready func(context.Context, *sql.DB) error) error {
	db, err := sql.Open(driver, s.DSN(""))
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		if err = ready(ctx, db); err == nil {
			return nil
		}
		if ctx.Err() != nil || !s.local.isRunning() {
			return s.local.failed(fmt.Sprintf("%s: %v", failure, err))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// galeraMethod is the name of this package's state transfer: MariaDB looks for a program
// wsrep_sst_keyfill in its PATH.
const galeraMethod = "keyfill"

// galeraTransfer is the script of the program by which a node gets the changes that it has
// missed. On the receiving node the script prints the name of a file, waits for that file,
// and prints the position in it, which the script on the giving node writes. The script
// serves only a node that lacks a few changes: a node that needs all data does not start.
const galeraTransfer = `#!/bin/sh
while [ $# -gt 0 ]; do
	case $1 in
	--role) role=$2; shift ;;
	--address) address=$2; shift ;;
	--gtid) position=$2; shift ;;
	--datadir) data=$2; shift ;;
	--bypass) bypass=yes ;;
	esac
	shift
done
if [ "$role" = joiner ]; then
	told=$data/transfer
	rm -f "$told"
	echo "ready $told"
	until [ -s "$told" ]; do sleep 0.02; done
	cat "$told"
	exit
fi
[ -n "$bypass" ] || exit 22
echo "$position" >"$address.new" && mv "$address.new" "$address" && echo "done $position"
`
