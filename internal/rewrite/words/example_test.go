package words_test

import (
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// A text without the words that would make it our business needs no plan.
func ExampleConcerns() {
	d := dialect.PostgreSQL()
	fmt.Println(words.Concerns(d, "SELECT * FROM orders") == 0)
	fmt.Println(words.Concerns(d, "INSERT INTO orders (note) VALUES ('a')")&words.ConcernsInsert != 0)
	// Output:
	// true
	// true
}

// All questions about a text are answered at once.
func ExampleLeft() {
	left := effects.Leaves(dialect.PostgreSQL(), "INSERT INTO orders (name) VALUES (unheard_of($1))")
	fmt.Println(left&words.CatalogLeft != 0, left&words.PlaceLeft != 0)
	// Output: true false
}
