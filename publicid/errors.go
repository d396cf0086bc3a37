package publicid

import "github.com/keyfill/keyfill/internal/anchor"

// Errors about a text or a value that should be an id.
var (
	// ErrSyntax is returned for a text that is not a TypeID, and for a value of a column
	// that does not hold the ids of this type.
	ErrSyntax = anchor.Last("public-id", "publicid: not a TypeID")

	// ErrType is returned for a TypeID with another prefix: it is an id of another type.
	ErrType = anchor.Last("public-id", "publicid: an id of another type")

	// ErrVersion is returned for a UUID of another version than a [Mask] takes.
	ErrVersion = anchor.Last("public-id", "publicid: the UUID is of another version")

	// ErrText is returned for a text that is not the text of a [Number] under its secrets.
	ErrText = anchor.Last("public-id", "publicid: not the text of a number")

	// ErrNegative is returned for an integer that has no text.
	ErrNegative = anchor.Last("public-id", "publicid: a Number takes integers from 0 on: give one that is not negative")
)

// Errors about what a program declares.
var (
	// ErrPrefix is returned if the prefix of a [Type] is not one that TypeIDs can have.
	ErrPrefix = anchor.Last("public-id", "publicid: the prefix of the type cannot be used")

	// ErrSecret is returned for a secret that cannot be used.
	ErrSecret = anchor.Last("public-id", "publicid: the secret cannot be used")
)

var (
	errNotMasked   = anchor.Endf("%w: a masked id is a UUID of version 4: pass what Hide returned", ErrVersion)
	errOtherSecret = anchor.Endf("%w: it has another secret or purpose: use those with which it was made", ErrText)
	errCheck       = anchor.Endf("%w: its check character does not fit: look for a mistyped character", ErrText)
)
