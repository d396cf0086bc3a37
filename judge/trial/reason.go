package trial

import (
	"regexp"
	"strings"

	"github.com/keyfill/keyfill/judge/tree"
	"github.com/keyfill/keyfill/rewrite"
)

// Reason is why keyfill refused a text, as a short word if there is one.
type Reason string

// reasons are the reasons that an explanation can give.
var reasons = []rewrite.Reason{
	rewrite.ErrNoColumnList, rewrite.ErrColumnCount, rewrite.ErrSelect, rewrite.ErrSeveral, rewrite.ErrCTE,
	rewrite.ErrExplain, rewrite.ErrStatementSetting, rewrite.ErrPrepare, rewrite.ErrBlock, rewrite.ErrLoop, rewrite.ErrMerge, rewrite.ErrOutputInto,
	rewrite.ErrMultiTable, rewrite.ErrBulk, rewrite.ErrExec, rewrite.ErrExecutableComment, rewrite.ErrUserValue,
	rewrite.ErrTarget, rewrite.ErrRowID, rewrite.ErrDoubleQuotes, rewrite.ErrSubquery, rewrite.ErrReadsCount,
	rewrite.ErrGrammar, rewrite.ErrStyles, rewrite.ErrFirstUse, rewrite.ErrShared,
	rewrite.ErrPerStatement, rewrite.ErrTooMany, rewrite.ErrSelectForm, rewrite.ErrSelectSeveral, rewrite.ErrSettings, rewrite.ErrSet, rewrite.ErrOrder, rewrite.ErrSelectValues,
}

// valuesPart begins the text of [rewrite.ErrSelectForm] for VALUES that are a part of a
// longer query.
const valuesPart = "VALUES is a part of a larger query"

// reasonOf returns the word for a reason's text; for a new reason its first
// words.
func reasonOf(text string) Reason {
	for _, r := range reasons {
		if text == r.Error() {
			return Reason(r)
		}
	}
	if strings.HasPrefix(text, valuesPart) {
		return Reason(rewrite.ErrSelectForm)
	}
	head, _, _ := strings.Cut(text, ":")
	return Reason(head)
}

// missed reports whether keyfill did less than it could, or gave a reason that is not true.
func missed(v *Verdict, query string) bool {
	switch v.Kind {
	case tree.KindOther, tree.KindBody, tree.KindNoTable:
		return v.Action != "pass"
	}
	return v.Action == "refuse" && !holds(v.Reason, v.Kind, query)
}

// kindsOf lists, for a reason, the kinds of texts for which it is true because of their
// form alone.
var kindsOf = map[Reason][]tree.Kind{
	Reason(rewrite.ErrNoColumnList): {tree.KindUnlisted, tree.KindMixed, tree.Kind(tree.Bulk)},
	Reason(rewrite.ErrColumnCount):  {tree.KindCount, tree.KindMixed},
	Reason(rewrite.ErrSelect):       {tree.KindQuery, tree.KindMixed},
	Reason(rewrite.ErrSelectValues): {tree.KindQuery, tree.KindMixed},
	Reason(rewrite.ErrExec):         {tree.KindExec, tree.KindMixed},
	Reason(rewrite.ErrSeveral):      {tree.KindSeveral, tree.KindMixed},
	Reason(rewrite.ErrPerStatement): {tree.KindSeveral, tree.KindMixed},
	Reason(rewrite.ErrCTE):          {tree.KindWrapped + tree.Kind(tree.Nested)},
	Reason(rewrite.ErrExplain):      {tree.KindWrapped + tree.Kind(tree.Explain)},
	Reason(rewrite.ErrPrepare):      {tree.KindWrapped + tree.Kind(tree.Prepare), tree.Kind(tree.PrepareText)},
	Reason(rewrite.ErrBlock):        {tree.KindWrapped + tree.Kind(tree.Block)},
	Reason(rewrite.ErrLoop):         {tree.KindWrapped + tree.Kind(tree.Block)},
	Reason(rewrite.ErrMerge):        {tree.KindWrapped + tree.Kind(tree.Merge)},
	Reason(rewrite.ErrMultiTable):   {tree.KindWrapped + tree.Kind(tree.Multi)},
	Reason(rewrite.ErrBulk):         {tree.Kind(tree.Bulk)},
	Reason(rewrite.ErrOutputInto):   {tree.Kind(tree.OutputInto)},
}

