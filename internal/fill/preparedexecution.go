package fill

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/executor"
	"github.com/keyfill/keyfill/internal/fill/outcome"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/rewrite"
)

// begin returns the execution of the statement with these arguments, with its keys: the
// one that was parked (kept after the driver answered driver.ErrSkip), or a new one. It
// is nil if the application's own text is executed.
func (s *statement) begin(ctx context.Context, args []driver.NamedValue) (*execution.Execution, error) {
	c := s.conn
	if err := s.move(ctx); err != nil || s.asItIs {
		return nil, err
	}
	if s.kept {
		return s.beginKept(ctx, args)
	}
	changes, err := changesBytes(ctx, c, s.plan, session.ConvertsPrepared)
	if err != nil {
		return nil, err
	}
	if changes {
		s.literal = true // until the session no longer converts arguments, which would change keys of bytes
		return s.again(ctx, args)
	}
	if s.literal {
		x := s.once
		s.once = nil
		if x != nil && execution.EqualArgs(x.Args, args) && executor.Resume(ctx, x, args) {
			return x, nil
		}
		// Another caller of the same transaction has prepared the text in between, or
		// executes it again. The keys in the prepared text must be sent only once, so the
		// text is prepared anew.
		if s.plan.TooMany() {
			return s.again(ctx, args)
		}
		if err := s.replace(ctx, preparedText(c, s.plan, s.session)); err != nil {
			return nil, err
		}
		s.literal = false
	}
	h, err := holesOf(s.plan, args)
	if err != nil {
		return nil, c.DB.Stats.RefuseBound(ctx, s.query, err)
	}
	if reason := executor.Unsuited(c.DB.Tables, s.plan, s.query); h.Any() && reason != "" {
		return nil, c.DB.Stats.RefuseBound(ctx, s.query, s.plan.Refused(reason))
	}
	if x := c.Parked.TakeBound(s.query, s.plan, args, execution.ValuesFor(ctx, s.plan)); x != nil && executor.Resume(ctx, x, args) {
		return x, nil
	}
	x := s.execution(ctx, args, h)
	if x.Follows, err = executor.NewFollowing(ctx, c, s.plan, args, h); err != nil {
		return nil, err
	}
	return s.fill(ctx, x)
}

// changesBytes reports whether a key that is sent as an argument may arrive in the table with
// other bytes, since the session converts arguments. in is the way in which the driver sends
// arguments. An error is the driver's own.
func changesBytes(ctx context.Context, c *execution.Conn, p *plans.Plan, in session.Conversion) (bool, error) {
	if !bindsBytes(p) {
		return false, nil
	}
	if _, known := session.KnownConversion(&c.Conn.Conn); !known && p.Reads()&effects.ReadsCount != 0 {
		return true, nil // a question would change what the statement reads
	}
	as, err := session.ConversionNow(ctx, &c.Conn.Conn)
	return as&in != 0, err
}

// bindsBytes reports whether a key of the plan consists of bytes.
func bindsBytes(p *plans.Plan) bool {
	return slices.ContainsFunc(p.Draws, func(d plans.Draw) bool {
		return table.Of(&p.Inserts[d.Insert]).KeyColumns[d.Key].Layout.Bytes()
	})
}

// beginKept does what begin does, for a text that contains explicit keys above which a
// counter is raised.
func (s *statement) beginKept(ctx context.Context, args []driver.NamedValue) (*execution.Execution, error) {
	x := s.execution(ctx, args, bind.Holes{})
	x.Form.Kept = true
	var err error
	if x.Follows, err = executor.NewFollowing(ctx, s.conn, s.plan, args, x.Holes); err != nil {
		return nil, err
	}
	return s.fill(ctx, x)
}

// fill draws the keys of an execution, and raises the counters that follow its explicit
// keys. If an execution that contains all of its keys is refused, and the policy lets
// it be sent unchanged, it is sent without the raise.
func (s *statement) fill(ctx context.Context, x *execution.Execution) (*execution.Execution, error) {
	err := executor.Fill(ctx, x)
	switch {
	case err == nil:
		return x, nil
	case x.Holes.Any():
		outcome.Account{X: x}.CountNoKey(err)
		return nil, s.conn.DB.Stats.RefuseBound(ctx, s.query, err)
	}
	e, err := s.conn.DB.Stats.Refusal(ctx, s.query, err)
	if err != nil {
		return nil, err
	}
	kept := x.Form.Kept
	x = s.execution(ctx, x.Args, x.Holes)
	x.Form.Kept, x.Refused, x.Drawn.Keys = kept, &e, make([][]driver.Value, len(s.plan.Draws))
	executor.Place(x)
	return x, nil
}

