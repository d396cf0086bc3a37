package policy

import (
	"go.yaml.in/yaml/v3"

	"github.com/keyfill/keyfill/internal/calendar"
)

// Period says when the numbers of a sequence begin again at 1. The zero Period means never.
// In the file it is a word, the value of Every, or a mapping.
type Period struct {
	// Every is [PeriodDay], [PeriodMonth], [PeriodQuarter] or [PeriodYear]; empty and
	// [PeriodNone] mean that numbers never begin again.
	Every string

	// Starts is the month and the day with which years begin, as in 04-01; empty means
	// 01-01. Quarters are counted from there.
	Starts string

	// Zone is the name of the time zone, as in Europe/Berlin, by whose days a period of the
	// server's clock ends; empty means UTC. With Column it says only when keyfill period close
	// takes a period for ended.
	Zone string

	// Column is the column, written as in SQL, whose date says to which period a row
	// belongs; empty means that the server's clock says it.
	Column string
}

var periodField = of("period", "When the numbers begin again at 1: a word, or a mapping that says more. Each period has numbers of its own, which are drawn in the statement's transaction or, with block: 1, one by one. Left out, they never begin again.",
	periodShape(), func(s *Source) *Period { return &s.Period }).as("year", schema{"every": "year", "column": "issued_on"}).
	ruled(fieldRules{
		check: checkPeriod, suit: namer.suitPeriod,
		upstream: "each period has a numbering of its own, and the integers of upstream belong to this column alone",
		owns:     "the periods of one column",
	})

var periodWords = []string{PeriodNone, PeriodDay, PeriodMonth, PeriodQuarter, PeriodYear}

// firstOfYear is the default of starts.
const firstOfYear = "01-01"

var periodFields = []field[Period]{
	must("every: year", bind("every", "How often the numbers begin again.",
		word[string]("period", periodWords), func(p *Period) *string { return &p.Every })).as("year"),
	bind("starts", "The month and the day with which years begin.",
		text.matching(`^[0-1][0-9]-[0-3][0-9]$`), func(p *Period) *string { return &p.Starts }).byDefault(firstOfYear).as("04-01"),
	bind("zone", "The time zone by whose days a period of the server's clock ends. With column: it only says when keyfill period close takes a period for ended.",
		text, func(p *Period) *string { return &p.Zone }).byDefault("UTC").as("Europe/Berlin"),
	bind("column", "The column whose date, in the same INSERT, says to which period a row belongs. Left out, the server's clock says it.",
		text, func(p *Period) *string { return &p.Column }).as("issued_on"),
}

// periodShape is the shape of a period: a word or a mapping.
func periodShape() shape[Period] {
	one := word[string]("period", periodWords)
	return orMapping(shape[Period]{
		read:   func(r *reader, p place, n *yaml.Node) Period { return Period{Every: one.read(r, p, n)} },
		schema: one.schema,
	}, object(periodFields))
}

// checkPeriod checks the period of the sequence at p.
func checkPeriod(m *mistakes, p place, s Source) {
	at, q := p.in("period"), s.Period
	if q.isNone() {
		if q != (Period{}) && q != (Period{Every: PeriodNone}) {
			m.wrong(at, "the numbers never begin again, so this field has no use; write every: year or another period, or leave the field out")
		}
		return
	}
	if _, err := calendar.New(calendar.Every(q.Every), q.Starts, q.Zone); err != nil {
		m.wrong(at, "%v", err)
	}
	if s.Format == "" {
		m.wrong(at, "a number alone is the same in each period; say format: too, as in \"{year}-{n:05}\"")
	}
	if !s.joined() && s.Block != 1 {
		m.wrong(at, "a number that is reserved beforehand would belong to the period before; say transaction: joined, or block: 1")
	}
	m.needless(p, "each period has a row in keyfill's own table of the application's database; leave this field out",
		givenField{"table", s.Table != nil}, givenField{"store", !s.joined() && s.Store != "" && s.Store != StoreNone},
		givenField{"lock", !s.joined() && s.Lock == LockOptimistic}, givenField{"via", !s.joined() && s.Via == ViaProcedure}) // checkJoined reports these fields of a joined sequence
	m.needless(p, "a period begins above the greatest number in the table and ignores greater keys that an INSERT brings later; leave this field out", givenField{"follow_explicit", s.FollowExplicit})
}

func (q Period) isNone() bool { return q.Every == "" || q.Every == PeriodNone }

// suitPeriod checks the name of the period's column, of the sequence at p, in a dialect.
func (n namer) suitPeriod(m *mistakes, p place, s Source) {
	if s.Period.Column != "" {
		n.suitColumn(m, p.in("period").in("column"), s.Period.Column)
	}
}
