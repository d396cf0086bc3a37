package dialect_test

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/dialect"
)

func ExampleSwap() {
	id := uuid.MustParse("01a21f73-9c00-7000-8000-000000000000")
	fmt.Printf("%x\n", dialect.Swap(id))
	// Output: 70009c0001a21f738000000000000000
}

func ExampleUnswap() {
	id := uuid.MustParse("01a21f73-9c00-7000-8000-000000000000")
	fmt.Println(uuid.UUID(dialect.Unswap(dialect.Swap(id))))
	// Output: 01a21f73-9c00-7000-8000-000000000000
}
