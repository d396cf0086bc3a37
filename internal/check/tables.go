package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/nearest"
	"github.com/keyfill/keyfill/policy"
)

// lookAtTables finds the table of each entry of the policy.
func (c *checker) lookAtTables() error {
	entries := c.e.Policy.Entries()
	var schemas []string
	for _, entry := range entries {
		if entry.Schema != "" && !slices.Contains(schemas, entry.Schema) {
			schemas = append(schemas, entry.Schema)
		}
	}
	var err error
	if c.o.Overview != nil {
		c.over = c.o.Overview
	} else if c.over, err = catalog.List(c.ctx, c.d, c.q, schemas); err != nil {
		c.over = catalog.Unlisted(c.d, err)
		return err
	}
	used := map[string]bool{}
	for _, found := range c.over.Tables {
		if entry, ok := c.aim(found); ok {
			used[entry.Name] = true
		}
	}
	for _, entry := range entries {
		if !used[entry.Name] {
			c.lookFor(entry)
		}
	}
	return nil
}

// isOwn reports whether a table is one of keyfill's.
func isOwn(name string) bool {
	switch strings.ToLower(name) {
	case "keyfill_sequences", "keyfill_workers", "keyfill_series":
		return true
	}
	return false
}

// aim adds a table to the targets, if the policy has an entry for it with keys to fill.
func (c *checker) aim(found *catalog.Listed) (policy.Entry, bool) {
	schema, name := c.d.Fold(found.Schema, true), c.d.FoldTable(found.Name, true)
	if isOwn(name) {
		return policy.Entry{}, false
	}
	entry, ok := c.e.Policy.EntryOf(schema, name)
	if !ok {
		return entry, false
	}
	c.lookAtIdentity(found, entry)
	for _, bare := range []bool{true, false} {
		if bare && !found.Visible {
			continue
		}
		if t := c.e.At(policy.Found{Schema: schema, Bare: bare, Home: found.Visible}, name); t != nil {
			c.targets = append(c.targets, &target{t, found, entry})
			break
		}
	}
	return entry, true // a table whose keys all come from the engine is no target
}

// lookFor looks for the table of an entry that no listed table has matched.
func (c *checker) lookFor(entry policy.Entry) {
	if entry.IsGlob {
		if c.over.IsComplete() {
			c.add(Finding{Severity: Warning, Rule: ruleNoTable, Table: entry.Name, Line: entry.Line,
				Message: "the pattern matches no table, so that the entry fills nothing",
				Remedy:  "in the policy: correct the pattern, or remove the entry"})
		}
		return
	}
	found, err := c.over.Find(entry.Rule.Schema, entry.Rule.Name)
	switch {
	case err == nil:
		if _, ok := c.aim(found); ok {
			return
		}
	case !catalog.IsNoTable(err):
		c.add(Finding{Severity: Error, Rule: ruleNoTable, Table: entry.Name, Line: entry.Line, Message: shown(err).Error(),
			Remedy: "rename all tables of that name but one, or remove the entry from the policy"})
		return
	}
	c.missTable(entry)
}

// missTable adds the finding for an entry whose table does not exist.
func (c *checker) missTable(entry policy.Entry) {
	name := entry.Rule.Name
	if entry.Rule.Schema != "" {
		name = entry.Rule.Schema + "." + name
	}
	near := nearest.Names(name, c.unclaimed())
	f := Finding{Severity: Error, Rule: ruleNoTable, Table: entry.Name, Line: entry.Line,
		Message: "there is no such table or view that this user sees, so that no INSERT is filled by the entry",
		Remedy:  "create the table, write its schema into the policy, let this user see it, or remove the entry"}
	if c.d.Grammar.TableCase {
		for _, other := range near {
			if strings.EqualFold(other, name) {
				f.Rule = ruleCase
				f.Message = fmt.Sprintf("the server compares the names of tables by case (lower_case_table_names=0), and the table is called %q", other)
				f.Remedy = c.renamed(entry, other)
				c.add(f)
				return
			}
		}
	}
	if len(near) > 0 {
		f.Message += `; did you mean "` + strings.Join(near, `" or "`) + `"?`
		f.Remedy = c.renamed(entry, near[0])
		c.meant = append(c.meant, near[0])
	}
	c.add(f)
}

// renamed returns the remedy for an entry that should name another table, which is one of
// [checker.unclaimed].
func (c *checker) renamed(entry policy.Entry, table string) string {
	written := table
	for _, t := range c.over.Tables {
		switch {
		case t.Visible && t.Name == table:
			written = catalog.PolicyTable(c.d, "", t.Name)
		case !t.Visible && t.Schema+"."+t.Name == table:
			written = catalog.PolicyTable(c.d, t.Schema, t.Name)
		}
	}
	return "in the policy: " + catalog.YAMLString(written) + ": instead of " + catalog.YAMLString(entry.Name) + ":"
}

// unclaimed returns the names of the tables that no entry names, then the names of all
// other tables: another entry hardly meant a table that an entry names already.
func (c *checker) unclaimed() []string {
	var names []string
	for _, t := range c.over.Tables {
		if isOwn(t.Name) || slices.ContainsFunc(c.targets, func(x *target) bool { return x.found == t && !x.entry.IsGlob }) {
			continue
		}
		names = append(names, shownName(t))
	}
	return names
}

// shownName returns the name of a table as messages show it.
func shownName(t *catalog.Listed) string {
	if t.Visible {
		return t.Name
	}
	return t.Schema + "." + t.Name
}

// find returns a table by its folded names, nil if there is none.
func (c *checker) find(schema, table string) *catalog.Table {
	found, err := c.over.Find(schema, table)
	if err != nil {
		return nil
	}
	return found.Table
}
