package statements_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lib/pq"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/rewrite"
)

// told is the result of a statement on one side.
type told struct {
	err      error
	executed int   // how many executions of a prepared statement have succeeded
	affected int64 // of the last execution; -1 if the driver does not return it
	last     int64 // LastInsertId; 0 where it is an error
	columns  []string
	rows     []string // without the key
	ids      []string // the keys of the rows
}

// send runs a statement on both sides and compares what they say and what is
// stored. What keyfill refuses is sent nowhere.
func (r *storedRun) send(s *storedStatement) {
	if r.failed {
		return
	}
	r.renew()
	if r.oneShot && s.insert != nil && s.insert.rows < 0 {
		r.both("SELECT count(*) FROM src") // uses up SET TRANSACTION, as the count of the rows would
	}
	r.oneShot = r.twin.Dialect.Name == "mariadb" &&
		(strings.HasPrefix(s.text, "SET TRANSACTION") || r.oneShot && (strings.HasPrefix(s.text, "SET ") || strings.HasPrefix(s.text, "USE ")))
	if s.insert != nil {
		r.last = s
		r.touched[s.insert.table] = true
		if r.temporaries && r.twin.Driver == "pgx" {
			r.forget()
		}
	}
	s.count(r.twin.outcomes)
	r.texts = append(r.texts, fmt.Sprintf("%s %v, way %d", s.text, s.args, s.way))
	if os.Getenv("KEYFILL_FUZZ_SHOW") != "" {
		r.t.Log(r.texts[len(r.texts)-1])
	}
	ctx, rec := r.ctx, (*keyfill.Recorder)(nil)
	if len(r.texts)%2 == 0 { // without a recorder an INSERT may take the fast path
		ctx, rec = keyfill.Record(r.ctx)
	}
	filled := r.run(&r.filled, s, func(q speaker, text string) told { return ask(ctx, q, s, text) })
	var own *keyfill.Error
	var reason rewrite.Reason
	if errors.As(filled.err, &own) && errors.As(filled.err, &reason) {
		r.twin.outcomes["refused: "+string(reason)]++
		if r.settings && (reason == rewrite.ErrGrammar || reason == rewrite.ErrArguments) {
			r.noSQL(s)
			return
		}
		r.twin.outcomes["refused"]++
		if r.mayRefuse(s, reason) {
			r.texts[len(r.texts)-1] += ": refused"
			if filled.executed > 0 {
				// Prepared once, it was executed once.
				once := *s
				once.way = byPrepared
				r.run(&r.plain, &once, func(q speaker, text string) told { return ask(r.ctx, q, &once, text) })
			}
			return
		}
		r.finding("refused without need: %v", filled.err)
		return
	}
	if r.ended && filled.err != nil && strings.Contains(filled.err.Error(), "#transaction-ended") {
		r.twin.outcomes["behind the end of a transaction"]++
		r.texts[len(r.texts)-1] += ": the transaction was ended"
		return
	}
	if r.isStrictUnion(s, filled.err) {
		r.twin.outcomes["an error under UNION"]++
		r.texts[len(r.texts)-1] += fmt.Sprintf(": filled %v", filled.err)
		return
	}
	plain := r.run(&r.plain, s, func(q speaker, text string) told { return ask(r.ctx, q, s, text) })
	r.texts[len(r.texts)-1] += fmt.Sprintf(": affected %d, plain last %d, filled last %d, error %v", plain.affected, plain.last, filled.last, plain.err)
	if filled.err != nil && plain.err != nil && filled.err.Error() != plain.err.Error() {
		r.texts[len(r.texts)-1] += fmt.Sprintf(", filled %v", filled.err)
	}
	if (plain.err == nil) != (filled.err == nil) || plain.executed != filled.executed {
		r.finding("plain: %v\nfilled: %v", plain.err, filled.err)
		return
	}
	r.twin.outcomes["same"]++
	if plain.err != nil {
		r.twin.outcomes["errors"]++
		r.ended = r.ended || r.plain.tx != nil && s.insert != nil && s.insert.rollsBack
		if s.insert != nil && s.insert.rows < 0 {
			r.twin.outcomes["INSERT SELECT errors"]++
		}
	}
	if s.insert != nil && s.insert.rows < 0 && r.twin.IsPostgres() && isDrivers(filled.err) != isDrivers(plain.err) {
		r.goBack()
	}
	if s.insert != nil {
		r.compareInserts(s, plain, filled, rec)
	}
}

