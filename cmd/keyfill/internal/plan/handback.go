package plan

import (
	"errors"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/internal/catalog"
)

// errNoState is returned for a table that keyfill does not number.
var errNoState = errors.New("no row of keyfill_sequences counts for the column: there is nothing to hand back")

// handback returns the steps after which the engine numbers a column again, and keyfill no
// longer does.
func handback(f *figures) ([]Step, error) {
	if f.native != "" {
		return f.handbackNative()
	}
	steps, err := f.handbackSteps()
	if err != nil {
		return nil, err
	}
	return append(steps, f.keepStates()...), nil
}

// handbackSteps returns the steps after which the engine numbers a column again, and sets
// f.end. The engine's counter begins a gap above every number that keyfill has reserved,
// not at the greatest key, since processes with keyfill hold reserved numbers and go on for
// a while.
func (f *figures) handbackSteps() ([]Step, error) {
	if !f.column.Integer {
		return nil, fmt.Errorf("%s is %s, and the engine numbers integer columns: add a column", f.ref, f.column.Type)
	}
	if err := f.refuseForeign(); err != nil {
		return nil, err
	}
	if f.states == nil {
		return nil, fmt.Errorf("%s: %w", f.ref, errNoState)
	}
	if f.column.RowID && f.column.Identity == "" {
		return f.handbackRowID(), nil
	}
	from := f.used()
	to, err := f.raised(from)
	if err != nil {
		return nil, err
	}
	var steps []Step
	// The numbers from end on are not keyfill's: the engine's counter gave them after it
	// was raised, or an application brought them.
	end := f.counter.Next
	if f.lowest > 0 {
		end = min(end, f.lowest)
	}
	isFirst := false // whether the step with the policy comes before the step that changes the counter
	switch above := end - f.reserved(); {
	case f.counter.Next > 0 && above >= (to-from)/10:
		to = end
		steps = append(steps, Step{
			Title: fmt.Sprintf("Leave the engine's own counter where it is: %d numbers lie between what it has given and what keyfill has reserved.", above),
		})
	case f.column.Identity != "" && !f.isRaisable():
		return nil, fmt.Errorf("%s is filled by %s, which keyfill cannot raise: set what it draws from to %d yourself, and give below: %[3]d to the processes with keyfill", f.ref, f.column.Identity, to)
	case f.column.Identity != "":
		steps = append(steps, f.raise(to-1, to))
	default:
		// The policy comes first: as soon as the engine numbers the column, keyfill refuses
		// to start in a process whose policy lacks below:.
		isFirst = true
		s, err := f.numberAgain(to)
		if err != nil {
			return nil, err
		}
		steps = append(steps, f.giveBelow(to), s)
	}
	f.end = to
	for _, s := range f.states {
		steps = append(steps, Step{
			Title: "See that keyfill is far below it, now and until the next step is done.",
			Check: "SELECT next_value FROM keyfill_sequences WHERE name = " + f.literal(s.name),
			Look:  fmt.Sprintf("it is less than %d. Else print this plan again.", to),
		})
	}
	if !isFirst {
		steps = append(steps, f.giveBelow(to))
	}
	title, policy := f.policyOff()
	return append(steps, Step{
		Title:  title,
		Policy: policy,
		Check:  fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE %s >= %d", f.table, f.key, to),
		Look:   "it grows with each row of a process without keyfill.",
	}), nil
}

// policyOff returns the policy for processes that leave the column's numbers to the engine,
// and the title of the step that introduces it.
func (f *figures) policyOff() (title, text string) {
	const insert = "Let one process after the other insert without keyfill, by this policy or by the plain driver."
	if f.entry == nil {
		return insert + " Where the entry of the table has further keys or fields, print this plan with --config: it repeats them.",
			fmt.Sprintf("%s: {column: %s, %smode: \"off\", source: {kind: sequence, ensure_schema: true}}", catalog.YAMLString(f.written), catalog.YAMLString(f.keyWritten), f.maxBits())
	}
	text, alone := f.entry.off(f.column.Name)
	text = catalog.YAMLString(f.written) + ": " + text
	if alone {
		return insert, text
	}
	return "Let one process after the other leave the column to the engine, by this policy, by which keyfill goes on filling the other keys.", text
}

