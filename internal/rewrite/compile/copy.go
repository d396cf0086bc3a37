package compile

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/inserts"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// copy reads PostgreSQL's COPY t (a, b) FROM: PostgreSQL 18, "COPY". If it is FROM STDIN,
// the rows are the executions of the prepared text, as in lib/pq, and get their keys there.
// Any other COPY is sent as it is if the column list names the keys, and otherwise refused.
func copy(p *plans.Draft) {
	at := p.Token.Start
	p.Advance()
	binary := p.Accept("binary")
	if n, ok := p.TableName(); ok {
		t, _ := inserts.Target(p, n)
		q := p.Reader
		if q.Brackets(); t != nil && q.IsWord("from") {
			in := inserts.NewState(inserts.Head{Target: t, Name: n}, at)
			copied(p, &in, binary)
		}
	}
	inserts.Skip(p, inserts.InnerReason(p))
}

// copied reads a COPY into a configured table from after the table's name.
func copied(p *plans.Draft, in *inserts.State, binary bool) {
	in.ListAt = p.PrevEnd
	if p.IsPunct('(') {
		if reason := inserts.ColumnList(&p.Reader, in); reason != "" {
			p.Refuse(in.Target, p.Token.Start, reason)
			return
		}
	}
	if binary || !fromStdin(p) {
		elsewhere(p, in)
		return
	}
	var columns []string
	width := in.Columns
	if in.Columns < 0 {
		// Without a column list, every row has all columns.
		var reason rewrite.Reason
		if columns, reason = inserts.Implied(&p.Reader, in, max(len(in.Target.Columns), 1)); reason != "" {
			p.Refuse(in.Target, p.Token.Start, reason)
			p.Inserts = append(p.Inserts, in.Insert)
			return
		}
		width = len(columns)
	}
	missing := in.Missing(nil)
	inserts.List(p, in, columns, missing)
	end := in.ListEnd
	if in.Columns < 0 {
		end = in.ListAt
	}
	stream(p, in, end, width, missing)
}

// elsewhere judges a bulk load that cannot be filled: it is sent as it is if its column
// list names the keys, and otherwise refused.
func elsewhere(p *plans.Draft, in *inserts.State) {
	if in.Lacks() {
		p.Refuse(in.Target, in.Offset, rewrite.ErrBulk)
		return
	}
	p.Inserts = append(p.Inserts, in.Insert)
}

// stream queues the keys of a text whose rows arrive as its executions, each with a value
// for each of width columns. at is the end of the column list in the text; no placeholder
// is written there.
func stream(p *plans.Draft, in *inserts.State, at, width int, missing []int) {
	p.Streams = true
	streamScopes(p, in, missing)
	for k := range in.Target.Keys {
		column := in.Listed.Of(k)
		key := &in.Target.Keys[k]
		if column >= 0 && (key.Fill&(plans.FillNull|plans.FillZero) != 0 || key.Follow) {
			p.Params.Count = column
			p.Slot(at, at, "", plans.Slot{Kind: plans.SlotOwn, Key: int32(k)})
		}
	}
	p.Params = reader.Params{Styles: reader.StylePosition, Count: width}
	for _, k := range missing {
		p.Slot(at, at, "", plans.Slot{Key: int32(k)})
	}
	p.Inserts = append(p.Inserts, in.Insert)
}

// streamScopes notes where the rows of a stream have the values that keys are made from. It
// refuses a key that is numbered within other columns: the connection accepts no statement
// that draws its numbers.
func streamScopes(p *plans.Draft, in *inserts.State, missing []int) {
	if in.Scopes == nil {
		return
	}
	in.Scopes.Begin(in.Offset)
	numbered := func(column string) bool {
		return slices.ContainsFunc(in.Target.Keys, func(k plans.Key) bool { return !k.FromRow && slices.Contains(k.Scope, column) })
	}
	for i, at := range in.Scopes.Listed {
		if at >= 0 && !numbered(in.Scopes.Columns[i]) {
			in.Scopes.Values[i].Kind, in.Scopes.Values[i].Before = plans.ScopeArgument, at
		}
	}
	for _, k := range missing {
		key := &in.Target.Keys[k]
		if key.Scope != nil && !key.FromRow {
			p.Refuse(in.Target, in.Offset, rewrite.ErrScope)
		}
		for i, column := range in.Scopes.Columns {
			if p.Refusal == nil && slices.Contains(key.Scope, column) && in.Scopes.Listed[i] < 0 {
				p.Refusal = plans.ScopeRefusal(in.Target, key, in.Offset, column)
			}
		}
	}
}

// fromStdin reports whether FROM STDIN ends the text here, the text has no other statement,
// and its options are such that the engine reads rows as lib/pq writes them.
func fromStdin(p *plans.Draft) bool {
	q := p.Reader
	if q.Advance(); !q.Accept("stdin") {
		return false
	}
	q.Accept("with")
	if q.IsPunct('(') && !plainOptions(&q) {
		return false
	}
	if q.IsWord("where") {
		for !q.AtEnd() {
			q.Advance()
		}
	}
	if !q.AtEnd() {
		return false
	}
	for q.AcceptPunct(';') {
	}
	return p.Split.Statements == 1 && q.Token.Kind == scan.End && q.Params.Count == 0
}

// plainOptions moves past the options of a COPY in brackets. It reports false if one of
// them changes how the engine reads values as lib/pq has written them: as text, with a tab
// after each, and \N for NULL.
func plainOptions(p *reader.Reader) bool {
	p.Advance()
	for {
		option := p.Token
		if option.Kind != scan.Word {
			return false
		}
		p.Advance()
		var value strings.Builder
		for !p.IsPunct(',') && !p.IsPunct(')') {
			if p.Token.Kind == scan.End || p.Token.Kind == scan.Broken || p.IsPunct('(') {
				return false
			}
			value.WriteString(p.TextOf(p.Token))
			p.Advance()
		}
		if !plainOption(p.TextOf(option), value.String()) {
			return false
		}
		if p.AcceptPunct(')') {
			return true
		}
		p.Advance()
	}
}

// plainOption reports whether an option of COPY leaves the key's value unchanged. The
// text of a key may equal a DEFAULT or another NULL marker, HEADER skips the first row,
// and CSV reads \x differently.
func plainOption(option, value string) bool {
	switch strings.ToLower(option) {
	case "format":
		return strings.EqualFold(strings.Trim(value, `'"`), "text")
	case "delimiter":
		return value == "'\t'" || strings.EqualFold(value, `E'\t'`)
	case "null":
		return value == "''" || value == `'\N'` || value == `E'\\N'` || value == `e'\\N'`
	case "freeze", "encoding", "on_error", "log_verbosity", "reject_limit":
		return true
	}
	return false
}
