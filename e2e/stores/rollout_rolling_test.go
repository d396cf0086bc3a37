package stores_test

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// rollingSource is a source whose rolling restart is measured.
type rollingSource struct {
	name, fields string
	counts       bool // its integers have gaps, which are counted; others reserve time
	leases       bool // a process has a worker's number, or a series, until its lease ends
	ordinal      bool // each process has the number in its host's name, which the next one has again
}

var rollingSources = []rollingSource{
	{name: "`sequence`", fields: "kind: sequence, start: 1", counts: true},
	{name: "`sequence`, `block: 10`", fields: "kind: sequence, start: 1, block: 10", counts: true},
	{name: "`recycled`", fields: "kind: recycled, start: 1", counts: true, leases: true},
	{name: "`snowflake`, `worker_lease: 30s`", fields: "kind: snowflake, worker_lease: 30s", leases: true},
	{name: "`snowflake`, `worker_ordinal`", fields: "kind: snowflake, worker_ordinal: true", ordinal: true},
}

// rollingPause lies between the keys of a process: a first block of 100 lasts ten to twenty
// seconds then, so that its size stays as it is.
const rollingPause = 125 * time.Millisecond

// rollingCost is what a rolling restart has cost.
type rollingCost struct {
	lost     float64       // for each process that ended: integers, or milliseconds that were reserved
	leases   float64       // for each process that was replaced: leases that it has left
	first    time.Duration // the longest wait for the first key of a process
	other    time.Duration // and for any other key
	numbers  int           // workers' numbers in the keys
	requests float64       // to the store for each process that was replaced, beside the other processes'
}

// TestRollingCost measures what a rolling restart costs: each of some processes is replaced,
// one after the other. make rollout runs it with KEYFILL_ROLLOUT, the numbers of processes,
// such as "3,16,64", with KEYFILL_ROLLOUT_STORES, some of the stores, and with
// KEYFILL_ROLLOUT_PAGE, the page into which it writes the tables. Without them one process
// is replaced on each store, and nothing but the keys is looked at.
func TestRollingCost(t *testing.T) {
	if os.Getenv("KEYFILL_ROLLOUT") == "" {
		for i, store := range storeNames {
			t.Run(store, func(t *testing.T) {
				t.Parallel()
				measure(t, store, rollingSources[i+1], syscall.SIGTERM, 1)
			})
		}
		return
	}
	var sizes []int
	for one := range strings.SplitSeq(os.Getenv("KEYFILL_ROLLOUT"), ",") {
		n, err := strconv.Atoi(one)
		if err != nil || n < 1 {
			t.Fatalf("KEYFILL_ROLLOUT: %q is no number of processes", one)
		}
		sizes = append(sizes, n)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s; %d x %s, load %s; %s; %s processes, each of which draws a key each %v.\n",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), runtime.NumCPU(), processor(), load(), runtime.Version(), words(sizes), rollingPause)
	for _, store := range storeNames {
		if stores := os.Getenv("KEYFILL_ROLLOUT_STORES"); stores == "" || strings.Contains(stores, store) {
			text.WriteString(rollingTable(t, store, sizes))
		}
	}
	fmt.Print("\n", text.String())
	if page := os.Getenv("KEYFILL_ROLLOUT_PAGE"); page != "" && !t.Failed() {
		insertBetween(t, page, "<!-- rollout: make rollout -->\n", "<!-- end of rollout -->\n", text.String())
	}
}

// rollingTable returns the table of a store.
func rollingTable(t *testing.T, store string, sizes []int) string {
	t.Helper()
	lines := "\n" + store + ":\n\n" +
		"| source | a process ends by | lost, a process | leases left, a process | longest wait for its first key | for any other key | workers' numbers used | requests to the store, a restart |\n" +
		"|---|---|---|---|---|---|---|---|\n"
	for _, src := range rollingSources {
		for _, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			var costs []rollingCost
			for _, n := range sizes {
				t.Run(fmt.Sprintf("%s/%s/%v/%d", store, strings.ReplaceAll(src.name, "`", ""), end, n), func(t *testing.T) {
					costs = append(costs, measure(t, store, src, end, n))
				})
			}
			lines += rollingLine(src, end, costs)
		}
	}
	return lines
}

// words joins numbers.
func words(sizes []int) string {
	var all []string
	for _, n := range sizes {
		all = append(all, strconv.Itoa(n))
	}
	return strings.Join(all, " / ")
}

// rollingLine returns the line of a table, with a figure for each number of processes.
func rollingLine(src rollingSource, end syscall.Signal, costs []rollingCost) string {
	by := "SIGTERM and `db.Close`"
	if end == syscall.SIGKILL {
		by = "SIGKILL"
	}
	join := func(f func(c rollingCost) string) string {
		var all []string
		for _, c := range costs {
			all = append(all, f(c))
		}
		return strings.Join(all, " / ")
	}
	wait := func(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }
	lost, leases, numbers := "", "–", "–"
	if src.leases {
		leases = join(func(c rollingCost) string { return fmt.Sprintf("%.1f", c.leases) })
	}
	if src.counts {
		lost = join(func(c rollingCost) string { return fmt.Sprintf("%.0f integers", c.lost) })
	} else {
		lost = join(func(c rollingCost) string { return fmt.Sprintf("%.0f ms", c.lost) })
		numbers = join(func(c rollingCost) string { return strconv.Itoa(c.numbers) })
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s |\n", src.name, by, lost, leases,
		join(func(c rollingCost) string { return wait(c.first) }), join(func(c rollingCost) string { return wait(c.other) }), numbers,
		join(func(c rollingCost) string { return fmt.Sprintf("%.0f", c.requests) }))
}

