package statements_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/rewrite"
)

// movesRun is one program on both sides.
type movesRun struct {
	*moved
	t       testing.TB
	number  string // of the program
	choices *storedRun
	ctx     context.Context
	tag     int // of the row that was written last
	tx      string
	saved   bool           // there is a savepoint
	loose   map[int]bool   // rows whose table may be another one on each side
	told    map[int]string // keys that were returned, by the tags of their rows
	texts   []string       // what was sent, for a finding
}

func (w *moved) run(t testing.TB, number string, input []byte) bool {
	ctx, cancel := context.WithTimeout(context.Background(), harness.Limit)
	defer cancel()
	w.ran++
	w.failed = false
	r := &movesRun{moved: w, t: t, number: number, choices: &storedRun{input: input}, ctx: ctx, loose: map[int]bool{}, told: map[int]string{}}
	for _, text := range w.home() {
		r.send(&movesStep{text: text, alters: true})
	}
	for range maxStored {
		if r.choices.at >= len(input) || w.failed {
			break
		}
		r.step()
	}
	if !w.failed {
		r.end(false)
		r.compare()
	}
	w.dirty = w.dirty || w.failed
	if w.Server != nil && !w.dirty {
		for _, text := range w.home() {
			r.send(&movesStep{text: text, alters: true})
		}
		if err := w.clean(ctx); err != nil {
			r.finding("%v", err)
			w.dirty = true
		}
	}
	return w.Server != nil && !w.dirty
}

// home returns the texts that take a session to a, without temporary tables.
func (w *moved) home() []string {
	switch {
	case w.IsPostgres():
		return []string{"DISCARD TEMP", "SET search_path = a, public"}
	case w.Server != nil:
		return []string{"USE {a}", "DROP TEMPORARY TABLE IF EXISTS {a}.t, {a}.j, {b}.t, {b}.j, {c}.t, {c}.j"}
	}
	return []string{"{attach:b}"}
}

func (r *movesRun) pick(k int) int          { return r.choices.pick(k) }
func (r *movesRun) one(of ...string) string { return r.choices.one(of...) }

func (r *movesRun) step() {
	native := strings.HasPrefix(r.Name, nativeName)
	switch k := r.pick(20); {
	case k < 9:
		r.send(r.insert(true))
	case k < 12:
		r.move()
	case k < 15:
		r.transaction()
	case k < 17 && r.tx == "" && r.IsPostgres() && r.pick(4) == 0:
		r.elsewhere()
	case k < 17:
		for _, s := range r.names() {
			r.send(s)
		}
	case native:
		r.batch()
	case k == 17:
		r.move()
	default:
		r.send(r.insert(true))
	}
}

// insert makes an INSERT with a bare name.
func (r *movesRun) insert(prepares bool) *movesStep {
	s := &movesStep{table: r.one(append([]string{"t", "t", "t", "j"}, r.tables()...)...)}
	b := r.Builder()
	bind := func(v int) string { return fmt.Sprint(v) }
	if r.pick(3) > 0 {
		bind = func(v int) string { return b.Bind(v) }
	}
	form := r.pick(8)
	columns := []string{" (x, y, w)", " (w, x, y)", " (y, w, x)"}[r.pick(3)]
	switch {
	case form == 0 && s.table != "m":
		r.tag += 2
		s.tags = []int{r.tag - 1, r.tag}
		v := 10*r.tag - 10
		fmt.Fprintf(b, "INSERT INTO %s%s SELECT %d + 10 * k, %d + 10 * k, %d + 10 * k FROM {src}", s.table, columns, v, v+1, v+2)
		if r.IsPostgres() && r.pick(3) == 0 {
			fmt.Fprintf(b, ", public.use_tenant('%s') AS u", r.one("a", "b", "c,a"))
			s.alters = true // which table is meant was decided before
		}
	default:
		rows := 1 + r.pick(4)/3
		key := ""
		if form == 1 && s.table != "v" {
			if columns, key = "", "DEFAULT, "; r.Server == nil {
				key = "NULL, "
			}
		}
		fmt.Fprintf(b, "INSERT INTO %s%s VALUES ", s.table, columns)
		for i := range rows {
			r.tag++
			s.tags = append(s.tags, r.tag)
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(b, "(%s%s, %s, %s)", key, bind(10*r.tag), bind(10*r.tag+1), bind(10*r.tag+2))
		}
	}
	s.way = byExec
	if prepares {
		s.way = r.choices.one2(byExec, byExec, byQuery, byPrepared, byHeld, byHeld)
	}
	if (r.IsPostgres() || r.Server == nil) && (s.way == byQuery || r.pick(3) == 0) {
		s.rows = true
		b.WriteString(" RETURNING id, x")
		if s.way != byHeld {
			s.way = byQuery
		}
	} else if s.way == byQuery {
		s.way = byExec
	}
	s.text, s.args = b.String(), b.Args
	return s
}

