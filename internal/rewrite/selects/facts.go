package selects

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// Lift is a value in a query's select list that takes its type from the column that it is
// stored in, such as a placeholder. Inside a WITH clause it would get another type, so it
// is selected outside of the clause.
type Lift struct {
	scan.Span
	Column int  // the index of the column, from 0
	Param  bool // whether the value is a placeholder
}

// Lifts reports whether a value that is a whole item of a plain select list takes its type
// from the column that it is stored in.
func Lifts(p *reader.Reader, value scan.Token) bool {
	n := &p.Dialect.Numbering
	switch value.Kind {
	case scan.Word:
		return (n.ByTarget || n.NullByTarget) && scan.EqualWord(p.TextOf(value), "null")
	case scan.Placeholder:
		return n.ByTarget
	case scan.String:
		return n.ByTarget && strings.IndexByte("bBxXnN", p.Text[value.Start]) < 0
	}
	return false
}

// ListEnd is the end of a select list.
type ListEnd struct {
	At     int // the offset after the last item of the list
	Params int // how many of the caller's placeholders precede that offset
}

// Facts is what keyfill found out about a query.
type Facts struct {
	Outer    With // the WITH clause before the INSERT, or before the definition that the INSERT is
	Near     With // the WITH clause inside a definition, before its INSERT
	Inner    With // the WITH clause before the SELECT, if the engine does not accept it inside another clause
	Main     scan.Span
	From, To int // how many of the caller's placeholders precede the query, and the text after it

	place placeInQuery

	Values bool   // the query is a row of VALUES
	Listed bool   // whether the query has a select list
	Items  int    // how many items the first select list has
	Stars  int    // how many items of the first select list stand for several columns
	Lifts  []Lift // the items that take their type from the column that they are stored in

	Lists []ListEnd // the ends of the query's select lists: see Appends
	apart bool      // whether rows of the query's lists are left out or copied: DISTINCT, UNION, ROLLUP

	Plain   bool           // whether the query has a select list, but no DISTINCT or set operation, which give values types of their own
	Ordered bool           // whether the query has ORDER BY
	Limited bool           // whether the query has TOP, OFFSET or FETCH
	Unsure  bool           // whether the query has a call that may change data
	Reason  rewrite.Reason // why the rows of the query cannot be numbered; empty if they can
	Blamed  int            // the offset of the token that Reason is about; zero for the current token
}

// placeInQuery says where in a query the reader is.
type placeInQuery struct {
	brackets int               // how many brackets are around the first SELECT of the query
	open     scan.OpenBrackets // the brackets that are open
	operand  operandPlace      // the place among the operands of the query's set operations
	ahead    bool              // whether only the first select list is read: see [ReadWidth]
}

// Width returns the least number of columns that the query can have. exact reports whether
// the query has exactly that number.
func (s *Facts) Width() (least int, exact bool) {
	if !s.Listed {
		return 1, false
	}
	return max(s.Items, 1), s.Stars == 0
}

// maxAhead is how many brackets [ReadWidth] reads inside one another in a WITH clause. If
// there are more, it finds no select list.
const maxAhead = 1000

// ReadWidth reads a query up to the end of its first select list, and notes what
// [Facts.Width] returns. It does not read the rest of the query, nor past an INSERT that
// begins in the list: of many INSERTs in a row or inside of one another, each would be read
// to the end of the text.
func ReadWidth(p *reader.Reader, s *Facts) {
	s.place.ahead = true
	beginQuery(p, s)
}

// insertFollows reports whether the current word of a select list, where depth brackets are
// open, begins another INSERT, and is neither a function nor a name. Outside of brackets
// the list ends at INTO anyway.
func insertFollows(p *reader.Reader, depth int) bool {
	switch {
	case !p.IsVerb() || p.PrevEnd > 0 && p.Text[p.PrevEnd-1] == '.':
		return false
	case p.NextIs("into"):
		return depth > 0
	case !p.Dialect.Grammar.IntoOptional:
		return false
	}
	n, _ := p.Peek()
	return n.Kind == scan.Word || n.Kind == scan.Quoted
}

// bracketsIn moves past the brackets at the current token, which belong to a select list.
func bracketsIn(p *reader.Reader, s *Facts) {
	if !s.place.ahead || !p.IsPunct('(') {
		p.Brackets()
		return
	}
	for depth := 0; p.Token.Kind != scan.End && p.Token.Kind != scan.Broken && p.Token.Kind != scan.Executable && !insertFollows(p, 1); {
		switch {
		case p.IsPunct('('):
			depth++
		case p.IsPunct(')'):
			depth--
		}
		if p.Advance(); depth == 0 {
			return
		}
	}
}