// noSQL sends plain a text that keyfill calls no SQL, which its engine must do too, and
// leaves the transaction that has failed with it.
func (r *storedRun) noSQL(s *storedStatement) {
	plain := r.run(&r.plain, s, func(q speaker, text string) told { return ask(r.ctx, q, s, text) })
	r.texts[len(r.texts)-1] += fmt.Sprintf(": refused, plain %v", plain.err)
	if plain.err == nil {
		r.finding("refused as no SQL; the engine takes it")
		return
	}
	r.goBack()
}

// goBack leaves a transaction of PostgreSQL that has failed on one side alone.
func (r *storedRun) goBack() {
	switch {
	case !r.twin.IsPostgres():
	case r.plain.tx != nil:
		r.end1(func(tx *sql.Tx) error { return tx.Rollback() }, "Rollback")
	default:
		r.both("ROLLBACK")
		r.begun = false
	}
}

// isDrivers reports whether an error is not the server's: an argument of a query that is
// counted first may be one that the driver cannot encode, where plain gets an error of the
// server for the INSERT: docs/deviations.md.
func isDrivers(err error) bool {
	var ofPgx *pgconn.PgError
	var ofPQ *pq.Error
	return err != nil && !errors.As(err, &ofPgx) && !errors.As(err, &ofPQ)
}

// compareInserts compares what both sides say of an INSERT, and what they have stored.
func (r *storedRun) compareInserts(s *storedStatement, plain, filled told, rec *keyfill.Recorder) {
	if plain.err == nil && plain.affected != filled.affected {
		r.finding("rows affected: plain %d, filled %d", plain.affected, filled.affected)
	}
	if s.insert.rows < 0 {
		// Which row gets which number is the engine's choice, and so is their order.
		slices.Sort(plain.rows)
		filled.rows, filled.ids = sortTogether(filled.rows, filled.ids)
	}
	if plain.err == nil && !slices.Equal(plain.rows, filled.rows) {
		r.finding("RETURNING: plain %q, filled %q", plain.rows, filled.rows)
	}
	r.replaced = r.replaced || (s.insert.table == "j" || s.insert.table == "joined") && s.insert.replaces
	had := r.had[s.insert.table]
	stored, err := r.compare(s.insert.table)
	if err != nil {
		return // in a transaction that has failed
	}
	rows := stored[s.insert.table]
	r.checkRecord(s, rec, rows)
	r.checkReturned(s, filled, rows)
	if plain.err == nil {
		r.checkLast(s, plain, filled, rec, had, rows)
	}
}

// sortTogether sorts rows, and their keys with them.
func sortTogether(rows, ids []string) (sortedRows, sortedIDs []string) {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(rows[a], rows[b]) })
	for _, i := range order {
		sortedRows, sortedIDs = append(sortedRows, rows[i]), append(sortedIDs, ids[i])
	}
	return sortedRows, sortedIDs
}

