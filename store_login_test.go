package claude_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/store"
)

// A session that needs no login has none in its files: because the caller asks for it, or
// because a proxy signs in for it.
func TestStoreNoLogin(t *testing.T) {
	config := t.TempDir()
	if err := os.WriteFile(filepath.Join(config, ".credentials.json"), []byte(`{"claudeAiOauth":{"accessToken":"canary"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		store claude.StoreOptions
		env   []string
		login bool
	}{
		"a copy":               {claude.StoreOptions{Private: true}, nil, true},
		"another key":          {claude.StoreOptions{Private: true}, []string{"ANTHROPIC_API_KEY=sk-ant-api03-other"}, true},
		"not private":          {claude.StoreOptions{NoLogin: true}, nil, false},
		"private":              {claude.StoreOptions{NoLogin: true, Private: true}, nil, false},
		"a sentinel":           {claude.StoreOptions{Private: true}, []string{"ANTHROPIC_API_KEY=sk-ant-api03-egress-AAAA"}, false},
		"a token's sentinel":   {claude.StoreOptions{Private: true}, []string{"CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-egress-AAAA"}, false},
		"a bearer's sentinel":  {claude.StoreOptions{Private: true}, []string{"ANTHROPIC_AUTH_TOKEN=egress-AAAA"}, false},
		"a word of a variable": {claude.StoreOptions{Private: true}, []string{"NAME=egress-AAAA"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := claude.Options{Env: append([]string{"HOME=" + t.TempDir(), "CLAUDE_CONFIG_DIR=" + config}, c.env...), Store: &c.store, Logger: harness.Logger(t)}
			o.Store.Store, o.Store.Project, o.Store.Journal = store.Memory(), "tenant-7", t.TempDir()
			var dir, found string
			d := &double{t: t}
			d.play = func(cli *cli) {
				cli.greet()
				for _, entry := range d.launch.Env {
					if value, ok := strings.CutPrefix(entry, "CLAUDE_CONFIG_DIR="); ok {
						dir, found = value, readFile(filepath.Join(value, ".credentials.json"))
					}
				}
				cli.idle()
			}
			o.Transport = d
			finish(t, connect(t, &o))
			if dir == "" || dir == config || strings.Contains(found, "canary") != c.login {
				t.Errorf("in %q the CLI finds %q", dir, found)
			}
		})
	}
}

// A session that signs in with a sentinel does not use the user's configuration folder,
// with or without a store, unless it is given a folder of its own.
func TestSentinelBorrowsNoConfig(t *testing.T) {
	user, own, home := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", user)
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for _, folder := range []string{user, filepath.Join(home, ".claude")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{".credentials.json": `{"claudeAiOauth":{"accessToken":"canary"}}`, "settings.json": `{"env":{"ANTHROPIC_BASE_URL":"http://canary"},"permissions":{"deny":["WebFetch"]}}`} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	link := filepath.Join(own, "link")
	linked := os.Symlink(user, link)
	const sentinel = "ANTHROPIC_API_KEY=sk-ant-api03-egress-AAAA"
	for name, c := range map[string]struct {
		env    []string
		stored bool
		want   string // the folder; "" for one of the session
	}{
		"a sentinel":                 {[]string{"CLAUDE_CONFIG_DIR=" + user + "/", sentinel}, false, ""},
		"the user's home":            {[]string{"HOME=" + home, "USERPROFILE=" + home, sentinel}, false, ""},
		"a link":                     {[]string{"CLAUDE_CONFIG_DIR=" + link, sentinel}, false, ""},
		"a sentinel and a store":     {[]string{"CLAUDE_CONFIG_DIR=" + user, sentinel}, true, ""},
		"a sentinel and a folder":    {[]string{"CLAUDE_CONFIG_DIR=" + own, sentinel}, false, own},
		"a key":                      {[]string{"CLAUDE_CONFIG_DIR=" + user, "ANTHROPIC_API_KEY=sk-ant-api03-other"}, false, user},
		"a sentinel of another home": {[]string{"HOME=" + own, "USERPROFILE=" + own, sentinel}, false, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "a link" {
				need.Symlinks.Test(t)
				if linked != nil {
					t.Fatal(linked)
				}
			}
			o := claude.Options{Env: c.env, Logger: harness.Logger(t)}
			if c.stored {
				o.Store = &claude.StoreOptions{Store: store.Memory(), Project: "p", Journal: t.TempDir()}
			}
			dir, settings, login := "none", "", ""
			d := &double{t: t}
			d.play = func(cli *cli) {
				cli.greet()
				for _, entry := range d.launch.Env {
					if value, ok := strings.CutPrefix(entry, "CLAUDE_CONFIG_DIR="); ok {
						dir = value
						settings, login = readFile(filepath.Join(value, "settings.json")), readFile(filepath.Join(value, ".credentials.json"))
					}
				}
				cli.idle()
			}
			o.Transport = d
			finish(t, connect(t, &o))
			if c.want != "" {
				if dir != c.want {
					t.Errorf("the CLI uses %q, want %q", dir, c.want)
				}
				return
			}
			if dir == "none" || strings.HasPrefix(dir, user) || strings.Contains(settings+login, "canary") || !strings.Contains(settings, "WebFetch") {
				t.Errorf("in %q the CLI finds %q and %q", dir, login, settings)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Errorf("%s is left", dir)
			}
		})
	}
	o := &claude.Options{Env: []string{"CLAUDE_CONFIG_DIR=" + user, sentinel}, Resume: "00000000-0000-4000-8000-000000000001", Transport: &double{t: t}}
	_, err := claude.Connect(t.Context(), o)
	if bad, ok := errors.AsType[*claude.OptionError](err); !ok || bad.Field != "Resume" || !strings.Contains(err.Error(), "CLAUDE_CONFIG_DIR") {
		t.Errorf("a session of the user's folder is resumed: %v", err)
	}
}
