package claude

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// hookAnswer is the reply of one PreToolUse hook, or of several combined.
type hookAnswer struct {
	decision hook.PermissionDecision
	reason   string
	input    json.RawMessage // nil: unchanged
	context  string

	stopped          bool
	stopReason       string
	systemMessage    string
	terminalSequence string
	suppressOutput   bool

	// Members that this package does not know, as written.
	common, specific map[string]json.RawMessage
}

// readAnswer reads a reply as the CLI does. A reply that the CLI would drop or
// fail on is an error: a denial must not get lost.
func readAnswer(reply json.RawMessage) (hookAnswer, error) {
	var a hookAnswer
	if err := jsonx.Unambiguous(reply); err != nil {
		return a, fmt.Errorf("the output cannot be read: %w", err)
	}
	if err := jsonx.UnmarshalWhole(reply, &a.common); err != nil {
		return a, fmt.Errorf("the output cannot be read: %w", err)
	}
	goOn, legacy, legacyReason, async := true, "", "", false
	err := take(a.common, map[string]any{
		"continue": &goOn, "stopReason": &a.stopReason, "decision": &legacy, "reason": &legacyReason, "systemMessage": &a.systemMessage,
		"suppressOutput": &a.suppressOutput, "terminalSequence": &a.terminalSequence, "async": &async, "asyncTimeout": new(float64),
		"hookSpecificOutput": &a.specific,
	})
	if err != nil {
		return a, err
	}
	if async {
		return hookAnswer{}, nil // the CLI drops the rest
	}
	a.stopped = !goOn
	if err := a.readSpecific(); err != nil {
		return a, err
	}
	switch legacy {
	case "":
	case "block":
		a.decide(hook.PermissionDeny, legacyReason)
	case "approve":
		a.decide(hook.PermissionAllow, legacyReason)
	default:
		return a, fmt.Errorf("the output has an unknown decision, %q", legacy)
	}
	return a, nil
}

func (a *hookAnswer) readSpecific() error {
	if a.specific == nil {
		return nil
	}
	event := ""
	err := take(a.specific, map[string]any{
		"hookEventName": &event, "permissionDecision": &a.decision, "permissionDecisionReason": &a.reason,
		"updatedInput": &a.input, "additionalContext": &a.context,
	})
	switch {
	case err != nil:
		return err
	case event != string(hook.EventPreToolUse):
		return fmt.Errorf("the output is for the event %q", event)
	case a.decision != "" && strictness(a.decision) == 0:
		return fmt.Errorf("the output has an unknown decision, %q", a.decision)
	}
	if !jsonx.Present(a.input) {
		a.input = nil
	} else if a.input[0] != '{' {
		return errors.New("the changed input is not an object")
	}
	return nil
}

// take moves members of an object to variables.
func take(object map[string]json.RawMessage, to map[string]any) error {
	for name, v := range to {
		raw, has := object[name]
		delete(object, name)
		if !has || !jsonx.Present(raw) {
			continue
		}
		if err := jsonx.UnmarshalWhole(raw, v); err != nil {
			return fmt.Errorf("the output cannot be read: %s: %w", name, err)
		}
	}
	return nil
}

// keep adds what a hook told the model and the user when it was asked earlier, about
// another input, unless it tells them again.
func (a *hookAnswer) keep(before *hookAnswer) {
	if before.stopped && !a.stopped {
		a.stopped, a.stopReason = true, before.stopReason
	}
	a.context = cmp.Or(a.context, before.context)
	a.systemMessage = cmp.Or(a.systemMessage, before.systemMessage)
}

// strictness ranks decisions: of several, the CLI takes the highest.
func strictness(d hook.PermissionDecision) int {
	return 1 + slices.Index([]hook.PermissionDecision{hook.PermissionAllow, hook.PermissionAsk, hook.PermissionDefer, hook.PermissionDeny}, d)
}

