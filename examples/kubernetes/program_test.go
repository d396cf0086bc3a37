package main

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/testdb"
)

// postgreSQL is the server of this test binary.
var postgreSQL = testdb.New(testdb.PostgreSQL())

// programVariable makes the test binary the program.
const programVariable = "KEYFILL_TEST_SHOP"

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		main()
		return
	}
	testdb.Main(m, postgreSQL)
}

// running is the program in a process, as a pod of a file runs it.
type running struct {
	t       *testing.T
	cmd     *exec.Cmd
	address string
	stderr  bytes.Buffer
}

// start runs the program with the environment of the pods of a file, on a database of ours
// and in a host of a name.
func start(t *testing.T, file, dsn, host string) *running {
	t.Helper()
	m := read(t, file)
	w := m.workloads[0]
	given := m.environment(w)
	given["KEYFILL_CONFIG"], given["SHOP_DSN"], given[programVariable] = m.policyOf(t, w), dsn, "1"
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &running{t: t, address: listener.Addr().String()}
	if err := listener.Close(); err != nil { // the program takes the port
		t.Fatal(err)
	}
	given["SHOP_ADDRESS"] = r.address
	r.cmd = exec.Command(os.Args[0])
	if host != "" {
		// The name is set in a name space of its own, as Kubernetes does, by a shell that
		// the program replaces.
		r.cmd = exec.Command("/bin/sh", "-c", `hostname "$1" && exec "$2"`, "sh", host, os.Args[0])
		r.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUTS}
	}
	r.cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	for k, v := range given {
		r.cmd.Env = append(r.cmd.Env, k+"="+v)
	}
	r.cmd.Stderr = &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.cmd.Process.Kill() }) // mostly gone
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if answer, err := http.Get("http://" + r.address + "/ready"); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return r
			}
		}
		if time.Now().After(end) {
			t.Fatalf("the program does not become ready: %s", &r.stderr)
		}
	}
}

// order stores an order and returns the worker's number in its key.
func (r *running) order() int64 {
	r.t.Helper()
	answer, err := http.PostForm("http://"+r.address+"/orders", url.Values{"note": {"a pen"}})
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	key, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		r.t.Fatalf("%q, and on its standard error: %s", text, &r.stderr)
	}
	return key >> 12 & 1023
}

// leavePatience is for how long db.Close waits for a store that takes a lease back.
const leavePatience = 2 * time.Second

// end ends the program as Kubernetes does, and returns how long that took.
func (r *running) end() time.Duration {
	r.t.Helper()
	began := time.Now()
	if err := errors.Join(r.cmd.Process.Signal(syscall.SIGTERM), r.cmd.Wait()); err != nil {
		r.t.Errorf("the program: %v: %s", err, &r.stderr)
	}
	return time.Since(began)
}

// shop makes an empty database, and returns its DSN.
func shop(t *testing.T) (db *sql.DB, dsn string) {
	t.Helper()
	dsn = postgreSQL.DSN(postgreSQL.Database(t, "pgx"))
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if _, err := db.Exec("CREATE TABLE orders (id bigint PRIMARY KEY, note text)"); err != nil {
		t.Fatal(err)
	}
	return db, dsn
}

// TestDeployment: a pod of deployment.yaml takes the lowest number, a second one beside it
// the next, and SIGTERM gives a number back.
func TestDeployment(t *testing.T) {
	db, dsn := shop(t)
	held := func() (n int) {
		t.Helper()
		if err := db.QueryRow("SELECT COUNT(*) FROM keyfill_series WHERE owner <> ''").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	first := start(t, "deployment.yaml", dsn, "")
	if n := first.order(); n != 0 {
		t.Errorf("the first pod has the number %d, want 0", n)
	}
	second := start(t, "deployment.yaml", dsn, "")
	if n := second.order(); n != 1 {
		t.Errorf("the second pod has the number %d, want 1", n)
	}
	took := first.end()
	if n := held(); n != 1 {
		if took < leavePatience {
			t.Errorf("%d numbers are leased after one pod has ended, want 1", n)
		}
		if _, err := db.Exec("UPDATE keyfill_series SET owner = '', leased_until = '2001-01-01' WHERE series_first = 1"); err != nil {
			t.Fatal(err)
		}
	}
	third := start(t, "deployment.yaml", dsn, "")
	if n := third.order(); n != 0 {
		t.Errorf("the third pod has the number %d, want 0, which the first one has given back", n)
	}
	took = max(second.end(), third.end())
	if n := held(); n != 0 && took < leavePatience {
		t.Errorf("%d numbers are leased after all pods have ended", n)
	}
}

// TestStatefulSet: the pods of statefulset.yaml have the numbers in which the names of their
// hosts end.
func TestStatefulSet(t *testing.T) {
	if err := exec.Command("unshare", "--uts", "true").Run(); err != nil {
		t.Logf("no process may have a host name of its own here (%v): the ordinals are tested by package keysource alone", err)
		return
	}
	_, dsn := shop(t)
	for _, ordinal := range []int64{0, 7} {
		pod := start(t, "statefulset.yaml", dsn, fmt.Sprintf("shop-%d", ordinal))
		if n := pod.order(); n != ordinal {
			t.Errorf("the pod shop-%d has the number %d", ordinal, n)
		}
		pod.end()
	}
}
