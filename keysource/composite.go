package keysource

import (
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/snowflakebits"
)

// Composite writes the integers of a snowflake as the composite keys of the
// article "Four Approaches to Surrogate Key Generation": decimal text whose first
// digits spread the rows over the index and whose others ascend with time.
//
//	125 20260602120000123           length 20: spread, UTC to the millisecond
//	125 20260602120000123 0042      length 24: and a counter
//	    yyyymmddhhmmssmmm
//
// Every part is padded with zeros, and the time is UTC. The article's parts have no
// leading zeros, so that two keys of different times can be equal and keys do not sort
// by time. Its time is local, so that an hour in autumn comes twice, and counts in
// steps of 1/300 s.
//
// The spread is the worker's number of the snowflake. It may also be the number of a
// user, as in the article, if the program keeps a snowflake with a [Marker] for each
// of these numbers; see [ParseSpread].
//
// No two integers have the same text, and the texts of one spread sort as the integers
// do. The snowflake ensures that no integer is handed out twice. With length 20, a
// spread has one key a millisecond: a statement of more rows uses the following
// milliseconds, up to three seconds ahead of the clock, or one without a [Marker], and
// then waits for the clock. With length 24, it has 4,096 keys a millisecond.
type Composite struct {
	length int
	bits   SnowflakeBits
	format snowflakebits.Format
}

const (
	compositeShort = 20
	compositeLong  = 24

	spreadDigits = 3
	spreads      = 1000

	compositeTime = "20060102150405" // three digits of milliseconds follow
	counterDigits = 4
)

// NewComposite returns the format of keys of 20 or 24 characters. For another length
// its error wraps [ErrOptions].
func NewComposite(length int) (*Composite, error) {
	bits, err := CompositeBits(length)
	if err != nil {
		return nil, err
	}
	return &Composite{length, bits, bits.format()}, nil
}

// CompositeBits returns the bits of the snowflakes whose integers a [Composite] of that
// length writes: 41 bits of milliseconds since 2020, which last until 2089-09-06; 10
// bits of the worker's number, which is at most 999; and for length 24 another 12 bits
// of a counter. For another length its error wraps [ErrOptions].
func CompositeBits(length int) (SnowflakeBits, error) {
	bits := SnowflakeBits{
		Time: 41, Worker: 10, Workers: spreads,
		Unit: time.Millisecond, Epoch: time.UnixMilli(snowflakeEpoch).UTC(),
	}
	switch length {
	case compositeShort:
	case compositeLong:
		bits.Sequence = 12
	default:
		return SnowflakeBits{}, anchor.Endf("%w: composite: a length of %d; there are %d and %d",
			ErrOptions, length, compositeShort, compositeLong)
	}
	return bits, nil
}

// ParseSpread returns the spread that a text stands for, such as a value from the
// context: one to three digits without leading zeros, so that one spread has one text.
// For any other text the error wraps [ErrOptions]; a text that is too long is never
// cut. The error does not repeat the text.
func ParseSpread(text string) (int, error) {
	n, ok := parseNumber(text)
	if !ok || len(text) > spreadDigits {
		return 0, anchor.Endf("%w: composite: the spread is not a number from 0 to 999 without leading zeros", ErrOptions)
	}
	return n, nil
}

// Bits returns the bits of the snowflakes whose integers c writes, see [CompositeBits].
func (c *Composite) Bits() SnowflakeBits { return c.bits }

// Key returns the text of number, an integer of a snowflake with these bits. The text
// is the same in every layout. Key panics if number is no such integer.
func (c *Composite) Key(number int64, _ dialect.Layout) driver.Value {
	checkNumber(c, number)
	tick, worker, sequence := c.format.Split(number)
	if worker >= spreads {
		panic(fmt.Sprintf("keysource: composite: spread %d has more than %d digits", worker, spreadDigits))
	}
	t := c.format.TimeOf(tick)
	b := make([]byte, 0, c.length)
	b = appendDigits(b, worker, spreadDigits)
	b = t.AppendFormat(b, compositeTime)
	b = appendDigits(b, int64(t.Nanosecond())/int64(time.Millisecond), 3)
	if c.length == compositeLong {
		b = appendDigits(b, sequence, counterDigits)
	}
	return string(b)
}

// Last returns the greatest integer that has a key.
func (c *Composite) Last() int64 {
	return c.format.Key(c.format.End<<c.format.SequenceBits-1, spreads-1)
}

// Range returns the least and the greatest text that a key of a spread, from 0 to 999,
// can have.
func (c *Composite) Range(spread int) (from, to string) {
	begin, rest := string(appendDigits(nil, int64(spread), spreadDigits)), c.length-spreadDigits
	return begin + strings.Repeat("0", rest), begin + strings.Repeat("9", rest)
}

// Parameters returns the length of the keys as text; see [Mapping].
func (c *Composite) Parameters() string { return fmt.Sprintf("composite: length %d", c.length) }

// Number returns the integer whose text is text. Its error wraps [ErrOtherKey] if text
// is no key of this length.
func (c *Composite) Number(text string) (int64, error) {
	part, ok := parseComposite(text)
	if !ok || len(text) != c.length || part.counter >= c.format.PerTick() {
		return 0, anchor.Endf("%w: it is not %d digits of spread and time", ErrOtherKey, c.length)
	}
	tick := part.time.UnixMilli() - c.format.Epoch
	if tick < 0 || tick >= c.format.End {
		return 0, anchor.Endf("%w: its time is not from 2020 to 2089", ErrOtherKey)
	}
	return c.format.Key(tick<<c.format.SequenceBits|part.counter, part.spread), nil
}

// compositeParts holds the parts of a composite key.
type compositeParts struct {
	spread, counter int64
	time            time.Time // UTC, whole milliseconds
}

// parseComposite splits a composite key of 20 or 24 characters into its parts.
func parseComposite(text string) (parts compositeParts, ok bool) {
	if len(text) != compositeShort && len(text) != compositeLong {
		return parts, false
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return parts, false
		}
	}
	at := spreadDigits + len(compositeTime)
	t, err := time.Parse(compositeTime, text[spreadDigits:at])
	if err != nil {
		return parts, false
	}
	parts.time = t.Add(time.Duration(digits(text[at:at+3])) * time.Millisecond)
	parts.spread = digits(text[:spreadDigits])
	parts.counter = digits(text[at+3:])
	return parts, true
}

// digits returns the number that up to 18 digits stand for, and 0 for an empty text.
func digits(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // fails only for an empty text
	return n
}

// appendDigits appends n ≥ 0 in decimal, padded with zeros to width digits.
func appendDigits(b []byte, n int64, width int) []byte {
	at := len(b)
	for range width {
		b = append(b, '0')
	}
	for i := at + width - 1; i >= at; i-- {
		b[i] += byte(n % 10)
		n /= 10
	}
	if n != 0 {
		panic(fmt.Sprintf("keysource: composite: %d more than %d digits hold", n, width))
	}
	return b
}
