package inserted_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/keyfill/keyfill/faults/inserted"
)

// TestMain is a program with faults, and one that counts, when TestIs and TestRecords
// start it.
func TestMain(m *testing.M) {
	switch os.Getenv("KEYFILL_FAULTS_CHILD") {
	case "faults":
		for n := range 12 {
			if inserted.Is(n) != (inserted.Off(n, 7) == 8) {
				os.Exit(3)
			}
			if inserted.Is(n) {
				os.Stdout.Write([]byte{byte('a' + n)})
			}
		}
		os.Exit(0)
	case "parent":
		inserted.Hit(1)
		leaveA := inserted.Enter("TestA")
		inserted.Hit(2)
		leaveB := inserted.Enter("TestB")
		inserted.Hit(3)
		leaveA()
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "KEYFILL_FAULTS_CHILD=child")
		if err := child.Run(); err != nil {
			os.Exit(4)
		}
		leaveB()
		inserted.Hit(5)
		os.Exit(0)
	case "child":
		inserted.Hit(4)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestIs: the faults whose numbers the environment has are switched on, and no others.
func TestIs(t *testing.T) {
	for list, want := range map[string]string{"": "", "0": "a", "11": "l", "3,1": "bd", "99": ""} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "KEYFILL_FAULTS_CHILD=faults", inserted.Faults+"="+list)
		got, err := cmd.Output()
		if err != nil || string(got) != want {
			t.Errorf("%q switches on %q, %v, want %q", list, got, err, want)
		}
	}
}

// TestRecords: a block counts for each test that runs when it is reached, in a process
// that a test has started too.
func TestRecords(t *testing.T) {
	folder := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "KEYFILL_FAULTS_CHILD=parent", inserted.Folder+"="+folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range map[string][]int{"TestA": {2, 3}, "TestB": {3, 4}, inserted.Outside: {1, 5}} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for n, b := range data {
			if b == 1 {
				got = append(got, n)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has reached %v, want %v", name, got, want)
		}
	}
}
