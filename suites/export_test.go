package suites

// NewProgram returns a program that has been built.
func NewProgram(s *Suite, file, place string) *Program {
	return &Program{suite: s, file: file, place: place}
}
