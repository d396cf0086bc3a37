package simdb

import (
	"database/sql/driver"
	"regexp"
	"strings"
)

// firstLook matches the query that reads all that is needed to open a sequence: the
// greatest key, the row of the sequence, and another row that names the column.
var firstLook = regexp.MustCompile(`(?s)^(?:/\*[^*]*\*/ )?SELECT k\.greatest, k\.hidden, s\.next_value, s\.incarnation, (.*), s\.table_name, s\.column_name, s\.parameters,
\(SELECT MIN\(o\.name\) FROM keyfill_sequences o WHERE ([^\n]*)\)(,\n.*)?
FROM \(SELECT MAX\((.*)\) AS greatest, (.*) AS hidden FROM (.*)\) k
LEFT JOIN keyfill_sequences s ON s\.name = (.*)$`)

// look holds the parts of a query that firstLook matches. One transaction answers all of
// them.
type look struct {
	keys, row, other *statement
	hints            bool // it asks for other servers too, of which there are none
}

// lookOf parses a query that firstLook matches. It returns nil for any other statement.
func lookOf(text string, parts map[string]func(key int64) int64) *statement {
	part := firstLook.FindStringSubmatch(text)
	if part == nil {
		return nil
	}
	server, where, hint, column, hidden, table, name := part[1], part[2], part[3], part[4], part[5], part[6], part[7]
	other := "SELECT MIN(name) FROM keyfill_sequences WHERE " + strings.ReplaceAll(where, "o.", "")
	keys := "SELECT MAX(" + column + "), " + hidden + " FROM " + table
	row := "SELECT next_value, incarnation, " + server + ", table_name, column_name, parameters FROM keyfill_sequences WHERE name = " + name
	first := strings.Count(other, "?")
	l := &look{hints: hint != "", other: parseFrom(other, 0, parts), keys: parseFrom(keys, first, parts), row: parseFrom(row, first+strings.Count(keys, "?"), parts)}
	outputs := append(append(append([]output{}, l.keys.outputs...), l.row.outputs...), l.other.outputs...)
	if l.hints {
		outputs = append(outputs, output{})
	}
	return &statement{text: text, verb: "select", table: l.keys.table, outputs: outputs, look: l}
}

func (l *look) answer(e *env) answer {
	answered := append([]driver.Value{}, l.keys.keys(e).rows[0]...)
	if rows := l.row.selectRows(e).rows; len(rows) > 0 {
		answered = append(answered, rows[0]...)
	} else {
		answered = append(answered, nil, nil, e.tx.Server(), nil, nil, nil)
	}
	answered = append(answered, l.other.selectRows(e).rows[0]...)
	if l.hints {
		answered = append(answered, int64(0))
	}
	return answer{rows: [][]driver.Value{answered}}
}
