package transcript

import (
	"strings"
	"testing"
	"time"
)

func TestList(t *testing.T) {
	user := func(text string) string {
		return `{"parentUuid":null,"type":"user","uuid":"u","cwd":"/w","gitBranch":"main","entrypoint":"sdk-go","timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":` + text + `}}` + "\n"
	}
	tests := []struct{ name, head, tail, title, want string }{
		{"a prompt", user(`"Hello\nthere"`), "", "", "Hello there"},
		{"blocks", user(`[{"type":"text","text":"In blocks"}]`), "", "", "In blocks"},
		{"what the CLI put there is passed over", user(`"<local-command-caveat>x</local-command-caveat>"`) + user(`"[Request interrupted by user]"`) + user(`"Real"`), "", "", "Real"},
		{"a tag in another case is text", user(`"<T> is a type"`), "", "", "<T> is a type"},
		{"a command, if there is nothing else", user(`"<command-name>/init</command-name>"`), "", "", "/init"},
		{"a shell command", user(`"<bash-input> ls </bash-input>"`), "", "", "! ls"},
		{"tool results are not prompts", user(`[{"type":"tool_result","content":"x"},{"type":"text","text":"x"}]`), "", "", ""},
		{"an image", user(`[{"type":"image"}]`), "", "", "Image"},
		{"the last prompt", user(`"First"`), `{"type":"last-prompt","lastPrompt":"Last"}` + "\n", "", "Last"},
		{"a title made up", user(`"First"`), `{"type":"ai-title","aiTitle":"Made up"}` + "\n" + `{"type":"last-prompt","lastPrompt":"Last"}`, "", "Made up"},
		{"a title in a file", user(`"First"`), `{"type":"ai-title","aiTitle":"Made up"}`, "In a file", "In a file"},
		{"a title given", user(`"First"`), `{"type":"custom-title","customTitle":"Old"}` + "\n" + `{"type":"custom-title","customTitle":"Given"}`, "In a file", "Given"},
		{"a title with blanks between", user(`"First"`), `{"customTitle": "Given", "type": "custom-title"}`, "", "Given"},
		{"a title that was cut off", user(`"First"`), `{"type":"custom-title","customTitle":"Giv`, "", "First"},
		{"a title in a tool's input is not one", user(`"First"`), `{"type":"assistant","message":{"content":[{"input":{"type":"custom-title","customTitle":"Trick"}}]}}`, "", "First"},
		{"a long prompt", user(`"` + strings.Repeat("é", 250) + `"`), "", "", strings.Repeat("é", 200) + "…"},
		{"the first of two, by a CLI that does not say where it runs", `{"type":"user","message":{"content":"One"}}` + "\n" + `{"type":"user","message":{"content":"Two"}}` + "\n" + `{"type":"user","mess`, "", "", "One"},
		{"nothing", `{"type":"mode","mode":"default"}`, "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tail := tt.tail
			if tail == "" {
				tail = tt.head
			}
			l := List([]byte(tt.head), []byte(tail), tt.title)
			if got := l.Name(); got != tt.want {
				t.Errorf("called %q, want %q", got, tt.want)
			}
		})
	}
	l := List([]byte(user(`"First"`)), []byte(`{"type":"tag","tag":"old"}
{"type":"tag","tag":"new"}
{"type":"relocated","relocatedCwd":"/elsewhere"}
{"parentUuid":"x","type":"assistant","gitBranch":"side"}
{"type":"continued-in","continuedInSessionId":"next"}
`), "")
	if l.Tag != "new" || l.Dir != "/elsewhere" || l.Branch != "side" || l.Entrypoint != "sdk-go" || l.ContinuedIn != "next" ||
		!l.Created.Equal(time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)) {
		t.Errorf("listed as %+v", l)
	}
	if l := List(nil, []byte(`{"type":"continued-in","continuedInSessionId":"next"}`+"\n"+user(`"More"`)), ""); l.ContinuedIn != "" {
		t.Error("a session that continued is said to be continued elsewhere")
	}
	if l := List(nil, []byte(`{"type":"tag","tag":"x"}`+"\n"+`{"type":"tag","tag":""}`), ""); l.Tag != "" {
		t.Errorf("a tag that was taken away: %q", l.Tag)
	}
	if l := List([]byte(`{"isSidechain":true,"type":"user"}`), nil, ""); !l.Sidechain {
		t.Error("the file of a subagent is not known as one")
	}
	// A first line that is longer than the edge still shows where it was written.
	if l := List([]byte(`{"cwd":"/w","gitBranch":"main","message":{"content":"`+strings.Repeat("x", 1000)), nil, ""); l.Dir != "/w" || l.Branch != "main" {
		t.Errorf("cut off: %+v", l)
	}
}

