package trial_test

import (
	"testing"

	"github.com/keyfill/keyfill/internal/explain"
)

// TestLoad: a filled bulk load has the key column as its last one, and nothing
// else is another.
func TestLoad(t *testing.T) {
	slots := func(arg int) []explain.Slot { return []explain.Slot{{Arg: arg, Row: 1}} }
	const input, bulk = `COPY t (a, "b") FROM STDIN`, `INSERTBULK {"TableName":"t","ColumnsName":["a","b"],"Options":{}}`
	for _, tt := range []struct {
		name, dialect, query string
		ex                   explain.Explanation
		wrong                bool
	}{
		{"right", "postgres", input, explain.Explanation{SQL: `COPY t (a, "b", "kf_id") FROM STDIN`, Slots: slots(3)}, false},
		{"in front", "postgres", input, explain.Explanation{SQL: `COPY t (a, "kf_id", "b") FROM STDIN`, Slots: slots(3)}, true},
		{"another argument", "postgres", input, explain.Explanation{SQL: `COPY t (a, "b", "kf_id") FROM STDIN`, Slots: slots(2)}, true},
		{"more is changed", "postgres", input, explain.Explanation{SQL: `COPY t (a, b, "kf_id") FROM STDIN`, Slots: slots(3)}, true},
		{"behind the list", "postgres", input, explain.Explanation{SQL: `COPY t (a, "b") FROM STDIN, "kf_id"`, Slots: slots(3)}, true},
		{"literal", "postgres", input, explain.Explanation{SQL: `COPY t (a, "b", "kf_id") FROM STDIN`, Slots: slots(3), Literal: true}, true},
		{"right", "sqlserver", bulk, explain.Explanation{SQL: `INSERTBULK {"TableName":"t","ColumnsName":["a","b","kf_id"],"Options":{}}`, Slots: slots(3)}, false},
		{"in front", "sqlserver", bulk, explain.Explanation{SQL: `INSERTBULK {"TableName":"t","ColumnsName":["a","kf_id","b"],"Options":{}}`, Slots: slots(3)}, true},
		{"no JSON", "sqlserver", bulk, explain.Explanation{SQL: `INSERTBULK {"TableName":"t","ColumnsName":["a","b"],"kf_id","Options":{}}`, Slots: slots(3)}, true},
	} {
		t.Run(tt.dialect+" "+tt.name, func(t *testing.T) {
			tt.ex.Action = "fill"
			c := court(t, tt.dialect, func(string) (explain.Explanation, error) { return tt.ex, nil })
			if v := c.Try(tt.query); (v.Wrong != "") != tt.wrong {
				t.Errorf("verdict %+v", v)
			}
		})
	}
}

// TestLoadOwn: keyfill's own answers stand.
func TestLoadOwn(t *testing.T) {
	for _, tt := range []struct{ dialect, query, action string }{
		{"postgres", `copy t (a /* b */) from stdin with (format 'text') where a > 1;`, "fill"},
		{"postgres", `COPY t (a, kf_id) FROM STDIN`, "keep"},
		{"postgres", `COPY t FROM STDIN`, "refuse"},
		{"postgres", `COPY t (a) FROM STDIN WITH (FORMAT csv)`, "refuse"},
		{"sqlserver", `INSERTBULK {"TableName":"t","ColumnsName":["a"],"Options":{}}`, "fill"},
	} {
		if v := court(t, tt.dialect, nil).Try(tt.query); v.Action != tt.action || v.Wrong != "" || v.Missed {
			t.Errorf("%s: verdict %+v, want %s", tt.query, v, tt.action)
		}
	}
}
