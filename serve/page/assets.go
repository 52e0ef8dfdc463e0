package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/claude-agent-go/claude/internal/show"
)

// The parts of the page.
//
//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

//go:embed events.js
var eventsJS string

//go:embed events.d.ts
var eventsTypes string

//go:embed markdown.js
var markdownJS string

//go:embed attach.js
var attachJS string

//go:embed several.js
var severalJS string

//go:embed sw.js
var workerJS string

//go:embed app.webmanifest
var manifest []byte

// The icons for phones, drawn by TestIcons.
//
//go:embed icon-*.png
var icons embed.FS

// icon is the icon of the page, and iconDot its variant while an approval is pending.
const (
	icon    = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#2b5fd9"/><path d="M9 11l5 5-5 5M16 22h8" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/></svg>`
	iconDot = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#2b5fd9"/><path d="M9 11l5 5-5 5M16 22h8" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/><circle cx="25" cy="7" r="7" fill="#e5484d"/></svg>`
)

// asset is a file that does not change while the program runs.
type asset struct {
	kind    string
	content []byte
	packed  []byte // by gzip
	version string
}

type assets struct{ byName map[string]asset }

// loadAssets returns the files, which are compressed once in a program.
var loadAssets = sync.OnceValues(packAssets)

func packAssets() (*assets, error) {
	all := map[string]asset{
		"page.css":        {kind: "text/css; charset=utf-8", content: []byte(show.Style + pageCSS)},
		"page.js":         {kind: "text/javascript; charset=utf-8", content: []byte(asObject(eventsJS) + markdownJS + attachJS + severalJS + pageJS)},
		"events.js":       {kind: "text/javascript; charset=utf-8", content: []byte(eventsJS)},
		"sw.js":           {kind: "text/javascript; charset=utf-8", content: []byte(workerJS)},
		"events.d.ts":     {kind: "text/plain; charset=utf-8", content: []byte(eventsTypes)},
		"icon.svg":        {kind: "image/svg+xml", content: []byte(icon)},
		"icon-dot.svg":    {kind: "image/svg+xml", content: []byte(iconDot)},
		"app.webmanifest": {kind: "application/manifest+json", content: manifest},
	}
	pictures, err := icons.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("claude: serve: page: %w", err)
	}
	for _, p := range pictures {
		content, err := icons.ReadFile(p.Name())
		if err != nil {
			return nil, fmt.Errorf("claude: serve: page: %w", err)
		}
		all[p.Name()] = asset{kind: "image/png", content: content}
	}
	a := &assets{make(map[string]asset)}
	for name, f := range all {
		sum := sha256.Sum256(f.content)
		f.version = hex.EncodeToString(sum[:6])
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err == nil {
			_, err = w.Write(f.content)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			return nil, fmt.Errorf("claude: serve: page: %s: %w", name, err)
		}
		f.packed = packed.Bytes()
		a.byName[name] = f
	}
	return a, nil
}

// asObject makes a script of the module events.js: an object with what it exports. The
// page is one script, so that it is loaded at once.
func asObject(module string) string {
	inside := strings.ReplaceAll(module, "\nexport ", "\n")
	return "\"use strict\";\nconst events = (() => {\n" + inside + "return { names, begin, read, reduce, shown };\n})();\n"
}

// address returns the address of a file, which changes with its content.
func (a *assets) address(name string) string {
	return "/static/" + name + "?v=" + a.byName[name].version
}

// serve sends a file.
func (a *assets) serve(w http.ResponseWriter, r *http.Request) { a.send(w, r, r.PathValue("name")) }

// worker sends the script that works while the page is closed.
func (a *assets) worker(w http.ResponseWriter, r *http.Request) { a.send(w, r, "sw.js") }

func (a *assets) send(w http.ResponseWriter, r *http.Request, name string) {
	f, ok := a.byName[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == f.version {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	content := f.content
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		content = f.packed
	}
	_, _ = w.Write(content) // the reader has gone
}
