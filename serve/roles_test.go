package serve_test

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// mayCall is who may call which endpoint. It is written by hand, and no code of the
// server takes part in it: v is a viewer, a an approver, o an operator and A an
// admin; "-" is someone who is not logged in.
var mayCall = map[string]string{
	"GET /healthz":      "-vaoA",
	"GET /openapi.json": "-vaoA",
	"POST /v1/login":    "-vaoA",
	"DELETE /v1/login":  "-vaoA",

	"GET /v1/server":         "vaoA",
	"GET /v1/logins":         "vaoA",
	"DELETE /v1/logins/{id}": "vaoA", // whose: TestRolesOfLogins
	"GET /v1/tokens":         "A",
	"POST /v1/tokens":        "A",
	"DELETE /v1/tokens/{id}": "A",
	"GET /v1/usage":          "vaoA",
	"GET /v1/sessions":       "A",
	"GET /v1/feed":           "vaoA",

	"GET /v1/conversations":                    "vaoA",
	"POST /v1/conversations":                   "oA",
	"GET /v1/conversations/{id}":               "vaoA",
	"PATCH /v1/conversations/{id}":             "oA",
	"DELETE /v1/conversations/{id}":            "oA",
	"GET /v1/conversations/{id}/messages":      "vaoA",
	"GET /v1/conversations/{id}/commands":      "vaoA",
	"POST /v1/conversations/{id}/read":         "vaoA",
	"GET /v1/conversations/{id}/changes":       "vaoA",
	"GET /v1/conversations/{id}/changes.patch": "vaoA",
	"GET /v1/conversations/{id}/folder.patch":  "vaoA",
	"GET /v1/conversations/{id}/events":        "vaoA",

	"GET /v1/conversations/{id}/prompts":             "vaoA",
	"POST /v1/conversations/{id}/prompts":            "oA",
	"GET /v1/conversations/{id}/prompts/{prompt}":    "vaoA",
	"DELETE /v1/conversations/{id}/prompts/{prompt}": "oA",
	"POST /v1/conversations/{id}/interrupt":          "oA",
	"POST /v1/conversations/{id}/release":            "oA",
	"POST /v1/conversations/{id}/rewind":             "oA",
	"POST /v1/conversations/{id}/prewarm":            "oA",
	"POST /v1/conversations/{id}/retry":              "oA",

	"GET /v1/approvals":                "vaoA",
	"GET /v1/approvals/{id}":           "vaoA",
	"POST /v1/approvals/{id}/decision": "aoA",

	"POST /ag-ui/{preset}": "oA",
}

// Tokens of every role, and none, against every endpoint: the server lets in exactly
// those whom the table names.
func TestRoles(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	document := openAPI(&client{rig: r})
	callers := map[string]*client{
		"-": {rig: r}, "?": {rig: r, token: "cct_0123456789abcdef.wrong"},
		"v": r.as("eve", api.RoleViewer), "a": r.as("eve", api.RoleApprover), "o": r.as("eve", api.RoleOperator), "A": r.as("eve", api.RoleAdmin),
	}
	described := make(map[string]bool)
	for path, methods := range document.Paths {
		for method, op := range methods {
			name := strings.ToUpper(method) + " " + path
			described[name] = true
			who, known := mayCall[name]
			if !known {
				t.Errorf("%s: the table does not say who may call it", name)
				continue
			}
			_, stream := op.Responses["200"].Content["text/event-stream"]
			endless := stream && method == "get" && !strings.Contains(path, "{id}")
			var body any
			if op.RequestBody != nil {
				body = map[string]any{} // lacks what is needed
			}
			where := strings.NewReplacer("{id}", "nobody~0", "{prompt}", "1").Replace(path)
			for caller, c := range callers {
				may := strings.Contains(who, caller)
				if may && endless || caller == "?" && strings.Contains(who, "-") {
					continue // a stream that many tests read; a wrong token where none is needed
				}
				checkRole(t, name+" as "+caller, c.do(strings.ToUpper(method), where, body), caller, may, path)
			}
		}
	}
	if missing := slices.DeleteFunc(slices.Sorted(maps.Keys(mayCall)), func(name string) bool { return described[name] }); len(missing) > 0 {
		t.Errorf("the OpenAPI document lacks %q", missing)
	}
}

