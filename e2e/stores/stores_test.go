package stores_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
)

// TestStores puts each store under every fault. With make soak 64 processes draw ten million
// keys and store a hundred thousand rows in each, one store after the other. Else six
// processes do a tenth of that, in all stores at once, by turns in half of them, since they wait for leases most of
// the time, and they meet one fault of a kind: processes that are stopped, killed and cut
// off for longer than their leases, a server that is killed, and clocks that are moved.
// Package faults has a cluster of Galera in make test.
func TestStores(t *testing.T) {
	stores := storesUnderTest
	if !harness.Soaking() { // Galera is three more servers
		stores = slices.DeleteFunc(slices.Clone(stores), func(s storeUnderTest) bool { return s.name == "Galera" })
	}
	for _, s := range testturn.Some(t, stores, 2) {
		t.Run(s.name, func(t *testing.T) {
			p := wholePlan
			if !harness.Soaking() {
				t.Parallel()
				p = tenthPlan
			}
			under := s.start(t)
			if harness.Soaking() && under.moveClock != nil { // a database
				plainRecovery(t, under, p.processes)
			}
			began := time.Now()
			w := newWorld(t, under, job{Hands: 4, Pause: p.pause, Most: p.most})
			w.run(p)
			w.report(began)
		})
	}
}

// TestStoresLaws: a broken law is reported.
func TestStoresLaws(t *testing.T) {
	t.Parallel()
	e := harness.SQLiteFile
	scratch := e.Scratch(t)
	s := &store{name: "none", engine: e, raw: scratch.Raw, kinds: []int{sequence, joined}}
	w := newWorld(t, s, job{})
	for _, query := range []string{
		"INSERT INTO t_sequence VALUES (10, 1), (25, 3), (50, 9)",
		"INSERT INTO t_joined VALUES (2, 5), (3, 5)",
	} {
		harness.Exec(t, s.raw, query)
	}
	path := filepath.Join(w.folder, "1")
	log, err := openJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	log.write(
		record{What: drawn, Kind: sequence, Keys: 10, Draw: 1, First: 10},
		record{What: drawn, Kind: sequence, Keys: 10, Draw: 2, First: 20}, // the row 25 is of draw 3
		record{What: drawn, Kind: sequence, Keys: 5, Draw: 4, First: 28},  // 28 and 29 were drawn
		record{What: stored, Kind: sequence, Keys: 1, Draw: 1, First: 10},
		record{What: stored, Kind: sequence, Keys: 1, Draw: 2, First: 21},
	)
	log.fail(law + "Duplicate entry")
	log.fail("the connection was refused")
	w.all = []*member{{reader: reader{path: path}}}
	f, wrong := w.judge()
	want := []string{
		"a row of draw 0x2 was said to be stored", "draws 0x2 and 0x4 have the key 28",
		"the key 25 is of draw 0x2, and of the row of draw 0x3", "joined: 2 numbers are from 2 to 3", "1 × LAW: Duplicate entry",
	}
	for _, part := range want {
		if !slices.ContainsFunc(wrong, func(text string) bool { return strings.Contains(text, part) }) {
			t.Errorf("nothing says %q:%s", part, indent(wrong))
		}
	}
	if len(wrong) != len(want) {
		t.Errorf("%d breaches, want %d:%s", len(wrong), len(want), indent(wrong))
	}
	if f != (figures{drawn: 28, rows: 5, untold: 3, twice: 2, holes: 1}) {
		t.Errorf("figures: %+v", f)
	}
	w.all = nil
}

// TestJournal: the beginning of a record, which SIGKILL leaves, is read when the rest has
// come.
func TestJournal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "1")
	log, err := openJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	one := record{What: drawn, Kind: flake, Keys: 7, Draw: 1<<40 + 3, First: 1 << 62, Began: 1, Ended: 2}
	log.write(one, one)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(len(text))-5); err != nil {
		t.Fatal(err)
	}
	r := reader{path: path}
	for _, want := range []int{1, 2} {
		if err := r.read(); err != nil {
			t.Fatal(err)
		}
		if len(r.records) != want || r.records[want-1] != one {
			t.Errorf("%+v, want %d of %+v", r.records, want, one)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
