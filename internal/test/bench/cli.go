package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/message"
)

// playVariable makes the program a fake CLI, or another role that its value
// names.
const playVariable = "CLAUDE_AGENT_GO_BENCH_CLI"

// fake is the fake CLI. It does one thing at a time and waits for nothing but
// the pipe.
type fake struct {
	in   *bufio.Reader
	out  *os.File
	hook string // the callback id of the client's hook
	next int    // ids of requests
	mcp  bool   // the MCP server was greeted
}

// play is the main of the program when it is started again.
func play() error {
	switch os.Getenv(playVariable) {
	case playHistory:
		return readHistory(os.Args[1:])
	case playReaders:
		return readEvents(os.Args[1:])
	case playModel:
		return serveModel()
	case playMirror:
		return readSteps(os.Args[1:])
	}
	f := &fake{in: bufio.NewReaderSize(os.Stdin, 64<<10), out: os.Stdout}
	for {
		line, err := f.in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f.handle(line); err != nil {
			return err
		}
	}
}

func (f *fake) write(line []byte) error {
	_, err := f.out.Write(line)
	return err
}

// handle serves a line that is not awaited.
func (f *fake) handle(line []byte) error {
	var frame struct {
		Type      string          `json:"type"`
		UUID      string          `json:"uuid"`
		RequestID string          `json:"request_id"`
		Request   json.RawMessage `json:"request"`
	}
	if err := json.Unmarshal(line, &frame); err != nil {
		return fmt.Errorf("the client wrote %q: %w", line, err)
	}
	switch frame.Type {
	case "control_request":
		f.register(frame.Request)
		return f.write(fmt.Appendf(nil, `{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"claude_code_version":"2.1.325","hook_on_failure_supported":true,"commands":[],"models":[],"agents":[],"output_style":"default","available_output_styles":[],"account":{}}}}`+"\n", frame.RequestID))
	case "user":
		m, err := message.DecodeAs("user", "", line)
		if err != nil {
			return err
		}
		return f.turn(frame.UUID, m.(*message.User).Text())
	}
	return nil
}

// register keeps the id of the hook from the handshake.
func (f *fake) register(request []byte) {
	var r struct {
		Hooks map[string][]struct {
			IDs []string `json:"hookCallbackIds"`
		} `json:"hooks"`
	}
	if json.Unmarshal(request, &r) == nil && len(r.Hooks["PreToolUse"]) > 0 {
		f.hook = r.Hooks["PreToolUse"][0].IDs[0]
	}
}

// turn plays the round that a prompt asks for: a kind and a count.
func (f *fake) turn(id, prompt string) error {
	if err := f.write(initLine(id)); err != nil {
		return err
	}
	kind, count, _ := strings.Cut(prompt, " ")
	n, err := strconv.Atoi(count)
	if err != nil {
		return fmt.Errorf("prompt %q: %w", prompt, err)
	}
	report := ""
	switch kind {
	case "delta":
		err = f.writeMany(deltaLine(), n)
	case stepsKind, mirroredStepsKind, burstKind, mirroredBurstKind:
		err = f.steps(kind, n)
	case "assistant":
		err = f.writeMany(assistantLine(), n)
	case "100KB":
		err = f.writeMany(toolLine(100<<10), n)
	case "10MB":
		err = f.writeMany(toolLine(10<<20), n)
	default:
		report, err = f.roundTrips(kind, n)
	}
	if err != nil {
		return err
	}
	return f.write(resultLine(id, report))
}

// writeMany writes a line n times.
func (f *fake) writeMany(line []byte, n int) error {
	block, lines := chunk(line)
	for ; n >= lines; n -= lines {
		if err := f.write(block); err != nil {
			return err
		}
	}
	return f.write(block[:n*len(line)])
}

// roundTrips makes n requests, one after the other, and reports how long the
// replies took: "median p99" in nanoseconds.
func (f *fake) roundTrips(kind string, n int) (string, error) {
	if kind == "mcp" && !f.mcp {
		f.mcp = true
		for _, m := range []string{
			`{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","version":"2.1.325"}},"jsonrpc":"2.0","id":"i"}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"method":"tools/list","jsonrpc":"2.0","id":"l"}`,
		} {
			f.next++
			if _, err := f.roundTrip(fmt.Appendf(nil, mcpLine, strconv.Itoa(f.next), m), "result"); err != nil {
				return "", err
			}
		}
	}
	times := make([]time.Duration, n)
	for i := range times {
		f.next++
		line, want, err := f.request(kind, strconv.Itoa(f.next))
		if err != nil {
			return "", err
		}
		if times[i], err = f.roundTrip(line, want); err != nil {
			return "", err
		}
	}
	slices.Sort(times)
	return fmt.Sprintf("%d %d", times[n/2], times[n*99/100]), nil
}

// request is a request of some kind, and what its reply must hold: an echo the
// request itself.
func (f *fake) request(kind, id string) (line []byte, want string, err error) {
	kind, echo := strings.CutPrefix(kind, echoPrefix)
	switch kind {
	case "permission":
		line, want = fmt.Appendf(nil, permissionLine, id), "allow"
	case "hook":
		line, want = fmt.Appendf(nil, hookLine, id, f.hook), "success"
	case "mcp":
		line, want = fmt.Appendf(nil, mcpLine, id, fmt.Sprintf(callMessage, f.next)), `"42"`
	default:
		return nil, "", fmt.Errorf("no such round: %q", kind)
	}
	if echo {
		want = `"request_id":"` + id + `"`
	}
	return line, want, nil
}

// echoPrefix makes a kind of round trip one that is echoed.
const echoPrefix = "echo-"

// roundTrip makes one request and checks its reply.
func (f *fake) roundTrip(line []byte, want string) (time.Duration, error) {
	begin := time.Now()
	if err := f.write(line); err != nil {
		return 0, err
	}
	reply, err := f.in.ReadSlice('\n')
	d := time.Since(begin)
	if err != nil {
		return 0, err
	}
	if !bytes.Contains(reply, []byte(want)) {
		return 0, fmt.Errorf("reply %q to %q, want %q in it", reply, line, want)
	}
	return d, nil
}
