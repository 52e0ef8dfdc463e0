package claudetest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// body is a request like those of the CLI in a conversation.
func body(stream bool, prompt string) string {
	return fmt.Sprintf(`{"model":"claude-test-1","stream":%v,"system":[{"type":"text","text":"Be brief."}],
		"messages":[{"role":"user","content":[
			{"type":"text","text":"<system-reminder>\nnot the user\n</system-reminder>\n"},
			{"type":"text","text":%q}]},
			{"role":"system","content":"The environment."}],
		"tools":[{"name":"Read"},{"name":"Bash"}],"max_tokens":100}`, stream, prompt)
}

func start(t *testing.T, m *claudetest.Model) string {
	t.Helper()
	url, err := m.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return url
}

func post(ctx context.Context, t *testing.T, url, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// sse is one event of a stream, with the parts of its data that tests look at.
type sse struct {
	name string
	Type string
	// of blocks
	Index        int
	ContentBlock struct{ Type, ID, Name, Text string } `json:"content_block"`
	Delta        struct {
		Type, Text, Thinking, Signature string
		PartialJSON                     string `json:"partial_json"`
		StopReason                      string `json:"stop_reason"`
	}
	Message struct{ ID, Role, Model string }
	Usage   claudetest.ReplyUsage
	Error   struct{ Type, Message string }
}

// next reads one event.
func next(r *bufio.Reader) (e sse, err error) {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return e, err
		}
		switch {
		case line == "\n":
			return e, nil
		case strings.HasPrefix(line, "event: "):
			e.name = strings.TrimSpace(line[len("event: "):])
		case strings.HasPrefix(line, "data: "):
			if err := json.Unmarshal([]byte(line[len("data: "):]), &e); err != nil {
				return e, err
			}
			if e.Type != e.name {
				return e, fmt.Errorf("event %q has type %q", e.name, e.Type)
			}
		default:
			return e, fmt.Errorf("unexpected line %q", line)
		}
	}
}