// mayRefuse reports whether docs/deviations.md lists the refusal of a statement of
// this form.
func (r *storedRun) mayRefuse(s *storedStatement, reason rewrite.Reason) bool {
	f := s.insert
	switch reason {
	case rewrite.ErrGap:
		return (f.table == "j" || f.table == "joined") && f.conflict
	case rewrite.ErrTransaction:
		return f.table == "j" || f.table == "m" || f.table == "joined" || r.settings && f.rows < 0
	case rewrite.ErrReadsKey:
		return (f.table == "j" || f.table == "m" || f.table == "joined") && f.updates
	case rewrite.ErrSelect:
		return (f.table == "j" || f.table == "m" || f.table == "v") && f.set
	case rewrite.ErrTogether:
		return f.several || (f.table == "j" || f.table == "joined") && f.conflict
	case rewrite.ErrSelectForm, rewrite.ErrSelectSeveral, rewrite.ErrSeveral, rewrite.ErrPerStatement:
		return f.set || f.several
	case rewrite.ErrSelectValues:
		// A temporary table would hold the rows.
		byEngine := f.table == "counted" || typedTableOf(f.table) != nil && typedTableOf(f.table).form != nil
		return f.rows < 0 && r.twin.Dialect.Name == "mariadb" && (f.merged || f.conflict || !byEngine || r.settings)
	case rewrite.ErrOrder:
		return f.rows < 0 && r.twin.Dialect.Name == "mariadb" && f.conflict
	case rewrite.ErrSet:
		return f.set
	case rewrite.ErrColumnCount, rewrite.ErrNoColumnList:
		return true
	}
	return false
}

// isStrictUnion reports whether an error may be one that is a warning without keyfill, by
// docs/deviations.md: MariaDB is not strict while it fills the temporary table of a UNION.
func (r *storedRun) isStrictUnion(s *storedStatement, err error) bool {
	var warned *mysql.MySQLError
	return errors.As(err, &warned) && slices.Contains([]uint16{1292, 1365, 1366, 1411, 1441, 1977}, warned.Number) &&
		s.insert != nil && s.insert.merged && (s.insert.table == "numbered" || s.insert.table == "joined")
}

// run sends the text of a statement as a side has it.
func (r *storedRun) run(s *side, st *storedStatement, send func(speaker, string) told) told {
	text := st.text
	if table, ok := strings.CutPrefix(text, "{create:"); ok {
		text = strings.Join(r.twin.createTable("", strings.TrimSuffix(table, "}"), s == &r.plain), "; ")
	}
	if strings.Contains(text, "{") && s.second != "" && !r.twin.IsPostgres() {
		text = strings.NewReplacer("{second}", s.second, "{first}", s.first).Replace(text)
	}
	return send(s.execer(), text)
}

// ask sends a statement in its way.
func ask(ctx context.Context, q speaker, s *storedStatement, text string) told {
	switch s.way {
	case byQuery, byFirstRow:
		rows, err := q.QueryContext(ctx, text, s.args...)
		return readAnswer(rows, err, s.way == byFirstRow)
	case byPrepared, byPreparedTwice:
		stmt, err := q.PrepareContext(ctx, text)
		if err != nil {
			return told{err: err, affected: -1}
		}
		defer stmt.Close()
		if s.way == byPreparedTwice {
			if _, err := stmt.ExecContext(ctx, s.args...); err != nil {
				return told{err: err, affected: -1}
			}
		}
		a := resultAnswer(stmt.ExecContext(ctx, s.args...))
		if s.way == byPreparedTwice {
			a.executed = 1
		}
		return a
	}
	return resultAnswer(q.ExecContext(ctx, text, s.args...))
}

func resultAnswer(res sql.Result, err error) told {
	a := told{err: err, affected: -1}
	if err != nil {
		return a
	}
	if n, err := res.RowsAffected(); err == nil {
		a.affected = n
	}
	if id, err := res.LastInsertId(); err == nil {
		a.last = id
	}
	return a
}

