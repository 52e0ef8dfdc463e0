package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission/policy"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/client"
)

// start runs "claudectl serve" until the test ends, and returns a browser that is
// logged in, and the address.
func startServe(t *testing.T, args ...string) (*http.Client, string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		var errors bytes.Buffer
		code := run(ctx, append([]string{"--json", "serve"}, args...), strings.NewReader(""), writer, &errors, append(os.Environ(), "USER=ada"))
		_ = writer.CloseWithError(io.EOF)
		ended <- code
	}()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("the server ends with %d", code)
		}
	})
	var said struct{ URL, Login string }
	if err := json.NewDecoder(reader).Decode(&said); err != nil {
		t.Fatal(err)
	}
	_, token, _ := strings.Cut(said.Login, "#t=")
	token, err := url.QueryUnescape(token)
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	res, err := client.Post(said.URL+"/v1/login", "application/json", strings.NewReader(`{"token":"`+token+`"}`))
	if err != nil || res.StatusCode != http.StatusNoContent {
		t.Fatalf("login: %v, %v", res, err)
	}
	return client, said.URL
}

// load returns a page.
func load(t *testing.T, c *http.Client, address string) string {
	t.Helper()
	res, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", address, res.StatusCode, err)
	}
	return string(body)
}

// Within ten seconds of the command there are conversations, an approval and a
// diff, without an account.
func TestServeDemo(t *testing.T) {
	began := time.Now()
	client, base := startServe(t, "--demo")
	for {
		res, err := client.Get(base + "/v1/approvals?state=pending")
		if err != nil {
			t.Fatal(err)
		}
		var list struct {
			Items []struct{ Kind, Tool, Diff string }
		}
		err = json.NewDecoder(res.Body).Decode(&list)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		diff := false
		for _, a := range list.Items {
			diff = diff || strings.Contains(a.Diff, "+Run the tests with")
		}
		if len(list.Items) == 3 && diff {
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Fatalf("after %v: %+v", time.Since(began), list.Items)
		}
		<-time.After(10 * time.Millisecond)
	}
	// A person sees all of it: three cards, one of them with the diff, and four
	// conversations.
	for path, want := range map[string]struct {
		text  string
		times int
	}{"/": {`data-pending="`, 3}, "/?": {`<pre class="diff`, 1}, "/h": {`<a href="/c/`, 4}} {
		if got := strings.Count(load(t, client, base+path), want.text); got != want.times {
			t.Errorf("%s has %d times %s, want %d", path, got, want.text, want.times)
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	t.Log("after", time.Since(began))
	for _, path := range []string{"/", "/new"} {
		if body := load(t, client, base+path); !strings.Contains(body, "<code>~/shop</code>") || strings.Contains(body, "<code>"+os.TempDir()) {
			t.Errorf("%s does not show the directory as people know it", path)
		}
	}
}

// A server that others could reach in the clear is refused.
func TestServeRefusesOpenAddresses(t *testing.T) {
	for name, args := range map[string][]string{
		"all networks":             {"--listen", "0.0.0.0:0"},
		"all networks, no host":    {"--listen", ":0"},
		"all networks of IPv6":     {"--listen", "[::]:0"},
		"all networks and a proxy": {"--listen", "0.0.0.0:0", "--behind-proxy", "--host", "a.example"},
		"another network":          {"--listen", "192.0.2.1:0"},
		"no name":                  {"--listen", "192.0.2.1:0", "--behind-proxy"},
		"a certificate alone":      {"--tls-cert", "cert.pem"},
		"a header from anybody":    {"--proxy-user-header", "Remote-User"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), append([]string{"serve", "--demo"}, args...), strings.NewReader(""), &stdout, &stderr, os.Environ())
			if code != int(exitUsage) || stdout.Len() > 0 {
				t.Errorf("exit code %d, %s%s", code, &stdout, &stderr)
			}
		})
	}
}

