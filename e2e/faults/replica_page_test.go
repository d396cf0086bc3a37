package faults_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

const (
	replicasPage  = "../../docs/replicas.md"
	replicasBegin = "<!-- table of promotions: make replicas -->\n"
	replicasEnd   = "<!-- end of table of promotions -->\n"
	replicasHead  = "| servers | source | rows | lost | given twice | stored twice | errors of a loss | statements to run | first row of each process |\n|---|---|---|---|---|---|---|---|---|\n"
)

// row returns the row of the table.
func (o *replicaOutcome) row() string {
	return fmt.Sprintf("| %s | %s | %d | %d | %d | %d | %d | %d | %.1f s |\n",
		o.mode.title, o.kind, o.acknowledged, o.lost, o.again, o.twice, o.errors[replicaTold], o.remedies, o.first.Round(time.Millisecond).Seconds())
}

func replicasOnPage() (before, table, after string, err error) {
	text, err := os.ReadFile(replicasPage)
	if err != nil {
		return "", "", "", err
	}
	before, rest, found := strings.Cut(string(text), replicasBegin)
	table, after, closed := strings.Cut(rest, replicasEnd)
	if !found || !closed {
		return "", "", "", fmt.Errorf("%s has no table between %q and %q", replicasPage, replicasBegin, replicasEnd)
	}
	return before, table, after, nil
}

// writeReplicas writes the table into the page.
func writeReplicas(all []replicaOutcome) error {
	before, _, after, err := replicasOnPage()
	if err != nil {
		return err
	}
	var rows strings.Builder
	for _, o := range all {
		rows.WriteString(o.row())
	}
	return os.WriteFile(replicasPage, []byte(before+replicasBegin+replicasHead+rows.String()+replicasEnd+after), 0o644)
}

// TestReplicasPage: the table of docs/replicas.md has a row for each way and source, with the
// outcomes that TestPromoted demands. The figures in the table come from one run.
func TestReplicasPage(t *testing.T) {
	_, table, _, err := replicasOnPage()
	if err != nil {
		t.Fatal(err)
	}
	rows, found := strings.CutPrefix(table, replicasHead)
	if !found {
		t.Fatalf("%s has a table with another head: run make replicas", replicasPage)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(rows, "\n"), "\n")
	if len(lines) != len(replicaModes)*len(replicaKinds) {
		t.Fatalf("%d rows, want %d: run make replicas", len(lines), len(replicaModes)*len(replicaKinds))
	}
	for i, line := range lines {
		o := replicaOutcome{mode: replicaModes[i/len(replicaKinds)], kind: replicaKinds[i%len(replicaKinds)].name, errors: map[string]int{}}
		var told int
		rest, found := strings.CutPrefix(line, fmt.Sprintf("| %s | %s | ", o.mode.title, o.kind))
		if _, err := fmt.Sscanf(rest, "%d | %d | %d | %d | %d | %d |", &o.acknowledged, &o.lost, &o.again, &o.twice, &told, &o.remedies); err != nil || !found {
			t.Errorf("%q is no row of %s, %s: run make replicas", line, o.mode.title, o.kind)
		}
		o.errors[replicaTold] = told
		for _, wrong := range o.wrong() {
			t.Errorf("%s, %s: %v", o.mode.title, o.kind, wrong)
		}
	}
}
