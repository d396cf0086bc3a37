package suites

// Download copies a module into a folder.
var Download = download

// NewProgram returns a program that has been built.
func NewProgram(s *Suite, file, place string) *Program {
	return &Program{suite: s, file: file, place: place}
}
