package testdb_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/testdb"
)

// engines returns the engines of databases. PostgreSQL 18 is among them where it is
// installed: it can be had for some machines only.
func engines() []*testdb.Engine {
	all := []*testdb.Engine{testdb.MariaDB(), testdb.PostgreSQL()}
	if e := testdb.PostgreSQL18(); testdb.New(e).Installed() {
		all = append(all, e)
	}
	return all
}

func TestKillStopRestart(t *testing.T) {
	for _, e := range engines() {
		t.Run(e.Name(), func(t *testing.T) {
			t.Parallel()
			s := testdb.Start(t, e)
			if err := s.Answers(); err != nil {
				t.Error(err)
			}
			address, folder := s.Addr(), s.Folder()
			for _, end := range []struct {
				name string
				end  func(testing.TB)
			}{
				{"Kill", s.Kill},
				{"Stop", s.Stop},
			} {
				pid := s.PID()
				end.end(t)
				if err := s.Answers(); err == nil {
					t.Errorf("%s: the server still answers", end.name)
				}
				if exists(pid) {
					t.Errorf("%s: process %d still exists", end.name, pid)
				}
				if left := workingIn(folder); len(left) > 0 {
					t.Errorf("%s: left running: %q", end.name, left)
				}
				s.Restart(t)
				if err := s.Answers(); err != nil {
					t.Errorf("%s, Restart: %v", end.name, err)
				}
				if got := s.Addr(); got != address {
					t.Errorf("%s, Restart: Addr() = %q, want %q", end.name, got, address)
				}
			}
		})
	}
}

// TestCrash: a server that crashes fails one test, with its last words, and is there
// again for the others. One that a test has ended fails none.
func TestCrash(t *testing.T) {
	for _, c := range []struct {
		engine *testdb.Engine
		signal syscall.Signal
		says   string
	}{
		{testdb.MariaDB(), syscall.SIGSEGV, "mariadbd got signal 11"},
		{testdb.PostgreSQL(), syscall.SIGQUIT, "received immediate shutdown request"},
	} {
		t.Run(c.engine.Name(), func(t *testing.T) {
			t.Parallel()
			s := testdb.Start(t, c.engine)
			look := func() (errors string, runs bool) {
				errors = outcome(t, func(t testing.TB) { runs = s.StillRuns(t) })
				return errors, runs
			}
			if err := syscall.Kill(s.PID(), c.signal); err != nil {
				t.Fatal(err)
			}
			if !s.Ends(time.Minute) {
				t.Fatalf("%v did not end it", c.signal)
			}
			if errors, runs := look(); !runs || !strings.Contains(errors, "ended by itself") || !strings.Contains(errors, c.says) {
				t.Errorf("the first look: runs: %v, errors: %q", runs, errors)
			}
			if err := s.Answers(); err != nil {
				t.Error(err)
			}
			if errors, runs := look(); !runs || errors != "" {
				t.Errorf("the second look: runs: %v, errors: %q", runs, errors)
			}
			s.Kill(t)
			if errors, runs := look(); runs || errors != "" {
				t.Errorf("after Kill: runs: %v, errors: %q", runs, errors)
			}
		})
	}
}

func TestNothingIsLeftAfterATest(t *testing.T) {
	for _, e := range engines() {
		for name, end := range map[string]func(*testdb.Server, testing.TB){
			"running": func(*testdb.Server, testing.TB) {},
			"killed":  (*testdb.Server).Kill,
		} {
			t.Run(e.Name()+" "+name, func(t *testing.T) {
				t.Parallel()
				var folder string
				var pid int
				t.Run("test", func(t *testing.T) {
					s := testdb.Start(t, e)
					folder, pid = s.Folder(), s.PID()
					end(s, t)
				})
				if folder == "" {
					if os.Getenv("KEYFILL_TEST_REQUIRE") == "1" {
						t.Fatal("the inner test started no server")
					}
					t.Skip("the inner test was skipped")
				}
				wantNothingLeft(t, folder)
				// See sysvipc(7): key, id, mode, size, creator …
				segments, _ := os.ReadFile("/proc/sysvipc/shm")
				for line := range strings.Lines(string(segments)) {
					if fields := strings.Fields(line); len(fields) > 4 && fields[4] == strconv.Itoa(pid) {
						t.Errorf("shared memory is left behind: %s", line)
					}
				}
			})
		}
	}
}

// TestPgBouncer: the pooler answers, takes another port if its own is taken, and removes
// its files.
func TestPgBouncer(t *testing.T) {
	postgresql.Need(t)
	var folder string
	t.Run("test", func(t *testing.T) {
		s := testdb.Start(t, testdb.PgBouncer(postgresql, "transaction", 1))
		folder = s.Folder()
		if err := s.Answers(); err != nil {
			t.Error(err)
		}
		if err := s.StartsElsewhere(t); err != nil {
			t.Error(err)
		}
	})
	if folder == "" {
		t.Fatal("the inner test started no pooler")
	}
	wantNothingLeft(t, folder)
}

