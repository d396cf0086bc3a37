package sqlcode

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ConnectError says why a connection could not be opened, in keyfill's own words. The
// driver's error may hold the DSN, or pieces of a DSN that the driver has misread, such as
// a password that it took for a host, a port or a database. Therefore ConnectError does not
// wrap the driver's error either.
type ConnectError struct {
	Code     Code // the code that the engine has answered with
	Answered bool // whether there is a Code

	text  string
	cause error // an error that holds no text of the driver's, for errors.Is; may be nil
}

func (e *ConnectError) Error() string { return "connecting: " + e.text }

// Unwrap returns the context's error, io.EOF or the operating system's.
func (e *ConnectError) Unwrap() error { return e.cause }

// Connecting returns the error of a connector in a form that may be shown: the engine's
// code or the network's error, without the driver's text. It returns driver.ErrBadConn and
// nil unchanged.
func Connecting(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, driver.ErrBadConn):
		return driver.ErrBadConn
	}
	e := &ConnectError{}
	if e.Code, e.Answered = Of(err); e.Answered {
		switch e.Code.Limit {
		case LimitConnection:
			e.text = "the server gives this user no further connection (" + e.Code.String() + "): allow two more than SetMaxOpenConns (docs/pool.md)"
		case LimitHourly:
			e.text = "the user has reached a limit for this hour (" + e.Code.String() + "): raise it, or wait"
		default:
			e.text = "the server has answered with " + e.Code.String()
		}
		return e
	}
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded, os.ErrDeadlineExceeded, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, cause) {
			e.text, e.cause = cause.Error(), cause
			return e
		}
	}
	e.text, e.cause = network(err)
	return e
}

// IsNetwork reports whether an error is one of the network or the operating system. A
// driver that returns such an error has understood its DSN.
func IsNetwork(err error) bool {
	var op *net.OpError
	var lookup *net.DNSError
	var errno syscall.Errno
	return errors.As(err, &op) || errors.As(err, &lookup) || errors.As(err, &errno)
}

// withoutTLS are the texts by which drivers say that the server has no TLS:
// go-sql-driver/mysql, pgx and lib/pq.
var withoutTLS = []string{"TLS requested but server does not support TLS", "server refused TLS connection", "SSL is not enabled on the server"}

// network returns the part of an error that may be shown, if it is one of the network, and
// an error for errors.Is.
func network(err error) (text string, cause error) {
	var (
		lookup  *net.DNSError
		op      *net.OpError
		errno   syscall.Errno
		timeout net.Error
		verify  *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	where := "the server"
	if errors.As(err, &op) {
		if a, ok := op.Addr.(*net.TCPAddr); ok {
			where = a.String() // an address has only digits
		}
	}
	switch {
	case errors.As(err, &lookup):
		return "the host is not found", nil
	case op != nil && op.Op == "remote error":
		// An alert of crypto/tls, whose type is not exported.
		return "TLS: the server answers with the alert " + strconv.Quote(strings.TrimPrefix(op.Err.Error(), "tls: ")), nil
	case errors.As(err, &errno):
		return where + ": " + errno.Error(), errno
	case errors.As(err, &host):
		return "TLS: the certificate is for another host", nil
	case errors.As(err, &unknown):
		return "TLS: the certificate is signed by an unknown authority", nil
	case errors.As(err, &invalid), errors.As(err, &verify):
		return "TLS: the certificate is not valid", nil
	case errors.As(err, &record):
		return "TLS: the server does not speak it", nil
	case errors.As(err, &timeout) && timeout.Timeout():
		return where + ": timeout", os.ErrDeadlineExceeded
	}
	for _, text := range withoutTLS {
		if strings.Contains(err.Error(), text) {
			return "TLS: the server does not speak it", nil
		}
	}
	return "the driver refuses; what it says is left out, since it may hold the DSN: open the DSN with the driver alone to see it", nil
}

// String returns the code in the form in which the engine's manual lists it.
func (c Code) String() string {
	if c.State != "" {
		return "SQLSTATE " + c.State
	}
	return fmt.Sprint("error ", c.Number)
}
