package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// launches notes the environment of each CLI.
type launches struct {
	claude.Transport
	mu   sync.Mutex
	envs [][]string
}

func (l *launches) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	l.mu.Lock()
	l.envs = append(l.envs, slices.Clone(launch.Env))
	l.mu.Unlock()
	return l.Transport.Start(ctx, launch)
}

func (l *launches) last() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.envs[len(l.envs)-1]
}

// A conversation has a sentinel while its CLI runs. Nothing is left of it when the
// conversation sleeps, fails to start or is deleted.
func TestEgress(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-api03-the-real-key")
	egress := fleet.StartEgress(t)
	var during int
	cli := &launches{}
	cli.Transport = claudetest.NewCLI(&claudetest.Script{Model: func(*claudetest.ModelCall) claudetest.Reply {
		during = fleet.AskAPI(t, cli.last())
		return claudetest.Say("done")
	}})
	f := open(t, store.Memory(), cli, func(o *fleet.Options) {
		o.Egress = egress
		o.Session = func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{Transport: cli, Cwd: "/work", Logger: quiet()}, nil // it inherits the key
		}
	})
	for _, err := range f.Run(t.Context(), "acme/ada", "hello") {
		if err != nil {
			t.Fatal(err)
		}
	}
	env := cli.last()
	if during != 200 {
		t.Errorf("in its turn: %d", during)
	}
	if strings.Contains(strings.Join(env, " "), "the-real-key") {
		t.Errorf("the CLI has %q", env)
	}
	if err := f.Delete(t.Context(), "acme/ada"); err != nil {
		t.Fatal(err)
	}
	if got := fleet.AskAPI(t, env); got != 401 {
		t.Errorf("after the conversation was deleted: %d", got)
	}
	for _, err := range f.Run(t.Context(), "acme/bob", "hello") {
		if err != nil {
			t.Fatal(err)
		}
	}
	env = cli.last()
	if got := fleet.AskAPI(t, env); got != 200 {
		t.Errorf("while its CLI is kept: %d", got)
	}
	closeFleet(t, f)
	if got := fleet.AskAPI(t, env); got != 401 {
		t.Errorf("after the fleet was closed: %d", got)
	}
}

// configs notes all files of the configuration directory of each CLI.
type configs struct {
	claude.Transport
	files []map[string]string
}

func (c *configs) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	i := slices.IndexFunc(launch.Env, func(entry string) bool { return strings.HasPrefix(entry, "CLAUDE_CONFIG_DIR=") })
	if i < 0 {
		return nil, errors.New("the CLI has no configuration directory of its own")
	}
	files := make(map[string]string)
	dir := os.DirFS(strings.TrimPrefix(launch.Env[i], "CLAUDE_CONFIG_DIR="))
	err := fs.WalkDir(dir, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(dir, path)
		files[path] = string(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.files = append(c.files, files)
	return c.Transport.Start(ctx, launch)
}

// The login of the user who runs a fleet is not in the files of a CLI that has a
// sentinel. Settings are.
func TestEgressKeepsLogin(t *testing.T) {
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		".claude/.credentials.json": `{"claudeAiOauth":{"accessToken":"canary"},"mcpOAuth":{"s":{"accessToken":"canary"}}}`,
		".claude.json":              `{"primaryApiKey":"canary","mcpServers":{"s":{"env":{"K":"canary"}}}}`,
		".claude/settings.json":     `{"model":"opus","apiKeyHelper":"echo canary","env":{"ANTHROPIC_AUTH_TOKEN":"canary"}}`,
	} {
		if err := os.WriteFile(filepath.Join(home, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, egress := range map[string]*fleet.Egress{"with": fleet.StartEgress(t), "without": nil} {
		t.Run(name, func(t *testing.T) {
			cli := &configs{Transport: claudetest.NewCLI(&claudetest.Script{Model: func(*claudetest.ModelCall) claudetest.Reply { return claudetest.Say("done") }})}
			f := open(t, store.Memory(), cli, func(o *fleet.Options) {
				o.Egress = egress
				o.Session = func(context.Context, string) (*claude.Options, error) {
					return &claude.Options{Transport: cli, Cwd: "/work", Env: []string{"HOME=" + home}, Logger: quiet()}, nil
				}
			})
			for _, err := range f.Run(t.Context(), "acme/ada", "hello") {
				if err != nil {
					t.Fatal(err)
				}
			}
			closeFleet(t, f)
			if len(cli.files) != 1 || !strings.Contains(cli.files[0]["settings.json"], "opus") {
				t.Fatalf("the files are %q", cli.files)
			}
			if got := strings.Contains(fmt.Sprint(cli.files), "canary"); got != (egress == nil) {
				t.Errorf("the CLI has the login: %v; its files are %q", got, cli.files)
			}
		})
	}
}

// A fleet without a whole Egress does not open.
func TestEgressIncomplete(t *testing.T) {
	_, err := fleet.Open(t.Context(), fleet.Options{Store: store.Memory(), Project: "p", Egress: &fleet.Egress{},
		Session: func(context.Context, string) (*claude.Options, error) { return nil, nil }})
	if err == nil || !strings.Contains(err.Error(), "Options.Egress") {
		t.Errorf("error %v", err)
	}
}
