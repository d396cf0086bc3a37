package dialect

// PostgreSQL returns the facts about PostgreSQL 12 and later.
//
// Lexical rules: PostgreSQL 18 documentation, section 4.1, and
// src/backend/parser/scan.l; INSERT: the SQL command's page; the 65,535
// parameters: the 16-bit count of the Bind message, section 54.7.
func PostgreSQL() *Dialect { return &postgres }

var postgres = Dialect{
	Name:   "postgres",
	Title:  "PostgreSQL",
	Family: FamilyPostgreSQL,
	Lexis: Lexis{
		EscapeStrings:  true,
		UnicodeStrings: true,
		DollarQuotes:   true,
		ColonCasts:     true,
		DateCasts:      true,
		StringPrefixes: "nbx",
		NestedComments: true,
		ReturnEndsLine: true,
		IdentPart:      "$",
	},
	Params:  Params{Dollar: true, Max: 65535},
	Setting: &conformingStrings,
	Grammar: Grammar{
		FieldTargets:  true,
		AliasAs:       true,
		Overriding:    true,
		DefaultValues: true,
		OnConflict:    true,
		Returning:     true,
		FirstColumns:  true,
		ValueSets:     true,
		TempTables:    true,
		TempSchema:    true,
		SelectInto:    true,
		Merge:         true,
		RowFunctions:  true,
		TypedRows:     true,
		Copy:          true,
		Routines:      []string{"procedure", "function", "trigger", "rule"},
		BodyWords:     []string{"atomic"},
	},
	// CAST of a text that is no number fails with an error that repeats the text.
	Numbering: Numbering{
		Number:    "ROW_NUMBER() OVER ()",
		Checked:   "ROW_NUMBER() OVER ()",
		Fail:      "CAST('more rows than were counted: ' || ROW_NUMBER() OVER () AS bigint)",
		Failure:   "more rows than were counted: ",
		FailState: "22P02",
		Text:      "CAST(% AS text)",
		Writing:   true,
		Hidden:    true,
		UUIDv4:    Function{"gen_random_uuid()", 13, 0},
		UUIDv7:    Function{"uuidv7()", 18, 0},
		Tails: Tails{
			UUID:   "CAST(CAST({prefix} AS text) || LPAD(TO_HEX(CAST({before} AS bigint) + {row}), 12, '0') AS uuid)",
			ULID:   "CAST({prefix} AS text) || UPPER(LPAD(TO_HEX(CAST({before} AS bigint) + {row}), 12, '0'))",
			TypeID: "CAST({prefix} AS text) || LPAD(TO_HEX(CAST({before} AS bigint) + {row}), 12, '0')",
			Binary: "DECODE(CAST({prefix} AS text) || LPAD(TO_HEX(CAST({before} AS bigint) + {row}), 12, '0'), 'hex')",
		},
		LooseNames: true,
		ByTarget:   true,
	},
	Transactions: postgresTransactions,
	Latest:       postgresLatest,
	Place:        postgresPlace,
	Folding:      FoldLower,
	QuoteOpen:    '"',
	QuoteClose:   '"',
	// decode() gives the same bytes whatever standard_conforming_strings is.
	BinaryOpen:       "decode('",
	TextOpen:         "E'",
	BinaryClose:      "','hex')",
	AtomicStatements: true,
	ErrorsAbort:      true,
	First:            "LIMIT {n}",
	PadsText:         true,
	LeavesNoTrace:    true,
	HomeSchema:       "public",
	SerialSuffix:     "_seq",
	DefaultLayout:    SequentialAsString,
	Errors:           postgresErrors,
}
