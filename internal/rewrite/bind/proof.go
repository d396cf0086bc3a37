package bind

import (
	"database/sql/driver"
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// ProvenText returns the text of [Text], except that some keys are expressions, which prove
// that a transaction is open or which table a name means. It is for executions that draw
// keys in their transaction. The placeholders are the same as in the text of Text. If no
// key proves anything ([plans.Plan.Proves]), it returns [Text].
func ProvenText(pl *plans.Plan, session bool) string {
	if pl.Proof == nil {
		return Text(pl, session)
	}
	session = session && pl.Session
	t := &pl.Proof.Bound
	if session {
		t = &pl.Proof.Session
	}
	return t.Get(func() string {
		w := newProofWriter(pl)
		if session && pl.Changes.Rare().Listed != nil {
			mark := pl.Changes.Spelling.Text(1)
			return writeListed(pl, func(e *plans.SessionEdit) string { return w.listed(e, mark) })
		}
		n := 0
		for _, e := range pl.Proof.Edits {
			w.edit(e, func(s *plans.Slot) {
				n++
				mark := pl.Changes.Spelling.Text(n)
				w.b.WriteString(around(wrapIn(s, session), mark, mark))
			})
		}
		return w.text()
	})
}

// InlineProven returns the text and the arguments of [Inline], except that some keys are
// expressions, which prove that a transaction is open or which table a name means.
func InlineProven(pl *plans.Plan, args []driver.NamedValue, h Holes, keys [][]driver.Value, session bool) (string, []driver.NamedValue) {
	if pl.Proof == nil {
		return Inline(pl, args, h, keys, session)
	}
	w := newProofWriter(pl)
	if session && pl.Changes.Rare().Listed != nil {
		return inlineListed(pl, args, h, keys, w.listed)
	}
	own, added := assign(pl, args, h, keys)
	n := 0
	for _, e := range pl.Proof.Edits {
		if e.Slot >= 0 && pl.Changes.Slots[e.Slot].Kind != plans.SlotOwn && h.Fill != nil && !h.Fill[e.Slot] {
			n++
			continue
		}
		w.edit(e, func(s *plans.Slot) {
			w.b.Write(literal(pl, nil, keys[s.Draw], added[n], wrapIn(s, session)))
			n++
		})
	}
	return writeByteKeys(pl, w.text(), without(pl, own, sameIndex), keys)
}

// proofWriter writes a query in which keys are expressions that prove facts, such as an
// open transaction: see [plans.Plan.Proves].
type proofWriter struct {
	pl     *plans.Plan
	b      strings.Builder
	at     int    // the offset up to which the query has been copied
	proved []bool // for each draw (call to a key source), whether a key has proved that a transaction is open
	named  []bool // for each INSERT, whether a key has proved which table the name means
}

// newProofWriter returns a writer of the plan's query in which keys prove facts.
func newProofWriter(pl *plans.Plan) *proofWriter {
	w := &proofWriter{pl: pl, proved: make([]bool, len(pl.Draws)), named: make([]bool, len(pl.Inserts))}
	w.b.Grow(len(pl.Changes.Query) + 192*len(pl.Draws) + 32*len(pl.Proof.Edits))
	return w
}

// edit writes an edit. It calls key to write the key of a slot (a place for a key), but
// copies the placeholder if the slot is the caller's own.
func (w *proofWriter) edit(e plans.Edit, key func(*plans.Slot)) {
	pl := w.pl
	w.b.WriteString(pl.Changes.Query[w.at:e.Start])
	w.at = e.End
	w.b.WriteString(e.Text)
	if e.Slot < 0 {
		return
	}
	s := &pl.Changes.Slots[e.Slot]
	shut := w.opens(s)
	if s.Kind == plans.SlotOwn {
		w.b.WriteString(pl.Changes.Query[e.Start:e.End])
	} else {
		key(s)
	}
	w.b.WriteString(shut)
}

// opens writes the text before the key of a slot, by which the key proves facts such as an
// open transaction, and returns the text to write after the key.
func (w *proofWriter) opens(s *plans.Slot) (shut string) {
	pl := w.pl
	d := pl.Draws[s.Draw]
	if pl.DrawProvesName(d) && !w.named[d.Insert] {
		w.named[d.Insert] = true
		in := &pl.Inserts[d.Insert]
		proof := &in.Target.Keys[d.Key].Proof
		w.b.WriteString(proof.Open)
		if shut = proof.Shut; in.Query != nil {
			shut = proof.Counted
		}
	}
	if pl.DrawProvesOpen(d) && !w.proved[s.Draw] {
		w.b.WriteString(pl.Dialect.Transactions.KeyOpen)
		shut = pl.Dialect.Transactions.KeyShut + shut
	}
	w.proved[s.Draw] = true
	return shut
}

// listed returns the text of a key in the session's text, which sets LAST_INSERT_ID().
func (w *proofWriter) listed(e *plans.SessionEdit, key string) string {
	at := w.b.Len()
	shut := w.opens(&w.pl.Changes.Slots[e.Slot])
	return w.b.String()[at:] + inCall(e, key) + shut
}

// text returns the written text, after it has copied the rest of the query.
func (w *proofWriter) text() string {
	w.b.WriteString(w.pl.Changes.Query[w.at:])
	return w.b.String()
}
