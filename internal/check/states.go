package check

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/native"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// lookAtStates compares the state of each key (its stored counter) with its table, as
// keyfill does before the first key.
func (c *checker) lookAtStates() error {
	for _, t := range c.targets {
		for i := range t.table.KeyColumns {
			col := t.found.Column(c.d, t.table.KeyColumns[i].Name)
			if col == nil || t.isHandedBack(col) {
				continue // a finding reports the missing column, or keyfill makes no key for the column
			}
			c.lookAtState(t, i)
		}
	}
	return nil
}

func (c *checker) lookAtState(t *target, i int) {
	k := &t.table.KeyColumns[i]
	f := Finding{Severity: Error, Table: t.found.Name, Column: t.found.Column(c.d, k.Name).Name, Line: t.lines(i).Source}
	st, err := keys.StateOf(c.e, t.table, i, t.found.Table, c.find)
	switch {
	case err != nil && !hasScope(c.d, t, i):
		return // a finding about the scope (the columns of the parent) exists already
	case err != nil:
		f.Rule, f.Message = ruleState, err.Error()
		f.Remedy = cmp.Or(cureScope(c.d, t, i), "in the policy: the source of the column")
		c.add(f)
		return
	case st == nil:
		c.lookAtFloor(f, t, i)
		return
	}
	at := c.storeOf(st.Store)
	unmade := st.Row != nil && st.Row.Table == nil && !st.Row.EnsureSchema && st.Store == "" && c.lacksSequences()
	if at == nil || c.badTables(st.Store) && st.Native == nil && st.Max == 0 && !unmade {
		return // a finding about the store, or about keyfill's tables, exists already
	}
	var found sequence.Looked
	if unmade {
		err = reserver.LookUnmade(c.ctx, at, *st.Row)
	} else {
		found, err = c.look(st, at)
	}
	isOwn := st.Store != "" && st.Row != nil && c.dialectOf(st.Store).SharesFamily(c.d) && binding.ShowsSame(c.ctx, at, c.home, st.Row.Name)
	if err == nil && st.Store != "" && !isOwn && c.lookAtClaim(f, *st.Claim) {
		return
	}
	if err == nil {
		c.lookAtEnd(f, st, found)
		for _, one := range outgrowing(c.ctx, c.home, st, c.o.Now(), f) {
			c.add(one)
		}
		c.lookAtSeries(f, t, i, st, found)
		return
	}
	if stateRule(err) == ruleStateBehind && isShared(t, i, c.d) {
		return // the engine has made the greater keys, so that raising the state (the stored counter) above them would not help
	}
	if isUnread(c.d, err) {
		f.Rule, f.Message = ruleRights, "the user of the DSN may not read the column, so that the state of its keys cannot be compared with the greatest key"
		f.Remedy = c.grantOn([]string{"SELECT"}, tableName(c.d, t.found))
		c.add(f)
		return
	}
	f.Rule, f.Remedy = stateRule(err), c.cureState(t, i, st, found, err)
	if f.Rule == ruleStateBehind && st.Native != nil && k.Rule.Source.OnBehind == keysource.RemedyWarn {
		f.Severity = Warning
	}
	if text, isSQL := strings.CutSuffix(f.Remedy, ";"); isSQL && st.Store != "" {
		// The script of the remedies runs on the application's database, so a statement for
		// a store's database must not be in it.
		f.Remedy = fmt.Sprintf("in the database of the store %q, run: %s", st.Store, text)
	}
	f.Message = shownState(err)
	if f.Rule == ruleRunsOut {
		f.Message = "all keys are used: " + f.Message
	}
	c.add(f)
	if errors.Is(err, store.ErrBelow) && st.Row != nil && !st.Row.Bounds.PastCounter {
		c.lookPastCounter(f, t, i, st, at)
	}
}

