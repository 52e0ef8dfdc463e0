package browser

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// T is the part of *testing.T that is used here.
type T interface {
	long.T
	Cleanup(func())
	TempDir() string
	Context() context.Context
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Browser is one tab of a Chromium, with cookies, storage and a cache of its own.
// It is for one goroutine.
type Browser struct {
	t       T
	p       *process
	context string
	session string

	mu     sync.Mutex
	events []devtools
}

// devtools is a message of the protocol.
type devtools struct {
	ID      int             `json:"id"`
	Session string          `json:"sessionId"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Open starts a browser with one empty tab. It ends with the test.
func Open(t T) *Browser {
	t.Helper()
	p := start(t, t.TempDir())
	t.Cleanup(p.stop)
	return openTab(t, p)
}

// openTab opens a tab with a context of its own.
func openTab(t T, p *process) *Browser {
	t.Helper()
	b := &Browser{t: t, p: p}
	var made struct{ BrowserContextID, TargetID, SessionID string }
	b.Must("Target.createBrowserContext", nil, &made)
	b.context = made.BrowserContextID
	t.Cleanup(func() {
		_ = p.call("", "Target.disposeBrowserContext", map[string]any{"browserContextId": b.context}, nil) // it has gone with its browser
		p.leave(b.session)
	})
	b.Must("Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": b.context}, &made)
	b.Must("Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}, &made)
	b.session = made.SessionID
	p.enter(b)
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.Must(domain+".enable", nil, nil)
	}
	return b
}

// call performs a command in the tab and decodes its result.
func (b *Browser) call(method string, params, result any) error {
	return b.p.call(b.session, method, params, result)
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

// Offline disconnects the network, or restores it.
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

// Grant gives the pages of an origin permissions that they would have to ask for.
func (b *Browser) Grant(origin string, permissions ...string) {
	b.t.Helper()
	b.Must("Browser.grantPermissions", map[string]any{"origin": origin, "permissions": permissions, "browserContextId": b.context}, nil)
}

// Reported returns what the browser has reported of a kind since the last time that it was
// asked for complaints, such as "ServiceWorker.workerRegistrationUpdated".
func (b *Browser) Reported(method string) (all []json.RawMessage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if e.Method == method {
			all = append(all, e.Params)
		}
	}
	return all
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
