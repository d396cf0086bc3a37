package fill

import (
	"context"
	"database/sql/driver"
)

// otherTexts are the driver's statements of the texts that a prepared statement has for
// the places that its session is not in now: what a text proves depends on the place.
type otherTexts map[string]driver.Stmt

// maxOtherTexts bounds the driver's statements that are kept.
const maxOtherTexts = 16

// turnTo makes the driver's statement for another text of a prepared statement the one
// that is executed.
func turnTo(ctx context.Context, s *statement, to string) error {
	from := s.plan.ProvenText(s.session)
	if s.asItIs {
		from = s.query
	}
	if from == to {
		return nil
	}
	stmt := s.others[to]
	if stmt == nil && s.unproven != nil && to == s.plan.BoundText(s.session) {
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

// shrink closes the statements that are too many.
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
