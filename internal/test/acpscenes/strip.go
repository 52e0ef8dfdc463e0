package acpscenes

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// hidden stands for a text that is not compared.
const hidden = "…"

// Strip makes the frames of one run comparable with those of another: pieces of a
// text are joined, ids are numbered, and what depends on the run or is prose is
// hidden. Frames that are stripped already stay as they are. dir is the directory
// of the session.
func Strip(frames [][]byte, dir string) ([][]byte, error) {
	return stripWith(frames, dir, make(map[string]string))
}

// stripWith is Strip with the numbers of the ids so far.
func stripWith(frames [][]byte, dir string, ids map[string]string) ([][]byte, error) {
	s := stripper{dir: dir, ids: ids}
	var out [][]byte
	var last map[string]any // the update before, if it is a piece of text
	for _, data := range frames {
		var f map[string]any
		if err := json.Unmarshal(data, &f); err != nil {
			return nil, fmt.Errorf("%s: %w", data, err)
		}
		up := updateOf(f)
		if last != nil && joins(last, up) {
			last["content"].(map[string]any)["text"] = textOf(last) + textOf(up)
			continue
		}
		if last = nil; up != nil && strings.HasSuffix(fmt.Sprint(up["sessionUpdate"]), "_chunk") && textOf(up) != "" {
			last = up
		}
		out = append(out, nil)
		s.frames = append(s.frames, f)
	}
	for i, f := range s.frames {
		data, err := marshal(s.strip("", f))
		if err != nil {
			return nil, err
		}
		out[i] = data
	}
	return out, nil
}

func marshal(v any) ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return []byte(strings.TrimSpace(b.String())), err
}

func updateOf(f map[string]any) map[string]any {
	params, _ := f["params"].(map[string]any)
	up, _ := params["update"].(map[string]any)
	return up
}

func textOf(up map[string]any) string {
	content, _ := up["content"].(map[string]any)
	text, _ := content["text"].(string)
	return text
}

// joins reports whether two pieces belong to the same text.
func joins(a, b map[string]any) bool {
	return b != nil && a["sessionUpdate"] == b["sessionUpdate"] && a["messageId"] == b["messageId"] && a["messageId"] != nil && textOf(b) != ""
}

type stripper struct {
	dir    string
	ids    map[string]string
	frames []map[string]any
}

var (
	dropped = []string{"jsonrpc", "sessionId", "messageId", "updatedAt", "requestId", "elicitationId", "agentInfo", "nextCursor"}
	// words are members whose texts are words of the protocol or of the scene.
	words = []string{
		"sessionUpdate", "status", "kind", "name", "type", "mode", "stopReason", "outcome", "optionId", "currentModeId", "method",
		"toolName", "server", "source", "nonExecutionKind", "errorKind", "action", "path", "const", "priority", "currency",
	}
	exact  = []string{"id", "code", "exit_code", "protocolVersion", "line"}
	calls  = []string{"toolCallId", "terminalId", "terminal_id"}
	keys   = []string{"toolResponse", "usage", "quota", "cost"} // only the names of members
	simple = regexp.MustCompile(`^[\w $/.,&-]{1,28}$`)
)

func (s *stripper) strip(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if slices.Contains(keys, key) {
			return names(v)
		}
		out := make(map[string]any)
		for k, m := range v {
			if !slices.Contains(dropped, k) {
				out[k] = s.strip(k, m)
			}
		}
		if out["optionId"] != nil {
			delete(out, "name") // the button's label
		}
		return out
	case []any:
		return s.list(key, v)
	case float64:
		if slices.Contains(exact, key) {
			return v
		}
		return 0
	case string:
		return s.text(key, v)
	}
	return v
}

func (s *stripper) list(key string, v []any) any {
	switch key {
	case "availableCommands":
		return hidden
	case "availableModes", "configOptions", "authMethods":
		ids := []any{}
		for _, m := range v {
			if m, ok := m.(map[string]any); ok {
				ids = append(ids, m["id"])
			} else {
				ids = append(ids, v...)
				break
			}
		}
		return ids
	case "sessions", "model_usage":
		return hidden
	}
	if _, text := first(v).(string); text && slices.Contains(keys, key) {
		return v // names already
	}
	out := []any{}
	for _, m := range v {
		out = append(out, s.strip(key, m))
	}
	return out
}

func first(v []any) any {
	if len(v) == 0 {
		return nil
	}
	return v[0]
}

func (s *stripper) text(key, v string) string {
	if slices.Contains(calls, key) {
		if strings.HasPrefix(v, "call-") {
			return v
		}
		if s.ids[v] == "" {
			s.ids[v] = fmt.Sprintf("call-%d", len(s.ids)+1)
		}
		return s.ids[v]
	}
	if s.dir != "" {
		v = strings.ReplaceAll(v, s.dir, "$dir")
	}
	if slices.Contains(words, key) || (key == "text" || key == "title" || key == "command" || key == "content" || key == "newText" || key == "oldText" || key == "file_path") && simple.MatchString(v) {
		return v
	}
	return hidden
}

// names returns the sorted names of an object's members.
func names(v map[string]any) any {
	out := []string{}
	for k := range v {
		out = append(out, k)
	}
	slices.Sort(out)
	all := []any{}
	for _, k := range out {
		all = append(all, k)
	}
	return all
}
