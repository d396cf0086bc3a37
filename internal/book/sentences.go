package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

var (
	helpText  = regexp.MustCompile("(?s)Help *= `([^`]*)`")
	between   = regexp.MustCompile(`([.?!])\s+`)
	codeSpan  = regexp.MustCompile("(^|[^`])`[^`]+`")
	plainWord = regexp.MustCompile(`\pL{2,}`)
	listItem  = regexp.MustCompile(`^\s*(?:[-*]|\d+\.) `)
)

// sentence is a sentence, a cell of a table or the text of an error.
type sentence struct {
	where, text string
}

// printSentences prints n different sentences of the pages and of the texts of help, which a
// generator draws that is seeded with the name of a commit: the same ones each time.
func printSentences(out io.Writer, tree fs.FS, seed string, n int) error {
	all, err := sentences(tree)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewChaCha8(sha256.Sum256([]byte(seed))))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	fmt.Fprintf(out, "%d of %d sentences, drawn by %s\n", min(n, len(all)), len(all), seed)
	for _, s := range all[:min(n, len(all))] {
		fmt.Fprintf(out, "%s: %s\n", s.where, s.text)
	}
	return nil
}

// sentences returns the different sentences of the pages and of the help, in the order of
// the pages' names.
func sentences(tree fs.FS) (all []sentence, err error) {
	names, err := pages(tree)
	if err != nil {
		return nil, err
	}
	commands, err := fs.Glob(tree, "cmd/keyfill/*.go")
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, name := range slices.Concat(names, commands) {
		text, err := fs.ReadFile(tree, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, s := range sentencesOf(name, string(text)) {
			if !seen[s] {
				seen[s] = true
				all = append(all, sentence{name, s})
			}
		}
	}
	return all, nil
}

// sentencesOf returns the sentences of a page, or of the texts of help in a file of Go.
// Fewer than four words of letters beside code are none.
func sentencesOf(name, text string) (all []string) {
	if path.Ext(name) == ".go" {
		var helps []string
		for _, m := range helpText.FindAllStringSubmatch(text, -1) {
			helps = append(helps, m[1])
		}
		text = strings.Join(helps, "\n\n")
	}
	text = remark.ReplaceAllString(fence.ReplaceAllString(text, "\n\n"), "\n\n")
	for _, block := range paragraphs(text) {
		block = strings.Join(strings.Fields(target.ReplaceAllString(block, "]")), " ")
		for _, s := range strings.Split(between.ReplaceAllString(block, "$1\n"), "\n") {
			if len(plainWord.FindAllString(codeSpan.ReplaceAllString(s, "$1"), 4)) == 4 {
				all = append(all, s)
			}
		}
	}
	return all
}

// paragraphs returns the paragraphs of a text, the items of its lists and the cells of its
// tables. Titles are left out.
func paragraphs(text string) (all []string) {
	open := false // the last one may go on in the next line
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		first, _ := utf8.DecodeRuneInString(strings.TrimSpace(line))
		switch {
		case first == '|':
			all = append(all, strings.Split(line, "|")...)
			open = false
		case first == utf8.RuneError || first == '#':
			open = false
		case open && !listItem.MatchString(line):
			all[len(all)-1] += " " + line
		default:
			all = append(all, listItem.ReplaceAllString(line, ""))
			open = true
		}
	}
	return all
}
