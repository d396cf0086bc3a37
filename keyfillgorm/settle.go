package keyfillgorm

import (
	"context"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// chunk is how many keys one SELECT asks for: engines limit the number of placeholders.
const chunk = 500

// settle compares the keys that were set with the stored ones, and sets the numbers that
// the INSERT has drawn. It runs after the INSERT.
func (s *setter) settle(db *gorm.DB) {
	value, _ := db.InstanceGet(numbersKey)
	n, _ := value.(*numbers)
	if n != nil {
		n.end(db)
	}
	s.settleKeys(db)
	if n == nil {
		return
	}
	db.Statement.Omits = n.omits
	if db.Error != nil {
		return
	}
	if err := n.write(db); err != nil {
		n.zero()
		_ = db.AddError(err)
	}
}

// settleKeys compares the keys that were set with the stored ones.
func (s *setter) settleKeys(db *gorm.DB) {
	value, _ := db.InstanceGet(drawnKey)
	d, _ := value.(*drawn)
	if d == nil {
		return
	}
	db.InstanceSet(drawnKey, (*drawn)(nil))
	d.restore(db)
	ctx := db.Statement.Context
	if db.Error != nil {
		d.zero(ctx)
		return
	}
	if (!d.careful || d.told) && db.RowsAffected == int64(d.rows) {
		return
	}
	missing, err := d.unstored(db, 0, len(d.keys))
	for i := 0; d.scanned && err == nil && i < len(d.keys); i++ {
		// GORM has assigned the rows of RETURNING to the structs in order, as if no row had
		// been left out. So a struct may have got the key of the next struct.
		err = d.field.Set(ctx, d.structs[i], d.keys[i])
	}
	for _, i := range missing {
		if err == nil {
			err = d.readBack(db, d.structs[i])
		}
	}
	if err != nil {
		// It is not known which rows are stored, and a struct must not name a missing
		// row.
		d.zero(ctx)
		_ = db.AddError(err)
		return
	}
	if d.conflict != nil && d.conflict.DoNothing && s.returning && len(d.structs) == d.rows {
		// GORM's count may be wrong: it has counted the rows of RETURNING, and the structs
		// that have a key.
		db.RowsAffected = int64(d.rows - len(missing))
	}
}

// unstored returns the indexes of the keys that are in no row, of the keys from index from
// up to to. It asks for all of these keys at once, and if some are missing, for each half
// separately.
func (d *drawn) unstored(db *gorm.DB, from, to int) ([]int, error) {
	if to-from <= chunk {
		stored, err := d.count(db, d.keys[from:to])
		switch {
		case err != nil || stored == int64(to-from):
			return nil, err
		case stored == 0:
			all := make([]int, 0, to-from)
			for i := from; i < to; i++ {
				all = append(all, i)
			}
			return all, nil
		}
	}
	half := (from + to) / 2
	left, err := d.unstored(db, from, half)
	if err != nil {
		return nil, err
	}
	right, err := d.unstored(db, half, to)
	return append(left, right...), err
}

// count returns how many of the keys are stored.
func (d *drawn) count(db *gorm.DB, keys []any) (n int64, err error) {
	in := clause.IN{Column: clause.Column{Name: d.field.DBName}, Values: keys}
	err = d.query(db).Where(in).Count(&n).Error
	return n, err
}

// query returns a query of the table on the statement's own connection.
func (d *drawn) query(db *gorm.DB) *gorm.DB {
	return db.Session(&gorm.Session{NewDB: true}).Table(d.table)
}

// readBack replaces a struct's key by the key of the row that was there before, if the
// clause of the conflict identifies the row; otherwise it sets the key to zero.
func (d *drawn) readBack(db *gorm.DB, rv reflect.Value) error {
	ctx := db.Statement.Context
	d.field.ReflectValueOf(ctx, rv).SetZero()
	c := d.conflict
	if c == nil || c.DoNothing || len(c.Columns) == 0 || c.OnConstraint != "" || len(c.TargetWhere.Exprs) > 0 {
		return nil
	}
	q := d.query(db).Select(d.field.DBName)
	for _, column := range c.Columns {
		same, known := d.sameAs(ctx, db, rv, column)
		if !known {
			return nil
		}
		q = q.Where(same)
	}
	rows, err := q.Limit(2).Rows()
	if err != nil {
		return err
	}
	defer rows.Close()
	var found []any // the keys as the driver returns them, since database/sql may not be able to scan the field's type
	for rows.Next() {
		var key any
		if err := rows.Scan(&key); err != nil {
			return err
		}
		found = append(found, key)
	}
	if err := rows.Err(); err != nil || len(found) != 1 {
		return err
	}
	return d.assign(ctx, rv, found[0])
}

// sameAs returns the condition that a column has the struct's value. It returns false if
// the struct does not have that value: the column is the key, has no field, or may have
// been filled by the database.
func (d *drawn) sameAs(ctx context.Context, db *gorm.DB, rv reflect.Value, column clause.Column) (clause.Eq, bool) {
	field := fieldOf(db.Statement.Schema, column.Name)
	if field == nil || field == d.field || field.HasDefaultValue {
		return clause.Eq{}, false
	}
	value, _ := field.ValueOf(ctx, rv)
	return clause.Eq{Column: clause.Column{Name: field.DBName}, Value: value}, true
}
