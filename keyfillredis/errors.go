package keyfillredis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/keysource"
)

// Errors about states, all of which wrap keysource.ErrStoreState.
var (
	errParameters = anchor.New("parameters", "its state in Redis was made with other parameters, which may never change: put them back, or take a new name and a start above all keys")
	errKind       = anchor.New("parameters", "its state in Redis was made for another kind of source: take another name")
	errTaken      = anchor.New("shared-state", "the column is filled from another state in Redis too: delete the key columns/<column> with the prefix of the store, which says so, or say exclusive: true if that one no longer fills it")
	errBinding    = anchor.New("parameters", "the keys of the column were made with other parameters, and keys of both can be equal: put these back, or fill another column")
	errValue      = anchor.New("store-state", "a key of its state in Redis holds something else than this version of keyfillredis writes: use the version that has made it, or mend the value")
	errUncounted  = anchor.New("back", "there is a series in Redis that its state has not counted: raise next in the state above all of its series")
)

// Errors of Redis that stay until somebody mends the server, the account or the policy.
var (
	errLogin     = anchor.New("login", "Redis refuses the user or the password: mend user_env and password_env, or the account")
	errRight     = anchor.New("login", "the user may not use the keys of the store in Redis, or the commands of its scripts: grant what docs/operating.md lists")
	errSpace     = anchor.New("read-only", "Redis takes no changes, since its memory is used up: raise maxmemory, or remove other keys")
	errClustered = anchor.New("driver", "the server is a node of a Redis Cluster: name a second node in endpoints, or say cluster=true in the DSN")
	errNumber    = anchor.New("driver", "the DSN names a database that Redis does not have: write /0 behind the port, or raise databases in redis.conf")
	errSingle    = anchor.New("driver", "the servers are no Redis Cluster: name one of them alone, or the sentinels by a DSN with master_name")
)

// Errors after which the store is asked again.
var (
	errClosed   = anchor.New("closed", "the store in Redis is closed")
	errReach    = anchor.New("store-down", "the server of Redis cannot be reached: look at endpoints, at tls and at the network")
	errCut      = anchor.New("store-down", "the connection to Redis broke before the answer: look at the log of the server if it goes on")
	errReplica  = anchor.New("store-down", "the server of Redis is a replica, and takes no changes: name the primary, or the sentinels by a DSN with master_name")
	errTrust    = anchor.New("store-down", "the server of Redis and this process do not agree on TLS: look at tls and at the port")
	errAnswer   = anchor.New("store-down", "the answer of Redis belongs to another question: look at what stands between this process and the server")
	errUnloaded = anchor.New("store-down", "the server of Redis reads its data, or a cluster elects a primary: wait")
)

// stateError returns the error of a state that cannot be used as it is.
func stateError(name string, cause error) error {
	return fmt.Errorf("state %q: %w: %w", name, keysource.ErrStoreState, cause)
}

// final returns the error of a store that answers so until somebody mends something.
func final(cause error) error {
	return fmt.Errorf("%w: %w: %w", keysource.ErrStoreState, keysource.ErrStoreRefused, cause)
}

// meaning returns what an error of the client means, without its words: they may hold an
// address, a key or a user. The error of a context stays one.
func (s *store) meaning(ctx context.Context, err error) error {
	var (
		answer redis.Error
		dial   *net.OpError
		record tls.RecordHeaderError
		alert  tls.AlertError
		trust  *tls.CertificateVerificationError
		host   x509.HostnameError
	)
	switch {
	case s.closed.Load(), errors.Is(err, redis.ErrClosed):
		return errClosed
	case errors.As(err, &answer):
		return ofRedis(answer.Error())
	case errors.As(err, &record), errors.As(err, &alert), errors.As(err, &trust), errors.As(err, &host):
		return errTrust
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &dial) && dial.Op == "dial":
		return errReach
	}
	return errCut
}

// ofRedis returns the meaning of an error that a server has answered with. A script's error
// has the error of a command of it in its text.
func ofRedis(text string) error {
	code, _, _ := strings.Cut(text, " ")
	switch code {
	case "NOAUTH", "WRONGPASS":
		return final(errLogin)
	case "NOPERM":
		return final(errRight)
	case "OOM":
		return final(errSpace)
	case "MOVED", "ASK", "CROSSSLOT":
		return final(errClustered)
	case "WRONGTYPE":
		return fmt.Errorf("%w: %w", keysource.ErrStoreState, errValue)
	case "READONLY":
		return errReplica
	case "LOADING", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "NOREPLICAS":
		return errUnloaded
	}
	switch {
	case strings.Contains(text, "cluster support disabled"):
		return final(errSingle)
	case strings.Contains(text, "DB index"):
		return final(errNumber)
	case strings.Contains(text, "ACL failure"), strings.Contains(text, "can't run this command"):
		return final(errRight)
	case strings.Contains(text, "AUTH"), strings.Contains(text, "invalid password"), strings.Contains(text, "unauthenticated"):
		// The last one is the answer to a command of more than ten words.
		return final(errLogin)
	case strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "":
		code = "ERR"
	}
	return anchor.Errorf("store-down", "Redis answers with the code %s: look at its log", code)
}
