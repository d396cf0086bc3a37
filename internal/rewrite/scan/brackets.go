package scan

// OpenBrackets holds the kinds of the open brackets, the last one in the lowest bits.
// When more than 32 are open, it forgets the first ones.
type OpenBrackets uint64

// bracketKind returns a number for the kind of bracket.
func bracketKind(c byte) OpenBrackets {
	switch c {
	case '(', ')':
		return 1
	case '[', ']':
		return 2
	}
	return 3
}

// Open opens a bracket.
func (n *OpenBrackets) Open(c byte) { *n = *n<<2 | bracketKind(c) }

// Shut closes the last bracket, and reports whether c is of the same kind: every engine
// refuses another kind.
func (n *OpenBrackets) Shut(c byte) bool {
	last := *n & 3
	*n >>= 2
	return last == 0 || last == bracketKind(c)
}
