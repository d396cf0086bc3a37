package rewrite

import (
	"cmp"
	"database/sql/driver"
	"slices"
	"strings"
)

// Texts may prove something about themselves, where nothing that was sent before is a
// proof: a key stands inside an expression, which is the key where that is true, and an
// error elsewhere. That a transaction is open is proven by the first key of each draw,
// what the table's name means by the first key of each INSERT.

// proof is what a plan needs to write such texts.
type proof struct {
	edits          []edit // the plan's edits, and the caller's own placeholders
	bound, session lazyText
}

// Proves reports whether the plan has texts with proofs: an INSERT has keys that belong to
// its transaction ([Key].Joined) and can prove that one is open
// ([dialect.Transactions].KeyOpen), or keys with a [Key].Proof.
func (pl *Plan) Proves() bool { return pl.proof != nil }

// ProvesOpen reports whether the texts with proofs prove that a transaction is open.
func (pl *Plan) ProvesOpen() bool {
	return pl.proof != nil && slices.ContainsFunc(pl.Draws, pl.provesOpen)
}

// ProvesName reports whether the texts with proofs prove what the name of a table means.
func (pl *Plan) ProvesName() bool {
	return pl.proof != nil && slices.ContainsFunc(pl.Draws, pl.provesName)
}

// newProof returns what the plan needs for its proofs, nil where it has none. own
// are the edits at the caller's placeholders, of which the other texts need none.
func (pl *Plan) newProof(own []edit) *proof {
	if pl.Load || pl.spell.renumbers || !slices.ContainsFunc(pl.Draws, pl.proves) {
		return nil
	}
	edits := slices.Concat(pl.edits, own)
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	return &proof{edits: edits}
}

// proves reports whether a key of a draw proves something.
func (pl *Plan) proves(d Draw) bool { return pl.provesOpen(d) || pl.provesName(d) }

// provesOpen reports whether the keys of a draw belong to the transaction of an INSERT
// that runs, and can prove that one is open.
func (pl *Plan) provesOpen(d Draw) bool {
	in := &pl.Inserts[d.Insert]
	return pl.Dialect.Transactions.KeyOpen != "" && in.Target.Keys[d.Key].Joined && !in.Explained
}

// provesName reports whether a key of a draw can prove what the name of its table means.
// Keys that are made of several values for the rows of a query have no place for that.
func (pl *Plan) provesName(d Draw) bool {
	in := &pl.Inserts[d.Insert]
	key := &in.Target.Keys[d.Key]
	return key.Proof.Open != "" && !in.Explained && (in.Query == nil || key.Counted)
}

// ProvenText is [Plan.BoundText] with the proof, for executions that draw keys of
// their transaction. It has the same placeholders. Where the plan does not
// [Plan.Proves] it is BoundText.
func (pl *Plan) ProvenText(session bool) string {
	if pl.proof == nil {
		return pl.BoundText(session)
	}
	session = session && pl.Session()
	t := &pl.proof.bound
	if session {
		t = &pl.proof.session
	}
	return t.get(func() string {
		w := pl.newProofWriter()
		if session && pl.listed != nil {
			mark := pl.spell.text(1)
			return pl.writeListed(func(e *sessionEdit) string { return w.listed(e, mark) })
		}
		n := 0
		for _, e := range pl.proof.edits {
			w.edit(e, func(s *slot) {
				n++
				mark := pl.spell.text(n)
				w.b.WriteString(s.wrapIn(session).around(mark, mark))
			})
		}
		return w.text()
	})
}

// InlineProven is [Plan.Inline] with the proof.
func (pl *Plan) InlineProven(args []driver.NamedValue, h Holes, keys [][]driver.Value, session bool) (string, []driver.NamedValue) {
	if pl.proof == nil {
		return pl.Inline(args, h, keys, session)
	}
	w := pl.newProofWriter()
	if session && pl.listed != nil {
		return pl.inlineListed(args, h, keys, w.listed)
	}
	own, added := pl.assign(args, h, keys)
	n := 0
	for _, e := range pl.proof.edits {
		if e.slot >= 0 && pl.slots[e.slot].kind != slotOwn && h.fill != nil && !h.fill[e.slot] {
			n++
			continue
		}
		w.edit(e, func(s *slot) {
			w.b.Write(pl.literal(nil, keys[s.draw], added[n], s.wrapIn(session)))
			n++
		})
	}
	return pl.writeByteKeys(w.text(), pl.without(own, sameIndex), keys)
}

// proofWriter writes a text with proofs.
type proofWriter struct {
	pl     *Plan
	b      strings.Builder
	at     int    // how far the query is written
	proved []bool // by draw
	named  []bool // by INSERT
}

func (pl *Plan) newProofWriter() *proofWriter {
	w := &proofWriter{pl: pl, proved: make([]bool, len(pl.Draws)), named: make([]bool, len(pl.Inserts))}
	w.b.Grow(len(pl.query) + 192*len(pl.Draws) + 32*len(pl.proof.edits))
	return w
}

// edit writes an edit; key writes the key of a slot that is not the caller's
// placeholder, which stays.
func (w *proofWriter) edit(e edit, key func(*slot)) {
	pl := w.pl
	w.b.WriteString(pl.query[w.at:e.start])
	w.at = e.end
	w.b.WriteString(e.text)
	if e.slot < 0 {
		return
	}
	s := &pl.slots[e.slot]
	shut := w.opens(s)
	if s.kind == slotOwn {
		w.b.WriteString(pl.query[e.start:e.end])
	} else {
		key(s)
	}
	w.b.WriteString(shut)
}

// opens writes what stands in front of the key of a slot, and returns what stands behind it.
func (w *proofWriter) opens(s *slot) (shut string) {
	pl := w.pl
	d := pl.Draws[s.draw]
	if pl.provesName(d) && !w.named[d.Insert] {
		w.named[d.Insert] = true
		in := &pl.Inserts[d.Insert]
		proof := &in.Target.Keys[d.Key].Proof
		w.b.WriteString(proof.Open)
		if shut = proof.Shut; in.Query != nil {
			shut = proof.Counted
		}
	}
	if pl.provesOpen(d) && !w.proved[s.draw] {
		w.b.WriteString(pl.Dialect.Transactions.KeyOpen)
		shut = pl.Dialect.Transactions.KeyShut + shut
	}
	w.proved[s.draw] = true
	return shut
}

// listed returns the text of a key in the session's text.
func (w *proofWriter) listed(e *sessionEdit, key string) string {
	at := w.b.Len()
	shut := w.opens(&w.pl.slots[e.slot])
	return w.b.String()[at:] + e.inCall(key) + shut
}

func (w *proofWriter) text() string {
	w.b.WriteString(w.pl.query[w.at:])
	return w.b.String()
}
