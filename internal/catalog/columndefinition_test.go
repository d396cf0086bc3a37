package catalog_test

import (
	"context"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
)

// shown answers SHOW CREATE TABLE with a text.
type shown string

func (s shown) Rows(context.Context, string, ...any) ([][]any, error) {
	return [][]any{{"t", string(s)}}, nil
}

// TestColumnDefinition: texts as MariaDB 10.11 and MySQL 8 show them are read whole, and
// a change leaves all else as it was.
func TestColumnDefinition(t *testing.T) {
	const text = "CREATE TABLE `t` (\n" +
		"  `id` int(10) unsigned zerofill NOT NULL AUTO_INCREMENT COMMENT 'the key, (id), it''s \\'a\\' \\\\',\n" +
		"  `a``b` varchar(36) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL COMMENT 'x' CHECK (`a``b` <> ','),\n" +
		"  `n` bigint(20) NOT NULL DEFAULT nextval(`d`.`s`),\n" +
		"  `u` char(36) COLLATE utf8mb4_bin NOT NULL DEFAULT (uuid()) /*!80023 INVISIBLE */,\n" +
		"  plain mediumint DEFAULT -1,\n" +
		"  `at` timestamp NULL DEFAULT current_timestamp() ON UPDATE current_timestamp(),\n" +
		"  `z` varchar(20) /*M!100301 COMPRESSED*/ DEFAULT NULL,\n" +
		"  PRIMARY KEY (`id`),\n" +
		"  CONSTRAINT `c` CHECK (`n` > 0)\n" +
		") ENGINE=InnoDB AUTO_INCREMENT=7 DEFAULT CHARSET=utf8mb4 COMMENT=' `last` int,'"
	for _, c := range []struct {
		column                     string
		as, with, notNull, counted string
	}{
		{"id", "int(10) unsigned zerofill NOT NULL AUTO_INCREMENT COMMENT 'the key, (id), it''s \\'a\\' \\\\'",
			"BIGINT NOT NULL AUTO_INCREMENT COMMENT 'the key, (id), it''s \\'a\\' \\\\'",
			"int(10) unsigned zerofill NOT NULL AUTO_INCREMENT COMMENT 'the key, (id), it''s \\'a\\' \\\\'",
			"int(10) unsigned zerofill NOT NULL AUTO_INCREMENT COMMENT 'the key, (id), it''s \\'a\\' \\\\'"},
		{"a`b", "varchar(36) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL COMMENT 'x' CHECK (`a``b` <> ',')",
			"BIGINT DEFAULT NULL COMMENT 'x' CHECK (`a``b` <> ',')",
			"varchar(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'x' CHECK (`a``b` <> ',')",
			"varchar(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL AUTO_INCREMENT COMMENT 'x' CHECK (`a``b` <> ',')"},
		{"n", "bigint(20) NOT NULL DEFAULT nextval(`d`.`s`)", "BIGINT NOT NULL DEFAULT nextval(`d`.`s`)",
			"bigint(20) NOT NULL DEFAULT nextval(`d`.`s`)", "bigint(20) NOT NULL AUTO_INCREMENT"},
		{"u", "char(36) COLLATE utf8mb4_bin NOT NULL DEFAULT (uuid()) /*!80023 INVISIBLE */",
			"BIGINT NOT NULL DEFAULT (uuid()) /*!80023 INVISIBLE */",
			"char(36) COLLATE utf8mb4_bin NOT NULL DEFAULT (uuid()) /*!80023 INVISIBLE */",
			"char(36) COLLATE utf8mb4_bin NOT NULL AUTO_INCREMENT /*!80023 INVISIBLE */"},
		{"plain", "mediumint DEFAULT -1", "BIGINT DEFAULT -1", "mediumint NOT NULL DEFAULT -1", "mediumint NOT NULL AUTO_INCREMENT"},
		{"at", "timestamp NULL DEFAULT current_timestamp() ON UPDATE current_timestamp()",
			"BIGINT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp()",
			"timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp()",
			"timestamp NOT NULL AUTO_INCREMENT ON UPDATE current_timestamp()"},
		{"z", "varchar(20) /*M!100301 COMPRESSED*/ DEFAULT NULL", "BIGINT DEFAULT NULL",
			"varchar(20) /*M!100301 COMPRESSED*/ NOT NULL", "varchar(20) /*M!100301 COMPRESSED*/ NOT NULL AUTO_INCREMENT"},
	} {
		got, err := catalog.ReadColumnDefinition(t.Context(), dialect.MariaDB(), shown(text), "s", "t", c.column)
		if err != nil || got == nil {
			t.Errorf("%s: %v, %v", c.column, got, err)
			continue
		}
		for kind, pair := range map[string][2]string{
			"String": {got.String(), c.as}, "With": {got.With("BIGINT").String(), c.with},
			"NotNull": {got.NotNull().String(), c.notNull}, "Numbered": {got.Numbered().String(), c.counted},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%s of %s = %s, want %s", kind, c.column, pair[0], pair[1])
			}
		}
	}
	for _, text := range []string{text, "CREATE VIEW `v` AS select 1", ""} {
		if got, err := catalog.ReadColumnDefinition(t.Context(), dialect.MariaDB(), shown(text), "", "t", "last"); got != nil || err != nil {
			t.Errorf("%q has the column last: %v, %v", text, got, err)
		}
	}
}
