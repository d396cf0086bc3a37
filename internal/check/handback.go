package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
)

// quiet is how long no number must have been reserved until keyfill is assumed not to
// number a table any more. A process with keyfill reserves its next block of numbers before
// the last one is used up, so that a process that still inserts is noticed in this time.
const quiet = 24 * time.Hour

// usedState holds the facts about the use of a state (the stored counter of a source).
type usedState struct {
	name   string
	next   int64
	at     time.Time // when a number was last reserved
	holder string    // the process that holds a lease which has not run out; empty if there is none
}

// lookAtHandbacks adds a finding for each table whose numbering is given back to the
// engine. It says whether keyfill still numbers rows there, and so whether the entry may be
// removed.
func (c *checker) lookAtHandbacks() error {
	if found, err := c.over.Find("", "keyfill_sequences"); err != nil || found == nil || c.badTables("") {
		return nil // a finding says that keyfill's tables are unusable, or there are none, so that no state (a stored counter) can be looked at
	}
	for _, t := range c.targets {
		for i := range t.table.KeyColumns {
			k := &t.table.KeyColumns[i]
			col := t.found.Column(c.d, k.Name)
			if col == nil || col.Identity == "" || k.Rule.Source.Store != "" || !t.isHandedBack(col) && k.Rule.Source.Below == 0 {
				continue
			}
			if err := c.lookAtHandback(t, i, col); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *checker) lookAtHandback(t *target, i int, col *catalog.Column) error {
	ref := store.Column{
		Schema: t.found.Schema, Table: t.found.Name, Name: col.Name, Live: true,
		Counted: col.Identity == "AUTO_INCREMENT" || col.Identity == "AUTOINCREMENT",
	}
	states, err := c.statesUsed(ref)
	if err != nil || len(states) == 0 {
		return err
	}
	column := keycolumn.Of(c.home, ref)
	counter, err := column.Counter(c.ctx)
	if err != nil {
		return err
	}
	f := Finding{Severity: Info, Rule: ruleHandback, Table: t.found.Name, Column: col.Name, Line: t.lines(i).Source}
	if !t.isHandedBack(col) {
		greatest, err := column.MaxKey(c.ctx)
		if below := t.table.KeyColumns[i].Rule.Source.Below; err == nil && counter.Next >= below && greatest >= below && lastUse(states).isOver(c.o.Now()) {
			f.Message = "the engine numbers rows of the column, and keyfill has reserved no number since " + lastUse(states).day() +
				": after keyfill plan handback the entry is not needed any more when no process with keyfill inserts"
			f.Remedy = removeEntry(t)
			c.add(f)
		}
		return err
	}
	last := lastUse(states)
	switch {
	case counter.Next > 0 && slices.ContainsFunc(states, func(s usedState) bool { return counter.Next < s.next }):
		f.Severity = Error
		f.Message = "the engine numbers the column from below the numbers that keyfill has reserved, so that rows of both get the same key"
		f.Remedy = "run the steps that keyfill plan handback prints for the table: its first one raises the counter above them"
	case last.holder != "":
		f.Message = fmt.Sprintf("the column is not given back yet: %s holds a lease of the state %q", last.holder, last.name)
		f.Remedy = "let processes without the entry take the place of that one, and check again"
	case !last.isOver(c.o.Now()):
		f.Message = "the column is not given back yet: a process with keyfill has reserved numbers of it last at " + last.at.UTC().Format(time.RFC3339)
		f.Remedy = "let processes with mode: \"off\" take the place of the others, and check again a day after that"
	default:
		f.Message = "the column is given back: keyfill has reserved no number since " + last.day() +
			". A process that still has numbers in hand stores them below the engine's"
		f.Remedy = removeEntry(t)
	}
	c.add(f)
	return nil
}

func removeEntry(t *target) string {
	return "in the policy: remove the entry " + t.entry.Name + "; keep the row in keyfill_sequences, and never set the engine's counter back"
}

// lastUse returns the state (stored counter) that was used last. A state that a process
// leases counts as in use now.
func lastUse(states []usedState) usedState {
	return slices.MaxFunc(states, func(a, b usedState) int {
		if (a.holder == "") != (b.holder == "") {
			return strings.Compare(a.holder, b.holder)
		}
		return a.at.Compare(b.at)
	})
}

func (s usedState) isOver(now time.Time) bool { return s.holder == "" && now.Sub(s.at) >= quiet }

func (s usedState) day() string { return s.at.UTC().Format(time.DateOnly) }

// statesUsed returns the states (stored counters) that number a column: states whose rows
// name the column, and shared states that a binding row assigns to it.
func (c *checker) statesUsed(ref store.Column) ([]usedState, error) {
	table := textLiteral(c.d, ref.Table)
	if ref.Schema != "" {
		table += ", " + textLiteral(c.d, ref.Schema+"."+ref.Table)
	}
	rows, err := c.q.Rows(c.ctx, "SELECT name, parameters, table_name FROM keyfill_sequences WHERE table_name IN ("+table+") AND column_name = "+textLiteral(c.d, ref.Name))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var names []string
	for _, row := range rows {
		name := textOf(row[0])
		if textOf(row[1]) == "binding" {
			if name, err = c.boundState(name, store.Column{Table: textOf(row[2]), Name: ref.Name}); err != nil {
				return nil, err
			}
		}
		if name != "" {
			names = append(names, textLiteral(c.d, name))
		}
	}
	if names == nil {
		return nil, nil
	}
	rows, err = c.q.Rows(c.ctx, "SELECT name, next_value, "+c.engine.dated+" FROM keyfill_sequences WHERE name IN ("+strings.Join(names, ", ")+")")
	if err != nil {
		return nil, err
	}
	var states []usedState
	for _, row := range rows {
		s := usedState{name: textOf(row[0]), next: integerOf(row[1])}
		at, known := timeOf(row[2])
		if !known {
			continue
		}
		s.at = at
		if s.holder, err = c.holder(s.name); err != nil {
			return nil, err
		}
		states = append(states, s)
	}
	return states, nil
}

// longState is how many characters the name of a state (a stored counter) may have, so that
// the name of the row that binds the state has room for anything else.
const longState = 150

// boundState returns the name of the state (a stored counter) that a row binds to a column,
// empty if no row of keyfill_sequences has that name. The row's name is "state for
// table.column". A name that is too long is cut, and ends in a hash.
func (c *checker) boundState(row string, to store.Column) (string, error) {
	for at := range row {
		if strings.HasPrefix(row[at:], " for ") && binding.RowFor(row[:at], to) == row {
			return row[:at], nil
		}
	}
	rows, err := c.q.Rows(c.ctx, fmt.Sprintf("SELECT name FROM keyfill_sequences WHERE LENGTH(name) > %d", longState))
	if err != nil {
		return "", err
	}
	for _, one := range rows {
		if state := textOf(one[0]); binding.RowFor(state, to) == row {
			return state, nil
		}
	}
	return "", nil
}

// holder returns the process that holds the lease of a state (a stored counter), empty if
// no lease is held.
func (c *checker) holder(state string) (string, error) {
	now := c.engine.now
	if _, err := c.over.Find("", "keyfill_series"); err != nil || now == "" {
		return "", nil // nothing is leased
	}
	return c.text("SELECT owner FROM keyfill_series WHERE name = " + textLiteral(c.d, state) +
		" AND next_value <= series_last AND leased_until > " + now)
}
