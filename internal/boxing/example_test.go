package boxing_test

import (
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/boxing"
)

func ExampleIntegers() {
	fmt.Println(boxing.Integers(41, 3, ""))
	// Output: [41 42 43]
}

func ExampleAppendIntegers() {
	fmt.Printf("%q\n", boxing.AppendIntegers(nil, 41, 2, dialect.SequentialAsString))
	// Output: ["41" "42"]
}
