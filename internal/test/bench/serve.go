package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/cputime"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	web "github.com/claude-agent-go/claude/serve/page"
	"github.com/claude-agent-go/claude/store"
)

// The sizes of what is served.
const (
	serveReaders = 1000
	serveEvents  = 500
	serveRate    = 100 // events in a second
)

// The names of the rows.
const (
	rowPage    = "from the command to the page, median, ns"
	rowBytes   = "page with its style and script on the wire, bytes"
	rowReading = "events seen by the readers of a conversation"
	rowWanted  = "events times readers"
	rowCores   = "cores of the server for 100 events a second to 1000 readers"
)

// serveGroups measure "claudectl serve" and the streams of its handler.
func serveGroups() []group {
	return []group{{"serve: page", servedPage}, {"serve: readers", servedReaders}, {"serve: prewarm", prewarmedWords}}
}

// servedPage starts the program some times, and loads the page as a browser does.
func servedPage(ctx context.Context, b *bench) ([]row, error) {
	dir, err := os.MkdirTemp("", "bench-serve-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "claudectl")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/claudectl")
	build.Dir = b.root
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	var times []float64
	size := 0
	for range b.rounds {
		took, bytes, err := loadOnce(ctx, program)
		if err != nil {
			return nil, err
		}
		times, size = append(times, float64(took)), bytes
	}
	return []row{{Case: rowPage, Ours: medianOf(times)}, {Case: rowBytes, Ours: new(float64(size))}}, nil
}

// loadOnce starts the demo and loads its inbox, with everything that the page
// needs.
func loadOnce(ctx context.Context, program string) (took time.Duration, size int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--json", "serve", "--demo")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	defer func() { cancel(); _ = cmd.Wait() }() // it was stopped
	var said struct{ URL, Login string }
	if err := json.NewDecoder(out).Decode(&said); err != nil {
		return 0, 0, err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return 0, 0, err
	}
	client := &http.Client{Jar: jar, Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	_, token, _ := strings.Cut(said.Login, "#t=")
	if token, err = url.QueryUnescape(token); err != nil {
		return 0, 0, err
	}
	body, err := load(client, http.MethodPost, said.URL+"/login", url.Values{"token": {token}, "to": {"/"}}.Encode())
	took = time.Since(begin)
	size = len(body)
	for _, m := range regexp.MustCompile(`(?:src|href)="(/static/[^"]+)"`).FindAllStringSubmatch(string(body), -1) {
		if err != nil {
			break
		}
		body, err = load(client, http.MethodGet, said.URL+strings.ReplaceAll(m[1], "&amp;", "&"), "")
		size += len(body)
	}
	return took, size, err
}

// load returns the bytes of an answer as they come over the wire.
func load(c *http.Client, method, address, form string) ([]byte, error) {
	request, err := http.NewRequest(method, address, strings.NewReader(form))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept-Encoding", "gzip")
	if form != "" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	reply, err := c.Do(request)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: %s", method, address, reply.Status)
	}
	return io.ReadAll(reply.Body)
}

