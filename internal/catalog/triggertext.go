package catalog

import (
	"regexp"
	"strings"
)

// TriggerOn returns a trigger of the table that sets a column at an INSERT, as far as its
// text shows; nil if there is none.
func (t *Listed) TriggerOn(column string) *Trigger {
	if len(t.Triggers) == 0 {
		return nil
	}
	name := patternOf(column)
	sets := regexp.MustCompile(`(?i)\bnew\s*\.\s*["` + "`" + `\[]?` + name + `["` + "`" + `\]]?\s*:?=`)
	updates := regexp.MustCompile(`(?is)\bupdate\b.*\bset\b[^;]*["` + "`" + `\[\s,]` + name + `["` + "`" + `\]]?\s*=[^;]*\bwhere\b`)
	into := regexp.MustCompile(`(?is)\binto\s+new\s*\.\s*["` + "`" + `\[]?` + name + `\b`)
	for i := range t.Triggers {
		trigger := &t.Triggers[i]
		switch {
		case trigger.Before && (assigns(sets, trigger.Body) || into.MatchString(trigger.Body)),
			!trigger.Before && strings.Contains(strings.ToLower(trigger.Body), strings.ToLower(t.Name)) && updates.MatchString(trigger.Body):
			return trigger
		}
	}
	return nil
}

// SetsOnlyNull reports whether the trigger tests the column for NULL, and so probably sets
// it only then.
func (t *Trigger) SetsOnlyNull(column string) bool {
	name := patternOf(column)
	asks := regexp.MustCompile(`(?i)\b(new\s*\.\s*["` + "`" + `\[]?` + name + `["` + "`" + `\]]?\s+is\s+null|coalesce\s*\(\s*new\s*\.\s*["` + "`" + `]?` + name + `)`)
	return asks.MatchString(t.Body)
}

// patternOf returns a pattern that matches the name of a column. SQLite allows any bytes in
// a name; those that are not UTF-8 are replaced, since a pattern cannot contain them.
func patternOf(column string) string {
	return regexp.QuoteMeta(strings.ToValidUTF8(column, "\uFFFD"))
}

// assigns reports whether a text assigns to the value that the pattern names, and does
// not only compare it: IF NEW.id = 0 compares, SET NEW.id = 0 assigns.
func assigns(sets *regexp.Regexp, body string) bool {
	for _, at := range sets.FindAllStringIndex(body, -1) {
		if strings.HasSuffix(body[at[0]:at[1]], ":=") {
			return true
		}
		before := strings.Fields(strings.ToLower(body[:at[0]]))
		if len(before) == 0 {
			continue
		}
		switch last := before[len(before)-1]; {
		case last == "set", last == "then", last == "begin", last == "else", strings.HasSuffix(last, ","), strings.HasSuffix(last, ";"):
			return true
		}
	}
	return false
}
