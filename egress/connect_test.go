package egress_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude/egress"
)

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// names is a resolver.
type names map[string]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if a, ok := n[host]; ok {
		return []netip.Addr{netip.MustParseAddr(a)}, nil
	}
	return nil, errors.New("no such host")
}

// tunnels is a proxy that allows CONNECT to a TLS server of the test under the name
// example.com, which its certificate has.
func tunnels(t *testing.T, change ...func(*egress.Options)) (f *fixture, server *httptest.Server, authority string) {
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "hello from %s", r.Host) }))
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	authority = "example.com:" + port
	f = start(t, whole(1, 1), func(o *egress.Options) {
		o.Hosts = []string{authority, "inside.example:" + port, "gone.example"}
		o.Resolver = names{"example.com": "127.0.0.1", "inside.example": "127.0.0.2", "other.example": "127.0.0.1"}
		o.Networks = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
		for _, do := range change {
			do(o)
		}
	})
	return f, server, authority
}

// A program that uses HTTPS_PROXY reaches an allowed host, and the proxy sees none of it.
func TestTunnel(t *testing.T) {
	f, server, authority := tunnels(t)
	pass := f.grant(nil)
	env := pass.Env(f.url, []string{})
	var through string
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, "HTTPS_PROXY="); ok {
			through = v
		}
	}
	proxyURL, err := url.Parse(through)
	if err != nil {
		t.Fatal(err)
	}
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.Proxy = http.ProxyURL(proxyURL)
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	get := func(authority string) (string, error) {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", "https://"+authority, nil)
		resp, err := client.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return string(text), err
	}
	if got, err := get(authority); err != nil || got != "hello from "+authority {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := get(strings.Replace(authority, "example.com", "other.example", 1)); err == nil {
		t.Error("another host was reached")
	}
	transport.CloseIdleConnections()
	if err := f.proxy.Close(); err != nil {
		t.Fatal(err)
	}
	if log := f.logged(); !strings.Contains(log, `"msg":"egress tunnel","method":"CONNECT","target":"`+authority+`"`) || !strings.Contains(log, "the host is not on the list") {
		t.Errorf("the log has %s", log)
	}
}

// dial sends CONNECT by hand.
func (f *fixture) dial(authority, user string) (net.Conn, *bufio.Reader, *http.Response) {
	f.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { conn.Close() })
	var auth string
	if user != "" {
		auth = "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user)) + "\r\n"
	}
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", authority, authority, auth)
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, &http.Request{Method: "CONNECT"})
	if err != nil {
		f.t.Fatal(err)
	}
	return conn, r, resp
}

