package stores_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	simulated "github.com/keyfill/keyfill/internal/sim/crowd"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/internal/testturn"
)

// crowdStore is where the state of a crowd's source is.
type crowdStore struct {
	name     string
	together bool // it answers all waiting reservations at once: see [simulated.Model]
	start    func(*testing.T) *crowdPlace
}

// crowdPlace is a running crowdStore.
type crowdPlace struct {
	member crowdMember
	raw    *sql.DB
	pids   []int  // of the store's servers
	look   string // finds no row while the state's row of the table {t} is locked; empty if nothing is locked
}

// crowdBlocks are the sizes of blocks by table; 0 follows the use.
var crowdBlocks = []int64{1, 10, 100, 0}

// crowdRate is how many rows each process stores a second. crowdAlike is how far the
// simulation of 64 processes may be from the real ones in rows and reservations, and
// crowdLocked in the time that the row is locked: it is locked for longer where the commits
// of rows write to the same log, which the model does not know.
const (
	crowdRate   = 20.0
	crowdAlike  = 2.0
	crowdLocked = 3.0
)

func crowdTable(block int64) string { return fmt.Sprintf("t%d", block) }

// crowdPolicy returns a policy with a table for each size of blocks.
func crowdPolicy(stores, source string) string {
	text := "version: 1\nstore_wait: 1m\n" + stores + "tables:\n"
	for _, block := range crowdBlocks {
		size := ""
		if block > 0 {
			size = fmt.Sprintf(", block: %d", block)
		}
		text += fmt.Sprintf("  %s: {column: id, source: {kind: sequence, ensure_schema: true, start: 1%s%s}}\n", crowdTable(block), source, size)
	}
	return text
}

// crowdDatabase starts a server that syncs each commit, with the tables of a crowd.
func crowdDatabase(t *testing.T, engine *testdb.Engine, driver, stores, source string) *crowdPlace {
	t.Helper()
	server := testdb.Start(t, engine.Durable())
	p := &crowdPlace{member: crowdMember{driver, server.DSN(server.Database(t, driver)), crowdPolicy(stores, source)}}
	p.raw = harness.Open(t, driver, p.member.DSN)
	for _, block := range crowdBlocks {
		harness.Exec(t, p.raw, "CREATE TABLE "+crowdTable(block)+" (id BIGINT NOT NULL PRIMARY KEY, note VARCHAR(20))")
	}
	p.pids = []int{server.PID()}
	return p
}

func crowdPostgreSQL() *testdb.Engine { return testdb.PostgreSQL().With("-c", "max_connections=600") }

func crowdEtcd(t *testing.T) (pids []int, stores string) {
	t.Helper()
	var urls []string
	for _, m := range testdb.StartEtcd(t, 3) {
		pids, urls = append(pids, m.PID()), append(urls, `"`+m.URL()+`"`)
	}
	return pids, "stores:\n  central: {driver: etcd, endpoints: [" + strings.Join(urls, ", ") + "]}\n"
}

const crowdLook = "SELECT name FROM keyfill_sequences WHERE name = '{t}.id' FOR UPDATE SKIP LOCKED"

var crowdStores = []crowdStore{
	{name: "MariaDB", start: func(t *testing.T) *crowdPlace {
		p := crowdDatabase(t, testdb.MariaDB().With("--max-connections=600"), "mysql", "", "")
		p.look = crowdLook
		return p
	}},
	{name: "PostgreSQL", start: func(t *testing.T) *crowdPlace {
		p := crowdDatabase(t, crowdPostgreSQL(), "pgx", "", "")
		p.look = crowdLook
		return p
	}},
	{name: "PostgreSQL, upstream etcd", start: func(t *testing.T) *crowdPlace {
		_, stores := crowdEtcd(t)
		p := crowdDatabase(t, crowdPostgreSQL(), "pgx", stores, ", upstream: central")
		p.look = crowdLook
		return p
	}},
	{name: "etcd", together: true, start: func(t *testing.T) *crowdPlace {
		pids, stores := crowdEtcd(t)
		p := crowdDatabase(t, crowdPostgreSQL(), "pgx", stores, ", store: central")
		p.pids = pids
		return p
	}},
	{name: "Redis", together: true, start: func(t *testing.T) *crowdPlace {
		server := testdb.StartRedis(t)
		p := crowdDatabase(t, crowdPostgreSQL(), "pgx", "stores:\n  central: {driver: redis, endpoints: [\""+server.Addr()+"\"]}\n", ", store: central")
		p.pids = []int{server.PID()}
		return p
	}},
}

