package dialect

// MySQL returns the facts about MySQL 8 and 9.
//
// Lexical rules: MySQL 8.4 Reference Manual, chapter 11 (Language Structure);
// INSERT: section 15.2.7, REPLACE: 15.2.12; the 65,535 parameters of a
// prepared statement: the 16-bit count of COM_STMT_PREPARE_OK.
func MySQL() *Dialect { return &mysql }

// MariaDB returns the facts about MariaDB 10.5 and later, which has
// RETURNING and runs the comments of MySQL and its own.
//
// Lexical rules: MariaDB Knowledge Base, "Comment Syntax" and "Identifier
// Names"; INSERT: "INSERT" and "INSERT … RETURNING".
func MariaDB() *Dialect { return &mariadb }

var mysql = Dialect{
	Name:   "mysql",
	Title:  "MySQL",
	Family: FamilyMySQL,
	Lexis: Lexis{
		DoubleQuotedStrings: true,
		Backticks:           true,
		BackslashEscapes:    true,
		BackslashNull:       true,
		DateCasts:           true,
		StringPrefixes:      "nbx",
		HashComments:        true,
		DashNeedsSpace:      true,
		ExecutableComments:  []string{"/*!"},
		IdentStart:          "$",
		IdentPart:           "$",
		DigitIdents:         true,
		UserVariables:       true,
		ServerVariables:     true,
	},
	Params:  Params{Question: true, ByPosition: true, Max: 65535},
	Setting: &sqlMode,
	Grammar: Grammar{
		Replace:        true,
		TempTables:     true,
		TableCase:      true,
		IntoOptional:   true,
		OmittedParts:   true,
		FalseIsZero:    true,
		Modifiers:      []string{"low_priority", "delayed", "high_priority", "ignore"},
		Partition:      true,
		Set:            true,
		EmptyLists:     true,
		ValueWord:      true,
		RowWord:        true,
		RowAlias:       true,
		OnDuplicateKey: true,
		Load:           true,
		PrepareText:    true,
		Blocks:         true,
		Routines:       []string{"procedure", "function", "trigger", "event", "package"},
		Dual:           true,
		SelectedBytes:  "CAST(% AS BINARY(16))",
	},
	// Fail adds to the greatest unsigned integer, which fails whether a number is
	// signed or not: 8.4 manual, section 13.1.7, "Out-of-Range and Overflow Handling".
	Numbering: Numbering{
		Number:     "ROW_NUMBER() OVER ()",
		Checked:    "COUNT(*) OVER ()",
		Fail:       "18446744073709551615 + ROW_NUMBER() OVER ()",
		Failure:    "18446744073709551615 + row_number",
		FailNumber: 1690,
		Text:       "CAST(% AS CHAR)",
		Writing:    true,
		Unordered:  true,
		Carries:    true,
		// MySQL 8.4 manual, "UUID_SHORT()": each call counts its lower 56 bits up.
		PerRow: "(UUID_SHORT() & 140737488355327)",
		Tails: Tails{
			UUID:   "CONCAT({prefix}, LPAD(LOWER(HEX({before} + {row})), 12, '0'))",
			ULID:   "CONCAT({prefix}, LPAD(HEX({before} + {row}), 12, '0'))",
			TypeID: "CONCAT({prefix}, LPAD(LOWER(HEX({before} + {row})), 12, '0'))",
			// UNHEX reads bytes, so it returns NULL where the session's strings are UTF-16.
			Binary: "UNHEX(CONVERT(CONCAT({prefix}, LPAD(HEX({before} + {row}), 12, '0')) USING latin1))",
		},
		Server: []string{"@@version", "@@log_bin", "@@binlog_format"},
		Major:  8,
	},
	Transactions:  mysqlTransactions,
	Latest:        mysqlLatest,
	Place:         mysqlPlace,
	Folding:       FoldCase,
	QuoteOpen:     '`',
	QuoteClose:    '`',
	BinaryOpen:    "X'",
	TextOpen:      "_utf8mb4 X'",
	BinaryClose:   "'",
	First:         "LIMIT {n}",
	FreshCounters: "SET information_schema_stats_expiry = 0",
	Caseless:      true,
	BytesAreText:  true,
	FirstID:       true,
	UncountedRows: true, // the results of go-sql-driver/mysql do not count the rows of a statement that returns rows
	Conversion: "SELECT (@@character_set_client <> @@character_set_connection AND 'binary' NOT IN (@@character_set_client, @@character_set_connection)) + " +
		"2 * (@@character_set_client IN ('big5', 'cp932', 'gb18030', 'gbk', 'sjis'))",
	Cluster:       "SELECT @@wsrep_on",
	DefaultLayout: SequentialAsString,
	ZeroIsNoKey:   true,
	Errors:        mysqlErrors,
}

var mariadb = func() Dialect {
	d := mysql
	d.Name = "mariadb"
	d.Title = "MariaDB"
	d.Setting = &mariadbMode
	d.Lexis.ExecutableComments = []string{"/*!", "/*M!"}
	d.Grammar.RowWord = false
	d.Grammar.RowAlias = false
	d.Grammar.Returning = true
	d.Grammar.StatementSettings = mariadbStatementSettings
	// MariaDB numbers all rows before it stores one, as was seen on 10.11.
	d.Numbering.Checked = d.Numbering.Number
	d.Numbering.Major, d.Numbering.Minor = 10, 2
	d.Numbering.UUIDv4 = Function{"UUID_v4()", 11, 7}
	d.Numbering.UUIDv7 = Function{"UUID_v7()", 11, 7}
	d.FreshCounters = "" // MariaDB has no information_schema_stats_expiry
	d.Transactions = mariadbTransactions
	return d
}()

// mariadbStatementSettings are settings for time limits, memory, plans, logs and
// checks: MariaDB Knowledge Base, "SET STATEMENT" and "Server System Variables".
// MariaDB 10.11 accepts each of them in SET STATEMENT; it refuses autocommit,
// tx_isolation and the character sets of the client and the connection.
var mariadbStatementSettings = []string{
	"max_statement_time", "lock_wait_timeout", "innodb_lock_wait_timeout", "net_read_timeout", "net_write_timeout",
	"foreign_key_checks", "check_constraint_checks", "low_priority_updates",
	"bulk_insert_buffer_size", "join_buffer_size", "join_buffer_space_limit", "join_cache_level", "max_heap_table_size",
	"mrr_buffer_size", "read_buffer_size", "read_rnd_buffer_size", "sort_buffer_size", "sql_buffer_result",
	"tmp_disk_table_size", "tmp_memory_table_size", "tmp_table_size",
	"eq_range_index_dive_limit", "in_predicate_conversion_threshold", "optimizer_prune_level", "optimizer_search_depth",
	"optimizer_switch", "optimizer_use_condition_selectivity", "use_stat_tables",
	"log_queries_not_using_indexes", "log_slow_filter", "log_slow_query", "log_slow_query_time", "log_slow_rate_limit",
	"log_slow_verbosity", "long_query_time", "min_examined_row_limit", "slow_query_log",
}
