package testdb_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/testdb"
)

// The test binary runs itself as a child that ends in some way while servers
// of its run.
const endingVariable = "KEYFILL_TESTDB_ENDING"

var (
	mariadb    = testdb.New(testdb.MariaDB())
	postgresql = testdb.New(testdb.PostgreSQL())
)

func TestMain(m *testing.M) {
	// Here the servers have to be ours.
	os.Unsetenv("KEYFILL_TEST_MARIADB")
	os.Unsetenv("KEYFILL_TEST_POSTGRESQL")
	testdb.Main(m, mariadb, postgresql)
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
			wantNothingLeft(t, runChild(t, ending)+"/")
		})
	}
}

// runChild runs this binary as a child and returns the folder in which the
// child made all its files. It returns when the child is gone, whether or not
// a process that it started holds on to its output.
func runChild(t *testing.T, ending string) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "keyfill-ending-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	// For the user that the servers run as.
	if err := os.Chmod(folder, os.ModeSticky|0o777); err != nil {
		t.Fatal(err)
	}
	output, err := os.CreateTemp(t.TempDir(), "output")
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()

	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.timeout=2m")
	cmd.Env = append(os.Environ(), endingVariable+"="+ending, "TMPDIR="+folder)
	cmd.Stdout, cmd.Stderr = output, output
	err = cmd.Run()
	t.Logf("the child ended with %v", err)
	if passed := err == nil; passed != (ending == "pass") {
		text, _ := os.ReadFile(output.Name())
		t.Errorf("the child ended with %v:\n%s", err, text)
	}
	return folder
}
