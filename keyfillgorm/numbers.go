package keyfillgorm

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/fill/execution"
)

// numbersKey is the name under which GORM's statement holds the columns that its INSERT
// fills, as a *numbers.
const numbersKey = "keyfill:numbers"

// numbers are the keys that an INSERT draws while it is sent, such as a number beside the
// table's first key. GORM does not read them back, so that the structs would keep 0 or an
// empty text, which the method Save would store.
type numbers struct {
	table   string
	columns []numberColumn
	rows    []reflect.Value // the struct of each row
	twice   []bool          // whether the struct of the row is the struct of another row too

	rec     *keyfill.Recorder // nil if the program records the keys
	ctx     context.Context   // the program's context
	omits   []string          // the program's own
	written []func()          // each sets a field to zero that has got a number
}

// numberColumn is a column of numbers.
type numberColumn struct {
	field *schema.Field
	lacks []bool // by row, whether the struct has no number
}

// expect prepares a statement for the numbers that its INSERT will draw. It leaves a column
// out of the INSERT if no struct has a number. It returns an error if GORM would store 0 as
// a number, or if a struct cannot get its number.
func (s *setter) expect(db *gorm.DB) (*numbers, error) {
	table, known := tableOf(db)
	if table == "" {
		return nil, nil
	}
	n := &numbers{table: table, ctx: db.Statement.Context, omits: db.Statement.Omits}
	first, _ := s.mount.KeyColumn(table)
	for _, column := range s.mount.KeyColumns(table) {
		field := fieldOf(db.Statement.Schema, column)
		if field == nil || column == first && s.readsBack(db, field) {
			continue
		}
		if n.rows == nil && !n.collect(db) {
			return nil, nil
		}
		lacks, all := n.lacking(field)
		if !slices.Contains(lacks, true) {
			continue
		}
		n.columns = append(n.columns, numberColumn{field, lacks})
		if column == first {
			continue // see missing
		}
		if err := n.beside(db, field, lacks, known && all); err != nil {
			db.Statement.Omits = n.omits
			return nil, err
		}
	}
	if len(n.columns) == 0 {
		return nil, nil
	}
	return n, nil
}

// collect sets the rows. It returns false if the program gives a map, or a value for which
// GORM returns an error.
func (n *numbers) collect(db *gorm.DB) bool {
	n.rows = structs(db.Statement.ReflectValue)
	n.twice = make([]bool, len(n.rows))
	seen := map[any]int{}
	for i, rv := range n.rows {
		if !rv.IsValid() || rv.Kind() != reflect.Struct {
			return false
		}
		if !rv.CanAddr() {
			continue
		}
		at := rv.Addr().Interface()
		if j, has := seen[at]; has {
			n.twice[i], n.twice[j] = true, true
		}
		seen[at] = i
	}
	return len(n.rows) > 0
}

// lacking reports for each row whether its struct has no number, and whether all have none.
func (n *numbers) lacking(field *schema.Field) (lacks []bool, all bool) {
	lacks, all = make([]bool, len(n.rows)), true
	for i, rv := range n.rows {
		_, lacks[i] = field.ValueOf(n.ctx, rv)
		all = all && lacks[i]
	}
	return lacks, all
}

// beside prepares a statement for the numbers of a column beside the first key. omit
// reports whether the column may be left out of the INSERT.
func (n *numbers) beside(db *gorm.DB, field *schema.Field, lacks []bool, omit bool) error {
	for i, rv := range n.rows {
		if lacks[i] && !rv.CanAddr() && n.isKeyed(db, rv) {
			return anchor.Lastf("policy", "keyfillgorm: the struct for table %q is given by value and cannot learn its %s, which Save would erase: give Create a pointer", n.table, field.Name)
		}
	}
	if field.HasDefaultValue || !inserted(db, field) {
		return nil
	}
	if omit {
		// An upsert of all columns then leaves the number of the row as it is.
		db.Statement.Omits = append(slices.Clip(db.Statement.Omits), field.DBName)
		return nil
	}
	integer := field.GORMDataType == schema.Int || field.GORMDataType == schema.Uint
	if integer && db.Name() != "mysql" {
		return anchor.Lastf("policy", "keyfillgorm: GORM would send the number %s of table %q as 0: tag the field default:(-), or call Omit(%[1]q)", field.Name, n.table)
	}
	return nil
}

// isBeside reports whether there are numbers in another column than the key.
func (n *numbers) isBeside(key *schema.Field) bool {
	return n != nil && slices.ContainsFunc(n.columns, func(c numberColumn) bool { return c.field != key })
}

// isKeyed reports whether a struct has a primary key, so that Save would update its row.
func (n *numbers) isKeyed(db *gorm.DB, rv reflect.Value) bool {
	for _, field := range db.Statement.Schema.PrimaryFields {
		if _, zero := field.ValueOf(n.ctx, rv); zero {
			return false
		}
	}
	return len(db.Statement.Schema.PrimaryFields) > 0
}

// begin records the numbers of the INSERT. If the program records them itself, begin does
// not: a retry of the program's finds the keys of its first attempt in the innermost
// recorder.
func (n *numbers) begin(db *gorm.DB, d *drawn) {
	if d != nil {
		n.columns = slices.DeleteFunc(n.columns, func(c numberColumn) bool { return c.field == d.field })
	}
	if execution.RecorderOf(n.ctx) == nil {
		db.Statement.Context, n.rec = keyfill.Record(n.ctx)
	}
	db.InstanceSet(numbersKey, n)
	if j := journalOf(db); j != nil {
		j.numbers = append(j.numbers, n)
	}
}

