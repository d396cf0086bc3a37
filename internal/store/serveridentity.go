package store

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/keyfill/keyfill/internal/store/engine"
)

// ServerIdentity identifies a server of an engine: a reservation names the server that
// has committed it.
type ServerIdentity struct {
	engine *engine.Engine
	conn   Conn

	// known is the expression that the server has an answer to; nil until one was
	// found.
	known atomic.Pointer[string]

	// AsksAfter reports that a statement cannot compare the identity, which is asked for
	// after it.
	AsksAfter atomic.Bool

	// last is the server's answer to that query, for an engine that returns it only when
	// it is asked for; nil until it has answered.
	last atomic.Pointer[string]
}

// noServer stands for a server of which nothing is known.
const noServer = "''"

// ServerOf joins the identity of a row with the identity of its server.
func ServerOf(identity string, server any) string { return identity + "@" + Text(server) }

// on returns the identity of the same server, by another way to its connection.
func (s *ServerIdentity) on(c Conn) *ServerIdentity {
	other := &ServerIdentity{engine: s.engine, conn: c}
	other.known.Store(s.known.Load())
	other.last.Store(s.last.Load())
	return other
}

// Know sets the expression.
func (s *ServerIdentity) Know(expression string) { s.known.Store(&expression) }

// IsKnown reports whether the expression is known.
func (s *ServerIdentity) IsKnown() bool { return s.known.Load() != nil }

// Likely returns the expression that is known, or else those that may be.
func (s *ServerIdentity) Likely() []string {
	if known := s.known.Load(); known != nil {
		return []string{*known}
	}
	if len(s.engine.Servers) == 0 {
		return []string{noServer}
	}
	return s.engine.Servers
}

// Expression returns the most specific expression for the server's identity that this
// server answers, with its user's rights.
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
		// Was that the engine's answer, or a connection that broke? If the engine has
		// refused the expression, it refuses it again when it is there.
		if err := s.ask(ctx, noServer); err != nil {
			return "", err
		}
		err := s.ask(ctx, expression)
		if err == nil {
			chosen = expression
			break
		}
		if IsBroken(err) || ctx.Err() != nil {
			return "", err // which proves nothing about the expression
		}
	}
	s.Know(chosen)
	return chosen, nil
}

// ask has the engine work out an expression.
func (s *ServerIdentity) ask(ctx context.Context, expression string) error {
	row, err := s.conn.Query(ctx, "SELECT "+expression+s.engine.Expressions.Dual, nil)
	if err == nil && row != nil && expression != noServer {
		server := ServerOf("", row[0])
		s.last.Store(&server)
	}
	return err
}

// Before returns the server as after does, as it answered last.
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

// PutInto replaces the marker in a text by the expression.
func (s *ServerIdentity) PutInto(ctx context.Context, query string) (string, error) {
	before, after, found := strings.Cut(query, "{server}")
	if !found {
		return query, nil
	}
	server, err := s.Expression(ctx)
	return before + server + after, err
}

// After returns the server as a Reservation has it, for an answer that could not
// say: asked after it, so that another server is not taken for the one before.
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