func stricter(a, b hook.PermissionDecision) bool { return strictness(a) > strictness(b) }

// decide keeps the stricter of two decisions, and of equal ones the first.
func (a *hookAnswer) decide(d hook.PermissionDecision, reason string) {
	if stricter(d, a.decision) {
		a.decision, a.reason = d, reason
	}
}

// add adds the answer of the next hook.
func (a *hookAnswer) add(b *hookAnswer) {
	a.decide(b.decision, b.reason)
	a.context = joined(a.context, b.context)
	a.systemMessage = joined(a.systemMessage, b.systemMessage)
	a.terminalSequence += b.terminalSequence
	a.suppressOutput = a.suppressOutput || b.suppressOutput
	if b.stopped && !a.stopped {
		a.stopped, a.stopReason = true, b.stopReason
	}
	for _, m := range []struct {
		to   *map[string]json.RawMessage
		from map[string]json.RawMessage
	}{{&a.common, b.common}, {&a.specific, b.specific}} {
		if *m.to == nil && len(m.from) > 0 {
			*m.to = make(map[string]json.RawMessage)
		}
		maps.Copy(*m.to, m.from)
	}
}

// joined puts one text below the other.
func joined(a, b string) string { return strings.Trim(a+"\n"+b, "\n") }

// encode writes the answer in the CLI's form.
func (a *hookAnswer) encode() (json.RawMessage, error) {
	specific, err := jsonx.Marshal(struct {
		Event    hook.Event              `json:"hookEventName"`
		Decision hook.PermissionDecision `json:"permissionDecision,omitzero"`
		Reason   string                  `json:"permissionDecisionReason,omitzero"`
		Input    json.RawMessage         `json:"updatedInput,omitzero"`
		Context  string                  `json:"additionalContext,omitzero"`
	}{hook.EventPreToolUse, a.decision, a.reason, a.input, a.context})
	if err != nil {
		return nil, err
	}
	common := struct {
		Continue         *bool           `json:"continue,omitzero"`
		StopReason       string          `json:"stopReason,omitzero"`
		SystemMessage    string          `json:"systemMessage,omitzero"`
		SuppressOutput   bool            `json:"suppressOutput,omitzero"`
		TerminalSequence string          `json:"terminalSequence,omitzero"`
		Specific         json.RawMessage `json:"hookSpecificOutput,omitzero"`
	}{StopReason: a.stopReason, SystemMessage: a.systemMessage, SuppressOutput: a.suppressOutput, TerminalSequence: a.terminalSequence}
	if a.stopped {
		common.Continue = new(false)
	}
	if a.decision != "" || a.input != nil || a.context != "" || len(a.specific) > 0 {
		if common.Specific, err = withMembers(specific, a.specific); err != nil {
			return nil, err
		}
	}
	reply, err := jsonx.Marshal(common)
	if err != nil {
		return nil, err
	}
	return withMembers(reply, a.common)
}

// withMembers returns an object with members in place of those of the same names.
func withMembers(object json.RawMessage, members map[string]json.RawMessage) (json.RawMessage, error) {
	var err error
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if object, err = withMember(object, name, members[name]); err != nil {
			return nil, err
		}
	}
	return object, nil
}

// withMember returns an object whose member has this value, in its old place or
// at the end.
func withMember(object json.RawMessage, name string, value json.RawMessage) (json.RawMessage, error) {
	walk, err := jsonx.Walk(object)
	if err != nil {
		return nil, err
	}
	out, found := []byte("{"), false
	add := func(name string, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(jsonx.AppendText(out, name), ':'), value...)
	}
	for {
		n, v, err := walk.Next()
		if err != nil {
			return nil, err
		}
		if n == nil {
			break
		}
		if string(n) == name {
			v, found = value, true
		}
		add(string(n), v)
	}
	if !found {
		add(name, value)
	}
	return append(out, '}'), nil
}

// sameJSON reports whether two values are written alike, apart from white
// space.
func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
