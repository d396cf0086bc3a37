package bench

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/ngrok/sqlmw"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// queryingDriver is a nullDriver that gives ten rows of five columns.
type queryingDriver struct{ nullDriver }

func (d *queryingDriver) Connect(context.Context) (driver.Conn, error) { return d, nil }
func (d *queryingDriver) Driver() driver.Driver                        { return d }
func (d *queryingDriver) OpenConnector(string) (driver.Connector, error) {
	return d, nil
}
func (d *queryingDriver) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &tenRows{}, nil
}

type tenRows struct{ read int }

var fiveColumns = []string{"a", "b", "c", "d", "e"}

func (r *tenRows) Columns() []string { return fiveColumns }
func (r *tenRows) Close() error      { return nil }
func (r *tenRows) Next(dest []driver.Value) error {
	if r.read++; r.read > 10 {
		return io.EOF
	}
	for i := range dest {
		dest[i] = int64(i)
	}
	return nil
}

// databases are a driver by itself, twice, behind sqlmw with an interceptor that
// does nothing, and behind keyfill.
func databases(b *testing.B) map[string]*sql.DB {
	d := &queryingDriver{}
	mw, err := sqlmw.Driver(d, sqlmw.NullInterceptor{}).(driver.DriverContext).OpenConnector("")
	if err != nil {
		b.Fatal(err)
	}
	kf, err := keyfill.WrapConnector(d, keyfill.Options{
		Policy: &policy.Config{
			Dialect: "postgres",
			Tables: map[string]policy.Table{
				"orders":   {Column: "id"},
				"invoices": {Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence}},
			},
		},
		Reservers: func(string) keysource.Reserver { return new(counter) },
	})
	if err != nil {
		b.Fatal(err)
	}
	all := map[string]*sql.DB{}
	for name, c := range map[string]driver.Connector{"raw": d, "again": d, "sqlmw": mw, "keyfill": kf} {
		db := sql.OpenDB(c)
		db.SetMaxOpenConns(1)
		b.Cleanup(func() { db.Close() })
		all[name] = db
	}
	return all
}

// ways are what BenchmarkRatio measures. An unseen text is another one each time.
var ways = []struct {
	name   string
	text   string
	args   []any
	rows   bool
	unseen bool
}{
	{name: "select", text: "SELECT id, customer, city, sum FROM orders WHERE customer = 1 AND id = 7"},
	{name: "update", text: "UPDATE orders SET customer = $1, city = $2, sum = $3 WHERE (id = 1007)", args: []any{1, "a street", 12345}},
	{name: "update-unseen", text: "UPDATE orders SET customer = $1, city = $2, sum = $3 WHERE (id = ", args: []any{1, "a street", 12345}, unseen: true},
	{name: "insert-elsewhere", text: "INSERT INTO elsewhere (customer, name, street, amount) VALUES ($1, $2, $3, $4)", args: []any{1, "a name", "a street and a town", 12345}},
	{name: "insert-elsewhere-unseen", text: "INSERT INTO elsewhere (customer, name, street, amount) VALUES ($1, $2, $3, $4), (1, 2, 3, ", args: []any{1, "a name", "a street and a town", 12345}, unseen: true},
	{name: "query-10x5", text: "SELECT id, customer, city, sum FROM orders WHERE customer = 1 AND id = 7", rows: true},
	{name: "filled-uuidv7", text: "INSERT INTO orders (customer, name, street, amount) VALUES ($1, $2, $3, $4)", args: []any{1, "a name", "a street and a town", 12345}},
	{name: "filled-block", text: "INSERT INTO invoices (customer, name, street, amount) VALUES ($1, $2, $3, $4)", args: []any{1, "a name", "a street and a town", 12345}},
}

// BenchmarkRatio is what a statement costs through database/sql, as a ratio to the
// driver by itself: every round takes each layer in turn, and the medians of their
// CPU times are compared. "raw/raw" is the driver compared with itself. Call it with
// -benchtime=25x: a round is one iteration.
func BenchmarkRatio(b *testing.B) {
	const perRound = 20000
	layers := []string{"raw", "again", "sqlmw", "keyfill"}
	for _, w := range ways {
		b.Run(w.name, func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			all := databases(b)
			texts := make([]string, perRound)
			next := 0
			took, allocs := map[string][]float64{}, map[string]uint64{}
			for round := range b.N + 1 { // the first one warms up
				for i := range layers {
					layer := layers[(round+i)%len(layers)]
					for i := range texts {
						if texts[i] = w.text; w.unseen {
							next++
							texts[i] += strconv.Itoa(next) + ")"
						}
					}
					runtime.GC()
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					start := processTime(b)
					for _, text := range texts {
						run(b, all[layer], text, w.args, w.rows)
					}
					spent := processTime(b) - start
					runtime.ReadMemStats(&after)
					if round > 0 {
						took[layer] = append(took[layer], float64(spent)/perRound)
						allocs[layer] += after.Mallocs - before.Mallocs
					}
				}
			}
			median := func(layer string) float64 {
				slices.Sort(took[layer])
				return took[layer][len(took[layer])/2]
			}
			per := float64(perRound * b.N)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median("raw"), "raw-ns")
			b.ReportMetric(median("again")/median("raw"), "raw/raw")
			b.ReportMetric(median("sqlmw")/median("raw"), "sqlmw/raw")
			b.ReportMetric(median("keyfill")/median("raw"), "keyfill/raw")
			b.ReportMetric(median("keyfill")/median("sqlmw"), "keyfill/sqlmw")
			b.ReportMetric((float64(allocs["keyfill"])-float64(allocs["raw"]))/per, "more-allocs")
		})
	}
}

func run(b *testing.B, db *sql.DB, text string, args []any, queried bool) {
	ctx := context.Background()
	if !queried {
		if _, err := db.ExecContext(ctx, text, args...); err != nil {
			b.Fatal(err)
		}
		return
	}
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		b.Fatal(err)
	}
	var c [5]int64
	for rows.Next() {
		if err := rows.Scan(&c[0], &c[1], &c[2], &c[3], &c[4]); err != nil {
			b.Fatal(err)
		}
	}
	if err := rows.Close(); err != nil {
		b.Fatal(err)
	}
}

// processTime is the CPU time that the process has used.
func processTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
