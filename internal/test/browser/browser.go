package browser

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// T is the part of *testing.T that is used here.
type T interface {
	Helper()
	Cleanup(func())
	TempDir() string
	Context() context.Context
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Skip(args ...any)
}

// Browser is a Chromium that is driven by the DevTools protocol over a pipe:
// JSON with a NUL byte after each message.
type Browser struct {
	t       T
	w       io.Writer
	session string

	mu      sync.Mutex
	id      int
	waiting map[int]chan devtools
	events  []devtools
	closed  error
}

// devtools is a message of the protocol.
type devtools struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// chromium finds the browser. In CI it must be there.
func chromium(t T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("no Chromium: install the package chromium, or name the program in CHROMIUM")
	}
	t.Skip("no Chromium: install the package chromium, or name the program in CHROMIUM")
	return ""
}

// Open starts a browser with one empty tab. It ends with the test. A Browser is
// for one goroutine.
func Open(t T) *Browser {
	t.Helper()
	path := chromium(t)
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
		"--user-data-dir="+t.TempDir(), "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	b := &Browser{t: t, w: in, waiting: make(map[int]chan devtools)}
	go b.read(out)
	t.Cleanup(func() {
		b.send("", "Browser.close", nil)
		gone := make(chan struct{})
		go func() { cmd.Wait(); close(gone) }()
		select {
		case <-gone: // before the folder of its profile is removed
		case <-time.After(15 * time.Second):
			cancel()
			<-gone
		}
		cancel()
		in.Close()
		out.Close()
	})
	var target struct{ TargetID string }
	b.Must("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.Must("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.Must(domain+".enable", nil, nil)
	}
	return b
}

// read takes what the browser says.
func (b *Browser) read(r io.Reader) {
	var rest []byte
	chunk := make([]byte, 1<<16)
	for {
		n, err := r.Read(chunk)
		rest = append(rest, chunk[:n]...)
		for {
			line, after, ok := bytes.Cut(rest, []byte{0})
			if !ok {
				break
			}
			var m devtools
			if json.Unmarshal(line, &m) == nil {
				b.handle(m)
			}
			rest = append([]byte(nil), after...)
		}
		if err != nil {
			b.mu.Lock()
			b.closed = err
			for _, w := range b.waiting {
				close(w)
			}
			b.waiting = nil
			b.mu.Unlock()
			return
		}
	}
}

func (b *Browser) handle(m devtools) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.ID == 0 {
		b.events = append(b.events, m)
		return
	}
	if w := b.waiting[m.ID]; w != nil {
		w <- m
		delete(b.waiting, m.ID)
	}
}

// send sends a command and returns where its answer will be.
func (b *Browser) send(session, method string, params any) (<-chan devtools, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed != nil {
		return nil, fmt.Errorf("the browser has gone: %w", b.closed)
	}
	b.id++
	if params == nil {
		params = struct{}{}
	}
	line, err := json.Marshal(map[string]any{"id": b.id, "method": method, "params": params, "sessionId": session})
	if session == "" {
		line, err = json.Marshal(map[string]any{"id": b.id, "method": method, "params": params})
	}
	if err != nil {
		return nil, err
	}
	w := make(chan devtools, 1)
	b.waiting[b.id] = w
	_, err = b.w.Write(append(line, 0))
	return w, err
}

// call performs a command and decodes its result.
func (b *Browser) call(method string, params, result any) error {
	answer, err := b.send(b.session, method, params)
	if err != nil {
		return err
	}
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return errors.New("the browser has gone")
		case m.Error != nil:
			return errors.New(m.Error.Message)
		case result != nil:
			return json.Unmarshal(m.Result, result) // names in any case
		}
		return nil
	case <-time.After(2 * time.Minute):
		return errors.New("no answer")
	}
}

