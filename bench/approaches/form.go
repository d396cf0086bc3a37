package approaches

// Form is how rows are inserted and committed.
type Form struct {
	Name    string // the form's name in environment variables and in -run
	Title   string // in headings
	Durable bool   // whether a commit is on the disk before it is confirmed
	Held    int    // how many statements follow the INSERT in its transaction
}

// Forms are the forms of the measured transactions.
func Forms() []Form {
	const held = 4
	return []Form{
		{Name: "durable", Title: "each commit synced to disk, one INSERT a transaction", Durable: true},
		{Name: "nosync", Title: "without sync, one INSERT a transaction"},
		{Name: "durable-held", Title: "each commit synced to disk, an INSERT and 4 UPDATEs of other rows a transaction", Durable: true, Held: held},
		{Name: "nosync-held", Title: "without sync, an INSERT and 4 UPDATEs of other rows a transaction", Held: held},
	}
}