// A refused tunnel has its reason in the log, and the program around the proxy hears it: the
// one that has asked loses it.
func TestTunnelRefuses(t *testing.T) {
	var mu sync.Mutex
	var told []string
	f, _, authority := tunnels(t, func(o *egress.Options) {
		o.Refused = func(c egress.Conversation, target, reason string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, c.ID+" "+target+" "+reason)
		}
	})
	user := "egress:" + f.grant(nil).Sentinel()
	for _, test := range []struct {
		authority, user string
		status          int
		log             string
	}{
		{authority, "", 407, "unknown sentinel"},
		{authority, "egress:" + realKey, 407, "unknown sentinel"},
		{"api.anthropic.com:443", user, 403, "not on the list"},
		{"example.com:443", user, 403, "not on the list"},
		{"gone.example:443", user, 502, "no such host"},
		{strings.Replace(authority, "example.com", "inside.example", 1), user, 403, "not on the internet"},
		{strings.Replace(authority, "example.com", "127.0.0.1", 1), user, 403, "an address is not a name"},
		{"[::1]:443", user, 403, "an address is not a name"},
	} {
		_, _, resp := f.dial(test.authority, test.user)
		if resp.StatusCode != test.status || (resp.Header.Get("Proxy-Authenticate") != "") != (test.status == 407) {
			t.Errorf("%s: %d %v, want %d", test.authority, resp.StatusCode, resp.Header, test.status)
		}
	}
	if err := f.proxy.Close(); err != nil {
		t.Fatal(err)
	}
	for _, reason := range []string{"unknown sentinel", "not on the list", "no such host", "not on the internet", "an address is not a name"} {
		if !strings.Contains(f.logged(), reason) {
			t.Errorf("the log lacks %q", reason)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 6 { // those without a pass are nobody's
		t.Errorf("told %q", told)
	}
	for _, want := range []string{"c1 api.anthropic.com:443 The proxy does not allow this host: the host is not on the list.", "c1 gone.example:443 The proxy cannot find the host."} {
		if !slices.Contains(told, want) {
			t.Errorf("told %q, want %q among it", told, want)
		}
	}
}

// A revoked pass ends its tunnels.
func TestTunnelRevoked(t *testing.T) {
	f, _, authority := tunnels(t)
	pass := f.grant(nil)
	_, r, resp := f.dial(authority, "x:"+pass.Sentinel())
	if resp.StatusCode != 200 {
		t.Fatalf("%d", resp.StatusCode)
	}
	pass.Revoke()
	if _, err := r.ReadByte(); err == nil {
		t.Error("the tunnel is still open")
	}
}

func TestListen(t *testing.T) {
	f := start(t, whole(1, 1), nil)
	for _, bad := range [][2]string{{"tcp", "0.0.0.0:0"}, {"tcp", ":0"}, {"udp", "127.0.0.1:0"}, {"tcp", "nonsense"}} {
		if _, err := f.proxy.Listen(bad[0], bad[1]); err == nil {
			t.Errorf("listens on %v", bad)
		}
	}
	dir, err := os.MkdirTemp("", "e") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	if _, err := f.proxy.Listen("unix", path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := f.proxy.Listen("unix", path); err == nil {
		t.Error("two servers listen on one socket")
	}
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.proxy.Listen("unix", file); err == nil {
		t.Error("a file was replaced")
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	defer client.CloseIdleConnections()
	req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://x/v1/messages", strings.NewReader(question))
	req.Header.Set("X-Api-Key", f.grant(nil).Sentinel())
	resp, err := client.Do(req)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v, %v", resp, err)
	}
	resp.Body.Close()
	if err := f.proxy.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if _, err := f.proxy.Listen("unix", path); err == nil {
		t.Error("a closed proxy listens")
	}
	if _, err := f.proxy.Grant(egress.Grant{Conversation: egress.Conversation{ID: "x"}}); err == nil {
		t.Error("a closed proxy grants")
	}
}

func TestBadOptions(t *testing.T) {
	good := func(context.Context, egress.Conversation) (egress.Credential, error) { return egress.Credential{}, nil }
	for name, o := range map[string]egress.Options{
		"no credential":        {},
		"in the clear":         {Credential: good, Upstream: "http://api.example"},
		"another scheme":       {Credential: good, Upstream: "ftp://api.example"},
		"a password":           {Credential: good, Upstream: "https://me:" + realKey + "@api.example"},
		"not a URL":            {Credential: good, Upstream: "https://me:" + realKey + "@%zz"},
		"a query":              {Credential: good, Upstream: "https://api.example?x=1"},
		"a host that is an IP": {Credential: good, Hosts: []string{"10.0.0.1"}},
		"a bad network":        {Credential: good, Networks: make([]netip.Prefix, 1)},
		"a bad path":           {Credential: good, AlsoAllow: []string{"v1/models"}},
		"a negative bound":     {Credential: good, Bounds: egress.Bounds{Idle: -1}},
		"a negative time":      {Credential: good, KeepCredential: -1},
	} {
		if _, err := egress.New(o); err == nil || strings.Contains(err.Error(), realKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p, err := egress.New(egress.Options{Credential: good, Upstream: "https://gateway.example/anthropic/"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for name, g := range map[string]egress.Grant{
		"no conversation": {},
		"an unknown form": {Conversation: egress.Conversation{ID: "x"}, Form: 7},
		"negative limits": {Conversation: egress.Conversation{ID: "x"}, Budget: egress.Budget{USD: -1}},
	} {
		if _, err := p.Grant(g); err == nil {
			t.Errorf("%s is granted", name)
		}
	}
}
