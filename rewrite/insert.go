package rewrite

import "slices"

// Insert is one INSERT of a text into a configured table.
type Insert struct {
	Target    *Target
	Offset    int      // of the verb, in bytes
	Rows      int      // rows of VALUES, or SELECTs that are each a row; 1 for SET and DEFAULT VALUES; -1 when not known
	Conflict  Conflict // what the engine does with a row that is there already
	Returning bool     // the statement gives rows back

	// TableText is the table's name as the text has it.
	TableText string

	// Replaces says that a row may take the place of another one, one of the same
	// statement too, whatever else the INSERT says of rows that are there:
	// REPLACE, OR REPLACE.
	Replaces bool

	// UpdatesKey says that the update part of an upsert clause may give a key
	// column another value: the row that was there already may have got the new
	// key.
	UpdatesKey bool

	// LeavesRow says that the update part assigns nothing but key columns to
	// themselves (id = id), so that the row that was there stays as it is.
	LeavesRow bool

	// Database is the folded part of the table's name in front of the schema, ""
	// where the name has no such part. It is the name of a database unless a
	// server stands in front of it.
	Database string

	// Cased says that the table's name is not written as it is compared where names
	// compare without case: with other settings of the server it is another table's.
	Cased bool

	// Unlisted is the table's name as the text has it where the INSERT is
	// refused for want of Target.Columns alone: it has VALUES and no column
	// list. "" elsewhere, and for a table behind a database link.
	Unlisted string

	// BulkTable is the table's name in SQL where the text is not SQL:
	// go-mssqldb's INSERTBULK. "" elsewhere.
	BulkTable string

	// Idiom says that the ON DUPLICATE KEY UPDATE calls LAST_INSERT_ID with an
	// argument: it says itself which key LAST_INSERT_ID() is to give.
	Idiom bool

	// Nested says that the INSERT stands in the WITH clause of a statement that
	// answers for itself, Explained that it is explained and does not run: what it
	// is given as a key is stored nowhere.
	Nested, Explained bool

	// Branched says that the INSERT runs once or not at all, which a condition of the
	// text decides.
	Branched bool

	// Conditional says that a condition of the text may leave a row out, as in SELECT …
	// WHERE. Conflict is ConflictSkip where nothing else may leave one out or replace it.
	Conditional bool

	// Worked says that a key in the INSERT is an expression with an @ in it, which
	// is a name to options of drivers that rewrite the query.
	Worked bool

	// Query is where the rows come from a query and the engine numbers them; nil
	// elsewhere.
	Query *Query

	selects   bool       // its rows are SELECTs
	end       int        // of its text
	delayed   bool       // it may be stored after its answer
	byDefault bool       // DEFAULT stands in the place of a key
	assigned  bool       // the update part assigns something
	sure      bool       // the Idiom runs whenever the update part does
	scopes    *scoping   // the columns that keys are numbered within; nil: none
	explicit  []literals // what the text brings for each key that is followed; nil: nothing
	listing   *listing   // its list and its rows where they name a key; nil elsewhere
}

// Conflict says what the engine does with a row whose key or other unique value
// is there already. It decides what the number of affected rows says about the
// keys.
type Conflict uint8

// What may happen to a row that is there already.
const (
	ConflictError   Conflict = iota // the statement fails
	ConflictSkip                    // the row is left out: IGNORE, DO NOTHING, a condition of its SELECT; with OR FAIL all after it too
	ConflictReplace                 // the old row goes: REPLACE
	ConflictUpdate                  // the old row is changed: DO UPDATE, ON DUPLICATE KEY UPDATE

	// ConflictConditional says that conditions of the statement decide whether a
	// row is inserted at all: MERGE, INSERT WHEN.
	ConflictConditional
)

