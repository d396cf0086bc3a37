package statements_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
)

// TestGoldenStores executes the golden cases in two databases and compares all
// rows of all tables. In one of them the original text is executed, and triggers
// write the keys: see handTables. In the other there are none, and keyfill fills
// the text: directly, prepared, with the key as LAST_INSERT_ID(key), and with
// all keys as literals. Everything has to be equal, row by row, but that where
// the n-th key of a column stands on one side the n-th key of that column stands
// on the other.
//
// The arguments are other values than NULL, each another one, where the columns
// take them. Where an argument decides whether there is a key, it is NULL or a
// zero as well. Upserts are executed twice, so that they find their rows. What a
// RETURNING gives is compared too.
//
//deviation:filled-inserts | An explicit NULL in the key column is filled. The plain driver gets an error. | PostgreSQL, SQL Server, Oracle, others with NOT NULL | `INSERT INTO t (id) VALUES (NULL)` | `fill:` without `null`
//deviation:filled-inserts | `DEFAULT` in the key column is filled. The plain driver stores the column's default. | all | `INSERT INTO t (id) VALUES (DEFAULT)` | `fill:` without `default`
//deviation:filled-inserts | An INSERT that lacks the key column is filled. The plain driver stores the column's default. | all | `INSERT INTO t (a) VALUES (1)` | `fill:` without `missing`
//deviation:insert-select | A string, NULL or a placeholder that is a whole item of the select list has the column's type, as without keyfill. Such an item beside a `*` is refused. A string in another form, as `'a' 'b'` over two lines, has the type text. | PostgreSQL | `SELECT s.*, '2020-01-01' FROM s` | write a cast
//deviation:insert-select | An update part that reads the query's columns is refused, or is an error of the engine where they are not qualified. | MySQL, MariaDB | `ON DUPLICATE KEY UPDATE a = s.a` | `VALUES(a)`
func TestGoldenStores(t *testing.T) {
	t.Parallel()
	for _, e := range goldenEngines {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			cases := goldenCases(t)
			j, unprepared := newJudges(t, e, cases)
			for _, c := range cases {
				switch {
				case !takes(j.filled, c):
				case c.several() && strings.ContainsAny(c.in, "?$") && prepare(j.hand.Raw, c.in) != nil:
					unprepared.judge(t, c)
				default:
					j.judge(t, c)
				}
			}
			for _, j := range []*judge{j, unprepared} {
				j.close()
				if j.stored == 0 && (j != unprepared || e.Server != nil) {
					t.Error("no row was stored")
				}
				for name, err := range j.notFilled {
					t.Logf("%s: %s: %v", name, notFilled[name], err)
				}
				t.Logf("%d cases executed, %d texts, %d rows; %d cases not", j.cases, j.texts, j.stored, j.not)
			}
		})
	}
}

// judge is the two databases in which golden cases are executed.
type judge struct {
	hand, filled *harness.Scratch
	keys         []handKey
	handNames    map[string]string // of the hand's keys by their texts
	dumpHand     string            // the queries for all rows
	dumpFilled   string
	tables       []goldenTable

	topic        string // whose databases are open
	targets      []goldenTarget
	off, session *sql.DB // through keyfill
	asks         bool    // keyfill has sources of the database, and asks it; elsewhere stand-ins

	notFilled map[string]error // of that list, those that did fail

	cases, texts, stored, not int
}