// servedReaders lets many follow one conversation. They are another process, so
// that the time of this one is the server's.
func servedReaders(ctx context.Context, b *bench) ([]row, error) {
	readers, events := b.scale(serveReaders), b.scale(serveEvents)
	db, quiet := store.Memory(), slog.New(slog.DiscardHandler)
	dir, err := os.MkdirTemp("", "bench-serve-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	f, err := fleet.Open(ctx, fleet.Options{Store: db, Project: "p", MaxLive: fleet.NoCLIs, Journal: dir, Logger: quiet})
	if err != nil {
		return nil, err
	}
	defer f.Close(context.WithoutCancel(ctx))
	presets := []serve.Preset{{Name: "shop", Roots: []string{dir}}}
	s, err := serve.New(f, serve.Options{Records: db, Project: "p", Presets: presets, Page: web.New, Logger: quiet, Streams: readers + 1, StreamsPerUser: readers + 1})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	served := httptest.NewServer(s)
	defer served.Close()
	ada := api.User{Name: "ada", Role: api.RoleOperator}
	own, err := s.Service().Create(ctx, ada, api.NewConversation{Preset: "shop", Title: "busy"})
	if err != nil {
		return nil, err
	}
	token, err := serve.IssueToken(ctx, db, "p", api.NewToken{Name: "bench", User: ada.Name, Role: ada.Role})
	if err != nil {
		return nil, err
	}
	process, err := startReaders(ctx, served.URL+"/v1/conversations/"+own.ID+"/events", token.Secret, readers, events)
	if err != nil {
		return nil, err
	}
	defer process.stop()
	cores, err := busy(func() error { return produce(ctx, s.Service(), ada, own.ID, events, process) })
	if err != nil {
		return nil, err
	}
	return []row{
		{Case: rowWanted, Ours: new(float64(readers * events))},
		{Case: rowReading, Ours: new(float64(process.seen))},
		{Case: rowCores, Ours: new(max(cores, 0.001))}, // less than the clock shows
	}, nil
}

// produce makes events at the rate that is measured, and waits until all of them
// were seen.
func produce(ctx context.Context, s *serve.Service, u api.User, id string, events int, process *readerProcess) error {
	tick := time.NewTicker(time.Second / serveRate)
	defer tick.Stop()
	for i := range events {
		title := fmt.Sprint("change ", i) // one event, unlike other changes
		if _, err := s.Change(ctx, u, id, api.Change{Title: &title}, ""); err != nil {
			return err
		}
		<-tick.C
	}
	return process.wait()
}

// busy returns how many cores this process keeps busy while a function runs.
func busy(do func() error) (float64, error) {
	begin, used := time.Now(), cputime.Used()
	if err := do(); err != nil {
		return 0, err
	}
	return float64(cputime.Used()-used) / float64(time.Since(begin)), nil
}

// readerProcess is the process of the readers.
type readerProcess struct {
	cmd  *exec.Cmd
	out  *bufio.Reader
	seen int // events that all of them have seen together
}

// playReaders makes this program the readers.
const playReaders = "readers"

// startReaders starts readers, and returns when all of them follow the stream.
func startReaders(ctx context.Context, address, token string, readers, events int) (*readerProcess, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &readerProcess{cmd: exec.CommandContext(ctx, program, address, token, strconv.Itoa(readers), strconv.Itoa(events))}
	c.cmd.Env = append(os.Environ(), playVariable+"="+playReaders)
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	if line, err := c.out.ReadString('\n'); err != nil {
		c.stop()
		return nil, fmt.Errorf("the readers say %q: %w", line, err)
	}
	return c, nil
}

// wait waits until every reader has seen everything.
func (c *readerProcess) wait() error {
	_, err := fmt.Fscan(c.out, &c.seen)
	return err
}

func (c *readerProcess) stop() {
	_ = c.cmd.Process.Kill() // it may have ended
	_ = c.cmd.Wait()
}

// readEvents is that process. Its arguments are the address, the token, how many
// readers there are, and how many events each of them waits for.
func readEvents(args []string) error {
	if len(args) != 4 {
		return errors.New("readers: four arguments are needed")
	}
	readers, err := strconv.Atoi(args[2])
	events, err2 := strconv.Atoi(args[3])
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	following, done := make(chan error, readers), make(chan int, readers)
	client := &http.Client{Transport: &http.Transport{MaxIdleConns: 1}}
	for range readers {
		go func() { done <- follow(client, args[0], args[1], events, following) }()
	}
	for range readers {
		if err := <-following; err != nil {
			return err
		}
	}
	fmt.Println("ready")
	seen := 0
	for range readers {
		seen += <-done
	}
	fmt.Println(seen)
	return nil
}

// follow reads a stream until a number of events has come.
func follow(c *http.Client, address, token string, events int, following chan<- error) (seen int) {
	request, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		following <- err
		return 0
	}
	request.Header.Set("Authorization", "Bearer "+token)
	reply, err := c.Do(request)
	if err != nil {
		following <- err
		return 0
	}
	defer reply.Body.Close()
	for lines := bufio.NewScanner(reply.Body); seen < events && lines.Scan(); {
		switch line := lines.Text(); {
		case line == "event: synced":
			following <- nil
		case strings.HasPrefix(line, "id: "):
			seen++
		}
	}
	return seen
}

