package numbering

import (
	"context"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/numberformat"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
	"github.com/keyfill/keyfill/internal/store/scope"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// ScopeRowsOf returns the ScopeRows of a key column, whose stored counter has the given row,
// and changes the row to the one of such a counter. found is the catalog's description of the
// table; nil in a test without a database.
func ScopeRowsOf(d *dialect.Dialect, found *catalog.Table, k *table.Column, row *sequence.Sequence) (*ScopeRows, error) {
	rows := &ScopeRows{Scope: scope.Scope{Name: row.Name, Start: row.Made.Start, Max: row.Bounds.Max}}
	if len(row.Columns) > 0 {
		rows.Scope.Column = row.Columns[0]
	}
	var types []string
	for _, rc := range k.Rule.Scope {
		column := ScopeColumn{Rule: rc, Dialect: d, Found: &catalog.Column{Name: rc.Column}}
		if found != nil {
			var err error
			if column, err = NewScopeColumn(d, found, rc); err != nil {
				return nil, err
			}
		}
		rows.Columns = append(rows.Columns, column)
		rows.Scope.Within = append(rows.Scope.Within, column.Found.Name)
		types = append(types, rc.Type)
	}
	if err := rows.addPeriods(d, found, k); err != nil {
		return nil, err
	}
	row.Made.Start, row.Parameters, row.Fresh = 1, rows.Scope.Parameters(types), false
	if x := k.Texts(); x != nil && rows.Scope.Periods == nil {
		row.Parameters += " " + x.Parameters()
	}
	own := make([]store.Column, len(row.Columns))
	for i, c := range row.Columns {
		c.Unranked = true // the greatest key of the column belongs to one parent only, so the row is not compared with it
		own[i] = c
	}
	row.Columns = own
	return rows, rows.Scope.Check()
}

// addPeriods sets the periods of a column whose numbers begin again.
func (s *ScopeRows) addPeriods(d *dialect.Dialect, found *catalog.Table, k *table.Column) error {
	src := k.Rule.Source
	if src.Period.Every == "" {
		return nil
	}
	c, err := calendar.New(calendar.Every(src.Period.Every), src.Period.Starts, src.Period.Zone)
	if err != nil {
		return err
	}
	s.Scope.Periods = &scope.Periods{Calendar: c, Template: src.Format}
	if column := k.Rule.PeriodColumn; column != "" {
		if s.Date = (&DateColumn{column, d, c}); found != nil {
			if s.Date, err = NewDateColumn(d, found, column, c); err != nil {
				return err
			}
		}
		s.Scope.Periods.Column = s.Date.Name
	}
	return nil
}

// ReadTexts makes the rows of periods begin above the numbers that the column has in texts,
// which show the parts p. It leaves out the period and the values of the scope's columns.
func (s *ScopeRows) ReadTexts(k *table.Column, p numberformat.Parts) {
	if s.Scope.Periods == nil {
		return
	}
	w := writer{texts: k.Texts(), parts: p, source: k.Rule.Source}
	s.Scope.Periods.Greatest = func(ctx context.Context, st *store.Store, values []any, period calendar.Period) (int64, error) {
		column := w.texts.In([]store.Column{s.Scope.Column}, w.partsOf(&parent{values: values}, period))[0]
		return keycolumn.Of(st, column).MaxKeyWithin(ctx, s.Scope.Within, "", values)
	}
}