// newJudges makes the databases. The second judge reads and writes the same
// ones by a driver that does not prepare a text with arguments, for several
// statements in one: no server prepares those.
func newJudges(t *testing.T, e harness.Engine, cases []goldenCase) (j, unprepared *judge) {
	t.Helper()
	j, unprepared = &judge{handNames: map[string]string{}, notFilled: map[string]error{}}, &judge{notFilled: map[string]error{}}
	j.hand, unprepared.hand = twins(t, e)
	j.filled, unprepared.filled = twins(t, e)
	goldenTables(t, j.filled)
	j.tables = goldenCatalog(t, j.filled)
	for _, c := range cases {
		if c.notHere() == "" {
			j.addKeys(t, c)
		}
	}
	for _, k := range j.keys {
		const most = 200 // keys that a case may take
		for n := range int64(most) {
			j.handNames[k.key(n+1)] = fmt.Sprintf("%s#%d", k.name(), n+1)
		}
	}
	handTables(t, j.hand, j.keys)
	for _, s := range []*harness.Scratch{j.hand, j.filled} {
		orderRows(t, s, j.tables)
	}
	j.dumpHand, j.dumpFilled = dumpQuery(j.hand, j.tables), dumpQuery(j.filled, j.tables)
	unprepared.keys, unprepared.tables, unprepared.handNames = j.keys, j.tables, j.handNames
	unprepared.dumpHand, unprepared.dumpFilled = j.dumpHand, j.dumpFilled
	return j, unprepared
}

// twins returns an empty database, and the same by a driver that writes the
// arguments into the text, or has the server do so.
func twins(t *testing.T, e harness.Engine) (s, unprepared *harness.Scratch) {
	t.Helper()
	dsn := e.DSN(t)
	over := func(dsn string) *harness.Scratch {
		s := &harness.Scratch{Engine: e, Connector: harness.ConnectorOf(t, e.Driver, dsn)}
		s.Raw = sql.OpenDB(s.Connector)
		t.Cleanup(func() { s.Raw.Close() })
		return s
	}
	other := strings.NewReplacer(harness.MySQLMulti.Params, harness.MySQLMultiInterp.Params, harness.PgxDefault.Params, harness.PgxSimple.Params)
	return over(dsn), over(other.Replace(dsn))
}

// addKeys notes the key columns that a case configures, as far as the engine has
// them.
func (j *judge) addKeys(t *testing.T, c goldenCase) {
	t.Helper()
	targets, err := goldenTargets(c.archive)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range targets {
		at := slices.IndexFunc(j.tables, func(table goldenTable) bool { return table.name == g.table })
		for _, gk := range g.keys {
			k := handKey{g.table, gk.column, gk.integer && !gk.decimal, int64(len(j.keys)+1) * 1_000_000}
			known := slices.IndexFunc(j.keys, func(o handKey) bool { return o.name() == k.name() })
			switch {
			case at < 0 || !slices.Contains(j.tables[at].columns, gk.column):
			case known < 0:
				j.keys = append(j.keys, k)
			case j.keys[known].integer != k.integer:
				t.Fatalf("%s: %s is an integer in one archive and none in another", c.name, k.name())
			}
		}
	}
}

// open makes the keys of an archive those that are filled.
func (j *judge) open(t *testing.T, c goldenCase) {
	t.Helper()
	if j.topic == c.topic() {
		return
	}
	j.close()
	for _, s := range []*harness.Scratch{j.hand, j.filled} {
		if j.topic == "select" {
			for _, table := range selectTables {
				harness.Exec(t, s.Raw, "DELETE FROM "+table)
			}
		}
		if c.topic() == "select" {
			for _, query := range selectRows {
				harness.Exec(t, s.Raw, query)
			}
		}
	}
	j.topic = c.topic()
	targets, err := goldenTargets(c.archive)
	if err != nil {
		t.Fatal(err)
	}
	j.targets = targets
	harness.Exec(t, j.hand.Raw, "UPDATE kf_keys SET fill = 0")
	for _, g := range targets {
		fill := 1
		if g.fillsZero() {
			fill = 2
		}
		for _, k := range g.keys {
			harness.Exec(t, j.hand.Raw, fmt.Sprintf("UPDATE kf_keys SET fill = %d WHERE name = '%s.%s'", fill, g.table, k.column))
		}
	}
	options := goldenOptions(j.filled.Dialect, targets, false)
	if j.asks {
		options = askingOptions(options)
	}
	j.off, _ = j.filled.OpenWith(t, options)
	if slices.ContainsFunc(targets, func(g goldenTarget) bool {
		return slices.ContainsFunc(g.keys, func(k goldenKey) bool { return k.session })
	}) {
		j.session, _ = j.filled.OpenWith(t, goldenOptions(j.filled.Dialect, targets, true))
	}
}

