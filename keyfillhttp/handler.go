// Package keyfillhttp shows on a page what keyfill does in this process: the outcome of
// the INSERTs by table, what the sources have left and until when, and what needs an
// operator's attention.
//
//	m, err := keyfill.From(db)
//	mux.Handle("/debug/keyfill", keyfillhttp.Handler(m))
//
// The page is there only where a program mounts it. It names tables and sources, so it
// needs the same protection as net/http/pprof. It holds no key, no argument, no text of a
// query and no DSN, and changes nothing.
package keyfillhttp

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill"
)

//go:embed page.html
var pageText string

//go:embed page.css
var styleText string

var pageTemplate = template.Must(template.New("page").
	Funcs(template.FuncMap{"breakable": breakable, "count": count, "cell": newCell, "alarm": newAlarm, "causes": newCauses}).Parse(pageText))

// securityPolicy lets the page have its own style and nothing else: no script, no picture,
// no form, no frame around it, no request to anywhere.
var securityPolicy = "default-src 'none'; style-src 'sha256-" + digest(styleText) + "'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Handler returns a handler that answers GET and HEAD, on any path, with the state of a
// mount (keyfill's handle on a database): as HTML, or as JSON where the query says
// format=json or the header Accept prefers application/json. The query refresh=10 makes a
// browser ask again each ten seconds.
//
// The JSON is a [Report]. The handler asks no database,
// and is safe for concurrent use.
func Handler(m *keyfill.Mount) http.Handler {
	return handler(func() Report { return NewReport(m) })
}

// handler returns the handler that answers requests with the report that read returns.
func handler(read func() Report) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "keyfillhttp: this page is only read: send GET or HEAD", http.StatusMethodNotAllowed)
			return
		}
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("Content-Security-Policy", securityPolicy)
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Vary", "Accept")
		header.Set("X-Content-Type-Options", "nosniff")
		report := read()
		var body bytes.Buffer
		var err error
		if wantsJSON(r) {
			header.Set("Content-Type", "application/json; charset=utf-8")
			encoder := json.NewEncoder(&body)
			encoder.SetIndent("", "  ")
			err = encoder.Encode(report)
		} else {
			header.Set("Content-Type", "text/html; charset=utf-8")
			if every, ok := refreshOf(r); ok {
				header.Set("Refresh", strconv.Itoa(every))
			}
			err = pageTemplate.Execute(&body, newPage(report, r))
		}
		if err != nil { // an error here can only be a bug in this package
			http.Error(w, "keyfillhttp: the page cannot be made: report it with the version of keyfill", http.StatusInternalServerError)
			return
		}
		header.Set("Content-Length", strconv.Itoa(body.Len()))
		_, _ = body.WriteTo(w) // an error only says that the client has disconnected
	})
}

// refreshOf returns after how many seconds the query wants a browser to ask again, from
// 1 to 3600.
func refreshOf(r *http.Request) (seconds int, ok bool) {
	seconds, err := strconv.Atoi(r.URL.Query().Get("refresh"))
	return seconds, err == nil && seconds >= 1 && seconds <= 3600
}

// wantsJSON reports whether to answer in JSON: if the query says format=json, or,
// without a format, if the header Accept gives JSON a greater weight than HTML.
func wantsJSON(r *http.Request) bool {
	switch r.URL.Query().Get("format") {
	case "json":
		return true
	case "html":
		return false
	}
	weights := map[string]float64{}
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		kind, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		weight := 1.0
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			weight = q
		}
		weights[kind] = max(weights[kind], weight)
	}
	return weights["application/json"] > max(weights["text/html"], weights["application/xhtml+xml"])
}