// ReadQuery reads a query up to the end of the statement, or to the clauses of the INSERT
// after it.
func ReadQuery(p *reader.Reader, s *Facts) {
	depth := beginQuery(p, s)
	endQuery(p, s, depth)
}

// beginQuery reads a query up to the end of its first select list, and returns how many
// brackets are open there.
func beginQuery(p *reader.Reader, s *Facts) (depth int) {
	s.From, s.Unsure = p.Params.Count, p.Dialect.Numbering.Hidden
	s.Main.Start = p.Token.Start
	if p.IsWord("with") {
		s.Inner = With{Span: scan.Span{Start: p.Token.Start, End: p.Token.Start}, From: s.From, To: s.From}
		var d definitions
		for depth := 0; !p.AtEnd() && !d.end(p, depth); p.Advance() {
			if s.place.ahead && (depth > maxAhead || depth == 0 && insertFollows(p, 1)) {
				return depth
			}
			unsure, outside := s.Unsure, depth == 0
			if surveyed(p, s, &depth); outside {
				s.Unsure = unsure // in WITH n (i) AS …, n (i) is no call
			}
		}
		s.Inner.End, s.Inner.To = p.PrevEnd, p.Params.Count
		if p.Dialect.Numbering.Flat {
			s.Main.Start = p.Token.Start
		} else {
			s.Inner = With{}
		}
	}
	for !p.Dialect.Numbering.Flat && p.IsPunct('(') {
		surveyedOperand(p, s, &depth)
		p.Advance()
	}
	s.place.brackets = depth
	if depth > 0 && p.IsWord("with") && !withInBrackets(p, s) {
		return depth
	}
	if p.IsWord("select") {
		listedSelect(p, s)
	}
	return depth
}

// endQuery reads a query on after its first select list, where depth brackets are open.
func endQuery(p *reader.Reader, s *Facts, depth int) {
	joins := false // whether an ON here would belong to a join
	for !endsQuery(p, s, depth) {
		if depth == 0 && p.Token.Kind == scan.Word {
			joins = p.IsAny("from", "join") || joins && !p.IsAny("on", "using", "where", "group", "having", "window", "order", "limit", "union", "intersect", "except")
		}
		if depth <= s.place.brackets && p.IsIn(apartWords) {
			if s.apart = s.apart || depth < s.place.brackets || !p.IsWord("union"); !s.apart && unionAll(p, s) {
				continue
			}
		}
		surveyedOperand(p, s, &depth)
		p.Advance()
	}
	s.Main.End, s.To = p.PrevEnd, p.Params.Count
	if joins && p.Dialect.Numbering.Where && p.IsWord("on") {
		// SQLite takes this ON for the condition of a join and refuses the text ("Parsing
		// Ambiguity", https://www.sqlite.org/lang_upsert.html). With keyfill's edits the text
		// would be valid.
		s.refuse(p.Grammar())
	}
	if depth != 0 || s.Main.End <= s.Main.Start {
		s.refuse(rewrite.ErrSelectForm)
	}
	if p.Token.Kind == scan.Word && p.Token.Start == s.Main.End && p.IsPart(p.Text[s.Main.End-1]) {
		s.refuse(rewrite.ErrGrammar) // most engines refuse 0RETURNING, and an edit would make it valid
	}
}

// apartWords are words that show that the rows of a query are not simply the rows of its
// select lists.
var apartWords = scan.NewWordSet("union except intersect minus rollup cube grouping procedure into")

// withInBrackets moves past the WITH clause of a query in brackets. As in SurveyWith, the
// clause has facts of its own. It returns false if there are too many brackets: see
// [ReadWidth].
func withInBrackets(p *reader.Reader, s *Facts) bool {
	clause := Facts{Unsure: s.Unsure}
	var d definitions
	for depth := 0; !p.AtEnd() && depth >= 0 && !d.end(p, depth); p.Advance() {
		if s.place.ahead && (depth > maxAhead || depth == 0 && insertFollows(p, 1)) {
			return false
		}
		surveyed(p, &clause, &depth)
	}
	s.take(&clause)
	return true
}

// take adopts the facts of a WITH clause that apply to the whole statement.
func (s *Facts) take(clause *Facts) {
	s.Unsure = clause.Unsure
	if clause.Reason != "" {
		s.refuse(clause.Reason)
	}
}

