package store

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/keyfill/keyfill/internal/store/engine"
)

// ServerIdentity finds out which server of an engine answers: a reservation names the
// server that has committed it.
type ServerIdentity struct {
	engine *engine.Engine
	conn   Conn

	// known is the expression that the server answers; nil until it was found.
	known atomic.Pointer[string]

	// AsksAfter reports that a statement cannot compare the identity, which is therefore
	// queried after the statement.
	AsksAfter atomic.Bool

	// last is the identity that the server has returned last, for an engine whose UPDATE
	// does not return it; nil until it has returned one.
	last atomic.Pointer[string]
}

// noServer is the expression for a server whose identity is not known.
const noServer = "''"

// ForeignMark follows the server in a [keysource.Reservation] if the row names another
// server as the one that has written it. No name of a host or a cluster has this character.
const ForeignMark = "\x1f"

// ServerOf joins the identity of a row and the identity of its server into one text.
func ServerOf(identity string, server any) string { return identity + "@" + Text(server) }

// on returns the identity of the same server, queried on c.
func (s *ServerIdentity) on(c Conn) *ServerIdentity {
	other := &ServerIdentity{engine: s.engine, conn: c}
	other.known.Store(s.known.Load())
	other.last.Store(s.last.Load())
	return other
}

// Know sets the expression that the server answers.
func (s *ServerIdentity) Know(expression string) { s.known.Store(&expression) }

// IsKnown reports whether the expression that the server answers is known.
func (s *ServerIdentity) IsKnown() bool { return s.known.Load() != nil }

// Likely returns the expression that the server is known to answer, or else all
// expressions that it may answer.
func (s *ServerIdentity) Likely() []string {
	if known := s.known.Load(); known != nil {
		return []string{*known}
	}
	if len(s.engine.Servers) == 0 {
		return []string{noServer}
	}
	return s.engine.Servers
}

// Expression returns the most specific expression for the server's identity that the
// server answers with the user's rights.
func (s *ServerIdentity) Expression(ctx context.Context) (string, error) {
	if known := s.known.Load(); known != nil {
		return *known, nil
	}
	chosen := noServer
	for _, expression := range s.engine.Servers {
		if s.ask(ctx, expression) == nil {
			chosen = expression
			break
		}
		// Find out whether the engine has refused the expression or the connection broke: an
		// engine that answers again refuses the expression again.
		if err := s.ask(ctx, noServer); err != nil {
			return "", err
		}
		err := s.ask(ctx, expression)
		if err == nil {
			chosen = expression
			break
		}
		if IsBroken(err) || ctx.Err() != nil {
			return "", err // the error says nothing about the expression
		}
	}
	s.Know(chosen)
	return chosen, nil
}

// ask queries the value of an expression.
func (s *ServerIdentity) ask(ctx context.Context, expression string) error {
	row, err := s.conn.Query(ctx, "SELECT "+expression+s.engine.Expressions.Dual, nil)
	if err == nil && row != nil && expression != noServer {
		server := ServerOf("", row[0])
		s.last.Store(&server)
	}
	return err
}

// Before returns the same text as [ServerIdentity.After], but from the server's last
// answer, and asks only if there was none.
func (s *ServerIdentity) Before(ctx context.Context) (string, error) {
	expression, err := s.Expression(ctx)
	if err != nil || expression == noServer {
		return ServerOf("", ""), err
	}
	if s.last.Load() == nil {
		if err := s.ask(ctx, expression); err != nil {
			return "", err
		}
	}
	if last := s.last.Load(); last != nil {
		return *last, nil
	}
	return ServerOf("", ""), nil
}

// PutInto replaces the marker {server} in a query by the expression for the server's
// identity.
func (s *ServerIdentity) PutInto(ctx context.Context, query string) (string, error) {
	before, after, found := strings.Cut(query, "{server}")
	if !found {
		return query, nil
	}
	server, err := s.Expression(ctx)
	return before + server + after, err
}

// After returns the server as a Reservation names it, for a statement that could not
// return it. It is queried after the statement, so that a server that has taken over is
// not mistaken for the one before.
func (s *ServerIdentity) After(ctx context.Context) (string, error) {
	expression, err := s.Expression(ctx)
	if err != nil || expression == noServer {
		return ServerOf("", ""), err
	}
	row, err := s.conn.Query(ctx, "SELECT "+expression+s.engine.Expressions.Dual, nil)
	if err != nil {
		return "", err
	}
	if row == nil {
		return ServerOf("", ""), nil
	}
	server := ServerOf("", row[0])
	s.last.Store(&server)
	return server, nil
}
