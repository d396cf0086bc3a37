package scope

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// Periods makes a numbering begin again with each period of a calendar, such as the invoices
// of each year. The period is one more value that distinguishes parents: each parent has a
// row of keyfill_sequences for each period, whose name ends in the period's name:
//
//	name            "invoices.number[2026]", of the state "invoices.number"; with
//	                other columns in the scope "invoices.number['acme',2026]"
//	next_value      the next number; the negative of it if the period is closed
//	parameters      [ParentParameters]; from the first number on followed by a space and
//	                the template of the period's texts, as a Go string in quotes
//
// A numbering with other columns in its scope also has a row "invoices.number[2025]", which
// gives no number, for each period that was ever closed: its next_value is negative while the
// period is closed. It keeps new parents from opening the period.
//
// The rows of a period and of the next one are made on [Scope].Latest, before a transaction
// of the application needs them: a row that is made inside of two such transactions at once
// makes one of them fail. On SQLite, where Latest is nil, the row is made in the transaction.
//
// A Periods belongs to one numbering of one process, and is safe for concurrent use; it must
// not be copied after its first use. Its fields are set before.
type Periods struct {
	Calendar calendar.Calendar

	// Column is the column whose date is in the period of the row. It is empty if the period
	// is the one in which the server's clock stands when the statement begins that draws the
	// number; on SQLite it is the clock of the process.
	Column string

	// Template is the text that says how numbers of a period are written that has no number
	// yet. It is stored with the first number, and a period keeps it; see [Taken]. It is empty
	// if the keys are the numbers.
	Template string

	// Greatest returns the greatest number of a parent in a period that is in use, 0 for none.
	// It is called when a row is made, which begins above that number, and by
	// [Rows.ReservePeriodAbove]. It queries s, which is [Scope].Latest or the store of the
	// transaction. values are as in [Rows.ReservePeriod]. If Greatest is nil, rows begin at
	// [Scope].Start.
	Greatest func(ctx context.Context, s *store.Store, values []any, p calendar.Period) (int64, error)

	// Now is the clock of the process; nil means time.Now. Only the clock of the server decides
	// where there is one: this one says which period to try first.
	Now func() time.Time

	asked atomic.Bool                     // whether the server's clock was asked for the time
	ahead atomic.Int64                    // how far the server's clock was ahead of Now when it was asked last, in nanoseconds
	last  atomic.Pointer[calendar.Period] // the period that was tried last
	made  rowNotes                        // the rows that exist, as do the rows of the next periods
	drawn rowNotes                        // the parameters of rows whose numbers have a template, as the last draws have left them
}

// IsByClock reports whether the period comes from the clock, and not from a column.
func (p *Periods) IsByClock() bool { return p.Column == "" }

// MaxPeriodName is the greatest length of the name of a state whose numbers begin again with
// each period, in characters. The names of its rows then begin with the whole of it, also
// where a hash stands for long values of the scope's columns.
const MaxPeriodName = store.MaxName - hashLength - len(",2026-11-28]") - len("[")

// hashLength is the length of a hash in the name of a row.
const hashLength = 33

// maxParameters is the greatest length of the column parameters, in characters.
const maxParameters = 1000

// Check returns keysource.ErrOptions, with a text that says what to change, if the rows of
// the numbering cannot be stored: the state's name or the template is too long, or there is
// no calendar. It does no I/O, and returns nil for a numbering without periods.
func (q *Scope) Check() error {
	switch p := q.Periods; {
	case p == nil:
	case p.Calendar.Every() == "":
		return anchor.Errorf("options", "%w: the numbering has periods and no calendar: make one by calendar.New", keysource.ErrOptions)
	case utf8.RuneCountInString(q.Name) > MaxPeriodName:
		return anchor.Errorf("options", "%w: the name of a state with periods is too long: write one of at most %d characters", keysource.ErrOptions, MaxPeriodName)
	case utf8.RuneCountInString(p.parameters()) > maxParameters:
		return anchor.Errorf("options", "%w: the format is too long to be stored with its period: write one of at most 900 characters", keysource.ErrOptions)
	}
	return nil
}

