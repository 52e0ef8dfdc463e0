package jsonx_test

import (
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

func TestNameCheck(t *testing.T) {
	for line, want := range map[string]bool{
		`{"type":"a","subtype":"b","request_id":"c","request":{},"response":{}}`: true,
		`{"type":"a","x":{"Type":"b","type":"c","type":"d"}}`:                    true,
		`{"types":"a","typ":"b","":"c","requests":"d"}`:                          true,
		`{}`:                                   true,
		`{"type":"a","type":"a"}`:              false,
		`{"type":"a","Type":"b"}`:              false,
		`{"TYPE":"a"}`:                         false,
		`{"\u0054ype":"a"}`:                    false,
		`{"\u017fubtype":"a"}`:                 false,
		`{"request_id":1,"request_\u0069d":2}`: false,
		`{"Request":{}}`:                       false,
		`{"reSponse":{}}`:                      false,
		`{"type":"a"`:                          false,
		`{"type":"a"}}`:                        false,
		`["type"]`:                             false,
		``:                                     false,
	} {
		if err := jsonx.EnvelopeNames().Check([]byte(line)); (err == nil) != want {
			t.Errorf("%s: %v", line, err)
		}
	}
}
