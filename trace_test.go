package keyfill_test

import (
	"bytes"
	"context"
	"database/sql/driver"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
)

// TestEventLogged: a log shows what an event says, and no zeros.
func TestEventLogged(t *testing.T) {
	for _, c := range []struct {
		event keyfill.Event
		want  string
	}{
		{keyfill.Event{
			Entry: "t*", Table: "t", Action: "fill", Offset: -1, Keys: 2, Kind: "sequence", Source: "t*.id", Way: "direct",
			Blocks: 1, Waited: 3 * time.Millisecond, Outcome: keyfill.Stored,
		}, "action=fill entry=t* table=t keys=2 kind=sequence source=t*.id way=direct blocks=1 waited=3ms outcome=stored"},
		{keyfill.Event{Entry: "t", Table: "t", Action: "refuse", Reason: "select", Offset: 0, Outcome: keyfill.NotStored, Failed: true},
			`action=refuse entry=t table=t reason=select offset=0 outcome="not stored" failed=true`},
		{keyfill.Event{Action: "pass", Offset: -1, Way: "as it came", Failed: true, Cause: keyfill.CauseEngine},
			`action=pass way="as it came" outcome=unknown failed=true cause=engine`},
	} {
		var b bytes.Buffer
		slog.New(slog.NewTextHandler(&b, nil)).Info("INSERT", "e", c.event)
		_, got, _ := strings.Cut(strings.TrimSpace(b.String()), "msg=INSERT ")
		if got = strings.ReplaceAll(got, "e.", ""); got != c.want {
			t.Errorf("logged is\n%s, want\n%s", got, c.want)
		}
	}
	var all keyfill.Event
	v := reflect.ValueOf(&all).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Uint8:
			f.SetUint(1)
		default:
			f.SetInt(1)
		}
	}
	if got := len(all.LogValue().Group()); got != v.NumField() {
		t.Errorf("%d of the %d fields of an event are logged: %v", got, v.NumField(), all.LogValue())
	}
}

// TestPassedAgain: an INSERT that goes out as it came counts once, however often
// database/sql sends it because the connection is bad, and an event says that it failed.
func TestPassedAgain(t *testing.T) {
	for query, action := range map[string]string{
		"INSERT INTO elsewhere (a) VALUES (1)":  "pass",
		"INSERT INTO t (id, a) VALUES ('k', 1)": "keep",
	} {
		bad := 1
		d := &fakeDriver{strength: contexts, exec: func(string, []driver.NamedValue) (driver.Result, error) {
			if bad--; bad >= 0 {
				return nil, driver.ErrBadConn
			}
			return nil, context.DeadlineExceeded
		}}
		db := open(t, d, config("sqlite"))
		m, err := keyfill.From(db)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 { // the second time the text is known
			bad = 1
			var told []keyfill.Event
			ctx := keyfill.WithTrace(t.Context(), func(e keyfill.Event) { told = append(told, e) })
			if _, err := db.ExecContext(ctx, query); err != context.DeadlineExceeded {
				t.Fatalf("%s: the error is %v", query, err)
			}
			if len(told) != 1 || told[0].Action != action || !told[0].Failed || told[0].Cause != keyfill.CauseCanceled || told[0].Outcome != keyfill.Unknown {
				t.Errorf("%s: told of %+v, want one INSERT that has failed", query, told)
			}
			stats := m.Stats()
			if counted := stats.Passed + stats.Tables["t"].Kept; counted != uint64(i+1) {
				t.Errorf("%s: %d statements are counted, want %d", query, counted, i+1)
			}
		}
	}
}
