//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// socketDir is a directory whose path is short enough for a socket.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// serveSocket runs "claudectl serve --demo" behind a proxy at a socket until stop is
// called, and returns the proxy's client.
func serveSocket(t *testing.T, path string, args ...string) (client *http.Client, said struct{ URL, Login string }, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	ended := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		all := append([]string{"--json", "serve", "--demo", "--listen", "unix:" + path, "--behind-proxy", "--host", "agents.example.com"}, args...)
		code := run(ctx, all, strings.NewReader(""), writer, &stderr, append(os.Environ(), "USER=ada"))
		_ = writer.Close()
		ended <- code
	}()
	if err := json.NewDecoder(reader).Decode(&said); err != nil {
		cancel()
		t.Fatalf("%v: exit code %d, %s", err, <-ended, &stderr)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	return &http.Client{Transport: transport}, said, func() {
		transport.CloseIdleConnections()
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("the server ends with %d: %s", code, &stderr)
		}
	}
}

// status is that of a request through the proxy.
func status(t *testing.T, c *http.Client, address string, header ...string) int {
	t.Helper()
	method := "GET"
	if strings.HasSuffix(address, "/v1/login") {
		method = "DELETE"
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// A proxy reaches the server at a socket that only its owner may open, and that is
// gone afterwards. Hosts and origins are checked as ever, and the proxy names users.
func TestServeSocket(t *testing.T) {
	old := syscall.Umask(0) // which would leave a careless socket open to every user
	defer syscall.Umask(old)
	dir := socketDir(t)
	path := filepath.Join(dir, "serve.sock")
	client, said, stop := serveSocket(t, path, "--proxy-user-header", "Remote-User")
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("beside the socket there is more: %v, %v", names, err)
	}
	if said.URL != "https://agents.example.com" || !strings.HasPrefix(said.Login, said.URL+"/login#t=") {
		t.Errorf("the links are %+v", said)
	}
	for name, c := range map[string]struct {
		address string
		header  []string
		want    int
	}{
		"a user of the proxy": {"http://agents.example.com/v1/server", []string{"Remote-User", "ada"}, http.StatusOK},
		"nobody":              {"http://agents.example.com/v1/server", nil, http.StatusUnauthorized},
		"another host":        {"http://elsewhere.example/v1/server", []string{"Remote-User", "ada"}, http.StatusMisdirectedRequest},
		"another site":        {"http://agents.example.com/v1/login", []string{"Remote-User", "ada", "Origin", "https://elsewhere.example"}, http.StatusForbidden},
	} {
		if got := status(t, client, c.address, c.header...); got != c.want {
			t.Errorf("%s: status %d, want %d", name, got, c.want)
		}
	}
	stop()
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Errorf("afterwards there is %v, %v", names, err)
	}
}

// Without the header of the proxy, a connection to the socket alone does not
// identify a user.
func TestServeSocketWithoutHeader(t *testing.T) {
	t.Parallel()
	path := filepath.Join(socketDir(t), "serve.sock")
	client, _, stop := serveSocket(t, path)
	defer stop()
	if got := status(t, client, "http://agents.example.com/v1/server", "Remote-User", "ada"); got != http.StatusUnauthorized {
		t.Errorf("status %d", got)
	}
}

// staleSocket leaves a socket as a server that was killed does.
func staleSocket(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// A server takes the place of a dead one.
func TestServeSocketReplacesStale(t *testing.T) {
	t.Parallel()
	path := filepath.Join(socketDir(t), "serve.sock")
	staleSocket(t, path)
	client, _, stop := serveSocket(t, path)
	defer stop()
	if got := status(t, client, "http://agents.example.com/healthz"); got != http.StatusNoContent {
		t.Errorf("status %d", got)
	}
}

// Anything but a dead socket is refused and left alone.
func TestServeSocketRefuses(t *testing.T) {
	dir := socketDir(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	living, err := net.Listen("unix", in("living"))
	if err != nil {
		t.Fatal(err)
	}
	defer living.Close()
	if err := os.WriteFile(in("file"), []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	staleSocket(t, in("stale"))
	if err := os.Symlink("stale", in("link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(in("directory"), 0o700); err != nil {
		t.Fatal(err)
	}
	packets, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: in("packets"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer packets.Close()
	for name, want := range map[string]string{
		"living":                 "a server is already listening",
		"packets":                "may belong to a living server",
		"file":                   "is not a socket",
		"link":                   "is not a socket",
		"directory":              "is not a socket",
		"missing/x":              "no such file or directory",
		strings.Repeat("x", 104): "too long",
	} {
		before, _ := os.Lstat(in(name))
		l, err := listenUnix(t.Context(), in(name))
		if err == nil {
			l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if after, _ := os.Lstat(in(name)); before != nil && (after == nil || !os.SameFile(before, after)) {
			t.Errorf("%s is gone", name)
		}
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 6 {
		t.Errorf("it left %v, %v", names, err)
	}
}

// Of many servers that start at once over the socket of a dead one, one gets it.
func TestServeSocketRace(t *testing.T) {
	path := filepath.Join(socketDir(t), "serve.sock")
	staleSocket(t, path)
	const servers = 8
	got := make(chan *unixSocket, servers)
	for range servers {
		go func() {
			l, _ := listenUnix(t.Context(), path)
			got <- l
		}()
	}
	var winners []*unixSocket
	for range servers {
		if l := <-got; l != nil {
			winners = append(winners, l)
		}
	}
	if len(winners) != 1 {
		t.Errorf("%d servers have the socket", len(winners))
	}
	for _, l := range winners {
		l.Close()
	}
}

// A server that ends leaves a socket that was put in the place of its own.
func TestServeSocketKeepsAnother(t *testing.T) {
	path := filepath.Join(socketDir(t), "serve.sock")
	first, err := listenUnix(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	second, err := listenUnix(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	for range 2 {
		if err := first.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}

// A socket that would be useless, or open to every user, is refused with the
// reason.
func TestServeSocketOptions(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no proxy":       {[]string{"--listen", "unix:/x/s", "--host", "a.example"}, "nobody could use the login link"},
		"no name":        {[]string{"--listen", "unix:/x/s", "--behind-proxy"}, "--host NAME"},
		"no path":        {[]string{"--listen", "unix:", "--behind-proxy", "--host", "a.example"}, "must be absolute"},
		"an abstract":    {[]string{"--listen", "unix:@x", "--behind-proxy", "--host", "a.example"}, "must be absolute"},
		"a certificate":  {[]string{"--listen", "unix:/x/s", "--behind-proxy", "--host", "a.example", "--tls-cert", "c", "--tls-key", "k"}, "terminates https"},
		"from addresses": {[]string{"--listen", "unix:/x/s", "--behind-proxy", "--host", "a.example", "--proxy-from", "127.0.0.0/8"}, "may open the socket"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), append([]string{"serve", "--demo"}, c.args...), strings.NewReader(""), &stdout, &stderr, os.Environ())
			if code != int(exitUsage) || stdout.Len() > 0 || !strings.Contains(stderr.String(), c.want) {
				t.Errorf("exit code %d, %s%s, want %q", code, &stdout, &stderr, c.want)
			}
		})
	}
}
