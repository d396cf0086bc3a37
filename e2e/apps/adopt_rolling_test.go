package apps_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/testturn"
)

// rolling says how processes of several kinds insert at once.
type rolling struct {
	spell time.Duration // for how long, in each way

	// pause follows each INSERT of a connection, so that many processes are no load.
	pause time.Duration

	// crowd is how many processes of a kind there are at most, and calm how long one of
	// them lives at least.
	crowd int
	calm  time.Duration

	// all lets the ways of all engines run at once, but for the brief ones of an engine.
	all bool
}

// rollingNow is how processes insert in this run: for two minutes, in all ways at once;
// by turns for ten seconds, in a quarter of them; with make soak for
// KEYFILL_SOAK_ROLLING, and with shorter pauses; with -short for a moment, one way after
// the other.
func rollingNow(t *testing.T) rolling {
	t.Helper()
	long := rolling{
		spell: testturn.Share(t, 2*time.Minute, 10*time.Second), pause: 500 * time.Millisecond,
		crowd: 2, calm: testturn.Share(t, 10*time.Second, 3*time.Second), all: true,
	}
	switch {
	case harness.Soaking():
		long.pause = 100 * time.Millisecond
		var err error
		if long.spell, err = time.ParseDuration(os.Getenv("KEYFILL_SOAK_ROLLING")); err != nil {
			t.Fatalf("KEYFILL_SOAK_ROLLING: %v", err)
		}
	case testing.Short():
		return rolling{spell: 1500 * time.Millisecond, crowd: 3, calm: 200 * time.Millisecond}
	}
	return long
}

// rollingEngines are those on which processes with keyfill are deployed beside others.
var rollingEngines = []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.SQLiteFile}

// rollingServers are the servers whose columns have widths.
var rollingServers = []harness.Engine{harness.MySQLDefault, harness.PgxDefault}

// rollingWays are the ways there and back, and from one source or column to another.
var rollingWays = []struct {
	name    string
	engines []harness.Engine
	run     func(t *testing.T, d *deployment, e harness.Engine)
	brief   bool // an eighth of the time is enough
}{
	{"There", rollingEngines, rollThere, false},
	{"Native", []harness.Engine{harness.PgxDefault}, rollNative, false},
	{"Back", rollingEngines, rollBack, false},
	{"BackOwned", rollingEngines, rollBackOwned, false},
	{"Change", rollingEngines, rollChange, false},
	{"Beside", rollingEngines, rollBeside, false},
	{"Skip", rollingEngines, rollSkip, true},
	{"KeyTable", rollingEngines, rollKeyTable, true},
	{"Bigint", rollingServers, rollBigint, true},
	{"UUID", rollingServers, rollUUID, true},
	{"Galera", []harness.Engine{harness.MySQLDefault}, rollGalera, false},
	{"GaleraBeside", []harness.Engine{harness.MySQLDefault}, rollBeside, true},
	{"GaleraSkip", []harness.Engine{harness.MySQLDefault}, rollSkip, true},
	{"GaleraKeyTable", []harness.Engine{harness.MySQLDefault}, rollKeyTable, true},
}

// TestRolling: in each of the ways, old and new processes insert at once and are
// replaced, some of them after a SIGKILL. No INSERT fails, no id is given twice, and the
// processes read the ids that are stored.
//
// Subtests begin in goroutines of this test: were they parallel ones, the number of tests
// that run at once would bound them.
func TestRolling(t *testing.T) {
	t.Parallel()
	r := rollingNow(t)
	var running sync.WaitGroup
	brief := map[string][]func(){} // by their servers, one after the other
	for i, w := range rollingWays {
		for j, e := range w.engines {
			if !testturn.Of(t, i+j, 4) {
				continue
			}
			isGalera := strings.HasPrefix(w.name, "Galera")
			one := func() {
				t.Run(w.name+"/"+e.Name, func(t *testing.T) {
					d := &deployment{}
					if isGalera {
						d = deployCluster(t)
					} else {
						d = deploy(t, e)
					}
					d.rolling = r
					if r.all && w.brief {
						d.rolling.spell, d.rolling.calm = r.spell/8, r.calm/8
					}
					w.run(t, d, e)
				})
			}
			switch {
			case !r.all:
				one()
			case w.brief:
				servers := fmt.Sprint(e.Name, isGalera)
				brief[servers] = append(brief[servers], one)
			default:
				running.Go(one)
			}
		}
	}
	for _, ways := range brief {
		running.Go(func() {
			for _, one := range ways {
				one()
			}
		})
	}
	running.Wait()
}

