package keyfillredis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/keysource"
)

// Errors about states (stored counters), all of which wrap keysource.ErrStoreState.
var (
	errParameters = anchor.New("parameters", "the source's state in Redis has other parameters, which must never change: put the old parameters back, or choose a new name and a start above all keys")
	errKind       = anchor.New("parameters", "the source's state in Redis was made for another kind of source: give this source another name")
	errTaken      = anchor.New("shared-state", "another state in Redis fills the column too: delete <prefix>columns/<column>, or say exclusive: true if it no longer does")
	errBinding    = anchor.New("parameters", "the keys of the column were made with other parameters, and keys of both can be equal: put these back, or fill another column")
	errValue      = anchor.New("store-state", "a key of its state in Redis is not as this version of keyfillredis writes it: use the version that made it, or mend the value")
	errUncounted  = anchor.New("back", "there is a series in Redis that its state has not counted: raise next in the state above all of its series")
)

// Errors of Redis that stay until an operator repairs the server, the account or the
// policy.
var (
	errLogin      = anchor.New("login", "Redis refuses the user or the password: mend user_env and password_env, or the account")
	errLoginDSN   = anchor.New("login", "Redis refuses the user or the password: mend the DSN, or the account")
	errLoginGiven = anchor.New("login", "Redis refuses the user or the password: mend the client that the program has given, or the account")
	errRight      = anchor.New("login", "the user may not use the keys of the store in Redis, or the commands of its scripts: grant what docs/operating.md lists")
	errCommand    = anchor.New("login", "Redis does not know a command that keyfill needs, such as EVAL: take the rename-command that hides it out of redis.conf")
	errSpace      = anchor.New("read-only", "Redis takes no changes, since its memory is used up: raise maxmemory, or remove other keys")
	errDisk       = anchor.New("read-only", "Redis takes no changes, since it cannot write to its disk: make room there, and look at its log")
	errClustered  = anchor.New("driver", "the server is a node of a Redis Cluster: name a second node in endpoints, or say cluster=true in the DSN")
	errNumber     = anchor.New("driver", "the DSN names a database that Redis does not have: write /0 after the port, or raise databases in redis.conf")
	errSingle     = anchor.New("driver", "the servers are no Redis Cluster: name one of them alone, or the sentinels by a DSN with master_name")
)

// Errors after which a request is sent to the store again.
var (
	errClosed   = anchor.New("closed", "the store in Redis is closed")
	errReach    = anchor.New("store-down", "the server of Redis cannot be reached: look at endpoints or the DSN, at tls and at the network")
	errCut      = anchor.New("store-down", "the connection to Redis broke before the answer: look at the log of the server if it goes on")
	errCutFirst = anchor.New("store-down", "Redis ends each connection before its first answer: look whether the port is one of TLS, at maxclients, and at its log")
	errReplica  = anchor.New("store-down", "the server of Redis is a replica, and takes no changes: name the primary, or the sentinels by a DSN with master_name")
	errReplicas = anchor.New("read-only", "Redis takes no changes, since fewer replicas are connected than min-replicas-to-write asks for: bring them back, or lower it")
	errClients  = anchor.New("store-down", "Redis has as many clients as maxclients lets it have: raise that, or end some")
	errTrust    = anchor.New("store-down", "the server of Redis and this process do not agree on TLS: look at TLS and at the port")
	errShake    = anchor.New("store-down", "the server of Redis does not answer what TLS begins with: leave TLS out where the port has none, else look at the network")
	errAnswer   = anchor.New("store-down", "the answer of Redis belongs to another question: look at what stands between this process and the server")
	errLoading  = anchor.New("store-down", "the server of Redis reads its data: wait")
	errElection = anchor.New("store-down", "the cluster of Redis has no primary for the key of the state: wait while it elects one, else look at CLUSTER INFO")
	errMaster   = anchor.New("store-down", "the sentinels do not know the primary: mend master_name in the DSN, or let them monitor it")
)

