package mapping_test

import (
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/mapping"
	"github.com/keyfill/keyfill/keysource"
)

// shortKeys is the mapping of these examples: six characters without upper case.
func shortKeys() *keysource.Coprime {
	m, err := keysource.NewCoprime(keysource.CoprimeOptions{Length: 6})
	if err != nil {
		panic(err)
	}
	return m
}

// The numbers of a sequence become keys that do not follow each other.
func ExampleKeys() {
	keys, err := mapping.Keys(shortKeys(), 1, 3, dialect.SequentialAsString)
	fmt.Println(keys, err)
	// Output: [krvqkf 7hqf6y vak6td] <nil>
}

func ExampleShare() {
	m := shortKeys()
	fmt.Printf("%.2f\n", mapping.Share(m, m.Last()/4))
	// Output: 0.25
}
