package claude_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/harness"
)

// A page of the guide explains errors by their texts. These are made to
// happen; internal/test/rules holds the others to the source.
func TestTroubleshooting(t *testing.T) {
	page, err := os.ReadFile("docs/guide/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	faulty := func(f claudetest.Fault) *claude.Options {
		return &claude.Options{Transport: claudetest.NewCLI(&claudetest.Script{Faults: []claudetest.Fault{f}})}
	}
	connected := func(ctx context.Context, fail func(*claude.Session) error) error {
		s, err := claude.Connect(ctx, &claude.Options{Transport: claudetest.New()})
		if err != nil {
			return err
		}
		defer s.Close()
		return fail(s)
	}
	for heading, fail := range map[string]func(context.Context) error{
		"claude: the Claude Code CLI was not found": func(ctx context.Context) error {
			return second(claude.Connect(ctx, &claude.Options{CLIPath: "no/such/claude"}))
		},
		"claude: option …: …": func(ctx context.Context) error {
			return second(claude.Connect(ctx, &claude.Options{MaxTurns: -1}))
		},
		"claude: the CLI exited during initialize …": func(ctx context.Context) error {
			return second(claude.Connect(ctx, faulty(claudetest.Fault{Exit: new(1)})))
		},
		"claude: initialize timed out": func(ctx context.Context) error {
			return second(claude.Connect(ctx, faulty(claudetest.Fault{Silent: true})))
		},
		"claude: the CLI exited with code …": func(ctx context.Context) error {
			return second(claude.Ask(ctx, "hi", faulty(claudetest.Fault{Line: 2, Exit: new(3)})))
		},
		"claude: turn failed: …": func(ctx context.Context) error {
			cli := claudetest.New(claudetest.Fail(400, "invalid_request_error", "bad").Forever())
			return second(claude.Ask(ctx, "hi", &claude.Options{Transport: cli}))
		},
		"no structured output in the result": func(ctx context.Context) error {
			_, _, err := claude.AskAs[int](ctx, "hi", &claude.Options{Transport: claudetest.New()})
			return err
		},
		"claude: stream already used": func(ctx context.Context) error {
			stream := claude.Query(ctx, "hi", &claude.Options{Transport: claudetest.New()})
			return second(second(harness.Collect(stream)), second(harness.Collect(stream)))
		},
		"claude: the message stream has another reader": func(ctx context.Context) error {
			return connected(ctx, func(s *claude.Session) error {
				for range s.Run(ctx, "hi") {
					return second(s.Ask(ctx, "ho"))
				}
				return nil
			})
		},
		"claude: session closed": func(ctx context.Context) error {
			return connected(ctx, func(s *claude.Session) error {
				s.Close()
				return second(s.Ask(ctx, "hi"))
			})
		},
		"file checkpointing is not enabled (set Options.FileCheckpointing)": func(ctx context.Context) error {
			return connected(ctx, func(s *claude.Session) error { return second(s.Files().Rewind(ctx, "id")) })
		},
		"claude: …: timed out": func(ctx context.Context) error {
			s, err := claude.Connect(ctx, faulty(claudetest.Fault{Line: 2, Silent: true}))
			if err != nil {
				return err
			}
			defer s.Close()
			return s.SetModel(ctx, "sonnet")
		},
	} {
		t.Run(heading, func(t *testing.T) {
			if !strings.Contains(string(page), "\n### `"+heading+"`\n") {
				t.Errorf("the page has no part for it")
			}
			form := strings.NewReplacer(" …", ".*", "…", ".*").Replace(regexp.QuoteMeta(heading))
			synctest.Test(t, func(t *testing.T) {
				if err := fail(t.Context()); err == nil || !regexp.MustCompile(form).MatchString(err.Error()) {
					t.Errorf("the error is %v, want %q", err, heading)
				}
			})
		})
	}
}
