package store

import (
	"context"
	"strings"
	"sync/atomic"
)

// serverIdentity tells the servers of an engine apart: a reservation says which of
// them has committed it.
type serverIdentity struct {
	engine *engine
	conn   conn

	// known is the expression that the server has an answer to; nil until one was
	// found.
	known atomic.Pointer[string]

	// asksBehind says that a statement cannot compare the identity: it is asked for behind it.
	asksBehind atomic.Bool

	// last is what the server has answered to that, for an engine that says it only when it
	// is asked for; nil until it has.
	last atomic.Pointer[string]
}

// noServer stands for a server of which nothing is known.
const noServer = "''"

// serverOf joins what tells a row from another one with what tells its server
// from others.
func serverOf(identity string, server any) string { return identity + "@" + toText(server) }

// on returns what is known of the server, on another way to its connection.
func (s *serverIdentity) on(c conn) *serverIdentity {
	other := &serverIdentity{engine: s.engine, conn: c}
	other.known.Store(s.known.Load())
	other.last.Store(s.last.Load())
	return other
}

// know sets the expression.
func (s *serverIdentity) know(expression string) { s.known.Store(&expression) }

// likely returns the expression that is known, or else those that may be.
func (s *serverIdentity) likely() []string {
	if known := s.known.Load(); known != nil {
		return []string{*known}
	}
	if len(s.engine.servers) == 0 {
		return []string{noServer}
	}
	return s.engine.servers
}

// expression returns the most telling expression for the server's identity that
// this server has an answer to, for its user's rights.
func (s *serverIdentity) expression(ctx context.Context) (string, error) {
	if known := s.known.Load(); known != nil {
		return *known, nil
	}
	chosen := noServer
	for _, expression := range s.engine.servers {
		if s.ask(ctx, expression) == nil {
			chosen = expression
			break
		}
		// Was that the engine's answer, or a connection that broke? What the
		// engine refuses, it refuses again when it is there.
		if err := s.ask(ctx, noServer); err != nil {
			return "", err
		}
		err := s.ask(ctx, expression)
		if err == nil {
			chosen = expression
			break
		}
		if isBroken(err) || ctx.Err() != nil {
			return "", err // which says nothing of the expression
		}
	}
	s.know(chosen)
	return chosen, nil
}

// ask has the engine work out an expression.
func (s *serverIdentity) ask(ctx context.Context, expression string) error {
	row, err := s.conn.query(ctx, "SELECT "+expression+s.engine.dual, nil)
	if err == nil && row != nil && expression != noServer {
		server := serverOf("", row[0])
		s.last.Store(&server)
	}
	return err
}

// before returns the server as after does, as it answered last.
func (s *serverIdentity) before(ctx context.Context) (string, error) {
	expression, err := s.expression(ctx)
	if err != nil || expression == noServer {
		return serverOf("", ""), err
	}
	if s.last.Load() == nil {
		if err := s.ask(ctx, expression); err != nil {
			return "", err
		}
	}
	if last := s.last.Load(); last != nil {
		return *last, nil
	}
	return serverOf("", ""), nil
}

// in puts the expression in the place of the marker in a text.
func (s *serverIdentity) in(ctx context.Context, query string) (string, error) {
	before, after, found := strings.Cut(query, "{server}")
	if !found {
		return query, nil
	}
	server, err := s.expression(ctx)
	return before + server + after, err
}

// after returns the server as a Reservation has it, for an answer that could not
// say: asked after it, so that another server is not taken for the one before.
func (s *serverIdentity) after(ctx context.Context) (string, error) {
	expression, err := s.expression(ctx)
	if err != nil || expression == noServer {
		return serverOf("", ""), err
	}
	row, err := s.conn.query(ctx, "SELECT "+expression+s.engine.dual, nil)
	if err != nil {
		return "", err
	}
	if row == nil {
		return serverOf("", ""), nil
	}
	server := serverOf("", row[0])
	s.last.Store(&server)
	return server, nil
}
