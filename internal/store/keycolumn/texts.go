package keycolumn

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/keyfill/keyfill/internal/store"
)

// Some columns hold the texts of numbers, as INV-2026-00042, and one column may hold the
// texts of several numberings. The greatest number of one of them is in its greatest text.
// An index of the column finds it: among texts of one length with the same characters before
// their digits, all collations agree on the order.

// greatestText returns the greatest number from one number to another one whose text is in
// the column. after follows the table's name in the query; columns and values restrict the
// rows.
func greatestText(ctx context.Context, k *KeyColumn, from, to int64, after string, columns []string, values []any) (int64, error) {
	x := k.Column.Texts
	if last := mostOf(x.Width); to > last {
		to = last
	}
	if from = max(from, 0); from > to {
		return 0, nil
	}
	w, c := &k.Store.Engine.Keys.Texts, k.Name()
	where := &conditions{of: k, args: slices.Clone(values)}
	for _, name := range columns {
		where.add(k.Store.Dialect.QuoteIdent(name) + " = " + where.nextPlace())
	}
	where.compare(c+" >= ", x.Prefix+digits(from, x.Width))
	where.compare(c+" <= ", x.Prefix+digits(to, x.Width))
	where.add(fmt.Sprintf(w.Length, c) + " = " + strconv.Itoa(utf8.RuneCountInString(x.Prefix)+x.Width))
	where.begins(x.Prefix)
	where.add(fmt.Sprintf(w.Digits, fmt.Sprintf(w.Right, c, x.Width)))
	row, err := k.ask(ctx, k.maxText()+after+where.text(), where.args)
	if err == nil {
		k.Hidden, err = k.Store.AreHidden(row)
	}
	if err != nil || row == nil || row[0] == nil {
		return 0, err
	}
	text := strings.TrimRight(store.Text(row[0]), " ") // a CHAR column fills up with spaces
	number, err := strconv.ParseInt(text[max(0, len(text)-x.Width):], 10, 64)
	if err != nil {
		return 0, k.Store.Failed(k.Column.String(), &store.Refused{Meaning: store.ErrColumn, Err: err})
	}
	return number, nil
}

// mostOf returns the greatest number of so many digits.
func mostOf(width int) int64 {
	n, _ := strconv.ParseInt(strings.Repeat("9", width), 10, 64)
	return n
}

// digits returns a number in so many digits.
func digits(n int64, width int) string { return fmt.Sprintf("%0*d", width, n) }

// conditions are the conditions of a query about texts.
type conditions struct {
	of   *KeyColumn
	all  []string
	args []any
	used int // how many of args have a place in the conditions
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

// compare adds a comparison with a text.
func (c *conditions) compare(with, text string) {
	c.args = append(c.args, text)
	c.add(with + c.nextPlace())
}

// begins adds that texts begin with a prefix; ends does the same for a suffix.
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
