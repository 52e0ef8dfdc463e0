package claudetest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// DefaultText is the answer of a [Model] when its script is used up, and to side
// calls.
const DefaultText = "Hello from the scripted model."

// Model replaces the Messages API: an HTTP server on loopback that the real
// CLI talks to instead of the service. It is safe for concurrent use.
//
// A Model is also an [http.Handler], for programs that have their own server
// and call neither Start nor Close.
type Model struct {
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	server *http.Server
	active sync.WaitGroup // the accept loop, connections and handlers

	mu     sync.Mutex
	closed bool
	url    string
	script *sequence
	agents map[string]*sequence // of subagents, by their prompts
	main   func(*ModelCall) Reply
	side   func(*ModelCall) Reply
	calls  []*ModelCall
	stray  []string
	number int // calls of the conversations so far
	ids    int // ids handed out so far
}

// NewModel returns a model that gives the replies in order, one per call of a
// conversation, and then [DefaultText]. If the CLI retries after an error,
// each attempt counts as a call.
func NewModel(replies ...Reply) *Model {
	m := &Model{script: newSequence(replies), agents: make(map[string]*sequence)}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// NewModelFunc returns a model whose replies are computed. Parallel
// conversations (subagents) make calls at the same time, so fn must be safe
// for concurrent use.
func NewModelFunc(fn func(*ModelCall) Reply) *Model {
	m := NewModel()
	m.main = fn
	return m
}

// Add appends replies to the script, even while the model runs.
func (m *Model) Add(replies ...Reply) {
	m.script.add(replies)
}

// HandleSide sets the function that answers side calls, such as the request
// for a session title. Without it they get [DefaultText].
func (m *Model) HandleSide(fn func(*ModelCall) Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.side = fn
}

// Start listens on a free port of 127.0.0.1 and returns the base URL. It may
// be called once; Close ends what it started.
func (m *Model) Start() (baseURL string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.server != nil {
		return "", errors.New("claudetest: model started twice or after Close")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("claudetest: %w", err)
	}
	m.server = &http.Server{Handler: m, ConnState: m.connState}
	m.url = "http://" + ln.Addr().String()
	m.active.Go(func() { _ = m.server.Serve(ln) })
	return m.url, nil
}

// connState counts the connections, so that Close can wait for their
// goroutines and not only for the handlers in them.
func (m *Model) connState(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew: // the accept loop is still counted: no race with Wait
		m.active.Add(1)
	case http.StateClosed:
		m.active.Done()
	}
}

// URL returns the base URL, or "" before Start.
func (m *Model) URL() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.url
}

// Close stops listening, breaks open streams and waits until every connection
// has ended. A function given to the model must therefore stop waiting when
// [ModelCall.Context] ends. Close may be called more than once.
func (m *Model) Close() error {
	m.mu.Lock()
	m.closed = true
	server := m.server
	m.mu.Unlock()
	m.cancel()
	var err error
	if server != nil {
		err = server.Close()
	}
	m.active.Wait()
	return err
}

// Calls returns the calls so far, side calls included, in order of arrival.
func (m *Model) Calls() []*ModelCall {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.calls)
}

// OtherRequests returns the requests so far that were not calls of the Messages API,
// as "METHOD /path". They were answered with 404, HEAD with 200: some versions
// of the CLI begin with "HEAD /".
func (m *Model) OtherRequests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.stray)
}

// Unused returns how many replies of the script have not been given, including
// those of subagents that were started.
func (m *Model) Unused() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	left := m.script.left()
	for _, sub := range m.agents {
		left += sub.left()
	}
	return left
}

// Env returns the variables that point a CLI at this model and keep it off the
// network, with home as its HOME. Add PATH, but nothing from your own
// environment that the CLI should not see.
func (m *Model) Env(home string) []string {
	return []string{
		"HOME=" + home,
		"ANTHROPIC_API_KEY=sk-ant-fake-key-for-tests",
		"ANTHROPIC_BASE_URL=" + m.URL(),
		"DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		// As root, the CLI accepts bypassPermissions only in a sandbox.
		"IS_SANDBOX=1",
	}
}

// ServeHTTP answers one request.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !m.enter() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	defer m.active.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()

	// The body is read in full on every path: only then does the server
	// notice that the client went away.
	body, err := io.ReadAll(r.Body)
	switch path := strings.TrimSuffix(r.URL.Path, "/"); {
	case err != nil:
		return
	case r.Method == http.MethodPost && path == "/v1/messages":
		m.serveCall(ctx, w, r, body)
	case r.Method == http.MethodPost && path == "/v1/messages/count_tokens":
		// Four bytes per token is close enough: no client checks this number.
		writeJSON(w, http.StatusOK, struct {
			InputTokens int `json:"input_tokens"`
		}{1 + len(body)/4})
	default:
		m.serveStray(w, r)
	}
}

// enter registers a handler, unless the model is closed.
func (m *Model) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.active.Add(1)
	return true
}

func (m *Model) serveStray(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.stray = append(m.stray, r.Method+" "+r.URL.Path)
	m.mu.Unlock()
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return
	}
	writeError(w, &failure{http.StatusNotFound, "not_found_error", "no such path: " + r.URL.Path})
}

func (m *Model) serveCall(ctx context.Context, w http.ResponseWriter, r *http.Request, body []byte) {
	call, err := newCall(ctx, r.Header, body)
	if err != nil {
		writeError(w, &failure{http.StatusBadRequest, "invalid_request_error", err.Error()})
		return
	}
	fn := m.record(call)
	reply := fn(call)
	m.name(&reply)
	a := answer{ctx: ctx, w: w, call: call, reply: reply, id: m.nextID("msg")}
	a.serve()
}

// record notes the call and returns what answers it. A scripted reply is taken
// here, so that replies are given in the order of the numbers.
func (m *Model) record(call *ModelCall) func(*ModelCall) Reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, call)
	if call.Side {
		if m.side != nil {
			return m.side
		}
		return func(*ModelCall) Reply { return Say(DefaultText) }
	}
	m.number++
	call.Number = m.number
	script := m.agents[firstPrompt(call)]
	if script == nil && m.main != nil {
		return m.main
	}
	reply := cmp.Or(script, m.script).next()
	return func(*ModelCall) Reply { return reply }
}

// name gives the tool calls of a reply their ids, in a copy: the same Reply may
// be given many times, but ids must not repeat in a conversation.
func (m *Model) name(r *Reply) {
	r.blocks = slices.Clone(r.blocks)
	for i := range r.blocks {
		if b := &r.blocks[i]; b.kind == kindToolUse {
			b.id = cmp.Or(b.id, m.nextID("toolu"))
			m.expect(b)
		}
	}
}

// expect prepares for the subagent that a call starts.
func (m *Model) expect(b *block) {
	var in agentInput
	if !startsAgent(b.name) || b.replies == nil || jsonx.Unmarshal(b.input, &in) != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.agents[strings.TrimSpace(in.Prompt)] = newSequence(b.replies)
}

func (m *Model) nextID(prefix string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ids++
	return fmt.Sprintf("%s_%06d", prefix, m.ids)
}

func writeError(w http.ResponseWriter, f *failure) {
	writeJSON(w, f.status, newErrorBody(f))
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := jsonx.Marshal(v)
	if err != nil { // only a raw tool input can fail: it is not JSON
		data, _ = json.Marshal(newErrorBody(&failure{kind: "api_error", message: err.Error()}))
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	w.WriteHeader(status)
	_, _ = w.Write(data)
}