// close closes the databases of an archive.
func (j *judge) close() {
	for _, db := range []*sql.DB{j.off, j.session} {
		if db != nil {
			db.Close()
		}
	}
	j.off, j.session = nil, nil
}

// judge executes one case with every choice of arguments.
func (j *judge) judge(t *testing.T, c goldenCase) {
	t.Helper()
	if c.notHere() != "" {
		j.not++
		return
	}
	j.open(t, c)
	listed := notExecutable[c.name]
	kinds, want, err := j.choose(c)
	switch {
	case err != nil && listed == "":
		t.Errorf("%s: the engine does not execute the original: %v\nin: %s", c.name, err, c.in)
		return
	case err != nil:
		t.Logf("%s: %s: %v", c.name, listed, err)
		j.not++
		return
	case listed != "":
		t.Errorf("%s is executed, but it is in notExecutable: %s", c.name, listed)
	}
	j.cases++
	j.stored += len(want.first)
	j.compare(t, c, argsOf(kinds, c.names()), want)
	var masks [][]argKind
	if c.atExecution {
		masks = argMasks(kinds, j.zeros(c))
	}
	for _, kinds := range masks {
		args := argsOf(kinds, c.names())
		if want, err := j.byHand(c, args); err == nil { // else the columns do not take these
			j.stored += len(want.first)
			j.compare(t, c, args, want)
		}
	}
	if notFilled[c.name] != "" && j.notFilled[c.name] == nil {
		t.Errorf("%s is executed, but it is in notFilled: %s", c.name, notFilled[c.name])
	}
}

// zeros returns what programs send for a key of the case that is not set, where
// the case has it filled.
func (j *judge) zeros(c goldenCase) (kinds []argKind) {
	for _, g := range j.targets {
		if !g.fillsZero() || !strings.Contains(c.in, g.table) {
			continue
		}
		if g.keys[0].integer {
			kinds = append(kinds, argZero)
		} else {
			kinds = append(kinds, argZeroUUID, argEmpty)
		}
	}
	return kinds
}

