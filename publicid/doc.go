// Package publicid makes ids that people see: in URLs, in JSON, on invoices.
//
// [ID] is a UUID with a prefix that names its type, such as
// cus_01h455vb4pex5vsknk084sn02q (a TypeID, version 0.3.0 of its specification), for
// structs, columns and JSON. [Mask] hides the time in a UUIDv7, and [Number] the count in
// an integer. Both are keyed and reversible, so that no column for them is needed:
//
//	mask, err := publicid.NewMask("customers", secret)
//	masked, err := mask.Hide(key)       // for a URL: it looks like a random UUID
//	key, err := mask.Reveal(masked)     // for WHERE id = ?
//
// The values of this package know no database: the keys come from keyfill, or from
// elsewhere. docs/publicids.md leads from an empty folder to a masked id in a URL and back.
//
// # New secrets
//
// A program that changes the secret keeps the older ones, since ids under them are in use.
// It makes a [Mask] or a [Number] of all of them, whose method Candidates returns one
// restored key for each secret, the current one first:
//
//	keys, err := mask.Candidates(masked)
//	for _, key := range keys {
//		// SELECT … WHERE id = key, until there is such a row
//	}
//
// A masked id that a program sends is always made with the current secret.
//
// # Caveats
//
// An id is no proof of anything: whether the caller may read the row has to be checked as
// for any other id. [Mask] and [Number] say what each hides.
package publicid
