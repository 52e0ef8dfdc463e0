package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/wire"
)

// read decodes a line as the type it names, as a peer does.
func read(line string) error {
	f, err := wire.Parse([]byte(line))
	if err != nil {
		return err
	}
	switch f.Type {
	case wire.TypeRequest:
		_, err = f.Request()
	case wire.TypeResponse:
		_, err = f.Response()
	}
	return err
}

// Every name of an envelope may occur once and in one spelling: a second one,
// whatever its value, makes the frame unreadable.
func TestEnvelopesAreStrict(t *testing.T) {
	frames := []struct {
		line  string // with a mark where a member can be added
		names []string
	}{
		{`{"type":"control_request","subtype":"x","request_id":"u","request":{"subtype":"can_use_tool"},"response":null@}`,
			[]string{"type", "subtype", "request_id", "request", "response"}},
		{`{"type":"control_request","request_id":"u","request":{"subtype":"interrupt","input":{"subtype":"y","Subtype":"z"}@}}`,
			[]string{"subtype"}},
		{`{"type":"control_request","message":{"request_id":"u","request":{"subtype":"x"}@}}`,
			[]string{"request_id", "request"}},
		{`{"type":"control_response","response":{"subtype":"success","request_id":"u","response":{},"error":null,"error_code":null@}}`,
			[]string{"subtype", "request_id", "response", "error", "error_code"}},
		{`{"type":"control_cancel_request","request_id":"u"@}`,
			[]string{"type", "request_id"}},
		{`{"type":"result","subtype":"success"@}`,
			[]string{"type", "subtype"}},
	}
	for _, tt := range frames {
		if err := read(strings.Replace(tt.line, "@", "", 1)); err != nil {
			t.Errorf("%s is refused: %v", tt.line, err)
		}
		for _, name := range tt.names {
			for _, spelling := range spellings(name) {
				for _, line := range []string{
					strings.Replace(tt.line, "@", fmt.Sprintf(`,"%s":"other"`, spelling), 1),
					strings.Replace(tt.line, "@", fmt.Sprintf(`,"%s":null`, spelling), 1),
				} {
					if err := read(line); err == nil {
						t.Errorf("%s is read", line)
					}
				}
			}
		}
	}
}

// spellings are the ways in which some reader takes a name for this one.
func spellings(name string) []string {
	all := []string{
		name, strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:],
		name[:len(name)-1] + strings.ToUpper(name[len(name)-1:]),
		fmt.Sprintf(`\u%04x%s`, name[0], name[1:]),
		fmt.Sprintf(`\u%04X%s`, name[0]-0x20, name[1:]),
	}
	if strings.Contains(name, "s") {
		all = append(all, strings.ReplaceAll(name, "s", "ſ"), strings.ReplaceAll(name, "s", `\u017f`))
	}
	return all
}

// Names that only look alike are not envelope names.
func TestOtherNamesAreFree(t *testing.T) {
	for _, name := range []string{"types", "typ", "sub_type", "requestId", "request-id", "requests", "", "ты"} {
		if err := read(fmt.Sprintf(`{"type":"result","%s":1,"%[1]s":2}`, name)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A gate decides about a request whose subtype could be read in two ways: an error would
// not be its answer, and only the decoder of the request refuses it.
func TestGatesRefuseTwoSubtypes(t *testing.T) {
	for _, subtype := range []string{"can_use_tool", "hook_callback"} {
		for _, more := range []string{`"subtype":"interrupt"`, `"Subtype":"interrupt"`, `"subtype":null`} {
			f, err := wire.Parse([]byte(`{"type":"control_request","request_id":"u","request":{"subtype":"` + subtype + `",` + more + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			r, err := f.Request()
			if err != nil || r.Subtype != subtype || jsonx.BodyNames().Check(r.Body) == nil {
				t.Errorf("%s, %s: %+v, %v", subtype, more, r, err)
			}
		}
	}
}
