package secret

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
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
		`{"text":"{\"a\":1}\n{\"password\":{\"value\":\"hunter2\"}}\n"}`:      `{"text":"{\"a\":1}\n{\"password\":{\"value\":\"[redacted]\"}}\n"}`,
		`{"text":"log: {\"password\":\"hunter2\"}, then { \"x\" }"}`:          `{"text":"log: {\"password\":\"[redacted]\"}, then { \"x\" }"}`,
		`{"text":"if (a) { \"b\" } {\"token\":[1,{\"v\":\"hunter2\"}]}"}`:     `{"text":"if (a) { \"b\" } {\"token\":[\"[redacted]\",{\"v\":\"[redacted]\"}]}"}`,
		`{"text":"cut: {\"password\":{\"value\":\"hunt"}`:                     `{"text":"cut: {\"password\":{\"value\":\"[redacted]"}`,
		`{"text":"[{\"password\":\"hunter2\"}]"}`:                             `{"text":"[{\"password\":\"[redacted]\"}]"}`,
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

// Text that looks like JSON at every byte does not take long.
func TestHostileEmbedded(t *testing.T) {
	var s Set
	for _, part := range []string{`{"a":`, `{"a`, `{ "a" x`, `{"a":[`, `{"a":"}`} {
		text := strings.Repeat(part, 20_000)
		line, _ := json.Marshal(map[string]string{"text": text})
		begin := time.Now()
		s.JSON(line)
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("%q takes %v", part, took)
		}
	}
}
