package takeover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/leak"
)

// Crowd is many conversations on a few real CLIs: round after round, each gets a prompt,
// and must get its answer with all that was said before.
type Crowd struct {
	Conversations, CLIs int
	For                 time.Duration // no round begins after this time
}

// CrowdReport holds the observations of a crowd.
type CrowdReport struct {
	Rounds, Answered int
	Failed           []string
	MostCLIs         int // that were seen at the same moment
	Took             time.Duration
	// LeftProcesses and LeftFiles are the leftovers after the fleet had ended,
	// without the files that a fleet with a single conversation leaves.
	LeftProcesses, LeftFiles []string
}

// Err returns what is wrong.
func (r *CrowdReport) Err(c Crowd) error {
	switch {
	case len(r.Failed) > 0:
		return fmt.Errorf("%d prompts failed, such as %s", len(r.Failed), r.Failed[0])
	case r.Answered != r.Rounds*c.Conversations || r.Rounds == 0:
		return fmt.Errorf("%d prompts of %d rounds are answered", r.Answered, r.Rounds)
	case r.MostCLIs > c.CLIs:
		return fmt.Errorf("%d CLIs at once", r.MostCLIs)
	case len(r.LeftProcesses) > 0 || len(r.LeftFiles) > 0:
		return fmt.Errorf("left behind: processes %q, files %q", r.LeftProcesses, r.LeftFiles)
	}
	return nil
}

// Print writes a row of a table in Markdown, with its head.
func (r *CrowdReport) Print(w io.Writer, c Crowd) {
	fmt.Fprintf(w, "| conversations | CLIs | seconds | rounds | answered | failed | most CLIs at once | processes left | files left |\n|%s\n", strings.Repeat("---|", 9))
	fmt.Fprintf(w, "| %d | %d | %.0f | %d | %d | %d | %d | %d | %d |\n", c.Conversations, c.CLIs, r.Took.Seconds(), r.Rounds, r.Answered, len(r.Failed), r.MostCLIs, len(r.LeftProcesses), len(r.LeftFiles))
}

// heardText is the answer to the prompt of a round: how many prompts the model has heard.
func heardText(n int) string { return fmt.Sprintf("I have heard %d prompts.", n) }

// crowdPrompt is a prompt of a crowd.
const crowdPrompt = "How many prompts have you heard?"

// RunCrowd lets a crowd work, in a process of its own.
func (l *Lab) RunCrowd(ctx context.Context, c Crowd) (*CrowdReport, error) {
	model := claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		heard := 0
		for _, m := range c.Messages {
			if m.Role == "user" {
				heard += strings.Count(m.Text, crowdPrompt)
			}
		}
		return claudetest.Say(heardText(heard))
	})
	if _, err := model.Start(); err != nil {
		return nil, err
	}
	defer model.Close()
	// One conversation shows what a fleet leaves once, such as its folder for journals.
	_, before, err := l.crowd(ctx, model, "alone", Crowd{Conversations: 1, CLIs: 1})
	if err != nil {
		return nil, err
	}
	r, after, err := l.crowd(ctx, model, "crowd", c)
	if err != nil {
		return nil, err
	}
	if len(after) > len(before) {
		r.LeftFiles = after
	}
	return r, nil
}

// crowd runs rounds, and lists the files that are left.
func (l *Lab) crowd(ctx context.Context, model *claudetest.Model, name string, c Crowd) (r *CrowdReport, files []string, err error) {
	base, err := l.newBase(ctx, model)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, base.end()) }()
	base.role.Gate, base.role.MaxLive = NoGate, c.CLIs
	p, err := start(base.role)
	if err != nil {
		return nil, nil, err
	}
	defer p.kill()
	r = new(CrowdReport)
	stop := countCLIs(base.role, p.cmd.Process.Pid, &r.MostCLIs)
	defer stop()
	for begin := time.Now(); r.Rounds == 0 || time.Since(begin) < c.For; {
		r.Rounds++
		if err := r.round(ctx, base.client, c); err != nil {
			return nil, nil, fmt.Errorf("%w: %s", err, p.errs.String())
		}
		r.Took = time.Since(begin)
	}
	if err := p.end(); err != nil {
		return nil, nil, err
	}
	stop()
	r.LeftProcesses = leftProcesses(base.role.Mark)
	return r, filesBelow(base.dir), nil
}

// round gives each conversation a prompt, and waits for the answers.
func (r *CrowdReport) round(ctx context.Context, f *fleet.Fleet, c Crowd) error {
	ids := make([]string, c.Conversations)
	for i := range ids {
		id, err := f.Send(ctx, fmt.Sprint("user-", i), fleet.Prompt{Text: crowdPrompt})
		if err != nil {
			return err
		}
		ids[i] = id
	}
	for i, id := range ids {
		t, err := f.Wait(ctx, fmt.Sprint("user-", i), id)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || t.Status != fleet.PromptAnswered || t.Text != heardText(r.Rounds) {
			r.Failed = append(r.Failed, fmt.Sprintf("user-%d, round %d: %s %q %s %v", i, r.Rounds, t.Status, t.Text, t.Error, err))
			continue
		}
		r.Answered++
	}
	return nil
}

// countCLIs looks again and again how many CLIs a process has. What they start looks like
// them for a moment, but has another parent. Stop may be called again.
func countCLIs(r role, host int, most *int) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for tick := time.NewTicker(500 * time.Millisecond); ; {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			n := 0
			for _, p := range leak.MarkedBy(r.Mark) {
				pid, command, _ := strings.Cut(p, " ")
				if strings.HasPrefix(command, r.CLI) && strings.Contains(command, "stream-json") && parent(pid) == host {
					n++
				}
			}
			*most = max(*most, n)
		}
	})
	return sync.OnceFunc(func() {
		close(done)
		wg.Wait()
	})
}

// parent returns the parent of a process, 0 if it has ended. Its number is the second field
// after the name, which is in parentheses.
func parent(pid string) (number int) {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	_, _ = fmt.Sscanf(rest, "%1s %d", new(string), &number) // 0 if it has another form
	return number
}

// filesBelow lists the files of a folder.
func filesBelow(dir string) (files []string) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, strings.TrimPrefix(path, dir+string(os.PathSeparator)))
		}
		return nil // what cannot be read is not left
	})
	return files
}
