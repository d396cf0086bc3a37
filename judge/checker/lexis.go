package checker

import "fmt"

// lexis is what the tokens of a dialect look like.
type lexis struct {
	hashComments     bool   // # to the end of the line
	spacedDashes     bool   // "--" opens a comment only before white space
	nestedComments   bool   // /* /* */ */
	openComments     bool   // the end of the text ends a comment too
	codeComments     bool   // /*! … */ is code
	backslashes      bool   // \' in strings
	escapeStrings    bool   // E'\''
	dollarStrings    bool   // $tag$…$tag$
	quoteStrings     bool   // q'[…]'
	doubleStrings    bool   // "…" is a string
	backticks        bool   // `name`
	brackets         bool   // [name]
	doubledBrackets  bool   // ]] in a name is a bracket
	squareGroups     bool   // ARRAY[1, 2]
	wordStart        string // characters besides letters that begin a word
	wordPart         string // and that go on with it, besides digits
	question, dollar bool   // placeholders: ?, $1
	numberedQuestion bool   // ?1
	colon, at        bool   // :name, @name
	dollarNames      bool   // $name
	sessionTables    bool   // #name is a table of the session's own
	noSemicolons     bool   // statements need nothing between them
	replace          bool   // REPLACE is an INSERT
}

var lexes = map[string]*lexis{
	"mysql": {hashComments: true, spacedDashes: true, codeComments: true, backslashes: true, doubleStrings: true,
		backticks: true, wordStart: "_$", wordPart: "_$", question: true, replace: true},
	"mariadb": {hashComments: true, spacedDashes: true, codeComments: true, backslashes: true, doubleStrings: true,
		backticks: true, wordStart: "_$", wordPart: "_$", question: true, replace: true},
	"postgres": {nestedComments: true, escapeStrings: true, dollarStrings: true, squareGroups: true, wordStart: "_",
		wordPart: "_$", dollar: true},
	"sqlite": {openComments: true, backticks: true, brackets: true, wordStart: "_", wordPart: "_$", question: true,
		numberedQuestion: true, dollar: true, dollarNames: true, colon: true, at: true, replace: true},
	"sqlserver": {nestedComments: true, brackets: true, doubledBrackets: true, wordStart: "_#", wordPart: "_#@$", at: true,
		sessionTables: true, noSemicolons: true},
	"oracle": {quoteStrings: true, wordStart: "_", wordPart: "_#$", colon: true},
}

// lexisOf returns the lexis of a dialect.
func lexisOf(dialect string) (*lexis, error) {
	if l := lexes[dialect]; l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("checker: no dialect %q", dialect)
}
