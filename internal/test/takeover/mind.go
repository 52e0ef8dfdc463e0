package takeover

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// What the prompts say, and what the model answers.
const (
	workPrompt  = "Make one note, please."
	afterPrompt = "And what came after that?"

	madeText    = "The note is made."
	unknownText = "Whether the note was made is unknown."
	gaveUpText  = "I have tried often enough."
	afterText   = "Nothing came after that."
)

// mostCalls is how often the model tries.
const mostCalls = 5

// unknownOutcome is how the CLI and a gate say that the outcome of a call is unknown.
var unknownOutcome = regexp.MustCompile(`outcome is unknown|not known whether it ran`)

// hasRun matches the words of a tool that had its effect, and of a gate that has
// seen the end of a call whose result is lost.
var hasRun = regexp.MustCompile(noted + `|This call ran before`)

// Call is a call that the model has made.
type Call struct {
	N  int // from 1
	ID string
	// Knew are the ids of earlier calls whose outcome the model knew to be unknown
	// when it made this one.
	Knew []string
	// Read are the results of earlier calls that it had read.
	Read []string
}

// callID is the id of the n-th call.
func callID(n int) string { return fmt.Sprintf("toolu_%020d", n) }

// mind is the model of a run.
type mind struct {
	tool         Tool
	lasts, eager bool

	mu   sync.Mutex
	made []Call
	last []byte // the last request, after the second prompt
	list []claudetest.ModelMessage
}

// reply answers a request.
func (m *mind) reply(c *claudetest.ModelCall) claudetest.Reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	if strings.Contains(c.Prompt, afterPrompt) {
		m.last, m.list = bytes.Clone(c.Raw), slices.Clone(c.Messages)
		return claudetest.Say(afterText)
	}
	results := resultsIn(c.Messages)
	unknown := m.unknown(c, results)
	switch {
	case slices.ContainsFunc(m.made, func(c Call) bool { return hasRun.MatchString(results[c.ID]) }):
		return claudetest.Say(madeText)
	case len(unknown) > 0 && !(m.eager && len(m.made) == 1):
		return claudetest.Say(unknownText)
	case len(m.made) >= mostCalls:
		return claudetest.Say(gaveUpText)
	}
	call := Call{N: len(m.made) + 1, ID: callID(len(m.made) + 1), Knew: unknown}
	for _, earlier := range m.made {
		if text := results[earlier.ID]; text != "" {
			call.Read = append(call.Read, text)
		}
	}
	m.made = append(m.made, call)
	return claudetest.UseTools(claudetest.ScriptedCall{ID: call.ID, Name: m.tool.name(), Input: m.tool.input(call.N, m.lasts)})
}

// unknown returns the ids of the calls whose outcome the model reads to be unknown: as the
// result of the call, or in a note.
func (m *mind) unknown(c *claudetest.ModelCall, results map[string]string) (ids []string) {
	for _, call := range m.made {
		note := func(said claudetest.ModelMessage) bool {
			return said.Role != "assistant" && strings.Contains(said.Text, call.ID) && strings.Contains(said.Text, "unknown:")
		}
		if unknownOutcome.MatchString(results[call.ID]) || slices.ContainsFunc(c.Messages, note) {
			ids = append(ids, call.ID)
		}
	}
	return ids
}

// resultsIn returns the results of calls in messages, by the ids of the calls.
func resultsIn(all []claudetest.ModelMessage) map[string]string {
	results := make(map[string]string)
	for _, said := range all {
		for block := range jsonx.Elements(said.Content) {
			if jsonx.Text(jsonx.Member(block, "type")) == "tool_result" {
				results[jsonx.Text(jsonx.Member(block, "tool_use_id"))] = string(jsonx.Member(block, "content"))
			}
		}
	}
	return results
}