// events reads a stream to its end.
func events(resp *http.Response) (all []sse, err error) {
	r := bufio.NewReader(resp.Body)
	for {
		e, err := next(r)
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
}

// outline writes events as one line each, runs of deltas joined.
func outline(all []sse) string {
	var b strings.Builder
	last := ""
	for _, e := range all {
		piece := e.Delta.Text + e.Delta.Thinking + e.Delta.Signature + e.Delta.PartialJSON
		switch {
		case e.Type == "content_block_delta" && last == e.Delta.Type:
			b.WriteString(piece)
			continue
		case b.Len() > 0:
			b.WriteString("\n")
		}
		last = e.Delta.Type
		b.WriteString(e.Type)
		switch e.Type {
		case "content_block_start":
			fmt.Fprintf(&b, " %d %s %s", e.Index, e.ContentBlock.Type, e.ContentBlock.Name)
		case "content_block_delta":
			fmt.Fprintf(&b, " %d %s %s", e.Index, e.Delta.Type, piece)
		case "content_block_stop":
			fmt.Fprintf(&b, " %d", e.Index)
		case "message_delta":
			b.WriteString(" " + e.Delta.StopReason)
		case "error":
			b.WriteString(" " + e.Error.Type + ": " + e.Error.Message)
		}
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

func TestStream(t *testing.T) {
	tests := []struct {
		name  string
		reply claudetest.Reply
		want  string
	}{
		{"text", claudetest.Say("a text of more than sixteen bytes"), `message_start
content_block_start 0 text
content_block_delta 0 text_delta a text of more than sixteen bytes
content_block_stop 0
message_delta end_turn
message_stop`},
		{"thinking", claudetest.Think("hmm", "yes").StopReason("max_tokens"), `message_start
content_block_start 0 thinking
content_block_delta 0 thinking_delta hmm
content_block_delta 0 signature_delta c2lnbmVk
content_block_stop 0
content_block_start 1 text
content_block_delta 1 text_delta yes
content_block_stop 1
message_delta max_tokens
message_stop`},
		{"parallel tools", claudetest.Say("both").With(claudetest.UseTools(
			claudetest.ScriptedCall{Name: "Read", Input: map[string]string{"file_path": "/repo/a"}},
			claudetest.ScriptedCall{Name: "Bash", Input: json.RawMessage(`{"command": cut`)},
			claudetest.ScriptedCall{Name: "Stop"},
		)), `message_start
content_block_start 0 text
content_block_delta 0 text_delta both
content_block_stop 0
content_block_start 1 tool_use Read
content_block_delta 1 input_json_delta {"file_path":"/repo/a"}
content_block_stop 1
content_block_start 2 tool_use Bash
content_block_delta 2 input_json_delta {"command": cut
content_block_stop 2
content_block_start 3 tool_use Stop
content_block_delta 3 input_json_delta {}
content_block_stop 3
message_delta tool_use
message_stop`},
		{"nothing", claudetest.Reply{}, `message_start
message_delta end_turn
message_stop`},
		{"error in the middle", claudetest.Say("abcdef").Chunks(2, 0).CutWith("overloaded_error", "too much"), `message_start
content_block_start 0 text
content_block_delta 0 text_delta abcd
error overloaded_error: too much`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := start(t, claudetest.NewModel(tt.reply))
			resp := post(t.Context(), t, url+"/v1/messages?beta=true", body(true, "hi"))
			if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
				t.Errorf("content type %q", got)
			}
			all, err := events(resp)
			if err != nil {
				t.Error(err)
			}
			if got := outline(all); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

func TestStreamDetails(t *testing.T) {
	usage := claudetest.ReplyUsage{InputTokens: 7, CacheReadInputTokens: 1000, OutputTokens: 3}
	tool := claudetest.UseTools(claudetest.ScriptedCall{ID: "toolu_mine", Name: "A"}, claudetest.ScriptedCall{Name: "B"}).Usage(usage)
	url := start(t, claudetest.NewModel(tool, tool))
	var ids, messages []string
	for range 2 {
		all, err := events(post(t.Context(), t, url+"/v1/messages", body(true, "hi")))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			if e.Type == "content_block_start" {
				ids = append(ids, e.ContentBlock.ID)
			}
		}
		messages = append(messages, all[0].Message.ID)
		if got := all[0].Message.Model; got != "claude-test-1" {
			t.Errorf("model = %q, want the one asked for", got)
		}
		if got := all[len(all)-2].Usage; got != usage {
			t.Errorf("usage = %+v, want %+v", got, usage)
		}
	}
	if ids[0] != "toolu_mine" || ids[1] == ids[3] || ids[1] == "" {
		t.Errorf("tool ids %q: want ours, and unique ones for the others", ids)
	}
	if messages[0] == messages[1] {
		t.Errorf("message ids %q: want unique ones", messages)
	}
}

func TestChunks(t *testing.T) {
	url := start(t, claudetest.NewModel(
		claudetest.Say("aé漢😀z").Chunks(3, 0), claudetest.Say("漢😀").Chunks(1, 0), claudetest.Say(strings.Repeat("x", 100_000))))
	want := [][]string{{"aé", "漢", "😀", "z"}, {"漢", "😀"}, nil}
	for i := range want {
		all, err := events(post(t.Context(), t, url+"/v1/messages", body(true, "hi")))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range all {
			if e.Type == "content_block_delta" {
				got = append(got, e.Delta.Text)
			}
		}
		if want[i] != nil && !slices.Equal(got, want[i]) {
			t.Errorf("pieces %q, want %q", got, want[i])
		}
		if want[i] == nil && (len(got) > 64 || len(got) < 60) {
			t.Errorf("%d pieces by default, want about 64", len(got))
		}
	}
}

func TestWhole(t *testing.T) {
	url := start(t, claudetest.NewModel(
		claudetest.Think("hmm", "yes").With(claudetest.UseTool("Read", nil)),
		claudetest.Say("x").CutWith("overloaded_error", "too much"),
		claudetest.UseTool("Read", json.RawMessage(`{`)),
	))
	resp := post(t.Context(), t, url+"/v1/messages", body(false, "hi"))
	got, _ := io.ReadAll(resp.Body)
	want := `{"id":"msg_000002","type":"message","role":"assistant","model":"claude-test-1","content":[` +
		`{"type":"thinking","thinking":"hmm","signature":"c2lnbmVk"},{"type":"text","text":"yes"},` +
		`{"type":"tool_use","id":"toolu_000001","name":"Read","input":{}}],"stop_reason":"tool_use","stop_sequence":null,` +
		`"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, name := range []string{"error in the middle", "input that is not JSON"} {
		if resp := post(t.Context(), t, url+"/v1/messages", body(false, "hi")); resp.StatusCode != 500 {
			t.Errorf("%s: status %d, want 500", name, resp.StatusCode)
		}
	}
}

func TestFail(t *testing.T) {
	url := start(t, claudetest.NewModel(claudetest.Fail(429, "rate_limit_error", "slow down").Header("retry-after", "7")))
	resp := post(t.Context(), t, url+"/v1/messages", body(true, "hi"))
	got, _ := io.ReadAll(resp.Body)
	if want := `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "7" {
		t.Errorf("status %d, header %v", resp.StatusCode, resp.Header)
	}
}

func TestCut(t *testing.T) {
	url := start(t, claudetest.NewModel(claudetest.Say("abcdef").Chunks(2, 0).Cut()))
	all, err := events(post(t.Context(), t, url+"/v1/messages", body(true, "hi")))
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("stream ended with %v, want a broken connection", err)
	}
	if got, want := outline(all), "message_start\ncontent_block_start 0 text\ncontent_block_delta 0 text_delta abcd"; got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestHoldUntilReleased(t *testing.T) {
	release := make(chan struct{})
	url := start(t, claudetest.NewModel(claudetest.Say("abcdef").Chunks(2, 0).Hold(release)))
	r := bufio.NewReader(post(t.Context(), t, url+"/v1/messages", body(true, "hi")).Body)
	var got []string
	for range 4 { // message_start, content_block_start and two pieces
		e, err := next(r)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Delta.Text)
	}
	if r.Buffered() > 0 || strings.Join(got, "") != "abcd" {
		t.Errorf("held after %q with %d bytes more, want abcd and nothing", got, r.Buffered())
	}
	close(release)
	rest, err := events(&http.Response{Body: io.NopCloser(r)})
	if err != nil || rest[0].Delta.Text != "ef" || rest[len(rest)-1].Type != "message_stop" {
		t.Errorf("after release: %s, %v", outline(rest), err)
	}
}

func TestHoldEndsWithClient(t *testing.T) {
	gone := make(chan struct{})
	m := claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		context.AfterFunc(c.Context(), func() { close(gone) })
		return claudetest.Say("abc").Hold(make(chan struct{}))
	})
	url := start(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	r := bufio.NewReader(post(ctx, t, url+"/v1/messages", body(true, "hi")).Body)
	if _, err := next(r); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-gone
}

func TestBigText(t *testing.T) {
	text := func(n int) string { return strings.Repeat("漢", n) } // occurs nowhere else in an answer
	huge, big := long.Pick(4, 20)<<20/3, 2<<20/3
	tests := []struct {
		reply  claudetest.Reply
		stream bool
		want   int
	}{
		{claudetest.Say(text(huge)), true, huge},
		{claudetest.UseTool("Write", []string{text(big)}), true, big},
		{claudetest.Say(text(big)), false, big},
	}
	for i, tt := range tests {
		url := start(t, claudetest.NewModel(tt.reply))
		data, err := io.ReadAll(post(t.Context(), t, url+"/v1/messages", body(tt.stream, "hi")).Body)
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Count(data, []byte("漢")); got != tt.want {
			t.Errorf("reply %d: %d characters, want %d", i+1, got, tt.want)
		}
		if got := bytes.Count(data, []byte("\ndata: ")); got > 75 {
			t.Errorf("reply %d: %d events, want few large ones", i+1, got)
		}
	}
}

func TestScriptOrder(t *testing.T) {
	m := claudetest.NewModel(claudetest.Say("one"))
	m.Add(claudetest.Say("two"))
	url := start(t, m)
	if got := m.Unused(); got != 2 {
		t.Errorf("%d replies unused, want 2", got)
	}
	for _, want := range []string{"one", "two", claudetest.DefaultText} {
		if got := say(t, url, body(true, "hi")); got != want {
			t.Errorf("said %q, want %q", got, want)
		}
	}
	if got := m.Unused(); got != 0 {
		t.Errorf("%d replies unused, want 0", got)
	}
}

func TestForever(t *testing.T) {
	m := claudetest.NewModel(claudetest.Say("one"), claudetest.Say("again").Forever(), claudetest.Say("never"))
	url := start(t, m)
	for _, want := range []string{"one", "again", "again", "again"} {
		if got := say(t, url, body(true, "hi")); got != want {
			t.Errorf("said %q, want %q", got, want)
		}
	}
	if got := m.Unused(); got != 1 {
		t.Errorf("%d replies unused, want 1", got)
	}
}

// say posts a body and returns the text of the streamed answer.
func say(t *testing.T, url, body string) string {
	t.Helper()
	all, err := events(post(t.Context(), t, url+"/v1/messages", body))
	if err != nil {
		t.Error(err)
	}
	var text strings.Builder
	for _, e := range all {
		text.WriteString(e.Delta.Text)
	}
	return text.String()
}

func TestConcurrentCalls(t *testing.T) {
	const n = 20
	var script []claudetest.Reply
	for i := range n {
		script = append(script, claudetest.Say(fmt.Sprint("reply ", i)))
	}
	m := claudetest.NewModel(script...)
	url := start(t, m)
	var mu sync.Mutex
	said := map[string]bool{}
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			text := say(t, url, body(true, "hi"))
			mu.Lock()
			defer mu.Unlock()
			said[text] = true
		})
	}
	wg.Wait()
	if len(said) != n || said[claudetest.DefaultText] {
		t.Errorf("%d different replies, want each of %d once", len(said), n)
	}
	for i, c := range m.Calls() {
		if c.Number != i+1 {
			t.Errorf("call %d has number %d", i, c.Number)
		}
	}
}