// readAnswer reads the rows of all results, or the first row alone.
func readAnswer(rows *sql.Rows, err error, first bool) told {
	a := told{err: err, affected: -1}
	if err != nil {
		return a
	}
	defer rows.Close()
	for {
		if a.columns, err = rows.Columns(); err != nil {
			a.err = err
			return a
		}
		at := slices.Index(a.columns, "id")
		for rows.Next() {
			id, rest := scanned(rows, len(a.columns), at)
			a.rows, a.ids = append(a.rows, rest), append(a.ids, id)
			if first {
				a.err = rows.Close()
				return a
			}
		}
		if first || !rows.NextResultSet() {
			break
		}
	}
	a.err = rows.Err()
	return a
}

// scanned returns the key of a row, empty if it has none, and the other columns.
func scanned(rows *sql.Rows, n, key int) (id, rest string) {
	values := make([]any, n)
	into := make([]any, n)
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return "", err.Error()
	}
	var b strings.Builder
	for i, v := range values {
		if raw, ok := v.([]byte); ok {
			v = string(raw)
		}
		if i == key {
			id = fmt.Sprint(v)
			continue
		}
		fmt.Fprintf(&b, "%v|", v)
	}
	return id, b.String()
}

// storedRow is one row as a table has it.
type storedRow struct{ id, rest string }

// stored is what tables hold, each in the order of its rows but for the key.
type stored map[string][]storedRow

// tables returns the rows of tables. It is one query for all of them.
func (r *storedRun) tables(s *side, names []string) (stored, error) {
	var q strings.Builder
	for i, table := range names {
		if i > 0 {
			q.WriteString(" UNION ALL ")
		}
		if table == "log" {
			q.WriteString("SELECT 'log', '', tag, 0, what, 0 FROM log")
			continue
		}
		id, rest := "CAST(id AS "+r.twin.text+")", "b"
		if typed := typedTableOf(table); typed != nil {
			id, rest = r.twin.typedRead(typed)
		}
		fmt.Fprintf(&q, "SELECT '%s', %s, u, a, %s, tag FROM %s", table, id, rest, table)
	}
	var args []any
	if r.twin.Driver == "pgx" {
		// A statement that pgx keeps prepared reads the table of before where a temporary
		// one of its name has been made since.
		args = []any{pgx.QueryExecModeSimpleProtocol}
	}
	rows, err := s.execer().QueryContext(r.ctx, q.String(), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := stored{}
	var cells [6]sql.RawBytes
	into := []any{&cells[0], &cells[1], &cells[2], &cells[3], &cells[4], &cells[5]}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		var rest []byte
		for _, cell := range cells[2:] {
			if cell == nil {
				cell = sql.RawBytes(null)
			}
			rest = append(append(rest, cell...), '|')
		}
		table := string(cells[0])
		all[table] = append(all[table], storedRow{string(cells[1]), string(rest)})
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b storedRow) int { return strings.Compare(a.rest, b.rest) })
	}
	return all, rows.Err()
}

// null is how a row shows NULL.
const null = "<nil>"

// compare compares tables on both sides and returns the filled side's. In a transaction
// that has failed neither can be read: the error says so.
func (r *storedRun) compare(tables ...string) (stored, error) {
	plain, err1 := r.tables(&r.plain, tables)
	filled, err2 := r.tables(&r.filled, tables)
	if (err1 == nil) != (err2 == nil) {
		r.finding("reading %v: plain %v, filled %v", tables, err1, err2)
		return nil, errors.Join(err1, err2)
	}
	for _, table := range tables {
		r.compareRows(table, plain[table], filled[table])
	}
	r.was = plain
	for _, table := range tables {
		r.had[table] = filled[table]
	}
	return filled, err2
}

