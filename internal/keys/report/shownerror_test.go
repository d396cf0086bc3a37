package report_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// pgError is an error of an engine, with its code.
type pgError struct{ code, text string }

func (e pgError) Error() string    { return e.text }
func (e pgError) SQLState() string { return e.code }

// TestShownError: the log has keyfill's own words for a store's error, and the section of
// docs/errors.md, and not a word of what is wrapped: a password, a key and a tenant's name are
// put into every cause, and around it.
func TestShownError(t *testing.T) {
	const password, tenant, key = "Pw8password", "Tn5tenant", "771234577"
	said := "postgres://shop:" + password + "@host/db: state \"numbers-" + tenant + "\": Key (id)=(" + key + ")"
	own := anchor.New("login", "Redis refuses the user: mend the account")
	const down, ownText = " [docs/errors.md#store-down]", "Redis refuses the user: mend the account"
	for _, c := range []struct {
		cause error
		want  string
	}{
		{errors.New(said), "an error of the driver, which is left out, since it may hold values"},
		{anchor.Errorf("store-down", "using %q: %w", said, errors.New(said)), "an error of the driver, which is left out, since it may hold values"},
		{own, ownText + " [docs/errors.md#login]"},
		{fmt.Errorf("%w: %w: %w", keysource.ErrStoreState, keysource.ErrStoreRefused, own), ownText + " [docs/errors.md#login]"},
		{fmt.Errorf("%w: %w", own, errors.New(said)), ownText + " [docs/errors.md#login]"},
		{fmt.Errorf("%w: %w", own, pgError{"28P01", said}), ownText + ": the engine answers with SQLSTATE 28P01 [docs/errors.md#login]"},
		{pgError{"28P01", said}, "the engine answers with SQLSTATE 28P01"},
		{sqlcode.Connecting(errors.New(said)), sqlcode.Connecting(errors.New("")).Error()},
		{sqlcode.Connecting(pgError{"28P01", said}), "connecting: the server has answered with SQLSTATE 28P01"},
		{&net.OpError{Op: "dial", Net: said, Err: syscall.ECONNREFUSED}, "connecting: the server: connection refused"},
		{&net.DNSError{Err: said, Name: said}, "connecting: the host is not found"},
		{fmt.Errorf("%w: %w", anchor.New("store-down", "it broke"), driver.ErrBadConn), "it broke: the connection is broken" + down},
		{context.DeadlineExceeded, "no answer in time"},
		{keysource.ErrStoreState, "keysource: the store answers, but cannot reserve numbers [docs/errors.md#store-state]"},
		{store.ErrReadOnly, store.ErrReadOnly.Error() + " [docs/errors.md#read-only]"},
	} {
		for _, err := range []error{c.cause, fmt.Errorf("%s: %w", said, c.cause), anchor.End(fmt.Errorf("using %q: %w", said, c.cause))} {
			got := report.ShownError(err)
			if got != c.want {
				t.Errorf("%v is shown as %q, want %q", err, got, c.want)
			}
			for _, secret := range []string{password, tenant, key} {
				if strings.Contains(got, secret) {
					t.Errorf("%v is shown with a secret: %q", err, got)
				}
			}
		}
	}
}