// move sends what takes the session elsewhere.
func (r *movesRun) move() {
	for _, text := range r.moves() {
		r.send(&movesStep{text: text, alters: !r.IsPostgres()})
	}
}

// moves returns texts that take the session elsewhere.
func (r *movesRun) moves() []string {
	switch {
	case r.IsPostgres():
		path := r.one("a, public", "b, public", "c, a, public", "b, a, public", "a, pg_temp, public")
		tenant := r.one("a", "b", "b", "c,a")
		return []string{r.one(
			"SET search_path = "+path,
			"SET search_path = "+path,
			"SET SESSION search_path TO "+path,
			"SET LOCAL search_path = "+path,
			"SET LOCAL search_path TO "+path,
			"SELECT set_config('search_path', '"+path+"', false)",
			"SELECT set_config('search_path', '"+path+"', true)",
			"SELECT 1 AS ok FROM set_config('search_path', '"+path+"', false)",
			"INSERT INTO public.log SELECT set_config('search_path', '"+path+"', false)",
			"SELECT public.use_tenant('"+tenant+"')",
			"SELECT 1 AS ok FROM public.use_tenant('"+tenant+"') AS u",
			"WITH u AS (SELECT public.use_tenant('"+tenant+"')) SELECT * FROM u",
			"INSERT INTO public.log (what) SELECT 'x' AS x FROM public.use_tenant('"+tenant+"')",
			"INSERT INTO public.moving VALUES ('"+tenant+"')",
			"INSERT INTO public.moving (name) VALUES ('"+tenant+"')",
			"SELECT public.use_locally('"+tenant+"')",
			"DO $$ BEGIN PERFORM public.use_tenant('"+tenant+"'); END $$")}
	case r.Server != nil:
		return []string{r.one("USE {a}", "USE {b}", "USE {b}", "USE {c}")}
	}
	if r.tx != "" {
		return []string{r.one("{attach:b}", "{attach:c}")} // a file that keyfill has looked into is not let go
	}
	return []string{r.one("{attach:b}", "DETACH b", "{attach:c}", "DETACH c")}
}

// names returns what makes or renames tables of a name, or drops them.
func (r *movesRun) names() []*movesStep {
	table := r.one("t", "t", "j")
	columns := " ({key:temp." + table + "}, x INT, y INT, w INT)"
	alter := func(texts ...string) (steps []*movesStep) {
		for _, text := range texts {
			steps = append(steps, &movesStep{text: text, alters: true, changes: strings.HasPrefix(text, "ALTER TABLE") && !strings.Contains(text, "temp")})
		}
		return steps
	}
	k := r.pick(10)
	switch {
	case k == 0 && r.IsPostgres():
		return alter("ALTER TABLE "+table+" DROP COLUMN x", "ALTER TABLE "+table+" ADD COLUMN x INT")
	case k == 1:
		return alter("ALTER TABLE {a}." + table + " RENAME TO " + onlyIf(r.Server != nil && !r.IsPostgres(), "{a}.") + "old" + table)
	case k == 2:
		return alter("ALTER TABLE {a}.old" + table + " RENAME TO " + onlyIf(r.Server != nil && !r.IsPostgres(), "{a}.") + table)
	case k < 5:
		return alter(created("c", table)...)
	case k == 5:
		return alter("DROP TABLE IF EXISTS {c}." + table)
	case r.IsPostgres():
		return alter(r.one(
			"CREATE TEMP TABLE "+table+columns,
			"CREATE TEMP TABLE "+table+columns+" ON COMMIT DROP",
			"CREATE TEMPORARY TABLE pg_temp."+table+columns,
			"SELECT public.make_temporary('"+table+"')",
			"SELECT 1 AS ok FROM public.make_temporary('"+table+"') AS m",
			"DROP TABLE IF EXISTS pg_temp."+table,
			"SELECT public.drop_temporary('"+table+"')",
			"DROP TABLE IF EXISTS c."+table,
			"DISCARD TEMP",
			"ALTER TABLE pg_temp."+table+" RENAME TO other",
			"ALTER TABLE pg_temp.other RENAME TO "+table))
	case r.Server != nil:
		return alter(r.one(
			"CREATE TEMPORARY TABLE "+table+columns+" AUTO_INCREMENT = 9000000000",
			"CREATE TEMPORARY TABLE {b}."+table+columns+" AUTO_INCREMENT = 9000000000",
			"DROP TEMPORARY TABLE IF EXISTS "+table,
			"DROP TEMPORARY TABLE IF EXISTS {b}."+table))
	}
	if r.pick(3) == 0 {
		return alter("DROP TABLE IF EXISTS temp." + table)
	}
	return alter(r.one("CREATE TEMP TABLE ", "CREATE TABLE temp.")+table+columns,
		"INSERT OR IGNORE INTO temp."+table+" (id) VALUES (9000000000)")
}

