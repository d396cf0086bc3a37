package scan_test

import (
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// The words of a text, without its strings and comments.
func ExampleNextToken() {
	d, text := dialect.PostgreSQL(), "SELECT 'a word' FROM t -- no word"
	for at := 0; at < len(text); {
		kind, end := scan.NextToken(d, text, at)
		if kind == scan.Word {
			fmt.Println(text[at:end])
		}
		at = end
	}
	// Output:
	// SELECT
	// FROM
	// t
}
