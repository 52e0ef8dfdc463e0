package jsonx_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

func TestStructure(t *testing.T) {
	for in, want := range map[string]string{
		``:                      "",
		`1`:                     "",
		`{"a":[1,2],"b":"x,y"}`: "{1 [2 ,2 ]1 ,1 }0",
		`["\"]","[\\",{}]`:      "[1 ,1 ,1 {2 }1 ]0",
		`]`:                     "]-1",
	} {
		var got []string
		for c, depth := range jsonx.Structure([]byte(in)) {
			got = append(got, fmt.Sprintf("%c%d", c, depth))
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}
