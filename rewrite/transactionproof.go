package rewrite

import (
	"cmp"
	"database/sql/driver"
	"slices"
	"strings"
)

// proof is what a plan needs to write texts that prove that a transaction is open:
// the first key of each draw stands inside the dialect's expression, which is the
// key where one is open, and an error elsewhere.
type proof struct {
	edits          []edit // the plan's edits, and the caller's own placeholders
	bound, session lazyText
}

// Proves reports whether an INSERT of the plan has keys that belong to its
// transaction ([Key].Joined), and can prove that one is open:
// [dialect.Transactions].KeyOpen.
func (pl *Plan) Proves() bool { return pl.proof != nil }

// newProof returns what the plan needs for its proofs, nil where it has none. own
// are the edits at the caller's placeholders, of which the other texts need none.
func (pl *Plan) newProof(own []edit) *proof {
	if pl.d.Transactions.KeyOpen == "" || pl.Load || !slices.ContainsFunc(pl.Draws, pl.proves) {
		return nil
	}
	edits := slices.Concat(pl.edits, own)
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	return &proof{edits: edits}
}

// proves reports whether the keys of a draw belong to the transaction of an INSERT
// that runs.
func (pl *Plan) proves(d Draw) bool {
	in := &pl.Inserts[d.Insert]
	return in.Target.Keys[d.Key].Joined && !in.Explained
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
	t.once.Do(func() {
		w := pl.newProofWriter()
		n := 0
		for _, e := range pl.proof.edits {
			w.edit(e, func(s *slot) {
				n++
				w.key(pl.spell.text(n), session && s.session)
			})
		}
		t.text = w.text()
	})
	return t.text
}

// InlineProven is [Plan.Inline] with the proof.
func (pl *Plan) InlineProven(args []driver.NamedValue, h Holes, keys [][]driver.Value, session bool) (string, []driver.NamedValue) {
	if pl.proof == nil {
		return pl.Inline(args, h, keys, session)
	}
	own, added := pl.assign(args, h, keys)
	w := pl.newProofWriter()
	n := 0
	for _, e := range pl.proof.edits {
		if e.slot >= 0 && pl.slots[e.slot].kind != slotOwn && h.fill != nil && !h.fill[e.slot] {
			n++
			continue
		}
		w.edit(e, func(s *slot) {
			w.key(string(pl.d.AppendLiteral(nil, added[n])), session && s.session)
			n++
		})
	}
	return w.text(), own
}

// proofWriter writes a text with proofs.
type proofWriter struct {
	pl     *Plan
	b      strings.Builder
	at     int    // how far the query is written
	proved []bool // by draw
}

func (pl *Plan) newProofWriter() *proofWriter {
	w := &proofWriter{pl: pl, proved: make([]bool, len(pl.Draws))}
	w.b.Grow(len(pl.query) + 64*len(pl.Draws) + 32*len(pl.proof.edits))
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
	t := &pl.d.Transactions
	proves := pl.proves(pl.Draws[s.draw]) && !w.proved[s.draw]
	w.proved[s.draw] = true
	if proves {
		w.b.WriteString(t.KeyOpen)
	}
	if s.kind == slotOwn {
		w.b.WriteString(pl.query[e.start:e.end])
	} else {
		key(s)
	}
	if proves {
		w.b.WriteString(t.KeyShut)
	}
}

// key writes a key, in LAST_INSERT_ID( ) where it is wrapped.
func (w *proofWriter) key(text string, wrapped bool) {
	if wrapped {
		w.b.WriteString(sessionOpen)
	}
	w.b.WriteString(text)
	if wrapped {
		w.b.WriteString(sessionClose)
	}
}

func (w *proofWriter) text() string {
	w.b.WriteString(w.pl.query[w.at:])
	return w.b.String()
}
