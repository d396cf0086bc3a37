package policy

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/nearest"
)

// sqlModes are the words of sql_mode in MySQL 5.7 to 9 and MariaDB 10.5 to 12:
// MySQL 8.4 manual, section 7.1.11; MariaDB Knowledge Base, "SQL_MODE".
var sqlModes = strings.Fields(`allow_invalid_dates ansi ansi_quotes db2 empty_string_is_null error_for_division_by_zero
	high_not_precedence ignore_bad_table_options ignore_space maxdb mssql mysql323 mysql40 no_auto_create_user
	no_auto_value_on_zero no_backslash_escapes no_dir_in_create no_engine_substitution no_field_options no_key_options
	no_table_options no_unsigned_subtraction no_zero_date no_zero_in_date only_full_group_by oracle
	pad_char_to_full_length pipes_as_concat postgresql real_as_float simultaneous_assignment strict_all_tables
	strict_trans_tables time_round_fractional time_truncate_fractional traditional`)

// defaultMode is the value of sql_mode for sessions without modes that change how text
// is read.
const defaultMode = "default"

// switchWords are the values of a setting that is on or off.
var switchWords = []string{"on", "off"}

// setting is a field of the file that states a setting of the application's sessions.
type setting struct{ name, value string }

// settings returns the fields that state settings of the sessions.
func (c *Config) settings() []setting {
	return []setting{
		{"sql_mode", c.SQLMode},
		{"standard_conforming_strings", c.StandardConformingStrings},
		{"quoted_identifier", c.QuotedIdentifier},
	}
}

// checkSettings checks the words in the fields that state settings of the sessions.
func (k checker) checkSettings() {
	for _, s := range k.config.settings() {
		switch at := (place{}).in(s.name); {
		case s.value == "":
		case s.name != "sql_mode":
			if !slices.Contains(switchWords, s.value) {
				k.wrongField(at, unknownWord(s.name, s.value, switchWords))
			}
		case !strings.EqualFold(s.value, defaultMode):
			for word := range strings.SplitSeq(s.value, ",") {
				word = strings.TrimSpace(word)
				if !slices.Contains(sqlModes, strings.ToLower(word)) {
					k.wrongField(at, unknownMode(word))
				}
			}
		}
	}
}

// unknownMode returns the message for a word that is no mode.
func unknownMode(word string) string {
	if near := nearest.Word(word, sqlModes); near != "" {
		return "unknown sql_mode " + show(word) + "; did you mean " + strings.ToUpper(near) + "?"
	}
	return "unknown sql_mode " + show(word) + "; write a list as SELECT @@SESSION.sql_mode gives it, or " + defaultMode
}

// zeroIsKey reports whether an integer 0 is stored as it is under sql_mode: MySQL 8.4
// manual, section 7.1.11, NO_AUTO_VALUE_ON_ZERO.
func (c *Config) zeroIsKey() bool {
	return slices.ContainsFunc(strings.Split(c.SQLMode, ","), func(word string) bool {
		return strings.EqualFold(strings.TrimSpace(word), "no_auto_value_on_zero")
	})
}

// readSettings reads the fields that state settings of the sessions into the policy.
func (k *compiler) readSettings(d *dialect.Dialect) {
	for _, s := range k.config.settings() {
		switch {
		case s.value == "":
		case d.Setting == nil || d.Setting.Name != s.name:
			k.wrong(place{}.in(s.name), "%s has no such setting; leave it out", d.Title)
		default:
			k.policy.settings, k.policy.certain = d.Setting.Read(s.value), true
		}
	}
}

// Settings returns the session settings by which every text is to be read, and whether
// the file states them.
func (p *Policy) Settings() (set dialect.Settings, certain bool) { return p.settings, p.certain }