// parameters returns the text in the column parameters of a period's row whose numbers are
// written by the template.
func (p *Periods) parameters() string {
	if p.Template == "" {
		return ParentParameters
	}
	return ParentParameters + " " + strconv.Quote(p.Template)
}

// templateIn returns the template in the column parameters of a period's row; it is empty if
// the period has no number yet, or its numbers are the keys. isOne reports whether the
// text was written into a parent's row.
func templateIn(parameters string) (template string, isOne bool) {
	rest, isOne := strings.CutPrefix(parameters, ParentParameters)
	if !isOne || rest == "" {
		return "", isOne
	}
	template, err := strconv.Unquote(strings.TrimPrefix(rest, " "))
	return template, err == nil
}

// words returns what [Scope.Parameters] says of the periods. The zone has no meaning where a
// column has the date.
func (p *Periods) words() string {
	text := fmt.Sprintf("period %s from %s by ", p.Calendar.Every(), p.Calendar.Starts())
	if p.IsByClock() {
		return text + "clock in " + p.Calendar.Zone()
	}
	return text + strconv.Quote(p.Column)
}

// Expected returns the period in which the server's clock is expected to stand.
func (p *Periods) Expected() (calendar.Period, error) {
	now := p.now().Add(time.Duration(p.ahead.Load()))
	if last := p.last.Load(); last != nil && last.Has(now) {
		return *last, nil
	}
	found, err := p.Calendar.At(now)
	if err == nil {
		p.last.Store(&found)
	}
	return found, err
}

func (p *Periods) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now()
}

// maxNoted is how many rows are remembered. For each one that is forgotten, one more query is
// sent.
const maxNoted = 10_000

// rowNotes remembers rows of periods by their names, with a text for each.
type rowNotes struct {
	mu   sync.Mutex
	rows map[string]string
}

func (m *rowNotes) of(row string) (text string, isThere bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, isThere = m.rows[row]
	return text, isThere
}

func (m *rowNotes) has(row string) bool {
	_, isThere := m.of(row)
	return isThere
}

func (m *rowNotes) add(row, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for old := range m.rows {
		if len(m.rows) < maxNoted {
			break
		}
		delete(m.rows, old)
	}
	if m.rows == nil {
		m.rows = map[string]string{}
	}
	m.rows[row] = text
}

func (m *rowNotes) remove(row string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.rows, row)
}

// PeriodRow is the row of a period, as [Rows.EachPeriod] and [Scope.ReadPeriodRow] return it.
type PeriodRow struct {
	Name string // of the row

	// Parent is the part of Name that identifies the parent: the values of the scope's columns, with
	// commas between them, as [Scope.RowFor] writes them; a long one ends in a hash. It is
	// empty if the scope has no columns, and in the row that only says that a period is closed.
	Parent string

	Period   calendar.Period
	Next     int64 // the next number
	Closed   bool
	Template string // with which the period's numbers are written; empty without one
}

// ReadPeriodRow returns a row of keyfill_sequences as the row of a period of the numbering;
// isOne is false if it is another row. The arguments are three of its columns. The scope must
// have its Name, its Within and its Periods.
func (q *Scope) ReadPeriodRow(name string, next int64, parameters string) (r PeriodRow, isOne bool) {
	rest, ours := strings.CutPrefix(name, q.Name+"[")
	rest, whole := strings.CutSuffix(rest, "]")
	template, isParent := templateIn(parameters)
	if !ours || !whole || !isParent {
		return r, false
	}
	r = PeriodRow{Name: name, Next: max(next, -next), Closed: next < 0, Template: template}
	if comma := strings.LastIndexByte(rest, ','); comma >= 0 {
		r.Parent, rest = rest[:comma], rest[comma+1:]
	}
	if r.Parent != "" && len(q.Within) == 0 {
		return r, false
	}
	var err error
	r.Period, err = q.Periods.Calendar.Parse(rest)
	return r, err == nil
}