// create makes the table t, whose id the engine numbers, with rows.
func (d *deployment) create(e harness.Engine) {
	d.t.Helper()
	d.createWith(numberedColumn(e))
}

// createWith is create with a type of the column.
func (d *deployment) createWith(kind string) {
	d.t.Helper()
	harness.Exec(d.t, d.raw, "CREATE TABLE t (id "+kind+", who VARCHAR(100) NOT NULL)")
	for range 100 {
		harness.Exec(d.t, d.raw, "INSERT INTO t (who) VALUES ('before')")
	}
}

// rollThere: the steps of keyfill plan there are executed while old processes insert, on
// servers while a transaction is open. Then new processes insert beside them, and both
// are replaced by others of their kinds.
func rollThere(t *testing.T, d *deployment, e harness.Engine) {
	d.create(e)
	if e.IsPostgres() {
		harness.Exec(t, d.raw, "ALTER SEQUENCE t_id_seq CACHE 20") // sessions hold numbers in advance
	}
	all := d.startAll(d.rolling.crowd, "old", "")
	steps := d.plan("there")
	ended := d.hold(e, 1500*time.Millisecond)
	entry := d.execute(steps)[0]
	<-ended
	all = append(all, d.startAll(d.rolling.crowd, "new", entry)...)
	d.during(d.rolling.spell, all)
	d.end("old", "new")
	d.wantApart(belowOf(t, entry), "new")
}

// hold lets a process have a transaction open for a time. SQLite has one writer, which
// all others would wait for: there it does nothing.
func (d *deployment) hold(e harness.Engine, spell time.Duration) (ended <-chan struct{}) {
	d.t.Helper()
	done := make(chan struct{})
	if e.Server == nil {
		close(done)
		return done
	}
	p := d.startHolding()
	time.AfterFunc(spell, func() {
		defer close(done)
		p.stop()
	})
	return done
}