// A mistake in the file of presets is named with its line.
func TestServePresetsFile(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"not JSON":        {"{\n\"presets\": [\n}", ":3: "},
		"no presets":      {"{}", ":1: the file has no presets"},
		"a wrong member":  {"{\n\"preset\": []}", ":2: unknown member \"preset\""},
		"a wrong name":    {"{\"presets\": [\n{\"name\": \"a\",\n\"root\": []}]}", ":3: a preset has no member \"root\""},
		"a wrong form":    {"{\"presets\": [\n{\"name\": \"a\",\n\n\"roots\": \"/\"}]}", ":4: roots has the wrong form"},
		"no roots":        {"{\"presets\": [\n\n{\"name\": \"a\"}]}", ":3: "},
		"a wrong mode":    {"{\"presets\": [{\"name\": \"a\", \"roots\": [\"/\"], \"mode\": \"yolo\"}]}", ":1: preset \"a\": unknown permission mode \"yolo\""},
		"no such root":    {"{\"presets\": [{\"name\": \"a\", \"roots\": [\"/nowhere/at/all\"]}]}", "/nowhere/at/all"},
		"a relative root": {"{\"presets\": [{\"name\": \"a\", \"roots\": [\"x\"]}]}", "is not an absolute path"},
		"twice":           {"{\"presets\": [{\"name\": \"a\", \"roots\": [\"/\"]},\n{\"name\": \"a\", \"roots\": [\"/\"]}]}", ":2: there are two presets"},
		"a name twice":    {"{\"presets\": [{\"name\": \"a\",\n\"roots\": [\"/\"],\n\"name\": \"b\"}]}", ":3: the name \"name\" occurs twice"},
		"not UTF-8":       {"{\"presets\": [{\"name\": \"a\",\n\"description\": \"caf\xe9\"}]}", ":2: "},
		"cut off":         {"{\"presets\": [\n{\"name\":", ":2: the JSON value is not complete"},
		"a wrong folder":  {"{\"presets\": [\n{\"name\": \"a\", \"roots\": [\"/\"], \"workspace\": \"worktree\"}]}", ":2: preset \"a\": unknown workspace \"worktree\": it can be folders, worktrees, snapshots or none"},
		"a name with ..":  {"{\"presets\": [{\"name\": \"..\", \"roots\": [\"/\"]}]}", ":1: claude: serve: preset \"..\""},
		"a wrong rule":    {"{\"presets\": [{\"name\": \"a\", \"roots\": [\"/\"], \"allowed_tools\": [\"Bash(\"]}]}", "allowed_tools"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, "presets.json")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), []string{"serve", "--store", dir, "--presets", file}, strings.NewReader(""), &stdout, &stderr, os.Environ())
			if code != int(exitFormat) || !strings.Contains(stderr.String(), c.want) {
				t.Errorf("exit code %d, %s, want %q", code, &stderr, c.want)
			}
		})
	}
}