// transaction begins or ends one, or sets a savepoint in it.
func (r *movesRun) transaction() {
	switch {
	case r.tx == "" && r.pick(2) == 0:
		r.tx, r.saved = "text", false
		r.send(&movesStep{text: "BEGIN"})
	case r.tx == "":
		r.tx, r.saved = "begun", false
		r.both("begin", func(m mover) error { return m.begin(r.ctx) })
	default:
		switch r.pick(6) {
		case 0, 1:
			r.end(true)
		case 2:
			r.end(false)
		case 3, 4:
			r.saved = true
			r.send(&movesStep{text: "SAVEPOINT s"})
		default:
			r.send(&movesStep{text: r.one("ROLLBACK TO SAVEPOINT s", "RELEASE SAVEPOINT s")})
			r.saved = false
			r.epoch++
		}
	}
}

// elsewhere has another connection make, or drop, a table of a name in an earlier schema.
func (r *movesRun) elsewhere() {
	table := r.one("t", "j", "t")
	texts := created("c", table)
	if r.pick(3) == 0 {
		texts = []string{"DROP TABLE IF EXISTS c." + table}
	}
	r.note("another connection: " + texts[0])
	r.epoch++
	for i, keeper := range r.keepers {
		for _, text := range texts {
			if _, err := keeper.ExecContext(r.ctx, r.named(i, text)); err != nil {
				break // it is there
			}
		}
	}
}

// both does something on both sides, and compares the errors.
func (r *movesRun) both(what string, do func(mover) error) {
	r.note(what)
	filled, plain := do(r.movers[1]), do(r.movers[0])
	if (plain == nil) != (filled == nil) {
		r.finding("%s: plain %v, filled %v", what, plain, filled)
	}
}

// end ends the transaction, if there is one.
func (r *movesRun) end(commit bool) {
	tx := r.tx
	r.tx = ""
	r.epoch++ // what was made in it may be gone
	switch {
	case tx == "begun":
		r.both("end "+strconv.FormatBool(commit), func(m mover) error { return m.end(r.ctx, commit) })
	case tx == "text" && commit:
		r.send(&movesStep{text: "COMMIT"})
	case tx == "text":
		r.send(&movesStep{text: "ROLLBACK"})
	}
}

func (r *movesRun) note(what string) {
	r.texts = append(r.texts, what)
	if os.Getenv("KEYFILL_FUZZ_SHOW") != "" {
		r.t.Log(what)
	}
}

// text returns a step's text as a side has it.
func (r *movesRun) text(i int, text string) string {
	if name, ok := strings.CutPrefix(text, "{attach:"); ok {
		return r.attach(i, strings.TrimSuffix(name, "}"))
	}
	return r.named(i, text)
}