// compareRows compares the rows of one table, and the keys that are not keyfill's.
func (r *storedRun) compareRows(table string, plain, filled []storedRow) {
	if !slices.EqualFunc(plain, filled, func(a, b storedRow) bool { return a.rest == b.rest }) {
		r.finding("%s: rows (u, a, b, tag)\nplain  %v\nfilled %v", table, plain, filled)
		return
	}
	if typed := typedTableOf(table); typed != nil && typed.form != nil {
		for _, row := range filled {
			if !typed.form.MatchString(row.id) {
				r.finding("%s: the key %q of %s is none of its source", table, row.id, row.rest)
			}
		}
		return
	}
	if table == "log" || table == "v" {
		return
	}
	if table == "p" && r.altered["p"] && r.twin.Driver == "mysql" {
		return // numbers that a failed INSERT took may be gone after an ALTER TABLE, or not
	}
	for i, row := range plain {
		ours := filled[i].id
		a, _ := strconv.ParseInt(row.id, 10, 64)
		b, _ := strconv.ParseInt(ours, 10, 64)
		if !mayHave(table, b) && !(table == "t" && mayHave("p", b)) {
			r.finding("%s: the key %s of %s is one of another table", table, ours, row.rest)
		}
		if r.twin.Server == nil && table != "p" && a >= lowest && b < lowest {
			continue // the engine has numbered it, and began at 1
		}
		if table != "p" && !isTemporary(a) && !isTemporary(b) && a >= lowest && b >= lowest {
			continue
		}
		if row.id != ours && !(i > 0 && plain[i-1].rest == row.rest || i+1 < len(plain) && plain[i+1].rest == row.rest) {
			r.finding("%s: the key of %s, which is not ours to make: plain %s, filled %s", table, row.rest, row.id, ours)
		}
	}
}

// checkRecord compares what Record says with the rows of the table. rec is nil if nothing
// was recorded.
func (r *storedRun) checkRecord(s *storedStatement, rec *keyfill.Recorder, rows []storedRow) {
	if rec == nil {
		return
	}
	keys := rec.All()
	if s.way == byPreparedTwice && (s.insert.replaces || s.insert.rollsBack || s.insert.table == "m") {
		// The second execution may have replaced rows of the first, or have stored a
		// greatest key plus one that the first has not.
		keys = keys[len(keys)/2:]
	}
	for _, k := range keys {
		key := fmt.Sprint(k.Key)
		if typed := typedTableOf(s.insert.table); typed != nil && typed.bytes {
			key = hexadecimal(key)
		}
		isThere := slices.ContainsFunc(rows, func(row storedRow) bool { return row.id == key })
		r.twin.outcomes["recorded "+k.Outcome.String()]++
		// The engine may give the number of a row that was left out to another one.
		if k.Outcome == keyfill.Stored && !isThere || k.Outcome == keyfill.NotStored && isThere && !s.insert.explicit {
			r.finding("Record says %v of the key %s; it is in the table: %v", k.Outcome, key, isThere)
		}
	}
}

// hexadecimal returns the 16 bytes of a UUID's or ULID's text as a comparison reads them.
func hexadecimal(text string) string {
	if len(text) != 26 {
		return strings.ReplaceAll(text, "-", "")
	}
	n := new(big.Int)
	for _, c := range text {
		n.Add(n.Lsh(n, 5), big.NewInt(int64(strings.IndexRune("0123456789ABCDEFGHJKMNPQRSTVWXYZ", c))))
	}
	return fmt.Sprintf("%032x", n)
}

// checkReturned compares the keys that came back, and the rows that they came with, with
// the table's.
func (r *storedRun) checkReturned(s *storedStatement, filled told, rows []storedRow) {
	if s.insert.returning != "id, u, a, b, tag" || s.insert.replaces || s.insert.updates || filled.err != nil {
		return
	}
	typed := typedTableOf(s.insert.table)
	for i, id := range filled.ids {
		if id == "" {
			continue // the row of another statement of the text
		}
		if typed != nil {
			if !hasTyped(typed, rows, id, filled.rows[i]) {
				r.finding("RETURNING gave the key %q with %s, which no row has: %v", id, filled.rows[i], rows)
			}
			continue
		}
		if !slices.Contains(rows, storedRow{id, filled.rows[i]}) {
			r.finding("RETURNING gave the key %s with %s, which no row has: %v", id, filled.rows[i], rows)
		}
	}
}

