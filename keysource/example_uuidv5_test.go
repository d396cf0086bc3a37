package keysource_test

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/keysource"
)

func ExampleUUIDv5() {
	events := keysource.NewUUIDv5(uuid.MustParse("c2c8b1ae-5d0f-4ab0-9a5e-0d8f9c6a2b17"))
	key, err := events.Key("shop", int64(7))
	fmt.Println(uuid.UUID(key), err)
	// Output: 14f1c004-ffc9-5aeb-968d-24571b70be55 <nil>
}