// sends notes what is known of a step that is about to be sent.
func (r *movesRun) sends(s *movesStep) {
	r.note(fmt.Sprintf("%s %v, way %d", s.text, s.args, s.way))
	r.dirty = r.dirty || s.changes
	if s.table != "" {
		// A statement that is kept prepared reaches the table of before; pgx takes it for a
		// direct execution of its text, too.
		held := "held " + s.text
		key := s.text
		if s.way == byHeld || s.way == byPrepared {
			key = held
		}
		if _, ok := r.since[key]; !ok {
			r.since[key] = r.epoch
		}
		first, keeps := r.since[held]
		if direct, ok := r.since[s.text]; ok && strings.HasSuffix(r.Name, "cache_statement") && (!keeps || direct < first) {
			first, keeps = direct, true
		}
		for _, tag := range s.tags {
			r.loose[tag] = keeps && first < r.epoch
		}
	}
	if s.alters {
		r.epoch++
	}
}

// send sends a step on both sides, and compares what they say and what is stored.
func (r *movesRun) send(s *movesStep) {
	if r.failed {
		return
	}
	r.sends(s)
	ctx, rec := keyfill.Record(r.ctx)
	filled := r.movers[1].send(ctx, s, r.text(1, s.text))
	if r.leftOut(s, []told{filled}, false) {
		return
	}
	plain := r.movers[0].send(r.ctx, s, r.text(0, s.text))
	r.answered([]*movesStep{s}, []told{plain}, []told{filled}, rec)
}

// batch sends several steps together.
func (r *movesRun) batch() {
	var steps []*movesStep
	within := r.tx == "" && r.pick(4) == 0
	if within {
		steps = append(steps, &movesStep{text: "BEGIN"})
	}
	for range 2 + r.pick(4) {
		switch k := r.pick(6); {
		case k < 3:
			steps = append(steps, r.insert(false))
		case k < 5:
			steps = append(steps, &movesStep{text: r.moves()[0]})
		default:
			steps = append(steps, r.names()...)
		}
	}
	if within {
		steps = append(steps, &movesStep{text: r.one("COMMIT", "ROLLBACK")})
	}
	var texts [2][]string
	r.note("a batch of")
	for _, s := range steps {
		r.sends(s)
		for i := range texts {
			texts[i] = append(texts[i], r.text(i, s.text))
		}
	}
	r.note("is sent")
	r.epoch++
	ctx, rec := keyfill.Record(r.ctx)
	filled := r.movers[1].batch(ctx, steps, texts[1])
	was := r.tx
	if within && filled[len(filled)-1].err != nil {
		r.tx = "text"
	}
	if r.leftOut(nil, filled, true) {
		r.goBack() // what was drawn for a batch that is not sent ends its transaction
		return
	}
	r.tx = was
	plain := r.movers[0].batch(r.ctx, steps, texts[0])
	if within && plain[len(plain)-1].err != nil {
		r.tx = "text"
	}
	r.answered(steps, plain, filled, rec)
}

// leftOut reports whether keyfill has refused a step, which is sent nowhere then, or has
// ended the transaction because a name means another table.
func (r *movesRun) leftOut(s *movesStep, filled []told, batched bool) bool {
	err := filled[len(filled)-1].err
	var own *keyfill.Error
	var reason rewrite.Reason
	switch {
	case err != nil && strings.Contains(err.Error(), "#name-moved") || batched && regexp.MustCompile(`keyfill: \w+ is not [\w.]+"`).MatchString(fmt.Sprint(err)):
		r.outcomes["moved"]++
		r.note("moved")
		if !batched && r.tx == "" {
			r.finding("outside of a transaction: %v", err)
			return true
		}
		r.goBack()
		return true
	case err != nil && (strings.Contains(err.Error(), "#no-table") || (batched || r.tx != "") && isUndrawn.MatchString(err.Error())):
		// A table that was not there is looked at again after a second, and nothing is drawn
		// from the numbering of one that is gone.
		r.outcomes["not there"]++
		r.note("not there")
		r.goBack()
		return true
	case errors.As(err, &own) && errors.As(err, &reason):
		r.outcomes["refused: "+string(reason)]++
		r.note("refused")
		switch {
		case batched && slices.Contains(refusedInBatch, reason):
		case !batched && reason == rewrite.ErrNoColumnList && r.movers[0].send(r.ctx, s, r.text(0, s.text)).err != nil:
			r.goBack() // there is no such table
		case !batched && reason == rewrite.ErrNoColumnList && r.IsPostgres():
			// The table that was known was dropped by another connection, as between programs.
			r.outcomes["dropped elsewhere"]++
			r.failed, r.dirty = true, true // no finding, but the sides are not equal any more
		default:
			r.finding("refused without need: %v", err)
		}
		return true
	}
	return false
}

