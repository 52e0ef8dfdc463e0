package serve

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/agui"
)

// route is an endpoint. The routing, the check of roles, the OpenAPI document and the
// test of all roles against all endpoints are derived from the table of routes.
type route struct {
	method, path string
	// id names the operation, for generated clients.
	id    string
	about string
	// least is the role that it needs, empty if it needs no login.
	least api.Role
	// body and reply are the types of the JSON in the request and in the answer, nil
	// for none, and status is the status of the answer.
	body, reply reflect.Type
	status      int
	// query are the parameters of the address, with their meaning.
	query []parameter
	// problems are the route's own. allProblems adds bad-request, unauthorized and
	// those that follow from the other fields.
	problems []problemKind
	// kind is the media type of the answer, empty for JSON.
	kind string
	// stream is set if the answer is a stream of events.
	stream bool
	// once is set if the route honours an Idempotency-Key.
	once   bool
	handle func(*call) error
}

// parameter is a parameter of an address.
type parameter struct {
	name, about string
	enum        []string
	// shape is the type in the OpenAPI document, a text if it is empty.
	shape parameterShape
}

// parameterShape is the type of a parameter.
type parameterShape struct{ kind, format string }

var (
	aNumber = parameterShape{kind: "integer", format: "int64"}
	aDay    = parameterShape{kind: "string", format: "date"}
)

var (
	limitQuery  = parameter{name: "limit", about: "how many items: 50, at most 200", shape: aNumber}
	promptQuery = parameter{name: "prompt", about: "only those of a prompt, by its id"}
	cursorQuery = parameter{name: "cursor", about: "the next of the previous page"}
)

// routes is the table.
func routes() []route {
	return slices.Concat(serverRoutes(), conversationRoutes(), promptRoutes(), approvalRoutes(), aguiRoutes())
}

