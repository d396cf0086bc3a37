package numbering

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/nearest"
	"github.com/keyfill/keyfill/internal/store"
)

// DateColumn is the column whose date says to which period a row belongs. The date is the one
// that is stored: a time without a date of its own is read as the driver sends it.
type DateColumn struct {
	Name     string // as the catalog has it
	Dialect  *dialect.Dialect
	Calendar calendar.Calendar
}

// NewDateColumn returns the DateColumn of a table, or an error if the column, as the catalog
// describes it, cannot be used.
func NewDateColumn(d *dialect.Dialect, table *catalog.Table, name string, c calendar.Calendar) (*DateColumn, error) {
	found := table.Column(d, name)
	switch {
	case found == nil:
		var names []string
		for _, column := range table.Columns {
			names = append(names, column.Name)
		}
		return nil, errDateColumn(name, "the table has none of this name: write it as the table has it%s", nearest.DidYouMean(name, names))
	case strings.EqualFold(found.Type, "date"), found.Text && !found.Binary:
		return &DateColumn{found.Name, d, c}, nil
	}
	return nil, errDateColumn(name, "its type is %s: make it a date, or a text that holds YYYY-MM-DD", orNone(found.Type))
}

func errDateColumn(name, format string, args ...any) error {
	return anchor.Errorf("period", "the period's column %q: %s", name, fmt.Sprintf(format, args...))
}

// Period returns the period of a row from the value that its INSERT gives the column. On the
// connection g, which may be nil, it asks how the driver sends a time where that decides. No
// error contains the value.
func (c *DateColumn) Period(ctx context.Context, g *relation.Session, v driver.Value) (p calendar.Period, err error) {
	switch v := v.(type) {
	case string:
		p, err = c.Calendar.OnText(v)
	case []byte:
		if !c.Dialect.BytesAreText {
			return p, errDateColumn(c.Name, "a %T is no date: give it as text YYYY-MM-DD", v)
		}
		p, err = c.Calendar.OnText(string(v))
	case time.Time:
		var surely bool
		if p, surely, err = c.around(v); err == nil && !surely {
			p, err = c.asSent(ctx, g, v)
		}
	case int64, uint64, float64, bool:
		return p, errDateColumn(c.Name, "a %T is no date: give it as text YYYY-MM-DD", v)
	default: // a type of the driver's own
		p, err = c.asSent(ctx, g, v)
	}
	return p, err
}

// furthest is how many days may lie between the dates of one instant in two time zones.
const furthest = 2

// around returns the period of a time, and whether it is the same in every time zone.
func (c *DateColumn) around(t time.Time) (p calendar.Period, surely bool, err error) {
	day := func(days int) (calendar.Period, error) {
		return c.Calendar.On(time.Date(t.Year(), t.Month(), t.Day()+days, 0, 0, 0, 0, time.UTC).Date())
	}
	if p, err = day(0); err != nil {
		return p, false, err
	}
	before, err := day(-furthest)
	if err != nil {
		return p, false, err
	}
	after, err := day(furthest)
	return p, before.Name == p.Name && after.Name == p.Name, err
}

// asSent returns the period of a value as the engine gets it from the driver. Drivers send one
// time.Time with different dates: go-sql-driver/mysql converts it to the location of its DSN,
// and pgx, lib/pq and the drivers of SQLite send the date that it shows.
func (c *DateColumn) asSent(ctx context.Context, g *relation.Session, v driver.Value) (p calendar.Period, err error) {
	if g == nil || g.Tables.Detached {
		return p, errDateColumn(c.Name, "the date that the driver sends for a %T is not known without a database: give it as text YYYY-MM-DD", v)
	}
	text := ""
	err = dbconn.Query(ctx, g.Own(), scopeRules[c.Dialect.Family].date, []any{v}, func(row []any) error {
		text = store.Text(row[0])
		return nil
	})
	if err != nil {
		return p, err
	}
	return c.Calendar.OnText(text)
}
