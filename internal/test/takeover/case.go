package takeover

import (
	"fmt"
	"time"
)

// Tool is the kind of tool that is called.
type Tool string

// The kinds of tools.
const (
	Bash   Tool = "Bash"
	MCP    Tool = "MCP" // of an MCP server in another process, which the CLI starts
	GoTool Tool = "Go"  // a function of the process that runs the fleet
)

// Tools returns all kinds.
func Tools() []Tool { return []Tool{Bash, MCP, GoTool} }

// name is the name under which the model calls the tool.
func (t Tool) name() string {
	switch t {
	case MCP:
		return "mcp__other__note"
	case GoTool:
		return "mcp__own__note"
	}
	return "Bash"
}

// rule allows the calls of the tool.
func (t Tool) rule() string {
	if t == Bash {
		return "Bash(./note:*)"
	}
	return t.name()
}

// input is that of the n-th call. A tool that lasts continues after its effect.
func (t Tool) input(n int, lasts bool) map[string]string {
	rest := "0"
	if lasts {
		rest = "1"
	}
	if t == Bash {
		return map[string]string{"command": fmt.Sprintf("./note %d %s", n, rest), "description": "make a note"}
	}
	return map[string]string{"n": fmt.Sprint(n), "rest": rest}
}

// Gate is the party that lets a call go.
type Gate string

// Who lets a call go.
const (
	Person  Gate = "person"  // a user elsewhere, after a while
	Program Gate = "program" // the process that runs the fleet, at once
	Rule    Gate = "rule"    // a rule of the conversation
	NoGate  Gate = "none"
)

// Gates returns all of them.
func Gates() []Gate { return []Gate{Person, Program, Rule, NoGate} }

// Moment is when the first process dies. The zero Moment is never.
type Moment struct {
	Write int           // the number of the write to the store, from 1; 0: none
	After bool          // after this write; otherwise before
	Delay time.Duration // since the effect of the tool; 0: none
}

// Delays returns how long after an effect the process is killed.
func Delays() []time.Duration {
	var all []time.Duration
	for _, ms := range []time.Duration{5, 20, 50, 100, 200} {
		all = append(all, ms*time.Millisecond)
	}
	return all
}

// String names the moment.
func (m Moment) String() string {
	switch {
	case m.Delay > 0:
		return fmt.Sprintf("%v after the effect", m.Delay)
	case m.Write > 0 && m.After:
		return fmt.Sprintf("after write %d", m.Write)
	case m.Write > 0:
		return fmt.Sprintf("before write %d", m.Write)
	}
	return "never"
}

// column is the column of the table that the moment belongs to.
func (m Moment) column() string {
	if m.Delay > 0 {
		return m.Delay.String()
	}
	return "writes"
}

// Case is one run.
type Case struct {
	Tool Tool
	Gate Gate
	At   Moment
	Run  int // counts the runs of one moment from 0
}

// String names the case.
func (c Case) String() string {
	return fmt.Sprintf("%s, gate: %s, killed %s, run %d", c.Tool, c.Gate, c.At, c.Run)
}

// defers reports whether the person decides when no process waits.
func (c Case) defers() bool { return c.Gate == Person && c.Run%2 == 1 }

// lasts reports whether the tool continues after its effect.
func (c Case) lasts() bool { return c.Run%3 == 1 }

// eager reports whether the model repeats a call when it reads that its outcome is
// unknown.
func (c Case) eager() bool { return c.Run%3 == 2 }
