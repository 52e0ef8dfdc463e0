package secret

import (
	"encoding/json"
	"strings"
	"testing"
)

// A member with a secret name hides everything below it, in objects, lists and JSON
// that is itself a text. What only describes such a member stays.
func TestNestedSecrets(t *testing.T) {
	var s Set
	for line, want := range map[string]string{
		`{"password":{"value":"hunter2"}}`:                                    `{"password":{"value":"[redacted]"}}`,
		`{"password":{"a":{"b":["hunter2",{"c":7}]}},"d":1}`:                  `{"password":{"a":{"b":["[redacted]",{"c":"[redacted]"}]}},"d":1}`,
		`{"apiKey":[{"value":"hunter2"}],"x":"y"}`:                            `{"apiKey":[{"value":"[redacted]"}],"x":"y"}`,
		`{"text":"{\"password\":{\"value\":\"hunter2\"}}"}`:                   `{"text":"{\"password\":{\"value\":\"[redacted]\"}}"}`,
		`{"properties":{"password":{"type":"string","description":"yours"}}}`: `{"properties":{"password":{"type":"string","description":"yours"}}}`,
		`{"properties":{"password":{"type":"string","default":"hunter2"}}}`:   `{"properties":{"password":{"type":"string","default":"[redacted]"}}}`,
		`{"properties":{"password":{"value":"hunter2"}}}`:                     `{"properties":{"password":{"value":"[redacted]"}}}`,
		`{"password":{},"after":"shown"}`:                                     `{"password":{},"after":"shown"}`,
		`{"usage":{"input_tokens":7}}`:                                        `{"usage":{"input_tokens":7}}`,
	} {
		got := string(s.JSON([]byte(line)))
		if got != want || !json.Valid([]byte(got)) {
			t.Errorf("%s\nbecomes %s\nwant    %s", line, got, want)
		}
	}
}

// A line that was cut off anywhere shows no part of a secret of four bytes or more.
func TestCutSecrets(t *testing.T) {
	var s Set
	s.AddValues("correct-horse-battery")
	for _, line := range []string{
		`{"type":"user","password":"hunter2-hunter2"}`,
		`{"password":{"value":"hunter2-hunter2"}}`,
		`{"env":{"MY_TOKEN":"hunter2-hunter2"},"x":1}`,
		`{"text":"it is correct-horse-battery, really"}`,
		`{"text":"it is \u0063orrect-horse-battery, really"}`,
		`{"text":"it is \"correct-horse-battery\" \ud83d\ude00"}`,
	} {
		for n := range len(line) + 1 {
			got := s.HeadJSON([]byte(line[:n]), n)
			for _, secret := range []string{"hunter2-hunter2", "correct-horse-battery"} {
				for part := 4; part <= len(secret); part++ {
					if strings.Contains(got, secret[:part]) {
						t.Fatalf("%s\ncut after %d bytes shows %q", line, n, got)
					}
				}
			}
		}
	}
}
