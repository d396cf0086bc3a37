package words

import (
	"math/bits"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// Concern is a set of reasons why keyfill reads a query before it passes the query on.
type Concern uint8

const (
	// ConcernsInsert means that the query may hold a form of INSERT. compile.Query decides
	// whether it does.
	ConcernsInsert Concern = 1 << iota
	// ConcernsTransaction means that the query may begin or end a transaction: see
	// effects.TransactionOf.
	ConcernsTransaction
	// ConcernsTemporary means that the query may make a temporary table: see
	// effects.Temporary.
	ConcernsTemporary
	// ConcernsNames means that the query may rename or exchange tables, so that a table's name
	// means the rows of another table: see effects.Renames.
	ConcernsNames
)

// verbs are the words that Search finds anywhere in a text. They begin a form of INSERT,
// change the transaction in dialects where statements may start anywhere, make a temporary
// table, or give a table another table's name or rows. Their order matters: see
// insertVerbs.
var verbs = [...]string{
	"insert", "replace", "merge", "copy", "load", "output",
	"rollback", "commit", "tran", "exec", "implicit_transactions", "ansi_defaults",
	"temp", "pg_temp",
	"rename", "sp_rename", "exchange",
}

// The verbs are in groups: the first insertVerbs of them begin a form of INSERT, the last
// namesVerbs give a table another name, and the temporaryVerbs before those make a
// temporary table.
const (
	insertVerbs    = 6
	namesVerbs     = 3
	temporaryVerbs = 2
)

// TemporarySet and namesSet are sets of verbs, as bits: those that make a temporary table,
// and those that give a table another name.
var (
	TemporarySet = setOf(verbs[len(verbs)-namesVerbs-temporaryVerbs : len(verbs)-namesVerbs]...)
	namesSet     = setOf(verbs[len(verbs)-namesVerbs:]...)
)

// verbSuffixes holds, for verbs that begin no INSERT, the letters that may follow in a
// longer spelling of the same word: TRAN and TRANSACTION.
var verbSuffixes = map[string]string{"tran": "saction", "exec": "ute", "temp": "orary"}

// stride is the distance between the pairs of bytes that Search looks at. At this distance,
// one pair always lies within the first four letters of a verb.
const stride = 3

// setOf returns a set of verbs as bits. Each verb has three bits, one for each offset in
// the verb (0 to 2) at which Search may find two of its letters.
func setOf(words ...string) (set uint64) {
	for _, w := range words {
		set |= (1<<stride - 1) << (stride * slices.Index(verbs[:], w))
	}
	return set
}

// pairs maps two neighbouring bytes, by the lower five bits of each, to the verbs that have
// the two side by side, and to their offset there. The bits are as in setOf.
var pairs = func() (t [1 << 10]uint64) {
	for i, verb := range verbs {
		for j := range stride {
			t[pair(verb[j], verb[j+1])] |= 1 << (stride*i + j)
		}
	}
	return t
}()

// pair returns the index of two bytes in pairs. It is the same for upper and lower case.
func pair(a, b byte) int { return int(a&0x1f)<<5 | int(b&0x1f) }

// Concerns returns the reasons to read a query, which it finds by words alone: a word that
// can begin a form of INSERT in the dialect, make a temporary table, give a table another
// name, or change the transaction. A query without such a word is passed without a scan. No
// reason is certain, since the word may be in a string. Concerns allocates nothing.
func Concerns(d *dialect.Dialect, query string) Concern {
	c := Of(d)
	others := c.anywhere | namesSet
	if d.Grammar.TempTables {
		others |= TemporarySet
	}
	concern := Search(query, verbSet(&d.Grammar), others)
	if concern&ConcernsTransaction == 0 && c.begins(d, query) {
		concern |= ConcernsTransaction
	}
	return concern
}

// HasVerb reports whether the text has a word that can begin a form of INSERT.
func HasVerb(d *dialect.Dialect, text string) bool {
	return Search(text, verbSet(&d.Grammar), 0) != 0
}

// Search looks in a query for the verbs of two sets, insert and others, and returns the
// concerns that the verbs mean.
func Search(query string, insert, others uint64) (found Concern) {
	set := insert | others
	for i := stride - 1; i+1 < len(query); i += stride {
		for hits := pairs[pair(query[i], query[i+1])] & set; hits != 0; hits &= hits - 1 {
			place := bits.TrailingZeros64(hits)
			if !verbAt(place/stride, query, i-place%stride) {
				continue
			}
			switch bit := uint64(1) << place; {
			case bit&insert != 0:
				found |= ConcernsInsert
				set &^= insert
			case bit&TemporarySet != 0:
				found |= ConcernsTemporary
				set &^= TemporarySet
			case bit&namesSet != 0:
				found |= ConcernsNames
				set &^= namesSet
			default:
				found |= ConcernsTransaction
				set &= insert | TemporarySet | namesSet
			}
			if set == 0 {
				return found
			}
			break
		}
	}
	return found
}

// verbSet returns the set of the verbs that begin a form of INSERT in a dialect.
func verbSet(g *dialect.Grammar) uint64 {
	set := uint64(1<<stride - 1)
	for i, has := range [...]bool{g.Replace, g.Merge, g.Copy, g.Load, g.Output} {
		if has {
			set |= (1<<stride - 1) << (stride * (i + 1))
		}
	}
	return set
}

// verbAt reports whether the verb with the index verb begins at offset i, and a word may
// begin there. The byte before i may be non-ASCII, since U+00A0 is white space to SQL
// Server.
func verbAt(verb int, query string, i int) bool {
	if i > 0 {
		if c := query[i-1]; c < 0x80 && scan.Classes[c]&scan.ClassLetter != 0 && !numberBefore(query, i) {
			return false
		}
	}
	word := verbs[verb]
	if i+len(word) > len(query) || !scan.EqualWord(query[i:i+len(word)], word) {
		return false
	}
	// INSERT may go on in any way, as in INSERTBULK. The words of transactions must be whole
	// words, since a table is often named transactions.
	return verb < insertVerbs || wholeWord(query[i+len(word):], verbSuffixes[word])
}

// wholeWord reports whether a verb that ends directly before text is a whole word: no
// letter or digit follows it, or only the suffix does.
func wholeWord(text, suffix string) bool {
	n := 0
	for n < len(text) && text[n] < 0x80 && scan.Classes[text[n]]&(scan.ClassLetter|scan.ClassDigit) != 0 {
		n++
	}
	return n == 0 || scan.EqualWord(text[:n], suffix)
}

// numberBefore reports whether a number may end at offset i, so that a word
// begins there: SELECT 0xABINSERT and SELECT 1.eINSERT are two statements in SQL
// Server.
func numberBefore(query string, i int) bool {
	for i--; i >= 0; i-- {
		c := query[i]
		if scan.IsDigit(c) && (i == 0 || query[i-1] >= 0x80 || scan.Classes[query[i-1]]&(scan.ClassLetter|scan.ClassDigit) == 0) {
			return true
		}
		if scan.Classes[c]&scan.ClassHex == 0 && c|0x20 != 'x' && c != '_' && c != '.' {
			return false
		}
	}
	return false
}

// begins reports whether a statement of the text begins with a word that may
// change the transaction.
func (v *Vocabulary) begins(d *dialect.Dialect, query string) bool {
	if query != "" && scan.Classes[query[0]]&scan.ClassLetter == 0 {
		s := scan.Scanner{Dialect: d, Text: query}
		t := s.Next()
		for t.Kind == scan.Space || t.Kind == scan.Comment || t.Kind == scan.Punct && query[t.Start] == ';' {
			t = s.Next()
		}
		query = query[t.Start:]
	}
	return v.suspects(d, query) || !d.Grammar.NoSemicolon && v.SuspectsBehind(d, query)
}
