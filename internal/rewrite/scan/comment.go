package scan

import (
	"strings"
)

// dashes reports whether the two dashes at Pos open a comment. In MySQL they do so only
// before a space or control character (8.4 manual, section 11.7).
func (s *Scanner) dashes() bool {
	return !s.Dialect.Lexis.DashNeedsSpace || s.At(s.Pos+2) <= ' ' || s.At(s.Pos+2) == 0x7f
}

// line scans a comment that goes to the end of its line.
func (s *Scanner) line() Kind {
	i := strings.IndexByte(s.Text[s.Pos:], '\n')
	if s.Dialect.Lexis.ReturnEndsLine {
		i = strings.IndexAny(s.Text[s.Pos:], "\r\n")
	}
	if i >= 0 {
		s.Pos += i + 1
	} else {
		s.Pos = len(s.Text)
	}
	return Comment
}

// block scans a /* … */ comment from its slash.
func (s *Scanner) block() Kind {
	lex := &s.Dialect.Lexis
	if n := s.opensExecutable(); n > 0 {
		return s.executable(n)
	}
	depth := 1
	for i := s.Pos + 2; i+1 < len(s.Text); i++ {
		switch {
		case s.Text[i] == '*' && s.Text[i+1] == '/':
			depth--
			i++
			if depth == 0 || !lex.NestedComments {
				s.Pos = i + 1
				return Comment
			}
		case lex.NestedComments && s.Text[i] == '/' && s.Text[i+1] == '*':
			depth++
			i++
		}
	}
	s.Pos = len(s.Text)
	if lex.OpenComments {
		return Comment
	}
	return Broken
}

// opensExecutable returns the length of the characters at Pos that open an executable
// comment, such as /*!; zero if none opens there.
func (s *Scanner) opensExecutable() int {
	for _, open := range s.Dialect.Lexis.ExecutableComments {
		if strings.HasPrefix(s.Text[s.Pos:], open) {
			return len(open)
		}
	}
	return 0
}

// executable scans a comment whose text the engine runs, up to the first */ outside of the
// strings and comments in it. A comment without such a */ takes the rest of the text: a
// server that does not run the comment ends it at the first */ even inside a string, so the
// two kinds of server would read the rest differently.
func (s *Scanner) executable(open int) Kind {
	s.Pos += open
	s.digits() // the server version, as in /*!50700SELECT: a word may touch it
	for depth := 1; ; {
		if n := s.opensExecutable(); n > 0 {
			depth++
			s.Pos += n
			continue
		}
		switch t := s.Next(); t.Kind {
		case End, Broken:
			s.Pos = len(s.Text)
			return Executable
		case Punct:
			if s.Text[t.Start] == '*' && s.At(t.End) == '/' {
				s.Pos++
				if depth--; depth == 0 {
					return Executable
				}
			}
		}
	}
}
