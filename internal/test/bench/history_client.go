package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/test/npm"
	"github.com/claude-agent-go/claude/internal/test/officialsdk"
	"github.com/claude-agent-go/claude/message"
)

// diskClient is an SDK that reads sessions on disk, as a program to start.
type diskClient struct {
	name string
	args []string
	env  []string
}

// diskResult is the output of such a program.
type diskResult struct {
	NS    int64   // from the call to the last value
	Count int     // of sessions or messages
	Bytes float64 // the most memory that the process had; 0 where the system does not say
}

// diskClients returns this SDK and, if it can be had, the official one.
func diskClients(ctx context.Context, root string) ([]diskClient, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	clients := []diskClient{{nameOurs, []string{self}, []string{playVariable + "=" + playHistory}}}
	node, err := exec.LookPath("node")
	if err != nil {
		return clients, nil
	}
	modules, err := npm.Install(ctx, officialsdk.Package())
	if err != nil {
		return nil, err
	}
	script := filepath.Join(root, "internal", "test", "bench", "history.mjs")
	return append(clients, diskClient{nameTypeScript, []string{node, script, officialsdk.Package().Path(modules, "sdk.mjs")}, []string{"NODE_ENV=production"}}), nil
}

// run starts the program for one operation on a configuration directory.
func (c *diskClient) run(ctx context.Context, op, config string) (r diskResult, err error) {
	cmd := exec.CommandContext(ctx, c.args[0], append(c.args[1:], op, storedID(0))...)
	cmd.Env = append(append(os.Environ(), "CLAUDE_CONFIG_DIR="+config), c.env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return r, err
	}
	err = json.Unmarshal(out, &r)
	return r, err
}

// playHistory is the value of playVariable that makes the program a client that
// reads sessions on disk.
const playHistory = "history"

// readHistory is the main of that client. Its arguments are the operation and the
// session.
func readHistory(args []string) error {
	if len(args) != 2 {
		return errors.New("want an operation and a session")
	}
	h := history.Disk("")
	begin := time.Now()
	var r diskResult
	var err error
	switch args[0] {
	case "list":
		r.Count, err = countSessions(h)
	case "read":
		r.Count, err = countMessages(h, args[1])
	default:
		err = fmt.Errorf("unknown operation %q", args[0])
	}
	if err != nil {
		return err
	}
	r.NS, r.Bytes = int64(time.Since(begin)), peakMemory()
	return json.NewEncoder(os.Stdout).Encode(r)
}

func countSessions(h *history.History) (n int, err error) {
	for info, err := range h.List(context.Background(), history.Query{}) {
		if err != nil {
			return 0, err
		}
		if info.Title != "" {
			n++
		}
	}
	return n, nil
}

// countMessages reads the text of every message.
func countMessages(h *history.History, id string) (n int, err error) {
	ctx := context.Background()
	t, err := h.Read(ctx, id)
	if err != nil {
		return 0, err
	}
	length := 0
	for m, err := range t.Messages(ctx, history.Page{}) {
		if err != nil {
			return 0, err
		}
		switch m := m.Message.(type) {
		case *message.User:
			length += len(m.Text())
			for _, r := range m.ToolResults() {
				length += len(r.Content.Text())
			}
		case *message.Assistant:
			length += len(m.Text())
		}
		n++
	}
	if length == 0 {
		return 0, errors.New("nothing was said")
	}
	return n, nil
}

// peakMemory returns the most memory that this process had at a time, 0 where the
// system does not say.
func peakMemory() float64 {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			kib, _ := strconv.ParseFloat(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("kB")))), 64)
			return kib * 1024
		}
	}
	return 0
}