func serverRoutes() []route {
	return []route{
		{
			method: "GET", path: "/healthz", id: "getHealth", about: "Says that the server lives.", status: http.StatusNoContent,
			handle: func(c *call) error { return nil },
		},
		{
			method: "GET", path: "/openapi.json", id: "getDocument", about: "Returns this document.", status: http.StatusOK, reply: reflect.TypeFor[any](),
			handle: func(c *call) error {
				document, err := c.s.openAPI()
				if err != nil {
					return err
				}
				return c.raw("application/json", document)
			},
		},
		{
			method: "GET", path: "/v1/server", id: "getServer", about: "Returns the versions of server and CLI, the user, presets and limits.",
			least: api.RoleViewer, status: http.StatusOK, reply: reflect.TypeFor[api.ServerInfo](),
			handle: func(c *call) error { return c.answer(c.service().Info(c.ctx(), c.user)) },
		},
		{
			method: "POST", path: "/v1/login", id: "logIn", about: "Logs in with a token and sets a cookie.",
			status: http.StatusNoContent, body: reflect.TypeFor[api.LoginRequest](), problems: []problemKind{limited},
			handle: func(c *call) error {
				return c.service().Login(c.w, c.r, c.body.(*api.LoginRequest).Token)
			},
		},
		{
			method: "DELETE", path: "/v1/login", id: "logOut", about: "Logs out.", status: http.StatusNoContent,
			handle: func(c *call) error { return c.service().Logout(c.w, c.r) },
		},
		{
			method: "GET", path: "/v1/logins", id: "listLogins", about: "Lists the browsers in which you are logged in, with your role or a lesser one. Admins see those of everybody.",
			least: api.RoleViewer, status: http.StatusOK, reply: reflect.TypeFor[api.List[api.LoginInfo]](),
			handle: func(c *call) error { return c.answer(c.service().Logins(c.ctx(), c.user)) },
		},
		{
			method: "DELETE", path: "/v1/logins/{id}", id: "endLogin", about: "Ends a login: its browser is asked to log in again.", least: api.RoleViewer, status: http.StatusNoContent,
			handle: func(c *call) error { return c.service().EndLogin(c.ctx(), c.user, c.id()) },
		},
		{
			method: "GET", path: "/v1/tokens", id: "listTokens", about: "Lists the bearer tokens.",
			least: api.RoleAdmin, status: http.StatusOK, reply: reflect.TypeFor[api.List[api.TokenInfo]](),
			handle: func(c *call) error { return c.answer(c.service().Tokens(c.ctx(), c.user)) },
		},
		{
			method: "POST", path: "/v1/tokens", id: "createToken", about: "Makes a bearer token. Its secret is shown only once and kept nowhere, so an Idempotency-Key is refused.",
			least: api.RoleAdmin, status: http.StatusCreated, body: reflect.TypeFor[api.NewToken](), reply: reflect.TypeFor[api.CreatedToken](),
			handle: (*call).issueToken,
		},
		{
			method: "DELETE", path: "/v1/tokens/{id}", id: "revokeToken", about: "Revokes a bearer token.", least: api.RoleAdmin, status: http.StatusNoContent,
			handle: func(c *call) error { return c.service().RevokeToken(c.ctx(), c.user, c.id()) },
		},
		{
			method: "GET", path: "/v1/usage", id: "getUsage", about: "Sums up what turns have cost, also those of conversations that are deleted, and lists what is over budget.",
			least: api.RoleViewer, status: http.StatusOK, reply: reflect.TypeFor[api.Usage](),
			query: []parameter{
				{name: "from", about: "the first day, 2006-01-02", shape: aDay}, {name: "to", about: "the day after the last", shape: aDay},
				{name: "by", about: "what to group by, separated by commas: day, user, preset, model"},
			},
			handle: (*call).usage,
		},
		{
			method: "GET", path: "/v1/sessions", id: "listSessions", about: "Lists sessions of the CLI on the server's disk.",
			least: api.RoleAdmin, status: http.StatusOK, reply: reflect.TypeFor[api.List[api.SessionInfo]](), problems: []problemKind{unknownPreset, unsupported},
			query:  []parameter{{name: "preset", about: "below the roots of this preset; missing: of any"}},
			handle: func(c *call) error { return c.answer(c.service().Sessions(c.ctx(), c.user, c.query("preset"))) },
		},
		{
			method: "GET", path: "/v1/feed", id: "followFeed", about: "Streams hints about all conversations, after the approvals that wait.",
			least: api.RoleViewer, status: http.StatusOK, stream: true, reply: reflect.TypeFor[api.Event](), handle: (*call).feed,
		},
	}
}

// oneConversation is the path of a conversation.
const oneConversation = "/v1/conversations/{id}"