// serveGoals are about the page and its streams.
func serveGoals() []goal {
	value := func(r row) *float64 { return r.Ours }
	return []goal{
		below("from the command to the page in under 100 ms", rowPage, "ns", value, 100e6),
		below("the page under 60 KB on the wire", rowBytes, "bytes", value, 60_000),
		{text: "every reader sees every event", met: func(find func(string) row) (string, bool) {
			seen, wanted := find(rowReading).Ours, find(rowWanted).Ours
			if seen == nil || wanted == nil {
				return "", false
			}
			return fmt.Sprintf("%.0f of %.0f", *seen, *wanted), *seen == *wanted
		}},
		{text: "100 events a second to 1000 readers with less than one core", met: func(find func(string) row) (string, bool) {
			v := find(rowCores).Ours
			if v == nil {
				return "", false
			}
			return fmt.Sprintf("%.2f", *v), *v < 1
		}},
		nearLimit("prewarmed, the first word of a sleeping conversation comes in at most 0.5× the time", rowPrewarmed, 0.5),
	}
}

// serveMethod describes how serving is measured.
const serveMethod = `
### How serving is measured

- **The page:** ` + "`" + `claudectl serve --demo` + "`" + ` is started, the link that it prints logs in, and the time counts until the last byte of the inbox is there: from the start of the process on. The bytes are those of the page, its style, its script and its icons as they come over the wire.
- **Length:** a load of a conversation with a follower takes 3 to 5 ms of processor time, at 100 events and at 100,000; with a new event before it, 4 to 7 ms; with a message and its whole turn on a scripted CLI before it, 10 to 14 ms. ` + "`" + `LONG_TESTS=1 go test -v -run TestCostDoesNotGrow ./serve/page` + "`" + ` measures it, and fails if the longer one allocates or takes more than 1.5 times as much.
- **Opened anew:** a conversation without followers takes 5 to 6 ms of processor time to load, at 100 events and at 100,000; the longer one allocates 1.4 times as much, because it also reads the segment before its newest events. ` + "`" + `TestCostDoesNotGrow` + "`" + ` in ` + "`" + `./serve/page` + "`" + ` compares 100 with 100,000 with ` + "`" + `LONG_TESTS=1` + "`" + `, and fails above 1.5 times.
- **Watched and quiet:** a log is read when the store announces that it was written, and so is the one record in which servers tell each other about all logs together; the latter also every five minutes. A fleet looks at the queue and at the log of outcomes every fifteen seconds. While the store announces nothing, both look every two seconds, and a server at each log after a tenth of the time in which nothing happened there, every five minutes at most; a fleet always looks at records and transcripts that often. Twenty conversations that were quiet for an hour cost no reads of their logs in the next, 240 without announcements, and 480 of their records and transcripts; before, 4,800 and 72,000. ` + "`" + `TestQuietConversationsAreNotRead` + "`" + ` in ` + "`" + `./serve` + "`" + ` and ` + "`" + `./fleet` + "`" + ` count them.
- **Inbox:** it reads the newest part of the log of every conversation, 50 with one call of the store: 20 calls for 1,000 conversations, before 1,000. ` + "`" + `TestOverviewOfMany` + "`" + ` in ` + "`" + `./serve` + "`" + ` counts them.
- **Prewarmed:** a fleet with the real CLI and a scripted model has a conversation that sleeps, with a transcript to resume. The time counts from the prompt to the first text of the answer. In every second round ` + "`" + `Fleet.Prewarm` + "`" + ` has started its CLI, as the page does when the composer gets the focus; the limit is the same prompt without it. What is left is the CLI's own way to its model and back. How long the start takes is a row of its own: a person who writes for longer than that does not wait for it.
- **Readers:** they are in another process and follow one conversation over HTTP/1.1, each on its own connection. The events are changes of the permission mode, each stored before it is sent, in a store in memory. The processor time is that of the server alone, divided by the time from the first event until every reader has seen the last.
`
