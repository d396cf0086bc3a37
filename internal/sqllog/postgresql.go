package sqllog

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// executed returns the text of a statement, if a message of PostgreSQL says that the
// statement was executed: exec_simple_query, exec_execute_message and check_log_duration in
// src/backend/tcop/postgres.c. Messages about a parse or a bind precede the message about
// the execution, and a message about a later fetch from a portal follows it; they are
// skipped.
func executed(message string) (text string, ok bool) {
	if rest, timed := strings.CutPrefix(message, "duration: "); timed {
		if _, message, timed = strings.Cut(rest, " ms  "); !timed {
			return "", false
		}
	}
	if text, ok = strings.CutPrefix(message, "statement: "); ok {
		return text, true
	}
	rest, ok := strings.CutPrefix(message, "execute ")
	if !ok || strings.HasPrefix(rest, "fetch from ") {
		return "", false
	}
	_, text, ok = strings.Cut(rest, ": ") // the text follows the name of the prepared statement
	return text, ok
}

// These are indexes of columns of csvlog, from 0, and the least number of columns:
// PostgreSQL 18 documentation, section 19.8.4. Later versions have more columns at the end.
const (
	csvSeverity = 11
	csvMessage  = 13
	csvColumns  = 23
)

// severities are the words that precede a message. A server with English messages writes no
// others.
var severities = []string{
	"LOG", "ERROR", "FATAL", "PANIC", "WARNING", "NOTICE", "INFO", "DEBUG",
	"DETAIL", "HINT", "QUERY", "CONTEXT", "LOCATION", "STATEMENT", "BACKTRACE",
}

// csvLog reads the statements in a csvlog of PostgreSQL.
type csvLog struct {
	*lines
	record []byte
}

func (c *csvLog) next() (Statement, error) {
	for {
		line, err := c.lines.next()
		if err != nil {
			return Statement{}, err
		}
		begun := c.number
		record := line
		if quotes := bytes.Count(line, []byte{'"'}); quotes%2 != 0 {
			// A quote in a field is doubled, so that a whole record has an even number of quotes.
			c.record = append(c.record[:0], line...)
			for quotes%2 != 0 {
				if line, err = c.lines.next(); err == io.EOF {
					return Statement{}, wrongLine(begun, CSV)
				} else if err != nil {
					return Statement{}, err
				}
				quotes += bytes.Count(line, []byte{'"'})
				if c.record, err = c.grow(c.record, line, begun); err != nil {
					return Statement{}, err
				}
			}
			record = c.record
		}
		record = withoutEnd(record)
		if len(record) == 0 {
			continue
		}
		severity, message, ok := csvFields(record)
		if !ok {
			return Statement{}, wrongLine(begun, CSV)
		}
		if string(severity) != "LOG" {
			continue
		}
		if text, ok := executed(unquoted(message)); ok {
			return Statement{text, begun}, nil
		}
	}
}

// csvFields returns the severity and the message of a record, as written, with their
// quotes.
func csvFields(record []byte) (severity, message []byte, ok bool) {
	n := 0
	for at := 0; at <= len(record); n++ {
		begin := at
		if at < len(record) && record[at] == '"' {
			for at++; at < len(record); at++ {
				if record[at] == '"' {
					if at++; at >= len(record) || record[at] != '"' {
						break
					}
				}
			}
		} else if i := bytes.IndexByte(record[at:], ','); i >= 0 {
			at += i
		} else {
			at = len(record)
		}
		if at < len(record) && record[at] != ',' {
			return nil, nil, false
		}
		switch n {
		case csvSeverity:
			severity = record[begin:at]
		case csvMessage:
			message = record[begin:at]
		}
		at++
	}
	return severity, message, n >= csvColumns
}

// unquoted returns the value of a field of CSV.
func unquoted(field []byte) string {
	if len(field) < 2 || field[0] != '"' {
		return string(field)
	}
	return strings.ReplaceAll(string(field[1:len(field)-1]), `""`, `"`)
}

