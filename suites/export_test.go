package suites

// Ended is ended.
func Ended(o *Outcome) { o.ended() }
