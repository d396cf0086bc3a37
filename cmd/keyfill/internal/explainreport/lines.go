package explainreport

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/keyfill/keyfill/internal/explain"
)

// lineBuffer is the size of the buffers of input and output. A longer line is joined from
// several reads.
const lineBuffer = 1 << 16

// answerLines answers each line of in. It writes the answers before it waits for more input,
// so that another program can send a request and read the answer in turn.
func answerLines(x explain.Explainer, in io.Reader, out io.Writer) error {
	l := lines{r: bufio.NewReaderSize(in, lineBuffer), w: bufio.NewWriterSize(out, lineBuffer)}
	err := l.explain(x)
	return errors.Join(err, l.w.Flush())
}

// lines reads requests and writes answers. Its buffers are used again from line
// to line.
type lines struct {
	r      *bufio.Reader
	w      *bufio.Writer
	number int // the number of the line, from 1
	line   []byte
	answer []byte
	fields map[string]json.RawMessage
}

func (l *lines) explain(x explain.Explainer) error {
	for {
		if err := l.next(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if len(bytes.TrimSpace(l.line)) == 0 {
			continue
		}
		id, query, err := l.request()
		if err != nil {
			return fmt.Errorf("line %d: %w", l.number, err)
		}
		ex, err := x.Explain(query)
		if err != nil {
			return fmt.Errorf("line %d: %w", l.number, err)
		}
		l.answer = appendAnswer(l.answer[:0], id, &ex)
		if _, err := l.w.Write(l.answer); err != nil {
			return err
		}
	}
}

// next reads the next line, whatever its length, or returns io.EOF.
func (l *lines) next() error {
	l.line = l.line[:0]
	l.number++
	for {
		if l.r.Buffered() == 0 {
			if err := l.w.Flush(); err != nil {
				return err
			}
		}
		part, err := l.r.ReadSlice('\n')
		l.line = append(l.line, part...)
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(l.line) > 0:
			return nil
		}
		return err
	}
}

var errNotRequest = errors.New(`want a JSON object {"id":...,"sql":"..."}`)

// request parses the line and returns its id and its query. The error does not repeat the
// line.
func (l *lines) request() (id json.RawMessage, query string, err error) {
	clear(l.fields)
	// Use a map, not a struct: encoding/json would store a field "SQL" in the struct's
	// field "sql", but an unknown field has to be ignored.
	if err := json.Unmarshal(l.line, &l.fields); err != nil || l.fields == nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, "", fmt.Errorf("%w: byte %d: %v", errNotRequest, syntax.Offset, err)
		}
		return nil, "", errNotRequest
	}
	text := l.fields["sql"]
	if len(text) == 0 || text[0] != '"' {
		return nil, "", fmt.Errorf(`%w: "sql" is missing or not a string`, errNotRequest)
	}
	id, ok := l.fields["id"]
	if !ok {
		id = json.RawMessage("null")
	}
	return id, jsonUnquote(text), nil
}

// appendAnswer appends the line that answers a request. It does not use encoding/json,
// which replaces bytes that are not UTF-8.
func appendAnswer(b []byte, id json.RawMessage, ex *explain.Explanation) []byte {
	b = append(b, `{"id":`...)
	b = append(b, id...)
	return append(appendFields(b, ex), "}\n"...)
}

// appendFileAnswer appends the line for the explanation of a statement of a file.
func appendFileAnswer(b []byte, one *inputStatement, ex *explain.Explanation, hint string) []byte {
	b = append(b, `{"id":`...)
	b = appendJSONString(b, one.where())
	b = appendFields(b, ex)
	b = append(b, `,"file":`...)
	b = appendJSONString(b, one.file)
	b = append(b, `,"line":`...)
	b = strconv.AppendInt(b, int64(one.line), 10)
	if hint != "" {
		b = append(b, `,"hint":`...)
		b = appendJSONString(b, hint)
	}
	return append(b, "}\n"...)
}

// appendFields appends the fields of an explanation.
func appendFields(b []byte, ex *explain.Explanation) []byte {
	b = append(b, `,"action":`...)
	b = appendJSONString(b, ex.Action)
	b = append(b, `,"sql":`...)
	b = appendJSONString(b, ex.SQL)
	b = appendTable(b, ex.Table, ex.Column, ex.Rows)
	b = append(b, `,"slots":[`...)
	for i, s := range ex.Slots {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendSlot(b, s)
	}
	b = append(b, `],"literal":`...)
	b = strconv.AppendBool(b, ex.Literal)
	b = appendReason(b, ex.Reason, ex.Offset, ex.End)
	if len(ex.Inserts) > 0 {
		b = appendInserts(b, ex.Inserts)
	}
	if ex.Depends != "" {
		b = append(b, `,"depends":`...)
		b = appendJSONString(b, ex.Depends)
	}
	if ex.Numbers != "" {
		b = append(b, `,"numbers":`...)
		b = appendJSONString(b, ex.Numbers)
	}
	b = appendMade(b, ex.Made)
	for i, read := range ex.Reads {
		if i == 0 {
			b = append(b, `,"reads":[`...)
		} else {
			b = append(b, ',')
		}
		b = appendJSONString(b, read)
		if i == len(ex.Reads)-1 {
			b = append(b, ']')
		}
	}
	return b
}

// appendInserts appends the INSERTs of a text.
func appendInserts(b []byte, inserts []explain.Insert) []byte {
	b = append(b, `,"inserts":[`...)
	for i, in := range inserts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"action":`...)
		b = appendJSONString(b, in.Action)
		b = appendTable(b, in.Table, in.Column, in.Rows)
		b = append(appendMade(appendReason(b, in.Reason, in.Offset, in.End), in.Made), '}')
	}
	return append(b, ']')
}

func appendTable(b []byte, table, column string, rows *int) []byte {
	b = append(b, `,"table":`...)
	b = appendJSONString(b, table)
	b = append(b, `,"column":`...)
	b = appendJSONString(b, column)
	b = append(b, `,"rows":`...)
	if rows == nil {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, int64(*rows), 10)
}

func appendReason(b []byte, reason string, offset int, end string) []byte {
	b = append(b, `,"reason":`...)
	b = appendJSONString(b, reason)
	b = append(b, `,"offset":`...)
	b = strconv.AppendInt(b, int64(offset), 10)
	if end != "" {
		b = append(b, `,"end":`...)
		b = appendJSONString(b, end)
	}
	return b
}

func appendMade(b []byte, columns string) []byte {
	if columns == "" {
		return b
	}
	return appendJSONString(append(b, `,"made":`...), columns)
}

func appendSlot(b []byte, s explain.Slot) []byte {
	b = append(b, `{"arg":`...)
	b = strconv.AppendInt(b, int64(s.Arg), 10)
	b = append(b, `,"row":`...)
	b = strconv.AppendInt(b, int64(s.Row), 10)
	if s.Statement != 0 {
		b = append(b, `,"statement":`...)
		b = strconv.AppendInt(b, int64(s.Statement), 10)
	}
	if s.Column != "" {
		b = append(b, `,"column":`...)
		b = appendJSONString(b, s.Column)
	}
	return append(b, '}')
}
