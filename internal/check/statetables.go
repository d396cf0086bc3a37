package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/policy"
)

// ownColumns are the columns of keyfill's tables.
var ownColumns = map[string][]string{
	"keyfill_sequences": {"name", "next_value", "table_name", "column_name", "parameters", "incarnation", "updated_at"},
	"keyfill_workers":   {"name", "worker", "reserved_until", "previous_until", "owner", "epoch", "updated_at"},
	"keyfill_series":    {"name", "series_first", "series_last", "next_value", "owner", "epoch", "leased_until", "updated_at"},
}

// lookAtStateTables looks at keyfill's own tables in the application's database: are
// they there, of this version, and may they be used?
func (c *checker) lookAtStateTables() error {
	uses := c.usesOf("")
	if !slices.ContainsFunc(uses, func(src policy.Source) bool { return hasRows(c.d, src) }) || !c.over.IsComplete() {
		return nil
	}
	ensured := !slices.ContainsFunc(uses, func(src policy.Source) bool { return hasRows(c.d, src) && !src.EnsureSchema })
	for _, name := range slices.Sorted(maps.Keys(ownColumns)) {
		if !needs(c.d, name, uses) {
			continue
		}
		found, err := c.over.Find("", c.d.FoldTable(name, false))
		switch {
		case err == nil:
			c.lookAtOwnColumns(found, name)
		case !catalog.IsNoTable(err):
			return err
		case !ensured:
			c.add(Finding{Severity: Error, Rule: ruleStateTables, Table: name, Line: c.lineOfUse(),
				Message: "the table is not there, and a source without ensure_schema: true needs it",
				Remedy:  createTables(c.d)})
		}
	}
	return c.lookAtRights(ensured)
}

// needs reports whether sources use one of keyfill's tables.
func needs(d *dialect.Dialect, table string, uses []policy.Source) bool {
	return slices.ContainsFunc(uses, func(src policy.Source) bool {
		isFlake := src.Kind == policy.KindSnowflake || src.Kind == policy.KindComposite
		switch {
		case !hasRows(d, src), isFlake && d.OneWriter:
			return false
		case table == "keyfill_workers":
			return isFlake
		case table == "keyfill_series":
			return src.Kind == policy.KindRecycled || src.WorkerLease > 0
		}
		return true
	})
}

// lookAtOwnColumns adds a finding if a table lacks columns that this version of keyfill
// gives it.
func (c *checker) lookAtOwnColumns(found *catalog.Listed, name string) {
	var missing []string
	for _, column := range ownColumns[name] {
		if !slices.ContainsFunc(found.Columns, func(col catalog.Column) bool { return strings.EqualFold(col.Name, column) }) {
			missing = append(missing, column)
		}
	}
	if missing != nil {
		c.add(Finding{Severity: Error, Rule: ruleStateTables, Table: name, Column: missing[0], Line: c.lineOfUse(),
			Message: fmt.Sprintf("the table is of another version of keyfill: it has no column %s", strings.Join(missing, ", ")),
			Remedy:  "give the table the columns that keyfill ddl prints"})
	}
	if len(found.Unique) == 0 {
		c.add(Finding{Severity: Error, Rule: ruleStateTables, Table: name, Line: c.lineOfUse(),
			Message: "the table has no primary key, so that two processes may make a row of one state each",
			Remedy:  "give the table the primary key that keyfill ddl prints"})
	}
}

// lineOfUse returns the line of the first key with a row in keyfill's tables.
func (c *checker) lineOfUse() int {
	for _, t := range c.targets {
		for i := range t.table.KeyColumns {
			if src := t.table.KeyColumns[i].Rule.Source; policy.Stateful(src) && src.Store == "" && hasRows(c.d, src) {
				return t.lines(i).Source
			}
		}
	}
	return 0
}

// badTables reports whether a finding says that a store's tables cannot be used.
func (c *checker) badTables(name string) bool {
	return name == "" && slices.ContainsFunc(c.findings, func(f Finding) bool {
		return f.Severity == Error && (f.Rule == ruleStateTables || f.Rule == ruleRights)
	})
}

// rightsPostgreSQL asks for the rights on a table.
const rightsPostgreSQL = `SELECT pg_catalog.has_table_privilege(c.oid, 'SELECT'), pg_catalog.has_table_privilege(c.oid, 'INSERT'), pg_catalog.has_table_privilege(c.oid, 'UPDATE')
FROM pg_catalog.pg_class c WHERE c.relname = CAST(CAST($1 AS text) AS name) AND pg_catalog.pg_table_is_visible(c.oid)`

