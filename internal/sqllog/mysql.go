package sqllog

import (
	"bytes"
	"io"
	"strings"
)

// generalLog reads the general log. An entry is the time, which MariaDB leaves out if the
// previous entry has the same, the connection's number, the command, and after a tab the
// command's argument, which continues in the next lines as it is: MYSQL_QUERY_LOG::write in
// sql/log.cc of MySQL and of MariaDB.
type generalLog struct {
	*lines
	text []byte
}

func (g *generalLog) next() (Statement, error) {
	for {
		line, err := g.lines.next()
		if err != nil {
			return Statement{}, err
		}
		command, argument, ok := entry(string(line))
		// Prepare is skipped, since a prepared statement is logged again when it is executed.
		if !ok || command != "Query" && command != "Execute" {
			continue
		}
		begun := g.number
		g.text = append(g.text[:0], argument...)
		for {
			if line, err = g.lines.next(); err == io.EOF {
				break
			} else if err != nil {
				return Statement{}, err
			}
			if _, _, begins := entry(string(line)); begins || isStart(line) {
				g.back(line)
				break
			}
			if g.text, err = g.grow(g.text, line, begun); err != nil {
				return Statement{}, err
			}
		}
		if text := withoutEnd(g.text); len(text) > 0 {
			return Statement{string(text), begun}, nil
		}
	}
}

// commands are the names of commands in the general log: command_name in sql/sql_parse.cc
// of MySQL and of MariaDB.
var commands = []string{
	"Query", "Execute", "Prepare", "Close stmt", "Connect", "Quit", "Init DB", "Reset stmt", "Long Data", "Fetch",
	"Set option", "Ping", "Statistics", "Field List", "Create DB", "Drop DB", "Refresh", "Shutdown", "Processlist",
	"Connect Out", "Kill", "Debug", "Change user", "Binlog Dump", "Binlog Dump GTID", "Register Slave", "Register Replica",
	"Table Dump", "Daemon", "Delayed insert", "Sleep", "Time", "Reset Connection", "Reset connection", "Bulk Execute",
	"Bulk_execute", "Multi", "Clone", "Subscribe Group Replication Stream", "Error",
}

// entry returns the command of the entry that begins in a line, and the argument with the
// line's end. ok is false if no entry begins there.
func entry(line string) (command, argument string, ok bool) {
	rest := line
	switch {
	case strings.HasPrefix(rest, "\t\t"):
		rest = rest[2:] // MariaDB: the previous entry has the same time
	case len(rest) > 27 && rest[4] == '-' && rest[10] == 'T' && isDigits(rest[:4]):
		_, rest, ok = strings.Cut(rest, "\t") // skips a time such as 2026-01-02T03:04:05.678901Z, or a time with an offset
		if !ok {
			return "", "", false
		}
	case len(rest) > 16 && isDigits(rest[:6]) && rest[6] == ' ' && rest[15] == '\t':
		rest = rest[16:] // 260102  3:04:05
	default:
		return "", "", false
	}
	rest = strings.TrimLeft(rest, " ")
	n := 0
	for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
		n++
	}
	if n == 0 || n >= len(rest) || rest[n] != ' ' {
		return "", "", false
	}
	rest = rest[n+1:]
	command, argument, tab := strings.Cut(rest, "\t")
	command = strings.TrimRight(command, "\r\n")
	if !tab {
		argument = ""
	}
	for _, one := range commands {
		if command == one {
			return command, argument, true
		}
	}
	return "", "", false
}

func isDigits(text string) bool { return strings.Trim(text, "0123456789") == "" }

// isGeneral reports whether a line begins an entry of the general log.
func isGeneral(line string) bool {
	_, _, ok := entry(line)
	return ok
}

// isStart reports whether a line is the first that a server writes into its log after a
// start.
func isStart(line []byte) bool {
	return bytes.Contains(line, []byte(", Version: ")) && bytes.HasSuffix(withoutEnd(line), []byte("started with:"))
}

// slowLog reads the slow query log. Each statement follows lines that begin with #, USE
// if the database has changed, and SET timestamp.
type slowLog struct {
	*lines
	text []byte
}

func (s *slowLog) next() (Statement, error) {
	for {
		// Skip the lines before the statement.
		for {
			line, err := s.lines.next()
			if err != nil {
				return Statement{}, err
			}
			if bytes.HasPrefix(line, []byte("SET timestamp=")) {
				break
			}
		}
		begun := s.number + 1
		s.text = s.text[:0]
		for {
			line, err := s.lines.next()
			if err == io.EOF {
				break
			} else if err != nil {
				return Statement{}, err
			}
			if isSlowHead(line) || isStart(line) {
				s.back(line)
				break
			}
			if s.text, err = s.grow(s.text, line, begun); err != nil {
				return Statement{}, err
			}
		}
		text := bytes.TrimSuffix(withoutEnd(s.text), []byte(";"))
		if len(text) > 0 && !bytes.HasPrefix(text, []byte("# administrator command: ")) {
			return Statement{string(text), begun}, nil
		}
	}
}

// isSlowHead reports whether a line is the first of the lines before a statement: the line
// with the time, as in "# Time: 260102 3:04:05" or "# Time: 2026-01-02T03:04:05.678901Z",
// or the line with the user, if MariaDB leaves out a time that has not changed.
func isSlowHead(line []byte) bool {
	if rest, is := bytes.CutPrefix(line, []byte("# Time: ")); is {
		return len(rest) > 10 && isDigits(string(rest[:4])) && (rest[4] == '-' || isDigits(string(rest[4:6])) && rest[6] == ' ')
	}
	rest, is := bytes.CutPrefix(line, []byte("# User@Host: "))
	return is && bytes.Contains(rest, []byte("] @ "))
}
