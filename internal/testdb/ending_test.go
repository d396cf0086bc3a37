package testdb_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/testdb"
)

// The test binary runs itself as a child that ends in some way while servers
// of its run.
const endingVariable = "KEYFILL_TESTDB_ENDING"

// preparedVariable names the folder of data folders: see package testdb.
const preparedVariable = "KEYFILL_TEST_PREPARED"

var (
	mariadb    = testdb.New(testdb.MariaDB())
	postgresql = testdb.New(testdb.PostgreSQL())
)

func TestMain(m *testing.M) {
	// Here the servers have to be ours.
	os.Unsetenv("KEYFILL_TEST_MARIADB")
	os.Unsetenv("KEYFILL_TEST_POSTGRESQL")
	if os.Getenv(endingVariable) == "" && os.Getenv(preparedVariable) == "" {
		folder, err := openFolder("keyfill-prepared-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(folder)
		os.Setenv(preparedVariable, folder)
	}
	testdb.Main(m, mariadb, postgresql)
}

// openFolder makes a folder for the user that the servers run as. A test's own folder is
// closed to others.
func openFolder(name string) (string, error) {
	folder, err := os.MkdirTemp("", name)
	if err != nil {
		return "", err
	}
	return folder, os.Chmod(folder, os.ModeSticky|0o777)
}

var endings = map[string]func(t *testing.T){
	"pass":    func(*testing.T) {},
	"panic":   func(*testing.T) { panic("as told") },
	"exit":    func(*testing.T) { os.Exit(3) },
	"SIGINT":  func(*testing.T) { signalSelf(syscall.SIGINT) },
	"SIGQUIT": func(*testing.T) { signalSelf(syscall.SIGQUIT) }, // how "go test" ends what hangs
	"SIGTERM": func(*testing.T) { signalSelf(syscall.SIGTERM) },
	"SIGKILL": func(*testing.T) { signalSelf(syscall.SIGKILL) },
}

func signalSelf(s syscall.Signal) {
	if err := syscall.Kill(os.Getpid(), s); err != nil {
		panic(err)
	}
	select {}
}

// TestChild is what the child runs.
func TestChild(t *testing.T) {
	ending := os.Getenv(endingVariable)
	if ending == "" {
		return // this is not the child
	}
	if ending == "SIGKILL before a process" {
		if err := testdb.NewFolder(); err != nil {
			t.Fatal(err)
		}
		signalSelf(syscall.SIGKILL)
	}
	if delay, ok := strings.CutPrefix(ending, "SIGKILL after "); ok {
		d, err := time.ParseDuration(delay)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(d, func() { signalSelf(syscall.SIGKILL) })
		go postgresql.Need(t)
		mariadb.Need(t)
		select {}
	}
	mariadb.Need(t)
	postgresql.Need(t)
	if err := os.WriteFile(os.TempDir()+"/ready", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	endings[ending](t)
}

func TestNothingOutlivesTheTestBinary(t *testing.T) {
	mariadb.Need(t) // else the child would skip, too
	postgresql.Need(t)
	for ending := range endings {
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			folder := runChild(t, ending)
			if err := os.Remove(folder + "/ready"); err != nil {
				t.Errorf("the child did not come as far: %v", err)
			}
			wantNothingLeft(t, folder+"/")
		})
	}
}

func TestNothingOutlivesAKillWhileStarting(t *testing.T) {
	mariadb.Need(t)
	postgresql.Need(t)
	for _, ending := range []string{
		"SIGKILL before a process", "SIGKILL after 30ms", "SIGKILL after 300ms", "SIGKILL after 800ms",
	} {
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			// It fills its data folders itself: it may be killed then too.
			wantNothingLeft(t, runChild(t, ending, preparedVariable+"=")+"/")
		})
	}
}

// TestPrepared: the first server of an engine leaves its data folder for the next one, and
// each version of an engine has its own.
func TestPrepared(t *testing.T) {
	folder, err := openFolder("keyfill-prepared-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	t.Setenv(preparedVariable, folder)
	prepared := func() []string {
		all, _ := filepath.Glob(filepath.Join(folder, "*[^k]")) // no locks; the pattern is good
		return all
	}
	for i, e := range engines() {
		t.Run(e.Name(), func(t *testing.T) {
			known := prepared()
			if len(known) != i {
				t.Fatalf("%d data folders after %d engines: %q", len(known), i, known)
			}
			for _, first := range []bool{true, false} {
				s := testdb.Start(t, e)
				if err := s.Answers(); err != nil {
					t.Error(err)
				}
				if first {
					for _, one := range prepared() {
						if slices.Contains(known, one) {
							continue
						}
						if err := os.WriteFile(filepath.Join(one, "mark"), nil, 0o644); err != nil {
							t.Fatal(err)
						}
					}
					continue
				}
				if _, err := os.Stat(filepath.Join(s.Folder(), "data", "mark")); err != nil {
					t.Errorf("its data folder is not a copy: %v", err)
				}
			}
		})
	}
}

// runChild runs this binary as a child and returns the folder in which the
// child made all its files. It returns when the child is gone, whether or not
// a process that it started holds on to its output.
func runChild(t *testing.T, ending string, environment ...string) string {
	t.Helper()
	folder, err := openFolder("keyfill-ending-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	output, err := os.CreateTemp(t.TempDir(), "output")
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()

	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.timeout=15m") // longer than both servers may take to start
	cmd.Env = append(append(os.Environ(), endingVariable+"="+ending, "TMPDIR="+folder), environment...)
	cmd.Stdout, cmd.Stderr = output, output
	err = cmd.Run()
	t.Logf("the child ended with %v", err)
	if passed := err == nil; passed != (ending == "pass") {
		text, _ := os.ReadFile(output.Name())
		t.Errorf("the child ended with %v:\n%s", err, text)
	}
	return folder
}
