package oidclogin_test

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/browser"
	"github.com/claude-agent-go/claude/internal/test/npm"
	"github.com/claude-agent-go/claude/serve"
)

// shots is for people who want to look.
var shots = flag.String("shots", "", "write what the tests look at into this directory")

var realProvider = npm.Package{Name: "oidc-provider", Version: "9.13.3", Has: "lib/index.js"}

// startProvider runs the provider from npm, and returns its address.
func startProvider(t *testing.T, base string) string {
	t.Helper()
	modules := npm.Need(t, realProvider)
	cmd := exec.CommandContext(t.Context(), "node", "testdata/provider.mjs", realProvider.Path(modules, realProvider.Has), base+serve.LoginReturn, clientSecret)
	cmd.Stderr, cmd.WaitDelay = os.Stderr, time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	issuer, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the provider does not start: %v", err)
	}
	return strings.TrimSpace(issuer)
}

// The whole login in a browser, at a provider that is not ours: the page sends people there,
// they give their name and agree, and come back to where they wanted to go. A person whom
// the rules do not know, and one whose address is not verified, are told so. The provider
// keeps its own login, so another one here takes one click.
func TestRealProvider(t *testing.T) {
	var issuer string
	r := newRig(t, func(base string) serve.LoginProvider {
		issuer = startProvider(t, base)
		return newLogin(t, issuer)
	})
	logIn := func(b *browser.Browser, name string) {
		t.Helper()
		b.Wait(t, `document.querySelector("a[href^='/login/begin']")`)
		b.Eval(t, `document.querySelector("a[href^='/login/begin']").click()`)
		b.Wait(t, fmt.Sprintf(`location.href.startsWith(%q) && document.querySelector("[name=login]")`, issuer))
		b.Eval(t, `document.querySelector("[name=login]").focus()`)
		b.Type(name)
		b.Eval(t, `document.querySelector("[name=password]").focus()`)
		b.Type("any")
		b.Press("Enter")
		b.Wait(t, `document.querySelector("[name=prompt][value=consent]")`)
		b.Eval(t, `document.querySelector("form button").click()`)
	}

	b := browser.Open(t)
	b.Must("Page.navigate", map[string]any{"url": r.http.URL + "/h?q=shop"}, nil)
	b.Wait(t, `document.documentElement.dataset.screen === "login"`)
	picture(t, b, "login")
	if wrong := b.Violations(t); len(wrong) > 0 {
		t.Errorf("the login page: %q", wrong)
	}
	logIn(b, "ada@example.com")
	b.Wait(t, `document.documentElement.dataset.screen === "history"`)
	b.Want(t, `document.body.dataset.user`, "ada@example.com")
	b.Want(t, `location.pathname + location.search`, "/h?q=shop")
	b.Want(t, `document.cookie`, "") // scripts see none
	b.Load(t, r.http.URL+"/logins")
	b.Want(t, `document.querySelector("main").textContent.includes("by Acme")`, true)

	b.Eval(t, `document.querySelector("form[action='/logout'] button").click()`)
	b.Wait(t, `document.documentElement.dataset.screen === "login"`)
	b.Eval(t, `document.querySelector("a[href^='/login/begin']").click()`)
	b.Wait(t, `document.documentElement.dataset.screen === "inbox" && document.body.dataset.user === "ada@example.com"`)

	for name, says := range map[string]string{"eve@example.com": "Acme knows you as eve@example.com", "unverified-ada@example.com": "You have no access to this server"} {
		b := browser.Open(t)
		b.Must("Page.navigate", map[string]any{"url": r.http.URL + "/"}, nil)
		logIn(b, name)
		b.Wait(t, `document.querySelector("[role=alert]")`)
		b.Want(t, fmt.Sprintf(`document.querySelector("[role=alert]").textContent.includes(%q)`, says), true)
		b.Want(t, `document.body.dataset.user ?? ""`, "")
		picture(t, b, name)
	}
}

func picture(t *testing.T, b *browser.Browser, name string) {
	t.Helper()
	if *shots != "" {
		b.Screenshot(t, filepath.Join(*shots, name+".png"))
	}
}
