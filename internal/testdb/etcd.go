package testdb

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// EtcdMember is a member of a cluster of etcd that belongs to one test: see [StartEtcd].
// Its methods may not be called at the same time as each other.
type EtcdMember struct {
	name         string
	local        *local // the member's files and its process
	client, peer string // URLs
	command      []string
}

// StartEtcd returns the running members of a cluster of etcd (Debian's package
// etcd-server), which belong to the test t alone and end with it. options are further
// options of etcd, in which CLIENT stands for the URL of a member; if one is given twice,
// the last one counts. It skips the test as [Server.Need] does.
func StartEtcd(t testing.TB, members int, options ...string) []*EtcdMember {
	t.Helper()
	cluster, err := startEtcd(members, options)
	failOrSkip(t, "etcd", err)
	t.Cleanup(func() { discardEtcd(cluster) })
	return cluster
}

func startEtcd(members int, options []string) (cluster []*EtcdMember, err error) {
	for range 3 { // try again, since another process may have taken a port meanwhile
		if cluster, err = tryEtcd(members, options); err == nil || isMissing(err) {
			break
		}
	}
	return cluster, err
}

func discardEtcd(cluster []*EtcdMember) {
	for _, m := range cluster {
		m.local.discard()
	}
}

func tryEtcd(members int, options []string) (cluster []*EtcdMember, err error) {
	defer func() {
		if err != nil {
			discardEtcd(cluster)
		}
	}()
	var peers []string
	for i := range members {
		m := &EtcdMember{name: fmt.Sprintf("member%d", i+1)}
		engine := &Engine{
			name: "etcd", files: serverFiles{find: func() (programs, error) { return findEach("etcd") }},
			stop: syscall.SIGTERM, abort: syscall.SIGKILL,
		}
		if m.local, err = emptyLocal(engine); err != nil {
			return cluster, err
		}
		cluster = append(cluster, m)
		for _, url := range []*string{&m.client, &m.peer} {
			port, err := freePort()
			if err != nil {
				return cluster, err
			}
			*url = "http://127.0.0.1:" + port
		}
		peers = append(peers, m.name+"="+m.peer)
	}
	token := rand.Text()
	for _, m := range cluster {
		m.command = []string{
			m.local.programs["etcd"], "--name=" + m.name, "--data-dir=" + m.local.data,
			"--listen-client-urls=" + m.client, "--advertise-client-urls=" + m.client,
			"--listen-peer-urls=" + m.peer, "--initial-advertise-peer-urls=" + m.peer,
			"--initial-cluster=" + strings.Join(peers, ","), "--initial-cluster-token=" + token,
			"--logger=zap", "--log-outputs=stderr",
		}
		for _, option := range options {
			m.command = append(m.command, strings.ReplaceAll(option, "CLIENT", m.client))
		}
		if err := m.local.run(m.command, syscall.SIGKILL); err != nil {
			return cluster, err
		}
	}
	for _, m := range cluster {
		if err := m.await(); err != nil {
			return cluster, err
		}
	}
	return cluster, nil
}

// await waits until a member has a leader and answers.
func (m *EtcdMember) await() error {
	client := &http.Client{Timeout: 5 * time.Second}
	var last error
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); {
		if m.local.process.wait(20 * time.Millisecond) {
			return m.local.failed("the member ended while starting")
		}
		if last = m.healthy(client); last == nil {
			m.local.told, m.local.killed = false, false
			return nil
		}
	}
	return m.local.failed(fmt.Sprintf("the member was not healthy for %v (%v)", startTimeout, last))
}

func (m *EtcdMember) healthy(client *http.Client) error {
	answer, err := client.Get(m.client + "/health")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	var health struct{ Health string }
	if err := json.Unmarshal(text, &health); err != nil || health.Health != "true" {
		return fmt.Errorf("its health is %q", text)
	}
	return nil
}

// PID returns the id of the member's process.
func (m *EtcdMember) PID() int { return m.local.process.pid() }

// URL returns the address at which clients reach the member. It never changes.
func (m *EtcdMember) URL() string { return m.client }

// Kill ends the member by SIGKILL and returns when it is gone.
func (m *EtcdMember) Kill(t testing.TB) {
	t.Helper()
	if err := m.local.kill(); err != nil {
		t.Fatalf("testdb: etcd: %v", err)
	}
}

// Restart starts the member again after [EtcdMember.Kill], with its data, and returns when
// it answers.
func (m *EtcdMember) Restart(t testing.TB) {
	t.Helper()
	err := m.local.run(m.command, syscall.SIGKILL)
	if err == nil {
		err = m.await()
	}
	if err != nil {
		t.Fatalf("testdb: etcd: %v", err)
	}
}

// Save copies the data of a member that was killed, and returns a function that puts the
// copy back while the member is not running, like an operator who restores a backup.
func (m *EtcdMember) Save(t testing.TB) (restore func()) {
	t.Helper()
	saved := filepath.Join(m.local.folder, "saved")
	if out, err := exec.Command("cp", "-a", m.local.data, saved).CombinedOutput(); err != nil {
		t.Fatalf("testdb: etcd: %v: %s", err, out)
	}
	return func() {
		t.Helper()
		if err := errors.Join(os.RemoveAll(m.local.data), os.Rename(saved, m.local.data)); err != nil {
			t.Fatalf("testdb: etcd: %v", err)
		}
	}
}
