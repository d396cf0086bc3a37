package audit

import (
	"maps"
	"slices"

	"github.com/keyfill/keyfill/internal/calendar"
)

// notePeriod adds a period to those that findHoles looks at. Parents come and go, and many
// days have no number: there are no holes between these.
func (p *reading) notePeriod(one calendar.Period) {
	if p.texts.hasPeriods() && p.parents == nil && p.texts.calendar.Every() != calendar.Day {
		p.periods[one.Name] = one
	}
}

// findHoles reports periods without a number between two that have some.
func (p *reading) findHoles() error {
	names := slices.Sorted(maps.Keys(p.periods))
	for i := 1; i < len(names); i++ {
		from, err := p.texts.calendar.Next(p.periods[names[i-1]])
		if err != nil {
			return err
		}
		if from.Name == names[i] {
			continue
		}
		to, err := p.texts.calendar.On(p.periods[names[i]].First.AddDate(0, 0, -1).Date())
		if err != nil {
			return err
		}
		hole := from.Name
		if to.Name != from.Name {
			hole += " to " + to.Name
		}
		err = p.found(Finding{Rule: rulePeriod, Severity: severityInfo, Period: from.Name, Message: "no number is of " + hole})
		if err != nil {
			return err
		}
	}
	return nil
}