// rightsMySQL returns the rights on a table that the user has itself, and whether it has a
// role, whose rights are not known here.
const rightsMySQL = `SELECT privilege_type FROM (
SELECT grantee, privilege_type FROM information_schema.user_privileges
UNION ALL
SELECT grantee, privilege_type FROM information_schema.schema_privileges WHERE DATABASE() LIKE table_schema
UNION ALL
SELECT grantee, privilege_type FROM information_schema.table_privileges WHERE table_schema = DATABASE() AND table_name = ?
) g
WHERE grantee = CONCAT('''', LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - CHAR_LENGTH(SUBSTRING_INDEX(CURRENT_USER(), '@', -1)) - 1),
'''@''', SUBSTRING_INDEX(CURRENT_USER(), '@', -1), '''')`

// lookAtRights adds a finding if the user lacks rights on keyfill's tables.
func (c *checker) lookAtRights(ensured bool) error {
	for _, name := range slices.Sorted(maps.Keys(ownColumns)) {
		if !needs(c.d, name, c.usesOf("")) {
			continue
		}
		_, err := c.over.Find("", name)
		var missing []string
		switch {
		case err != nil && ensured:
			missing, err = c.missingRights("")
		case err == nil:
			missing, err = c.missingRights(name)
		default:
			continue
		}
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			c.add(Finding{Severity: Error, Rule: ruleRights, Table: name, Line: c.lineOfUse(),
				Message: "the user of the DSN lacks the right to " + strings.Join(missing, ", "),
				Remedy:  c.grant(missing, name)})
		}
	}
	return nil
}

// missingRights returns the rights that the user lacks on a table, or, for an empty name,
// the rights that it lacks to create one.
func (c *checker) missingRights(table string) ([]string, error) {
	if missing := c.engine.missingRights; missing != nil {
		return missing(c, table)
	}
	return nil, nil
}

// stateRights are the rights that keyfill needs on its tables.
var stateRights = []string{"SELECT", "INSERT", "UPDATE"}

func (c *checker) missingPostgreSQL(table string) (missing []string, err error) {
	if table == "" {
		row, err := c.row("SELECT pg_catalog.has_schema_privilege(pg_catalog.current_schema(), 'CREATE')")
		if err == nil && row != nil && row[0] != nil && !isTrue(row[0]) {
			missing = []string{"CREATE"}
		}
		return missing, err
	}
	row, err := c.row(rightsPostgreSQL, table)
	for i := range row {
		if !isTrue(row[i]) {
			missing = append(missing, stateRights[i])
		}
	}
	return missing, err
}

func (c *checker) missingMySQL(table string) (missing []string, err error) {
	wanted := stateRights
	if table == "" {
		wanted = []string{"CREATE"}
	}
	rows, err := c.q.Rows(c.ctx, rightsMySQL, table)
	if err != nil {
		return nil, err
	}
	has := map[string]bool{}
	for _, row := range rows {
		has[textOf(row[0])] = true
	}
	if role, _ := c.text("SELECT CURRENT_ROLE()"); role != "" && role != "NONE" {
		return nil, nil
	}
	for _, right := range wanted {
		if !has[right] {
			missing = append(missing, right)
		}
	}
	return missing, nil
}

// grant returns the statement that grants the rights, or a text if CREATE is among them.
func (c *checker) grant(rights []string, table string) string {
	if slices.Contains(rights, "CREATE") {
		return "create the tables as a user who may, as keyfill ddl prints them, and leave ensure_schema out, or grant CREATE"
	}
	return c.grantOn(rights, table)
}

// grantOn returns the statement that grants the user of the DSN rights on a table, whose
// name is written as in SQL.
func (c *checker) grantOn(rights []string, table string) string {
	list := strings.Join(rights, ", ")
	if grantee := c.engine.grantee; grantee != nil {
		if user := grantee(c); user != "" {
			return fmt.Sprintf("GRANT %s ON %s TO %s;", list, table, user)
		}
	}
	return fmt.Sprintf("grant %s on %s to the user of the DSN", list, table)
}

func (c *checker) granteePostgreSQL() string {
	user, err := c.text("SELECT CAST(current_user AS text)")
	if err != nil || user == "" {
		return ""
	}
	return c.d.QuoteIdent(user)
}

func (c *checker) granteeMySQL() string {
	user, err := c.text("SELECT CURRENT_USER()")
	at := strings.LastIndexByte(user, '@')
	if err != nil || at <= 0 {
		return ""
	}
	return textLiteral(c.d, user[:at]) + "@" + textLiteral(c.d, user[at+1:])
}
