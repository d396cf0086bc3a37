package engine

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// PeriodStatements are the statements that reserve integers from the row of a period, such as
// the invoices of a year. They find no row of another period than the one in which the clock
// stands, if they compare it, and no row whose next value is negative: that period is closed.
type PeriodStatements struct {
	// Reserve reserves integers, and returns next_value, incarnation, server and parameters.
	// It is empty for an engine whose UPDATE returns no values, where Locked reads these four
	// values and locks the row, and Swap replaces the next value if it and the incarnation are
	// still the same.
	Reserve      Update
	Locked, Swap Statement
}

// PeriodForm says which statements reserve from the row of a period.
type PeriodForm struct {
	// ByClock reports whether they compare the clock with Begin and End. An engine without a
	// server compares nothing.
	ByClock bool

	// Writes reports whether a reservation replaces the parameters Old of a row by Parameters;
	// Swap writes Parameters always. All reservations return the parameters that the row then
	// has. So each process learns how the first one writes the numbers of the period, and a
	// rollback takes that back with the number.
	Writes bool

	// Known reports whether a reservation changes only a row whose parameters are Parameters, and
	// returns three values, without them. Only an engine whose UPDATE returns values in a result
	// has such a statement.
	Known bool
}

// Period returns the statements that reserve from the row of a period; nil if the engine has
// none of that form.
func (e *Engine) Period(f PeriodForm) *PeriodStatements { return periodStatements[e][f] }

// periodStatements are composed once, since each reservation needs them.
var periodStatements = func() map[*Engine]map[PeriodForm]*PeriodStatements {
	all := map[*Engine]map[PeriodForm]*PeriodStatements{}
	for _, d := range dialect.All() {
		e := Of(d)
		all[e] = map[PeriodForm]*PeriodStatements{}
		for _, f := range []PeriodForm{{}, {ByClock: true}, {Writes: true}, {ByClock: true, Writes: true}} {
			all[e][f] = e.composePeriod(f)
			if f.Known = e.Words.Answer == answerReturning && !f.Writes; f.Known {
				all[e][f] = e.composePeriod(f)
			}
		}
	}
	return all
}()

func (e *Engine) composePeriod(f PeriodForm) *PeriodStatements {
	if e.Words.Answer != answerID {
		return &PeriodStatements{Reserve: e.composePeriodReserve(f)}
	}
	p := &PeriodStatements{}
	c := &composer{words: &e.Words}
	c.add("SELECT next_value, incarnation, {server}, parameters FROM keyfill_sequences WHERE name = ", c.arg(pName))
	p.Locked = c.clock(e, f).add(c.words.LockEnd).statement()
	c = &composer{words: &e.Words}
	c.add("UPDATE keyfill_sequences\nSET next_value = ", c.number(pNext))
	if f.Writes {
		c.add(", parameters = ", c.arg(pParameters))
	}
	c.add(", updated_at = ", e.Expressions.Now)
	c.add("\nWHERE name = ", c.arg(pName), " AND next_value = ", c.number(pOld), " AND incarnation = ", c.arg(pIncarnation))
	p.Swap = c.clock(e, f).statement()
	return p
}

func (e *Engine) composePeriodReserve(f PeriodForm) Update {
	c := &composer{words: &e.Words}
	c.add("UPDATE keyfill_sequences", e.Words.Hint, "\nSET next_value = next_value + ", c.number(pCount))
	if f.Writes {
		c.add(", parameters = CASE WHEN parameters = ", c.arg(pOld), " THEN ", c.arg(pParameters), " ELSE parameters END")
	}
	into := e.Words.Answer == answerInto
	if into { // the expressions of RETURNING … INTO are columns
		c.add(", server = ", e.Servers[0])
	}
	c.add(", updated_at = ", e.Expressions.Now)
	if e.Words.Answer == answerOutput {
		c.add("\nOUTPUT inserted.next_value, inserted.incarnation, {server}, inserted.parameters")
	}
	c.add("\nWHERE name = ", c.arg(pName), " AND next_value BETWEEN ", c.number(pFloor), " AND ", c.number(pLimit))
	beside := ", parameters"
	if f.Known {
		c.add(" AND parameters = ", c.arg(pParameters))
		beside = ""
	}
	c.clock(e, f)
	u := Update{}
	switch {
	case e.Words.Answer == answerReturning:
		server := "{server}"
		if e.Servers == nil {
			server = "''"
		}
		c.add("\nRETURNING next_value, incarnation, ", server, beside)
	case into:
		// The placeholders of returned values come after all others.
		u.Into = []Kind{IntegerKind, TextKind, TextKind, TextKind}
		c.add("\nRETURNING next_value, incarnation, server, parameters INTO ", strings.Join(c.places(len(c.args), len(u.Into)), ", "))
	}
	u.Statement = c.statement()
	return u
}

// clock adds the condition that the clock stands in the period, if the form has it.
func (c *composer) clock(e *Engine, f PeriodForm) *composer {
	if !f.ByClock || e.Clock.Now == "" {
		return c
	}
	c.add("\nAND ", e.Clock.Now, " >= ", Wrap(e.Clock.Instant, c.arg(pBegin)))
	return c.add(" AND ", e.Clock.Now, " < ", Wrap(e.Clock.Instant, c.arg(pEnd)))
}

// RaisePeriod returns the UPDATE that raises the next value of a period's row, which is not
// closed, and locks the row also if it does not raise it.
func (e *Engine) RaisePeriod() Statement {
	c := &composer{words: &e.Words}
	c.add("UPDATE keyfill_sequences", e.Words.Hint, "\nSET next_value = CASE WHEN next_value < ", c.number(pNext))
	c.add(" THEN ", c.number(pNext), " ELSE next_value END, updated_at = ", e.Expressions.Now)
	c.add("\nWHERE name = ", c.arg(pName), " AND next_value > 0")
	return c.statement()
}

// TurnPeriod returns the UPDATE that closes a period's row, or opens one that is closed: its
// next value changes the sign.
func (e *Engine) TurnPeriod(open bool) Statement {
	c := &composer{words: &e.Words}
	c.add("UPDATE keyfill_sequences", e.Words.Hint, "\nSET next_value = -next_value, updated_at = ", e.Expressions.Now)
	c.add("\nWHERE name = ", c.arg(pName), " AND next_value ", map[bool]string{true: "< 0", false: "> 0"}[open])
	return c.statement()
}

// LookFor returns the query for which of n rows, whose names the caller binds, exist. It
// selects name and next_value, and waits for no lock.
func (e *Engine) LookFor(n int) string {
	c := &composer{words: &e.Words}
	c.add("SELECT name, ", Wrap(c.words.Digits, "next_value"), " FROM keyfill_sequences", e.Locks.Unlocked, " WHERE name IN (")
	return c.add(strings.Join(c.places(0, n), ", "), ")").text.String()
}

// places returns n placeholders, which follow as many others.
func (c *composer) places(others, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = c.place(others + i + 1)
	}
	return all
}

// PageOf returns the query for the first n rows whose names are above Name and below Binding,
// in the order of their names. It selects name, next_value and parameters.
func (e *Engine) PageOf(d *dialect.Dialect, n int) Statement {
	c := &composer{words: &e.Words}
	c.add("SELECT name, ", Wrap(c.words.Digits, "next_value"), ", parameters FROM keyfill_sequences")
	c.add("\nWHERE name > ", c.arg(pName), " AND name < ", c.arg(pBinding))
	return c.add(" ORDER BY name ", d.FirstRows(n)).statement()
}
