package serve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/schema"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/agui"
)

// call is a request to an endpoint.
type call struct {
	s     *Server
	route *route
	w     http.ResponseWriter
	r     *http.Request
	user  api.User
	body  any // a pointer to a value of the route's type
	key   string
	about string             // the id of the conversation that the answer is about
	leave context.CancelFunc // ends the sources of a stream
}

func (c *call) service() *Service        { return c.s.service }
func (c *call) ctx() context.Context     { return c.r.Context() }
func (c *call) id() string               { return c.r.PathValue("id") }
func (c *call) query(name string) string { return c.r.URL.Query().Get(name) }

// endpoint makes the handler of a route.
func (s *Server) endpoint(rt *route) (http.Handler, error) {
	shapes, err := bodyShapes()
	if err != nil {
		return nil, err
	}
	shape := shapes[rt.body]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		c := &call{s: s, route: rt, w: w, r: r}
		if err := c.serve(shape); err != nil {
			p := problemOf(err)
			if p.Status == http.StatusInternalServerError {
				s.service.opts.Logger.Error("serve: a request failed", "method", r.Method, "path", rt.path, "user", c.user.Name, "error", err)
			}
			write(p, w, r)
		}
	}), nil
}

// serve checks who asks, then does what the request asks for.
func (c *call) serve(shape *schema.Schema) (err error) {
	if c.user, err = c.service().access.identify(c.w, c.r); err != nil {
		return err
	}
	if c.user.Name != "" {
		c.r = c.r.WithContext(WithUser(c.r.Context(), c.user))
	}
	if c.route.least != "" {
		if err := need(c.user, c.route.least); err != nil {
			return err
		}
		knownBody(c.r)
	}
	if err := c.checkQuery(); err != nil {
		return err
	}
	raw, err := c.read(shape)
	if err != nil {
		return err
	}
	if key := c.r.Header.Get("Idempotency-Key"); key != "" && c.route.once {
		return c.runOnce(key, raw)
	}
	return c.run()
}

// run calls the handler. A handler that writes nothing gives an answer without a body.
func (c *call) run() error {
	w := &answered{ResponseWriter: c.w}
	c.w = w
	if err := c.route.handle(c); err != nil {
		return err
	}
	if !w.done {
		w.WriteHeader(c.route.status)
	}
	return nil
}

// answered knows whether an answer has begun.
type answered struct {
	http.ResponseWriter
	done bool
}

// WriteHeader implements [http.ResponseWriter].
func (a *answered) WriteHeader(status int) {
	a.done = true
	a.ResponseWriter.WriteHeader(status)
}

// Write implements [io.Writer].
func (a *answered) Write(b []byte) (int, error) {
	a.done = true
	return a.ResponseWriter.Write(b)
}

// Unwrap lets [http.ResponseController] find the connection.
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// checkQuery refuses parameters that the route does not have: a misspelt filter would
// otherwise select more than was meant.
func (c *call) checkQuery() error {
	for name, values := range c.r.URL.Query() {
		i := slices.IndexFunc(c.route.query, func(p parameter) bool { return p.name == name })
		if i < 0 {
			return badRequest.because("unknown parameter %q", name)
		}
		if enum := c.route.query[i].enum; len(enum) > 0 && values[0] != "" && !slices.Contains(enum, values[0]) {
			return badRequest.because("%s must be one of %s", name, strings.Join(enum, ", "))
		}
	}
	return nil
}

// read reads the body and checks it against the schema of its type.
func (c *call) read(shape *schema.Schema) ([]byte, error) {
	if shape == nil {
		return nil, nil
	}
	if kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, mediaType.because("send Content-Type: application/json")
	}
	limit := int64(maxBody)
	switch c.route.body {
	case reflect.TypeFor[api.NewPrompt](), reflect.TypeFor[api.NewConversation](), reflect.TypeFor[agui.RunInput]():
		limit = maxPrompt
	}
	raw, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	if over, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge.because("at most %d bytes are accepted here", over.Limit)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, tooSlow.because("send the body without pauses")
	}
	if err != nil {
		return nil, badRequest.because("the body could not be read to its end")
	}
	raw = bytes.TrimSpace(raw)
	if !jsonx.Valid(raw) {
		return nil, faulty("", "it is not JSON, or a name occurs twice in an object")
	}
	if err := shape.Validate(raw); err != nil {
		return nil, faulty("", err.Error())
	}
	value := reflect.New(c.route.body)
	if err := jsonx.UnmarshalExact(raw, value.Interface()); err != nil {
		return nil, faulty("", schema.Explain(err).Error())
	}
	c.body = value.Interface()
	return raw, nil
}

// faulty returns the problem of an invalid body.
func faulty(pointer, detail string) *api.Problem {
	p := badRequest.because("the body has the wrong form; GET /openapi.json describes it")
	p.Errors = []api.Fault{{Pointer: pointer, Detail: detail}}
	return p
}

// answer sends a value, unless there is an error. It takes both, so that a handler fits
// on one line.
func (c *call) answer(v any, err error) error {
	if err != nil {
		return err
	}
	data, err := jsonx.Marshal(v)
	if err != nil {
		return err
	}
	return c.raw("application/json", data)
}

// raw sends bytes.
func (c *call) raw(kind string, data []byte) error {
	c.w.Header().Set("Content-Type", kind)
	c.w.WriteHeader(c.route.status)
	_, _ = c.w.Write(data) // after an error there is no client left to inform
	return nil
}

