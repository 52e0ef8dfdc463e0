package acpscenes

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// Row explains differences: those of a scene, a frame and a member, each of them
// a pattern as in [path.Match].
type Row struct {
	Scene, Frame, Member string
	Why                  string
}

// Table explains how an agent differs from the recorded one.
type Table []Row

// heading begins the table in a page.
const heading = "| scene | frame | member | why |"

// ReadTable reads the table of a page in Markdown.
func ReadTable(page string) (Table, error) {
	_, rest, found := strings.Cut(page, heading+"\n")
	if !found {
		return nil, errors.New("the page has no table of differences")
	}
	var t Table
	for i, line := range strings.Split(rest, "\n") {
		if !strings.HasPrefix(line, "|") {
			break
		}
		if i == 0 {
			continue // the rule under the heading
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		if len(cells) != 4 || cells[3] == "" {
			return nil, fmt.Errorf("the row %q needs a scene, a frame, a member and a reason", line)
		}
		t = append(t, Row{cells[0], cells[1], cells[2], cells[3]})
	}
	return t, nil
}

// Explains returns the first row that explains a difference, -1 if none does.
func (t Table) Explains(d Difference) int {
	for i, r := range t {
		if matches(r.Scene, d.Scene) && matches(r.Frame, d.Frame) && matches(r.Member, d.Member) {
			return i
		}
	}
	return -1
}

func matches(pattern, name string) bool {
	flat := strings.NewReplacer("/", ":") // a star also matches a slash
	ok, err := path.Match(flat.Replace(pattern), flat.Replace(name))
	return ok && err == nil
}