// checkRole judges an answer by its status.
func checkRole(t *testing.T, call string, got reply, caller string, may bool, path string) {
	t.Helper()
	refused := http.StatusForbidden
	if caller == "-" || caller == "?" {
		refused = http.StatusUnauthorized
	}
	switch {
	case !may && got.status != refused:
		t.Errorf("%s: status %d, want %d: %s", call, got.status, refused, got.body)
	case may && got.status == http.StatusUnauthorized && path == "/v1/login": // the token in its body is wrong
	case may && (got.status == http.StatusForbidden || got.status == http.StatusUnauthorized):
		t.Errorf("%s: status %d, but it is allowed: %s", call, got.status, got.body)
	case may && got.status >= 500 && got.status != http.StatusNotImplemented:
		t.Errorf("%s: status %d: %s", call, got.status, got.body)
	}
}

// atLeast reports whether a role may do what another may. It is written out, so that
// a mistake in the server's own order is seen.
func atLeast(role, least api.Role) bool {
	return slices.Contains(map[api.Role][]api.Role{
		api.RoleViewer:   {api.RoleViewer},
		api.RoleApprover: {api.RoleViewer, api.RoleApprover},
		api.RoleOperator: {api.RoleViewer, api.RoleApprover, api.RoleOperator},
		api.RoleAdmin:    {api.RoleViewer, api.RoleApprover, api.RoleOperator, api.RoleAdmin},
	}[role], least)
}

// The page calls the service without the table of routes, so the service asks for
// roles itself: v is a viewer, a an approver, o an operator. Admins may do all of it.
func TestServiceRoles(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	own := ada.begin("tool 1")
	want[api.Conversation](ada, ada.do("PATCH", "/v1/conversations/"+own.ID, `{"shared":true}`), http.StatusOK)
	asked := ada.pending(1)[0]
	s, ctx, id := r.server.Service(), t.Context(), own.ID
	second := func(_ any, err error) error { return err }
	for name, call := range map[string]struct {
		who string
		do  func(api.User) error
	}{
		"Create":       {"o", func(u api.User) error { return second(s.Create(ctx, u, api.NewConversation{Preset: "none"})) }},
		"Change":       {"o", func(u api.User) error { return second(s.Change(ctx, u, id, api.Change{}, "other")) }},
		"Delete":       {"o", nil},
		"Send":         {"o", func(u api.User) error { return second(s.Send(ctx, u, id, api.NewPrompt{})) }},
		"CancelPrompt": {"o", func(u api.User) error { return s.CancelPrompt(ctx, u, id, "00000000-0000-4000-8000-000000000000") }},
		"Interrupt":    {"o", nil},
		"Release":      {"o", nil},
		"Retry":        {"o", func(u api.User) error { return s.Retry(ctx, u, id) }},
		"Rewind":       {"o", func(u api.User) error { return second(s.Rewind(ctx, u, id, api.RewindRequest{Message: "x"})) }},
		"Decide":       {"ao", func(u api.User) error { return second(s.Decide(ctx, u, asked.ID, api.Decision{Decision: "allow"})) }},
		"Tokens":       {"", func(u api.User) error { return second(s.Tokens(ctx, u)) }},
		"IssueToken":   {"", func(u api.User) error { return second(s.IssueToken(ctx, u, api.NewToken{})) }},
		"RevokeToken":  {"", func(u api.User) error { return s.RevokeToken(ctx, u, "none") }},
		"Sessions":     {"", func(u api.User) error { return second(s.Sessions(ctx, u, "")) }},
		"Usage":        {"vao", func(u api.User) error { return second(s.Usage(ctx, u, api.UsageQuery{})) }},
		"Conversation": {"vao", func(u api.User) error { return second(s.Conversation(ctx, u, id)) }},
		"Approval":     {"vao", func(u api.User) error { return second(s.Approval(ctx, u, asked.ID)) }},
		"Prompts":      {"vao", func(u api.User) error { return second(s.Prompts(ctx, u, id)) }},
	} {
		do := call.do
		switch name { // those that work, as soon as they are allowed
		case "Delete":
			do = func(u api.User) error { return s.Delete(ctx, u, id) }
		case "Interrupt":
			do = func(u api.User) error { return s.Interrupt(ctx, u, id) }
		case "Release":
			do = func(u api.User) error { return s.Release(ctx, u, id) }
		}
		for caller, role := range map[string]api.Role{"v": api.RoleViewer, "a": api.RoleApprover, "o": api.RoleOperator, "?": "", "x": "root"} {
			may := strings.Contains(call.who, caller)
			if may && call.do == nil {
				continue
			}
			err := do(api.User{Name: "eve", Role: role})
			problem, _ := errors.AsType[*api.Problem](err)
			if refused := problem != nil && problem.Status == http.StatusForbidden; refused == may {
				t.Errorf("%s as %q: %v, want a refusal: %v", name, role, err, !may)
			}
		}
	}
	if still := ada.pending(1)[0]; still.State != api.ApprovalPending {
		t.Errorf("the approval is %s", still.State)
	}
}
