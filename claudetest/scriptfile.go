package claudetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// ParseScript reads a script in one of three forms.
//
// A JSON list holds replies, as [ParseReplies] reads them; a tool call may say
// what the tool returns with "output" (any JSON) or "error" (a text).
//
// A JSON object holds any of these fields:
//
//	replies      such a list
//	tools        {"Name": output}: what tools give back otherwise
//	model        the name of the model
//	mode         the permission mode
//	allow, deny  lists of permission rules
//	sessions     the ids of conversations that can be resumed
//	chunk, glue, slow_read_ms, ignore_eof, ignore_term, grandchild
//	             see [Script]
//	faults       a list of objects with line, pause_ms, stderr, stderr_bytes,
//	             garbage, oversized, half, silent, signal, exit: see [Fault]
//
// Anything else is an archive of texts: the text before the first section is a
// comment, and each section is a piece of the conversation.
//
//	-- think --
//	Where is it written?
//	-- use Read --
//	{"file_path":"/repo/go.mod"}
//	-- output --
//	module example
//	-- say --
//	The module is called example.
//
// Sections are think, say, use NAME, output, error, and script.json for an
// object as above. A section "+say" or "+use NAME" belongs to the reply before
// it, so that one reply can say something and call several tools. A section
// whose name begins with "agent", such as "agent say" or "agent use Read",
// belongs to the subagent that the last call of the tool Agent starts:
//
//	-- use Agent --
//	{"description":"count","prompt":"Count the files.","subagent_type":"Explore"}
//	-- agent say --
//	There are three.
//	-- say --
//	An agent counts them.
//
// An error contains its position in the script.
func ParseScript(data []byte) (*Script, error) {
	s := new(Script)
	var err error
	switch trimmed := bytes.TrimSpace(data); {
	case len(trimmed) == 0:
		err = errors.New("it is empty")
	case trimmed[0] == '[':
		if s.Replies, err = ParseReplies(trimmed); err != nil {
			return nil, err
		}
		return s, nil
	case trimmed[0] == '{':
		err = s.parseObject(trimmed)
	default:
		err = s.parseArchive(string(data))
	}
	if err != nil {
		return nil, fmt.Errorf("claudetest: script: %w", err)
	}
	return s, nil
}

func (s *Script) parseObject(data []byte) error {
	if !jsonx.Valid(data) {
		return errors.New("it is not JSON")
	}
	o := openObject("script", data)
	var replies json.RawMessage
	o.take("replies", &replies)
	if replies != nil {
		parsed, err := ParseReplies(replies)
		if err != nil {
			return errors.New(strings.TrimPrefix(err.Error(), "claudetest: script: "))
		}
		s.Replies = append(s.Replies, parsed...)
	}
	if t := o.takeObject("tools"); t != nil {
		for name, raw := range t.fields {
			s.setTool(name, raw)
		}
		clear(t.fields)
		o.adopt(t)
	}
	var slow int
	o.take("model", &s.Options.Model)
	o.take("mode", (*string)(&s.Options.Mode))
	o.take("allow", &s.Options.Allow)
	o.take("deny", &s.Options.Deny)
	o.take("sessions", &s.Sessions)
	o.take("chunk", &s.Chunk)
	o.take("glue", &s.Glue)
	o.take("slow_read_ms", &slow)
	o.take("ignore_eof", &s.IgnoreEOF)
	o.take("ignore_term", &s.IgnoreTerm)
	o.take("grandchild", &s.Grandchild)
	s.SlowRead = time.Duration(slow) * time.Millisecond
	if m := s.Options.Mode; m != "" && !m.Valid() {
		o.fail("mode", fmt.Errorf("%q is not a permission mode", m))
	}
	var faults []json.RawMessage
	o.take("faults", &faults)
	for i, raw := range faults {
		f := o.open(fmt.Sprintf("faults[%d]", i), raw)
		s.Faults = append(s.Faults, parseFault(f))
		o.adopt(f)
	}
	return o.close()
}

func parseFault(o *object) Fault {
	var f Fault
	var pauseMS int
	code := -1
	o.take("line", &f.Line)
	o.take("pause_ms", &pauseMS)
	o.take("stderr", &f.Stderr)
	o.take("stderr_bytes", &f.StderrBytes)
	o.take("garbage", &f.Garbage)
	o.take("oversized", &f.Oversized)
	o.take("half", &f.Half)
	o.take("silent", &f.Silent)
	o.take("signal", &f.Signal)
	o.take("exit", &code)
	f.Pause = time.Duration(pauseMS) * time.Millisecond
	if code >= 0 {
		f.Exit = &code
	}
	if f.Signal != "" && signalNumber(f.Signal) == 0 {
		o.fail("signal", fmt.Errorf("%q is not a signal", f.Signal))
	}
	return f
}

