package dialect_test

import (
	"fmt"

	"github.com/keyfill/keyfill/dialect"
)

func ExampleProduct() {
	p := dialect.ProductByName("cockroachdb")
	use, _ := dialect.UseOf("uuidv7", false)
	fmt.Println(p.Title, p.Advice[use].Fit)
	fmt.Println(p.Signs[0].Found("CockroachDB CCL v25.3.0"))
	// Output:
	// CockroachDB hot
	// true
}

func ExampleUse() {
	fmt.Println(dialect.UseScattered.Kinds())
	use, _ := dialect.UseOf("sequence", true)
	fmt.Println(use == dialect.UseJoined)
	// Output:
	// [scatter coprime pseudorandom]
	// true
}

func ExampleProductOf() {
	p, err := dialect.ProductOf(dialect.FamilyPostgreSQL, func(string) (string, error) {
		return "CockroachDB CCL v25.3.0 (x86_64-pc-linux-gnu)", nil
	})
	fmt.Println(p.Title, err)
	// Output: CockroachDB <nil>
}
