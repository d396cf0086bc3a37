//lint:file-ignore SA1019 drivers may have the interfaces of before contexts only

package session

import "database/sql/driver"

// Route is how a text goes to a driver's connection that takes it with its arguments.
type Route uint8

// The two routes.
const (
	ByExec Route = iota
	ByQuery
)

// driverCan says what the driver's connection can do. It is asked once, since every
// statement wants to know it. An interface that the connection lacks is nil.
type driverCan struct {
	execer    driver.ExecerContext
	queryer   driver.QueryerContext
	checker   driver.NamedValueChecker
	resetter  driver.SessionResetter
	validator driver.Validator

	Execs   bool // it has Exec, with a context or without
	Queries bool // it has Query, with a context or without

	// converts says that a statement of the connection had a ColumnConverter.
	converts bool

	Skips [2]skipping // by Route
}

// skipping counts how often the driver has answered driver.ErrSkip to arguments since it
// took arguments the last time. Some drivers always do; others only for some texts, as
// go-sql-driver/mysql with interpolateParams.
type skipping struct{ times uint8 }

// So often the driver answers ErrSkip before it is expected to, and so often it is
// then expected to before it is tried again.
const (
	skipsExpected = 3
	skipsUntried  = 64
)

// saw notes the driver's answer to a text with arguments.
func (s *skipping) saw(err error) {
	switch {
	case err != driver.ErrSkip:
		s.times = 0
	case s.times < skipsExpected:
		s.times++
	default:
		s.times = skipsExpected
	}
}

// IsExpected reports whether the driver will answer ErrSkip, as far as one can tell.
// It is asked once for a text.
func (s *skipping) IsExpected() bool {
	if s.times < skipsExpected {
		return false
	}
	s.times++
	return s.times <= skipsExpected+skipsUntried
}

// abilities asks a connection what it can do.
func abilities(conn driver.Conn) (can driverCan) {
	can.execer, can.Execs = conn.(driver.ExecerContext)
	can.queryer, can.Queries = conn.(driver.QueryerContext)
	can.checker, _ = conn.(driver.NamedValueChecker)
	can.resetter, _ = conn.(driver.SessionResetter)
	can.validator, _ = conn.(driver.Validator)
	_, exec := conn.(driver.Execer)
	_, query := conn.(driver.Queryer)
	can.Execs, can.Queries = can.Execs || exec, can.Queries || query
	return can
}

// Can reports whether the driver's connection takes the route itself.
func (c *driverCan) Can(by Route) bool {
	if by == ByQuery {
		return c.Queries
	}
	return c.Execs
}

// preparesAll reports whether database/sql prepares every text for the driver, and
// does not ask the driver's connection about arguments.
func (c *driverCan) preparesAll() bool { return c.checker == nil && !c.Execs && !c.Queries }

// convert converts an argument as database/sql does it without a checker; ErrSkip lets
// database/sql ask the statement's ColumnConverter, if the driver has one.
func (c *driverCan) convert(nv *driver.NamedValue) (err error) {
	if c.converts {
		return driver.ErrSkip
	}
	switch v := nv.Value.(type) {
	case string, int64, bool, float64, []byte, nil: // what most arguments are
	case int:
		nv.Value = int64(v)
	default:
		nv.Value, err = driver.DefaultParameterConverter.ConvertValue(v)
	}
	return err
}