// conversation sends a conversation with its ETag.
func (c *call) conversation(v api.Conversation, err error) error {
	if err == nil {
		c.w.Header().Set("ETag", ETag(&v))
	}
	return c.answer(v, err)
}

func (c *call) create() error {
	in := creation{NewConversation: *c.body.(*api.NewConversation)}
	if c.key != "" {
		in.id = uuidFrom("conversation", c.user.Name, c.key)
	}
	v, err := c.service().create(c.ctx(), c.user, in)
	if err == nil {
		c.about = v.ID
		c.w.Header().Set("Location", "/v1/conversations/"+v.ID)
	}
	return c.conversation(v, err)
}

func (c *call) send() error {
	in := *c.body.(*api.NewPrompt)
	if in.ID == "" && c.key != "" {
		in.ID = uuidFrom("prompt", c.user.Name, c.id(), c.key)
	}
	v, err := c.service().Send(c.ctx(), c.user, c.id(), in)
	if err == nil {
		c.w.Header().Set("Location", "/v1/conversations/"+c.id()+"/prompts/"+v.ID)
	}
	return c.answer(v, err)
}

func (c *call) rewind() error {
	id := ""
	if c.key != "" {
		id = uuidFrom("rewind", c.user.Name, c.id(), c.key)
	}
	return c.answer(c.service().prompter.rewind(c.ctx(), c.user, c.id(), *c.body.(*api.RewindRequest), id))
}

func (c *call) prompts() error {
	all, err := c.service().Prompts(c.ctx(), c.user, c.id())
	return c.answer(api.List[api.Prompt]{Items: orEmpty(all)}, err)
}

func (c *call) conversations() error {
	limit, err := c.number("limit")
	if err != nil {
		return err
	}
	return c.answer(c.service().Conversations(c.ctx(), c.user, api.ConversationQuery{
		State: api.State(c.query("state")), Preset: c.query("preset"), Owner: c.query("owner"), Label: c.query("label"),
		Text: c.query("q"), Archived: c.query("archived") == "1", Limit: int(limit), Cursor: c.query("cursor"),
	}))
}

func (c *call) approvals() error {
	limit, err := c.number("limit")
	if err != nil {
		return err
	}
	return c.answer(c.service().Approvals(c.ctx(), c.user, api.ApprovalQuery{
		State: api.ApprovalState(c.query("state")), Conversation: c.query("conversation"), Kind: api.ApprovalKind(c.query("kind")),
		Preset: c.query("preset"), Text: c.query("q"), Limit: int(limit), Cursor: c.query("cursor"),
	}))
}

func (c *call) messages() error {
	var numbers [3]int64
	for i, name := range []string{"before", "after", "limit"} {
		var err error
		if numbers[i], err = c.number(name); err != nil {
			return err
		}
	}
	return c.answer(c.service().Messages(c.ctx(), c.user, c.id(), api.MessageQuery{
		Before: numbers[0], After: numbers[1], Limit: int(numbers[2]), HTML: c.query("html") == "1",
	}))
}

func (c *call) patch() error {
	text, err := c.service().Patch(c.ctx(), c.user, c.id(), c.query("prompt"))
	if err != nil {
		return err
	}
	return c.sendPatch("changes.patch", []byte(text))
}

func (c *call) folderPatch() error {
	text, err := c.service().FolderPatch(c.ctx(), c.user, c.id())
	if err != nil {
		return err
	}
	return c.sendPatch("folder.patch", text)
}

func (c *call) sendPatch(name string, text []byte) error {
	c.w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	return c.raw("text/x-diff; charset=utf-8", text)
}

func (c *call) usage() error {
	var q api.UsageQuery
	for name, at := range map[string]*time.Time{"from": &q.From, "to": &q.To} {
		if text := c.query(name); text != "" {
			day, err := time.Parse(time.DateOnly, text)
			if err != nil {
				return badRequest.because("%s must be a day such as 2006-01-02", name)
			}
			*at = day
		}
	}
	for by := range strings.SplitSeq(c.query("by"), ",") {
		if by == "" {
			continue
		}
		if !slices.Contains(api.UsageGroups(), api.UsageGroup(by)) {
			return badRequest.because("by must be one or more of day, user, preset, model")
		}
		q.By = append(q.By, api.UsageGroup(by))
	}
	return c.answer(c.service().Usage(c.ctx(), c.user, q))
}

// number reads a parameter that is a number, 0 if it is not there.
func (c *call) number(name string) (int64, error) {
	text := c.query(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || name == "limit" && n > maxList {
		if name == "limit" {
			return 0, badRequest.because("limit must be a number from 1 to %d", maxList)
		}
		return 0, badRequest.because("%s must be a number, and not negative", name)
	}
	return n, nil
}

// issueToken makes a bearer token. It refuses an Idempotency-Key: to repeat the answer,
// the server would have to keep the secret, and ignoring the key would make another
// unknown token with each repetition. The problem explains what to do instead.
func (c *call) issueToken() error {
	if c.r.Header.Get("Idempotency-Key") != "" {
		return badRequest.because("the secret of a token is shown once, so the answer cannot be repeated: leave out the Idempotency-Key. If an answer was lost, GET /v1/tokens shows the token: revoke it, and make another")
	}
	return c.answer(c.service().IssueToken(c.ctx(), c.user, *c.body.(*api.NewToken)))
}
