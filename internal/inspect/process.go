package inspect

import (
	"encoding/json"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/show"
)

// aboutProcess holds the recorders' notes about the process. One line may have
// several of them: some recorders write the exit code and all of stderr together.
type aboutProcess struct {
	Args []string `json:"argv"`
	// Exit is the exit code, or a word of the recorder for another end.
	Exit   json.RawMessage `json:"exit_code"`
	Signal string          `json:"signal"`
	Stderr *string         `json:"stderr"`
	Lost   int64           `json:"lost_bytes"`
}

// process takes the notes about the process itself.
func (b *builder) process(f *Frame) {
	var said aboutProcess
	_ = jsonx.Unmarshal(f.Msg, &said) // whatever fits
	f.Kind = KindProcess
	s := &b.rep.Summary
	stderr := ""
	if said.Stderr != nil {
		stderr = show.Short(*said.Stderr)
	}
	switch {
	case jsonx.Present(said.Exit):
		f.Summary = b.exit(said)
		if f.Summary != exitText("0", "") {
			f.Error = f.Summary
		}
		if stderr != "" {
			f.Summary += ", stderr: " + stderr
		}
	case said.Stderr != nil:
		f.Kind, f.Summary = KindStderr, stderr
	case said.Args != nil:
		s.Args = said.Args
		f.Summary = show.Short(commandLine(said.Args))
	case said.Lost > 0:
		f.Error = "the recorder could not keep up"
		f.Summary = f.Error + ", " + show.Bytes(said.Lost) + " are missing"
		b.problem(f.Line, f.Summary)
	case said.Signal != "":
		f.Summary = "signal sent: " + show.Short(said.Signal)
	default:
		f.Summary = show.Short(string(f.Msg))
	}
}

// exit takes how the process ended.
func (b *builder) exit(said aboutProcess) string {
	s := &b.rep.Summary
	var code int
	if jsonx.Unmarshal(said.Exit, &code) != nil {
		s.Exit = "ended: " + show.Short(jsonx.Text(said.Exit))
		return s.Exit
	}
	s.ExitCode, s.Exit = &code, exitText(number(code), said.Signal)
	return s.Exit
}

// recorderNote takes what a recorder wrote between the lines of a stream, and reports
// whether f is that. Its names begin with an underscore.
func (b *builder) recorderNote(f *Frame) bool {
	var said struct {
		EOF        json.RawMessage `json:"_eof"`
		WriteError string          `json:"_write_error"`
		Note       string          `json:"_note"`
	}
	if jsonx.Member(f.Msg, "type") != nil || jsonx.Unmarshal(f.Msg, &said) != nil {
		return false
	}
	switch {
	case jsonx.Present(said.EOF):
		f.Summary = "end of the input"
	case said.WriteError != "":
		f.Error = "the line before could not be written"
		f.Summary = f.Error + ": " + show.Short(said.WriteError)
	case said.Note != "":
		f.Summary = show.Short(said.Note)
	default:
		return false
	}
	f.Kind = KindProcess
	return true
}

// raw is the member under which recorders keep a line as text.
const raw = "_raw"

// unwrapped returns the line that a recorder has kept as text, if it is one JSON
// value after all: tests write lines by hand, with other ends or a byte order
// mark, and the CLI reads them.
func unwrapped(msg json.RawMessage) json.RawMessage {
	member := jsonx.Member(msg, raw)
	if member == nil {
		return msg
	}
	text := strings.TrimSpace(strings.TrimPrefix(jsonx.Text(member), "\ufeff"))
	if strings.ContainsAny(text, "\r\n") || !jsonx.Valid([]byte(text)) {
		return msg
	}
	return json.RawMessage(text)
}

// text takes a line that is not one JSON value, and reports whether f is that.
func (b *builder) text(f *Frame) bool {
	member := jsonx.Member(f.Msg, raw)
	if member == nil {
		return false
	}
	text := jsonx.Text(member)
	f.Text = show.Head(text, headLimit)
	f.Summary = show.Short(text)
	switch {
	case strings.TrimSpace(text) == "":
		f.Kind, f.Summary = KindControl, "blank line"
	case jsonx.Valid([]byte(strings.TrimPrefix(text, "\ufeff"))):
		f.Kind, f.Error = KindBroken, "JSON over several lines, where one line is one value"
	default:
		f.Kind, f.Error = KindBroken, "line is not JSON"
	}
	return true
}
