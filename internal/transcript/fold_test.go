package transcript

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// A fold yields the same listing as the edges of the file, however the session
// was cut into batches and kept in between.
func TestFold(t *testing.T) {
	user := func(text string) string {
		return `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"` + text + `"},"uuid":"u","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/work","gitBranch":"main","entrypoint":"sdk-go"}`
	}
	tests := map[string][]string{
		"nothing":                   {},
		"a prompt":                  {`{"type":"queue-operation","operation":"enqueue","timestamp":"2026-01-02T03:04:05.000Z"}`, user("hello\\nyou"), user("more")},
		"titles":                    {user("a"), `{"type":"ai-title","aiTitle":"made up"}`, `{"type":"custom-title","customTitle":"one"}`, user("b"), `{"type":"custom-title","customTitle":"two"}`},
		"a tag that was taken away": {user("a"), `{"type":"tag","tag":"x"}`, `{"type":"tag","tag":""}`},
		"a tag":                     {user("a"), `{"type":"tag","tag":"x"}`, `{"type":"tag","tag":"y"}`},
		"moved":                     {user("a"), `{"type":"relocated","relocatedCwd":"/elsewhere"}`, strings.ReplaceAll(user("b"), "main", "feature")},
		"cost and prompts":          {user("a"), `{"type":"last-prompt","lastPrompt":"z"}`, `{"type":"cost-state","totalCostUSD":0.25}`},
		"continued":                 {user("a"), `{"type":"continued-in","continuedInSessionId":"x"}`},
		"continued and taken up":    {user("a"), `{"type":"continued-in","continuedInSessionId":"x"}`, user("b")},
		"a command":                 {user("<command-name>/init</command-name>"), `{"type":"summary","summary":"old"}`},
		"a picture":                 {strings.Replace(user("x"), `"content":"x"`, `"content":[{"type":"image"}]`, 1)},
		"a subagent":                {strings.Replace(user("x"), `"isSidechain":false`, `"isSidechain":true`, 1)},
		"for the model only":        {strings.Replace(user("x"), `"isSidechain":false`, `"isMeta":true`, 1), user("said")},
		"garbage":                   {`{"type":"us`, "hello", user("a"), `[1]`, `{"type":"tag","tag":"x"`},
	}
	for name, lines := range tests {
		t.Run(name, func(t *testing.T) {
			file := []byte(strings.Join(lines, "\n") + "\n")
			want := List(file, file, "")
			var data []byte
			for _, line := range lines {
				var f Fold
				if data != nil {
					if err := json.Unmarshal(data, &f); err != nil {
						t.Fatal(err)
					}
				}
				f.Add([]byte(line))
				var err error
				if data, err = json.Marshal(f); err != nil {
					t.Fatal(err)
				}
			}
			var f Fold
			if data != nil {
				if err := json.Unmarshal(data, &f); err != nil {
					t.Fatal(err)
				}
			}
			if got := f.Listing(); got != want {
				t.Errorf("%s\n got %+v\nwant %+v", bytes.TrimSpace(file), got, want)
			}
			if got, want := f.Prompted, LastPrompt(file, file); !got.Equal(want) {
				t.Errorf("last prompt at %v, want %v", got, want)
			}
		})
	}
}
