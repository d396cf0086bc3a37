package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// drawing returns the candidates in the order in which they are drawn.
//
// Each statement has the same chance, whatever it holds: the statements are shuffled by the
// seed, and one candidate of each is drawn.
func drawing(found []candidate, seed uint64) (drawn []candidate) {
	var statements [][]candidate
	type statement struct {
		file    string
		ordinal int
	}
	places := map[statement]int{}
	for _, c := range found {
		i, ok := places[statement{c.file, c.statement}]
		if !ok {
			i = len(statements)
			places[statement{c.file, c.statement}] = i
			statements = append(statements, nil)
		}
		statements[i] = append(statements[i], c)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(statements), func(i, j int) { statements[i], statements[j] = statements[j], statements[i] })
	for _, s := range statements {
		drawn = append(drawn, s[random.IntN(len(s))])
	}
	return drawn
}

// fileIndex has the blocks of each file, by folder of the package and name of the file.
type fileIndex map[place][]int

func blocksByFile(blocks []block) fileIndex {
	index := fileIndex{}
	for n, b := range blocks {
		p := place{short(b.Package), b.File}
		index[p] = append(index[p], n)
	}
	return index
}

// find returns the number of the block that a candidate's statement is in, and -1 if there
// is none.
func (index fileIndex) find(c candidate, blocks []block) int {
	best := -1
	for _, n := range index[place{c.Package, filepath.Base(c.file)}] {
		b := &blocks[n]
		if b.holds(c.line, c.col) && (best < 0 || cmp.Or(b.Line-blocks[best].Line, b.Col-blocks[best].Col) > 0) {
			best = n
		}
	}
	return best
}

// overlaps reports whether c and other change parts of the same text.
func (c *candidate) overlaps(other *candidate) bool {
	if c.file != other.file {
		return false
	}
	if c.before && other.before {
		return false
	}
	return c.start < other.end && other.start < c.end ||
		c.before && other.start < c.start && c.start < other.end ||
		other.before && c.start < other.start && other.start < c.end
}

// mutate writes candidates into a tree; the candidate with index i becomes the fault i. It
// returns the indexes of candidates with which the tree does not compile. If there are any,
// the tree has to be copied again.
func (t *tree) mutate(chosen []candidate) (bad []int, err error) {
	byFile := map[string][]int{}
	for i, c := range chosen {
		byFile[c.file] = append(byFile[c.file], i)
	}
	lines := map[int][2]int{} // the first and the last line of each change, by the index of its candidate
	originals := map[string][]byte{}
	for file, list := range byFile {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		originals[file] = text
		_, clause, err := readFunctions(text)
		if err != nil {
			return nil, err
		}
		edits := []edit{{clause, clause, importText}}
		for _, i := range list {
			edits = append(edits, edit{chosen[i].start, chosen[i].end, chosen[i].change(i)})
		}
		out := apply(text, edits)
		for _, i := range list {
			before := 1 + strings.Count(string(apply(text[:chosen[i].start], slices.DeleteFunc(slices.Clone(edits), func(e edit) bool { return e.end > chosen[i].start }))), "\n")
			lines[i] = [2]int{before, before + strings.Count(chosen[i].change(i), "\n")}
		}
		if err := os.WriteFile(file, out, 0o666); err != nil {
			return nil, err
		}
	}
	if err := t.insert(0); err != nil {
		return nil, err
	}
	for _, m := range t.productModules() {
		_, err := output(command(filepath.Join(t.root, m), "go", "build", "-gcflags=-e", "./..."))
		if err == nil {
			continue
		}
		found := compileErrors(err.Error(), filepath.Join(t.root, m))
		if len(found) == 0 {
			return nil, err
		}
		for _, e := range found {
			if len(byFile[e.file]) == 0 {
				return nil, err
			}
			i := slices.MinFunc(byFile[e.file], func(i, j int) int { return distance(lines[i], e.line) - distance(lines[j], e.line) })
			if !slices.Contains(bad, i) {
				bad = append(bad, i)
			}
		}
	}
	if len(bad) > 0 {
		for file, text := range originals {
			if err := os.WriteFile(file, text, 0o666); err != nil {
				return nil, err
			}
		}
	}
	return bad, nil
}

// productModules returns the folders of the modules with product code.
func (t *tree) productModules() (folders []string) {
	for _, p := range t.product {
		if !slices.Contains(folders, p.module) {
			folders = append(folders, p.module)
		}
	}
	return folders
}

// distance returns how far a line is from a range of lines.
func distance(lines [2]int, line int) int { return max(0, lines[0]-line, line-lines[1]) }

// compileError is a line in which the compiler has found an error.
type compileError struct {
	file string
	line int
}

var errorLine = regexp.MustCompile(`(?m)^([^\s:]+\.go):(\d+):\d+: `)

// compileErrors reads what "go build" has printed in a folder.
func compileErrors(text, dir string) (found []compileError) {
	for _, m := range errorLine.FindAllStringSubmatch(text, -1) {
		line, _ := strconv.Atoi(m[2]) // this never fails, since the expression matches only digits
		file := m[1]
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		found = append(found, compileError{file, line})
	}
	return found
}

// choose writes the first n of the drawn candidates into a tree. It leaves out candidates
// with which the tree does not compile, and those that overlap with a candidate drawn
// before.
func (t *tree) choose(drawn []candidate, n int) ([]candidate, error) {
	bad := map[key]bool{}
	for {
		var chosen []candidate
		for _, c := range drawn {
			if len(chosen) < n && !bad[c.key] && !slices.ContainsFunc(chosen, func(o candidate) bool { return c.overlaps(&o) }) {
				chosen = append(chosen, c)
			}
		}
		if len(chosen) < n {
			return nil, fmt.Errorf("of %d statements only %d make a fault", len(drawn), len(chosen))
		}
		indexes, err := t.mutate(chosen)
		if err != nil || len(indexes) == 0 {
			return chosen, err
		}
		for _, i := range indexes {
			bad[chosen[i].key] = true
		}
	}
}
