package explainreport

import (
	"fmt"
	"strings"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/internal/nearest"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/policy"
)

// insertTarget returns the table of the first INSERT of a text, as the text writes it. It
// is empty if the text has no INSERT, or is a statement such as CREATE TRIGGER or GRANT.
func (p *Policy) insertTarget(text string) string {
	if words.Concerns(p.dialect, text)&words.ConcernsInsert == 0 {
		return ""
	}
	first, verb, into, name, ready := true, false, false, "", false
	for at := 0; at < len(text); {
		kind, end := scan.NextToken(p.dialect, text, at)
		piece := text[at:end]
		at = end
		switch {
		case kind == scan.Space, kind == scan.Comment:
		case kind == scan.Broken, kind == scan.Executable:
			return ""
		case first && isDefinition(piece):
			return "" // the INSERT belongs to a trigger or a routine that the text defines
		case !verb:
			first = false
			verb = kind == scan.Word && (strings.EqualFold(piece, "insert") || p.dialect.Grammar.Replace && strings.EqualFold(piece, "replace"))
		case !into && kind == scan.Word && strings.EqualFold(piece, "into"):
			into = true
		case !into && kind == scan.Word && p.isModifier(piece):
		case !into && !p.dialect.Grammar.IntoOptional:
			return ""
		case piece == ".":
			into, ready, name = true, false, name+"."
		case !ready && (kind == scan.Word || kind == scan.Quoted):
			into, ready, name = true, true, name+piece
		default:
			return name
		}
	}
	return name
}

// siblings maps MySQL to MariaDB and the reverse: the same driver serves both engines.
var siblings = map[string]*dialect.Dialect{"mysql": dialect.MariaDB(), "mariadb": dialect.MySQL()}

// siblingOf returns an explainer for MariaDB if the policy is for MySQL, and for MySQL if it
// is for MariaDB. It is nil for other engines, and if the policy is not valid for the sibling.
func siblingOf(cfg *policy.Config) explain.Explainer {
	d := siblings[cfg.Dialect]
	if d == nil {
		return nil
	}
	other := *cfg
	other.Dialect = d.Name
	c, err := keyfill.WrapConnector(explain.NoDatabase{}, keyfill.Options{Policy: &other})
	if err != nil {
		return nil
	}
	return explain.By(c)
}

// onSibling returns a hint if MariaDB does not refuse a text that MySQL refuses, or the
// reverse. It returns an empty text if both engines refuse the text.
func (p *Policy) onSibling(text string) string {
	if p.sibling == nil {
		return ""
	}
	ex, err := p.sibling.Explain(text)
	if err != nil || ex.Action == plans.Refuse.String() || ex.Action == plans.Pass.String() {
		return ""
	}
	d := siblings[p.dialect.Name]
	return fmt.Sprintf("on %s the outcome is %s: if that is the server, say the dialect %s", d.Title, ex.Action, d.Name)
}

// isDefinition reports whether a word begins a statement that defines something or grants a
// right, such as CREATE TABLE.
func isDefinition(word string) bool {
	switch strings.ToLower(word) {
	case "create", "alter", "drop", "grant", "revoke", "comment":
		return true
	}
	return false
}

// isModifier reports whether a word may stand between INSERT and INTO.
func (p *Policy) isModifier(word string) bool {
	for _, one := range p.dialect.Grammar.Modifiers {
		if strings.EqualFold(one, word) {
			return true
		}
	}
	return false
}

// near returns a hint for a table that the policy does not have: the entry of the policy
// whose name differs in case, in the schema or in one letter. It is empty if there is no
// such entry, or if the policy has the table.
func (p *Policy) near(written string) string {
	schema, table, err := p.rules.ParseName(written)
	if err != nil || p.rules.Match(schema, table) != nil {
		return ""
	}
	letter := ""
	for _, entry := range p.tables {
		ownSchema, own, err := p.rules.ParseName(entry)
		switch {
		case err != nil: // a glob
		case own == table:
			return fmt.Sprintf("the policy has %s, a table of another schema", entry)
		case strings.EqualFold(own, table):
			return fmt.Sprintf("the policy has %s, whose name differs in its case", entry)
		case letter == "" && len(table) > 3 && (ownSchema == "" || ownSchema == schema) && nearest.OneLetter(own, table):
			letter = fmt.Sprintf("the policy has %s, whose name differs in one letter", entry)
		}
	}
	return letter
}
