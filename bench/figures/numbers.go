package figures

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/bench/engines"
	"github.com/keyfill/keyfill/internal/stats"
	"github.com/keyfill/keyfill/policy"
)

// plainJoined is the rival of [Numbers].
const plainJoined = "an integer, joined"

// formattedNumbers are the numbers of [Numbers], all of them joined.
var formattedNumbers = []struct {
	name   string
	format string
	period policy.Period
}{
	{"INV-00042", "INV-{n:05}", policy.Period{}},
	{"INV-2026-00042 by the clock", "INV-{year}-{n:05}", policy.Period{Every: policy.PeriodYear}},
	{"INV-2026-00042 by a date", "INV-{year}-{n:05}", policy.Period{Every: policy.PeriodYear, Column: "issued_on"}},
}

// Numbers measures the time of an INSERT whose number is a text, in comparison with one whose
// number is an integer. Both numbers are drawn in the transaction of the row.
func Numbers(ctx context.Context, r Run, e engines.Engine, connector driver.Connector) (all []Figure, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	joined := func(format string, period policy.Period) *policy.Source {
		return &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Transaction: policy.TransactionJoined, Format: format, Period: period}
	}
	tables := map[string]policy.Table{}
	columns := map[string]string{"numbers_plain": "BIGINT", "numbers_again": "BIGINT"}
	for table := range columns {
		tables[table] = policy.Table{Column: "id", InPlace: joined("", policy.Period{})}
	}
	for i, n := range formattedNumbers {
		table := fmt.Sprintf("numbers_%d", i)
		columns[table], tables[table] = "VARCHAR(20)", policy.Table{Column: "id", InPlace: joined(n.format, n.period)}
	}
	raw := sql.OpenDB(connector)
	filled, err := keyfill.OpenDB(connector, keyfill.Options{Policy: &policy.Config{Dialect: e.Dialect, Tables: tables}})
	if err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	defer func() { err = errors.Join(err, filled.Close(), raw.Close()) }()
	filled.SetMaxOpenConns(2) // rows of periods are made on a connection of their own
	var variants []Variant
	variant := func(name, table string) error {
		if _, err := raw.ExecContext(ctx, "CREATE TABLE "+table+" (id "+columns[table]+" NOT NULL PRIMARY KEY, issued_on DATE NOT NULL)"); err != nil {
			return err
		}
		run := execute(filled, "INSERT INTO "+table+" (issued_on) VALUES ('2026-06-01')")
		variants = append(variants, Variant{Name: name, Run: run, Setup: func(int) error { _, err := raw.ExecContext(ctx, "DELETE FROM "+table); return err }})
		return run(1) // makes the state (stored counter)
	}
	err = errors.Join(variant(plainJoined, "numbers_plain"), variant(plainJoined+again, "numbers_again"))
	for i, n := range formattedNumbers {
		err = errors.Join(err, variant(n.name, fmt.Sprintf("numbers_%d", i)))
	}
	if err != nil {
		return nil, err
	}
	samples, err := turns(moreRounds*r.Rounds, r.times(60), variants)
	if err != nil {
		return nil, err
	}
	control := stats.Of(stats.Ratios(samples[plainJoined+again].Wall, samples[plainJoined].Wall))
	for _, n := range formattedNumbers {
		all = append(all, Figure{What: fmt.Sprintf("%s, %s: time", e.Name, n.name), Against: plainJoined, Unit: Times, Control: &control,
			Bar: atMost(1.1), Optional: true,
			Value: stats.Of(stats.Ratios(samples[n.name].Wall, samples[plainJoined].Wall)),
			Note:  fmt.Sprintf("%.0f µs", stats.Of(samples[n.name].Wall).Median/1e3)})
	}
	return all, nil
}