func conversationRoutes() []route {
	const one = oneConversation
	return []route{
		{
			method: "GET", path: "/v1/conversations", id: "listConversations", about: "Lists conversations, the newest first.",
			least: api.RoleViewer, status: http.StatusOK, reply: reflect.TypeFor[api.List[api.Conversation]](),
			query: []parameter{
				{name: "state", about: "only those in this state", enum: []string{"idle", "queued", "starting", "running", "waiting", "deferred", "failed", "ended"}},
				{name: "preset", about: "only those of a preset"}, {name: "owner", about: "only those of a user"},
				{name: "label", about: "only those with a label"}, {name: "q", about: "only those with a text in the title"},
				{name: "archived", about: "1: also archived ones"}, limitQuery, cursorQuery,
			},
			handle: (*call).conversations,
		},
		{
			method: "POST", path: "/v1/conversations", id: "createConversation", about: "Begins a conversation, or continues or copies what is there.", once: true,
			least: api.RoleOperator, status: http.StatusCreated, body: reflect.TypeFor[api.NewConversation](), reply: reflect.TypeFor[api.Conversation](),
			problems: []problemKind{notFound, unknownPreset, outside, modeRefused, modelRefused, full, budget, leased, resumed, sessionOpen, sessionDeleted, deleting, unusable, unsupported, cliMissing, cliFailed},
			handle:   (*call).create,
		},
		{
			method: "GET", path: one, id: "getConversation", about: "Returns a conversation.",
			least: api.RoleViewer, status: http.StatusOK, reply: reflect.TypeFor[api.Conversation](),
			handle: func(c *call) error { return c.conversation(c.service().Conversation(c.ctx(), c.user, c.id())) },
		},
		{
			method: "PATCH", path: one, id: "changeConversation", about: "Changes a conversation. If-Match may name the ETag that the change is based on.",
			least: api.RoleOperator, status: http.StatusOK, body: reflect.TypeFor[api.Change](), reply: reflect.TypeFor[api.Conversation](),
			problems: []problemKind{precondition, unknownPreset, modeRefused, modelRefused, leased, busy, unsupported},
			handle: func(c *call) error {
				return c.conversation(c.service().Change(c.ctx(), c.user, c.id(), *c.body.(*api.Change), c.r.Header.Get("If-Match")))
			},
		},
		{
			method: "DELETE", path: one, id: "deleteConversation", about: "Deletes a conversation and everything that was said in it.",
			least: api.RoleOperator, status: http.StatusNoContent, problems: []problemKind{leased, unsupported},
			handle: func(c *call) error { return c.service().Delete(c.ctx(), c.user, c.id()) },
		},
		{
			method: "GET", path: one + "/messages", id: "listMessages", about: "Returns messages: the newest page, or the one before or after a number.",
			least: api.RoleViewer, status: http.StatusOK, reply: reflect.TypeFor[api.List[api.Message]](),
			query: []parameter{
				{name: "before", about: "messages before this number", shape: aNumber}, {name: "after", about: "messages after this number", shape: aNumber},
				{name: "html", about: "1: with safe markup"}, limitQuery,
			},
			handle: (*call).messages,
		},
		{
			method: "POST", path: one + "/read", id: "markRead", about: "Notes how far you have read.",
			least: api.RoleViewer, status: http.StatusNoContent, body: reflect.TypeFor[api.ReadMark](),
			handle: func(c *call) error { return c.service().MarkRead(c.ctx(), c.user, c.id(), *c.body.(*api.ReadMark)) },
		},
		{
			method: "GET", path: one + "/changes", id: "getChanges", about: "Returns the edits of files, as the CLI reports them.",
			least: api.RoleViewer, status: http.StatusOK, reply: reflect.TypeFor[api.Changes](), query: []parameter{promptQuery},
			handle: func(c *call) error {
				return c.answer(c.service().Changes(c.ctx(), c.user, c.id(), c.query("prompt")))
			},
		},
		{
			method: "GET", path: one + "/changes.patch", id: "getPatch", about: "Returns the edits of files as a patch for git apply.",
			least: api.RoleViewer, status: http.StatusOK, reply: reflect.TypeFor[string](), query: []parameter{promptQuery}, kind: "text/x-diff",
			handle: (*call).patch,
		},
		{
			method: "GET", path: one + "/folder.patch", id: "getFolderPatch", about: "Returns how the conversation's own folder differs from the state in which it began, as a patch for git apply.",
			least: api.RoleViewer, status: http.StatusOK, reply: reflect.TypeFor[string](), kind: "text/x-diff",
			handle: (*call).folderPatch,
		},
		{
			method: "GET", path: one + "/events", id: "followConversation", about: "Streams events after the header Last-Event-ID or a number, and then what happens.",
			least: api.RoleViewer, status: http.StatusOK, stream: true, reply: reflect.TypeFor[api.Event](),
			query: []parameter{
				{name: "after", about: "events after this number; 0: all", shape: aNumber}, {name: "html", about: "1: with safe markup"},
				{name: "feed", about: "1: with the hints of /v1/feed"},
			},
			handle: (*call).events,
		},
	}
}

