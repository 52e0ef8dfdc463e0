package e2e

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
)

// numbered is a prompt that the model of TestRealOrder understands.
var numbered = regexp.MustCompile(`(say|tool)-(\d+)`)

// echoModel returns a model that answers with the number of the last prompt it
// was given, after a shell command if the prompt asks for one.
func echoModel() *claudetest.Model {
	return claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		all := numbered.FindAllSubmatch(c.Raw, -1)
		if c.Side || len(all) == 0 {
			return claudetest.Say("nothing")
		}
		last := all[len(all)-1]
		if string(last[1]) == "tool" && len(c.ToolResults) == 0 {
			return claudetest.UseTool("Bash", map[string]any{"command": "sleep 0.2", "description": "wait"})
		}
		return claudetest.Say("re "+string(last[2])).Chunks(1, time.Millisecond)
	})
}

// misuseAtRandom does at random what can bring the answers of a session out of step,
// and after each round asks for an answer that must be its own. It returns how
// many were not.
func misuseAtRandom(t *testing.T, s *claude.Session, rng *rand.Rand, rounds int) (wrong int) {
	t.Helper()
	n := 0
	prompt := func() string {
		n++
		if rng.IntN(2) == 0 {
			return fmt.Sprintf("tool-%d", n)
		}
		return fmt.Sprintf("say-%d", n)
	}
	for range rounds {
		history := ""
		for range 1 + rng.IntN(3) {
			p := prompt()
			switch rng.IntN(4) {
			case 0:
				history += " send:" + p
				if _, err := s.Send(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			case 1:
				left, k := 1+rng.IntN(4), 0
				history += fmt.Sprintf(" break:%s after %d", p, left)
				for range s.Run(t.Context(), p) {
					if k++; k == left {
						break
					}
				}
			case 2:
				patience := time.Duration(rng.IntN(300)) * time.Millisecond
				history += fmt.Sprintf(" cancel:%s after %v", p, patience)
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				for range s.Run(ctx, p) {
				}
				cancel()
			case 3:
				history += " pause"
				<-time.After(time.Duration(rng.IntN(200)) * time.Millisecond)
			}
		}
		n++
		p := fmt.Sprintf("say-%d", n)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		res, err := s.Ask(ctx, p)
		cancel()
		if err != nil || res.Text != fmt.Sprint("re ", n) {
			wrong++
			t.Errorf("%s ask:%s = %v, %v", history, p, res, err)
			if ctx.Err() == context.DeadlineExceeded {
				return wrong
			}
		}
	}
	return wrong
}

// Whatever was sent and given up before, an answer is that to its own prompt.
func TestRealOrder(t *testing.T) {
	t.Parallel()
	r := startReal(t, echoModel())
	r.opts.AllowedTools = []string{"Bash"}
	const rounds = 20
	if wrong := misuseAtRandom(t, r.connect(t), rand.New(rand.NewPCG(1, 2)), rounds); wrong > 0 {
		t.Errorf("%d of %d answers are wrong", wrong, rounds)
	}
}

// interruptsFirst starts CLIs to which every prompt is written behind an interrupt, in
// one piece.
type interruptsFirst struct{ claude.Transport }

func (i interruptsFirst) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	conn, err := i.Transport.Start(ctx, l)
	return &interruptingConn{Conn: conn}, err
}

type interruptingConn struct {
	claude.Conn
	interrupts atomic.Int64
}

func (c *interruptingConn) Write(line []byte) (int, error) {
	if !bytes.Contains(line, []byte(`"type":"user"`)) {
		return c.Conn.Write(line)
	}
	before := fmt.Sprintf(`{"type":"control_request","request_id":"before-%d","request":{"subtype":"interrupt","cancel_queued":true}}`+"\n", c.interrupts.Add(1))
	n, err := c.Conn.Write(append([]byte(before), line...))
	return max(0, n-len(before)), err
}

// An interrupt does not stop a prompt that the CLI reads after it, even if both are there
// at once.
func TestRealInterruptBeforePrompt(t *testing.T) {
	t.Parallel()
	r := startReal(t, echoModel())
	r.opts.Transport = interruptsFirst{claude.ChildProcess()}
	s := r.connect(t)
	for n := range 10 {
		res, err := s.Ask(t.Context(), fmt.Sprintf("say-%d", n))
		if err != nil || res.Text != fmt.Sprint("re ", n) {
			t.Errorf("prompt %d: %v, %v", n, res, err)
		}
	}
}