// lookPastCounter looks at a state (a stored counter) again, without the engine's own
// counter, whose fault (store.ErrBelow) hides other faults of the state. It adds a finding
// about these: they should be known before the engine's counter is raised.
func (c *checker) lookPastCounter(f Finding, t *target, i int, st *keys.State, at *store.Store) {
	row := *st.Row
	row.Bounds.PastCounter = true
	past := *st
	past.Row = &row
	found, err := c.look(&past, at)
	if err == nil || isUnread(c.d, err) {
		return
	}
	f.Rule, f.Remedy, f.Message = stateRule(err), c.cureState(t, i, &past, found, err), shownState(err)
	c.add(f)
}

// lookAtFloor compares a snowflake source, if it has no stored counter, with the keys in
// its column.
func (c *checker) lookAtFloor(f Finding, t *target, i int) {
	err := keys.LookFloor(c.ctx, c.e, t.table, i, t.found.Table, c.home, c.o.Now())
	if err == nil {
		return
	}
	f.Rule, f.Message = ruleStateBehind, err.Error()
	f.Remedy = "in the policy: on_behind: warn in the source, if the greatest key is another program's; or other bits, or another source"
	if isUnread(c.d, err) {
		f.Rule, f.Message = ruleRights, "the user of the DSN may not read the column, so that the greatest key is not known"
		f.Remedy = c.grantOn([]string{"SELECT"}, tableName(c.d, t.found))
	}
	c.add(f)
}

// lookAtClaim adds a finding if the state of a column is in a store, but the application's
// own database says that another state numbers the column. It reports whether it has added
// one.
func (c *checker) lookAtClaim(f Finding, claim binding.Claim) bool {
	err := claim.Look(c.ctx, c.home)
	if err == nil {
		return false
	}
	f.Rule, f.Message, f.Remedy = stateRule(err), shownState(err), "see the message"
	var e *store.Error
	if errors.As(err, &e) && errors.Is(err, store.ErrTaken) {
		f.Remedy = "in the policy: the store of the state that goes on, in the source; or, when no process draws from the other one any more and no other table shares it, run in the application's own database: " + c.deleteState(e)
	}
	c.add(f)
	return true
}

// deleteState returns the statement that deletes the row of the state (the stored counter)
// which numbers the column already. The error e names this row.
func (c *checker) deleteState(e *store.Error) string {
	return "DELETE FROM keyfill_sequences WHERE name = " + textLiteral(c.d, lastQuoted(e.Detail))
}

// isShared reports whether the engine fills the column of a key too, which the policy does
// not allow. The rule engine-fills reports that.
func isShared(t *target, i int, d *dialect.Dialect) bool {
	return slices.ContainsFunc(t.found.Problems(d, t.table.KeyColumns[i].Wanted()), func(err error) bool {
		return errors.Is(err, catalog.ErrLive)
	})
}

// isUnread reports whether an error is the engine's answer that the user may not read a
// table of the application. An error about keyfill's tables is a *store.Error.
func isUnread(d *dialect.Dialect, err error) bool {
	var ours *store.Error
	return !errors.As(err, &ours) && stateRule(err) == ruleState && sqlcode.ClassOf(d, err) == dialect.ErrorNoRight
}

// lacksSequences reports whether the table keyfill_sequences does not exist, so that each
// state needs a row too.
func (c *checker) lacksSequences() bool {
	_, err := c.over.Find("", "keyfill_sequences")
	return c.over.IsComplete() && catalog.IsNoTable(err)
}

// look reads a state (a stored counter) from its store.
func (c *checker) look(st *keys.State, at *store.Store) (sequence.Looked, error) {
	switch {
	case st.Max > 0:
		return sequence.Looked{}, st.Claim.LookMax(c.ctx, c.home, st.Max)
	case st.Row != nil:
		if st.Store != "" {
			st.Row.At, st.Row.Claim.ClaimsAt, st.Row.Claim.ClaimedAs = c.home, c.home, st.Claim.State
		}
		return reserver.Look(c.ctx, at, *st.Row)
	case st.Native != nil:
		return native.New(c.home, *st.Native).Look(c.ctx)
	case st.Worker != nil:
		return sequence.Looked{}, st.Worker.Look(c.ctx, at)
	}
	return sequence.Looked{}, st.Claim.Look(c.ctx, c.home)
}