// stateError returns the error for a state (a stored counter) that cannot be used as it is.
func stateError(name string, cause error) error {
	return fmt.Errorf("state %q: %w: %w", name, keysource.ErrStoreState, cause)
}

// final returns an error that stays until an operator repairs the store.
func final(cause error) error {
	return fmt.Errorf("%w: %w: %w", keysource.ErrStoreState, keysource.ErrStoreRefused, cause)
}

// access says how a store learned its servers: from the policy's fields, from a DSN, or
// from a client of the program.
type access uint8

const (
	byFields access = iota // the servers are given by fields of the policy
	byDSN
	byClient // the servers are given by a client of the program
)

// login returns the error for a user that Redis refuses.
func (a access) login() error {
	return []error{errLogin, errLoginDSN, errLoginGiven}[a]
}

// meaning returns this package's error for an error of the client, without the client's
// words, which may contain an address, a key or a user. The error of a context is returned
// unchanged.
func (s *store) meaning(ctx context.Context, err error) error {
	var (
		answer redis.Error
		op     *net.OpError
		record tls.RecordHeaderError
		trust  *tls.CertificateVerificationError
	)
	switch {
	case s.closed.Load(), errors.Is(err, redis.ErrClosed):
		return errClosed
	case errors.Is(err, redis.Nil):
		return errMaster // no script returns nil, so the answer is a sentinel's, which does not know the primary
	case errors.As(err, &answer):
		return s.ofRedis(answer.Error())
	case errors.As(err, &record), errors.As(err, &trust), errors.As(err, &op) && op.Op == "remote error":
		return fmt.Errorf("%w: %w", errTrust, sqlcode.Connecting(err))
	case ctx.Err() != nil:
		return s.dials.late(ctx.Err())
	case errors.Is(err, errShake):
		return errShake
	case op != nil && op.Op == "dial":
		return fmt.Errorf("%w: %w", errReach, sqlcode.Connecting(err))
	case !s.answered.Load() && (errors.Is(err, io.EOF) || sqlcode.IsNetwork(err)):
		return errCutFirst
	}
	return errCut
}

// ofRedis returns this package's error for an error that a server has answered with. The
// error of a script contains the error of its failed command.
func (s *store) ofRedis(text string) error {
	code, _, _ := strings.Cut(text, " ")
	switch code {
	case "NOAUTH", "WRONGPASS":
		return final(s.access.login())
	case "NOPERM":
		return final(errRight)
	case "OOM":
		return final(errSpace)
	case "MISCONF":
		return final(errDisk)
	case "MOVED", "ASK", "CROSSSLOT":
		return final(errClustered)
	case "WRONGTYPE":
		return fmt.Errorf("%w: %w", keysource.ErrStoreState, errValue)
	case "READONLY":
		return errReplica
	case "NOREPLICAS":
		return errReplicas
	case "LOADING":
		return errLoading
	case "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN":
		return errElection
	}
	switch lower := strings.ToLower(text); {
	case strings.Contains(text, "cluster support disabled"):
		return final(errSingle)
	case strings.Contains(text, "DB index"):
		return final(errNumber)
	case strings.Contains(lower, "max number of clients"):
		return errClients
	case strings.HasPrefix(lower, "err unknown command"), strings.Contains(lower, "unknown redis command"):
		return final(errCommand)
	case strings.Contains(lower, "no such master"):
		return errMaster
	case strings.Contains(text, "NOREPLICAS"):
		return errReplicas
	case strings.Contains(text, "MISCONF"):
		return final(errDisk)
	case strings.Contains(text, "ACL failure"), strings.Contains(text, "can't run this command"):
		return final(errRight)
	case strings.Contains(text, "AUTH"), strings.Contains(text, "invalid password"), strings.Contains(text, "unauthenticated"):
		// "unauthenticated" is the answer to a command of more than ten words.
		return final(s.access.login())
	case strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || len(code) > longestCode:
		code = "ERR"
	}
	return anchor.Newf("store-down", "Redis answers with the code %s: look at its log", code)
}

// longestCode is a number of letters that exceeds the length of every error code of Redis.
const longestCode = 16