// hasTyped reports whether a row of a typed table has a key that RETURNING gave, and the
// values u, a, b and tag that came with it.
func hasTyped(typed *typedTable, rows []storedRow, id, returned string) bool {
	if typed.bytes {
		id = fmt.Sprintf("%x", id)
	}
	cells := strings.Split(returned, "|") // the last one is empty
	tag := "|" + cells[len(cells)-2] + "|"
	before := strings.TrimSuffix(returned, tag[1:])
	return slices.ContainsFunc(rows, func(row storedRow) bool {
		return row.id == id && strings.HasPrefix(row.rest, before) && strings.HasSuffix(row.rest, tag)
	})
}

// checkLast compares the row that LastInsertId names.
func (r *storedRun) checkLast(s *storedStatement, plain, filled told, rec *keyfill.Recorder, had, stored []storedRow) {
	f := s.insert
	typed := typedTableOf(f.table)
	if r.twin.IsPostgres() || f.table == "p" || f.table == "v" || s.way == byQuery || s.way == byFirstRow || typed != nil && typed.form != nil {
		return
	}
	if typed != nil && !f.conflict && !f.explicit {
		r.checkLastOfRows(filled, had, stored)
	}
	find := func(rows []storedRow, id int64) string {
		at := slices.IndexFunc(rows, func(row storedRow) bool { return row.id == strconv.FormatInt(id, 10) })
		if at < 0 || id == 0 {
			return ""
		}
		return rows[at].rest
	}
	was, is := find(r.was[f.table], plain.last), find(stored, filled.last)
	switch {
	case filled.last == 0 && was != "":
		r.twin.outcomes["LastInsertId 0"]++
	case filled.last == 0:
	case is == "":
		// A statement that stores no row leaves the id of one before, as the plain
		// driver's; a key of its own that no row has is never right.
		if wasDrawn(rec, filled.last) && (was != "" || plain.last == 0) {
			r.finding("LastInsertId %d is a key that no row has; the plain driver's is of %q", filled.last, was)
		}
	case was != "" && is != was && !f.explicit && f.rows > 0 && !f.several && !(f.idiom && f.rows > 1):
		r.finding("LastInsertId is of the row %s; that of the plain driver is of %s", is, was)
	}
}

// checkLastOfRows compares LastInsertId with the keys of the rows that a query has given:
// it is the first one, on SQLite the last one.
func (r *storedRun) checkLastOfRows(filled told, had, stored []storedRow) {
	var made []int64
	for _, row := range stored {
		if !slices.ContainsFunc(had, func(old storedRow) bool { return old.id == row.id }) {
			id, _ := strconv.ParseInt(row.id, 10, 64)
			made = append(made, id)
		}
	}
	if len(made) == 0 || int64(len(made)) != filled.affected {
		return // prepared twice, or a number of a transaction that was rolled back is there again
	}
	want := slices.Min(made)
	if r.twin.Server == nil {
		want = slices.Max(made)
	}
	if filled.last != want {
		r.finding("LastInsertId is %d, want %d: the rows got %v", filled.last, want, made)
	}
}

// wasDrawn reports whether a key is recorded as one that was drawn.
func wasDrawn(rec *keyfill.Recorder, id int64) bool {
	return rec != nil && slices.ContainsFunc(rec.All(), func(k keyfill.RecordedKey) bool { return k.Key == id })
}

// holes checks a numbering that has no gaps.
func (r *storedRun) holes(table string, rows []storedRow) {
	var ids []int64
	for _, row := range rows {
		id, err := strconv.ParseInt(row.id, 10, 64)
		if err == nil && id >= lowest && !isTemporary(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		if ids[i] != ids[i-1]+1 {
			r.finding("the numbering of %s has a hole or a number twice: %v", table, ids)
			return
		}
	}
}
