package acpscenes

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The members of a Difference that concern the whole frame.
const (
	Absent = "absent" // the recorded agent sent it, ours did not
	Added  = "added"  // ours sent it, the recorded agent did not
)

// Difference is one between the recorded agent and ours.
type Difference struct {
	Scene, Frame, Member string
	Theirs, Ours         string
}

// String returns the difference as a line.
func (d Difference) String() string {
	return fmt.Sprintf("%s | %s | %s: %s, ours %s", d.Scene, d.Frame, d.Member, d.Theirs, d.Ours)
}

// named is a stripped frame with its name.
type named struct {
	name string // such as "tool_call_update completed"
	key  string // unique among frames that are to be paired
	data map[string]any
}

// Compare returns how stripped frames differ from those of a scene, in order.
// What may come at any time is compared without its place.
func Compare(s Scene, ours [][]byte) (all []Difference, err error) {
	theirs, err := nameAll(s.Recorded())
	if err != nil {
		return nil, err
	}
	mine, err := nameAll(ours)
	if err != nil {
		return nil, err
	}
	add := func(frame, member, theirs, ours string) {
		all = append(all, Difference{s.Name, frame, member, theirs, ours})
	}
	theirs, loose := takeLoose(theirs)
	mine, myLoose := takeLoose(mine)
	for _, name := range slices.Sorted(maps.Keys(loose)) {
		if !myLoose[name] {
			add(name, Absent, "sent", "not sent")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(myLoose)) {
		if !loose[name] {
			add(name, Added, "not sent", "sent")
		}
	}
	for _, p := range align(theirs, mine) {
		switch {
		case p[1] < 0:
			add(theirs[p[0]].name, Absent, "sent", "not sent")
		case p[0] < 0:
			add(mine[p[1]].name, Added, "not sent", "sent")
		default:
			compareMembers("", theirs[p[0]].data, mine[p[1]].data, func(member string, a, b any) {
				add(theirs[p[0]].name, member, show(a), show(b))
			})
		}
	}
	return all, nil
}

// takeLoose takes what may come at any time out of frames.
func takeLoose(frames []named) (rest []named, names map[string]bool) {
	names = make(map[string]bool)
	for _, f := range frames {
		if kind, _, _ := strings.Cut(f.name, " "); loose(kind) {
			names[f.name] = true
		} else {
			rest = append(rest, f)
		}
	}
	return rest, names
}

// loose reports whether frames of a kind may come at any time: some updates, and the
// withdrawal of a question, which comes beside the end of its call.
func loose(kind string) bool {
	return sometime(kind) || kind == "_auth/status_update" || kind == "$/cancel_request"
}

func nameAll(frames [][]byte) (out []named, err error) {
	for _, data := range frames {
		n := named{}
		if err := json.Unmarshal(data, &n.data); err != nil {
			return nil, err
		}
		up := updateOf(n.data)
		switch method, _ := n.data["method"].(string); {
		case up != nil:
			n.name = strings.TrimSpace(fmt.Sprint(up["sessionUpdate"], " ", or(up["status"])))
			n.key = n.name + or(up["toolCallId"])
			if up["cost"] != nil {
				n.key += " with the cost"
			}
		case method != "":
			n.name, n.key = method, method
			delete(n.data, "id") // each side numbers its requests
		default:
			n.name, n.key = "response", fmt.Sprint("response ", n.data["id"])
		}
		out = append(out, n)
	}
	return out, nil
}

func or(v any) string {
	s, _ := v.(string)
	return s
}

// align pairs the places of frames with the same key, in order; -1 means that the other side lacks it.
func align(a, b []named) (pairs [][2]int) {
	longest := make([][]int, len(a)+1) // of the pairs from here on
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			if a[i].key == b[j].key {
				longest[i][j] = max(longest[i][j], longest[i+1][j+1]+1)
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i].key == b[j].key:
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && longest[i+1][j] >= longest[i][j+1]:
			pairs = append(pairs, [2]int{i, -1})
			i++
		default:
			pairs = append(pairs, [2]int{-1, j})
			j++
		}
	}
	return pairs
}

// compareMembers reports the members that differ, as deep as both have them.
func compareMembers(path string, a, b any, report func(string, any, any)) {
	if show(a) == show(b) {
		return
	}
	x, ok1 := a.(map[string]any)
	y, ok2 := b.(map[string]any)
	if !ok1 || !ok2 {
		report(path, a, b)
		return
	}
	all := maps.Clone(x)
	maps.Copy(all, y)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		at := k
		if path != "" && path != "params" && path != "update" {
			at = path + "." + k
		}
		compareMembers(at, x[k], y[k], report)
	}
}

func show(v any) string {
	data, err := marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
