package words

import (
	"math/bits"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// Concern is a set of reasons to read a query before it is passed.
type Concern uint8

const (
	// ConcernsInsert means that the query may hold a form of INSERT, which compile.Query
	// decides.
	ConcernsInsert Concern = 1 << iota
	// ConcernsTransaction means that the query may begin or end a transaction: see
	// effects.TransactionOf.
	ConcernsTransaction
	// ConcernsTemporary means that the query may make a temporary table: see
	// effects.Temporary.
	ConcernsTemporary
	// ConcernsNames means that the query may give a table's rows the name of another
	// table: see effects.Renames.
	ConcernsNames
)

// verbs are the words that Search finds anywhere in a text: words that begin a form of
// INSERT, that change the transaction in dialects where statements may start anywhere,
// that make a temporary table, and that give a table another's name or rows.
var verbs = [...]string{
	"insert", "replace", "merge", "copy", "load", "output",
	"rollback", "commit", "tran", "exec", "implicit_transactions", "ansi_defaults",
	"temp", "pg_temp",
	"rename", "sp_rename", "exchange",
}

// insertVerbs is how many of the verbs begin a form of INSERT, namesVerbs how many of the
// last give a table another name, temporaryVerbs how many before these make a temporary
// table.
const (
	insertVerbs    = 6
	namesVerbs     = 3
	temporaryVerbs = 2
)

// temporarySet and namesSet are the bit sets of these verbs.
var (
	TemporarySet = setOf(verbs[len(verbs)-namesVerbs-temporaryVerbs : len(verbs)-namesVerbs]...)
	namesSet     = setOf(verbs[len(verbs)-namesVerbs:]...)
)

// verbSuffixes holds the letters with which a verb that begins no INSERT may go on.
var verbSuffixes = map[string]string{"tran": "saction", "exec": "ute", "temp": "orary"}

// stride is the distance between the byte pairs that Search looks at: one pair lies
// within the first four letters of every verb.
const stride = 3

// setOf returns a set of verbs: three bits for each of them, one for each offset in the
// verb at which Search may look.
func setOf(words ...string) (set uint64) {
	for _, w := range words {
		set |= (1<<stride - 1) << (stride * slices.Index(verbs[:], w))
	}
	return set
}

// pairs maps two neighbouring bytes, the lower five bits of each, to the verbs and the
// offsets at which the two stand.
var pairs = func() (t [1 << 10]uint64) {
	for i, verb := range verbs {
		for j := range stride {
			t[pair(verb[j], verb[j+1])] |= 1 << (stride*i + j)
		}
	}
	return t
}()

// pair returns the index of two bytes in pairs, the same for both cases of a letter.
func pair(a, b byte) int { return int(a&0x1f)<<5 | int(b&0x1f) }

// Concerns returns the concerns of a query: whether it has a word that can begin a form
// of INSERT in the dialect, make a temporary table, or give a table another name, and
// whether one of its statements may change the transaction. A query without any is passed
// without a scan. None is certain, since a word may be in a string. It allocates nothing.
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

// Search looks for the verbs of two sets, and returns the concerns that they mean.
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

// verbSet returns the verbs of INSERT in a dialect.
func verbSet(g *dialect.Grammar) uint64 {
	set := uint64(1<<stride - 1)
	for i, has := range [...]bool{g.Replace, g.Merge, g.Copy, g.Load, g.Output} {
		if has {
			set |= (1<<stride - 1) << (stride * (i + 1))
		}
	}
	return set
}

// verbAt reports whether the verb begins at offset i, where a word may begin. The byte
// before it may be non-ASCII: U+00A0 is white space to SQL Server.
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
	// Anything may follow INSERT, as in INSERTBULK. The words of transactions must be
	// whole: a table's name is often transactions.
	return verb < insertVerbs || wholeWord(query[i+len(word):], verbSuffixes[word])
}

// wholeWord reports whether the letters and digits that the text begins with are none or
// the suffix.
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
