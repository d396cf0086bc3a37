package inserts

import (
	"slices"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// Head is the beginning of an INSERT, up to its table's name.
type Head struct {
	Target   *plans.Target // nil if the table is not configured or none is named
	Name     reader.Name
	conflict plans.Conflict
	replaces bool
	delayed  bool           // whether the INSERT has DELAYED, or an executable comment in it may have DELAYED
	Reason   rewrite.Reason // why no key can be filled, whatever the rest of the INSERT is
	unsure   rewrite.Reason // why the INSERT is refused unless it brings its keys
	cased    bool           // whether the name is not in lower case
}

// isCased reports whether a name may have letters that are not in lower case.
func isCased(name string) bool {
	for i := range len(name) {
		if c := name[i]; 'A' <= c && c <= 'Z' || c >= 0x80 {
			return true
		}
	}
	return false
}

// ReadHead reads verb, modifiers, INTO and the table's name.
func ReadHead(p *plans.Draft) Head {
	g := &p.Dialect.Grammar
	var h Head
	if p.IsWord("replace") {
		h.conflict, h.replaces = plans.ConflictReplace, true
	}
	p.Advance()
	if g.OrAction && p.Accept("or") {
		switch {
		case p.IsWord("ignore"), p.IsWord("fail"):
			// OR FAIL keeps the rows before the row that failed.
			h.conflict = plans.ConflictSkip
		case p.IsWord("replace"):
			h.conflict, h.replaces = plans.ConflictReplace, true
		}
		p.Advance()
	}
	if g.Top && p.Accept("top") {
		p.Brackets()
		p.Accept("percent")
	}
	for {
		said := p.Hint()
		if said == reader.NoHint && !p.IsAny(g.Modifiers...) || said == reader.SkipsHint && h.replaces {
			break // REPLACE has no IGNORE
		}
		if said == reader.SkipsHint || p.IsWord("ignore") {
			h.conflict = plans.ConflictSkip
		}
		h.delayed = h.delayed || said != reader.NoHint || p.IsWord("delayed")
		p.Advance()
	}
	if g.Bulk && p.Accept("bulk") {
		h.Reason = rewrite.ErrBulk
	}
	if into := p.Accept("into"); into || g.IntoOptional && !p.IsIn(notTables) {
		Into(p, &h, into)
	}
	return h
}

// notTables are reserved words of MySQL, MariaDB and Transact-SQL. After INSERT they show
// that INSERT belongs to a GRANT, or to CREATE SECURITY POLICY … AFTER INSERT WITH.
var notTables = scan.NewWordSet("values default select on to with from as for and or not by where group order set union is")

// Into reads the table's name, or whatever replaces the name, after INTO or where INTO is
// left out.
func Into(p *plans.Draft, h *Head, into bool) {
	g := &p.Dialect.Grammar
	at := p.Token
	switch {
	case at.Kind == scan.Executable:
		h.Target, h.Reason = Mentioned(p, p.Text[at.Start:]), rewrite.ErrExecutableComment
		return
	case p.IsAny(g.FunctionTargets...):
		return
	case into && (p.IsPunct('(') || p.IsAny(g.QueryTargets...)):
		if !p.IsPunct('(') {
			p.Advance()
		}
		p.Brackets()
		h.Target, h.Reason = Mentioned(p, p.Text[at.Start:p.PrevEnd]), rewrite.ErrSubquery
		return
	}
	n, ok := p.TableName()
	if !ok {
		return
	}
	h.Name, h.cased = n, g.TableCase && isCased(p.Text[n.Start:n.End])
	if g.CallTargets && isCall(&p.Reader) {
		return
	}
	if c, end := definedAs(p, n); c != nil {
		h.Target, h.Reason = Mentioned(p, p.Text[c.Body:end]), rewrite.ErrSubquery
		return
	}
	h.Target, h.unsure = Target(p, n)
	if n.Quoted == scan.String && !g.StringNames {
		h.Reason = rewrite.ErrDoubleQuotes
	}
}

// isCall reports whether the bracket after a name opens the arguments of a function: no
// column list is empty or begins with a value.
func isCall(p *reader.Reader) bool {
	if !p.IsPunct('(') {
		return false
	}
	q := *p
	q.Advance()
	return q.IsPunct(')') || q.Token.Kind == scan.Number || q.Token.Kind == scan.Placeholder || q.Token.Kind == scan.Variable
}

// definedAs returns the definition of a name in the statement's WITH clause and the
// definition's end, if an INSERT into the name writes through that definition. It returns
// nil if not.
func definedAs(p *plans.Draft, n reader.Name) (*plans.CTE, int) {
	if !p.Dialect.Grammar.CTETargets || n.Schema != "" {
		return nil, 0
	}
	end := n.Start
	for i := len(p.With.CTEs) - 1; i >= 0; i-- {
		if p.With.CTEs[i].Name == n.Table {
			return &p.With.CTEs[i], end
		}
		end = p.With.CTEs[i].Body
	}
	return nil, 0
}

// Condition changes what happens to existing rows according to the INSERT, if a condition
// may leave rows out.
func (in *State) Condition() {
	if !in.conditional {
		return
	}
	switch in.Upsert.Conflict {
	case plans.ConflictError:
		in.Upsert.Conflict, in.Conditional = plans.ConflictSkip, true
	case plans.ConflictReplace:
		in.Conditional = true
	}
}

// RefusedAt returns the offset that a refusal reports: the current token's, unless another
// offset was noted.
func RefusedAt(p *plans.Draft) int {
	if at := p.RefusalOffset; at > 0 {
		p.RefusalOffset = 0
		return at
	}
	return p.Token.Start
}

// MakeRoom allocates room for the findings about the first INSERT that is read.
func MakeRoom(p *plans.Draft) {
	if p.Inserts != nil || p.Edits != nil || p.Slots != nil {
		return
	}
	p.Memory = new(plans.PlanMemory)
	p.Inserts, p.Edits, p.Slots = p.Memory.Inserts[:0], p.Memory.Edits[:0], p.Memory.Slots[:0]
}

// Note adds an INSERT to the findings. Its slots, which are the places for its keys, are
// p.Slots from the m-th on. INSERTs in its values were added before it.
func Note(p *plans.Draft, in *State, m int) {
	if m < len(p.Slots) && int(p.Slots[m].Insert) != len(p.Inserts) {
		for i := range p.Slots[m:] {
			p.Slots[m+i].Insert = int32(len(p.Inserts))
		}
	}
	if n := len(p.Inserts); n == cap(p.Inserts) && n > 0 {
		// The rest of the text is likely to have as many INSERTs for its length as the text
		// from the first one on. What precedes that, such as WITH, is not repeated. If the rest
		// has a few more INSERTs, all would be copied for them.
		before, read := n, in.Offset-p.Inserts[0].Offset
		if read <= 0 { // branches of INSERT ALL, or an INSERT after those in its values
			before, read = n+1, p.PrevEnd
		}
		more := before * (len(p.Text) - p.PrevEnd) / read
		more += more/16 + 1
		p.Inserts = slices.Grow(p.Inserts, more)
		p.Edits = slices.Grow(p.Edits, more*len(p.Edits)/(n+1))
		p.Slots = slices.Grow(p.Slots, more*len(p.Slots)/(n+1))
	}
	in.Branched = p.Flow.Branched
	p.Inserts = append(p.Inserts, in.Insert)
}

// Rest reads an INSERT from after its table's name to the end of its rows.
func Rest(p *plans.Draft, in *State) rewrite.Reason {
	in.linked = p.Dialect.Grammar.DBLink && p.IsPunct('@')
	if reason := decoration(&p.Reader); reason != "" {
		return reason
	}
	in.ListAt = p.PrevEnd
	at, params := p.Token.Start, p.Params.Count
	if p.IsPunct('(') && !queryInBrackets(&p.Reader) {
		if reason := ColumnList(&p.Reader, in); reason != "" {
			return reason
		}
	}
	if p.Dialect.Grammar.Output && p.IsWord("output") {
		output(p, in)
	}
	if p.Dialect.Grammar.Overriding && p.Accept("overriding") {
		if p.IsWord("user") {
			in.overruled, in.overruledAt = rewrite.ErrUserValue, p.Token
		}
		if !p.Accept("system") && !p.Accept("user") || !p.Accept("value") || p.IsWord("default") {
			return p.Grammar()
		}
	}
	slots := len(p.Slots)
	reason := body(p, in)
	if reason == "" && in.lists() && in.Query == nil && !in.Selects {
		in.Listing = &plans.Listing{Rows: scan.Span{Start: at, End: p.PrevEnd}, Params: params}
	}
	if reason != "" || in.overruled == "" {
		return reason
	}
	for _, s := range p.Slots[slots:] {
		if in.overruled == rewrite.ErrUserValue || in.Target.Keys[s.Key].Integer {
			p.RefusalOffset = in.overruledAt.Start
			return in.overruled
		}
	}
	return ""
}

// decoration reads the words that may stand between a table's name and its columns.
func decoration(p *reader.Reader) rewrite.Reason {
	g := &p.Dialect.Grammar
	// A second @ precedes the name of a connection.
	for g.DBLink && p.AcceptPunct('@') {
		if _, ok := p.TableName(); !ok {
			return p.Grammar()
		}
	}
	if g.Partition && (p.Accept("partition") || p.Accept("subpartition")) {
		p.Accept("for")
		if !p.Balanced('(', ')') {
			return p.Grammar()
		}
	}
	if g.AliasAs && p.Accept("as") {
		if _, _, ok := p.Ident(); !ok {
			return p.Grammar()
		}
	}
	if g.TableHints && p.IsWord("with") {
		q := *p
		if q.Advance(); q.IsPunct('(') {
			p.Advance()
			p.Brackets()
		}
	}
	if g.AliasBare && (p.Token.Kind == scan.Quoted || p.Token.Kind == scan.Word &&
		!p.IsAny("values", "select", "with", "set", "by", "table")) {
		p.Advance()
	}
	return ""
}

// output moves past SQL Server's OUTPUT clauses: Transact-SQL reference, "OUTPUT clause".
func output(p *plans.Draft, in *State) {
	in.Returning = true
	into := false
	for depth := 0; !p.AtEnd(); p.Advance() {
		switch {
		case p.IsPunct('('):
			depth++
		case p.IsPunct(')'):
			depth--
		case depth > 0 || p.Token.Kind != scan.Word:
		case p.IsAny("values", "default", "select", "exec", "execute", "with"):
			return
		case p.IsWord("into"):
			into = true
			in.Returning = false
		case p.IsWord("output"):
			JudgeInner(p, rewrite.ErrSelect)
			in.Returning = into || in.Returning
		}
	}
}