func promptRoutes() []route {
	const one = oneConversation
	return []route{
		{
			method: "GET", path: one + "/prompts", id: "listPrompts", about: "Lists the prompts that have not ended.",
			least: api.RoleViewer, status: http.StatusOK, reply: reflect.TypeFor[api.List[api.Prompt]](), handle: (*call).prompts,
		},
		{
			method: "POST", path: one + "/prompts", id: "sendPrompt", about: "Sends a prompt.", once: true,
			least: api.RoleOperator, status: http.StatusAccepted, body: reflect.TypeFor[api.NewPrompt](), reply: reflect.TypeFor[api.Prompt](),
			problems: []problemKind{full, budget, stuckHere, ended, cliMissing, cliFailed}, handle: (*call).send,
		},
		{
			method: "GET", path: one + "/prompts/{prompt}", id: "getPrompt", about: "Returns how a prompt stands.",
			least: api.RoleViewer, status: http.StatusOK, reply: reflect.TypeFor[api.Prompt](),
			handle: func(c *call) error {
				return c.answer(c.service().Prompt(c.ctx(), c.user, c.id(), c.r.PathValue("prompt")))
			},
		},
		{
			method: "DELETE", path: one + "/prompts/{prompt}", id: "cancelPrompt", about: "Takes back a prompt that has not begun.",
			least: api.RoleOperator, status: http.StatusNoContent, problems: []problemKind{begun},
			handle: func(c *call) error {
				return c.service().CancelPrompt(c.ctx(), c.user, c.id(), c.r.PathValue("prompt"))
			},
		},
		{
			method: "GET", path: one + "/commands", id: "listCommands", about: "Lists the slash commands that the conversation's agent announced when it last ran; none before it has run.",
			least: api.RoleViewer, status: http.StatusOK, reply: reflect.TypeFor[api.List[api.Command]](),
			handle: func(c *call) error { return c.answer(c.service().Commands(c.ctx(), c.user, c.id())) },
		},
		{
			method: "POST", path: one + "/interrupt", id: "interrupt", about: "Stops the turn, or withdraws the question that it waits for.", once: true,
			least: api.RoleOperator, status: http.StatusAccepted, problems: []problemKind{idle, leased},
			handle: func(c *call) error { return c.service().Interrupt(c.ctx(), c.user, c.id()) },
		},
		{
			method: "POST", path: one + "/release", id: "release", about: "Declines the questions that hold a process, so that it is free for others when the turn is over.", once: true,
			least: api.RoleOperator, status: http.StatusAccepted, problems: []problemKind{idle},
			handle: func(c *call) error { return c.service().Release(c.ctx(), c.user, c.id()) },
		},
		{
			method: "POST", path: one + "/rewind", id: "rewind", about: "Restores the files that the agent has edited since a prompt, or says what that would change.", once: true,
			least: api.RoleOperator, status: http.StatusOK, body: reflect.TypeFor[api.RewindRequest](), reply: reflect.TypeFor[api.Rewound](),
			problems: []problemKind{busy, noCheckpoint, takenBack, leased, full, stuckHere, cliFailed, unsupported}, handle: (*call).rewind,
		},
		{
			method: "POST", path: one + "/prewarm", id: "prewarm", about: "Starts the agent of a sleeping conversation ahead of your next prompt, if there is room, and returns when it is ready. Send it when a person is about to write: more than once in a minute does nothing.",
			least: api.RoleOperator, status: http.StatusNoContent, problems: []problemKind{leased, cliMissing, cliFailed},
			handle: func(c *call) error { return c.service().Prewarm(c.ctx(), c.user, c.id()) },
		},
		{
			method: "POST", path: one + "/retry", id: "retry", about: "Lets a conversation that has failed try again.", once: true,
			least: api.RoleOperator, status: http.StatusAccepted,
			handle: func(c *call) error { return c.service().Retry(c.ctx(), c.user, c.id()) },
		},
	}
}

