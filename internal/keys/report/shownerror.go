package report

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// ShownError returns the part of a store's error that may be shown: the text of keyfill's own
// error, and the answer of the engine, the network or the operating system. A driver's text
// may hold the DSN, and an engine's the name of a state, which may hold a tenant's name. So
// may a text of keyfill's that is composed of others.
func ShownError(err error) string {
	own, section := anchor.Known(err)
	cause := shownCause(err)
	switch {
	case own == "" && cause == "":
		return "an error of the driver, which is left out, since it may hold values"
	case own == "":
		return cause
	case cause == "":
		return anchor.Mark(own, section)
	}
	return anchor.Mark(own+": "+cause, section)
}

// shownCause returns what caused a store's error, empty if that is not known, or may not be
// shown.
func shownCause(err error) string {
	var connecting *sqlcode.ConnectError
	code, hasCode := sqlcode.Of(err)
	switch {
	case errors.As(err, &connecting):
		return connecting.Error()
	case hasCode && code.Limit == sqlcode.LimitDisk:
		return "its disk is full: the engine answers with " + code.String()
	case hasCode:
		return "the engine answers with " + code.String()
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, driver.ErrBadConn):
		return "the connection is broken"
	case sqlcode.IsNetwork(err):
		return sqlcode.Connecting(err).Error()
	}
	return ""
}