// isCSV reports whether a line begins a csvlog. Only its first fields count, since its
// message may continue in the next line.
func isCSV(line string) bool {
	fields := strings.Split(line, ",")
	if len(fields) <= csvSeverity+1 || len(fields[0]) < len("2006-01-02 15:04:05.000 UTC") || fields[0][4] != '-' {
		return false
	}
	// The severity may be in a later field, since the name of a user or database in an
	// earlier field may hold a comma.
	for _, field := range fields[csvSeverity:] {
		for _, word := range severities {
			if field == word || word == "DEBUG" && strings.HasPrefix(field, word) {
				return true
			}
		}
	}
	return false
}

// jsonLog reads the statements in a jsonlog of PostgreSQL.
type jsonLog struct{ *lines }

func (j *jsonLog) next() (Statement, error) {
	for {
		line, err := j.lines.next()
		if err != nil {
			return Statement{}, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		severity, message, ok := jsonFields(bytes.TrimSpace(line))
		if !ok {
			return Statement{}, wrongLine(j.number, JSON)
		}
		if severity != "LOG" {
			continue
		}
		if text, ok := executed(message); ok {
			return Statement{text, j.number}, nil
		}
	}
}

// jsonFields returns the severity and the message of a line. In a string, PostgreSQL writes
// white space or a quote only after a backslash, so a field can be found by its name. Lines
// of other programs are parsed as JSON.
func jsonFields(line []byte) (severity, message string, ok bool) {
	severity, isFound := jsonField(line, `"error_severity":"`)
	if isFound && line[len(line)-1] == '}' {
		if severity != "LOG" {
			return severity, "", true
		}
		if message, isFound = jsonField(line, `"message":"`); isFound {
			return severity, message, true
		}
	}
	var record struct {
		Severity *string `json:"error_severity"`
		Message  string  `json:"message"`
	}
	if json.Unmarshal(line, &record) != nil || record.Severity == nil {
		return "", "", false
	}
	return *record.Severity, record.Message, true
}

// jsonField returns the text of the field that begins with a name, its colon and a quote.
func jsonField(line []byte, begin string) (text string, ok bool) {
	at := bytes.Index(line, []byte(begin))
	if at < 0 {
		return "", false
	}
	open := at + len(begin)
	escaped := false
	for i := open; i < len(line); i++ {
		switch line[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			if !escaped {
				return string(line[open:i]), true
			}
			return text, json.Unmarshal(line[open-1:i+1], &text) == nil
		}
	}
	return "", false
}

// stderrLog reads the stderr log. A message begins in a line that does not begin with a
// tab, and continues in the following lines that do: append_with_tabs in
// src/backend/utils/error/elog.c.
type stderrLog struct {
	*lines
	message []byte
}

func (s *stderrLog) next() (Statement, error) {
	for {
		line, err := s.lines.next()
		if err != nil {
			return Statement{}, err
		}
		at, is := severityIn(string(withoutEnd(line)))
		if is != "LOG" {
			continue
		}
		begun := s.number
		s.message = append(s.message[:0], withoutEnd(line)[at+len("LOG:  "):]...)
		for {
			if line, err = s.lines.next(); err == io.EOF {
				break
			} else if err != nil {
				return Statement{}, err
			}
			if line[0] != '\t' {
				s.back(line)
				break
			}
			if s.message, err = s.grow(append(s.message, '\n'), withoutEnd(line)[1:], begun); err != nil {
				return Statement{}, err
			}
		}
		if text, ok := executed(string(s.message)); ok {
			return Statement{text, begun}, nil
		}
	}
}

// severityIn returns the offset and the text of the first severity of a line; -1 and an
// empty text if it has none. The text before it is log_line_prefix.
func severityIn(line string) (at int, which string) {
	if line == "" || line[0] == '\t' {
		return -1, ""
	}
	for from := 0; ; {
		i := strings.Index(line[from:], ":  ")
		if i < 0 {
			return -1, ""
		}
		end := from + i
		begin := end
		for begin > 0 && ('A' <= line[begin-1] && line[begin-1] <= 'Z' || '1' <= line[begin-1] && line[begin-1] <= '5' && begin == end) {
			begin--
		}
		word := strings.TrimRight(line[begin:end], "12345")
		for _, one := range severities {
			if word == one && (one == "DEBUG" || word == line[begin:end]) {
				return begin, one
			}
		}
		from = end + 1
	}
}
