package trial

import (
	"regexp"
	"slices"
	"strings"
)

// A temporary table is not the configured table of the same name: an INSERT into it after
// its CREATE in the same text is passed.

var (
	created  = regexp.MustCompile(`(?i)\bcreate\s+(?:or\s+replace\s+)?(?:global\s+|local\s+)?temp(?:orary)?\s+table\s+(?:if\s+not\s+exists\s+)?([\w."` + "`" + `]+)`)
	inserted = regexp.MustCompile(`(?i)\b(?:insert|replace)(?:\s+\w+)*?\s+into\s+([\w."` + "`" + `]+)`)
)

// temporaries returns how many INSERTs of a text are into a temporary table that
// it has made before.
func temporaries(query string) (n int) {
	var made []string
	var at []int
	for _, m := range created.FindAllStringSubmatchIndex(query, -1) {
		made, at = append(made, bare(query[m[2]:m[3]])), append(at, m[0])
	}
	for _, m := range inserted.FindAllStringSubmatchIndex(query, -1) {
		i := slices.Index(made, bare(query[m[2]:m[3]]))
		if i >= 0 && at[i] < m[0] {
			n++
		}
	}
	return n
}

func bare(name string) string { return strings.ToLower(strings.Trim(name, "\"`")) }
