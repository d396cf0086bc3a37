package testbrowser_test

import (
	"bytes"
	"image/png"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/testbrowser"
)

// TestOpen: a page is shown as wide as the screen and in its colours, and what the page
// asks for and what it must not do are seen.
func TestOpen(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' http://elsewhere.example")
		_, _ = w.Write([]byte(`<!doctype html><title>A page</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<style>body{background:white} @media (prefers-color-scheme:dark){body{background:black}}</style>
<img src="/mine.png"><img src="http://elsewhere.example/theirs.png"><script>document.title='Changed'</script>`))
	}))
	defer server.Close()
	page := testbrowser.Start(t).Open(t, server.URL, testbrowser.View{Width: 390, Height: 844, Phone: true})
	for _, dark := range []bool{false, true} {
		page.Resize(t, testbrowser.View{Width: 390, Height: 844, Phone: true, Dark: dark})
		var got struct {
			Title, Colour string
			Width         int
		}
		page.Eval(t, "({title: document.title, colour: getComputedStyle(document.body).backgroundColor, width: innerWidth})", &got)
		colour := "rgb(255, 255, 255)"
		if dark {
			colour = "rgb(0, 0, 0)"
		}
		if got.Title != "A page" || got.Colour != colour || got.Width != 390 {
			t.Errorf("dark %v: the page is %+v, want the title that its script may not change, %s and 390 pixels", dark, got, colour)
		}
		picture, err := png.Decode(bytes.NewReader(page.Screenshot(t)))
		if err != nil || picture.Bounds().Dx() != 390 {
			t.Errorf("the screenshot is %v wide, error %v", picture.Bounds(), err)
		} else if r, _, _, _ := picture.At(389, 800).RGBA(); (r == 0) != dark {
			t.Errorf("dark %v: the screenshot has red %d", dark, r)
		}
	}
	for _, want := range []string{server.URL + "/", server.URL + "/mine.png", "http://elsewhere.example/theirs.png"} {
		if !slices.Contains(page.Requests(), want) {
			t.Errorf("the page asked for %q, want %s among them", page.Requests(), want)
		}
	}
	messages := strings.Join(page.Messages(), "\n")
	for _, want := range []string{"Content Security Policy", "404", "ERR_NAME_NOT_RESOLVED"} {
		if !strings.Contains(messages, want) {
			t.Errorf("the browser says %q, want %s", messages, want)
		}
	}
}
