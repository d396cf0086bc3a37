package keysource

import (
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
)

// Composite writes the integers of a [Snowflake] as the composite keys of the
// article "Four Approaches to Surrogate Key Generation": decimal text whose first
// digits spread the rows over the index and whose others ascend with time.
//
//	125 20260602120000123           length 20: spread, UTC to the millisecond
//	125 20260602120000123 0042      length 24: and a counter
//	    yyyymmddhhmmssmmm
//
// Every part has all its digits, with leading zeros: the article's parts have as
// many as they need, so that two keys of different times can be equal, and keys
// do not sort by time; and its time is local, which comes twice in an autumn
// night, in steps of 1/300 s.
//
// The spread is the worker's number of the snowflake. A user's number is right
// too, as the article has it, where a [Snowflake] of that number is kept for it
// with a [Marker]; see [ParseSpread].
//
// No two integers have the same text, and the texts of one spread sort as the integers
// do. The Snowflake ensures that no integer is handed out twice. Of length 20 a spread
// has one key a millisecond: a statement of more rows takes the times that follow, up to
// three seconds ahead of the clock, or up to one without a [Marker], and then waits for
// it. Of length 24 it has 4,096.
type Composite struct {
	length int
	bits   SnowflakeBits
	format format
}

const (
	compositeShort = 20
	compositeLong  = 24

	spreadDigits = 3
	spreads      = 1000

	compositeTime = "20060102150405" // and three digits of milliseconds
	counterDigits = 4
)

// NewComposite returns the format of keys of 20 or 24 characters. It returns
// [ErrOptions].
func NewComposite(length int) (*Composite, error) {
	bits, err := CompositeBits(length)
	if err != nil {
		return nil, err
	}
	return &Composite{length, bits, bits.format()}, nil
}

// CompositeBits returns the bits of the snowflakes whose integers a [Composite]
// of that length writes: 41 of milliseconds since 2020, until 2089-09-06, 10 of
// the worker, of whose numbers 0 to 999 are allowed, and for length 24 another
// 12. It returns [ErrOptions].
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

// ParseSpread returns the spread that a text names, such as a value from the context: one
// to three digits, without leading zeros, so that one spread has one text. Any other text
// is an error that wraps [ErrOptions], and is never cut; the error does not repeat the
// text.
func ParseSpread(text string) (int, error) {
	n, ok := parseNumber(text)
	if !ok || len(text) > spreadDigits {
		return 0, anchor.Endf("%w: composite: the spread is not a number from 0 to 999 without zeros in front", ErrOptions)
	}
	return n, nil
}

// Bits returns the bits of the snowflakes, see [CompositeBits].
func (c *Composite) Bits() SnowflakeBits { return c.bits }

// Key returns the text of an integer of a snowflake with these bits, in every
// layout. It panics on any other integer.
func (c *Composite) Key(number int64, _ dialect.Layout) driver.Value {
	checkNumber(c, number)
	tick, worker, sequence := c.format.split(number)
	if worker >= spreads {
		panic(fmt.Sprintf("keysource: composite: spread %d has more than %d digits", worker, spreadDigits))
	}
	t := c.format.timeOf(tick)
	b := make([]byte, 0, c.length)
	b = appendDigits(b, worker, spreadDigits)
	b = t.AppendFormat(b, compositeTime)
	b = appendDigits(b, int64(t.Nanosecond())/int64(time.Millisecond), 3)
	if c.length == compositeLong {
		b = appendDigits(b, sequence, counterDigits)
	}
	return string(b)
}

// Last returns the greatest integer that there can be.
func (c *Composite) Last() int64 {
	return c.format.key(c.format.end<<c.format.sequenceBits-1, spreads-1)
}

// Range returns the least and the greatest text that a key of a spread, from 0 to
// 999, can be.
func (c *Composite) Range(spread int) (from, to string) {
	begin, rest := string(appendDigits(nil, int64(spread), spreadDigits)), c.length-spreadDigits
	return begin + strings.Repeat("0", rest), begin + strings.Repeat("9", rest)
}

// Parameters returns the length.
func (c *Composite) Parameters() string { return fmt.Sprintf("composite: length %d", c.length) }

// Number is the inverse of Key. It returns [ErrOtherKey] for a value that is no
// key of this length.
func (c *Composite) Number(text string) (int64, error) {
	part, ok := parseComposite(text)
	if !ok || len(text) != c.length || part.counter >= c.format.perTick() {
		return 0, anchor.Endf("%w: it is not %d digits of spread and time", ErrOtherKey, c.length)
	}
	tick := part.time.UnixMilli() - c.format.epoch
	if tick < 0 || tick >= c.format.end {
		return 0, anchor.Endf("%w: its time is not from 2020 to 2089", ErrOtherKey)
	}
	return c.format.key(tick<<c.format.sequenceBits|part.counter, part.spread), nil
}

// compositeParts is a composite key taken apart.
type compositeParts struct {
	spread, counter int64
	time            time.Time // UTC, whole milliseconds
}

// parseComposite takes a composite key of either length apart.
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

// digits returns the number that up to 18 digits say; 0 for none.
func digits(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // the error of none
	return n
}

// appendDigits appends n ≥ 0 with leading zeros.
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
