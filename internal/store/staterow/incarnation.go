package staterow

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/keyfill/keyfill/internal/store"
)

const (
	// endMark precedes the end of a row in its incarnation (the random text that
	// identifies a row).
	endMark = "<"

	// BeginMark is part of the incarnation (the random text) of a row whose sequence was
	// begun by StartAt.
	BeginMark = ">"

	// writerMark precedes the [Hint] of the server that has written the row.
	writerMark = "@"

	// maxIdentity is how many characters of an incarnation (a row's random text) identify
	// the row. The column has room for these characters, for [BeginMark] and endMark, and
	// for an end of 19 digits; maxText characters in all.
	maxIdentity = 19
	maxText     = 40
)

// marked is an incarnation (a row's random text) in its parts.
type marked struct {
	identity string
	writer   string // empty if the row does not say which server has written it
	begun    bool
	end      string // the digits after endMark, with it; empty if the row has no end
}

func parse(incarnation string) (m marked) {
	m.identity = IdentityOf(incarnation)
	rest, end, found := strings.Cut(incarnation, endMark)
	if found {
		m.end = endMark + end
	}
	rest, _, m.begun = strings.Cut(rest, BeginMark)
	_, m.writer, _ = strings.Cut(rest, writerMark)
	return m
}

// text returns the incarnation. It leaves out the writer if there is no room for it.
func (m marked) text() string {
	end := m.end
	if m.begun {
		end = BeginMark + end
	}
	text := m.identity + writerMark + m.writer + end
	if m.writer == "" || utf8.RuneCountInString(text) > maxText {
		return m.identity + end
	}
	return text
}

// EndOf returns the first integer that a row leaves to another stored counter, which
// its incarnation (its random text) contains; 0 if it leaves none.
func EndOf(incarnation string) int64 {
	_, digits, found := strings.Cut(incarnation, endMark)
	if !found {
		return 0
	}
	end, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 1 // the text was not written by this package, so the row keeps no integer
	}
	return max(end, 1)
}

// HasBegun reports whether the row with this incarnation (this random text) belongs to
// a sequence that was begun by StartAt.
func HasBegun(incarnation string) bool { return strings.Contains(incarnation, BeginMark) }

// WithBegin returns the incarnation (a row's random text), marked as belonging to a
// sequence that was begun by StartAt.
func WithBegin(incarnation string) string {
	m := parse(incarnation)
	m.begun = true
	return m.text()
}

// IdentityOf returns the part of an incarnation (a row's random text) that identifies
// the row, without its marks.
func IdentityOf(incarnation string) string {
	text := incarnation
	if i := strings.IndexAny(text, BeginMark+endMark+writerMark); i >= 0 {
		text = text[:i]
	}
	if characters := []rune(text); len(characters) > maxIdentity {
		return string(characters[:maxIdentity])
	}
	return text
}

// WithEnd returns the incarnation (the random text) of a row that leaves the integers
// from end on to another stored counter.
func WithEnd(incarnation string, end int64) string {
	m := parse(incarnation)
	m.end = endMark + strconv.FormatInt(end, 10)
	return m.text()
}

// Server joins the identity of a row, from its incarnation (its random text), and the
// identity of its server into one text.
func Server(incarnation, server any) string {
	return store.ServerOf(IdentityOf(store.Text(incarnation)), server)
}

// Hint returns a short text for the identity of a server, of 8 characters.
func Hint(server string) string {
	sum := sha256.Sum256([]byte(server))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

// WriterOf returns the [Hint] of the server that the row names as its writer; it is empty
// if the row names none.
func WriterOf(incarnation string) string { return parse(incarnation).writer }

// WithWriter returns the incarnation (the random text) of a row that names the server as its
// writer. It leaves the server out if a long end leaves no room for it.
func WithWriter(incarnation, server string) string {
	m := parse(incarnation)
	m.writer = Hint(server)
	return m.text()
}

// Answered returns what [Server] returns for a row and the server that has answered. If the
// row names another server as its writer, [store.ForeignMark] and the other one's [Hint]
// follow.
func Answered(incarnation, server any) string {
	text, at := store.Text(incarnation), store.Text(server)
	full := store.ServerOf(IdentityOf(text), at)
	_, writer, found := strings.Cut(text, writerMark)
	if !found || at == "" {
		return full
	}
	if i := strings.IndexAny(writer, BeginMark+endMark); i >= 0 {
		writer = writer[:i]
	}
	if writer == Hint(at) {
		return full
	}
	return full + store.ForeignMark + writer
}