// stateRules map errors about states (stored counters) to rules; the first match counts.
var stateRules = []struct {
	err  error
	rule string
}{
	{store.ErrReadOnly, ruleReadOnly},
	{store.ErrRights, ruleRights},
	{store.ErrTables, ruleStateTables},
	{store.ErrAltered, ruleStateTables},
	{store.ErrRows, ruleStateTables},
	{store.ErrNoRow, ruleStateMissing},
	{store.ErrGone, ruleStateMissing},
	{store.ErrUnread, ruleStateMissing},
	{store.ErrRowGone, ruleStateMissing},
	{store.ErrStart, ruleStateMissing},
	{store.ErrFresh, ruleStateMissing},
	{store.ErrBound, ruleBoundTwice},
	{store.ErrTaken, ruleBoundTwice},
	{store.ErrStartAt, ruleBoundTwice},
	{store.ErrBegun, ruleBoundTwice},
	{store.ErrParameters, ruleStateParameters},
	{store.ErrLayout, ruleStateParameters},
	{store.ErrBehind, ruleStateBehind},
	{store.ErrNextValue, ruleStateBehind},
	{keysource.ErrExhausted, ruleRunsOut},
	{store.ErrBelow, ruleEngineFills},
	{store.ErrSequenceRight, ruleSequence},
	{store.ErrHidden, ruleState},
	{store.ErrNoNative, ruleSequence},
	{store.ErrNoSequence, ruleSequence},
	{store.ErrNoOwn, ruleSequence},
	{store.ErrIncrement, ruleSequence},
	{store.ErrNodes, ruleSequence},
	{store.ErrCycle, ruleSequence},
	{store.ErrUnordered, ruleSequence},
	{store.ErrOtherSequence, ruleSequence},
	{store.ErrKeyTable, ruleKeyTable},
	{store.ErrKeyType, ruleKeyTable},
	{store.ErrKeyEngine, ruleKeyTable},
	{store.ErrKeyRows, ruleKeyTable},
	{store.ErrKeyValue, ruleKeyTable},
	{store.ErrProcedure, ruleKeyTable},
}

func stateRule(err error) string {
	for _, one := range stateRules {
		if errors.Is(err, one.err) {
			return one.rule
		}
	}
	return ruleState
}

// shownState returns the text of an error about a state without the statement that
// mends it, which is the remedy.
func shownState(err error) string {
	var e *store.Error
	if !errors.As(err, &e) {
		return shown(err).Error()
	}
	plain := *e
	plain.SQL = ""
	return plain.Error()
}