// end undoes what expect and begin have done to the statement.
func (n *numbers) end(db *gorm.DB) {
	db.InstanceSet(numbersKey, (*numbers)(nil))
	db.Statement.Context, db.Statement.Omits = n.ctx, n.omits
}

// write sets the stored numbers in the structs that lack them. A row that ON CONFLICT or
// IGNORE has left out gets none.
func (n *numbers) write(db *gorm.DB) error {
	if n.rec != nil {
		for _, k := range n.rec.All() {
			if err := n.writeRecorded(k); err != nil {
				return err
			}
		}
	}
	var ask []int // the rows of which it is not known what is stored
	for i, rv := range n.rows {
		open := slices.ContainsFunc(n.columns, func(c numberColumn) bool { return c.lacks[i] })
		if open && rv.CanAddr() && n.isKeyed(db, rv) {
			ask = append(ask, i)
		}
	}
	for some := range slices.Chunk(ask, chunk) {
		if err := n.query(db, some); err != nil {
			return err
		}
	}
	return nil
}

// writeRecorded sets a number that was recorded, if it is known that the row is stored. A
// UUID is read back instead, since the policy's layout says in what form it is stored.
func (n *numbers) writeRecorded(k keyfill.RecordedKey) error {
	_, text := k.Key.(string)
	_, integer := k.Key.(int64)
	if !text && !integer || k.Outcome != keyfill.Stored || k.Row >= len(n.rows) || n.twice[k.Row] {
		return nil
	}
	for _, c := range n.columns {
		if strings.EqualFold(c.field.DBName, k.Column) && c.lacks[k.Row] && n.rows[k.Row].CanAddr() {
			c.lacks[k.Row] = false
			return n.set(c.field, n.rows[k.Row], k.Key)
		}
	}
	return nil
}

// set sets a number in a struct.
func (n *numbers) set(field *schema.Field, rv reflect.Value, number any) error {
	d := drawn{table: n.table, field: field}
	n.written = append(n.written, func() { field.ReflectValueOf(n.ctx, rv).SetZero() })
	if err := d.assign(n.ctx, rv, number); err != nil {
		return err
	}
	if _, integer := number.(int64); integer {
		// reflect cuts an integer that is too great for the field.
		if value, _ := field.ValueOf(n.ctx, rv); fmt.Sprint(sentAs(value)) != fmt.Sprint(number) {
			return d.unfit(number)
		}
	}
	return nil
}

// query reads the numbers of some rows by their primary keys, on the statement's own
// connection.
func (n *numbers) query(db *gorm.DB, some []int) error {
	primary := db.Statement.Schema.PrimaryFields
	var names, selected []string
	for _, field := range primary {
		names = append(names, field.DBName)
	}
	selected = append(selected, names...)
	for _, c := range n.columns {
		selected = append(selected, c.field.DBName)
	}
	keys, rows := make([][]any, len(some)), map[string][]int{}
	for j, i := range some {
		keys[j] = n.primaryOf(primary, n.rows[i])
		rows[nameOf(keys[j])] = append(rows[nameOf(keys[j])], i)
	}
	d := drawn{table: n.table}
	column, values := schema.ToQueryValues(clause.CurrentTable, names, keys)
	found, err := d.query(db).Select(selected).Where(clause.IN{Column: column, Values: values}).Rows()
	if err != nil {
		return err
	}
	defer found.Close()
	row, into := make([]any, len(selected)), make([]any, len(selected)) // database/sql may not be able to scan the fields' types
	for i := range row {
		into[i] = &row[i]
	}
	for found.Next() {
		if err := found.Scan(into...); err != nil {
			return err
		}
		if err := n.writeRow(primary, rows, row); err != nil {
			return err
		}
	}
	return found.Err()
}

// writeRow sets the numbers of a row that was read: its primary key, and the value of each
// column.
func (n *numbers) writeRow(primary []*schema.Field, rows map[string][]int, row []any) error {
	scratch := reflect.New(n.rows[0].Type()).Elem() // turns the driver's form of a key into the field's
	for i, field := range primary {
		d := drawn{table: n.table, field: field}
		if err := d.assign(n.ctx, scratch, row[i]); err != nil {
			return err
		}
	}
	for _, i := range rows[nameOf(n.primaryOf(primary, scratch))] {
		for j, c := range n.columns {
			if number := row[len(primary)+j]; c.lacks[i] && number != nil {
				if err := n.set(c.field, n.rows[i], number); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// primaryOf returns the primary key of a struct as GORM binds it.
func (n *numbers) primaryOf(primary []*schema.Field, rv reflect.Value) []any {
	key := make([]any, len(primary))
	for i, field := range primary {
		key[i], _ = field.ValueOf(n.ctx, rv)
	}
	return key
}

// nameOf returns a text that differs for primary keys that differ.
func nameOf(key []any) string {
	var b strings.Builder
	for _, value := range key {
		fmt.Fprintf(&b, "%q ", fmt.Sprint(sentAs(value)))
	}
	return b.String()
}

// zero sets the numbers that were written to zero.
func (n *numbers) zero() {
	for _, undo := range n.written {
		undo()
	}
	n.written = nil
}