// goBack leaves a transaction that has failed, or goes back in it.
func (r *movesRun) goBack() {
	if r.tx != "" && r.saved && r.pick(2) == 0 {
		r.send(&movesStep{text: "ROLLBACK TO SAVEPOINT s", alters: true})
		r.saved = false
	} else {
		r.end(false)
	}
	r.compare()
}

// isUndrawn matches the errors of a numbering whose table is not there.
var isUndrawn = regexp.MustCompile("#(greatest-key|no-row)]")

// refusedInBatch are the refusals of a batch that docs/deviations.md lists.
var refusedInBatch = []rewrite.Reason{rewrite.ErrTogether, rewrite.ErrNoColumnList, rewrite.ErrSeveral, rewrite.ErrSelectSeveral, rewrite.ErrTransaction}

// answered compares what both sides say.
func (r *movesRun) answered(steps []*movesStep, plain, filled []told, rec *keyfill.Recorder) {
	p, f := plain[len(plain)-1], filled[len(filled)-1]
	r.note(fmt.Sprintf("error %v", p.err))
	if (p.err == nil) != (f.err == nil) {
		if !slices.ContainsFunc(steps, func(s *movesStep) bool { return len(s.tags) > 0 && r.loose[s.tags[0]] }) {
			r.finding("plain: %v\nfilled: %v", p.err, f.err)
			return
		}
		r.outcomes["errors of kept statements"]++
		r.failed, r.dirty = true, true // no finding, but the sides are not equal any more
		return
	}
	if errors.Is(p.err, driver.ErrBadConn) || errors.Is(p.err, sql.ErrConnDone) {
		r.failed = true
		return
	}
	if p.err != nil {
		r.outcomes["errors"]++
		r.goBack()
		return
	}
	for i, s := range steps {
		if s.table == "" {
			r.outcomes["sent"]++
			continue
		}
		r.outcomes["same"]++
		if plain[i].affected != filled[i].affected {
			r.finding("rows affected: plain %d, filled %d", plain[i].affected, filled[i].affected)
		}
		if s.rows && len(filled[i].ids) != len(s.tags) {
			r.finding("RETURNING gave %q", filled[i].ids)
		}
		for n, id := range filled[i].ids {
			x := regexp.MustCompile(`\d+`).FindString(filled[i].rows[n])
			v, _ := strconv.Atoi(x)
			r.told[v/10] = id
		}
		if last := filled[i].last; last > 0 && len(s.tags) == 1 && s.table != "v" {
			r.told[s.tags[0]] = fmt.Sprint(last)
		}
	}
	stored := r.compare()
	if stored == nil || r.failed || steps[len(steps)-1].text == "ROLLBACK" || slices.Contains(slices.Collect(maps.Values(r.loose)), true) {
		return
	}
	for _, k := range rec.All() {
		key := fmt.Sprint(k.Key)
		r.outcomes["recorded "+k.Outcome.String()]++
		isThere := false
		for _, row := range stored {
			isThere = isThere || row.id == key
		}
		if k.Outcome == keyfill.Stored && !isThere || k.Outcome == keyfill.NotStored && isThere {
			r.finding("Record says %v of the key %s; it is in a table: %v", k.Outcome, key, isThere)
		}
	}
}

// movedRow is a row, and the table that has it.
type movedRow struct{ schema, table, id, rest string }

// compare compares the rows of all tables, and returns the filled side's by their tags.
// In a transaction nothing is read: the result is nil.
func (r *movesRun) compare() map[int]movedRow {
	if r.failed || r.tx != "" {
		return nil
	}
	plain, filled := r.rows(0), r.rows(1)
	for tag, row := range filled {
		was, ok := plain[tag]
		switch {
		case !ok:
			r.finding("plain has no row like %v", row)
		case was.rest != row.rest && !r.loose[tag], was.schema != row.schema && !r.loose[tag], was.table != row.table:
			r.finding("plain has %v, filled %v", was, row)
		}
		if id, _ := strconv.ParseInt(row.id, 10, 64); row.table != "v" && !isOfTable(row.schema, strings.TrimPrefix(row.table, "old"), id) {
			r.finding("the row %v has a key of another table", row)
		}
		if id := r.told[tag]; id != "" && id != row.id {
			r.finding("the key %s is reported of the row %v", id, row)
		}
	}
	for tag, row := range plain {
		if _, ok := filled[tag]; !ok && !r.loose[tag] {
			r.finding("filled has no row like %v", row)
		}
	}
	return filled
}

