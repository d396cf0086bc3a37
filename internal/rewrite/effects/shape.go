package effects

import (
	"hash/fnv"
	"io"
	"strconv"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// Shape returns a fingerprint of a query: 16 hexadecimal digits. Texts that differ only
// in their literals, comments, white space, the case of words, or the number of values
// and rows have one shape, in every process.
//
// Shape leaves out everything that may hold a value: strings of every form, numbers,
// quoted identifiers, which are strings in some sessions, comments, the names of
// placeholders and variables, and the digits in words, as in tenant_4711. If the text
// ends in the middle of a string or comment, Shape leaves out the rest. It hashes the
// words that remain, names of tables and columns among them.
func Shape(d *dialect.Dialect, query string) string {
	h := fnv.New64a()
	s := scan.Scanner{Dialect: d, Text: query}
	last := byte(0)
	write := func(piece string, is byte) {
		if is == 'v' && last == 'v' {
			return // adjacent values count as one value
		}
		_, _ = io.WriteString(h, piece)
		last = is
	}
	for {
		switch t := s.Next(); t.Kind {
		case scan.End:
			digits := strconv.FormatUint(h.Sum64(), 16)
			return "0000000000000000"[len(digits):] + digits
		case scan.Space, scan.Comment, scan.Executable:
		case scan.Word:
			if scan.IsDigit(query[t.Start]) {
				write("? ", 'v') // a word such as 1e counts as a value, since other engines read a number here
				continue
			}
			write(withoutDigits(query[t.Start:t.End])+" ", 'w')
		case scan.Punct:
			if p := query[t.Start]; last == 'v' && (p == ',' || p == '(' || p == ')') {
				continue // a sign between values, or between rows of values, is left out
			}
			write(query[t.Start:t.End], 'p')
		case scan.Broken:
			write("! ", '!')
		default:
			write("? ", 'v')
		}
	}
}

// withoutDigits returns a word in lower case, with one 0 for each run of digits.
func withoutDigits(word string) string {
	out := make([]byte, 0, len(word))
	for i := 0; i < len(word); i++ {
		switch c := word[i]; {
		case !scan.IsDigit(c):
			if 'A' <= c && c <= 'Z' {
				c |= 0x20
			}
			out = append(out, c)
		case len(out) == 0 || out[len(out)-1] != '0':
			out = append(out, '0')
		}
	}
	return string(out)
}