// move makes the plan again if the session's schema or search path has changed since it
// was made, and the engine looks up the table there.
func (s *statement) move(ctx context.Context) error {
	if s.found.at == nil {
		return nil
	}
	c := s.conn
	at, err := c.PlaceNow(ctx)
	if err != nil || !isElsewhere(s, at) {
		return err
	}
	p, e, err := c.Decide(ctx, s.query, true)
	if err != nil {
		return err
	}
	if s.literal {
		return c.DB.Stats.RefuseBound(ctx, s.query, s.plan.Refused(rewrite.ErrPlace))
	}
	if p == nil {
		if err := turnTo(ctx, s, s.query); err != nil {
			return err
		}
		s.asItIs = true
		c.DB.Stats.Note(ctx, s.query, e, nil)
		return nil
	}
	sends, err := c.SendsLastInsertID(ctx, p)
	if err != nil {
		return err
	}
	session := sends && c.Brings.Fills(p, s.query)
	if err := turnTo(ctx, s, preparedText(c, p, session)); err != nil {
		return unprepared(c, p, err)
	}
	if unproven := bind.Text(s.plan, s.session); s.unproven != nil && unproven != bind.Text(p, session) {
		s.others[unproven], s.unproven = s.unproven, nil
	}
	s.found, s.asItIs = foundIn(c, at), false
	s.plan, s.sends, s.session, s.plain = p, sends, session, newPlain(c.DB.Tables, p)
	return nil
}

// found is the place (the schema or search path) for which the names in a statement's
// plan were looked up.
type found struct {
	at        *session.Location
	doubts    int64 // how often the meaning of a name in this place had turned out to be wrong
	temporary int   // how often the name of a temporary table was recorded for the connection
}

// foundIn returns what is known now about a place (a schema or search path), to be
// compared later.
func foundIn(c *execution.Conn, at *session.Location) found {
	return found{at, at.Doubts(), c.Temporary.Times}
}

// isElsewhere reports whether the statement's names may mean other tables in a place (a
// schema or search path) than when its plan was made. It also returns true while the
// statement's table gets no keys, so that each execution is decided again.
func isElsewhere(s *statement, at *session.Location) bool {
	return s.found != foundIn(s.conn, at) || s.asItIs
}

func (s *statement) execution(ctx context.Context, args []driver.NamedValue, h bind.Holes) *execution.Execution {
	x := s.conn.NewExecution(ctx, s.plan, s.query, args, h)
	x.Form.Session = s.sends && h.Any()
	s.conn.Brings.Note(s.plan, s.query, args)
	return x
}

// again draws keys for one more execution of a text that can have keys only as
// literals, and prepares the text with them.
func (s *statement) again(ctx context.Context, args []driver.NamedValue) (*execution.Execution, error) {
	h, err := holesOf(s.plan, args)
	if err != nil {
		return nil, s.conn.DB.Stats.RefuseBound(ctx, s.query, err)
	}
	x := s.execution(ctx, args, h)
	x.Form.Inline = true
	if x.Follows, err = executor.NewFollowing(ctx, s.conn, s.plan, args, h); err != nil {
		return nil, err
	}
	if err := executor.Fill(ctx, x); err != nil {
		outcome.Account{X: x}.CountNoKey(err)
		return nil, s.conn.DB.Stats.RefuseBound(ctx, s.query, err)
	}
	if err := replaceFor(ctx, s, x); err != nil {
		return nil, executor.Leave(ctx, x, err)
	}
	return x, nil
}

// replace prepares another text, and closes the statement that was prepared before.
func (s *statement) replace(ctx context.Context, text string) error {
	stmt, err := s.conn.PrepareContext(ctx, text)
	if err != nil {
		return err
	}
	old := s.Stmt
	s.Stmt, s.text = stmt, text
	return old.Close()
}

// replaceFor prepares the text of an execution, which has the keys as literals.
func replaceFor(ctx context.Context, s *statement, x *execution.Execution) error {
	s.unsent = len(x.Args) - len(x.Outgoing.Sent)
	return s.replace(ctx, x.Outgoing.Text)
}

// of returns the driver's statement for an execution. If the keys are literals, and
// other ones than in the prepared text, the text is prepared again. If the caller's
// arguments contain every key, the statement need not prove that a transaction is open.
func (s *statement) of(ctx context.Context, x *execution.Execution) (driver.Stmt, error) {
	if x.Form.FromFirst {
		return s.numberedFrom(ctx, x.Outgoing.Text)
	}
	switch {
	case s.literal && x.Outgoing.Text != s.text:
		err := replaceFor(ctx, s, x)
		return s.Stmt, err
	case s.literal, s.kept:
		return s.Stmt, nil
	case x.Form.Session != s.session:
		return otherwise(ctx, s, x.Outgoing.Text)
	case executor.Proves(x), !s.plan.Proves(), s.conn.DB.Detached:
		return s.Stmt, nil
	case s.unproven == nil:
		stmt, err := s.conn.PrepareContext(ctx, bind.Text(s.plan, s.session))
		if err != nil {
			return nil, err
		}
		s.unproven = stmt
	}
	return s.unproven, nil
}

// numberedFrom prepares a text that contains its first number, and closes the statement
// that was prepared for the last such text.
func (s *statement) numberedFrom(ctx context.Context, text string) (driver.Stmt, error) {
	stmt, err := s.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	old := s.numbered
	if s.numbered = stmt; old != nil {
		err = old.Close()
	}
	return stmt, err
}
