//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/wire"
)

// crashVariable makes the test binary the CLI of the crash matrix: its value
// names the step and the fault before it.
const crashVariable = "FAULTS_CRASH"

func TestMain(m *testing.M) {
	if plan := os.Getenv(crashVariable); plan != "" {
		step, how, _ := strings.Cut(plan, " ")
		at, _ := strconv.Atoi(step)
		(&crashCLI{in: bufio.NewReader(os.Stdin), at: at, how: how}).play()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// crashCLI plays a whole session, line by line, until something goes wrong.
type crashCLI struct {
	in   *bufio.Reader
	at   int // the step that goes wrong
	how  string
	step int
	last wire.Frame // what was heard last
}

// The ways in which a CLI goes wrong.
var crashes = []string{"exit 0", "exit 1", "SIGKILL", "SIGSTOP", "closes stdout", "closes stdin", "garbage"}

// next is called before each step.
func (c *crashCLI) next() {
	if c.step == c.at {
		fmt.Fprintln(os.Stderr, crashNotice)
		c.crash()
	}
	c.step++
}

// crashNotice tells the test on stderr that the moment has come.
const crashNotice = "now"

func (c *crashCLI) crash() {
	switch c.how {
	case "exit 0":
		os.Exit(0)
	case "exit 1":
		os.Exit(1)
	case "SIGKILL":
		c.signal(syscall.SIGKILL)
	case "SIGSTOP":
		c.signal(syscall.SIGSTOP)
	case "closes stdout":
		os.Stdout.Close()
		for { // its output is lost from now on; it still ends with its input
			if _, err := c.in.ReadByte(); err != nil {
				os.Exit(0)
			}
		}
	case "closes stdin":
		os.Stdin.Close()
		<-time.After(10 * time.Minute)
	case "garbage":
		for _, line := range garbage {
			fmt.Println(line)
		}
	}
}

func (c *crashCLI) signal(s syscall.Signal) {
	if err := syscall.Kill(os.Getpid(), s); err != nil {
		panic(err)
	}
	<-time.After(10 * time.Minute) // it may arrive a moment later, at another thread
}

func (c *crashCLI) receive() {
	c.next()
	line, err := c.in.ReadBytes('\n')
	if err != nil {
		os.Exit(0)
	}
	c.last, err = wire.Parse(line[:len(line)-1])
	if err != nil {
		panic(err)
	}
}

// expect hears a request with a subtype; what comes before it is answered.
func (c *crashCLI) expect(subtype string) wire.ID {
	c.receive()
	r, err := c.last.Request()
	if err != nil || r.Subtype != subtype {
		panic(fmt.Sprintf("got %s, want %s", c.last.Line, subtype))
	}
	return r.ID
}

func (c *crashCLI) say(format string, args ...any) {
	c.next()
	fmt.Printf(format+"\n", args...)
}

// sayInHalves writes a line in two pieces, with a step before each.
func (c *crashCLI) sayInHalves(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	c.next()
	fmt.Print(line[:len(line)/2])
	c.next()
	fmt.Println(line[len(line)/2:])
}

func (c *crashCLI) reply(id wire.ID, payload string) {
	c.say(`{"type":"control_response","response":{"subtype":"success","request_id":%s,"response":%s}}`, string(id), payload)
}

// promised is the step from which on the first prompt has its result.
const promised = 24

// play is the session: crashSteps steps.
func (c *crashCLI) play() {
	id := c.expect("initialize")
	c.sayInHalves(`{"type":"control_response","response":{"subtype":"success","request_id":%s,"response":{"claude_code_version":"2.1.325"}}}`, string(id))
	c.receive()
	first := c.last.Text("uuid")
	c.say(`{"type":"command_lifecycle","command_uuid":%q,"state":"queued"}`, first)
	c.say(`{"type":"command_lifecycle","command_uuid":%q,"state":"started"}`, first)
	c.say(`{"type":"system","subtype":"init","session_id":"s","user_message_uuids":[%q]}`, first)
	c.say(`{"type":"stream_event","event":{"type":"ping"}}`)
	c.say(`{"type":"control_request","request_id":"a","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"t"}}`)
	c.receive()
	c.say(`{"type":"control_request","request_id":"b","request":{"subtype":"hook_callback","callback_id":"hook_0","input":{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}},"tool_use_id":"t"}}`)
	c.receive()
	c.say(`{"type":"control_request","request_id":"c","request":{"subtype":"mcp_message","server_name":"x","message":{"jsonrpc":"2.0","id":1,"method":"tools/call"}}}`)
	c.receive()
	c.say(`{"type":"control_request","request_id":"d","request":{"subtype":"can_use_tool","tool_name":"Wait","input":{},"tool_use_id":"u"}}`)
	c.say(`{"type":"control_cancel_request","request_id":"d"}`)
	c.sayInHalves(`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"hello"}]}}`)
	c.reply(c.expect("set_model"), "{}")
	c.say(`{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_type":"local_agent"}]}`)
	c.say(`{"type":"system","subtype":"background_tasks_changed","tasks":[]}`)
	c.say(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}}`)
	c.say(`{"type":"result","subtype":"success","is_error":false,"result":"hello","user_message_uuids":[%q]}`, first)
	c.say(`{"type":"command_lifecycle","command_uuid":%q,"state":"completed"}`, first)
	c.receive()
	second := c.last.Text("uuid")
	c.say(`{"type":"command_lifecycle","command_uuid":%q,"state":"started"}`, second)
	c.say(`{"type":"system","subtype":"init","session_id":"s","user_message_uuids":[%q]}`, second)
	c.say(`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"long"}]}}`)
	c.reply(c.expect("interrupt"), `{"still_queued":[]}`)
	c.say(`{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","user_message_uuids":[%q]}`, second)
	c.say(`{"type":"command_lifecycle","command_uuid":%q,"state":"completed"}`, second)
	c.receive() // the end of stdin
}
