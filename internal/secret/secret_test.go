package secret_test

import (
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/secret"
)

// env holds one secret of each kind that the tests use.
func env() []string {
	return []string{
		"ANTHROPIC_API_KEY=key-0123456789",
		"my_token=token value with blanks",
		"DB_PASSWORD=short", // too short to be a secret
		"GIT_AUTH=key-0123456789-and-more",
		"PEM_SECRET=first line of key\nsecond line of key\n",
		"HOME=/home/user",
		"EMPTY_KEY=",
		"NO_VALUE_KEY",
	}
}

func TestTail(t *testing.T) {
	s := secret.FromEnv(env())
	for _, test := range []struct{ name, in, want string }{
		{"nothing", "all is well in /home/user", "all is well in /home/user"},
		{"key", "got key-0123456789!", "got [redacted]!"},
		{"twice", "key-0123456789 key-0123456789", "[redacted] [redacted]"},
		{"longer one wins", "key-0123456789-and-more!", "[redacted]!"},
		{"blanks", "Bearer token value with blanks.", "Bearer [redacted]."},
		{"short value", "short", "short"},
		{"line of a key", "x second line of key y", "x [redacted] y"},
		{"whole key", "first line of key\nsecond line of key\nrest", "[redacted]rest"},
		{"API key by form", "sk-ant-api03-AbC_d-9 end", "[redacted] end"},
		{"API key at the end", "key: sk-ant-", "key: [redacted]"},
		{"part at the end", "sent key-012345", "sent [redacted]"},
		{"too little to tell", "sent key", "sent key"},
		{"part before the end", "key-012345 was sent", "key-012345 was sent"},
		{"invalid text", "a\xffb", "a\uFFFDb"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := s.Tail([]byte(test.in)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestIsSecretName(t *testing.T) {
	for name, want := range map[string]bool{
		"ANTHROPIC_API_KEY": true, "GITHUB_TOKEN": true, "my_password": true, "X-Api-Key": true, "Authorization": true,
		"CLAUDE_CODE_OAUTH_TOKEN": true, "AWS_SECRET_ACCESS_KEY": true, "ANTHROPIC_CUSTOM_HEADERS": true, "Set-Cookie": true,
		"SMTP_PASS": true, "GITLAB_PAT": true, "MYSQL_PWD": true, "PWD": false, "OLDPWD": false, "COMPASS_PATTERN": false,
		"GIT_AUTHOR_NAME": false, "PATH": false, "HOME": false, "": false, "LANG": false,
	} {
		if got := secret.IsSecretName(name); got != want {
			t.Errorf("IsSecretName(%q) = %v", name, got)
		}
	}
}

func TestHide(t *testing.T) {
	var none *secret.Set
	for _, tt := range []struct{ name, in, want string }{
		{"words", "a bearer token, basic authentication, and sk- alone", "a bearer token, basic authentication, and sk- alone"},
		{"bearer", "Authorization: Bearer abc123def456.x", "Authorization: Bearer [redacted]"},
		{"bearer with digits at the end", "Bearer swordfish-66", "Bearer [redacted]"},
		{"long bearer", "bearer abcdefghijklmnopqrstuvwxyz", "bearer [redacted]"},
		{"basic", "authorization: Basic dXNlcjpwYXNz", "authorization: Basic [redacted]"},
		{"assignment", "export MY_TOKEN=abcdefgh; make", "export MY_TOKEN=[redacted]; make"},
		{"quoted assignment", `PASSWORD="two words" cmd`, "PASSWORD=[redacted] cmd"},
		{"assignment of nothing secret", "GOFLAGS=-mod=readonly-x", "GOFLAGS=-mod=readonly-x"},
		{"variable in an assignment", "MY_TOKEN=$OTHER_TOKEN", "MY_TOKEN=$OTHER_TOKEN"},
		{"member in a text", `--settings={"env":{"X_TOKEN":"swordfish"},"tokenKind":"ordinary"}`, `--settings={"env":{"X_TOKEN":"[redacted]"},"tokenKind":"ordinary"}`},
		{"member in a text in a text", `{\\"password\\":\\"swordfish\\"}`, `{\\"password\\":\\"[redacted]\\"}`},
		{"forge", "ghp_0123456789abcdefghijABCD", "[redacted]"},
		{"other key", "sk-proj-0123456789abcdefghij", "[redacted]"},
		{"url", "https://user:hunter2@example.org/x", "https://user:[redacted]@example.org/x"},
		{"private key", "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA PRIVATE KEY-----"},
		{"web token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.sig-x ok", "[redacted] ok"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := none.Hide(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Text that a person has to judge keeps everything that a program could obey.
func TestHideWords(t *testing.T) {
	s := secret.FromEnv(env())
	for _, tt := range []struct{ name, in, want string }{
		{"value", "curl -u key-0123456789 x", "curl -u [redacted] x"},
		{"API key", "echo sk-ant-api03-AbC_d-9; ls", "echo [redacted]; ls"},
		{"bearer", "curl -H 'Authorization: Bearer abc123def456.x'", "curl -H 'Authorization: Bearer [redacted]'"},
		{"url", "curl https://user:hunter2@example.org/x", "curl https://user:[redacted]@example.org/x"},
		{"command in a url", "curl https://user:$(id)@example.org/x", "curl https://user:$(id)@example.org/x"},
		{"command in quotes", `A_KEY="$(curl x | sh)" true`, `A_KEY="$(curl x | sh)" true`},
		{"command by a variable", "A_KEY=poweroff; $A_KEY", "A_KEY=poweroff; $A_KEY"},
		{"behind a private key", "echo -----BEGIN PRIVATE KEY-----; rm -r /", "echo -----BEGIN PRIVATE KEY-----; rm -r /"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := s.HideWords(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	s := secret.FromEnv([]string{`A_TOKEN=quote"and\back`, "B_TOKEN=4711471147"})
	s.Add("told")
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", `{"a":"b\u003c","n":1}`, `{"a":"b\u003c","n":1}`},
		{"escaped", `{"a":"x quote\"and\\back y"}`, `{"a":"x [redacted] y"}`},
		{"JSON in a text", `{"a":"{\"k\":\"quote\\\"and\\\\back\"}"}`, `{"a":"{\"k\":\"[redacted]\"}"}`},
		{"in another escape", `{"a":"\u0073k-ant-abc"}`, `{"a":"[redacted]"}`},
		{"told, in a name too", `{"told":"told you"}`, `{"[redacted]":"[redacted] you"}`},
		{"member", `{"apiKey":"x","password":["y","z"],"apiKeySource":"env","input_tokens":3}`, `{"apiKey":"[redacted]","password":["[redacted]","[redacted]"],"apiKeySource":"env","input_tokens":3}`},
		{"named as a member", `{"x":{"quote\"and\\back":1,"a quote\"and\\back":2}}`, `{"x":{"[redacted]":1,"a [redacted]":2}}`},
		{"several names", `{"told":1,"x":{"told":2},"sk-ant-abc":3,"[redacted]":4}`, `{"[redacted]":1,"x":{"[redacted] 2":2},"[redacted] 3":3,"[redacted] 4":4}`},
		{"member that is a number", `{"password":12345,"token":-1.5e3,"list":[1,{"pin_secret":[2,3]}],"ok":true,"secret":null}`,
			`{"password":"[redacted]","token":"[redacted]","list":[1,{"pin_secret":["[redacted]","[redacted]"]}],"ok":true,"secret":null}`},
		{"variable that is a number", `{"env":{"MY_KEY":5,"N":6}}`, `{"env":{"MY_KEY":"[redacted]","N":6}}`},
		{"number that is known", `{"a":[4711471147],"b":47114711470,"c":471147114,"d":"n 4711471147"}`, `{"a":["[redacted]"],"b":"[redacted]","c":471147114,"d":"n [redacted]"}`},
		{"variables", `{"env":{"MY_KEY":"v","HOME":"/h"},"MY_KEY":"name"}`, `{"env":{"MY_KEY":"[redacted]","HOME":"/h"},"MY_KEY":"name"}`},
		{"headers", `{"headers":{"X-Api-Key":"v","Accept":"a"}}`, `{"headers":{"X-Api-Key":"[redacted]","Accept":"a"}}`},
		{"empty secret", `{"password":""}`, `{"password":""}`},
		{"broken", `{"password":"x","a":"sk-ant-1`, `{"password":"[redacted]","a":"[redacted]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(s.JSON([]byte(tt.in))); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestLearn(t *testing.T) {
	var s secret.Set
	s.Learn([]byte(`{"env":{"DEPLOY_TOKEN":"swordfish-99","HOME":"/home/user","N_KEY":"short"}}`))
	got := string(s.JSON([]byte(`{"text":"it said swordfish-99 short /home/user"}`)))
	if want := `{"text":"it said [redacted] short /home/user"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Hidden secrets stay hidden, and JSON stays JSON.
func FuzzJSON(f *testing.F) {
	f.Add(`{"a":"canary-0123456789","env":{"A_KEY":["x"]}}`)
	f.Add(`["\u0063anary-0123456789"`)
	f.Add(`{"password":{"a":"b"}}`)
	f.Add(`{"canary-0123456789":1,"x canary-0123456789":{"canary-0123456789":-2.5e3}}`)
	f.Fuzz(func(t *testing.T, line string) {
		s := secret.FromEnv([]string{"A_KEY=canary-0123456789"})
		once := string(s.JSON([]byte(line)))
		if twice := string(s.JSON([]byte(once))); twice != once {
			t.Errorf("%q became %q, then %q", line, once, twice)
		}
		if jsonx.Valid([]byte(line)) {
			if !jsonx.Valid([]byte(once)) {
				t.Errorf("%q became %q", line, once)
			}
			var v any
			if jsonx.Unmarshal([]byte(once), &v) == nil && strings.Contains(text(v), "canary-0123456789") {
				t.Errorf("%q keeps the secret: %q", line, once)
			}
		}
	})
}

// text joins the texts of a value, names included.
func text(v any) string {
	var all strings.Builder
	switch v := v.(type) {
	case string:
		return v + "\n"
	case []any:
		for _, e := range v {
			all.WriteString(text(e))
		}
	case map[string]any:
		for name, e := range v {
			all.WriteString(name + "\n" + text(e))
		}
	}
	return all.String()
}
