package keycolumn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/keyfill/keyfill/internal/store"
)

// A column may hold the texts of numbers, as INV-2026-00042, and of several numberings. The
// greatest number of one numbering is in its greatest text. An index of the column finds it:
// all collations have one order for texts of one length that differ in their last digits
// alone.

// conditions are the conditions of a query about the rows of a column.
type conditions struct {
	of   *KeyColumn
	all  []string
	args []any
	used int  // how many of args have a place in the conditions
	none bool // no row can satisfy the conditions
}

func (c *conditions) add(condition string) { c.all = append(c.all, condition) }

// nextPlace returns the placeholder of the next argument.
func (c *conditions) nextPlace() string {
	c.used++
	place := c.of.Store.Engine.Words.Place
	if strings.Contains(place, "%") {
		return fmt.Sprintf(place, c.used)
	}
	return place
}

// numbers adds the conditions of the texts whose numbers are between from and to, both
// included.
func (c *conditions) numbers(from, to int64) {
	x, w, column := c.of.Column.Texts, &c.of.Store.Engine.Keys.Texts, c.of.Name()
	to = min(to, int64(math.Pow10(x.Width))-1)
	c.none = from > to
	for _, end := range []struct {
		comparison string
		number     int64
	}{{" >= ", from}, {" <= ", to}} {
		c.args = append(c.args, fmt.Sprintf("%s%0*d", x.Prefix, x.Width, end.number))
		c.add(column + end.comparison + c.nextPlace())
	}
	c.add(fmt.Sprintf(w.Length, column) + " = " + strconv.Itoa(utf8.RuneCountInString(x.Prefix)+x.Width))
	c.begins(x.Prefix)
	c.add(fmt.Sprintf(w.Digits, fmt.Sprintf(w.Right, column, x.Width)))
}

// begins adds the condition that texts begin with a prefix; ends does the same for a suffix.
func (c *conditions) begins(prefix string) { c.part(c.of.Store.Engine.Keys.Texts.Left, prefix) }

func (c *conditions) ends(suffix string) { c.part(c.of.Store.Engine.Keys.Texts.Right, suffix) }

func (c *conditions) part(of, text string) {
	if text == "" {
		return
	}
	part := fmt.Sprintf(of, c.of.Name(), utf8.RuneCountInString(text))
	c.args = append(c.args, text)
	c.add(fmt.Sprintf(c.of.Store.Engine.Keys.Texts.Equal, part, c.nextPlace()))
}

// text returns the conditions as a clause; it is empty if there are none.
func (c *conditions) text() string {
	if len(c.all) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.all, " AND ")
}

// numberOf returns the number of a key that a query has returned.
func numberOf(k *KeyColumn, v any) (int64, error) {
	if k.Column.Texts == nil {
		return store.Integer(v)
	}
	text := strings.TrimRight(store.Text(v), " ") // a CHAR column fills up with spaces
	return strconv.ParseInt(text[max(0, len(text)-k.Column.Texts.Width):], 10, 64)
}

// unread returns [store.ErrTextsUnread] if rows that conditions leave have texts whose greatest
// number cannot be found.
func unread(ctx context.Context, k *KeyColumn, where *conditions) error {
	used, err := usedWhere(ctx, k, where)
	if used && err == nil {
		err = k.Store.Failed(k.Column.String(), &store.Refused{Meaning: store.ErrTextsUnread, Err: errors.New(k.Table())})
	}
	return err
}