// Must performs a command of the DevTools protocol and decodes its result, if it
// is wanted. A command that fails ends the test.
func (b *Browser) Must(method string, params, result any) {
	b.t.Helper()
	if err := b.call(method, params, result); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

// Load loads a page and waits until it is there.
func (b *Browser) Load(t T, address string) {
	t.Helper()
	b.t = t
	b.Must("Page.navigate", map[string]any{"url": "about:blank"}, nil)
	b.Must("Page.navigate", map[string]any{"url": address}, nil)
	b.Want(t, `new Promise(done => document.readyState === "complete" ? done(true) : addEventListener("load", () => done(true)))`, true)
}

// Eval evaluates an expression, and waits if it is a promise.
func (b *Browser) Eval(t T, expression string) any {
	t.Helper()
	b.t = t
	var out struct {
		Result           struct{ Value any }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	b.Must("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &out)
	if e := out.ExceptionDetails; e != nil {
		t.Fatalf("%s: %s %s", expression, e.Text, e.Exception.Description)
	}
	return out.Result.Value
}

// Want checks the value of an expression.
func (b *Browser) Want(t T, expression string, want any) {
	t.Helper()
	if n, ok := want.(int); ok {
		want = float64(n)
	}
	if got := b.Eval(t, expression); got != want {
		t.Errorf("%s is %v, want %v", expression, got, want)
	}
}

// Wait waits until an expression is true, even if other pages load meanwhile.
func (b *Browser) Wait(t T, expression string) {
	t.Helper()
	b.t = t
	var out struct {
		Result           struct{ Value any }
		ExceptionDetails *struct {
			Exception struct{ Description string }
		}
	}
	for until := time.Now().Add(time.Minute); ; {
		out.ExceptionDetails = nil
		err := b.call("Runtime.evaluate", map[string]any{"expression": "!!(" + expression + ")", "returnByValue": true}, &out)
		if err == nil && out.ExceptionDetails == nil && out.Result.Value == true {
			return
		}
		if time.Now().After(until) {
			why := ""
			if e := out.ExceptionDetails; e != nil {
				why = ": " + e.Exception.Description
			}
			t.Fatalf("%s does not become true%s (%v)", expression, why, err)
		}
		time.Sleep(20 * time.Millisecond) // between two looks at another process
	}
}

// Type enters a text where the focus is.
func (b *Browser) Type(text string) {
	b.t.Helper()
	b.Must("Input.insertText", map[string]any{"text": text}, nil)
}

// Offline takes the network away, or gives it back.
func (b *Browser) Offline(offline bool) {
	b.t.Helper()
	b.Must("Network.emulateNetworkConditions", map[string]any{"offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}, nil)
}

// Scripts allows scripts of pages, or forbids them. It counts from the next load on.
func (b *Browser) Scripts(allowed bool) {
	b.t.Helper()
	b.Must("Emulation.setScriptExecutionDisabled", map[string]any{"value": !allowed}, nil)
}

// Press presses a key.
func (b *Browser) Press(key string) {
	b.t.Helper()
	text := key
	if len(key) > 1 {
		text = ""
	}
	if key == "Enter" {
		text = "\r"
	}
	b.Must("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": key, "text": text}, nil)
	b.Must("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key}, nil)
}

// Resize sets the size of the window, and colours of the system.
func (b *Browser) Resize(width, height int, colours string) {
	b.t.Helper()
	b.Must("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.Must("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": colours}}}, nil)
}

// Screenshot writes what the window shows.
func (b *Browser) Screenshot(t T, path string) {
	t.Helper()
	var shot struct{ Data string }
	b.Must("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Complaints are errors of the page, and loads of anything but our own files.
func (b *Browser) Complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, e := range b.events {
		switch e.Method {
		case "Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled":
			all = append(all, e.Method+" "+string(e.Params))
		case "Network.requestWillBeSent":
			var sent struct{ Type string }
			if json.Unmarshal(e.Params, &sent); sent.Type != "Document" {
				all = append(all, "loads "+string(e.Params))
			}
		}
	}
	b.events = nil
	return all
}

// NoComplaints checks that the browser has not complained since the last time it was
// asked.
func (b *Browser) NoComplaints(t T) {
	t.Helper()
	for _, c := range b.Complaints() {
		t.Errorf("the browser complains: %s", c)
	}
}