// rows returns the rows of a side.
func (r *movesRun) rows(i int) map[int]movedRow {
	all := map[int]movedRow{}
	ids := func(where, query string) {
		a := r.movers[i].read(r.ctx, query)
		for n, id := range a.ids {
			r.keep(all, where, id, a.rows[n])
		}
	}
	for _, table := range []string{"t", "j", "other"} {
		switch {
		case r.IsPostgres():
			ids("temp "+table, "SELECT id, x, y, w FROM pg_temp."+table)
		case r.Server == nil:
			ids("temp "+table, "SELECT id, x, y, w FROM temp."+table)
		case table != "other":
			// Those that stand before tables of their schemas: no other connection sees them.
			ids("temp "+table, r.named(i, "SELECT id, x, y, w FROM {a}."+table+" WHERE id >= 9000000000"))
			ids("temp "+table, r.named(i, "SELECT id, x, y, w FROM {b}."+table+" WHERE id >= 9000000000"))
			ids("temp "+table, r.named(i, "SELECT id, x, y, w FROM {c}."+table+" WHERE id >= 9000000000"))
		}
	}
	if r.Server == nil {
		for _, schema := range []string{"a", "b", "c"} {
			for _, table := range append([]string{"oldt", "oldj"}, r.tables()...) {
				ids(schema+" "+table, r.named(i, "SELECT id, x, y, w FROM {"+schema+"}."+table))
			}
		}
		return all
	}
	rows, err := r.keepers[i].QueryContext(r.ctx, r.all(i))
	if err != nil {
		r.finding("%v", err)
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		var where, id, rest string
		if err := rows.Scan(&where, &id, &rest); err != nil {
			r.finding("%v", err)
		}
		r.keep(all, where, id, rest)
	}
	return all
}

// all returns the query for the rows of all tables of a server's side.
func (r *movesRun) all(i int) string {
	list := "SELECT schemaname, tablename FROM pg_catalog.pg_tables WHERE schemaname IN ('a', 'b', 'c')"
	if !r.IsPostgres() {
		list = r.named(i, "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema IN ('{a}', '{b}', '{c}') AND table_name NOT LIKE 'keyfill%' AND table_name <> 'src'")
	}
	tables, err := r.keepers[i].QueryContext(r.ctx, list)
	if err != nil {
		r.finding("%v", err)
		return ""
	}
	defer tables.Close()
	var queries []string
	for tables.Next() {
		var schema, table string
		if err := tables.Scan(&schema, &table); err != nil {
			r.finding("%v", err)
		}
		if r.IsPostgres() {
			queries = append(queries, fmt.Sprintf("SELECT '%[1]s %[2]s', id::text, (to_jsonb(r) - 'id')::text FROM %[1]s.%[2]s AS r", schema, table))
			continue
		}
		for name, real := range r.schemas[i] {
			if real == schema {
				queries = append(queries, fmt.Sprintf("SELECT '%s %s', CAST(id AS CHAR(40)), CONCAT_WS(' ', x, y, w) FROM %s.%[2]s", name, table, schema))
			}
		}
	}
	return strings.Join(queries, " UNION ALL ")
}

var isNumber = regexp.MustCompile(`\d+`)

// keep adds a row. One without a value is the first of its table.
func (r *movesRun) keep(all map[int]movedRow, where, id, rest string) {
	first := isNumber.FindString(rest)
	if first == "" {
		return
	}
	v, _ := strconv.Atoi(first)
	schema, table, _ := strings.Cut(where, " ")
	if again, ok := all[v/10]; ok {
		r.finding("a row is stored twice: %v, %s %s %s", again, where, id, rest)
	}
	all[v/10] = movedRow{schema, table, id, rest}
}

func (r *movesRun) finding(format string, args ...any) {
	r.t.Helper()
	r.failed = true
	r.t.Errorf("%s, program %s\n%s\nafter:\n\t%s", r.Name, r.number, fmt.Sprintf(format, args...), strings.Join(r.texts, "\n\t"))
}
