package scan

// OpenBrackets is a stack of the brackets that are open, two bits for the kind of each. The
// bracket opened last is in the lowest bits. Of more than 32 open brackets, the outermost
// ones are forgotten.
type OpenBrackets uint64

// bracketKind returns 1, 2 or 3 for a round, square or curly bracket.
func bracketKind(c byte) OpenBrackets {
	switch c {
	case '(', ')':
		return 1
	case '[', ']':
		return 2
	}
	return 3
}

// Open pushes an opening bracket.
func (n *OpenBrackets) Open(c byte) { *n = *n<<2 | bracketKind(c) }

// Shut removes the bracket opened last, and reports whether the closing bracket c is of the
// same kind. Every engine refuses a query in which the kinds differ.
func (n *OpenBrackets) Shut(c byte) bool {
	last := *n & 3
	*n >>= 2
	return last == 0 || last == bracketKind(c)
}
