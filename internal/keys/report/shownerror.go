package report

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// ShownError returns the part of a store's error that may be shown: the text of
// keyfill's own error, and the answer of the engine, the network or the operating
// system. It omits the rest: a driver's text may contain the DSN, and an engine's text
// the name of a stored counter, which may contain a tenant's name. A text of keyfill's
// that is composed of other texts may contain these too.
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

// shownCause returns the cause of a store's error; it is empty if the cause is not
// known or must not be shown.
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
