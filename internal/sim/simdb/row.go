package simdb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keyfill/keyfill/internal/sim"
)

// table is one of keyfill's tables. The first columns are its primary key.
type table struct {
	name    string
	columns []string
	keys    int
}

// most is the greatest number of columns that one of the tables has.
const most = 8

var tables = []*table{
	{"keyfill_sequences", []string{"name", "next_value", "table_name", "column_name", "parameters", "incarnation", "updated_at"}, 1},
	{"keyfill_workers", []string{"name", "worker", "reserved_until", "previous_until", "owner", "epoch", "updated_at"}, 2},
	{"keyfill_series", []string{"name", "series_first", "series_last", "next_value", "owner", "epoch", "leased_until", "updated_at"}, 2},
}

// tableOf returns a table by its name, nil for one of the application.
func tableOf(name string) *table {
	for _, t := range tables {
		if t.name == name {
			return t
		}
	}
	return nil
}

// column returns the index of a column, -1 if the table has none of that name.
func (t *table) column(name string) int { return slices.Index(t.columns, name) }

// Row is a row of one of keyfill's tables. It is never changed.
type Row struct {
	of     *table
	values [most]any
}

// value returns the value of a column, nil if there is no row.
func (r *Row) value(column string) any {
	if r == nil {
		return nil
	}
	return r.values[r.of.column(column)]
}

// Int returns an integer of a row, 0 if there is no row.
func (r *Row) Int(column string) int64 {
	n, _ := r.value(column).(int64)
	return n
}

// Text returns a text of a row, an empty one if there is no row.
func (r *Row) Text(column string) string {
	text, _ := r.value(column).(string)
	return text
}

// Time returns a time of a row.
func (r *Row) Time(column string) time.Time { return r.value(column).(time.Time) }

// With returns a copy of the row with another integer in a column.
func (r *Row) With(column string, to int64) *Row {
	other := *r
	other.values[r.of.column(column)] = to
	return &other
}

// From describes, for the story (the printed account of a run), how a row has changed.
func (r *Row) From(old any) string {
	before, _ := old.(*Row)
	column := "next_value"
	switch r.of.name {
	case "keyfill_series":
		whose := "given up"
		if owner := r.Text("owner"); owner != "" {
			whose = fmt.Sprintf("%q's by epoch %d", owner, r.Int("epoch"))
		}
		return fmt.Sprintf("becomes a series to %d with %d as the next integer, %s", r.Int("series_last"), r.Int("next_value"), whose)
	case "keyfill_workers":
		column = "reserved_until"
	}
	if before == nil {
		return fmt.Sprintf("begins at %d", r.Int(column))
	}
	return fmt.Sprintf("goes from %d to %d", before.Int(column), r.Int(column))
}

// place returns the name that identifies a row on the server, as in [sim.Change].Row: the
// row's table and key.
func (t *table) place(key [most]any) string {
	var b strings.Builder
	b.WriteString(t.name)
	for _, v := range key[:t.keys] {
		b.WriteByte(' ')
		switch v := v.(type) {
		case int64:
			b.WriteString(strconv.FormatInt(v, 10))
		case string:
			b.WriteString(v)
		default:
			panic(fmt.Sprintf("simdb: a key of %s is a %T", t.name, v))
		}
	}
	return b.String()
}

// Of returns the row in value, which is the old or the new value of a change; nil if it is
// not a row of the table.
func Of(table string, value any) *Row {
	if r, ok := value.(*Row); ok && r.of.name == table {
		return r
	}
	return nil
}

// Rows returns the rows of a table.
func Rows(tx *sim.Tx, table string) (all []*Row) {
	for _, value := range tx.Each() {
		if r := Of(table, value); r != nil {
			all = append(all, r)
		}
	}
	return all
}

// Put stores a row. It replaces the row that has the same key.
func Put(tx *sim.Tx, r *Row) { tx.Store(r.of.place(r.values), r) }
