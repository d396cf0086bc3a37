package inserts

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/rewrite"
)

// IsMulti reports whether the current token begins an INSERT with several INTOs (Oracle).
func IsMulti(p *reader.Reader) bool {
	if !p.Dialect.Grammar.MultiInsert {
		return false
	}
	q := *p
	q.Advance()
	return q.IsAny("all", "first", "when")
}

// KeptBranches reads a multi-table INSERT. p is outer, or a copy of it that Fork has made.
// If an INTO does not bring its keys, the INSERT is refused for the reason.
func KeptBranches(p *plans.Draft, outer *plans.Draft, reason rewrite.Reason) {
	p.Advance()
	for depth := 0; !p.AtEnd() && depth >= 0; p.Advance() {
		switch {
		case p.IsPunct('('):
			depth++
		case p.IsPunct(')'):
			depth--
		case depth == 0 && p.IsAny("select", "with"):
			// Only LOG ERRORS INTO may follow the query.
			Skip(p, rewrite.ErrCTE)
			return
		case outer != p && p.IsWord("insert"):
			return // outer reads the inner INSERT next
		case depth == 0 && p.IsWord("into"):
			keptBranch(p, outer, reason)
		default:
			JudgeInner(p, rewrite.ErrCTE)
		}
	}
}

// keptBranch reads one INTO of a multi-table INSERT, and refuses it for the reason if it
// does not bring its keys.
func keptBranch(p *plans.Draft, outer *plans.Draft, reason rewrite.Reason) {
	at := p.Token.Start
	q := Fork(p)
	q.Advance()
	var h Head
	if Into(q, &h, true); h.Target != nil {
		judgeInside(q, outer, h, at, reason)
	}
}

// Loaded judges an INSERT whose rows come from outside of the text. If its columns name the
// keys, it is sent as it is; otherwise it is refused for the reason.
func Loaded(p *plans.Draft, t *plans.Target, at int, columns []string, reason rewrite.Reason) {
	for _, k := range t.Keys {
		if k.Fill&plans.FillMissing != 0 && !slices.Contains(columns, k.Column) {
			p.Refuse(t, at, reason)
			return
		}
	}
	in := State{Insert: plans.Insert{Target: t, Offset: at, Rows: -1}}
	for key := range t.Keys {
		in.open(key) // the engine numbers a row whose key is NULL
	}
	p.Inserts = append(p.Inserts, in.Insert)
}

// MergeHead reads a MERGE from its verb to its table's name.
func MergeHead(p *plans.Draft, h *Head) {
	p.Advance()
	if p.Dialect.Grammar.Top && p.Accept("top") {
		p.Brackets()
		p.Accept("percent")
	}
	into := p.Accept("into")
	p.Accept("only")
	Into(p, h, into || p.IsPunct('('))
}

// maxMerged bounds how many nested brackets are read in a MERGE inside of another
// statement. Without a bound, each of many nested MERGEs would be read to the end of the
// text.
const maxMerged = 1000

// MergeInto reads a MERGE in p, a copy of outer that Fork has made. If every INSERT in it
// names the keys of its table, the MERGE is sent as it is; otherwise it is refused for the
// reason.
func MergeInto(p *plans.Draft, outer *plans.Draft, reason rewrite.Reason) {
	var h Head
	at := p.Token.Start
	if MergeHead(p, &h); h.Target == nil {
		return
	}
	for depth := 0; !p.AtEnd(); p.Advance() {
		switch {
		case p.IsPunct('('):
			if depth++; depth > maxMerged {
				outer.Refuse(h.Target, at, reason)
				return
			}
		case p.IsPunct(')'):
			if depth--; depth < 0 {
				return
			}
		case depth > 0:
		case p.IsWord("insert"):
			judgeAction(p, outer, h, reason)
		case AnotherMerge(&p.Reader):
			return
		}
	}
}

// judgeAction judges the INSERT of a MERGE that begins at the current token.
func judgeAction(p *plans.Draft, outer *plans.Draft, h Head, reason rewrite.Reason) {
	q := Fork(p)
	q.Advance()
	judgeInside(q, outer, h, p.Token.Start, reason)
}

// AnotherMerge reports whether another MERGE begins at the current token, which is read
// separately. If INTO is optional, the word after MERGE begins a table's name, except in
// MERGE JOIN.
func AnotherMerge(p *reader.Reader) bool {
	return p.IsWord("merge") && (p.NextIs("into") || p.Dialect.Grammar.NoSemicolon && !p.NextIs("join"))
}

// JudgeInner judges an INSERT into a configured table that begins at the current token, or
// is in a comment that the engine runs. If the INSERT brings its keys, it is sent as it is;
// otherwise it is refused for the reason.
func JudgeInner(p *plans.Draft, reason rewrite.Reason) {
	switch {
	case p.IsInner || p.Refusal != nil:
	case p.Token.Kind == scan.Executable:
		if t := hidden(p, p.Token); t != nil {
			p.Refuse(t, p.Token.Start, rewrite.ErrExecutableComment)
		}
	case p.Token.Kind != scan.Word:
	case p.IsVerb() && IsMulti(&p.Reader):
		KeptBranches(Fork(p), p, reason)
	case p.IsVerb():
		q := Fork(p)
		if h := ReadHead(q); h.Target != nil {
			judgeInside(q, p, h, p.Token.Start, reason)
		}
	case p.Dialect.Grammar.Merge && p.IsWord("merge"):
		if reason == rewrite.ErrSeveral {
			reason = rewrite.ErrMerge
		}
		MergeInto(Fork(p), p, reason)
	case p.Dialect.Grammar.Output && p.IsWord("output"):
		outputInto(p)
	}
}

