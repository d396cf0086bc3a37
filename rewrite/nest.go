package rewrite

// nest is the brackets that are open, the last in the lowest bits. Of more than 32
// the first are forgotten.
type nest uint64

// bracketKind tells the kinds of brackets apart.
func bracketKind(c byte) nest {
	switch c {
	case '(', ')':
		return 1
	case '[', ']':
		return 2
	}
	return 3
}

func (n *nest) open(c byte) { *n = *n<<2 | bracketKind(c) }

// shut closes the last bracket, and reports whether it is closed by one of its
// kind: no engine takes another.
func (n *nest) shut(c byte) bool {
	last := *n & 3
	*n >>= 2
	return last == 0 || last == bracketKind(c)
}
