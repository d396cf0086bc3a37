package plans

import (
	"fmt"
	"slices"

	"github.com/keyfill/keyfill/rewrite"
)

// Refused returns the refusal of the plan's first INSERT for a reason that its text alone
// does not show.
func (pl *Plan) Refused(reason rewrite.Reason) *Refusal { return pl.RefusedAt(0, reason) }

// RefusedAt returns the refusal of the INSERT with the given index for a reason that its
// text alone does not show.
func (pl *Plan) RefusedAt(insert int, reason rewrite.Reason) *Refusal {
	in := &pl.Inserts[insert]
	return &Refusal{Target: in.Target, Table: in.Target.Table, Column: in.Target.Keys[0].Column, Offset: in.Offset, Reason: reason,
		Others: pl.Others(in.Target)}
}

// Withheld returns a plan that refuses the text for a reason that the text alone does not
// show.
func (pl *Plan) Withheld(reason rewrite.Reason) *Plan {
	if pl.Action == Refuse {
		return pl
	}
	return &Plan{Action: Refuse, Refusal: pl.Refused(reason), Inserts: pl.Inserts, Statements: pl.Statements, Dialect: pl.Dialect, Changes: Changes{Query: pl.Changes.Query}}
}

// Others returns the targets (configured tables) of the plan's INSERTs, except but.
func (pl *Plan) Others(but *Target) (others []*Target) {
	seen := map[*Target]bool{but: true}
	for i := range pl.Inserts {
		if t := pl.Inserts[i].Target; !seen[t] {
			seen[t] = true
			others = append(others, t)
		}
	}
	return others
}

// Refusal says which INSERT cannot be filled, and why.
type Refusal struct {
	Target *Target
	Table  string // the table's name in the policy
	Column string // the key column; empty if the refusal is not about a column
	Offset int    // bytes from the start of the text
	Reason rewrite.Reason
	Others []*Target // the configured tables of the other INSERTs of the text, which are not sent either
	Detail string    // numbers that help to find the cause; empty if there are none; never a value

	ofValues bool // whether the text after VALUES, such as UNION, is the reason
}

// Error returns the table, the offset and the cause.
func (r *Refusal) Error() string {
	return fmt.Sprintf("table %q: byte %d: %v", r.Table, r.Offset, r.Cause())
}

// scopeTexts replace the texts of reasons if the key is numbered within other columns: the
// usual texts recommend another transaction setting, which such a key cannot have.
var scopeTexts = map[rewrite.Reason]string{
	rewrite.ErrGap: "the INSERT may leave a row out (IGNORE, DO NOTHING, an upsert clause, MERGE, WHEN, or a conflict clause of the table), whose number a numbering within a parent would lack: look for the row first",
}

// fromRowText replaces the text of [rewrite.ErrScope] for a key that is made from columns.
const fromRowText = "the key is made from other columns of the row, and one of their values is not known before the INSERT runs (NULL, a default, an expression, a query): name the column in the column list, and give its value as an argument of its own or a plain literal"

// valuesTexts replace the texts of reasons if VALUES is a part of a query.
var valuesTexts = map[rewrite.Reason]string{
	rewrite.ErrSelectForm: "VALUES is a part of a larger query (UNION, EXCEPT, INTERSECT, MINUS, ORDER BY, LIMIT, OFFSET, FETCH or FOR follows), whose rows are not numbered: write that query with SELECT alone, or name the key column and give its values",
}

// worded is a reason whose usual text is replaced by another text.
type worded struct {
	rewrite.Reason
	text string
}

// Error returns the text.
func (w worded) Error() string { return w.text }

// Unwrap returns the reason.
func (w worded) Unwrap() error { return w.Reason }

// Cause returns the reason, followed by the detail if there is one.
func (r *Refusal) Cause() error {
	if text := scopeTexts[r.Reason]; text != "" && r.has(func(k *Key) bool { return k.Scope != nil && !k.FromRow }) {
		return worded{r.Reason, text}
	}
	if r.Reason == rewrite.ErrScope && r.has(func(k *Key) bool { return k.FromRow && (k.Column == r.Column || len(r.Target.Keys) == 1) }) {
		return fmt.Errorf("%w%s", worded{r.Reason, fromRowText}, r.detail())
	}
	if text := valuesTexts[r.Reason]; text != "" && r.ofValues {
		return worded{r.Reason, text}
	}
	if r.Detail == "" {
		return r.Reason
	}
	return fmt.Errorf("%w%s", r.Reason, r.detail())
}

// detail returns the detail after a colon, or nothing.
func (r *Refusal) detail() string {
	if r.Detail == "" {
		return ""
	}
	return ": " + r.Detail
}

// has reports whether the table has such a key.
func (r *Refusal) has(such func(*Key) bool) bool {
	return r.Target != nil && slices.ContainsFunc(r.Target.Keys, func(k Key) bool { return such(&k) })
}

// Unwrap returns the reason.
func (r *Refusal) Unwrap() error { return r.Reason }
