package executor

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// The query of an INSERT … SELECT may be in a text of several statements, all of which
// PostgreSQL rolls back when one of them fails. Its rows are counted before the text is
// sent, so earlier statements of the text, and other sessions, may change them: some
// extra keys are reserved. With more rows than that, the engine reports an error, and
// nothing of the text is stored. The caller gets that error, since the other statements
// of the text must not be sent twice.

// errTextGrew is returned when a text had more rows to insert than keys were reserved.
var errTextGrew = anchor.New("rows", "a query of the text had more rows than were counted, and nothing of it is stored: send it again, or that INSERT alone")

// spareRows is how many more keys are reserved, at least, than rows were counted.
const spareRows = 64

// withSpare returns how many keys are reserved for a query of n rows in a text with
// other statements.
func withSpare(n int64) int64 { return n + n/8 + spareRows }

// SparesKeys returns a refusal if no key of the text may stay unused, or if its key is
// drawn in the transaction of the text, which has not begun when the rows are counted.
func (s *InsertSelect) SparesKeys() error {
	for _, d := range s.X.Plan.Draws {
		in := &s.X.Plan.Inserts[d.Insert]
		k := &table.Of(in).KeyColumns[d.Key]
		counts := in.Query != nil && k.Rule.Integer && k.Rule.Source.Kind != policy.KindSequence
		if counts || k.GapFree() || len(k.Rule.Scope) > 0 || k.Rule.Source.Kind == policy.KindMaxPlusOne {
			return s.X.Plan.Refused(rewrite.ErrSelectSeveral)
		}
	}
	return nil
}

// uncountable returns the error of a count that ran before a text. It is a refusal if
// the engine cannot run the query outside of the text, for example because the text
// creates the tables or columns that the query needs; the transaction then stays open.
func (s *InsertSelect) uncountable(ctx context.Context, err error) error {
	code, ok := sqlcode.Of(err)
	if !ok || !strings.HasPrefix(code.State, "42") && !strings.HasPrefix(code.State, "3F") {
		return err
	}
	if s.saved {
		if undone := s.toSavepoint(ctx); undone != nil {
			return undone
		}
		if undone := s.release(ctx); undone != nil {
			return undone
		}
	}
	return s.X.Plan.Refused(rewrite.ErrSelectSeveral)
}

// sendText sends a text whose query was counted, once: after an error in an open
// transaction, the application has to roll back.
func sendText[T any](ctx context.Context, s *InsertSelect, send func() (T, error)) (T, error) {
	if err := s.release(ctx); err != nil {
		var none T
		return none, err
	}
	answer, err := send()
	if s.outgrown(err) {
		first := s.X.Plan.Counted()[0]
		err = grewError(s.X, first, miscounted(ctx, s.X, first, errTextGrew), err)
	}
	return answer, err
}
