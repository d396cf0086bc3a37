package statements_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// notExecutable are the cases whose originals an engine does not execute, so
// that there is nothing to compare with, and why not. It is a failure when one
// of them is executed after all.
var notExecutable = map[string]string{
	"executable_comments/around_a_modifier":                       "MariaDB has no DELAYED for partitions",
	"key_listed/placeholder_cast_array_type.postgres":             "an array is no key",
	"key_listed/placeholder_shared.postgres":                      "one parameter has two types there",
	"key_listed/placeholder_shared_by_two_keys_and_more.postgres": "one parameter has two types there",
	"placeholders_named/dollar_number_with_letters.sqlite":        "database/sql takes names that begin with a letter",
	"placeholders_named/tcl_names.sqlite":                         "database/sql takes names that begin with a letter",
	"quoting/backticks_qualified.mysql+mariadb":                   "it is about another database",
	"select/star.postgres":                                        "the tables have one more column here",
	"select/table.postgres":                                       "the tables have one more column here",
	"select/union_behind_table.postgres":                          "the tables have one more column here",
	"session/delayed":                                             "MariaDB has no DELAYED for partitions",
	"session/function_of_schema":                                  "it is about another database",
	"session/idiom_of_schema":                                     "it is about another database",
	"session/no_columns":                                          "the table has more columns than its policy",
	"several/unknown_statement_behind.mysql+mariadb":              "it is an error",
	"several/unknown_statement_behind.postgres":                   "it is an error",
	"several/unknown_statement_behind.sqlite":                     "it is an error",
	"two_keys/one_placeholder_for_both.postgres":                  "one parameter has two types there",
	"values/digits_in_names.mysql+mariadb":                        "it is about another database",
	"zero_values/empty_string.postgres":                           "an empty string is no uuid",
	"zero_values/empty_string_escape.postgres":                    "an empty string is no uuid",
}

// notFilled are the cases whose filled text is an error of the driver's, while
// the original is none.
var notFilled = map[string]string{
	"select/names_like_ours.mysql":                      "the update part reads the query's columns, as docs/deviations.md says",
	"select/names_like_ours.mariadb":                    "the update part reads the query's columns, as docs/deviations.md says",
	"key_listed/placeholder_shared_leading_zero.sqlite": "modernc.org/sqlite takes ?01 for a name where ?1 is not the first",
}

// setup are statements that a case needs before it, and statements that clean up after
// it.
type setup struct{ before, behind []string }

var goldenSetup = map[string]setup{
	"session/function":                                          mariadbFunction("parent()"),
	"session/function_set":                                      mariadbFunction("parent()"),
	"session/function_quoted":                                   mariadbFunction("`now`()"),
	"session/function_space":                                    mariadbFunction("`now`()"),
	"session/idiom_function":                                    mariadbFunction("f(x bigint)"),
	"session/returning_function.mariadb":                        mariadbFunction("f(x bigint)"),
	"several/blocks_in_a_procedure.mysql+mariadb":               {nil, []string{"DROP PROCEDURE p"}},
	"several/column_named_begin_in_a_procedure.mysql+mariadb":   {nil, []string{"DROP PROCEDURE p"}},
	"several/column_named_begin_in_a_rule.postgres":             {[]string{"CREATE TABLE x (begin int)"}, []string{"DROP TABLE x"}},
	"several/column_named_begin_in_a_trigger.postgres":          {[]string{"CREATE TABLE x (begin int)", "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'"}, []string{"DROP TABLE x", "DROP FUNCTION f()"}},
	"several/column_named_begin_in_a_trigger.sqlite":            {[]string{"CREATE TABLE x (begin)"}, []string{"DROP TABLE x"}},
	"several/column_named_end_in_a_procedure.mysql+mariadb":     {nil, []string{"DROP PROCEDURE p"}},
	"several/columns_named_begin_and_end_in_a_trigger.sqlite":   {[]string{"CREATE TABLE begin (begin)"}, []string{"DROP TABLE begin"}},
	"several/type_named_begin_of_a_function.postgres":           {[]string{"CREATE TABLE begin (begin int)", "CREATE DOMAIN atomic AS int"}, []string{"DROP TABLE begin", "DROP DOMAIN atomic"}},
	"several/create_and_insert.mysql+mariadb":                   {nil, []string{"DROP TABLE x"}},
	"several/create_trigger_and_insert.sqlite":                  {[]string{"CREATE TABLE x (a)"}, []string{"DROP TABLE x"}},
	"several/event_trigger_and_insert.postgres":                 {[]string{"CREATE FUNCTION f() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'"}, []string{"DROP FUNCTION f()"}},
	"several/procedure_and_insert.mysql+mariadb":                {nil, []string{"DROP PROCEDURE p"}},
	"several/rule_and_insert.postgres":                          {[]string{"CREATE TABLE x (a int)", "CREATE TABLE y (a int)", "CREATE TABLE z (a int)"}, []string{"DROP TABLE x", "DROP TABLE y", "DROP TABLE z"}},
	"several/trigger_of_one_statement_and_insert.mysql+mariadb": {[]string{"CREATE TABLE x (a int)"}, []string{"DROP TABLE x"}},
	"values/unknown_function.postgres":                          postgresFunction,
	"values/unknown_function_of_rows.postgres":                  postgresFunction,
	"values/unknown_function_in_brackets.postgres":              postgresFunction,
}