// wantApart fails unless the ids of all processes of some kinds are below an integer.
func (d *deployment) wantApart(below int64, kinds ...string) {
	d.t.Helper()
	var above []string
	err := eachRow(d.raw, fmt.Sprintf("SELECT who FROM t WHERE who <> 'before' AND id >= %d", below), func(who string) error {
		m, err := markOf(who)
		if err == nil && slices.Contains(kinds, d.all[m.process-1].Kind) {
			above = append(above, who)
		}
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	if len(above) > 0 {
		d.t.Errorf("%d rows of %v have ids from %d on, the first is %q", len(above), kinds, below, above[0])
	}
}

// eachRow calls f for the text in each row of an answer.
func eachRow(db *sql.DB, query string, f func(string) error) error {
	rows, err := db.Query(query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		if err := f(text); err != nil {
			return err
		}
	}
	return rows.Err()
}

// rollNative: on PostgreSQL new processes draw from the sequence of the old ones,
// and there is nothing to arrange.
func rollNative(_ *testing.T, d *deployment, e harness.Engine) {
	d.create(e)
	all := d.startAll(d.rolling.crowd, "old", "")
	all = append(all, d.startAll(d.rolling.crowd, "new", "t: {column: id, source: {kind: native}}")...)
	d.during(d.rolling.spell, all)
	d.end("old", "new")
}

// rollBack: keyfill numbers a table, and the steps of keyfill plan handback are
// executed while its processes insert. They give way to processes that stay below, and
// these to processes with keyfill switched off and without it. Then the steps there take
// the table to keyfill again.
func rollBack(t *testing.T, d *deployment, e harness.Engine) {
	d.create(e)
	entry := d.execute(d.plan("there"))[0]
	all := d.startAll(4, "new", entry)

	back := d.execute(d.plan("handback"))
	below, off := back[0], back[1]
	all[0] = d.replace(all[0], "below", below)
	all[1] = d.replace(all[1], "off", off)
	all[2] = d.replace(all[2], "plain", "")
	d.during(d.rolling.spell/2, all)
	for i := range all {
		all[i] = d.replace(all[i], "plain", "")
	}

	again := d.execute(d.plan("there"))[0]
	for i := range all[:2] {
		all[i] = d.replace(all[i], "again", again)
	}
	d.during(d.rolling.spell/2, all)
	d.end("new", "below", "off", "plain", "again")
	d.wantApart(belowOf(t, again), "again")
}

// rollBackOwned: the way back from a column that keyfill alone has filled. No
// process without keyfill inserts before the counter is raised.
func rollBackOwned(t *testing.T, d *deployment, e harness.Engine) {
	d.create(e)
	all := d.startAll(3, "owner", "t: {column: id, source: {kind: sequence, ensure_schema: true, exclusive: true}}")
	back := d.execute(d.plan("handback"))
	all[0] = d.replace(all[0], "below", back[0])
	all[1] = d.replace(all[1], "off", back[1])
	all[2] = d.replace(all[2], "plain", "")
	d.during(d.rolling.spell, all)
	d.end("owner", "below", "off", "plain")
}

// rollChange: the numbers of a table go from one source to another. The steps of
// keyfill plan change are executed while processes insert, and these give way one by one:
// to processes without keyfill, and those to processes with the new source.
func rollChange(t *testing.T, d *deployment, e harness.Engine) {
	d.create(e)
	entry := d.execute(d.plan("there"))[0]
	all := d.startAll(3, "sequence", entry)

	steps := d.plan("change")
	last := slices.IndexFunc(steps, func(s step) bool { return strings.HasPrefix(s.Title, "End the last process") })
	if last < 0 {
		t.Fatalf("no step ends the last process: %v", steps)
	}
	d.execute(steps[:last])
	all[0] = d.replace(all[0], "plain", "")
	d.during(d.rolling.spell/3, all)
	for i, p := range all {
		if p.Kind == "sequence" {
			all[i] = d.replace(p, "plain", "")
		}
	}
	// While a row of the old source is there the new one is refused.
	other := "kind: sequence, name: other, block: 7"
	early := []string{strings.Replace(entry, "kind: sequence", other, 1)}
	if native := steps[len(steps)-1].Policy; native != "" {
		early = append(early, native)
	}
	for _, entry := range early {
		if err := d.insertOne(entry); !errors.Is(err, store.ErrTaken) {
			t.Errorf("%s beside the row of the old source: %v, want ErrTaken", entry, err)
		}
	}
	entries := d.execute(steps[last:])

	kinds := []string{"sequence", "plain", "named"}
	if len(entries) == 1 { // PostgreSQL: the column's own sequence
		kinds[2] = "native"
		all[0] = d.replace(all[0], "native", entries[0])
	} else {
		entry = strings.Replace(d.execute(d.plan("there"))[0], "kind: sequence", other, 1)
		all[0] = d.replace(all[0], "named", entry)
	}
	d.during(d.rolling.spell*2/3, all)
	d.end(kinds...)
}

// rollBeside: the numbers of a table go from one sequence to another by the steps of
// keyfill plan change --name. Processes of both insert at once, and each knows only its
// own policy.
func rollBeside(t *testing.T, d *deployment, e harness.Engine) {
	harness.Exec(t, d.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, who VARCHAR(100) NOT NULL)")
	all := d.startAll(d.rolling.crowd, "earlier", "t: {column: id, source: {kind: sequence, ensure_schema: true}}")
	steps := d.plan("change", "--name", "later", "--column", "id")
	all = append(all, d.startAll(d.rolling.crowd, "later", steps[0].Policy)...)
	d.execute(steps)
	d.during(d.rolling.spell, all)
	d.end("earlier", "later")
	at := startAtOf(t, steps[0].Policy)
	d.wantApart(at, "earlier")
	if n := harness.Count(t, d.raw, fmt.Sprintf("SELECT COUNT(*) FROM keyfill_sequences WHERE incarnation LIKE '%%<%d'", at)); n != 1 {
		t.Errorf("%d states end at %d, want 1", n, at)
	}
}

// rollGalera: old and new processes at two nodes of a cluster. The old ones begin
// when the counter is raised: the ALTER TABLE ends transactions at other nodes.
func rollGalera(t *testing.T, d *deployment, e harness.Engine) {
	d.create(e)
	entry := d.execute(d.plan("there"))[0]
	all := append(d.startAll(2, "old", ""), d.startAll(2, "new", entry)...)
	d.during(d.rolling.spell, all)
	d.end("old", "new")
	d.wantApart(belowOf(t, entry), "new")
}

// deployCluster makes an empty database of a cluster, whose processes use its nodes by
// turns.
func deployCluster(t *testing.T) *deployment {
	t.Helper()
	nodes := cluster.Nodes(t)[:2]
	name := nodes[0].Database(t, "mysql")
	d := &deployment{t: t, folder: t.TempDir(), raw: harness.Open(t, "mysql", nodes[0].DSN(name)+"?wsrep_sync_wait=15")}
	for _, node := range nodes {
		step := harness.CountInt(t, harness.Open(t, "mysql", node.DSN(name)), "SELECT @@auto_increment_increment")
		d.ways = append(d.ways, way{"mysql", node.DSN(name), step})
	}
	return d
}
