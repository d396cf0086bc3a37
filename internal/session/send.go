package session

import (
	"context"
	"database/sql/driver"
	"strings"
)

// ExecContext executes a text on the driver's connection.
func (c *Conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.sends(query)
	return c.exec(ctx, query, args)
}

// exec executes a text as database/sql does.
func (c *driverConn) exec(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.discard {
		return nil, driver.ErrBadConn
	}
	if c.execer != nil {
		res, err := c.execer.ExecContext(ctx, query, args)
		if len(args) > 0 {
			c.Skips[ByExec].saw(err)
		}
		if err != nil {
			c.own.failed(err)
		}
		return res, err
	}
	plain, ok := c.Raw.(driver.Execer)
	if !ok {
		return nil, driver.ErrSkip
	}
	values, err := plainValues(ctx, args)
	if err != nil {
		return nil, err
	}
	return plain.Exec(query, values)
}

// QueryContext queries the driver's connection.
func (c *Conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.sends(query)
	return c.query(ctx, query, args)
}

// query executes a text that returns rows, as database/sql does.
func (c *driverConn) query(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.discard {
		return nil, driver.ErrBadConn
	}
	if c.queryer != nil {
		rows, err := c.queryer.QueryContext(ctx, query, args)
		if len(args) > 0 {
			c.Skips[ByQuery].saw(err)
		}
		if err != nil {
			c.own.failed(err)
		}
		return rows, err
	}
	plain, ok := c.Raw.(driver.Queryer)
	if !ok {
		return nil, driver.ErrSkip
	}
	values, err := plainValues(ctx, args)
	if err != nil {
		return nil, err
	}
	return plain.Query(query, values)
}

// sends updates the known state of the session before a text is executed.
func (c *Conn) sends(query string) {
	if isDrop(query) {
		c.server.Drops.Add(1)
	}
	d := c.dialect()
	t := text{dialect: d, query: query}
	c.Columns.sends(&t)
	c.Settings.sends(&t)
	c.converted.sends(&t)
	c.Place.sends(&t)
	c.Place.makesNames(&c.server.Places, &t, c.Tx != Outside)
	if d.Transactions.DDL && c.Tx != Outside {
		c.Altered.sends(&t)
	}
	c.Temporary.sends(&t)
	c.own.sends(&t)
	c.InsertID.sends(&t)
	c.touched.sends(&t)
}

// isDrop reports whether a text begins with DROP.
func isDrop(query string) bool {
	query = strings.TrimLeft(query, " \t\r\n")
	return len(query) > 4 && strings.EqualFold(query[:4], "drop")
}

// sendsQuiet is [Conn.sends] for a text for which [IsQuiet] is true. Settings and a
// location that were not asked for yet are noted as changed, since they are not known.
func (c *Conn) sendsQuiet() {
	c.Settings.changed = c.Settings.changed || !c.Settings.Asked
	c.Place.Changed = c.Place.Changed || !c.Place.Asked
}

// ExecQuiet is [Conn.ExecContext] for a text for which [IsQuiet] is true.
func (c *Conn) ExecQuiet(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	c.sendsQuiet()
	return c.exec(ctx, text, args)
}

// QueryQuiet is [Conn.QueryContext] for a text for which [IsQuiet] is true.
func (c *Conn) QueryQuiet(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	c.sendsQuiet()
	return c.query(ctx, text, args)
}

// CheckNamedValue lets the driver's connection check an argument. For a driver that
// prepares every text it refuses nothing: the statement later checks the same arguments,
// and may accept types that database/sql does not.
func (c *Conn) CheckNamedValue(nv *driver.NamedValue) error {
	if c.checker != nil {
		return c.checker.CheckNamedValue(nv)
	}
	if !c.preparesAll() {
		return c.convert(nv)
	}
	if v, err := driver.DefaultParameterConverter.ConvertValue(nv.Value); err == nil {
		nv.Value = v
	}
	return nil
}

// preparesAll reports whether database/sql prepares every text for the driver, and
// does not ask the driver's connection about arguments.
func (c *driverConn) preparesAll() bool { return c.checker == nil && c.Can == [2]bool{} }

// convert converts an argument as database/sql does for a driver without a checker. After
// ErrSkip, database/sql asks the statement's ColumnConverter, if the driver has one.
func (c *driverConn) convert(nv *driver.NamedValue) (err error) {
	if c.converts {
		return driver.ErrSkip
	}
	switch v := nv.Value.(type) {
	case string, int64, bool, float64, []byte, nil: // most arguments are of these types
	case int:
		nv.Value = int64(v)
	default:
		nv.Value, err = driver.DefaultParameterConverter.ConvertValue(v)
	}
	return err
}

// MeansAsSeen reports whether names of tables mean the same on a connection as in home, the
// location in which sessions begin: the connection has no temporary tables, its transaction
// has changed no tables, its location is home, and no text may have changed that. home is
// nil if the location does not matter.
func MeansAsSeen(c *Conn, home *Location) bool {
	return !c.Temporary.Every && c.Temporary.Names == nil && !c.Altered.On && (home == nil || c.Place.Asked && c.Place.At == home && !c.Place.Moved)
}

// skipping counts how often the driver has answered driver.ErrSkip to arguments since it
// last accepted arguments. Some drivers always answer so; others only for some texts, as
// go-sql-driver/mysql with interpolateParams.
type skipping struct{ Times uint8 }

// skipsExpected is how often the driver answers ErrSkip before another ErrSkip is expected.
// skipsUntried is how many texts are then prepared without a try, before a text is tried
// again.
const (
	skipsExpected = 3
	skipsUntried  = 64
)

// saw counts an ErrSkip of the driver to a text with arguments. Any other answer resets the
// count.
func (s *skipping) saw(err error) {
	switch {
	case err != driver.ErrSkip:
		s.Times = 0
	case s.Times < skipsExpected:
		s.Times++
	default:
		s.Times = skipsExpected
	}
}

// IsExpected reports whether the driver will probably answer ErrSkip. Call it once for each
// text, since it counts its calls.
func (s *skipping) IsExpected() bool {
	if s.Times < skipsExpected {
		return false
	}
	s.Times++
	return s.Times <= skipsExpected+skipsUntried
}