// head is an INSERT up to its table's name.
type head struct {
	target   *Target // nil where the table is not configured or none is named
	name     name
	conflict Conflict
	replaces bool
	delayed  bool   // a word says so, or an executable comment may
	reason   Reason // why the target cannot be filled, whatever follows
	unsure   Reason // why it cannot unless the INSERT brings its keys
	cased    bool   // the name is not in lower case
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

// head reads verb, modifiers, INTO and the table's name.
func (p *parser) head() head {
	g := &p.d.Grammar
	var h head
	if p.isWord("replace") {
		h.conflict, h.replaces = ConflictReplace, true
	}
	p.advance()
	if g.OrAction && p.accept("or") {
		switch {
		case p.isWord("ignore"), p.isWord("fail"):
			// FAIL keeps the rows before the one that failed.
			h.conflict = ConflictSkip
		case p.isWord("replace"):
			h.conflict, h.replaces = ConflictReplace, true
		}
		p.advance()
	}
	if g.Top && p.accept("top") {
		p.brackets()
		p.accept("percent")
	}
	for {
		said := p.hint()
		if said == noHint && !p.isAny(g.Modifiers...) || said == skipsHint && h.replaces {
			break // REPLACE has no IGNORE
		}
		if said == skipsHint || p.isWord("ignore") {
			h.conflict = ConflictSkip
		}
		h.delayed = h.delayed || said != noHint || p.isWord("delayed")
		p.advance()
	}
	if g.Bulk && p.accept("bulk") {
		h.reason = ErrBulk
	}
	if into := p.accept("into"); into || g.IntoOptional && !p.isIn(notTables) {
		p.into(&h, into)
	}
	return h
}

// notTables are reserved words of MySQL, MariaDB and Transact-SQL, which name no table after
// INSERT: the word stands in a GRANT, or in CREATE SECURITY POLICY … AFTER INSERT WITH.
var notTables = newWordSet("values default select on to with from as for and or not by where group order set union is")

// into reads what stands in the place of the table's name, behind INTO or
// where that is left out.
func (p *parser) into(h *head, into bool) {
	g := &p.d.Grammar
	at := p.tok
	switch {
	case at.kind == tokExec:
		h.target, h.reason = p.mentioned(p.q[at.start:]), ErrExecutableComment
		return
	case p.isAny(g.FunctionTargets...):
		return
	case into && (p.isPunct('(') || p.isAny(g.QueryTargets...)):
		if !p.isPunct('(') {
			p.advance()
		}
		p.brackets()
		h.target, h.reason = p.mentioned(p.q[at.start:p.prev]), ErrSubquery
		return
	}
	n, ok := p.tableName()
	if !ok {
		return
	}
	h.name, h.cased = n, g.TableCase && isCased(p.q[n.start:n.end])
	if g.CallTargets && p.isCall() {
		return
	}
	if c, end := p.definedAs(n); c != nil {
		h.target, h.reason = p.mentioned(p.q[c.body:end]), ErrSubquery
		return
	}
	h.target, h.unsure = p.target(n)
	if n.quoted == tokString && !g.StringNames {
		h.reason = ErrDoubleQuotes
	}
}

// isCall reports whether the bracket behind a name opens the arguments of a
// function: no column list is empty or begins with a value.
func (p *reader) isCall() bool {
	if !p.isPunct('(') {
		return false
	}
	q := *p
	q.advance()
	return q.isPunct(')') || q.tok.kind == tokNumber || q.tok.kind == tokParam || q.tok.kind == tokVar
}

// definedAs returns the definition of a name in the statement's WITH clause
// and where it ends, where an INSERT into the name goes through it.
func (p *parser) definedAs(n name) (*cte, int) {
	if !p.d.Grammar.CTETargets || n.schema != "" {
		return nil, 0
	}
	end := n.start
	for i := len(p.ctes) - 1; i >= 0; i-- {
		if p.ctes[i].name == n.table {
			return &p.ctes[i], end
		}
		end = p.ctes[i].body
	}
	return nil, 0
}

// insert reads an INSERT or REPLACE from its verb.
func (p *parser) insert() {
	verb := p.tok.start
	p.blamed, p.ofValues = 0, false
	if p.d.Grammar.MultiInsert && p.multiTable() {
		return
	}
	h := p.head()
	switch {
	case h.target == nil:
		p.skip(p.beside())
		return
	case h.reason != "":
		p.refuse(h.target, verb, h.reason)
		p.skip(p.beside())
		return
	}
	p.makeRoom()
	state := newInsertState(h, verb)
	in := &state
	in.Nested, in.Explained = p.limit > 0, p.explained
	in.TableText = p.q[h.name.start:h.name.end]
	n, m, before := len(p.edits), len(p.slots), len(p.inserts)
	reason := p.rest(in)
	conflict := in.Conflict
	if reason == "" && !p.atEnd() {
		reason = p.tail(in)
	}
	if reason == "" && len(p.inserts) == before {
		p.cut(in, m, conflict)
	}
	if reason != "" {
		p.refuse(h.target, p.refusedAt(), reason)
		p.edits, p.slots = p.edits[:n], p.slots[:m]
		p.skip(p.beside())
	}
	if why := p.barred(h); why != "" && len(p.slots) > m {
		p.refuse(h.target, p.edits[n].start, why)
		p.edits, p.slots = p.edits[:n], p.slots[:m]
	}
	in.openMissing()
	if in.end = p.prev; in.Explained {
		in.explicit = nil
	}
	in.condition()
	p.note(in, m)
}

// condition settles what becomes of rows that a condition may leave out.
func (in *insertState) condition() {
	if !in.conditional {
		return
	}
	switch in.Conflict {
	case ConflictError:
		in.Conflict, in.Conditional = ConflictSkip, true
	case ConflictReplace:
		in.Conditional = true
	}
}

// refusedAt returns the offset of what a refusal is about: of the current token, unless
// another place was noted.
func (p *parser) refusedAt() int {
	if at := p.blamed; at > 0 {
		p.blamed = 0
		return at
	}
	return p.tok.start
}

// makeRoom makes room for what is found of the first INSERT that is read.
func (p *parser) makeRoom() {
	if p.inserts != nil || p.edits != nil || p.slots != nil {
		return
	}
	p.first = new(firstParts)
	p.inserts, p.edits, p.slots = p.first.inserts[:0], p.first.edits[:0], p.first.slots[:0]
}

// note adds an INSERT whose slots begin with the m-th. Those that stand in its
// values were added while it was read.
func (p *parser) note(in *insertState, m int) {
	if m < len(p.slots) && int(p.slots[m].insert) != len(p.inserts) {
		for i := range p.slots[m:] {
			p.slots[m+i].insert = int32(len(p.inserts))
		}
	}
	if n := len(p.inserts); n == cap(p.inserts) && n > 0 {
		// The rest of the text is likely like what was read.
		more := n*(len(p.q)-p.prev)/p.prev + 1
		p.inserts = slices.Grow(p.inserts, more)
		p.edits = slices.Grow(p.edits, more*len(p.edits)/(n+1))
		p.slots = slices.Grow(p.slots, more*len(p.slots)/(n+1))
	}
	in.Branched = p.branched
	p.inserts = append(p.inserts, in.Insert)
}

// rest reads an INSERT from behind its table's name up to the tail.
func (p *parser) rest(in *insertState) Reason {
	in.linked = p.d.Grammar.DBLink && p.isPunct('@')
	if reason := p.decoration(); reason != "" {
		return reason
	}
	in.listAt = p.prev
	at, params := p.tok.start, p.params.count
	if p.isPunct('(') && !p.queryInBrackets() {
		if reason := p.columnList(in); reason != "" {
			return reason
		}
	}
	if p.d.Grammar.Output && p.isWord("output") {
		p.output(in)
	}
	if p.d.Grammar.Overriding && p.accept("overriding") {
		if p.isWord("user") {
			in.overruled, in.overruledAt = ErrUserValue, p.tok
		}
		if !p.accept("system") && !p.accept("user") || !p.accept("value") || p.isWord("default") {
			return p.grammar()
		}
	}
	slots := len(p.slots)
	reason := p.body(in)
	if reason == "" && in.lists() && in.Query == nil && !in.selects {
		in.listing = &listing{span{at, p.prev}, params}
	}
	if reason != "" || in.overruled == "" {
		return reason
	}
	for _, s := range p.slots[slots:] {
		if in.overruled == ErrUserValue || in.Target.Keys[s.key].Integer {
			p.blamed = in.overruledAt.start
			return in.overruled
		}
	}
	return ""
}

// decoration reads what may stand between a table's name and the column list.
func (p *reader) decoration() Reason {
	g := &p.d.Grammar
	// Behind a second one stands the connection's name.
	for g.DBLink && p.acceptPunct('@') {
		if _, ok := p.tableName(); !ok {
			return p.grammar()
		}
	}
	if g.Partition && (p.accept("partition") || p.accept("subpartition")) {
		p.accept("for")
		if !p.balanced('(', ')') {
			return p.grammar()
		}
	}
	if g.AliasAs && p.accept("as") {
		if _, _, ok := p.ident(); !ok {
			return p.grammar()
		}
	}
	if g.TableHints && p.isWord("with") {
		q := *p
		if q.advance(); q.isPunct('(') {
			p.advance()
			p.brackets()
		}
	}
	if g.AliasBare && (p.tok.kind == tokQuoted || p.tok.kind == tokWord &&
		!p.isAny("values", "select", "with", "set", "by", "table")) {
		p.advance()
	}
	return ""
}

// output moves past SQL Server's OUTPUT clauses: Transact-SQL reference,
// "OUTPUT clause".
func (p *parser) output(in *insertState) {
	in.Returning = true
	into := false
	for depth := 0; !p.atEnd(); p.advance() {
		switch {
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			depth--
		case depth > 0 || p.tok.kind != tokWord:
		case p.isAny("values", "default", "select", "exec", "execute", "with"):
			return
		case p.isWord("into"):
			into = true
			in.Returning = false
		case p.isWord("output"):
			p.nested(ErrSelect)
			in.Returning = into || in.Returning
		}
	}
}

// grammar is the reason for a token that has no place here.
func (p *reader) grammar() Reason {
	if p.tok.kind == tokExec {
		return ErrExecutableComment
	}
	return ErrGrammar
}
