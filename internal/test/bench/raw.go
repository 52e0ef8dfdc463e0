package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/claude-agent-go/claude/internal/test/cputime"
)

// raw is a limit: the pipe without an SDK.
type raw struct {
	cli   string
	check bool // also check that each line is valid JSON
	pipe  *pipe
}

// pipe is a CLI that was started.
type pipe struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func (l *raw) open() (*pipe, error) {
	cmd := exec.Command(l.cli)
	cmd.Env = append(os.Environ(), playVariable+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p := &pipe{cmd: cmd, in: in, out: bufio.NewScanner(out)}
	p.out.Buffer(make([]byte, 64<<10), 64<<20)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(in, `{"type":"control_request","request_id":"i","request":{"subtype":"initialize"}}`+"\n"); err != nil {
		return nil, err
	}
	if !p.out.Scan() {
		return nil, errors.Join(errors.New("no reply to the handshake"), p.close())
	}
	return p, nil
}

func (p *pipe) close() error {
	if err := p.in.Close(); err != nil {
		return err
	}
	for p.out.Scan() {
	}
	return p.cmd.Wait()
}

func (p *pipe) ask(prompt string) error {
	_, err := fmt.Fprintf(p.in, `{"type":"user","message":{"role":"user","content":%q},"parent_tool_use_id":null,"session_id":"","uuid":"u"}`+"\n", prompt)
	return err
}

func (l *raw) round(_ context.Context, prompt string) (s sample, err error) {
	if l.pipe == nil {
		if l.pipe, err = l.open(); err != nil {
			return s, err
		}
	}
	p := l.pipe
	begin, used := time.Now(), cputime.Used()
	if err := p.ask(prompt); err != nil {
		return s, err
	}
	for p.out.Scan() {
		line := p.out.Bytes()
		if l.check && !json.Valid(line) {
			return s, fmt.Errorf("not JSON: %q", line)
		}
		switch {
		case bytes.HasPrefix(line, []byte(`{"type":"control_request"`)):
			if _, err := p.in.Write(line[:len(line)+1]); err != nil { // the line feed is still there
				return s, err
			}
		case bytes.HasPrefix(line, []byte(`{"type":"result"`)):
			s.wall, s.cpu = time.Since(begin), cputime.Used()-used
			s.messages--
			var result struct{ Result string }
			if err := json.Unmarshal(line, &result); err != nil {
				return s, err
			}
			return s, s.read(result.Result)
		default:
			s.messages++
		}
	}
	return s, errors.Join(errors.New("the fake CLI has ended"), p.out.Err())
}

func (l *raw) start(context.Context) (time.Duration, error) {
	begin := time.Now()
	p, err := l.open()
	if err != nil {
		return 0, err
	}
	if err := p.ask("delta 1"); err != nil {
		return 0, err
	}
	if !p.out.Scan() {
		return 0, errors.Join(errors.New("no message"), p.close())
	}
	return time.Since(begin), p.close()
}

func (l *raw) close() error {
	if l.pipe == nil {
		return nil
	}
	return l.pipe.close()
}