// postgresFunction makes a function of the application that is no set.
var postgresFunction = setup{
	[]string{"CREATE FUNCTION price_of(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT $1 + 70'"},
	[]string{"DROP FUNCTION price_of(bigint)"},
}

// mariadbFunction makes a function that gives a number.
func mariadbFunction(head string) setup {
	name, _, _ := strings.Cut(head, "(")
	return setup{[]string{"CREATE FUNCTION " + head + " RETURNS bigint DETERMINISTIC RETURN 77"}, []string{"DROP FUNCTION " + name}}
}

// goldenNames are the names of the arguments, in the cases that have them.
var goldenNames = map[string][]string{
	"key_listed/placeholder_named.sqlite":              {"id", "customer"},
	"key_listed/placeholder_shared_sigils.sqlite":      {"id"},
	"placeholders_named/at_names.sqlite":               {"customer", "total"},
	"placeholders_named/colon_names.sqlite":            {"customer", "total"},
	"placeholders_named/dollar_names.sqlite":           {"customer", "total"},
	"placeholders_named/mixed_sigils.sqlite":           {"customer", "total"},
	"placeholders_named/name_in_string.sqlite":         {"y"},
	"placeholders_named/name_repeated.sqlite":          {"a", "b"},
	"placeholders_named/tcl_index_with_bracket.sqlite": {"a((x)"},
	"several/names_in_both_key_listed.sqlite":          {"id", "name"},
}

// names returns the names of the arguments, nil where they go by their places.
func (c goldenCase) names() []string { return goldenNames[c.name] }

// notHere returns why a case is no business of TestGoldenStores, "" when it is.
// To judge such an archive there, take it out of elsewhere: an INSERT whose rows
// come from a query may need rows to select, by [setup] or another schema.
func (c goldenCase) notHere() string {
	for topic, why := range elsewhere {
		if strings.HasPrefix(c.topic(), topic) {
			return why
		}
	}
	return ""
}

// selectRows are what the queries of the archive select.
var selectRows = []string{
	"INSERT INTO customers (id, name, email, note) VALUES ('aaaaaaaa-0000-7000-8000-000000000001', 'p', 'p@x', 'n'), ('aaaaaaaa-0000-7000-8000-000000000002', 'q', 'q@x', NULL), ('aaaaaaaa-0000-7000-8000-000000000003', 'r', 'r@x', 'n')",
	"INSERT INTO memos VALUES (4, 'm', 'u'), (5, 'm', 'v'), (6, NULL, 'w')",
	"INSERT INTO old_shipments VALUES ('s', 'm'), ('t', NULL)",
	"INSERT INTO old_contacts VALUES ('s', 's@x', 70), ('t', 't@x', 71)",
	"INSERT INTO words VALUES ('a', 'b', 1), ('c', 'c', 2)",
	"INSERT INTO ours VALUES ('a', 'b'), ('c', 'd')",
	"INSERT INTO names VALUES ('x'), ('y')",
}

// selectTables are the tables that they are in.
var selectTables = []string{"customers", "memos", "old_shipments", "old_contacts", "names", "ours", "words"}

// elsewhere are the beginnings of the names of archives that are executed by
// tests of their own.
var elsewhere = map[string]string{
	"copy": "the rows of COPY are executions of their own",
}

// The lists name cases that there are.
func TestGoldenLists(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, c := range goldenCases(t) {
		known[c.name] = true
	}
	for _, names := range [][]string{
		slices.Collect(maps.Keys(notExecutable)), slices.Collect(maps.Keys(notFilled)),
		slices.Collect(maps.Keys(goldenSetup)), slices.Collect(maps.Keys(goldenNames)),
	} {
		for _, name := range names {
			if !known[name] {
				t.Errorf("there is no golden case %s that is filled", name)
			}
		}
	}
}
