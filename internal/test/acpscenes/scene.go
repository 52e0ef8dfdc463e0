package acpscenes

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
)

//go:embed testdata/*.txt
var files embed.FS

// Scene is a recorded conversation.
type Scene struct {
	Name  string
	Lines []Line
}

// Line is a line of a scene: its mark, and what follows.
type Line struct {
	Mark byte
	Data []byte
}

// All returns the scenes, by name.
func All() ([]Scene, error) {
	entries, err := files.ReadDir("testdata")
	if err != nil {
		return nil, err
	}
	var all []Scene
	for _, e := range entries {
		data, err := files.ReadFile("testdata/" + e.Name())
		if err != nil {
			return nil, err
		}
		s, err := parse(strings.TrimSuffix(e.Name(), ".txt"), data)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func parse(name string, data []byte) (Scene, error) {
	s := Scene{Name: name}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if len(line) < 3 || !strings.ContainsRune("><=!", rune(line[0])) {
			return s, fmt.Errorf("scene %s: unknown line %q", name, line)
		}
		s.Lines = append(s.Lines, Line{line[0], bytes.Clone(line[2:])})
	}
	return s, lines.Err()
}

// Recorded returns the frames of the recorded agent.
func (s Scene) Recorded() (frames [][]byte) {
	for _, l := range s.Lines {
		if l.Mark == '<' {
			frames = append(frames, l.Data)
		}
	}
	return frames
}

// reply is a reply of the model, as a "=" line has it.
type reply struct {
	Text  string          `json:"text"`
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
	// Pause is the time between the words of a text, and Wait that before the
	// reply, in milliseconds.
	Pause int `json:"pause"`
	Wait  int `json:"wait"`
	// Error and Status are those of calls that fail, from then on.
	Error  string `json:"error"`
	Status int    `json:"status"`
	// Replies are those of the subagent that the call starts.
	Replies []reply `json:"replies"`
}

// Replies returns what the model says in a scene. "$dir" is dir.
func (s Scene) Replies(dir string) (all []claudetest.Reply, err error) {
	for _, l := range s.Lines {
		if l.Mark != '=' {
			continue
		}
		var list []reply
		if err := json.Unmarshal(bytes.ReplaceAll(l.Data, []byte("$dir"), []byte(dir)), &list); err != nil {
			return nil, fmt.Errorf("scene %s: %w", s.Name, err)
		}
		for _, r := range list {
			all = append(all, r.reply())
		}
	}
	return all, nil
}

func (r reply) reply() claudetest.Reply {
	if r.Status != 0 {
		return claudetest.Fail(r.Status, r.Error, r.Text).Forever()
	}
	said := claudetest.Say(r.Text).Chunks(5, time.Duration(r.Pause)*time.Millisecond)
	call := claudetest.ScriptedCall{Name: r.Tool, Input: r.Input}
	for _, of := range r.Replies {
		call.Replies = append(call.Replies, of.reply())
	}
	switch {
	case r.Tool != "" && r.Text != "":
		said = said.With(claudetest.UseTools(call))
	case r.Tool != "":
		said = claudetest.UseTools(call)
	}
	return said.After(time.Duration(r.Wait) * time.Millisecond)
}

// The kinds of an [Action].
const (
	Request  = "request"  // send a request
	Notify   = "notify"   // send a notification
	Await    = "await"    // wait for the response to a request
	Question = "question" // wait for a request of the agent, and answer it
	Update   = "update"   // wait for an update of a kind since the last request
	Restart  = "restart"  // close the connection and start the agent anew
	Kill     = "kill"     // kill the agent and start it anew
)

// Action is what an editor does in a scene.
type Action struct {
	Do     string          `json:"do"`
	ID     int             `json:"id,omitempty"`     // of the request
	Method string          `json:"method,omitempty"` // or the kind of an update
	Params json.RawMessage `json:"params,omitempty"`
	// Answer is the result of a question; nil: none is given.
	Answer json.RawMessage `json:"answer,omitempty"`
}

// frame has the members of a frame that the order depends on.
type frame struct {
	ID     *int            `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// kind returns the kind of an update, "" for other frames.
func (f frame) kind() string {
	var p struct {
		Update struct {
			SessionUpdate string `json:"sessionUpdate"`
		} `json:"update"`
	}
	if f.Method == "session/update" {
		json.Unmarshal(f.Params, &p)
	}
	return p.Update.SessionUpdate
}

// Actions returns what the editor of a scene does, in order.
func (s Scene) Actions() (all []Action, err error) {
	lastKind := ""
	questions := make(map[int]int) // place in all, by id
	for _, l := range s.Lines {
		if kind, ok := strings.CutPrefix(string(l.Data), "until "); l.Mark == '!' && ok {
			all = append(all, Action{Do: Update, Method: kind})
		} else if l.Mark == '!' {
			all = append(all, Action{Do: string(l.Data)})
		}
		if l.Mark != '>' && l.Mark != '<' {
			continue
		}
		var f frame
		if err := json.Unmarshal(l.Data, &f); err != nil {
			return nil, fmt.Errorf("scene %s: %w", s.Name, err)
		}
		sent := l.Mark == '>'
		switch {
		case sent && f.Method != "" && f.ID != nil:
			all = append(all, Action{Do: Request, ID: *f.ID, Method: f.Method, Params: f.Params})
		case sent && f.Method != "":
			if lastKind != "" {
				all = append(all, Action{Do: Update, Method: lastKind})
			}
			all = append(all, Action{Do: Notify, Method: f.Method, Params: f.Params})
		case sent:
			all[questions[*f.ID]].Answer = f.Result
		case f.Method != "" && f.ID != nil:
			questions[*f.ID] = len(all)
			all = append(all, Action{Do: Question, Method: f.Method})
		case f.Method == "":
			all = append(all, Action{Do: Await, ID: *f.ID})
		}
		if lastKind = f.kind(); sometime(lastKind) {
			lastKind = ""
		}
	}
	return all, nil
}

// sometime reports whether an agent may send updates of a kind at any time.
func sometime(kind string) bool {
	return kind == "available_commands_update" || kind == "session_info_update"
}