// cureState returns the remedy for a state (a stored counter) that cannot be used as it is.
func (c *checker) cureState(t *target, i int, st *keys.State, found sequence.Looked, err error) string {
	var e *store.Error
	errors.As(err, &e)
	switch rule := stateRule(err); {
	case rule == ruleStateBehind && found.Unmade:
		return "in the policy: no start: in the source, so that its keys begin above the greatest one, or a start: above that"
	case rule == ruleStateBehind && st.Native != nil:
		return raiseSequence(c.d, found.Sequence, st.Native.Columns)
	case rule == ruleStateBehind && st.Row != nil && st.Row.Table == nil && st.Store == "" && !st.Maps:
		return raiseState(c.d, t, st.Row, found.KeysEnd)
	case rule == ruleStateBehind:
		return "set the state above the greatest key of all columns that it serves"
	case errors.Is(err, store.ErrTaken) && e != nil:
		// It is not known here whether other processes still draw from the state that
		// numbers the column already. If its row were deleted, they would begin again,
		// below numbers that they have reserved.
		return "in the policy: name: of the state that goes on, in the source; or, when no process draws from the other one any more and no other table shares it, run: " + c.deleteState(e)
	case errors.Is(err, store.ErrStartAt):
		return "in the policy: start_at: above all numbers that the other state has reserved, or the steps of keyfill plan change where that one is no sequence"
	case errors.Is(err, store.ErrBegun):
		return "in the policy: the source with start_at"
	case errors.Is(err, store.ErrStart) && e != nil && e.SQL != "":
		if col := t.found.Column(c.d, t.table.KeyColumns[i].Name); !t.found.IsInUnique(col.Name) {
			return createUnique(c.d, t.found, []string{col.Name}) // the remedy of the rule not-unique
		}
		return e.SQL + ";"
	case errors.Is(err, store.ErrStart):
		return "in the policy, for table " + t.entry.Name + ": start: in the source, above all keys"
	case rule == ruleStateTables:
		return c.createTables(st.Store)
	case rule == ruleSequence && errors.Is(err, store.ErrNoOwn):
		return "in the policy: sequence: with the name of one, in the source"
	case e != nil && e.SQL != "" && !strings.Contains(e.SQL, "<"):
		if errors.Is(err, store.ErrNoRow) && st.Row.EnsureSchema && st.Store == "" && c.lacksSequences() {
			return createTables(c.d) + "\n" + e.SQL + ";" // the statement needs keyfill's tables, which the first INSERT would otherwise create
		}
		return e.SQL + ";"
	case e != nil && e.SQL != "":
		return "run, with the number filled in: " + e.SQL
	case rule == ruleBoundTwice:
		return "in the policy: name: in the source, another one for each table"
	case rule == ruleStateParameters:
		return "in the policy: the fields of the source as they were, or another name: and a start above all keys"
	case rule == ruleRights:
		return "GRANT SELECT, INSERT, UPDATE on keyfill_sequences and keyfill_workers, and DELETE too on keyfill_series, to the user of the DSN"
	}
	return "see the message"
}

// raiseSequence returns the statement that sets a sequence of the engine, as SQL names
// it, above the keys of the columns that it serves.
func raiseSequence(d *dialect.Dialect, sequence string, columns []store.Column) string {
	text := native.RaiseStatement(d, sequence, columns)
	if strings.Contains(text, "<") {
		return "run, with the number filled in: " + text
	}
	return text + ";"
}

// raiseState returns the statement that raises a state above the keys of all columns that
// it serves. It never lowers a state, however late it runs: processes may have reserved
// numbers above the greatest key. Keys from keysEnd on are not the state's.
func raiseState(d *dialect.Dialect, t *target, row *sequence.Sequence, keysEnd int64) string {
	var greatest []string
	for _, column := range row.Columns {
		if column.Unranked {
			return "set the state above the greatest key of all columns that it serves"
		}
		name, table := d.QuoteIdent(column.Name), d.QuoteIdent(column.Table)
		if column.Schema != "" {
			table = d.QuoteIdent(column.Schema) + "." + table
		}
		if len(row.Columns) == 1 {
			table = tableName(d, t.found)
		}
		greatest = append(greatest, fmt.Sprintf("SELECT MAX(%s) AS k FROM %s%s", name, table, row.Bounds.Where(name, keysEnd)))
	}
	all := fmt.Sprintf("(SELECT COALESCE(MAX(k), 0) FROM (%s) served)", strings.Join(greatest, " UNION ALL "))
	return fmt.Sprintf("UPDATE keyfill_sequences SET next_value = %s + 1 WHERE name = %s AND next_value <= %s;", all, textLiteral(d, row.Name), all)
}

// textLiteral returns a text as a string of SQL.
func textLiteral(d *dialect.Dialect, text string) string {
	if d.Lexis.BackslashEscapes {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// lastQuoted returns the last text in quotes of a detail: the name of a row.
func lastQuoted(detail string) string {
	end := strings.LastIndexByte(detail, '"')
	for begin := end - 1; begin >= 0; begin-- {
		if detail[begin] != '"' || begin > 0 && detail[begin-1] == '\\' {
			continue // a quote inside the text has a backslash before it
		}
		if text, err := strconv.Unquote(detail[begin : end+1]); err == nil {
			return text
		}
	}
	return detail
}

// createTables returns the statements that create keyfill's tables.
func (c *checker) createTables(store string) string { return createTables(c.dialectOf(store)) }

func createTables(d *dialect.Dialect) string {
	return strings.Join(store.DDL(d), ";\n") + ";"
}
