// Command linear measures what it costs to compile policies, for TestLinear of package
// policy.
package main

import (
	"log"
	"testing/fstest"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/steps"
	"github.com/keyfill/keyfill/policy"
)

// question is the text of a policy file.
type question struct {
	Dialect string
	Text    steps.Text
}

func main() {
	if err := steps.Answer(func(q question) (steps.Text, func(string)) {
		d, err := dialect.ByName(q.Dialect)
		if err != nil {
			log.Fatal(err)
		}
		return q.Text, func(text string) {
			cfg, err := policy.LoadFS(fstest.MapFS{"keyfill.yaml": {Data: []byte(text)}}, "keyfill.yaml")
			if err == nil {
				_, err = cfg.Compile(d)
			}
			if err != nil {
				_ = err.Error()
			}
		}
	}); err != nil {
		log.Fatal(err)
	}
}