// measure replaces each of n processes by another one. But for ordinals the new one begins
// before the old one ends.
func measure(t *testing.T, store string, src rollingSource, by syscall.Signal, n int) rollingCost {
	t.Helper()
	st := newStates(t, store, 1)
	f := newFleet(t, st, src.fields, 1, rollingPause)
	stop := f.stop
	if by == syscall.SIGKILL {
		stop = f.kill
	}
	host := func(i int) string {
		if src.ordinal {
			return fmt.Sprintf("shop-%d", i)
		}
		return ""
	}
	var running []*process
	for i := range n {
		running = append(running, f.start(host(i)))
	}
	f.awaitFirstKeys(running)
	// Their requests while no process is replaced.
	const calm = 3 * time.Second
	time.Sleep(time.Second) // PostgreSQL counts what a session has done once a second
	before := st.requests(t)
	time.Sleep(calm)
	rate := float64(st.requests(t)-before) / calm.Seconds()

	before, began := st.requests(t), time.Now()
	var left leftovers
	end := func(old *process) {
		stop([]*process{old})
		left.add(t, st, src, old)
	}
	for i, old := range running {
		if src.ordinal {
			end(old)
		}
		running[i] = f.start(host(i))
		f.awaitFirstKeys(running[i : i+1])
		if !src.ordinal {
			end(old)
		}
	}
	asked := float64(st.requests(t)-before-left.looks) - rate*time.Since(began).Seconds()
	stop(running)
	c := f.cost(src)
	c.requests = max(asked/float64(n), 0)
	if src.counts {
		lost := st.passed(t) - int64(c.drawn)
		if lost < 0 {
			t.Errorf("%d keys were drawn, and the state has given %d fewer", c.drawn, -lost)
		}
		c.lost = float64(lost) / float64(len(f.all))
	} else {
		c.lost = float64(left.time.Milliseconds()) / float64(n)
		if c.lost > 3000 {
			t.Errorf("a process leaves %.0f ms that it has reserved, and may reserve three seconds", c.lost)
		}
	}
	c.leases = float64(left.leases) / float64(n)
	return c.rollingCost
}

// leftovers are what processes have left that have ended.
type leftovers struct {
	time   time.Duration // that their workers' numbers had reserved, later than their last keys and than their ends
	leases int           // that no process can take before they run out
	looks  int64         // requests to the store that this took
}

// add adds what a process has left that has just ended.
func (l *leftovers) add(t *testing.T, st states, src rollingSource, old *process) {
	t.Helper()
	now := time.Now()
	if all := old.draws(); !src.counts && len(all) > 0 {
		last := all[len(all)-1].key
		unused := time.UnixMilli(st.marks(t)[last>>sequenceBits&1023])
		l.looks++
		used := snowflakeEpoch.Add(time.Duration(last>>(sequenceBits+10)) * time.Millisecond)
		l.time += max(min(unused.Sub(used), unused.Sub(now)), 0)
	}
	if src.leases {
		l.looks++
		for _, owner := range st.leased(t) {
			if strings.Contains(owner, fmt.Sprintf("/%d/", old.cmd.Process.Pid)) {
				l.leases++
			}
		}
	}
}

// snowflakeEpoch is when the time of snowflakes begins.
var snowflakeEpoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// journalCost is what the journals say of the cost.
type journalCost struct {
	rollingCost
	drawn int
}

// cost reads the journals. No key may come twice, and no draw may have failed.
func (f *fleet) cost(src rollingSource) (c journalCost) {
	f.t.Helper()
	keys, numbers := map[int64]bool{}, map[int64]bool{}
	for _, p := range f.all {
		for i, d := range p.draws() {
			if d.failed != "" {
				f.t.Errorf("process %d: %s", p.number, d.failed)
				continue
			}
			if keys[d.key] {
				f.t.Errorf("process %d has drawn a key that was drawn before", p.number)
			}
			keys[d.key] = true
			numbers[d.key>>sequenceBits&1023] = true
			if i == 0 {
				c.first = max(c.first, d.waited)
			} else {
				c.other = max(c.other, d.waited)
			}
		}
	}
	c.drawn, c.numbers = len(keys), len(numbers)
	if src.ordinal && len(numbers) != len(f.all)/2 {
		f.t.Errorf("the keys have %d workers' numbers, want one for each of %d hosts", len(numbers), len(f.all)/2)
	}
	return c
}

// processor returns the name of the processor, which is known on Linux.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// load returns how many programs have wanted a processor in the last minute, which is
// known on Linux.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return cmp.Or(first, "unknown")
}

// insertBetween writes a text between two lines of a page.
func insertBetween(t *testing.T, page, begin, end, text string) {
	t.Helper()
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatalf("%s has no line %q, or none %q", page, begin, end)
	}
	if err := os.WriteFile(page, []byte(before+begin+text+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