func TestDSN(t *testing.T) {
	const (
		mariadbVariable  = "KEYFILL_TEST_MARIADB"
		postgresVariable = "KEYFILL_TEST_POSTGRESQL"
	)
	// A named server has to answer, so these name one of ours.
	own := map[string]*testdb.Server{mariadbVariable: mariadb, postgresVariable: postgresql}
	mariadb.Need(t)
	postgresql.Need(t)
	for _, c := range []struct {
		name             string
		engine           *testdb.Engine
		variable, value  string
		database, wanted string
	}{
		{"MariaDB", testdb.MariaDB(), mariadbVariable, "mysql://root@ADDR", "d", "root@tcp(ADDR)/d"},
		{"MariaDB slash", testdb.MariaDB(), mariadbVariable, "mysql://root@ADDR/", "", "root@tcp(ADDR)/"},
		{"MariaDB password", testdb.MariaDB(), mariadbVariable, "mysql://me:p%40%2Fs@ADDR?tls=false", "d", "me:p@/s@tcp(ADDR)/d?tls=false"},
		{"PostgreSQL", testdb.PostgreSQL(), postgresVariable, "postgres://postgres@ADDR", "d", "postgres://postgres@ADDR/d?sslmode=disable"},
		{"PostgreSQL none", testdb.PostgreSQL(), postgresVariable, "postgres://postgres@ADDR", "", "postgres://postgres@ADDR/postgres?sslmode=disable"},
		{"PostgreSQL password", testdb.PostgreSQL(), postgresVariable, "postgres://postgres:p%40s@ADDR?sslmode=prefer", "d", "postgres://postgres:p%40s@ADDR/d?sslmode=prefer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := own[c.variable].Addr()
			t.Setenv(c.variable, strings.ReplaceAll(c.value, "ADDR", address))
			s := testdb.New(c.engine)
			s.Need(t)
			if got, want := s.DSN(c.database), strings.ReplaceAll(c.wanted, "ADDR", address); got != want {
				t.Errorf("DSN(%q) = %q, want %q", c.database, got, want)
			}
		})
	}
}

func TestNeed(t *testing.T) {
	const password = "s3cret"
	for _, c := range []struct {
		name    string
		engine  *testdb.Engine
		require string // KEYFILL_TEST_REQUIRE
		value   string // KEYFILL_TEST_MARIADB
		want    string // the outcome, and how its message begins
		shows   string // what the message contains
	}{
		{"missing", testdb.Missing(), "", "", "skip: testdb: no MariaDB: ", "no-such-program not found"},
		{"missing but required", testdb.Missing(), "1", "", "fail: testdb: MariaDB is required but missing: ", "no-such-program"},
		{"does not install", testdb.Broken(), "", "", "fail: testdb: MariaDB: ", "Disk full."},
		{"named but down", testdb.MariaDB(), "", "mysql://root:" + password + "@127.0.0.1:1", "fail: testdb: MariaDB: ", "KEYFILL_TEST_MARIADB"},
		{"not a URL", testdb.MariaDB(), "", "root:" + password + "@tcp(127.0.0.1:1)/", "fail: testdb: MariaDB: ", "mysql://user:password@host:port"},
		{"names a database", testdb.MariaDB(), "", "mysql://root:" + password + "@127.0.0.1:1/orders", "fail: testdb: MariaDB: ", "names a database"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("KEYFILL_TEST_REQUIRE", c.require)
			t.Setenv("KEYFILL_TEST_MARIADB", c.value)
			got := outcome(t, testdb.New(c.engine).Need)
			if !strings.HasPrefix(got, c.want) || !strings.Contains(got, c.shows) {
				t.Errorf("Need: %q, want %q… with %q", got, c.want, c.shows)
			}
			if strings.Contains(got, password) {
				t.Errorf("Need shows the password: %q", got)
			}
		})
	}
}

func TestNamedServerIsNotStopped(t *testing.T) {
	postgresql.Need(t)
	t.Setenv("KEYFILL_TEST_POSTGRESQL", "postgres://postgres@"+postgresql.Addr())
	named := testdb.New(testdb.PostgreSQL())
	for name, end := range map[string]func(testing.TB){"Kill": named.Kill, "Stop": named.Stop, "Restart": named.Restart} {
		if got, want := outcome(t, end), "is not ours to stop"; !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if err := postgresql.Answers(); err != nil {
		t.Error(err)
	}
}

// recorder is a test of which the outcome is kept instead of reported.
type recorder struct {
	testing.TB
	outcome string
}

func (r *recorder) Skipf(format string, args ...any) {
	r.outcome = "skip: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Errorf(format string, args ...any) {
	r.outcome = "fail: " + fmt.Sprintf(format, args...)
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.outcome = "fail: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// outcome runs f as a test and returns how that ended: "skip: …", "fail: …",
// or "" when it passed.
func outcome(t *testing.T, f func(testing.TB)) string {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.outcome
}

func exists(pid int) bool { return syscall.Kill(pid, 0) == nil }

// wantNothingLeft waits until no process works below the folder, or names it
// on its command line, and it is gone. A watcher needs a moment.
func wantNothingLeft(t *testing.T, folder string) {
	t.Helper()
	// A process that is there ends after a time of its own, however slow the machine is;
	// a file that no process is left to remove stays.
	const alone, running = 20 * time.Second, 5 * time.Minute
	begun := time.Now()
	for seen := begun; ; {
		processes := append(workingIn(folder), naming(folder)...)
		files, _ := filepath.Glob(folder + "*")
		if len(processes) == 0 && len(files) == 0 {
			return
		}
		if len(processes) > 0 {
			seen = time.Now()
		}
		if time.Since(seen) > alone || time.Since(begun) > running {
			t.Fatalf("left running: %q; left behind: %q", processes, files)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// workingIn returns the processes whose working folder is the folder or below,
// as it is for every process of a server.
func workingIn(folder string) []string {
	var found []string
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, folder) {
			found = append(found, filepath.Dir(link))
		}
	}
	return found
}

// naming returns the command lines that contain the folder's name, as of a server's main
// process and its watcher.
func naming(folder string) []string {
	var found []string
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		if line, err := os.ReadFile(path); err == nil && bytes.Contains(line, []byte(folder)) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
