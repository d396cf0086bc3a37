package fill

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/rewrite"
)

// go-mssqldb finds the columns of a bulk load by their exact names, and writes a value
// by its column's type: for a uniqueidentifier it accepts only 16 bytes, as they are
// stored, and the digits of an integer it writes unchanged into an nvarchar, which has
// two bytes a character (v1.11.2, Bulk.makeParam). For an INSERT the server converts
// the values; for a bulk load they are converted here.

// bulkColumn is a column of a table as the driver describes it.
type bulkColumn struct {
	name string
	kind string // the type of a key column, in capital letters; empty if it is not known
	// precision is how many digits a key column of type DECIMAL without decimal places
	// has; 0 for other types.
	precision int64
}

// keyForm converts a key to what the driver can write; it returns false if that is not
// possible.
type keyForm func(key driver.Value) (driver.Value, bool)

// columns queries the columns of the table if the driver needs them, and determines
// their names and how the keys are converted.
func (l *bulkLoad) columns(ctx context.Context) error {
	in := &l.plan.Inserts[0]
	if !in.Name.Bulk {
		return nil
	}
	e := l.conn.DB.AnyEngine()
	found, err := bulkColumns(ctx, l.conn, in.Name.TableText, func(name string) bool {
		return slices.ContainsFunc(in.Target.Keys, func(k plans.Key) bool { return k.Column == e.Dialect.Fold(name, true) })
	})
	if err != nil {
		return err
	}
	var names []string
	for _, c := range found {
		names = append(names, c.name)
	}
	only := table.Naming{Lookup: func(_, _ string) *plans.Target { return in.Target }, Key: "bulk\x00" + in.Target.Table + "\x00"}
	l.plan = e.ListedPlan(only, l.plan.Dialect, l.query, in.Target, names)
	t := table.Of(in)
	l.forms = make([]keyForm, len(t.KeyColumns))
	for _, d := range l.plan.Draws {
		k := &t.KeyColumns[d.Key]
		i := slices.IndexFunc(found, func(c bulkColumn) bool { return e.Dialect.Fold(c.name, true) == k.Name })
		if i < 0 {
			return l.unwritten(d.Key, "the table has no column of that name")
		}
		form := formOf(found[i])
		if found[i].kind == guidKind {
			if form, err = guidForm(ctx, l.conn); err != nil {
				return err
			}
		}
		if form == nil {
			return l.unwritten(d.Key, "keys are not written into a column of type "+strconv.Quote(found[i].kind))
		}
		l.forms[d.Key] = form
	}
	return nil
}

// unwritten returns the refusal of a load whose driver cannot write a key.
func (l *bulkLoad) unwritten(key int, why string) error {
	r := l.plan.Refused(rewrite.ErrBulk)
	r.Column = table.Of(&l.plan.Inserts[0]).KeyColumns[key].Name
	r.Detail = fmt.Sprintf("column %q: %s", r.Column, why)
	return r
}

// bulkColumns queries the columns of a table, by its name in SQL, as the driver does
// when the load begins. It asks for the types of key columns only, since for some types
// the driver panics.
func bulkColumns(ctx context.Context, conn *execution.Conn, table string, isKey func(name string) bool) (columns []bulkColumn, err error) {
	stmt, err := conn.PrepareContext(ctx, "SELECT * FROM "+table+" WHERE 1 = 0")
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	rows, err := session.QueryStmt(ctx, stmt, nil)
	if err != nil {
		return nil, err
	}
	kinds, _ := rows.(driver.RowsColumnTypeDatabaseTypeName)
	sizes, _ := rows.(driver.RowsColumnTypePrecisionScale)
	for i, name := range rows.Columns() {
		c := bulkColumn{name: name}
		if kinds != nil && isKey(name) {
			c.kind = kinds.ColumnTypeDatabaseTypeName(i)
		}
		if sizes != nil && isKey(name) {
			if precision, scale, ok := sizes.ColumnTypePrecisionScale(i); ok && scale == 0 {
				c.precision = precision
			}
		}
		columns = append(columns, c)
	}
	// Read all rows: if they were closed before, the driver would cancel the query.
	for err == nil {
		err = rows.Next(make([]driver.Value, len(columns)))
	}
	if closed := rows.Close(); err == io.EOF {
		err = closed
	}
	return columns, err
}

