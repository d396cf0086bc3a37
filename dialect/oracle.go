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
	Name:  "oracle",
	Title: "Oracle",
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
		MultiInsert:   true,
		Blocks:        true,
		Routines:      []string{"procedure", "function", "trigger", "package", "body"},
		QueryTargets:  []string{"table", "the"},
		RoutineIsRest: true,
	},
	Folding:          FoldUpper,
	QuoteOpen:        '"',
	QuoteClose:       '"',
	BinaryOpen:       "HEXTORAW('",
	BinaryClose:      "')",
	AtomicStatements: true,
	DefaultLayout:    SequentialAsBinary,
	DuplicateKey:     []string{"ORA-00001: unique constraint (%)"},
	EmptyIsNull:      true,
}
