// Package sqllog reads statements out of the logs of servers: csvlog, jsonlog and the
// stderr log of PostgreSQL, and the general log and the slow query log of MySQL and
// MariaDB.
//
//	format := sqllog.Detect(head)
//	for statement, err := range sqllog.Statements(format, file) { … }
//
// A statement is returned once for each execution. In PostgreSQL's logs these are the
// messages that log_statement, log_min_duration_statement and log_min_duration_sample
// write, in English (lc_messages); the parameters, which the server logs in DETAIL, are not
// read. MySQL and MariaDB write the values of a prepared statement into its text; the entry
// for its preparation is skipped.
//
// # Caveats
//
// A message of the stderr log begins after log_line_prefix, whatever that is. If a user can
// choose a part of the prefix, such as application_name, the user can make a line look like
// another one. MySQL writes the text of a statement into its logs as it is, so that a line
// in a statement can look like the beginning of the next one.
package sqllog

import (
	"bytes"
	"io"
	"iter"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
)

// Format is a kind of log.
type Format string

// The kinds of logs, as the command line names them.
const (
	CSV     Format = "csvlog"  // PostgreSQL 18 documentation, section 19.8.4
	JSON    Format = "jsonlog" // PostgreSQL 18 documentation, section 19.8.5; from PostgreSQL 15 on
	Stderr  Format = "stderr"  // section 19.8
	General Format = "general" // MySQL 8.4 Reference Manual, section 7.4.3
	Slow    Format = "slow"    // section 7.4.5
)

// Formats returns all kinds of logs.
func Formats() []Format { return []Format{CSV, JSON, Stderr, General, Slow} }

// Statement is one execution of a statement that a log has.
type Statement struct {
	Text string
	Line int // the line in which its message begins, from 1
}

// maxMessage is the greatest length in bytes of a message in a log.
const maxMessage = 64 << 20

// Statements returns the statements of a log, in order. It keeps one message in memory. An
// error ends the sequence: an error of the reader, or one about a message that cannot be
// read, which names the line.
func Statements(f Format, r io.Reader) iter.Seq2[Statement, error] {
	return statements(f, r, maxMessage)
}

// messages reads the statements of one kind of log.
type messages interface {
	// next returns the next statement, or io.EOF.
	next() (Statement, error)
}

func statements(f Format, r io.Reader, most int) iter.Seq2[Statement, error] {
	l := newLines(r, most)
	var m messages
	switch f {
	case CSV:
		m = &csvLog{lines: l}
	case JSON:
		m = &jsonLog{lines: l}
	case General:
		m = &generalLog{lines: l}
	case Slow:
		m = &slowLog{lines: l}
	default:
		m = &stderrLog{lines: l}
	}
	return func(yield func(Statement, error) bool) {
		for {
			one, err := m.next()
			if err == io.EOF || !yield(one, err) || err != nil {
				return
			}
		}
	}
}

// Detect returns the kind of the log that begins with head; empty if head begins no log of
// a known kind. A few hundred lines are enough.
func Detect(head []byte) Format {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), "\r\n")
	first, _, _ := bytes.Cut(head, []byte("\n"))
	switch {
	case bytes.HasPrefix(first, []byte("{")) && bytes.Contains(first, []byte(`"error_severity":`)):
		return JSON
	case isCSV(string(first)):
		return CSV
	}
	if at, _ := severityIn(string(first)); at >= 0 {
		return Stderr
	}
	for line := range bytes.Lines(head) {
		text := strings.TrimRight(string(line), "\r\n")
		switch {
		case isSlowHead([]byte(text)):
			return Slow
		case isGeneral(text):
			return General
		case !isBanner(text):
			return ""
		}
	}
	return ""
}

// isBanner reports whether a line is one of those that MySQL and MariaDB write at their
// start into the general log and the slow query log: the version, the port, and the
// names of the columns.
func isBanner(line string) bool {
	return line == "" || strings.Contains(line, ", Version: ") || strings.HasPrefix(line, "Tcp port: ") ||
		strings.HasPrefix(line, "TCP Port: ") || strings.HasPrefix(line, "Time  ") || strings.HasPrefix(line, "Time\t")
}

// wrongLine is the error of a line that does not belong to its kind of log.
func wrongLine(line int, f Format) error {
	return anchor.Errorf("command", "line %d: this is no line of a %s log: say the right --format, or cut the log where a message begins", line, f)
}
