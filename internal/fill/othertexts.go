package fill

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// otherTexts holds the driver's other statements for a prepared statement, by their texts:
// the text depends on the session's schema or search path, since it contains a proof of
// what its table's name means.
type otherTexts map[string]driver.Stmt

// maxOtherTexts is the greatest number of the driver's statements that are kept.
const maxOtherTexts = 16

// preparedText returns the text that is prepared for a plan. Without a database, as in a
// test, the text contains no proof of what its table's name means.
func preparedText(c *execution.Conn, p *plans.Plan, session bool) string {
	if c.DB.Detached {
		return bind.Text(p, session)
	}
	return bind.ProvenText(p, session)
}

// turnTo makes the driver's statement for the text to the current statement of s. It
// prepares the text if there is no such statement, and keeps the statement for the text
// before.
func turnTo(ctx context.Context, s *statement, to string) error {
	from := preparedText(s.conn, s.plan, s.session)
	if s.asItIs {
		from = s.query
	}
	if from == to {
		return nil
	}
	stmt := s.others[to]
	if stmt == nil && s.unproven != nil && to == bind.Text(s.plan, s.session) {
		stmt, s.unproven = s.unproven, nil
	}
	if stmt == nil {
		var err error
		if stmt, err = s.conn.PrepareContext(ctx, to); err != nil {
			return err
		}
	}
	if s.others == nil {
		s.others = otherTexts{}
	}
	delete(s.others, to)
	s.others[from], s.Stmt = s.Stmt, stmt
	return s.others.shrink()
}

// otherwise returns the driver's statement for text, another text of the prepared
// statement s: the text depends on whether an execution fills a key.
func otherwise(ctx context.Context, s *statement, text string) (driver.Stmt, error) {
	if stmt := s.others[text]; stmt != nil {
		return stmt, nil
	}
	stmt, err := s.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	if s.others == nil {
		s.others = otherTexts{}
	}
	if err := s.others.shrink(); err != nil {
		return nil, err
	}
	s.others[text] = stmt
	return stmt, nil
}

// shrink closes statements until at most maxOtherTexts are left.
func (o otherTexts) shrink() error {
	for text, stmt := range o {
		if len(o) <= maxOtherTexts {
			break
		}
		delete(o, text)
		if err := stmt.Close(); err != nil {
			return err
		}
	}
	return nil
}
