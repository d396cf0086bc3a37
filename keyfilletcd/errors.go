package keyfilletcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/keysource"
)

// Errors about states (stored counters), all of which wrap keysource.ErrStoreState.
var (
	errParameters = anchor.New("parameters", "the source's state in etcd has other parameters, which must never change: put the old parameters back, or choose a new name and a start above all keys")
	errKind       = anchor.New("parameters", "the source's state in etcd was made for another kind of source: give this source another name")
	errTaken      = anchor.New("shared-state", "another state in etcd fills the column too: delete <prefix>columns/<column>, or say exclusive: true if it no longer does")
	errBinding    = anchor.New("parameters", "the keys of the column were made with other parameters, and keys of both can be equal: put these back, or fill another column")
	errValue      = anchor.New("store-state", "a key of its state in etcd is not as this version of keyfilletcd writes it: use the version that made it, or mend the value")
	errGone       = anchor.New("no-row", "the source's state is gone from etcd, but its series are still there: create the state again above all of its series")
	errBelow      = anchor.New("back", "the source's state in etcd is older than before, as after a restore: raise base in the state above all keys")
	errNoCount    = anchor.New("back", "a key below its counts in etcd is gone, which its state names: raise base in the state above all keys, and take the name out of counts there")
	errUncounted  = anchor.New("back", "there is a series in etcd that its state has not counted: raise base in the state above all of its series")
)

// Errors of etcd that stay until an operator repairs the cluster or the account.
var (
	errLogin = anchor.New("login", "etcd refuses the user, the password or the certificate: mend user_env, password_env and tls, or the account")
	errUser  = anchor.New("login", "etcd wants a user and a password, and this store has none: write user_env and password_env, with endpoints instead of a DSN")
	errRight = anchor.New("login", "the user may not use the keys of the store in etcd: grant its role to read and write under the prefix")
	errSpace = anchor.New("read-only", "etcd takes no changes, since its space is used up: make room by compacting and defragmenting it, and disarm the alarm")
)

// Errors after which a request is sent to the store again.
var (
	errLeaseGone = anchor.New("store-down", "the lease has run out in etcd")
	errClosed    = anchor.New("closed", "the store in etcd is closed")
	errSilent    = anchor.New("store-down", "a server of etcd does not answer, and another one is asked: look at its log if it goes on")
	errNoLeader  = anchor.New("store-down", "the cluster of etcd has no leader: wait while it elects one, else start the members that are missing")
	errReach     = anchor.New("store-down", "a server of etcd cannot be reached: look at endpoints or the DSN, at tls and at the network")
	errHandshake = anchor.New("store-down", "the servers of etcd and this process do not agree on TLS: look at tls and at the scheme of the addresses")
	errShake     = anchor.New("store-down", "a server of etcd ends each connection when TLS begins: leave TLS out where it speaks none, else look at its log")
	errPreface   = anchor.New("store-down", "a server of etcd ends each connection before its first answer: write tls: or https:// where it speaks TLS, else look at its log")
)

// stateError returns the error for a state (a stored counter) that cannot be used as it is.
func stateError(name string, cause error) error {
	return fmt.Errorf("state %q: %w: %w", name, keysource.ErrStoreState, cause)
}

// meaning returns this package's error for an error of the client. Of the client's texts it
// keeps only those that etcd itself has sent. The error of a context is returned unchanged.
func meaning(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var known rpctypes.EtcdError
	if errors.As(rpctypes.Error(err), &known) {
		return ofEtcd(known)
	}
	text := status.Convert(err).Message()
	switch code := status.Code(err); {
	case code == codes.Canceled:
		return context.Canceled
	case code == codes.DeadlineExceeded:
		return context.DeadlineExceeded
	case code == codes.Unavailable, code == codes.Unknown:
		return unreached(text)
	default:
		return anchor.Newf("store-down", "etcd answers with the code %s: look at its log", code)
	}
}

// ofEtcd returns this package's error for an error that etcd has answered with.
func ofEtcd(err rpctypes.EtcdError) error {
	final := func(cause error) error {
		return fmt.Errorf("%w: %w: %w", keysource.ErrStoreState, keysource.ErrStoreRefused, cause)
	}
	switch text := err.Error(); {
	case text == rpctypes.ErrNoLeader.Error():
		return errNoLeader
	case text == rpctypes.ErrLeaseNotFound.Error():
		return errLeaseGone
	case text == rpctypes.ErrPermissionDenied.Error(), text == rpctypes.ErrPermissionNotGranted.Error(), text == rpctypes.ErrRoleNotGranted.Error():
		return final(errRight)
	case text == rpctypes.ErrUserEmpty.Error():
		return final(errUser)
	case text == rpctypes.ErrAuthFailed.Error(), text == rpctypes.ErrUserNotFound.Error():
		return final(errLogin)
	case text == rpctypes.ErrNoSpace.Error():
		return final(errSpace)
	default:
		return anchor.Newf("store-down", "the answer of etcd is %q: look at its log if it goes on", text)
	}
}
