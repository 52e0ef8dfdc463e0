package serve_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// routeOf returns a route with ids that do not exist.
func routeOf(name string) (method, path string) {
	method, path, _ = strings.Cut(name, " ")
	return method, strings.NewReplacer("{id}", "nobody~0", "{prompt}", "1", "{preset}", "shop").Replace(path)
}

// directly makes a request without a network.
func (c *client) directly(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	c.t.Helper()
	req := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	req.RemoteAddr = "127.0.0.1:1"
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	w := httptest.NewRecorder()
	c.server.ServeHTTP(w, req)
	return w
}

// safeHeaders are those of every answer, written out.
var safeHeaders = map[string]string{
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"X-Frame-Options":              "DENY",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
	"Cache-Control":                "no-store",
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
		"manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types page",
}

// checkSafe checks the headers of an answer.
func checkSafe(t *testing.T, name string, w *httptest.ResponseRecorder) {
	t.Helper()
	for header, want := range safeHeaders {
		if got := w.Header().Get(header); got != want {
			t.Errorf("%s: %d with %s: %q", name, w.Code, header, got)
		}
	}
	for _, header := range []string{"Access-Control-Allow-Origin", "Server", "X-Powered-By"} {
		if got := w.Header().Get(header); got != "" {
			t.Errorf("%s: %s is %q", name, header, got)
		}
	}
}

// endless are the routes whose answer does not end by itself.
var endless = []string{"GET /v1/feed"}

// Every route, as it answers an admin and someone without a login, has the headers that
// keep pages of others away, and is not cached.
func TestHeadersOfEveryRoute(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	for name := range mayCall {
		if slices.Contains(endless, name) {
			continue
		}
		method, path := routeOf(name)
		body := ""
		if method == "POST" || method == "PATCH" {
			body = `{}`
		}
		for _, c := range []*client{r.as("root", api.RoleAdmin), {rig: r}} {
			checkSafe(t, name, c.directly(method, path, body))
		}
	}
	none := &client{rig: r}
	checkSafe(t, "another method", none.directly("PUT", "/v1/conversations", ""))
	checkSafe(t, "no path", none.directly("GET", "/v1/none", ""))
	checkSafe(t, "another host", none.directly("GET", "/v1/server", "", "Host", "evil.example"))
	checkSafe(t, "another site", none.directly("POST", "/v1/login", `{}`, "Sec-Fetch-Site", "cross-site"))
}