// "serve login" and "serve token" let people and programs in, from another
// process than the server's.
func TestServeLoginAndToken(t *testing.T) {
	dir := t.TempDir()
	presets := filepath.Join(dir, "presets.json")
	if err := os.WriteFile(presets, []byte(`{"presets":[{"name":"a","roots":["`+filepath.ToSlash(dir)+`"]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	said := func(args ...string) (string, int) {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr, append(os.Environ(), "USER=bob"))
		return strings.TrimSpace(stdout.String()), code
	}
	db := filepath.Join(dir, "store")
	if _, code := said("serve", "login", "--store", db); code != int(exitInput) {
		t.Errorf("a login to no server: exit code %d", code)
	}
	_, base := startServe(t, "--store", db, "--presets", presets)
	link, code := said("serve", "login", "--store", db, "--role", "viewer")
	if code != 0 || !strings.HasPrefix(link, base+"/login#t=") {
		t.Errorf("exit code %d, %s", code, link)
	}
	token, code := said("serve", "token", "ci", "--store", db, "--role", "viewer")
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	c, err := client.New(client.Options{URL: base, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := c.Info(t.Context()); err != nil || info.User.Name != "bob" || info.User.Role != api.RoleViewer {
		t.Errorf("%+v, %v", info, err)
	}
}

// The server reports which CLI it uses, even after an update, and starts none to
// find out.
func TestServeCLIVersion(t *testing.T) {
	dir := t.TempDir()
	cli, about, mark := filepath.Join(dir, "claude"), filepath.Join(dir, "package.json"), filepath.Join(dir, "started")
	if runtime.GOOS == "windows" {
		cli += ".exe"
	}
	if err := os.WriteFile(cli, []byte("#!/bin/sh\n: >'"+mark+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	client, base := startServe(t, "--store", filepath.Join(dir, "store"), "--cli", cli)
	for _, version := range []string{"", "2.1.300", "2.1.325"} {
		if version != "" {
			if err := os.WriteFile(about, []byte(`{"name":"@anthropic-ai/claude-code","version":"`+version+`"}`), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		body := load(t, client, base+"/v1/server")
		var info struct{ CLI string }
		if err := json.Unmarshal([]byte(body), &info); err != nil || info.CLI != version {
			t.Errorf("it says %q, %v, want %q", info.CLI, err, version)
		}
		if has := strings.Contains(body, `"cli"`); has != (version != "") {
			t.Errorf("it has the member: %v, for the version %q", has, version)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the CLI was started")
	}
}

// Presets that share a directory keep their own rules, whichever comes first in the
// file; where the preset is unknown, a person is asked.
func TestServeRulesOfPresets(t *testing.T) {
	dir := t.TempDir()
	text := `{"presets":[{"name":"strict","roots":["` + filepath.ToSlash(dir) + `"]},{"name":"loose","roots":["` + filepath.ToSlash(dir) + `"],"allowed_tools":["Bash(go test:*)"]}]}`
	p := &servePresets{rules: make(map[string]*policy.Rules)}
	if err := p.parse(&console{}, "", []byte(text)); err != nil {
		t.Fatal(err)
	}
	call := &hook.PreToolUseInput{Base: hook.Base{Cwd: dir}, ToolBase: hook.ToolBase{ToolName: "Bash", ToolInput: json.RawMessage(`{"command":"go test ./..."}`)}}
	for preset, want := range map[string]bool{"strict": true, "loose": false, "gone": true, "": true} {
		p.of = func(context.Context) (string, error) { return preset, nil }
		if reason, asks := p.needs(t.Context(), call); asks != want {
			t.Errorf("preset %q asks: %v (%s), want %v", preset, asks, reason, want)
		}
	}
	p.of = func(context.Context) (string, error) { return "loose", nil }
	for where, want := range map[string]bool{filepath.Join(dir, "sub"): false, t.TempDir(): true, "": true} {
		_ = os.Mkdir(filepath.Join(dir, "sub"), 0o700) // it may be there
		call.Cwd = where
		if reason, asks := p.needs(t.Context(), call); asks != want {
			t.Errorf("in %q it asks: %v (%s), want %v", where, asks, reason, want)
		}
	}
	call.Cwd = dir
	call.ToolInput = json.RawMessage(`{"command":"git push"}`)
	for preset, want := range map[string]string{"strict": `no rule of the preset "strict" allows Bash`, "loose": `the preset "loose" allows Bash only by Bash(go test:*)`} {
		p.of = func(context.Context) (string, error) { return preset, nil }
		if reason, _ := p.needs(t.Context(), call); reason != want {
			t.Errorf("the reason is %q, want %q", reason, want)
		}
	}
	p.of = func(context.Context) (string, error) { return "loose", nil }
	for range maxRules {
		p.all[1].Options.AllowedTools = append(p.all[1].Options.AllowedTools, "Bash(ls)", "Edit")
	}
	if reason, _ := p.needs(t.Context(), call); reason != `the preset "loose" allows Bash only by Bash(go test:*), Bash(ls), Bash(ls), Bash(ls), Bash(ls) and 1 more` {
		t.Errorf("with many rules: %q", reason)
	}
	p.of = func(context.Context) (string, error) { return "loose", errors.New("the store is down") }
	if _, asks := p.needs(t.Context(), call); !asks {
		t.Error("nobody is asked although the preset is not known")
	}
}
