package audit

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/internal/store/scope"
	"github.com/keyfill/keyfill/internal/store/staterow"
)

// readState reads the next number of the state (a stored counter), or reports that the
// state cannot be compared if it is not stored there.
func (r *run) readState() error {
	if r.states != "" {
		var incarnation sql.NullString
		err := r.tx.QueryRowContext(r.ctx, "SELECT next_value, incarnation FROM "+r.states+" WHERE name = "+r.dialect.Placeholder(1), r.state).Scan(&r.sum.Next, &incarnation)
		if end := staterow.EndOf(incarnation.String); end > 0 {
			r.limit(end)
		}
		if err == nil || !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	return r.notCompared()
}

// notCompared reports a finding that says why the state (a stored counter) was not
// compared.
func (r *run) notCompared() error {
	why := fmt.Sprintf("keyfill_sequences has no row %s", r.state)
	switch {
	case r.isElsewhere():
		why = "it is not in keyfill_sequences of this database"
	case r.states == "":
		why = "no keyfill_sequences is found where the DSN connects to"
	case r.parents != nil:
		why += "[…] of a parent"
	}
	return r.found(Finding{Rule: ruleState, Severity: severityInfo, Message: "the state was not compared with the rows: " + why})
}

// isElsewhere reports whether the state (the stored counter) is not in the table
// keyfill_sequences of this database.
func (a *Audit) isElsewhere() bool {
	s := a.key.Source
	return s.Store != "" || s.Table != nil || s.Procedure != "" || s.Upstream != ""
}

// page is how many rows of keyfill_sequences are read at a time.
const page = 500

// parentState is the state (a stored counter) of the rows within some values.
type parentState struct {
	values []any
	next   int64
}

// compareParents compares the state (a stored counter) of each parent with the numbers
// within it.
func (r *run) compareParents() error {
	compared, unread := 0, 0
	for last, more := "", true; more; {
		p, err := r.parentStates(last)
		if err != nil {
			return err
		}
		found, err := r.findParents(p.hashed)
		if err != nil {
			return err
		}
		states := append(p.states, found...)
		for _, s := range states {
			if err := r.compareParent(s); err != nil {
				return err
			}
		}
		compared += len(states)
		unread += len(p.hashed)
		last, more = p.last, p.read == page
	}
	switch {
	case unread > 0:
		return r.found(Finding{Rule: ruleState, Severity: severityInfo, Rows: int64(unread),
			Message: fmt.Sprintf("the states of %d parents were not compared: they have no row, and values too long for the name of a state", unread)})
	case compared == 0 && r.sum.Rows > 0:
		return r.notCompared()
	}
	return nil
}

// statePage is a page of rows of keyfill_sequences.
type statePage struct {
	states []parentState    // the states of this numbering whose names show the parent's values
	hashed map[string]int64 // the next numbers of the other states of this numbering, by the states' names
	read   int              // how many rows of keyfill_sequences were read
	last   string           // the name of the last row that was read
}

// parentStates reads the next page of rows, whose names are greater than after.
func (r *run) parentStates(after string) (*statePage, error) {
	rows, err := r.tx.QueryContext(r.ctx, "SELECT name, next_value FROM "+r.states+" WHERE parameters = "+r.dialect.Placeholder(1)+
		" AND name > "+r.dialect.Placeholder(2)+" ORDER BY name "+r.dialect.FirstRows(page), scope.ParentParameters, after)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	p := &statePage{hashed: map[string]int64{}, last: after}
	for rows.Next() {
		var s parentState
		if err := rows.Scan(&p.last, &s.next); err != nil {
			return nil, err
		}
		p.read++
		list, isOurs := strings.CutPrefix(p.last, r.state+"[")
		if !isOurs {
			continue
		}
		var whole bool
		if s.values, whole = parentValues(list); !whole || len(s.values) != len(r.parents) {
			p.hashed[p.last] = s.next
			continue
		}
		p.states = append(p.states, s)
	}
	return p, rows.Err()
}

// findParents returns the states (stored counters) in hashed whose parents have rows, and
// removes them from hashed. A state's name ends in a hash of its parent's values, which is
// computed from the rows.
func (r *run) findParents(hashed map[string]int64) (found []parentState, err error) {
	if len(hashed) == 0 {
		return nil, nil
	}
	numbering := &scope.Scope{Name: r.state}
	for _, c := range append(r.columns, r.cancelledColumns()...) {
		err := r.eachParent(&c, func(values []any) {
			name := numbering.RowFor(values)
			if next, ok := hashed[name]; ok {
				found = append(found, parentState{values, next})
				delete(hashed, name)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// eachParent calls f for the values of each parent with rows in a table.
func (r *run) eachParent(c *column, f func(values []any)) error {
	rows, err := r.tx.QueryContext(r.ctx, "SELECT DISTINCT "+strings.Join(c.parents, ", ")+" FROM "+c.table)
	if err != nil {
		return err
	}
	defer rows.Close()
	values := make([]any, len(c.parents))
	into := make([]any, len(values))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if plain := plainValues(values); haveState(plain) {
			f(plain)
		}
	}
	return rows.Err()
}

// haveState reports whether all values have a type that the name of a state (a stored
// counter) can have.
func haveState(values []any) bool {
	return !slices.ContainsFunc(values, func(v any) bool {
		switch v.(type) {
		case int64, uint64, string:
			return false
		}
		return true
	})
}

// parentValues reads the values in the name of a parent's row, from the text after the
// opening bracket. whole is false if the name was too short to hold all values.
func parentValues(list string) (values []any, whole bool) {
	for list != "" {
		var value any
		if text, quoted := strings.CutPrefix(list, "'"); quoted {
			var b strings.Builder
			end := -1
			for i := 0; i < len(text); i++ {
				if text[i] == '\'' {
					if i+1 == len(text) || text[i+1] != '\'' {
						end = i
						break
					}
					i++
				}
				b.WriteByte(text[i])
			}
			if end < 0 {
				return nil, false
			}
			value, list = b.String(), text[end+1:]
		} else {
			end := strings.IndexAny(list, ",]")
			if end < 0 {
				return nil, false
			}
			if value = integerOf(list[:end]); value == nil {
				return nil, false
			}
			list = list[end:]
		}
		values = append(values, value)
		switch {
		case list == "]":
			return values, true
		case !strings.HasPrefix(list, ","):
			return nil, false
		}
		list = list[1:]
	}
	return nil, false
}

// integerOf returns the integer that a text spells: an int64, a uint64 if it is greater than
// any int64, or nil if the text is no such integer.
func integerOf(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n
	}
	return nil
}

// within returns the condition for the rows of a parent in a table, and its arguments. A
// text also has to be the same by its bytes: the table of cancelled numbers may have a
// collation under which different texts are equal.
func (r *run) within(c *column, values []any) (string, []any) {
	var where []string
	var args []any
	equals := func(what string, value any) {
		args = append(args, value)
		where = append(where, what+" = "+r.dialect.Placeholder(len(args)))
	}
	for i, p := range c.parents {
		equals(p, values[i])
		exact := fmt.Sprintf(engines[r.dialect.Family].exact, p)
		if _, isText := values[i].(string); isText && exact != p {
			equals(exact, values[i])
		}
	}
	return strings.Join(where, " AND "), args
}

// compareParent compares the state (a stored counter) of a parent with the numbers within
// it.
func (r *run) compareParent(s parentState) error {
	var last, stored int64 // last is the greatest number, including cancelled ones; stored is the greatest number of a row
	for i, c := range append(r.columns, r.cancelledColumns()...) {
		where, args := r.within(&c, s.values)
		var greatest sql.NullInt64
		err := r.tx.QueryRowContext(r.ctx, "SELECT MAX("+c.number+") FROM "+c.table+" WHERE "+where, args...).Scan(&greatest)
		if err != nil {
			return err
		}
		if last = max(last, greatest.Int64); i < len(r.columns) {
			stored = max(stored, greatest.Int64)
		}
	}
	w := r.walk(s.values)
	switch {
	case last >= s.next:
		rows := int64(1)
		if stored < s.next {
			rows = 0
		}
		return w.find(ruleAbove, severityError, s.next, last, rows, "numbers that the state will give again, since it goes on at %d: up to %s", s.next, w.spanOf(last, last, rows))
	case stored == 0 && s.next > w.begin:
		return w.find(ruleTail, severityInfo, w.begin, s.next-1, 0, "no row is left, and the state goes on at %d", s.next)
	}
	return w.absent(ruleTail, max(last+1, w.begin), s.next-1)
}
