package serve

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// silent is a fleet that is never asked.
type silent struct{ fleet.Conversations }

// New refuses options that cannot work, or that would let anyone in, and names them.
func TestNewRefusesOptions(t *testing.T) {
	t.Parallel()
	good := Options{Records: store.Memory(), Project: "p", Presets: []Preset{{Name: "shop", Roots: []string{"/srv"}}}, Logger: slog.New(slog.DiscardHandler)}
	if _, err := New(nil, good); err == nil || !strings.Contains(err.Error(), "fleet") {
		t.Errorf("without a fleet: %v", err)
	}
	for want, change := range map[string]func(*Options){
		"Options.Records":                  func(o *Options) { o.Records = nil },
		"ProxyRole":                        func(o *Options) { o.ProxyRole = "root" },
		"ProxyHeader needs":                func(o *Options) { o.ProxyHeader = "Remote-User" },
		"project":                          func(o *Options) { o.Project = "a/b" },
		"has no roots":                     func(o *Options) { o.Presets = []Preset{{Name: "shop"}} },
		`"https://app.example/" is not`:    func(o *Options) { o.Origins = []string{"https://app.example/"} },
		`"https://App.example" is not`:     func(o *Options) { o.Origins = []string{"https://ok.example", "https://App.example"} },
		`"app.example" is not`:             func(o *Options) { o.Origins = []string{"app.example"} },
		`"ftp://app.example" is not`:       func(o *Options) { o.Origins = []string{"ftp://app.example"} },
		`"https://" is not`:                func(o *Options) { o.Origins = []string{"https://"} },
		`"*" is not`:                       func(o *Options) { o.Origins = []string{"*"} },
		`"https://ada@app.example" is not`: func(o *Options) { o.Origins = []string{"https://ada@app.example"} },
		`"null" is not`:                    func(o *Options) { o.Origins = []string{"null"} },
		"the page is broken": func(o *Options) {
			o.Page = func(*Service) (Page, error) { return nil, errors.New("the page is broken") }
		},
	} {
		o := good
		change(&o)
		if s, err := New(silent{}, o); err == nil || s != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := checkOrigins([]string{"https://app.example", "http://localhost:3000", "https://[::1]:8443"}); err != nil {
		t.Error(err)
	}
}

// The defaults are those that the options document, and a choice stays.
func TestDefaultsOfOptions(t *testing.T) {
	t.Parallel()
	if o := (Options{}).withDefaults(); o.StreamsPerUser != 32 || o.Streams != 1000 || o.ProxyRole != api.RoleOperator || o.Logger == nil {
		t.Errorf("%+v", o)
	}
	own := slog.New(slog.DiscardHandler)
	if o := (Options{StreamsPerUser: 2, Streams: 3, ProxyRole: api.RoleViewer, Logger: own}).withDefaults(); o.StreamsPerUser != 2 || o.Streams != 3 || o.ProxyRole != api.RoleViewer || o.Logger != own {
		t.Errorf("%+v", o)
	}
}

// The cookie is out of reach of scripts and of other sites' forms, keeps to https if the
// server is there, and has a name of its own on each port.
func TestCookieOfLogin(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {Secure: true}, {Port: 8080}} {
		c := (&access{opts: &o}).cookie("ccs_1.x", 90*time.Second)
		name := "claude-serve"
		if o.Port != 0 {
			name = "claude-serve-8080"
		}
		if c.Name != name || c.Value != "ccs_1.x" || c.Path != "/" || c.MaxAge != 90 || !c.HttpOnly || c.Secure != o.Secure || c.SameSite != http.SameSiteLaxMode || c.Domain != "" {
			t.Errorf("%+v: %s", o, c)
		}
		if gone := (&access{opts: &o}).cookie("", -time.Second); gone.MaxAge >= 0 || gone.Value != "" || gone.Name != name || gone.Path != "/" {
			t.Errorf("a logout sets %s", gone)
		}
	}
}

// Only over https, and only for names that belong to this server, does a browser have to
// stay with https.
func TestStrict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		host        string
		secure, tls bool
		want        bool
	}{
		{"agents.example", true, false, true}, {"agents.example:8443", false, true, true}, {"agents.example", false, false, false},
		{"localhost", true, true, false}, {"a.localhost:80", true, true, false}, {"LOCALHOST", true, true, false}, {"127.0.0.1", true, true, false}, {"[::1]:8443", true, true, false}, {"10.1.2.3", true, true, false},
		{"notlocalhost", true, false, true},
	} {
		r := httptest.NewRequest("GET", "http://x/", nil)
		r.Host = c.host
		if c.tls {
			r.TLS = new(tls.ConnectionState)
		}
		if got := (&access{opts: &Options{Secure: c.secure}}).strict(r); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// A proxy's list of addresses is believed as far as trusted proxies wrote it.
func TestAddressBehindProxies(t *testing.T) {
	t.Parallel()
	ac := &access{opts: &Options{ProxyFrom: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}
	for _, c := range []struct {
		peer, want string
		lists      []string
	}{
		{"192.0.2.1:5", "192.0.2.1", []string{"203.0.113.9"}}, // not a proxy
		{"10.0.0.1:5", "203.0.113.9", []string{"203.0.113.9"}},
		{"10.0.0.1:5", "203.0.113.9", []string{"198.51.100.7, 203.0.113.9"}}, // the client chose the first
		{"10.0.0.1:5", "203.0.113.9", []string{"198.51.100.7", "203.0.113.9, 10.0.0.2"}},
		{"10.0.0.1:5", "203.0.113.9", []string{"198.51.100.7,203.0.113.9,10.0.0.2,10.0.0.3"}},
		{"10.0.0.1:5", "10.0.0.1", []string{"10.0.0.2"}},
		{"10.0.0.1:5", "10.0.0.1", nil},
		{"10.0.0.1:5", "10.0.0.1", []string{"203.0.113.9, unknown"}},
		{"10.0.0.1:5", "10.0.0.1", []string{"203.0.113.9,"}},
		{"[::ffff:10.0.0.1]:5", "203.0.113.9", []string{"::ffff:203.0.113.9"}},
		{"10.0.0.1:5", "fe80::1", []string{"fe80::1%eth0"}},
	} {
		r := httptest.NewRequest("GET", "http://localhost/", nil)
		r.RemoteAddr = c.peer
		for _, list := range c.lists {
			r.Header.Add("X-Forwarded-For", list)
		}
		if got := ac.clientOf(r); got != c.want {
			t.Errorf("%s with %q: %s, want %s", c.peer, c.lists, got, c.want)
		}
	}
}

// A login link has its token in the fragment, escaped, and one slash.
func TestLoginLinkForm(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"http://127.0.0.1:8080":   "http://127.0.0.1:8080/login#t=ccl_1.a-_b%2B%26",
		"https://agents.example/": "https://agents.example/login#t=ccl_1.a-_b%2B%26",
	} {
		if got := LoginLink(base, "ccl_1.a-_b+&"); got != want {
			t.Errorf("%s", got)
		}
	}
}

// A host name that is repeated in an answer has nothing but what host names have.
func TestCleanHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"evil.example:80": "evil.example:80", "[::1]:8": "[::1]:8", "a<b>\"c\n--x": "abc--x", "ä$ ok;rm": "okrm", strings.Repeat("a", 200): strings.Repeat("a", 100),
	} {
		if got := cleanHost(host); got != want {
			t.Errorf("%q becomes %q", host, got)
		}
	}
}