// SurveyWith reads a WITH clause before the INSERT, or a part of one, and notes in s the
// facts about the whole statement. Facts about the clause's own brackets and set operations
// are not noted. If the clause's definitions change data, in an engine with such
// definitions, the count of the rows makes the same changes, which are then undone.
func SurveyWith(p *reader.Reader, s *Facts, w With) {
	new(Survey).Go(p, s, w)
}

// Survey holds how far a WITH clause has been surveyed, and the facts so far. Each INSERT
// in a definition needs the facts about the definitions before it, and a Survey reads each
// definition only once.
type Survey struct {
	start, end int  // the offset of the clause, and the offset up to which it has been surveyed; end is 0 before the first survey
	depth      int  // how many brackets are open at end
	unsure     bool // Unsure of the query for whose INSERT the clause is surveyed
	clause     Facts
}

// Go notes in s the facts about the whole statement that w shows, as [SurveyWith] does. It
// reads only the part of the clause that was not surveyed before.
func (v *Survey) Go(p *reader.Reader, s *Facts, w With) {
	if w.Empty() {
		return
	}
	if v.end == 0 || v.end > w.End || v.start != w.Start || v.unsure != s.Unsure {
		word := p.Within(w.Span).Token
		*v = Survey{start: w.Start, end: word.End, unsure: s.Unsure, clause: Facts{Unsure: s.Unsure}}
	}
	q := p.Within(scan.Span{Start: v.end, End: w.End})
	q.PrevEnd, v.end = v.end, w.End
	for ; q.Token.Kind != scan.End; q.Advance() {
		if v.depth == 0 && p.Dialect.Grammar.Copy && q.IsPunct('(') && changes(&q) {
			v.clause.Unsure = true
			v.clause.place.open.Open('(')
			v.depth++
			continue
		}
		surveyed(&q, &v.clause, &v.depth)
	}
	s.take(&v.clause)
}

// refuse notes why the rows cannot be numbered. Only the first reason counts.
func (s *Facts) refuse(reason rewrite.Reason) {
	if s.Reason == "" {
		s.Reason = reason
	}
}

// queryEnds are words that may begin the text after the query of an INSERT.
var queryEnds = scan.NewWordSet("on returning log return option")

// endsQuery reports whether the query ends at the current token, where depth brackets are
// open.
func endsQuery(p *reader.Reader, s *Facts, depth int) bool {
	g := &p.Dialect.Grammar
	switch {
	case p.AtEnd():
		return true
	case depth < 0, p.Token.Kind == scan.Broken, p.Token.Kind == scan.Executable:
		s.refuse(p.Grammar())
		return true
	case depth > 0 || !p.IsIn(queryEnds) || isNamed(p):
		return false
	case p.IsWord("on"):
		return upserts(p)
	case p.IsWord("returning"):
		if g.OnDuplicateKey && !g.Returning {
			s.refuse(rewrite.ErrGrammar)
		}
		return g.Returning || g.ReturningInto || g.OnDuplicateKey
	case p.IsAny("log", "return"):
		return g.ReturningInto && (p.IsWord("return") || p.NextIs("errors"))
	case p.IsWord("option"):
		return g.Option
	}
	return false
}

// upserts reports whether the ON at the current token begins an upsert clause, and not the
// condition of a join with a table named conflict or duplicate.
func upserts(p *reader.Reader) bool {
	n, behind := p.Peek()
	if n.Kind != scan.Word {
		return false
	}
	after := behind.Following()
	switch {
	case p.Dialect.Grammar.OnConflict && scan.EqualWord(p.TextOf(n), "conflict"):
		return p.TextOf(after) == "(" || after.Kind == scan.Word && !operatorWords.Has(p.TextOf(after))
	case p.Dialect.Grammar.OnDuplicateKey && scan.EqualWord(p.TextOf(n), "duplicate"):
		return after.Kind == scan.Word && !operatorWords.Has(p.TextOf(after))
	}
	return false
}

// operatorWords are the words that may follow an operand.
var operatorWords = scan.NewWordSet(`and or xor not is isnull notnull in like ilike rlike regexp similar between glob match
	collate escape div mod sounds member overlaps at operator
	where group having window order limit offset fetch for union except intersect returning
	join inner left right full cross natural straight_join`)

