package executor

//row:ways | gets a key of its transaction (`transaction: joined`, `scope:`, `maxplusone`) | the executor `transactional`: `fill/executor/joining.go`, `fill/executor/joinedtransaction.go`; tries again: `fill/executor/txretry.go`

import (
	"slices"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// Keys that belong to a transaction are drawn on the INSERT's own connection, in the
// transaction that is open on it, so that they are rolled back with the rows. If none
// is open, keyfill begins one for the drawing and the INSERT.
//
// On most engines a statement that fails leaves its transaction open. The draw is then
// rolled back to a savepoint, since the transaction may still commit.

// Joining says what the keys of an execution need from its transaction.
type Joining struct {
	Any     bool // some keys are drawn in the transaction
	gapFree bool // the drawn numbers are returned to the counter when the INSERT fails
	whole   bool // a row that is skipped would leave a gap
	Latest  bool // the transaction has to see the last committed rows
}

// JoiningOf returns what the keys that an execution draws need from its transaction.
func JoiningOf(tables *relation.Tables, p *plans.Plan, h bind.Holes) (j Joining) {
	if tables.Detached {
		return j
	}
	return joiningByPolicy(p, h)
}

// joiningByPolicy does what JoiningOf does, also in a test without a database.
func joiningByPolicy(p *plans.Plan, h bind.Holes) (j Joining) {
	for i, d := range p.Draws {
		if in := &p.Inserts[d.Insert]; h.Counts[i] == 0 || in.Explained {
			continue
		}
		k := &table.Of(&p.Inserts[d.Insert]).KeyColumns[d.Key]
		switch {
		case !k.Rule.Joined, k.Rule.Source.Lock == policy.LockNone:
		case k.Rule.Source.Kind == policy.KindMaxPlusOne:
			j.Any, j.Latest = true, true
		default:
			j.Any, j.gapFree = true, j.gapFree || k.GapFree()
			j.whole = j.gapFree
		}
	}
	return j
}

// Unsuited returns the reason for which a statement cannot be filled, because of what
// drawing its keys does on its connection; it is empty if it can be filled. The answer
// depends only on the text and the policy, so that a statement that is filled today is
// filled tomorrow.
func Unsuited(tables *relation.Tables, p *plans.Plan, query string) rewrite.Reason {
	switch {
	case Miscounts(tables, p):
		return rewrite.ErrReadsCount
	case !p.Counts() && readsAhead(p) && slices.ContainsFunc(p.Inserts, func(in plans.Insert) bool { return in.Query != nil }):
		return rewrite.ErrReadsKey // the rows of a query are not counted here, and a second one could read a wrong key: see readsAhead
	}
	return UnsuitedByText(tables.AnyEngine(), p, query)
}

// UnsuitedByText returns the reason for which a statement cannot be filled if its keys
// are drawn in the transaction. It checks only what depends on the engine and the plan.
func UnsuitedByText(e *table.Engine, p *plans.Plan, query string) rewrite.Reason {
	for _, d := range p.Draws {
		in := &p.Inserts[d.Insert]
		k := &table.Of(in).KeyColumns[d.Key]
		switch {
		case !k.Rule.Joined || in.Explained:
		case p.Counts() && k.GapFree() && p.Statements == 1 && in.Upsert.Conflict != plans.ConflictError:
			return rewrite.ErrGap
		case p.Counts() && !isCountable(p):
			return rewrite.ErrTogether // the rows would be counted before the transaction is entered
		case p.Reads()&effects.ReadsCount != 0:
			return rewrite.ErrReadsCount
		case p.Reads()&effects.ReadsLastKey != 0:
			return rewrite.ErrReadsKey
		case p.Statements > 1 && (p.Undoes() || e.TransactionEffect(query) != effects.TxUnchanged):
			return rewrite.ErrTogether
		case k.Rule.Source.Kind == policy.KindMaxPlusOne && alsoInto(p, d):
			return rewrite.ErrTogether // the two INSERTs would get the same keys
		case k.GapFree() && in.Upsert.Conflict != plans.ConflictError && in.Upsert.Conflict != plans.ConflictReplace:
			return rewrite.ErrGap
		}
	}
	return ""
}

// alsoInto reports whether another INSERT of the text draws keys for a table that may be
// the table of draw d.
func alsoInto(p *plans.Plan, d plans.Draw) bool {
	return slices.ContainsFunc(p.Draws, func(o plans.Draw) bool {
		return o.Insert != d.Insert && table.Of(&p.Inserts[o.Insert]).Rule.Name == table.Of(&p.Inserts[d.Insert]).Rule.Name
	})
}

// Waits reports whether keys are drawn only when database/sql comes back with the
// prepared statement: keys that belong to a transaction are not kept for a driver that
// may want the text to be prepared.
func Waits(c *execution.Conn, p *plans.Plan, h bind.Holes, by session.Route, args int) bool {
	return (p.TakesFirst() || JoiningOf(c.DB.Tables, p, h).Any) && c.PreparesFirst(by, args)
}

// UnsuitedParts returns the refusal of the first part of a text that would be refused
// if it were sent alone, nil if there is none.
func UnsuitedParts(tables *relation.Tables, p *plans.Plan) *plans.Refusal {
	at := 0 // the offset of the part in the text
	for _, text := range p.Parts {
		part := tables.AnyEngine().Plan(text)
		if reason := Unsuited(tables, part, text); reason != "" {
			r := part.Refused(reason)
			r.Offset += at
			return r
		}
		at += len(text)
	}
	return nil
}