// choose returns the first choice of arguments that the engine takes, and what it
// stores.
func (j *judge) choose(c goldenCase) ([]argKind, goldenStored, error) {
	p := compile.Query(j.hand.Dialect, goldenLookup(j.hand.Dialect, j.targets), c.in)
	var first error
	for kinds := range argChoices(p.Placeholders()) {
		want, err := j.byHand(c, argsOf(kinds, c.names()))
		if err == nil {
			return kinds, want, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, goldenStored{}, first
}

// byHand executes the original.
func (j *judge) byHand(c goldenCase, args []any) (goldenStored, error) {
	text := goldenText{goldenCase: c, next: func() (string, []any) { return c.in, args }, behind: j.leftover(c, true)}
	return text.execute(context.Background(), j.hand.Raw, j.dumpHand, func() map[string]string { return j.handNames })
}

// compare fills the case in all ways and compares what is stored.
func (j *judge) compare(t *testing.T, c goldenCase, args []any, want goldenStored) {
	t.Helper()
	ways := []goldenWay{{"direct", j.off, false}}
	if !c.several() || prepare(j.filled.Raw, c.in) == nil {
		ways = append(ways, goldenWay{"prepared", j.off, true})
	}
	if j.session != nil {
		ways = append(ways, goldenWay{"session", j.session, false})
	}
	for _, way := range ways {
		var own *keyfill.Error
		got, err := j.fill(c, args, way)
		if errors.As(err, &own) && way.prepared && c.several() && j.filled.Dialect.Name == "sqlite" {
			continue // a text of several statements is refused there: compile.Plan.Unbound
		}
		j.report(t, c, way.name, args, want, got, err)
	}
	if len(args) > 0 && c.names() == nil && c.topic() != "select" { // whose literals are numbers that are counted
		got, err := j.inline(c, args)
		j.report(t, c, "literals", args, want, got, err)
	}
}

// report compares what is stored.
func (j *judge) report(t *testing.T, c goldenCase, way string, args []any, want, got goldenStored, err error) {
	t.Helper()
	j.texts++
	if c.topic() == "select" {
		// The engine numbers the rows in an order of its own.
		want, got = want.unordered(), got.unordered()
	}
	tell := func(what string, got, want any) {
		t.Helper()
		t.Errorf("%s, %s: %s\n%v\nbut with the keys by hand\n%v\nin:  %s\nout: %s\nargs: %v", c.name, way, what, got, want, c.in, c.out, args)
	}
	lines := func(rows []string) string { return strings.Join(rows, "\n") }
	switch why := notFilled[c.name]; {
	case err != nil && why != "":
		j.notFilled[c.name] = err
	case err != nil:
		tell("it fails", err, "not")
	case !slices.Equal(got.first, want.first):
		tell("the rows are", lines(got.first), lines(want.first))
	case (got.err == nil) != (want.err == nil):
		tell("the second time it gives", got.err, want.err)
	case !slices.Equal(got.again, want.again):
		tell("after the second time the rows are", lines(got.again), lines(want.again))
	case !slices.Equal(got.returned, want.returned):
		tell("it returns", lines(got.returned), lines(want.returned))
	}
}

// goldenWay is a way to have a text filled.
type goldenWay struct {
	name     string
	db       *sql.DB
	prepared bool
}

// fill executes the original through keyfill. The n-th key of a column is the
// one that the record has so.
func (j *judge) fill(c goldenCase, args []any, way goldenWay) (goldenStored, error) {
	ctx, rec := keyfill.Record(context.Background())
	text := goldenText{goldenCase: c, next: func() (string, []any) { return c.in, args }, prepared: way.prepared, behind: j.leftover(c, false)}
	return text.execute(ctx, way.db, j.dumpFilled, func() map[string]string {
		names, counts := map[string]string{}, map[string]int{}
		for _, k := range rec.All() {
			column := strings.TrimPrefix(k.Table, "public.") + "." + k.Column
			counts[column]++
			if key := fmt.Sprint(k.Key); names[key] == "" { // else it is one that a RETURNING gave back
				names[key] = fmt.Sprintf("%s#%d", column, counts[column])
			}
		}
		return names
	})
}

// inline executes the text with all keys as literals, which an application's
// statement gets where there would be too many arguments.
func (j *judge) inline(c goldenCase, args []any) (goldenStored, error) {
	p := compile.Query(j.filled.Dialect, goldenLookup(j.filled.Dialect, j.targets), c.in)
	values := make([]driver.NamedValue, len(args))
	for i, a := range args {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	h, err := bind.FindHoles(p, values)
	if err != nil {
		return goldenStored{}, err
	}
	names, counts, n := map[string]string{}, map[string]int{}, 0
	take := func() [][]driver.Value {
		keys := make([][]driver.Value, len(p.Draws))
		for i, d := range p.Draws {
			t := p.Inserts[d.Insert].Target
			if key := &t.Keys[d.Key]; key.Tail != "" && p.Inserts[d.Insert].Query != nil {
				n++
				keys[i] = key.TailValues("eeeeeeee-0000-7000-8000-", int64(n)<<32, h.Counts[i])
				continue
			}
			k := handKey{t.Table, t.Keys[d.Key].Column, t.Keys[d.Key].Integer, 500_000_000}
			for range h.Counts[i] {
				n++
				counts[k.name()]++
				key := k.key(int64(n))
				names[key] = fmt.Sprintf("%s#%d", k.name(), counts[k.name()])
				var v driver.Value = key
				if k.integer {
					v = k.base + int64(n)
				}
				keys[i] = append(keys[i], v)
			}
		}
		return keys
	}
	text := goldenText{goldenCase: c, next: func() (string, []any) {
		query, rest := bind.Inline(p, values, h, take(), false)
		var left []any
		for _, a := range rest {
			left = append(left, a.Value)
		}
		return query, left
	}, behind: j.leftover(c, false)}
	return text.execute(context.Background(), j.filled.Raw, j.dumpFilled, func() map[string]string { return names })
}