func TestLastPrompt(t *testing.T) {
	head := `{"type":"user","timestamp":"2026-01-01T00:00:01Z","message":{"content":"a"}}`
	tail := `{"type":"user","timestamp":"2026-01-01T00:00:09Z","message":{"content":[{"type":"tool_result"}]}}
{"type":"user","timestamp":"2026-01-01T00:00:03Z","message":{"content":[{"type":"text","text":"b"}]}}
{"type":"user","isMeta":true,"timestamp":"2026-01-01T00:00:08Z","message":{"content":"c"}}`
	if got := LastPrompt([]byte(head), []byte(tail)); got.Second() != 3 {
		t.Errorf("the last prompt came at %v", got)
	}
}

func TestProjectName(t *testing.T) {
	long := "/" + strings.Repeat("a/", 150)
	tests := map[string]string{
		"/home/user/my.app":            "-home-user-my-app",
		"/tmp/caf\u00e9":               "-tmp-caf-",
		"/tmp/cafe\u0301":              "-tmp-cafe-",
		"/tmp/\U0001F600":              "-tmp---",
		"C:\\Users\\me":                "C--Users-me",
		"/" + strings.Repeat("x", 199): "-" + strings.Repeat("x", 199),
	}
	for path, want := range tests {
		if got := ProjectName(path); got != want {
			t.Errorf("ProjectName(%q) = %q, want %q", path, got, want)
		}
	}
	if got := ProjectName(long); len(got) <= 201 || got[:201] != LongPrefix(long) || LongPrefix("/short") != "" {
		t.Errorf("ProjectName of a long path = %q, prefix %q", got, LongPrefix(long))
	}
	if got := ProjectNames("/tmp/cafe\u0301"); len(got) != 2 || got[1] != "-tmp-caf-" {
		t.Errorf("ProjectNames = %q", got)
	}
}

func TestValid(t *testing.T) {
	for name, want := range map[string]bool{"tenant_7-a": true, "": false, "a/b": false, "..": false, "nul": false, "COM1": false, strings.Repeat("a", 65): false} {
		if ValidOverride(name) != want {
			t.Errorf("ValidOverride(%q) = %v", name, !want)
		}
	}
	for id, want := range map[string]bool{"a91c595b4eab5de04": true, "": false, "../x": false, "a/b": false, "a.b": false} {
		if ValidAgent(id) != want {
			t.Errorf("ValidAgent(%q) = %v", id, !want)
		}
	}
	for tag, want := range map[string]string{" Release ": "Release", "a\u200bb": "ab", "\ufb01x": "fix", "\u0000": "", "two words": "two words"} {
		if got := CleanTag(tag); got != want {
			t.Errorf("CleanTag(%q) = %q, want %q", tag, got, want)
		}
	}
}

func FuzzList(f *testing.F) {
	f.Add([]byte(`{"type":"user","message":{"content":"a"}}`), []byte(`{"type":"tag","tag":"x"}`))
	f.Fuzz(func(t *testing.T, head, tail []byte) {
		l := List(head, tail, "")
		LastPrompt(head, tail)
		if len([]rune(l.FirstPrompt)) > maxPrompt+1 && !strings.HasPrefix(l.FirstPrompt, "! ") && !strings.HasPrefix(l.FirstPrompt, "/") {
			t.Logf("a long first prompt: %d", len(l.FirstPrompt)) // of a command; listings show it whole
		}
	})
}

// What a cut head does not tell, the lines of the tail do.
func TestOriginFromTheTail(t *testing.T) {
	head := `{"parentUuid":null,"type":"user","message":{"content":"` + strings.Repeat("x", 1000)
	tail := `{"type":"tag","tag":"x","cwd":"/note"}
{"parentUuid":"a","type":"user","entrypoint":"sdk-go","cwd":"/w"}
{"parentUuid":"b","type":"user","entrypoint":"cli","cwd":"/later"}
`
	if !CutShort([]byte(head)) {
		t.Error("a head that ends in the first prompt is not known as cut short")
	}
	if l := List([]byte(head), []byte(tail), ""); l.Dir != "/w" || l.Entrypoint != "sdk-go" {
		t.Errorf("%+v", l)
	}
	whole := `{"type":"user","entrypoint":"cli","cwd":"/w","message":{"content":"a"}}` + "\n"
	for _, known := range []string{whole, whole + head} {
		if CutShort([]byte(known)) {
			t.Errorf("%.100s: cut short, though everything is known", known)
		}
	}
}
