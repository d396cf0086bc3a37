package dialect

// Oracle returns the facts about Oracle Database 12c and later.
//
// Lexical rules: Oracle Database SQL Language Reference 23ai, chapters 2
// (Literals, Comments, Database Object Names); INSERT: chapter 19. An
// argument without a name belongs to the place of its placeholder, also where
// a name is repeated: Oracle Call Interface Programmer's Guide, "Binding
// Placeholders in OCI".
func Oracle() *Dialect { return &oracle }

var oracle = Dialect{
	Name:   "oracle",
	Title:  "Oracle",
	Family: FamilyOracle,
	Lexis: Lexis{
		QuoteOperator:  true,
		StringPrefixes: "n",
		IdentPart:      "$#",
		UnicodeSpaces:  true,
	},
	Params: Params{Colon: true, QuotedName: true, FoldedNames: true, ByPosition: true, Arrays: true, Max: 65535},
	Grammar: Grammar{
		Partition:     true,
		AliasBare:     true,
		DBLink:        true,
		ReturningInto: true,
		Merge:         true,
		Dual:          true,
		MultiInsert:   true,
		Blocks:        true,
		PLSQL:         true,
		Routines:      []string{"procedure", "function", "trigger", "package", "body"},
		QueryTargets:  []string{"table", "the"},
		RoutineIsRest: true,
	},
	// SQL Language Reference 23, "ROW_NUMBER" and "TO_NUMBER". Fail causes ORA-01722.
	Numbering: Numbering{
		Number:     "ROW_NUMBER() OVER (ORDER BY NULL)",
		Checked:    "ROW_NUMBER() OVER (ORDER BY NULL)",
		Fail:       "TO_NUMBER('more rows than were counted: ' || ROW_NUMBER() OVER (ORDER BY NULL))",
		FailNumber: 1722,
		Text:       "TO_CHAR(%)",
		// SQL Language Reference 23, "Number Format Models", has the elements X and 0.
		Tails: Tails{
			UUID:   "{prefix} || LOWER(TO_CHAR({before} + {row}, 'FM0XXXXXXXXXXX'))",
			ULID:   "{prefix} || TO_CHAR({before} + {row}, 'FM0XXXXXXXXXXX')",
			TypeID: "{prefix} || LOWER(TO_CHAR({before} + {row}, 'FM0XXXXXXXXXXX'))",
			Binary: "HEXTORAW({prefix} || TO_CHAR({before} + {row}, 'FM0XXXXXXXXXXX'))",
		},
		Flat:         true, // SQL Language Reference 23, "SELECT", restrictions on subquery factoring
		NullByTarget: true,
	},
	Transactions:     oracleTransactions,
	Place:            oraclePlace,
	Folding:          FoldUpper,
	QuoteOpen:        '"',
	QuoteClose:       '"',
	BinaryOpen:       "HEXTORAW('",
	TextOpen:         "'",
	BinaryClose:      "')",
	AtomicStatements: true,
	First:            "OFFSET 0 ROWS FETCH NEXT {n} ROWS ONLY",
	PadsText:         true,
	DefaultLayout:    SequentialAsBinary,
	Errors:           oracleErrors,
	EmptyIsNull:      true,
	UnreadCounter:    true,
}
