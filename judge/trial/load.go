package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/judge/tree"
)

// load returns an error unless the text of a filled bulk load is the input plus the key
// column as the last one, and the key is the last value of a row.
func (c *Court) load(query string, ex *explain.Explanation) error {
	added := `, "` + Column + `"`
	if c.dialect == "sqlserver" {
		added = `,"` + Column + `"`
	}
	before, after, found := strings.Cut(ex.SQL, added)
	if !found || before+after != query {
		return errors.New("the load is not the input and one column")
	}
	columns, err := c.loaded(ex.SQL)
	switch {
	case err != nil:
		return fmt.Errorf("the filled load: %w", err)
	case len(columns) < 2 || columns[len(columns)-1] != Column:
		return errors.New("the key is not the last column of the load")
	case ex.Literal || len(ex.Slots) != 1 || ex.Slots[0].Arg != len(columns):
		return fmt.Errorf("the slots are %+v for %d columns", ex.Slots, len(columns))
	}
	return nil
}

// loaded returns the columns of a bulk load, as the engine's parser or the
// driver reads them.
func (c *Court) loaded(query string) ([]string, error) {
	if c.dialect == "sqlserver" {
		var object struct{ ColumnsName []string }
		_, text, _ := strings.Cut(query, " ")
		err := json.Unmarshal([]byte(text), &object)
		return object.ColumnsName, err
	}
	text, err := c.parse(query)
	if err != nil {
		return nil, err
	}
	var columns []string
	for _, s := range text.Statements {
		s.Walk(func(n *tree.Node) {
			if n.Label != "Attlist" || columns != nil {
				return
			}
			for _, k := range n.Kids[0].Kids {
				columns = append(columns, lastLabel(k))
			}
		})
	}
	return columns, nil
}

// lastLabel returns the label of the last leaf below a node: a name.
func lastLabel(n *tree.Node) string {
	for len(n.Kids) > 0 {
		n = n.Kids[len(n.Kids)-1]
	}
	return n.Label
}
