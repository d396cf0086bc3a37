package publicid_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/publicid"
)

// Invoice names the type of an invoice's ids.
type Invoice struct{}

func (Invoice) Prefix() string { return "inv" }

// InvoiceID is how the rest of a program calls them.
type InvoiceID = publicid.ID[Invoice]

func ExampleID() {
	id := publicid.FromUUID[Invoice](uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057"))
	text, err := json.Marshal(map[string]InvoiceID{"invoice": id})
	fmt.Println(string(text), err)
	_, err = publicid.Parse[Invoice]("cus_01h455vb4pex5vsknk084sn02q")
	fmt.Println(err)
	// Output:
	// {"invoice":"inv_01h455vb4pex5vsknk084sn02q"} <nil>
	// publicid: an id of another type: use an id that begins with inv_ [docs/errors.md#public-id]
}

// The ids of a day: WHERE id >= low AND id < high.
func ExampleBounds() {
	day := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	low, high, err := publicid.Bounds[Invoice](day, day.AddDate(0, 0, 1))
	fmt.Println(low, high, err)
	// Output: inv_01m8fq7700e008000000000000 inv_01m8j9ky00e008000000000000 <nil>
}

// A URL shows the masked id. A program reads its secrets, of random bytes, from where it has
// its passwords. With a new secret the old one stays valid for reading.
func ExampleMask() {
	old, current := []byte("16 random bytes "), []byte("and 16 other ones")
	before, err := publicid.NewMask("invoices", old)
	if err != nil {
		fmt.Println(err)
		return
	}
	masked, err := before.Hide(uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057"))
	fmt.Println(masked, err)

	mask, err := publicid.NewMask("invoices", current, old)
	if err != nil {
		fmt.Println(err)
		return
	}
	keys, err := mask.Candidates(masked)
	fmt.Println(keys[1], err)
	// Output:
	// 46c5703f-514b-41ab-bd3b-b9b49b222aa2 <nil>
	// 01890a5d-ac96-774b-bcce-b302099a8057 <nil>
}

func ExampleNumber() {
	numbers, err := publicid.NewNumber("orders", []byte("16 random bytes "))
	if err != nil {
		fmt.Println(err)
		return
	}
	for order := range int64(3) {
		fmt.Println(numbers.Hide(order + 1))
	}
	// Output:
	// HfUcQvhBS3zZ <nil>
	// R9fx6AXWLHay <nil>
	// cNBDESCknTr8 <nil>
}
