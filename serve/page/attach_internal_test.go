package page

import (
	"testing"

	"github.com/claude-agent-go/claude/message"
)

// The files of a prompt are numbered alone, wherever its texts are: a client of the API
// may put them anywhere.
func TestAttachedAt(t *testing.T) {
	m := &message.User{Content: message.Content{
		&message.TextBlock{Text: "before"}, &message.ImageBlock{Source: message.Source{Data: "picture"}},
		&message.TextBlock{Text: "between"}, &message.DocumentBlock{Source: message.Source{Data: "paper"}, Title: "plan.pdf"},
	}}
	for n, want := range []struct{ data, name string }{{"picture", "document"}, {"paper", "plan.pdf"}} {
		if source, name := attachedAt(m, n); source == nil || source.Data != want.data || name != want.name {
			t.Errorf("file %d: %+v, %q", n, source, name)
		}
	}
	if source, _ := attachedAt(m, 2); source != nil {
		t.Errorf("there is a third: %+v", source)
	}
}
