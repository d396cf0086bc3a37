package dialect

// SQLite returns the facts about SQLite 3.35 and later.
//
// Lexical rules: src/tokenize.c; INSERT: https://www.sqlite.org/lang_insert.html;
// placeholders: https://www.sqlite.org/lang_expr.html#varparam; their number:
// SQLITE_MAX_VARIABLE_NUMBER, https://www.sqlite.org/limits.html.
func SQLite() *Dialect { return &sqlite }

var sqlite = Dialect{
	Name:   "sqlite",
	Title:  "SQLite",
	Family: FamilySQLite,
	Lexis: Lexis{
		Backticks:      true,
		Brackets:       true,
		StringPrefixes: "x",
		OpenComments:   true,
		ByteOrderMark:  true,
		IdentPart:      "$",
	},
	Params: Params{
		Question:       true,
		QuestionNumber: true,
		Dollar:         true,
		DollarName:     true,
		Colon:          true,
		At:             true,
		FirstUse:       true,
		Max:            32766,
	},
	Grammar: Grammar{
		Replace:       true,
		FalseIsZero:   true,
		TempTables:    true,
		TempSchema:    true,
		OrAction:      true,
		StringNames:   true,
		RowIDs:        []string{"rowid", "_rowid_", "oid"},
		AliasAs:       true,
		DefaultValues: true,
		DefaultAlone:  true,
		OnConflict:    true,
		Returning:     true,
		Routines:      []string{"trigger"},
		BodyWords:     []string{"insert", "replace", "update", "delete", "select", "with", "values"},
	},
	// Fail calls json_extract with a malformed path, whose error repeats the path:
	// https://www.sqlite.org/json1.html#jptr.
	Numbering: Numbering{
		Number:     "ROW_NUMBER() OVER ()",
		Checked:    "ROW_NUMBER() OVER ()",
		Fail:       "json_extract('{}', 'more rows than were counted: ' || ROW_NUMBER() OVER ())",
		Failure:    "more rows than were counted: ",
		FailNumber: 1,
		Text:       "CAST(% AS TEXT)",
		// SQLite has UNHEX since 3.41: https://www.sqlite.org/lang_corefunc.html#unhex.
		Tails: Tails{
			UUID:   "{prefix} || printf('%012x', {before} + {row})",
			ULID:   "{prefix} || printf('%012X', {before} + {row})",
			TypeID: "{prefix} || printf('%012x', {before} + {row})",
			Binary: "UNHEX({prefix} || printf('%012x', {before} + {row}))",
			Major:  3,
			Minor:  41,
		},
		Where:  true,
		Server: []string{"sqlite_version()"},
		Major:  3,
		Minor:  38, // the first version with JSON functions built in
	},
	Transactions:     sqliteTransactions,
	Place:            sqlitePlace,
	Folding:          FoldCase,
	QuoteOpen:        '"',
	QuoteClose:       '"',
	BinaryOpen:       "X'",
	TextOpen:         "'",
	BinaryClose:      "'",
	AtomicStatements: true,
	IndexSchema:      true,
	OneWriter:        true,
	LastRowID:        true,
	Errors:           sqliteErrors,
	First:            "LIMIT {n}",
	LooseTypes:       true,
	DefaultLayout:    SequentialAsString,
}