// changes matches queries that change something, select lists with values beside a star,
// whose types depend on their columns, and upsert clauses that read columns.
var changes = regexp.MustCompile(`(?is):=|\(\s*(INSERT|UPDATE|DELETE|MERGE)\b|NEXT\s+VALUE|NEXTVAL|\*\s*,|,\s*(\w+\.)?\*|ON\s+DUPLICATE\s.*\.|\b(HIGH_PRIORITY|SQL_(NO_)?CACHE|SQL_CALC_FOUND_ROWS)\b`)

// goesOn matches VALUES that are a part of a longer query.
var goesOn = regexp.MustCompile(`(?is)\bVALUES\b.*\)\s*(UNION|EXCEPT|INTERSECT|MINUS|ORDER|LIMIT|OFFSET|FETCH|FOR)\b`)

// excused reports whether keyfill has refused an INSERT … SELECT because no numbered keys
// can be written into it. Such statements do not count when the share of filled statements
// is computed.
func excused(v *Verdict) bool {
	switch rewrite.Reason(v.Reason) {
	case rewrite.ErrRowID, rewrite.ErrOutputInto, rewrite.ErrSelectForm, rewrite.ErrSelectSeveral, rewrite.ErrOrder:
		return v.Kind == tree.KindQuery && v.Action == "refuse" && !v.Missed
	}
	return false
}

// sets matches functions of PostgreSQL that return several rows.
var sets = regexp.MustCompile(`(?is)\b(generate_(series|subscripts)|unnest|regexp_(matches|split_to_table)|string_to_table|jsonb?_(array_elements(_text)?|each(_text)?|object_keys))\s*\(`)

// isSet reports whether the row of an INSERT calls a function that returns several rows.
// The rows of such an INSERT come from a query, whatever its form is.
func isSet(v *Verdict, query string) bool {
	return v.Kind == tree.KindValues && (v.Reason == Reason(rewrite.ErrSelect) || v.Reason == Reason(rewrite.ErrSet)) && sets.MatchString(query)
}

// holds reports whether a reason is true, as far as the judge can find out.
func holds(r Reason, k tree.Kind, query string) bool {
	for _, kind := range kindsOf[r] {
		if k == kind {
			return true
		}
	}
	wrapped := strings.HasPrefix(string(k), string(tree.KindWrapped)) || k == tree.KindMixed || k == tree.KindSeveral
	upper := strings.ToUpper(query)
	switch rewrite.Reason(r) {
	case rewrite.ErrExecutableComment:
		return strings.Contains(query, "/*!") || strings.Contains(upper, "/*M!")
	case rewrite.ErrStatementSetting:
		return strings.Contains(upper, "STATEMENT")
	case rewrite.ErrUserValue:
		return strings.Contains(upper, "USER") && strings.Contains(upper, "OVERRIDING")
	case rewrite.ErrSettings:
		return strings.ContainsAny(query, `"\:[`)
	case rewrite.ErrDoubleQuotes:
		return strings.Contains(query, `"`)
	case rewrite.ErrOutputInto:
		return strings.Contains(upper, "OUTPUT") && strings.Contains(upper, "INTO")
	case rewrite.ErrFirstUse:
		return strings.Contains(query, "$")
	case rewrite.ErrStyles:
		return strings.Count(query, "?")+strings.Count(query, "@")+strings.Count(query, ":")+strings.Count(query, "$") > 1
	case rewrite.ErrSelect:
		return wrapped || k == tree.KindValues && sets.MatchString(query)
	case rewrite.ErrSeveral, rewrite.ErrCTE, rewrite.ErrBlock, rewrite.ErrLoop, rewrite.ErrMerge, rewrite.ErrNoColumnList:
		return wrapped
	case rewrite.ErrRowID:
		return strings.Contains(upper, "ROWID") || strings.Contains(upper, "OID")
	case rewrite.ErrSelectSeveral:
		return wrapped || strings.Contains(query, ";")
	case rewrite.ErrSelectForm:
		return wrapped || k == tree.KindQuery && changes.MatchString(query) || goesOn.MatchString(query)
	case rewrite.ErrOrder:
		return k == tree.KindQuery && strings.Contains(upper, "ORDER")
	case rewrite.ErrSet:
		return strings.Contains(query, "(")
	case rewrite.ErrReadsCount:
		return strings.Contains(upper, "ROW")
	}
	return false
}