// formOf returns the conversion of keys for a column, nil if the column cannot hold
// keys.
func formOf(c bulkColumn) keyForm {
	switch c.kind {
	case "BINARY", "VARBINARY":
		return func(key driver.Value) (driver.Value, bool) {
			b, ok := key.([]byte)
			return b, ok
		}
	case "CHAR", "VARCHAR", "NCHAR", "NVARCHAR":
		return asText
	case "BIGINT":
		return upTo(math.MaxInt64)
	case "INT":
		return upTo(math.MaxInt32)
	case "SMALLINT":
		return upTo(math.MaxInt16)
	case "TINYINT":
		return upTo(math.MaxUint8)
	case "DECIMAL":
		const digits = 19 // the greatest integer has 19 digits
		switch {
		case c.precision >= digits:
			return upTo(math.MaxInt64)
		case c.precision > 0:
			return upTo(int64(math.Pow10(int(c.precision))) - 1)
		}
	}
	return nil
}

// guidKind is the type whose bytes the driver reorders if the DSN says "guid conversion".
const guidKind = "UNIQUEIDENTIFIER"

// guidForm returns the conversion for a uniqueidentifier: the bytes that the server
// stores for the text of a key; a key of 16 bytes is stored as it is. guidForm reads a
// known value to find out whether the driver reorders the bytes; it returns nil if the
// value does not show that.
func guidForm(ctx context.Context, conn *execution.Conn) (keyForm, error) {
	known := uuid.UUID{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}
	rows, err := catalog.Conn(conn.Own()).Rows(ctx, "SELECT CAST('"+known.String()+"' AS uniqueidentifier)")
	if err != nil || len(rows) != 1 || len(rows[0]) != 1 {
		return nil, err
	}
	read, ok := rows[0][0].([]byte)
	if !ok || len(read) != len(known) {
		return nil, nil
	}
	switch [16]byte(read) {
	case known:
		return func(key driver.Value) (driver.Value, bool) {
			b, ok := storedGUID(key)
			b = dialect.MixedEndian(b)
			return b[:], ok
		}, nil
	case dialect.MixedEndian(known):
		return func(key driver.Value) (driver.Value, bool) {
			b, ok := storedGUID(key)
			return b[:], ok
		}, nil
	}
	return nil, nil
}

// storedGUID returns the bytes that the server stores for a key.
func storedGUID(key driver.Value) (stored [16]byte, ok bool) {
	switch key := key.(type) {
	case []byte:
		if ok = len(key) == len(stored); ok {
			stored = [16]byte(key)
		}
	case string:
		id, err := uuid.Parse(key)
		if ok = err == nil && len(key) == table.UUIDLength; ok {
			stored = dialect.MixedEndian(id)
		}
	}
	return stored, ok
}

func asText(key driver.Value) (driver.Value, bool) {
	if n, ok := key.(int64); ok {
		return strconv.FormatInt(n, 10), true
	}
	s, ok := key.(string)
	return s, ok
}

// upTo returns the conversion of integers up to a limit. Of a greater integer, the
// driver would cut off the digits that do not fit the column.
func upTo(limit int64) keyForm {
	return func(key driver.Value) (driver.Value, bool) {
		n, ok := key.(int64)
		if s, is := key.(string); is {
			var err error
			n, err = strconv.ParseInt(s, 10, 64)
			ok = err == nil
		}
		return n, ok && n <= limit
	}
}

// formed returns the keys of a row, converted to what the driver can write.
func (l *bulkLoad) formed(ctx context.Context, keys [][]driver.Value) ([][]driver.Value, error) {
	if l.forms == nil {
		return keys, nil
	}
	out := make([][]driver.Value, len(keys))
	for i, d := range l.plan.Draws {
		for _, key := range keys[i] {
			v, ok := l.forms[d.Key](key)
			if !ok {
				return nil, l.conn.DB.Stats.RefuseBound(ctx, l.query, l.unwritten(d.Key, "a key is not of a size or kind that its type takes"))
			}
			out[i] = append(out[i], v)
		}
	}
	return out, nil
}
