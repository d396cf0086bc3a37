// Command reference prints docs/reference.md, the page about the fields of the policy
// file. It reads the JSON Schema of the file and nothing else: what the page says of a
// field is written there. "make reference" writes the page.
//
//	go run ./internal/reference >docs/reference.md
package main

import (
	"fmt"
	"os"

	"github.com/keyfill/keyfill/policy"
)

func main() {
	page, err := pageOf(policy.Schema())
	if err == nil {
		_, err = os.Stdout.WriteString(page)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}