// Every route that changes something refuses requests of other sites, even with a right
// token, before it looks at anything else; no route answers to another host.
func TestOtherSitesAndHosts(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	admin := r.as("root", api.RoleAdmin)
	for name := range mayCall {
		method, path := routeOf(name)
		if method != "GET" {
			for _, from := range [][]string{
				{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"}, {"Origin", "http://localhost:1"},
				{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"},
			} {
				w := admin.directly(method, path, `{}`, from...)
				var p api.Problem
				if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusForbidden || p.Type != "/problems/cross-site" {
					t.Errorf("%s from %q: %d %s", name, from, w.Code, w.Body)
				}
			}
		}
		for _, host := range []string{"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "evil.example:8080"} {
			if slices.Contains(endless, name) && host == "" {
				continue
			}
			if w := admin.directly(method, path, "", "Host", host); w.Code != http.StatusMisdirectedRequest {
				t.Errorf("%s to %s: %d %s", name, host, w.Code, w.Body)
			}
		}
	}
	for _, host := range []string{"localhost", "localhost:8080", "127.0.0.1", "127.8.9.1:80", "[::1]", "[::1]:8080", "LOCALHOST"} {
		if w := admin.directly("GET", "/v1/server", "", "Host", host); w.Code != http.StatusOK {
			t.Errorf("to %s: %d %s", host, w.Code, w.Body)
		}
	}
	for _, from := range [][]string{{"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "none"}, {"Origin", "http://localhost"}, {}} {
		if w := admin.directly("DELETE", "/v1/tokens/none", "", from...); w.Code != http.StatusNotFound {
			t.Errorf("from %q: %d %s", from, w.Code, w.Body)
		}
	}
}

// Every route refuses bodies that do not fit its schema, unknown parameters and unknown
// methods; a route without a body reads none.
func TestFormOfEveryRoute(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	admin := r.as("root", api.RoleAdmin)
	document := openAPI(admin)
	huge := `{"x":"` + strings.Repeat("x", 21<<20) + `"}`
	for name := range mayCall {
		method, path := routeOf(name)
		_, template, _ := strings.Cut(name, " ")
		if !slices.Contains(endless, name) {
			if w := admin.directly(method, path+"?misspelt=1", `{}`); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "misspelt") {
				t.Errorf("%s with an unknown parameter: %d %s", name, w.Code, w.Body)
			}
		}
		if w := admin.directly("PUT", path, ""); w.Code != http.StatusMethodNotAllowed || !strings.Contains(w.Header().Get("Allow"), method) {
			t.Errorf("PUT %s: %d, allowed are %q", path, w.Code, w.Header().Get("Allow"))
		}
		if document.Paths[template][strings.ToLower(method)].RequestBody == nil {
			continue
		}
		for body, want := range map[string]int{
			`{`: http.StatusBadRequest, `[]`: http.StatusBadRequest, `null`: http.StatusBadRequest, `{} {}`: http.StatusBadRequest, `"x"`: http.StatusBadRequest,
			`{"unknown":1}`: http.StatusBadRequest,
			`{"a":1,"a":1}`: http.StatusBadRequest,
			huge:            http.StatusRequestEntityTooLarge,
		} {
			if w := admin.directly(method, path, body); w.Code != want && (name != "POST /ag-ui/{preset}" || body != `{"unknown":1}`) {
				t.Errorf("%s with %.20s: %d %.300s", name, body, w.Code, w.Body)
			}
		}
		for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "application/jsonx", "multipart/form-data", ""} {
			if w := admin.directly(method, path, `{}`, "Content-Type", kind); w.Code != http.StatusUnsupportedMediaType {
				t.Errorf("%s as %q: %d %s", name, kind, w.Code, w.Body)
			}
		}
	}
}

// The questions of an agent are shown as they are, and answered by number and label.
func TestAnswerQuestions(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	for text, answers := range map[string]string{
		"Blue":  `[{"question":0,"choose":["Blue"]}]`,
		"Green": `[{"question":0,"write":"Green"}]`,
	} {
		own := ada.begin("ask")
		asked := ada.pending(1)[0]
		if asked.Kind != api.KindQuestion || asked.Tool != "AskUserQuestion" || asked.Title != "Which colour?" || !asked.MayDecide || asked.Conversation != own.ID ||
			len(asked.Questions) != 1 || asked.Questions[0].Question != "Which colour?" || asked.Questions[0].Header != "Colour" || asked.Questions[0].MultiSelect ||
			len(asked.Questions[0].Options) != 2 || asked.Questions[0].Options[1].Label != "Red" {
			t.Errorf("asked: %+v", asked)
		}
		decide := func(rest string) reply {
			return ada.do("POST", "/v1/approvals/"+asked.ID+"/decision", `{"digest":"`+asked.Digest+`",`+rest+`}`)
		}
		for rest, says := range map[string]string{
			`"decision":"answer"`:                                                    "answers is missing",
			`"decision":"answer","answers":[]`:                                       "answers is missing",
			`"decision":"answer","answers":[{"question":1,"choose":["Blue"]}]`:       "question 1 does not exist",
			`"decision":"answer","answers":[{"question":-1,"choose":["Blue"]}]`:      "",
			`"decision":"answer","answers":[{"question":0,"choose":["blue"]}]`:       `no option \"blue\"`,
			`"decision":"answer","answers":[{"question":0,"choose":["Blue","Red"]}]`: "",
			`"decision":"answer","answers":[{"question":0,"choose":[]}]`:             "",
			`"decision":"allow"`: "a question needs answers",
		} {
			if got := decide(rest); got.status != http.StatusBadRequest || !strings.Contains(string(got.body), says) {
				t.Errorf("%s: %d %s", rest, got.status, got.body)
			}
		}
		done := want[api.Approval](ada, decide(`"decision":"answer","answers":`+answers), http.StatusOK)
		if done.State != api.ApprovalAnswered || done.DecidedBy != "ada" || done.DecidedAt.IsZero() || done.MayDecide {
			t.Errorf("answered: %+v", done)
		}
		events := ada.follow("/v1/conversations/"+own.ID+"/events", untilTurns(1))
		if !slices.ContainsFunc(events, func(e sse) bool {
			return e.event == "message" && strings.Contains(e.data, "It says") && strings.Contains(e.data, text)
		}) {
			t.Errorf("the model did not read %q", text)
		}
	}
}

// Users who may only look see the agents' questions, and are not offered to decide
// them.
func TestMayDecide(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	own := ada.begin("tool 1")
	want[api.Conversation](ada, ada.do("PATCH", "/v1/conversations/"+own.ID, `{"shared":true}`), http.StatusOK)
	asked := ada.pending(1)[0]
	for role, may := range map[api.Role]bool{api.RoleViewer: false, api.RoleApprover: true, api.RoleOperator: true, api.RoleAdmin: true} {
		eve := r.as("eve", role)
		if got := get[api.Approval](eve, "/v1/approvals/"+asked.ID); got.MayDecide != may {
			t.Errorf("%s may decide: %v", role, got.MayDecide)
		}
		if got := get[api.List[api.Approval]](eve, "/v1/approvals?state=pending"); len(got.Items) != 1 || got.Items[0].MayDecide != may {
			t.Errorf("%s: %+v", role, got.Items)
		}
	}
	want[api.Approval](ada, ada.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "deny", Digest: asked.Digest, Message: "not now"}), http.StatusOK)
	got := get[api.Approval](r.as("eve", api.RoleAdmin), "/v1/approvals/"+asked.ID)
	if got.MayDecide || got.State != api.ApprovalDenied || got.DecidedBy != "ada" || got.Message != "not now" {
		t.Errorf("%+v", got)
	}
}
