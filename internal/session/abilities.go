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