// setTool sets the output of a tool.
func (s *Script) setTool(name string, raw json.RawMessage) {
	if s.Tools == nil {
		s.Tools = make(map[string]host.RunFunc)
	}
	s.Tools[name] = func(context.Context, json.RawMessage) (host.ToolOutput, error) { return output(scripted(raw)) }
}

// scripted is an output as a script writes it: a text is the text itself.
func scripted(raw json.RawMessage) any {
	var text string
	if jsonx.Unmarshal(raw, &text) == nil {
		return text
	}
	return raw
}

// section is a part of an archive.
type section struct {
	name, text string
	line       int
}

// sections splits an archive at its marker lines.
func sections(text string) []section {
	var all []section
	for i, line := range strings.Split(text, "\n") {
		name, begins := strings.CutPrefix(strings.TrimRight(line, " \r"), "-- ")
		name, ends := strings.CutSuffix(name, " --")
		if begins && ends && name != "" {
			all = append(all, section{name: strings.TrimSpace(name), line: i + 1})
			continue
		}
		if n := len(all); n > 0 {
			all[n-1].text += line + "\n"
		}
	}
	for i := range all {
		all[i].text = strings.Trim(all[i].text, "\n")
	}
	return all
}

func (s *Script) parseArchive(text string) error {
	all := sections(text)
	if len(all) == 0 {
		return errors.New(`it is neither JSON nor an archive with sections such as "-- say --"`)
	}
	return s.parseSections(all)
}

// parseSections reads the sections of a conversation, and those of subagents
// inside.
func (s *Script) parseSections(all []section) error {
	thinking := false // the last reply waits for what follows the thought
	for i := 0; i < len(all); i++ {
		sec := all[i]
		if inner := ofAgent(all[i:]); len(inner) > 0 {
			if err := s.setReplies(inner); err != nil {
				return err
			}
			i += len(inner) - 1
			continue
		}
		if sec.name == "script.json" {
			if err := s.parseObject([]byte(sec.text)); err != nil {
				return fmt.Errorf("line %d: %w", sec.line, err)
			}
			continue
		}
		var err error
		if thinking, err = s.addSection(sec, thinking); err != nil {
			return fmt.Errorf("line %d: %s: %w", sec.line, sec.name, err)
		}
	}
	return nil
}

// addSection adds a section to the replies.
func (s *Script) addSection(sec section, joined bool) (thinking bool, err error) {
	name, more := strings.CutPrefix(sec.name, "+")
	verb, arg, _ := strings.Cut(name, " ")
	last := len(s.Replies) - 1
	if (more || verb == "output" || verb == "error") && last < 0 {
		return false, errors.New("no reply comes before it")
	}
	var r Reply
	switch {
	case verb == "say" && arg == "":
		r = Say(sec.text)
	case verb == "think" && arg == "":
		r, thinking = Think(sec.text, ""), true
	case verb == "use" && arg != "":
		input := json.RawMessage(sec.text)
		if sec.text == "" {
			input = json.RawMessage("{}")
		}
		if !jsonx.Valid(input) {
			return false, errors.New("the input is not JSON")
		}
		r = UseTool(arg, input)
	case verb == "output" && arg == "":
		return false, s.setOutput(sec.text)
	case verb == "error" && arg == "":
		return false, s.setOutput(errors.New(sec.text))
	default:
		return false, errors.New("no such section")
	}
	if more || joined {
		s.Replies[last] = s.Replies[last].With(r)
	} else {
		s.Replies = append(s.Replies, r)
	}
	return thinking, nil
}

// ofAgent takes the sections of a subagent from the head of a list, without the
// word that marks them.
func ofAgent(all []section) (inner []section) {
	for _, sec := range all {
		name, ok := strings.CutPrefix(sec.name, "agent ")
		if !ok {
			break
		}
		sec.name = name
		inner = append(inner, sec)
	}
	return inner
}

// setReplies sets the replies of the subagent that the last tool call starts.
func (s *Script) setReplies(inner []section) error {
	sub := new(Script)
	if err := sub.parseSections(inner); err != nil {
		return err
	}
	var blocks []block
	if n := len(s.Replies); n > 0 {
		blocks = s.Replies[n-1].blocks
	}
	if len(blocks) == 0 || !startsAgent(blocks[len(blocks)-1].name) {
		return fmt.Errorf("line %d: agent %s: no call of the tool Agent comes before it", inner[0].line, inner[0].name)
	}
	blocks[len(blocks)-1].replies = sub.Replies
	return nil
}

// setOutput sets the output of the last tool call.
func (s *Script) setOutput(v any) error {
	blocks := s.Replies[len(s.Replies)-1].blocks
	if len(blocks) == 0 || blocks[len(blocks)-1].kind != kindToolUse {
		return errors.New("no tool call comes before it")
	}
	blocks[len(blocks)-1].output = v
	return nil
}