// Value reads a value, and judges the INSERTs in brackets inside it.
func Value(p *plans.Draft, clause func() bool) (reader.Value, rewrite.Reason) {
	v, reason := p.Reader.Value(clause)
	if v.Inner {
		judgeInnerOf(p, v)
	}
	return v, reason
}

// judgeInnerOf judges the INSERTs in the brackets of a value that was read.
func judgeInnerOf(p *plans.Draft, v reader.Value) {
	behind := p.Reader
	p.Pos, p.PrevEnd, p.Params.Count = v.Start, v.Start, v.Before
	p.Read()
	for depth := 0; p.Token.Start < behind.Token.Start; p.Advance() {
		switch {
		case p.IsPunct('('), p.IsPunct('['), p.IsPunct('{'):
			depth++
		case p.IsPunct(')'), p.IsPunct(']'), p.IsPunct('}'):
			depth--
		case depth > 0 && p.MayInsert():
			JudgeInner(p, rewrite.ErrCTE)
		}
	}
	p.Reader = behind
}

// Fork returns a copy of the draft without findings, which can read on from the same place
// and does not change p.
func Fork(p *plans.Draft) *plans.Draft {
	if p.Free == nil {
		p.Free = &reader.FreeNames{}
	}
	q := *p
	q.IsInner = true
	q.Inserts, q.Edits, q.Slots, q.Refusal = nil, nil, nil, nil
	return &q
}

// judgeInside judges an INSERT inside another statement. p, a copy of outer that Fork has
// made, has read it up to its table's name, which is in h; at is the INSERT's offset. The
// result is noted in outer.
func judgeInside(p *plans.Draft, outer *plans.Draft, h Head, at int, reason rewrite.Reason) {
	state := NewState(h, at)
	in := &state
	if h.unsure != "" {
		reason = h.unsure
	}
	if h.Reason != "" {
		reason = h.Reason
	} else if Rest(p, in) == "" && !Lacks(p, reason) {
		outer.Inserts = append(outer.Inserts, in.Insert)
		return
	}
	outer.Refuse(h.Target, at, reason)
}

// Lacks reports whether an INSERT inside another statement may lack a key. A placeholder
// may be bound to NULL, but one in a PREPARE does not count: EXECUTE binds it, and keyfill
// does not read its value.
func Lacks(p *plans.Draft, reason rewrite.Reason) bool {
	return slices.ContainsFunc(p.Slots, func(s plans.Slot) bool { return s.Kind == plans.SlotKey || reason != rewrite.ErrPrepare })
}

// hidden returns the configured table into which an INSERT inside an executable comment may
// insert, or an INSERT after such a comment whose end is uncertain; nil if there is none.
func hidden(p *plans.Draft, t scan.Token) *plans.Target {
	text := p.TextOf(t)
	inner := strings.TrimLeft(text[strings.IndexByte(text, '!')+1:], "0123456789")
	inner = strings.TrimSuffix(inner, "*/")
	if strings.Contains(inner, "*/") {
		// The comment has several */. A server that skips the comment continues after the
		// first.
		if words.HasVerb(p.Dialect, p.Text[t.Start:]) {
			return mentionedAnywhere(p)
		}
		return nil
	}
	q := &plans.Draft{Reader: reader.At(p.Dialect, inner, 0), Lookup: p.Lookup, Tables: plans.SeenTables{Standing: p.Tables.Standing}}
	for ; q.Token.Kind != scan.End; q.Advance() {
		if !q.IsAny("insert", "replace", "load") {
			continue
		}
		h := ReadHead(Fork(q))
		if h.Target != nil {
			return h.Target
		}
		if h.Name.Table == "" || q.IsWord("load") {
			// The table's name may be outside of the comment.
			return mentionedAnywhere(p)
		}
	}
	return nil
}

// outputInto judges OUTPUT … INTO t (a, b), which stores other rows than the INSERT itself:
// Transact-SQL reference, "OUTPUT clause". It stops at a second OUTPUT, which is judged
// separately.
func outputInto(p *plans.Draft) {
	q := Fork(p)
	depth := 0
	for q.Advance(); !q.AtEnd() && (depth > 0 || !q.IsWord("output")); q.Advance() {
		switch {
		case q.IsPunct('('):
			depth++
		case q.IsPunct(')'):
			depth--
		case depth < 0 || q.IsAny("values", "select", "from", "where", "exec", "execute", "insert"):
			return
		case depth > 0 || !q.IsWord("into"):
			continue
		}
		if !q.Accept("into") {
			continue
		}
		n, ok := q.TableName()
		if !ok {
			return
		}
		if t := p.Lookup(n.Schema, n.Table); t != nil {
			Loaded(p, t, n.Start, q.Names(), rewrite.ErrOutputInto)
		}
		return
	}
}
