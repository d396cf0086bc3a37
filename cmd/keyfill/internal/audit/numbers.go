package audit

import (
	"fmt"
	"strconv"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
)

// The rules of findings, with their rows in docs/audit.md.
//
//row:auditrules | `first`, `gap`, `tail` | error | numbers are missing before the first number, between two numbers, or after the last number that the state has given. `start:` is the first number: gaps below it are not the sequence's
//row:auditrules | `period` | error | no row is left of a period whose state has given numbers
//row:auditrules | `double` | error | several rows have one number
//row:auditrules | `cancelled` | error | a row has a number that `--cancelled` names
//row:auditrules | `above` | error | rows have numbers that the state is still to give, or `--cancelled` names these
//row:auditrules | `date` | error | the date in the column of `period:` is in another period than the text shows, or is none
//row:auditrules | `text` | error | the period's template cannot have written a text: it is of another program, or too wide
//row:auditrules | `below`, `none` | error | rows have a number below 1, or none
//row:auditrules | `order` | info | rows have an earlier date than lower numbers of their period: of two transactions, the one with the lower number may end later, and dates may be given back
//row:auditrules | `period` | info | no number is of a period between two others
//row:auditrules | `tail` | info | with `scope:`, a parent has no row left
//row:auditrules | `state` | info | the state was not compared: it is elsewhere, or has no row; or its parent has no rows, and values too long for the name of a state. Or a table of MySQL or MariaDB has no transactions, and shows rows that are newer than the state
const (
	ruleFirst     = "first"     // numbers before the first stored number are missing
	ruleGap       = "gap"       // numbers between two stored numbers are missing
	ruleTail      = "tail"      // numbers that the state has given are missing after the last stored number
	ruleDouble    = "double"    // several rows have the same number
	ruleCancelled = "cancelled" // a row has a number that was cancelled
	ruleAbove     = "above"     // rows have, or a cancellation names, numbers that the state has not given yet
	ruleBelow     = "below"     // rows have numbers below 1
	ruleNone      = "none"      // rows have no number
	ruleState     = "state"     // the state (a stored counter) was not compared
	rulePeriod    = "period"    // no row is left of a period
	ruleDate      = "date"      // a row's date is not in the period that its text shows
	ruleText      = "text"      // rows have texts that the template does not give
	ruleOrder     = "order"     // rows have earlier dates than rows with lower numbers
)

// The severities of findings.
const (
	severityError = "error" // the finding needs an explanation
	severityInfo  = "info"  // the finding may be harmless
)

// Finding is a difference from an unbroken series of numbers.
type Finding struct {
	Rule     string         `json:"rule"`
	Severity string         `json:"severity"`
	Column   string         `json:"column"`
	Parent   map[string]any `json:"parent,omitempty"` // the columns within which the row is numbered, with their values
	Period   string         `json:"period,omitempty"` // of numbers that begin again
	From     int64          `json:"from"`             // the first number that the finding is about; To is the last one
	To       int64          `json:"to"`
	FromText string         `json:"from_text,omitempty"` // From and To as the column shows them, where it holds texts
	ToText   string         `json:"to_text,omitempty"`
	Rows     int64          `json:"rows"` // how many rows the finding is about
	Message  string         `json:"message"`
}

// Summary is what an audit has read.
type Summary struct {
	Audited, State string
	Strict         bool
	Rows           int64 // the number of rows that have a number
	Known          int64 // the number of cancelled numbers that no row has
	Missing        int64 // numbers that no row has, in a sequence with blocks, where that is normal
	First, Last    int64 // the least and the greatest number of all rows
	Next           int64 // the next number in the state (the stored counter); 0 if it was not compared
	Errors         int64 // the number of findings that need an explanation
	Numberings     int64 // how many series of numbers the texts of the rows belong to; 0 for integers
}

// walk compares the numbers of one numbering (of all rows, or of the rows with one parent),
// which are added in ascending order, with the numbers that must be stored.
type walk struct {
	begin  int64 // the first number that the sequence gives
	next   int64 // the next number in the state (the stored counter); 0 if it is not known
	strict bool  // whether missing numbers are errors
	parent map[string]any
	found  func(Finding) error
	text   func(number int64) string // how findings write a number; nil means in digits

	begun    bool  // whether a number was added
	expected int64 // the number after the last number added; 0 before the first one
	number   int64 // the number being compared, which rows and void describe; 0 before the first one
	rows     int64
	void     bool // whether the number was cancelled

	above                     int64 // rows whose number is next or greater; firstAbove and lastAbove include cancelled numbers
	firstAbove, lastAbove     int64
	below                     int64 // the number of rows with numbers below 1
	leastBelow, greatestBelow int64
	missing, known            int64 // numbers without a row: known counts the cancelled numbers, missing the numbers that may be missing
}