func approvalRoutes() []route {
	return []route{
		{
			method: "GET", path: "/v1/approvals", id: "listApprovals", about: "Lists approvals, the newest first.",
			least: api.RoleViewer, status: http.StatusOK, reply: reflect.TypeFor[api.List[api.Approval]](),
			query: []parameter{
				{name: "state", about: "only those in this state", enum: []string{"pending", "allowed", "denied", "answered", "expired", "withdrawn"}},
				{name: "conversation", about: "only those of a conversation"},
				{name: "kind", about: "only those of a kind", enum: []string{"tool", "question", "plan", "elicitation"}},
				{name: "preset", about: "only those of conversations with a preset"},
				{name: "q", about: "a text in the title of the conversation, the name of the tool, or what is asked"},
				limitQuery, cursorQuery,
			},
			handle: (*call).approvals,
		},
		{
			method: "GET", path: "/v1/approvals/{id}", id: "getApproval", about: "Returns an approval.",
			least: api.RoleViewer, status: http.StatusOK, reply: reflect.TypeFor[api.Approval](),
			handle: func(c *call) error { return c.answer(c.service().Approval(c.ctx(), c.user, c.id())) },
		},
		{
			method: "POST", path: "/v1/approvals/{id}/decision", id: "decide", about: "Decides an approval. Repeating the same decision changes nothing.", once: true,
			least: api.RoleApprover, status: http.StatusOK, body: reflect.TypeFor[api.Decision](), reply: reflect.TypeFor[api.Approval](),
			problems: []problemKind{modeRefused, alreadyDecided, inputChanged, gone},
			handle: func(c *call) error {
				a, err := c.service().Decide(c.ctx(), c.user, c.id(), *c.body.(*api.Decision))
				c.about = a.Conversation
				return c.answer(a, err)
			},
		},
	}
}

// aguiRoutes are the routes of AG-UI, the protocol between agents and user interfaces.
func aguiRoutes() []route {
	return []route{{
		method: "POST", path: "/ag-ui/{preset}", id: "runAgent", about: "Runs an agent by AG-UI 1.0: sends the newest message of the user, or answers interrupts.",
		least: api.RoleOperator, status: http.StatusOK, stream: true, body: reflect.TypeFor[agui.RunInput](), reply: reflect.TypeFor[agui.RunEvent](),
		problems: []problemKind{unknownPreset, limited, full, budget, stuckHere, ended, deleting, cliMissing, cliFailed}, handle: (*call).runAgent,
	}}
}

// route fills the mux.
func (s *Server) route() error {
	table := routes()
	// Made on demand: few servers are asked for it, and it takes half of the time to start.
	s.openAPI = sync.OnceValues(func() ([]byte, error) { return openAPI(table, s.service.access.cookieName()) })
	for i := range table {
		h, err := s.endpoint(&table[i])
		if err != nil {
			return err
		}
		s.mux.Handle(table[i].method+" "+table[i].path, h)
	}
	editors, err := s.endpoint(editorRoute())
	if err != nil {
		return err
	}
	s.mux.Handle("GET /acp", editors)
	for _, path := range []string{"/v1/", "/ag-ui/", "/openapi.json", "/healthz"} {
		s.mux.Handle(path, s.unrouted(table))
	}
	s.mux.HandleFunc("GET /problems/{name}", explainProblem)
	s.mux.Handle("/", s.forPeople())
	return nil
}

// unrouted answers requests whose path or method is not in the table.
func (s *Server) unrouted(table []route) http.Handler {
	shapes := http.NewServeMux()
	methods := make(map[string][]string)
	for _, r := range table {
		if methods[r.path] == nil {
			shapes.Handle(r.path, http.NotFoundHandler())
		}
		methods[r.path] = append(methods[r.path], r.method)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := shapes.Handler(r)
		if allowed := methods[pattern]; allowed != nil {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			write(notAllowed.because("use %s", strings.Join(allowed, " or ")), w, r)
			return
		}
		write(notFound.because("GET /openapi.json lists all endpoints"), w, r)
	})
}

// forPeople passes on requests that are not for the API.
func (s *Server) forPeople() http.Handler {
	page := s.service.page
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if page == nil {
			write(notFound.because("this server has no page; GET /openapi.json describes its API"), w, r)
			return
		}
		u, err := s.service.access.identify(w, r)
		if err != nil {
			write(problemOf(err), w, r)
			return
		}
		if u.Name != "" {
			knownBody(r)
			r = r.WithContext(WithUser(r.Context(), u))
		}
		page.ServeHTTP(w, r)
	})
}

// explainProblem explains the type of a problem.
func explainProblem(w http.ResponseWriter, r *http.Request) {
	for _, k := range problemKinds() {
		if k.name == r.PathValue("name") {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = w.Write([]byte(k.title + ".\n"))
			return
		}
	}
	write(notFound.because("this type of problem is unknown"), w, r)
}