func TestOtherPaths(t *testing.T) {
	m := claudetest.NewModel(claudetest.Say("kept"))
	url := start(t, m)
	tests := []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/v1/messages/count_tokens", `{"messages":[]}`, 200},
		{"HEAD", "/", "", 200},
		{"GET", "/v1/models", "", 404},
		{"POST", "/api/event_logging", "{}", 404},
		{"POST", "/v1/messages", "no JSON", 400},
	}
	for _, tt := range tests {
		req, _ := http.NewRequestWithContext(t.Context(), tt.method, url+tt.path, strings.NewReader(tt.body))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != tt.status {
			t.Errorf("%s %s = %d %s, want %d", tt.method, tt.path, resp.StatusCode, got, tt.status)
		}
		if strings.HasSuffix(tt.path, "count_tokens") && string(got) != `{"input_tokens":4}` {
			t.Errorf("count_tokens = %s", got)
		}
	}
	if got, want := m.OtherRequests(), []string{"HEAD /", "GET /v1/models", "POST /api/event_logging"}; !slices.Equal(got, want) {
		t.Errorf("stray requests %q, want %q", got, want)
	}
	if len(m.Calls()) != 0 || m.Unused() != 1 {
		t.Errorf("%d calls, %d unused: none of these is a call", len(m.Calls()), m.Unused())
	}
}