// add adds a row, or a cancelled number. It returns an error if the number is lower than the
// one before: the findings would be wrong.
func (w *walk) add(number int64, cancelled bool) error {
	if w.begun && number < w.number {
		return fmt.Errorf("the database has sorted %s after %s, and not by the bytes of the texts: name a table of shorter texts, or raise max_sort_length on MySQL and MariaDB", w.shown(number), w.shown(w.number))
	}
	w.begun = true
	if number != w.number && w.rows+w.voids() > 0 {
		if err := w.settle(); err != nil {
			return err
		}
	}
	w.number = number
	if cancelled {
		w.void = true
	} else {
		w.rows++
	}
	return nil
}

func (w *walk) voids() int64 {
	if w.void {
		return 1
	}
	return 0
}

// settle reports findings about the number that was added last, after all rows with it were
// added.
func (w *walk) settle() error {
	n, rows, void := w.number, w.rows, w.void
	w.rows, w.void = 0, false
	switch {
	case n < 1 && rows == 0:
		return nil // the sequence gives no number below 1
	case n < 1:
		if w.below == 0 {
			w.leastBelow = n
		}
		w.below += rows
		w.greatestBelow = n
		return nil
	case w.next > 0 && n >= w.next:
		if w.firstAbove == 0 {
			w.firstAbove = n
		}
		w.above += rows
		w.lastAbove = n
	default:
		if err := w.skipped(n); err != nil {
			return err
		}
		w.expected = n + 1
	}
	if rows > 1 {
		if err := w.find(ruleDouble, severityError, n, n, rows, "%s is the number of %d rows", w.shown(n), rows); err != nil {
			return err
		}
	}
	switch {
	case void && rows > 0:
		return w.find(ruleCancelled, severityError, n, n, rows, "%s is cancelled, and a row has it", w.shown(n))
	case void:
		w.known++
	}
	return nil
}

// skipped reports the numbers that are missing before n. Numbers below the first number of
// the sequence do not count: they were stored before the sequence began.
func (w *walk) skipped(n int64) error {
	rule, from := ruleGap, w.expected
	if from == 0 {
		if rule, from = ruleFirst, w.begin; n < w.begin {
			return nil
		}
	}
	if from < w.begin && n > from {
		before := min(n, w.begin)
		w.missing += before - from
		from = before
	}
	return w.absent(rule, from, n-1)
}

// absent reports that no row has the numbers from from to to.
func (w *walk) absent(rule string, from, to int64) error {
	switch {
	case from > to:
		return nil
	case !w.strict:
		w.missing += to - from + 1
		return nil
	}
	missing := w.shown(from) + " is missing"
	if from < to {
		missing = fmt.Sprintf("%s to %s are missing (%d numbers)", w.shown(from), w.shown(to), to-from+1)
	}
	switch rule {
	case ruleFirst:
		missing += ", before the first number"
	case ruleTail:
		missing += ", which the state has given after the last number"
	}
	return w.find(rule, severityError, from, to, 0, "%s", missing)
}

// end reports the findings that are known after the last number.
func (w *walk) end() error {
	if w.rows+w.voids() > 0 {
		if err := w.settle(); err != nil {
			return err
		}
	}
	if w.below > 0 {
		if err := w.find(ruleBelow, severityError, w.leastBelow, w.greatestBelow, w.below, "numbers below 1: %s", w.spanOf(w.leastBelow, w.greatestBelow, w.below)); err != nil {
			return err
		}
	}
	if w.next > 0 {
		if err := w.absent(ruleTail, max(w.expected, w.begin), w.next-1); err != nil {
			return err
		}
	}
	if w.lastAbove > 0 {
		return w.find(ruleAbove, severityError, w.firstAbove, w.lastAbove, w.above,
			"numbers that the state will give again, since it goes on at %d: %s", w.next, w.spanOf(w.firstAbove, w.lastAbove, w.above))
	}
	return nil
}

func (w *walk) find(rule, severity string, from, to, rows int64, message string, args ...any) error {
	return w.found(Finding{Rule: rule, Severity: severity, Parent: w.parent, From: from, To: to, Rows: rows, Message: fmt.Sprintf(message, args...)})
}

// spanOf returns the numbers of rows as text. If rows is 0, they are cancelled numbers.
func (w *walk) spanOf(from, to, rows int64) string {
	what := "cancelled"
	if rows > 0 {
		what = terminal.Count(int(rows), "row")
	}
	if from == to {
		return fmt.Sprintf("%s (%s)", w.shown(from), what)
	}
	return fmt.Sprintf("%s to %s (%s)", w.shown(from), w.shown(to), what)
}

// shown returns a number as findings write it.
func (w *walk) shown(number int64) string {
	if w.text == nil {
		return strconv.FormatInt(number, 10)
	}
	return w.text(number)
}