// surveyed reads one token of a query, and notes what it shows about the query.
func surveyed(p *reader.Reader, s *Facts, depth *int) {
	switch {
	case p.IsPunct('('):
		*depth++
		s.place.open.Open('(')
		if changes(p) {
			s.refuse(rewrite.ErrSelectForm)
		}
	case p.IsPunct('['), p.IsPunct('{'):
		*depth++
		s.place.open.Open(p.Text[p.Token.Start])
	case p.IsPunct(')'), p.IsPunct(']'), p.IsPunct('}'):
		*depth--
		if !s.place.open.Shut(p.Text[p.Token.Start]) {
			s.refuse(rewrite.ErrGrammar)
		}
	case p.IsPunct(':') && p.Dialect.Lexis.UserVariables && p.Token.End < len(p.Text) && p.Text[p.Token.End] == '=':
		// The query sets a user variable. It would be set twice, since keyfill also runs
		// the query to count its rows.
		s.refuse(rewrite.ErrSelectForm)
	case p.Token.Kind != scan.Word && p.Token.Kind != scan.Quoted:
	case !s.Unsure && p.MayChange():
		s.Unsure = true
	case !p.IsIn(surveyWords):
		if *depth <= s.place.brackets && followsQuery(p) {
			s.refuse(rewrite.ErrSelectForm)
		}
	case p.IsAny("nextval", "currval") && p.Dialect.Family == dialect.FamilyOracle, p.Dialect.Numbering.First && p.IsWord("next") && p.NextIs("value"):
		// Sequence numbers may not stand in a WITH clause: Oracle's SQL Language Reference,
		// "Sequence Pseudocolumns"; Transact-SQL reference, "NEXT VALUE FOR".
		s.refuse(rewrite.ErrSelectForm)
	case *depth > s.place.brackets:
	case p.IsAny("union", "except", "intersect", "minus"), p.IsAny("rollup", "cube") && p.NextIsPunct('('),
		p.IsWord("grouping") && p.NextIs("sets"):
		s.Plain = false
	case p.IsWord("order"):
		s.Ordered = true
	case p.IsAny("offset", "fetch"):
		s.Limited = true
	case p.IsWord("into"), p.Dialect.Numbering.First && p.IsWord("for"):
		s.refuse(rewrite.ErrSelectForm)
	}
}

// surveyWords are words in a query that may matter for the numbering of its rows. Words that
// may begin another statement are examined in addition.
var surveyWords = scan.NewWordSet("nextval currval next union except intersect minus rollup cube grouping order offset fetch into for")

// changes reports whether a statement that changes data begins after the bracket at the
// current token.
func changes(p *reader.Reader) bool {
	at := p.Pos
	for at < len(p.Text) && scan.IsSpace(p.Text[at]) {
		at++
	}
	if at < len(p.Text) && scan.Classes[p.Text[at]]&(scan.ClassLetter|scan.ClassDigit|scan.ClassPunct) != 0 && p.Text[at] < 0x80 &&
		strings.IndexByte("iudmr", p.Text[at]|0x20) < 0 {
		return false // no such statement begins with this letter, as in most queries
	}
	n, behind := p.Peek()
	if n.Kind != scan.Word {
		return false
	}
	switch word := p.TextOf(n); {
	case scan.EqualAny(word, "insert", "update", "delete", "merge", "replace"):
		after := behind.Following()
		return after.Kind != scan.Punct || p.TextOf(after) != "("
	}
	return false
}

// followsQuery reports whether the current word begins another statement, in a text whose
// statements need no semicolons between them.
func followsQuery(p *reader.Reader) bool {
	switch {
	case !p.Dialect.Grammar.NoSemicolon || !p.IsIn(StatementWords):
		return false
	case p.IsWord("with"):
		return !p.NextIsPunct('(') && !p.NextIs("ties")
	case p.IsWord("merge"):
		return !p.NextIs("join") && !p.NextIs("union")
	}
	return true
}

// StatementWords are words that begin a statement of Transact-SQL.
var StatementWords = scan.NewWordSet(`insert update delete exec execute declare set if while begin commit rollback save print
	raiserror throw return truncate create drop alter use go waitfor grant revoke deny goto kill dbcc with merge`)

// Appends reports whether an expression for each row may be added to the end of each of the
// query's lists: the query is one SELECT, or several under UNION ALL.
func (s *Facts) Appends(n *dialect.Numbering) bool {
	return n.PerRow != "" && s.Listed && !s.Values && !s.apart && len(s.Lists) > 0
}