func TestStartAndClose(t *testing.T) {
	m := claudetest.NewModel()
	if m.URL() != "" {
		t.Errorf("URL before Start = %q", m.URL())
	}
	url := start(t, m)
	if m.URL() != url || !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Errorf("URL = %q, Start said %q", m.URL(), url)
	}
	if _, err := m.Start(); err == nil {
		t.Error("second Start: no error")
	}
	env := m.Env("/home/user")
	for _, want := range []string{"HOME=/home/user", "ANTHROPIC_BASE_URL=" + url} {
		if !slices.Contains(env, want) {
			t.Errorf("Env lacks %s: %q", want, env)
		}
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if _, err := m.Start(); err == nil {
		t.Error("Start after Close: no error")
	}
	if err := claudetest.NewModel().Close(); err != nil {
		t.Errorf("Close without Start: %v", err)
	}
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	m := claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		switch c.Prompt {
		case "wait":
			<-c.Context().Done()
		case "hold":
			return claudetest.Say("abc").Hold(make(chan struct{}))
		case "flood": // more than the socket buffers take
			return claudetest.Say(strings.Repeat("x", 64<<20))
		case "slow":
			return claudetest.Say("abc").After(1 << 40)
		}
		return claudetest.Say("done")
	})
	url := start(t, m)
	say(t, url, body(true, "idle")) // leaves a connection kept alive
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	for _, prompt := range []string{"wait", "hold", "flood", "slow"} {
		wg.Go(func() {
			resp, err := client.Post(url+"/v1/messages", "application/json", strings.NewReader(body(true, prompt)))
			if err == nil {
				_, _ = bufio.NewReader(resp.Body).ReadString('\n') // and no more
				t.Cleanup(func() { resp.Body.Close() })
			}
		})
	}
	for len(m.Calls()) < 5 {
		runtime.Gosched()
	}
	if err := m.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	wg.Wait()
	// The runtime removes a goroutine a moment after its last statement.
	var left string
	for range 1000 {
		if left = serverGoroutines(); left == "" {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("after Close:\n%s", left)
}

// serverGoroutines returns the stacks of goroutines that serve HTTP or run
// code of the model.
func serverGoroutines() string {
	buf := make([]byte, 1<<20)
	var left []string
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "net/http.(*conn).serve") || strings.Contains(stack, "claudetest.(*Model)") {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}