// giveBelow returns the step after which processes with keyfill use only numbers below the
// engine's counter.
func (f *figures) giveBelow(to int64) Step {
	return Step{
		Title:  "Give this policy to all processes with keyfill whose policy has no below: yet. They stay below the numbers of the engine.",
		Policy: f.policyBelow(to),
	}
}

// keepStates returns the steps that keep the rows of keyfill's counters.
func (f *figures) keepStates() (steps []Step) {
	for _, s := range f.states {
		steps = append(steps, Step{
			Title: "Keep the row of the state: the way there begins with it again.",
			Check: "SELECT next_value, updated_at FROM keyfill_sequences WHERE name = " + f.literal(s.name),
			Look:  "it does not change any more when the last process with keyfill has ended. keyfill check says when the entry may be removed.",
		})
		if f.entry != nil && !f.entry.isAlone(f.entry.node) {
			steps[len(steps)-1].Look = "it does not change any more when the last process whose policy has a sequence for the column has ended."
		}
	}
	return steps
}

// handbackNative returns the steps for a column whose keys a native source draws from a
// sequence of the engine. Such a sequence is always above the stored keys.
func (f *figures) handbackNative() ([]Step, error) {
	schema, name, _ := strings.Cut(f.native, ".")
	sequence := f.dialect.QuoteIdent(schema) + "." + f.dialect.QuoteIdent(name)
	var steps []Step
	title := "Let one process after the other insert without keyfill: remove the entry of the table from the policy, or take the plain driver."
	switch {
	case f.column.Identity != "" && !f.drawsFrom(sequence):
		return nil, fmt.Errorf("%s has a default, and keyfill draws its keys from another sequence, %s: let the default draw from that one, and print the plan again", f.ref, f.native)
	case f.column.Identity != "":
	case f.engine.sequences:
		steps = append(steps, Step{
			Title: "Let the column draw from the sequence by its default.",
			Name:  "default",
			SQL:   []string{fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s SET DEFAULT nextval(%s)", f.table, f.key, f.literal(sequence))},
		})
	default:
		title = fmt.Sprintf("Let one process after the other insert without keyfill, with keys that its INSERTs draw themselves: NEXTVAL(%s). Remove the entry of the table from the policy, or take the plain driver.", sequence)
	}
	step := Step{
		Title: title + " The counter of the engine is ahead already, since keyfill draws from it, and nothing has to be raised.",
		Check: fmt.Sprintf("SELECT COUNT(*) FROM %s", f.table),
		Look:  "it grows with each row of a process without keyfill.",
	}
	if f.entry != nil && !f.entry.isAlone(f.entry.node) {
		text, _ := f.entry.off(f.column.Name)
		step.Title = strings.Replace(step.Title, "remove the entry of the table from the policy", "take this policy, by which keyfill goes on filling the other keys", 1)
		step.Title = strings.Replace(step.Title, "Remove the entry of the table from the policy", "Take this policy, by which keyfill goes on filling the other keys", 1)
		step.Policy = catalog.YAMLString(f.written) + ": " + text
	}
	return append(steps, step), nil
}

// drawsFrom reports whether the default of the column draws from a sequence.
func (f *figures) drawsFrom(sequence string) bool {
	if f.definition != nil {
		return strings.Contains(f.definition.String(), sequence)
	}
	return f.counter.Sequence == "" || f.counter.Sequence == sequence || strings.ReplaceAll(f.counter.Sequence, `"`, "") == strings.ReplaceAll(sequence, `"`, "")
}

// handbackRowID returns the steps for a column of SQLite without AUTOINCREMENT, which has
// no counter that could be raised.
func (f *figures) handbackRowID() []Step {
	return []Step{{
		Title: "Stop all processes with keyfill: SQLite gives a row without a key the greatest key and one, which they may have reserved.",
	}, {
		Title: "Let the processes insert without keyfill.",
		Check: fmt.Sprintf("SELECT MAX(%s) FROM %s", f.key, f.table),
		Look:  "it grows.",
	}}
}

// isRaisable reports whether a step can raise the counter that numbers the column: the
// column's own counter, or a sequence of PostgreSQL. On other engines it is not known from
// which sequence a default draws.
func (f *figures) isRaisable() bool {
	if f.engine.sequences {
		return f.counter.Sequence != ""
	}
	return f.column.Identity != "nextval default"
}

// policyBelow returns the policy for the processes with keyfill until they have been
// replaced.
func (f *figures) policyBelow(to int64) string {
	if f.dialect.UnreadCounter {
		return f.policy("exclusive: true") // the field below: needs a counter that keyfill can read
	}
	return f.policy(fmt.Sprintf("below: %d", to))
}

// numberAgain returns the step after which the engine numbers a column that it does not
// number now.
func (f *figures) numberAgain(to int64) (Step, error) {
	s := Step{Title: fmt.Sprintf("Let the engine number the column, from %d on.", to), Name: "number"}
	if f.engine.numberAgain == nil {
		return s, fmt.Errorf("%s cannot give a number of its own to a column that exists: make a table whose column has one, and copy the rows into it", f.dialect.Title)
	}
	f.engine.numberAgain(f, &s, to)
	return s, nil
}

// numberAgainMySQL completes the step for MySQL and MariaDB. The SQL mode
// NO_AUTO_VALUE_ON_ZERO keeps the server from giving a new number to a row whose key is 0.
// The condition on auto_increment keeps the statements from lowering a counter that was
// raised since the plan was printed.
func numberAgainMySQL(f *figures, s *Step, to int64) {
	s.SQL = append([]string{"SET lock_wait_timeout = 1", "SET sql_mode = CONCAT(REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''), ',NO_AUTO_VALUE_ON_ZERO')"},
		f.alterIf("auto_increment IS NULL", fmt.Sprintf("ALTER TABLE %s MODIFY %s %s, AUTO_INCREMENT = %d", f.table, f.key, f.definition.Numbered(), to))...)
	s.Again = "EXECUTE runs the ALTER TABLE unless the engine numbers the table already. On error 1205 run the statements again from SET @keyfill on: a transaction that has used the table is open. The server copies the table, and INSERTs wait for that: try it on a copy first. MODIFY repeats the definition of the column: print this plan again if it was changed since."
	s.Check, s.Look = "SHOW CREATE TABLE "+f.table, fmt.Sprintf("AUTO_INCREMENT is %d or more.", to)
}

func numberAgainPostgreSQL(f *figures, s *Step, to int64) {
	sequence := f.dialect.QuoteIdent(f.found.Schema) + "." + f.dialect.QuoteIdent(f.found.Name+"_"+f.column.Name+"_seq")
	s.SQL = []string{
		fmt.Sprintf("CREATE SEQUENCE %s START WITH %d OWNED BY %s.%s", sequence, to, f.table, f.key),
		fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s SET DEFAULT nextval(%s)", f.table, f.key, f.literal(sequence)),
	}
	s.Check, s.Look = "SELECT last_value FROM "+sequence, fmt.Sprintf("it is %d or more.", to)
}

// numberAgainOracle completes the step for Oracle. An existing column cannot get an
// identity there, so its default draws from a new sequence.
func numberAgainOracle(f *figures, s *Step, to int64) {
	name := f.found.Name + "_" + f.column.Name + "_SEQ"
	sequence := f.dialect.QuoteIdent(f.found.Schema) + "." + f.dialect.QuoteIdent(name)
	s.SQL = []string{
		fmt.Sprintf("CREATE SEQUENCE %s START WITH %d", sequence, to),
		fmt.Sprintf("ALTER TABLE %s MODIFY %s DEFAULT %s.NEXTVAL", f.table, f.key, sequence),
	}
	s.Check = fmt.Sprintf("SELECT last_number FROM all_sequences WHERE sequence_owner = %s AND sequence_name = %s", f.literal(f.found.Schema), f.literal(name))
	s.Look = fmt.Sprintf("it is %d or more.", to)
}
