package stores_test

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// noNumber is what a draw has failed with where others had all workers' numbers.
const noNumber = "no number"

// closed stands where a draw has failed in the line that says how long a mount has waited
// for the end of its database. It is not a draw.
const closed = "closed"

// draw is a line of a journal: a key that was drawn, or why none was.
type draw struct {
	mount  int // of the process
	key    int64
	at     time.Time     // when it came, or failed
	waited time.Duration // for the key
	lost   uint64        // the leases that the mount had lost when it had the key
	failed string        // empty if there is a key
}

// line returns the line, which is written at once, so that a process that is killed
// leaves whole lines.
func (d draw) line() string {
	return fmt.Sprintf("%d %d %d %d %d %s\n", d.mount, d.key, d.at.UnixMicro(), d.waited.Microseconds(), d.lost, d.failed)
}

// readJournal returns what a process has written; nothing where it has not begun.
func readJournal(path string) ([]draw, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []draw
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "\n") {
			break // it is being written
		}
		var d draw
		var at, waited int64
		head, failed, _ := cutFields(strings.TrimSuffix(line, "\n"), 5)
		if _, err := fmt.Sscan(head, &d.mount, &d.key, &at, &waited, &d.lost); err != nil {
			return nil, fmt.Errorf("the line %q of a journal: %w", line, err)
		}
		d.at, d.waited, d.failed = time.UnixMicro(at), time.Duration(waited)*time.Microsecond, failed
		all = append(all, d)
	}
	return all, nil
}

// cutFields cuts a text after n fields with one space between them.
func cutFields(text string, n int) (head, rest string, found bool) {
	at := 0
	for range n {
		i := strings.IndexByte(text[at:], ' ')
		if i < 0 {
			return text, "", false
		}
		at += i + 1
	}
	return text[:at], text[at:], true
}
