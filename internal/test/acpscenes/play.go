package acpscenes

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Patience is how long an editor waits for the agent in one step.
const Patience = time.Minute

// Play is an editor that follows a scene with an agent that start starts. It
// returns the frames of the agent. All its processes have ended when it returns.
func Play(ctx context.Context, s Scene, dir string, start func(context.Context) *exec.Cmd) (frames [][]byte, err error) {
	actions, err := s.Actions()
	if err != nil {
		return nil, err
	}
	p := &player{start: start, dir: dir}
	if err := p.begin(ctx); err != nil {
		return nil, err
	}
	for i, a := range actions {
		if err := p.do(ctx, a); err != nil {
			p.end(true)
			return p.frames(), fmt.Errorf("scene %s, action %d (%s %s): %w", s.Name, i+1, a.Do, a.Method, err)
		}
	}
	err = p.end(false)
	return p.frames(), err
}

// player is the state of an editor.
type player struct {
	start   func(context.Context) *exec.Cmd
	dir     string
	session string

	cmd   *exec.Cmd
	stdin io.WriteCloser
	read  chan struct{} // closed when the output has ended

	mu      sync.Mutex
	got     []got
	since   int           // place of the first frame after the last request
	changed chan struct{} // closed when a frame arrives
}

// got is a frame of the agent.
type got struct {
	frame
	data  []byte
	id    json.RawMessage
	taken bool // a question that was answered
}

func (p *player) begin(ctx context.Context) error {
	p.cmd = p.start(ctx)
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.stdin, p.read, p.changed = stdin, make(chan struct{}), make(chan struct{})
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go func() {
		defer close(p.read)
		lines := bufio.NewScanner(stdout)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			p.take(bytes.Clone(lines.Bytes()))
		}
	}()
	return nil
}

func (p *player) take(data []byte) {
	g := got{data: data}
	json.Unmarshal(data, &g.frame)
	var f struct {
		ID json.RawMessage `json:"id"`
	}
	json.Unmarshal(data, &f)
	g.id = f.ID
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, g)
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *player) frames() (all [][]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range p.got {
		all = append(all, g.data)
	}
	return all
}

// end ends the agent: by closing its input, or by force.
func (p *player) end(kill bool) error {
	p.stdin.Close()
	if kill {
		p.cmd.Process.Kill()
	}
	<-p.read
	if err := p.cmd.Wait(); err != nil && !kill {
		return fmt.Errorf("the agent ended with %w", err)
	}
	return nil
}

func (p *player) do(ctx context.Context, a Action) error {
	switch a.Do {
	case Request, Notify:
		f := map[string]any{"jsonrpc": "2.0", "method": a.Method, "params": p.fill(a.Params)}
		if a.Do == Request {
			f["id"] = a.ID
			p.mu.Lock()
			p.since = len(p.got)
			p.mu.Unlock()
		}
		return p.send(f)
	case Await:
		g, err := p.until(ctx, func(_ int, g *got) bool { return g.Method == "" && g.ID != nil && *g.ID == a.ID })
		var opened struct {
			SessionID string `json:"sessionId"`
		}
		if json.Unmarshal(g.Result, &opened); opened.SessionID != "" && p.session == "" {
			p.session = opened.SessionID
		}
		return err
	case Question:
		g, err := p.until(ctx, func(_ int, g *got) bool { return g.Method == a.Method && g.id != nil && !g.taken })
		if err != nil || a.Answer == nil {
			return err
		}
		return p.send(map[string]any{"jsonrpc": "2.0", "id": g.id, "result": a.Answer})
	case Update:
		_, err := p.until(ctx, func(i int, g *got) bool { return g.kind() == a.Method && i >= p.since })
		return err
	case Restart, Kill:
		if err := p.end(a.Do == Kill); err != nil {
			return err
		}
		return p.begin(ctx)
	}
	return fmt.Errorf("unknown action")
}

// until waits for a frame and takes it.
func (p *player) until(ctx context.Context, want func(int, *got) bool) (got, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	for ended := false; ; {
		p.mu.Lock()
		i := -1
		for n := range p.got {
			if !p.got[n].taken && want(n, &p.got[n]) {
				i = n
				break
			}
		}
		if i >= 0 {
			p.got[i].taken = true
			g := p.got[i]
			p.mu.Unlock()
			return g, nil
		}
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-changed:
		case <-p.read:
			if ended {
				return got{}, io.ErrUnexpectedEOF
			}
			ended = true // look once more: the last frames came before the end
		case <-ctx.Done():
			return got{}, fmt.Errorf("nothing came: %w", ctx.Err())
		}
	}
}

func (p *player) fill(params json.RawMessage) json.RawMessage {
	if params == nil {
		return json.RawMessage("{}")
	}
	return json.RawMessage(strings.NewReplacer("$session", p.session, "$dir", p.dir).Replace(string(params)))
}

func (p *player) send(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = p.stdin.Write(append(data, '\n'))
	return err
}
