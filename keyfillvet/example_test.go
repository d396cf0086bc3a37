package keyfillvet_test

import (
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/keyfill/keyfill/keyfillvet"
)

// An analyzer for a program with several ones, whose list package multichecker takes.
func ExampleNew() {
	analyzers := []*analysis.Analyzer{keyfillvet.New(keyfillvet.Options{Dialect: "postgres", Dynamic: true})}
	for _, a := range analyzers {
		fmt.Println(a.Name, a.Flags.Lookup("dialect").Value, a.Flags.Lookup("dynamic").Value)
	}
	// Output: keyfill postgres true
}