// crowdSeen is what was measured, or simulated, with one of the tables.
type crowdSeen struct {
	simulated.Seen
	cores    float64 // the processors that the store's servers kept busy
	upstream float64 // fetches a second from the store of upstream
}

// TestCrowd stores rows from 64 processes, and simulates 64 and up to 10,000 of them by a
// model of the store that was measured with 1, 8 and 32: the real 64 and the simulated ones may
// not differ by more than a factor. make crowd does so for each store and writes the tables
// into the page KEYFILL_CROWD_PAGE, with KEYFILL_CROWD_STORES for some of the stores. Else
// two processes store rows in a store that has its turn, and the model has to fit them.
func TestCrowd(t *testing.T) {
	whole := os.Getenv("KEYFILL_CROWD") != ""
	if !whole {
		for _, s := range testturn.Some(t, crowdStores, 4) {
			crowdSmall(t, s)
		}
		return
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s; %d x %s, load %s; %s; a synced write takes %v. Each process stores %.0f rows a second.\n",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), runtime.NumCPU(), processor(), load(), runtime.Version(), syncedWrite(t), crowdRate)
	for _, s := range crowdStores {
		if stores := os.Getenv("KEYFILL_CROWD_STORES"); stores == "" || slices.Contains(strings.Split(stores, "|"), s.name) {
			t.Run(s.name, func(t *testing.T) { text.WriteString(crowdWhole(t, s)) })
		}
	}
	fmt.Print("\n", text.String())
	if page := os.Getenv("KEYFILL_CROWD_PAGE"); page != "" && !t.Failed() {
		insertBetween(t, page, "<!-- crowd: make crowd -->\n", "<!-- end of crowd -->\n", text.String())
	}
}

// syncedWrite returns the median time of a write that is synced.
func syncedWrite(t *testing.T) time.Duration {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "synced"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []time.Duration
	for range 51 {
		began := time.Now()
		_, err := f.WriteString("a line\n")
		if err := errors.Join(err, f.Sync()); err != nil {
			t.Fatal(err)
		}
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	return all[len(all)/2].Round(10 * time.Microsecond)
}

// crowdSmall compares two processes with the simulation, in how many rows have one block.
func crowdSmall(t *testing.T, s crowdStore) {
	t.Helper()
	p := s.start(t)
	all := startMembers(t, p.member, 2)
	for _, block := range []int64{1, 10} {
		o := crowdOrder{Table: crowdTable(block), PerSecond: crowdRate}
		all.tell(t, o)
		before := all.tell(t, crowdOrder{Table: countsOnly})
		after := before
		harness.Eventually(t, func() error {
			if after = all.tell(t, crowdOrder{Table: countsOnly}); after.Rows-before.Rows < 60 {
				return fmt.Errorf("%d rows, %d errors: %s", after.Rows-before.Rows, after.Errors, after.Err)
			}
			return nil
		})
		all.tell(t, crowdOrder{})
		real := float64(after.Rows-before.Rows) / float64(after.Reservations-before.Reservations)
		sim := simulated.Run(t, simulated.Model{Held: time.Millisecond}, simulated.Crowd{Processes: 2, Block: block, PerSecond: crowdRate, Warm: time.Second, Lasts: 3 * time.Second})
		if factor := ratio(real, sim.Rows/sim.Reservations); factor > crowdAlike {
			t.Errorf("%s, block: %d: a block has %.1f rows, simulated %.1f", s.name, block, real, sim.Rows/sim.Reservations)
		}
	}
}

// ratio returns how many times the greater of two figures is the other one.
func ratio(a, b float64) float64 { return max(a, b) / min(a, b) }

// The parts of a whole run: rounds go through all cells, so that what the machine does
// besides is in all of them.
const (
	crowdRounds = 3
	crowdWarm   = 1500 * time.Millisecond
	crowdLasts  = 3 * time.Second
)

// crowdCell is what is measured in each round.
type crowdCell struct {
	processes int
	order     crowdOrder
	rounds    []crowdSeen
}

// crowdWhole measures a store, compares it with the simulation, and returns its table.
func crowdWhole(t *testing.T, s crowdStore) string {
	t.Helper()
	p := s.start(t)
	all := startMembers(t, p.member, 64)
	for _, block := range crowdBlocks { // each has its state and its connections
		for i, m := range all { // their blocks end at different times
			crowdMembers{m}.tell(t, crowdOrder{Table: crowdTable(block), PerSecond: 2, Skip: i * max(int(block), 1) / len(all)})
		}
		time.Sleep(2 * time.Second)
	}
	cell := func(processes int, block int64, rate float64) *crowdCell {
		return &crowdCell{processes: processes, order: crowdOrder{Table: crowdTable(block), PerSecond: rate}}
	}
	alone, few, many, crowded := cell(simulated.Alone, 1, 0), cell(simulated.Few, 1, 0), cell(simulated.Many, 1, 0), cell(64, 1, 0)
	cells := []*crowdCell{alone, few, many, crowded}
	paced := map[[2]int64]*crowdCell{}
	for _, block := range crowdBlocks {
		for _, n := range []int64{10, 64} {
			paced[[2]int64{n, block}] = cell(int(n), block, crowdRate)
			cells = append(cells, paced[[2]int64{n, block}])
		}
	}
	for range crowdRounds {
		for _, c := range cells {
			c.rounds = append(c.rounds, p.measure(t, all, c))
		}
	}
	m := simulated.Fit(s.together, alone.median(reservationsASecond), few.median(reservationsASecond), many.median(reservationsASecond))
	t.Logf("%s: %+v", s.name, m)
	limit := crowded.median(reservationsASecond)
	simulate := func(n int, block int64, rate float64) simulated.Seen {
		c := simulated.Crowd{Processes: n, Block: block, PerSecond: rate, Warm: 6 * time.Second, Lasts: 4 * time.Second}
		if block == 0 {
			c.Warm, c.Lasts = 40*time.Second, 10*time.Second
		}
		return simulated.Run(t, m, c)
	}
	compare := func(what string, real, sim, alike float64) {
		t.Logf("%s, %s: %.1f, simulated %.1f", s.name, what, real, sim)
		if ratio(real, sim) > alike {
			t.Errorf("%s, %s: %.1f, simulated %.1f: more than %.1f times as much", s.name, what, real, sim, alike)
		}
	}
	compare("64 processes as fast as they get keys, reservations a second", limit, simulate(64, 1, 0).Reservations, crowdAlike)
	// What a reservation costs the server is seen where no rows are stored, and what a row
	// costs is the rest where they are.
	each := many.median(coresBusy) / many.median(reservationsASecond)
	hundred := paced[[2]int64{64, 100}]
	row := max(hundred.median(coresBusy)-each*hundred.median(reservationsASecond), 0) / hundred.median(rowsASecond)
	t.Logf("%s: a reservation takes %.6f s of the processor, a row %.6f s", s.name, each, row)
	show := func(rows, reservations, locked float64) string {
		share := fmt.Sprintf("%.2f cores", reservations*each)
		if !s.together {
			share = percent(reservations * each / (reservations*each + rows*row))
		}
		if p.look == "" {
			return fmt.Sprintf("%s; %s; %s", figure(rows), figure(reservations), share)
		}
		return fmt.Sprintf("%s; %s; %s; %s", figure(rows), figure(reservations), percent(locked), share)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "\n%s: %s reservations a second from 64 processes, %s from 32, %s from 8, %s from one", s.name, figure(limit), figure(many.median(reservationsASecond)), figure(few.median(reservationsASecond)), figure(alone.median(reservationsASecond)))
	if p.look == "" {
		text.WriteString(". A cell has rows a second; reservations a second; processors of the store.\n\n")
	} else {
		text.WriteString(". A cell has rows a second; reservations a second; the share of the time in which the row is locked; the share of the server's CPU time.\n\n")
	}
	text.WriteString("| `block:` | 10 processes | 64 | 64, simulated | 100, simulated | 1,000, simulated | 10,000, simulated |\n|---|---|---|---|---|---|---|\n")
	for _, block := range crowdBlocks {
		name := strconv.FormatInt(block, 10)
		if block == 0 {
			name = "–"
		}
		text.WriteString("| " + name)
		for _, n := range []int64{10, 64} {
			c := paced[[2]int64{n, block}]
			text.WriteString(" | " + show(c.median(rowsASecond), c.median(reservationsASecond), c.median(lockedTime)))
		}
		for _, n := range []int{64, 100, 1000, 10000} {
			sim := simulate(n, block, crowdRate)
			text.WriteString(" | " + show(sim.Rows, sim.Reservations, sim.Locked))
			if sim.Errors > 0 {
				fmt.Fprintf(&text, "; %s errors", figure(sim.Errors))
			}
			if c := paced[[2]int64{64, block}]; n == 64 {
				compare(fmt.Sprintf("64 processes, block: %d, rows a second", block), c.median(rowsASecond), sim.Rows, crowdAlike)
				if block > 0 { // one that follows the use is still growing in the real run
					compare(fmt.Sprintf("64 processes, block: %d, reservations a second", block), c.median(reservationsASecond), sim.Reservations, crowdAlike)
				}
				if p.look != "" && block == 10 {
					compare(fmt.Sprintf("64 processes, block: %d, percent of the time locked", block), 100*c.median(lockedTime), 100*sim.Locked, crowdLocked)
				}
			}
		}
		text.WriteString(" |\n")
	}
	if up := paced[[2]int64{64, 100}].median(upstreamASecond); up > 0 {
		fmt.Fprintf(&text, "\nThe upstream store was asked %.2f times a second.\n", up)
	}
	return text.String()
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// figure writes a figure with three digits that count.
func figure(x float64) string {
	switch {
	case x >= 100:
		step := 1.0
		for x/step >= 1000 {
			step *= 10
		}
		text := strconv.FormatFloat(float64(int64(x/step+0.5))*step, 'f', 0, 64)
		for i := len(text) - 3; i > 0; i -= 3 {
			text = text[:i] + "," + text[i:]
		}
		return text
	case x >= 1:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

func rowsASecond(s crowdSeen) float64         { return s.Rows }
func reservationsASecond(s crowdSeen) float64 { return s.Reservations }
func lockedTime(s crowdSeen) float64          { return s.Locked }
func coresBusy(s crowdSeen) float64           { return s.cores }
func upstreamASecond(s crowdSeen) float64     { return s.upstream }

// median returns the median of a figure over the rounds.
func (c *crowdCell) median(of func(crowdSeen) float64) float64 {
	var all []float64
	for _, r := range c.rounds {
		all = append(all, of(r))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// measure lets some of the processes do what a cell says, and measures them.
func (p *crowdPlace) measure(t *testing.T, all crowdMembers, c *crowdCell) (seen crowdSeen) {
	t.Helper()
	active := all[:c.processes]
	all.tell(t, crowdOrder{})
	active.tell(t, c.order)
	time.Sleep(crowdWarm)
	ctx, cancel := context.WithCancel(t.Context())
	var looking sync.WaitGroup
	if p.look != "" && c.order.PerSecond > 0 {
		looking.Go(func() { seen.Locked = p.lockedShare(t, ctx, c.order.Table) })
	}
	before, used, began := active.tell(t, crowdOrder{Table: countsOnly}), processorTime(t, p.pids), time.Now()
	time.Sleep(crowdLasts)
	after, usedAfter, lasted := active.tell(t, crowdOrder{Table: countsOnly}), processorTime(t, p.pids), time.Since(began).Seconds()
	cancel()
	looking.Wait()
	if after.Errors > before.Errors {
		t.Errorf("%d errors, such as: %s", after.Errors-before.Errors, after.Err)
	}
	seen.Rows = float64(after.Rows-before.Rows) / lasted
	seen.Reservations = float64(after.Reservations-before.Reservations) / lasted
	seen.upstream = float64(after.Upstream-before.Upstream) / lasted
	seen.cores = (usedAfter - used).Seconds() / lasted
	return seen
}

// lockedShare looks again and again whether the state's row is locked, until ctx ends.
func (p *crowdPlace) lockedShare(t *testing.T, ctx context.Context, table string) float64 {
	t.Helper()
	query := strings.ReplaceAll(p.look, "{t}", table)
	conn := harness.ConnOf(t, p.raw)
	if p.member.Driver == "pgx" { // so that a look ends its own lock without a sync
		if _, err := conn.ExecContext(ctx, "SET synchronous_commit = off"); err != nil {
			t.Error(err)
		}
	}
	var found, looks int
	for tick := time.NewTicker(17 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return 1 - float64(found)/float64(max(looks, 1))
		case <-tick.C:
		}
		var name string
		switch err := conn.QueryRowContext(context.WithoutCancel(ctx), query).Scan(&name); {
		case err == nil:
			found++
		case !errors.Is(err, sql.ErrNoRows):
			t.Error(err)
			return 0
		}
		looks++
	}
}

// processorTime returns the time of the processor that processes, their children and the
// children that have ended have used: Linux, proc_pid_stat(5).
func processorTime(t *testing.T, pids []int) (used time.Duration) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	const tick = 10 * time.Millisecond // sysconf(_SC_CLK_TCK) is 100
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // no process, or one that has ended
		}
		pid, _ := strconv.Atoi(e.Name())
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		parent, _ := strconv.Atoi(fields[1])
		if !slices.Contains(pids, pid) && !slices.Contains(pids, parent) {
			continue
		}
		for i, field := range fields[11:15] {
			if n, _ := strconv.ParseInt(field, 10, 64); i < 2 || slices.Contains(pids, pid) {
				used += time.Duration(n) * tick
			}
		}
	}
	return used
}
