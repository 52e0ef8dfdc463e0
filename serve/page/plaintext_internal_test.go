package page

import (
	"testing"

	"github.com/claude-agent-go/claude/message"
)

// Tables that a spreadsheet on Windows has saved are texts, and programs are not.
func TestPlainText(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		"a;b":                                 "a;b",
		"\xef\xbb\xbfa;ü":                     "a;ü",
		"\uFFFD in it":                        "\uFFFD in it",
		"caf\xe9;\x80 5;\x93x\x94":            "café;€ 5;“x”",
		"\x1b[31mred\x1b[0m \xe9":             "\x1b[31mred\x1b[0m é",
		"\xff\xfea\x00;\x00\xfc\x00":          "a;ü",
		"\xfe\xff\x00a\xd8\x3d\xde\x00":       "a😀",
		"\xff\xfe\x00":                        "",
		"\xff\xfe":                            "",
		"\xff\xfe\x00\xd8a\x00":               "",
		"":                                    "",
		"\xef\xbb\xbf":                        "",
		"\x00":                                "",
		"MZ\x90\x00\x03":                      "",
		"\xe9\x81":                            "",
		"\xe9\x02":                            "",
		"\x7fELF\x02\x01\x01\x00\xff\xfe\xe9": "",
	} {
		if got, ok := plainText([]byte(data)); ok != (want != "") || ok && got != want {
			t.Errorf("%q is %q, %t", data, got, ok)
		}
	}
}

// Only what a message has itself is linked.
func TestLinkedFiles(t *testing.T) {
	t.Parallel()
	var m message.User
	for _, data := range []string{
		`{"type":"document","title":"far","source":{"type":"url","url":"https://example.com/a.pdf"}}`,
		`{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}`,
		`{"type":"document","title":"near","source":{"type":"text","media_type":"text/plain","data":"x"}}`,
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}`,
	} {
		var content message.Content
		if err := content.UnmarshalJSON([]byte("[" + data + "]")); err != nil {
			t.Fatal(err)
		}
		m.Content = append(m.Content, content...)
	}
	tl := &timeline{items: []*item{{Seq: 7, Files: attachedTo(&m)}}}
	tl.link("/c/1")
	for i, f := range tl.items[0].Files {
		if (f.At != "") != (i >= 2) {
			t.Errorf("%s: %q", f.Name, f.At)
		}
	}
}
