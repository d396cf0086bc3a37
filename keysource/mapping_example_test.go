package keysource_test

import (
	"fmt"

	"github.com/keyfill/keyfill/dialect"
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

// InspectAs returns which number a key has.
func ExampleInspectAs() {
	key := shortKeys().Key(1_000, dialect.SequentialAsString)
	reading, err := keysource.InspectAs(key.(string), shortKeys())
	fmt.Println(reading.Kind, reading.Number, err)
	// Output: coprime 1000 <nil>
}

func ExampleInspectSnowflake() {
	reading, err := keysource.InspectSnowflake("836134789539880960", keysource.SnowflakeBits{})
	fmt.Println(reading.Worker, reading.Sequence, err)
	// Output: 494 0 <nil>
}

func ExampleEndRemedy() {
	fmt.Println(keysource.EndRemedy(shortKeys()))
	// Output: grow: true, where the column holds 7 characters
}

// The step for all texts of six characters of 32.
func ExampleChooseK() {
	fmt.Println(keysource.ChooseK(1<<30, 32))
	// Output: 663608943
}

func ExampleParseSpread() {
	fmt.Println(keysource.ParseSpread("42"))
	_, err := keysource.ParseSpread("042")
	fmt.Println(err != nil)
	// Output:
	// 42 <nil>
	// true
}

func ExampleCompositeBits() {
	bits, err := keysource.CompositeBits(20)
	fmt.Println(bits.Numbers(), bits.End().Year(), err)
	// Output: 1000 2089 <nil>
}

// A program in JavaScript reads integers of 53 bits exactly.
func ExampleSnowflakeBits53() {
	bits := keysource.SnowflakeBits53()
	fmt.Println(bits.Width(), bits.Numbers(), bits.End().Year())
	// Output: 53 128 2074
}
