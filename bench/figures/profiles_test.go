package figures_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/keyfill/keyfill/bench/engines"
	"github.com/keyfill/keyfill/bench/figures"
	"github.com/keyfill/keyfill/bench/machine"
	"github.com/keyfill/keyfill/bench/page"
	"github.com/keyfill/keyfill/internal/testturn"
)

// profiledRounds is how many turns the profiles have that the page shows.
const profiledRounds = 5

// TestProfiles profiles where the time of statements, sources and rows goes, prints the
// tables and writes them where they belong. Without KEYFILL_PROFILES=1 each way has one
// turn of a moment, which shows that everything is profiled at all; by turns on one of the
// engines.
func TestProfiles(t *testing.T) {
	measures := os.Getenv("KEYFILL_PROFILES") == "1"
	r := figures.Run{Rounds: 1, Share: 0.001}
	if measures {
		r = runOf(t, profiledRounds)
	}
	folder := os.Getenv("KEYFILL_PROFILES_FOLDER")
	if folder == "" {
		folder = t.TempDir()
	} else if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	where, err := machine.Describe()
	if err != nil {
		t.Fatal(err)
	}
	report := &figures.Profiles{Machine: where, Rounds: r.Rounds}
	keep := func(t *testing.T, group string, profile func() ([]figures.Profile, error)) {
		if !r.Wants(group) {
			t.Skipf("KEYFILL_BENCH_ONLY does not match %s", group)
		}
		all, err := profile()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			if p.Time <= 0 {
				t.Errorf("%s takes no time", p.What)
			}
		}
		report.Profiles = append(report.Profiles, all...)
	}
	t.Run("null", func(t *testing.T) {
		keep(t, "null", func() ([]figures.Profile, error) { return figures.ProfileStatements(r, folder) })
	})
	t.Run("keys", func(t *testing.T) {
		keep(t, "keys", func() ([]figures.Profile, error) { return figures.ProfileParts(r, folder) })
	})
	for i, e := range engines.All() {
		if !measures && !testturn.Of(t, i, 3) {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			keep(t, "engines", func() ([]figures.Profile, error) {
				connector, err := e.Connector(t)
				if err != nil {
					return nil, err
				}
				return figures.ProfileRows(t.Context(), r, folder, e, connector)
			})
		})
	}
	if !measures {
		return
	}
	text := report.Markdown()
	fmt.Print(text)
	if file := os.Getenv("KEYFILL_BENCH_JSON"); file != "" {
		if err := page.WriteJSON(file, report); err != nil {
			t.Error(err)
		}
	}
	file := os.Getenv("KEYFILL_BENCH_PAGE")
	switch whole := r.Only == nil && r.Rounds >= profiledRounds && !t.Failed(); {
	case file == "":
	case !whole:
		fmt.Printf("%s stays as it is: it shows whole runs of %d turns or more\n", file, profiledRounds)
	default:
		if err := page.Write(file, "profiles", text); err != nil {
			t.Error(err)
		}
	}
}

// TestTraces: a sample counts for the innermost function of keyfill's, or for the
// innermost package of others.
func TestTraces(t *testing.T) {
	const text = `File: figures.test
Type: cpu
-----------+-------------------------------------------------------
      30ms   runtime.memmove
             runtime.mallocgc (inline)
             github.com/keyfill/keyfill/internal/fill.(*Conn).execPlain
             github.com/keyfill/keyfill.(*conn).ExecContext
             database/sql.(*DB).exec
             github.com/keyfill/keyfill/bench/figures.execute.func1
-----------+-------------------------------------------------------
     1.50s   hash/maphash.String (inline)
             github.com/keyfill/keyfill.(*conn).ExecContext
-----------+-------------------------------------------------------
      20ms   internal/runtime/syscall/linux.Syscall6
             syscall.Syscall
             internal/poll.(*FD).Write
             net.(*conn).Write
             github.com/go-sql-driver/mysql.(*mysqlConn).writePacket
-----------+-------------------------------------------------------
      10ms   github.com/go-sql-driver/mysql.(*mysqlConn).readPacket
             database/sql.ctxDriverExec
-----------+-------------------------------------------------------
      10ms   sync.(*Mutex).Lock
             database/sql.(*DB).putConn
             github.com/keyfill/keyfill/bench/figures.execute.func1
-----------+-------------------------------------------------------
      40ms   runtime.scanobject
             runtime.gcBgMarkWorker
-----------+-------------------------------------------------------
      50ms   github.com/keyfill/keyfill/bench/figures.(*nullConn).ExecContext
             database/sql.ctxDriverExec
`
	want := map[string]string{
		"internal/fill.(*Conn).execPlain":            "30ms, 30ms of it memory",
		".(*conn).ExecContext":                       "1.5s, 0s of it memory",
		"calls of the system":                        "20ms, 0s of it memory",
		"github.com/go-sql-driver/mysql":             "10ms, 0s of it memory",
		"database/sql":                               "10ms, 0s of it memory",
		"the collector and the scheduler of Go":      "40ms, 0s of it memory",
		"the loop, and the driver that does nothing": "50ms, 0s of it memory",
	}
	got, err := figures.ReadTraces(text)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("ReadTraces = %v, want %v", got, want)
	}
}
