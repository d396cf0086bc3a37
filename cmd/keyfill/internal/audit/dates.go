package audit

import (
	"database/sql"
	"fmt"
	"strings"
)

// compareDate compares the date of a row with the period that its text shows, and with the
// dates of lower numbers.
func (p *reading) compareDate(n *numbers, number int64, stored sql.NullString) error {
	if p.key.PeriodColumn == "" {
		return nil
	}
	date := stored.String
	// SQLite keeps the text that the driver has made of a time.
	if day := len("2006-01-02"); len(date) > day && strings.ContainsRune(" T", rune(date[day])) {
		date = date[:day]
	}
	period, err := p.texts.calendar.OnText(date)
	switch {
	case !stored.Valid:
		return n.find(ruleDate, severityError, number, number, 1, "%s has no date", n.shown(number))
	case err != nil:
		return n.find(ruleDate, severityError, number, number, 1, "%s has the date %q, which is no day", n.shown(number), date[:min(len(date), maxShownText)])
	case period.Name != n.period.Name:
		return n.find(ruleDate, severityError, number, number, 1, "%s has the date %s, which is in %s", n.shown(number), date, period.Name)
	}
	switch {
	case n.latest == "" || date > n.latest:
		n.latest, n.latestOf = date, number
	case date < n.latest:
		if n.older == 0 {
			n.firstOlder = number
			n.olderBefore = fmt.Sprintf("%s of %s, after %s of %s", n.shown(number), date, n.shown(n.latestOf), n.latest)
		}
		n.older++
		n.lastOlder = number
	}
	return nil
}
