package page_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
)

// dot is a picture of one pixel.
var dot, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

type upload struct {
	name string
	data []byte
}

// attach sends a prompt with files, as a browser without a script does.
func attach(t *testing.T, c *http.Client, to, text string, files ...upload) (int, string) {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	_ = w.WriteField("prompt", text)
	_ = w.WriteField("preset", "shop-api")
	for _, f := range files {
		part, err := w.CreateFormFile("files", f.name)
		if err == nil {
			_, err = part.Write(f.data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	reply, err := c.Post(to, w.FormDataContentType(), &body)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, reply)
}

// Files reach the model with the prompt, and the page shows them: pictures as pictures,
// and everything else only to be saved. Only users who may see the conversation can.
func TestAttach(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	private, err := r.server.Service().Create(t.Context(), ada, api.NewConversation{Preset: "shop-api", Content: api.Text("hello")})
	if err != nil {
		t.Fatal(err)
	}
	path := "/c/" + private.ID
	r.settled(path)
	c := r.client(ada)
	pdf := []byte("%PDF-1.4\n%<script>window.pwned=1</script>")
	if status, body := attach(t, c, r.http.URL+path+"/prompt", "Look at these", upload{"../../dot.png", dot}, upload{"plan \"x\"<b>.pdf", pdf}, upload{"page.html", []byte("<script>window.pwned=1</script>")}); status != http.StatusOK || !strings.Contains(body, "Sent.") {
		t.Fatalf("%d %.500s", status, body)
	}
	r.ended(path, 2)
	_, body := get(t, c, r.http.URL+path)
	var found []string
	for _, m := range regexp.MustCompile(path+`/file/\d+/\d`).FindAllString(body, -1) {
		if len(found) == 0 || found[len(found)-1] != m {
			found = append(found, m)
		}
	}
	if len(found) != 3 || !strings.Contains(body, `<img src="`+found[0]) || !strings.Contains(body, "You said: Look at these") || strings.Contains(body, "window.pwned") {
		t.Fatalf("%v in %s", found, body)
	}
	for i, want := range []struct {
		kind, saved string
		data        []byte
	}{{"image/png", "", dot}, {"application/octet-stream", `attachment; filename="plan \"x\"<b>.pdf"`, pdf}, {"application/octet-stream", "attachment; filename=page.html", []byte("<script>window.pwned=1</script>")}} {
		reply, err := c.Get(r.http.URL + found[i])
		if err != nil {
			t.Fatal(err)
		}
		kind, saved, sniff := reply.Header.Get("Content-Type"), reply.Header.Get("Content-Disposition"), reply.Header.Get("X-Content-Type-Options")
		if status, got := read(t, reply); status != http.StatusOK || kind != want.kind || saved != want.saved || sniff != "nosniff" || got != string(want.data) {
			t.Errorf("file %d: %d %s %s: %q", i, status, kind, saved, got)
		}
	}
	// A browser may keep a picture, and asks each time whether its user may see it.
	ask := func(c *http.Client) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.http.URL+found[0], http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("If-None-Match", fmt.Sprintf(`"%s"`, strings.Replace(strings.TrimPrefix(found[0], path+"/file/"), "/", "-", 1)))
		reply, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, body := read(t, reply)
		return reply, body
	}
	if reply, body := ask(c); reply.StatusCode != http.StatusNotModified || body != "" || reply.Header.Get("Cache-Control") != "private, no-cache" {
		t.Errorf("%d %s: %q", reply.StatusCode, reply.Header.Get("Cache-Control"), body)
	}
	if reply, _ := ask(r.client(api.User{Name: "eve", Role: api.RoleOperator})); reply.StatusCode != http.StatusNotFound {
		t.Errorf("another user learns that the picture is the same: %d", reply.StatusCode)
	}
	// A new conversation begins with files as well.
	_, body = attach(t, c, r.http.URL+"/new", "First look", upload{"dot.png", dot})
	begun := regexp.MustCompile(`/c/[^"/]+/prompt`).FindString(body)
	if begun == "" || strings.HasPrefix(begun, path) {
		t.Fatalf("no conversation began: %.500s", body)
	}
	begun = strings.TrimSuffix(begun, "/prompt")
	r.settled(begun)
	if _, body = get(t, c, r.http.URL+begun); !strings.Contains(body, `<img src="`+begun+"/file/") || !strings.Contains(body, "You said: First look") {
		t.Errorf("the conversation has no picture: %s", body)
	}
	base, _, _ := strings.Cut(found[0], "/file/")
	for _, none := range []string{base + "/file/1/0", base + "/file/99999/0", base + "/file/x/y", base + "/file/-1/-1", strings.TrimSuffix(found[2], "2") + "3"} {
		if status, _ := get(t, c, r.http.URL+none); status != http.StatusNotFound {
			t.Errorf("%s: %d", none, status)
		}
	}
	if status, _ := get(t, r.client(api.User{Name: "eve", Role: api.RoleOperator}), r.http.URL+found[0]); status != http.StatusNotFound {
		t.Errorf("of another user: %d", status)
	}
}

// What cannot be attached is refused with a reason. Nothing is sent, and what was typed
// is on the page that says so.
func TestAttachRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	c := r.client(ada)
	id := strings.TrimPrefix(path, "/c/")
	last := func() int64 {
		tail, err := r.server.Service().Tail(t.Context(), ada, id, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		return tail.Last
	}
	before := last()
	many := make([]upload, serve.MaxAttached+1)
	for i := range many {
		many[i] = upload{fmt.Sprint(i, ".txt"), []byte("text")}
	}
	for what, bad := range map[string]struct {
		files  []upload
		status int
		reason string
	}{
		"too many":          {many, 413, "A prompt takes 10"},
		"too large":         {[]upload{{"a.txt", bytes.Repeat([]byte("a"), serve.MaxAttachedBytes)}, {"b.txt", []byte("b")}}, 413, "Together they may have 700.0 KiB"},
		"enormous":          {[]upload{{"a.txt", bytes.Repeat([]byte("a"), 24<<20)}}, 413, "Together they may have 700.0 KiB"},
		"a program":         {[]upload{{"dot.png", []byte("\x7fELF\x00\x01\xff\xfe")}}, 415, "dot.png is neither a picture"},
		"no files, no text": {nil, 400, "The prompt is empty"},
		"nothing in it":     {[]upload{{"empty.txt", nil}}, 415, "empty.txt is neither"},
		"coloured":          {[]upload{{"log.txt", bytes.Repeat([]byte("\x1b"), 300<<10)}}, 413, "and may take 992.0 KiB"},
	} {
		text := "What I typed <b>for minutes</b>"
		if bad.files == nil {
			text = ""
		}
		status, body := attach(t, c, r.http.URL+path+"/prompt", text, bad.files...)
		if status != bad.status || !strings.Contains(body, bad.reason) || text != "" && !strings.Contains(body, "What I typed &lt;b&gt;for minutes&lt;/b&gt;</textarea>") {
			t.Errorf("%s: %d %.2000s", what, status, body)
		}
	}
	for what, bad := range map[string]string{
		"too many":   `[` + strings.Repeat(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},`, 11) + `{"type":"text","text":"x"}]`,
		"too large":  `[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"` + strings.Repeat("a", serve.MaxAttachedBytes+1) + `"}}]`,
		"too large2": `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + base64.StdEncoding.EncodeToString(make([]byte, serve.MaxAttachedBytes+1)) + `"}}]`,
		"not base64": `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%%%"}}]`,
		"wrong kind": `[{"type":"image","source":{"type":"base64","media_type":"image/svg+xml","data":"AAAA"}}]`,
		"wrong doc":  `[{"type":"document","source":{"type":"base64","media_type":"application/zip","data":"AAAA"}}]`,
	} {
		if _, err := r.server.Service().Send(t.Context(), ada, id, api.NewPrompt{Content: []byte(bad)}); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
	if after := last(); after != before {
		t.Errorf("%d events more", after-before)
	}
	// The most that may be attached is taken.
	if status, body := attach(t, c, r.http.URL+path+"/prompt", "", upload{"a.txt", bytes.Repeat([]byte("a"), serve.MaxAttachedBytes)}); status != http.StatusOK || !strings.Contains(body, "Sent.") {
		t.Errorf("%d %.500s", status, body)
	}
}

// What was typed is on the page that says why a prompt was refused, whatever the reason,
// also of the first prompt of a conversation.
func TestRefusedWithoutScriptKeepsTheText(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	ended := true
	if _, err := r.server.Service().Change(t.Context(), ada, strings.TrimPrefix(path, "/c/"), api.Change{Archived: &ended}, ""); err != nil {
		t.Fatal(err)
	}
	c := r.client(ada)
	for to, reason := range map[string]string{path + "/prompt": "has ended", "/new": "may take 992.0 KiB"} {
		text := "typed for minutes "
		if to == "/new" {
			text += strings.Repeat("\"", 600<<10)
		}
		status, body := attach(t, c, r.http.URL+to, text)
		if status < 400 || !strings.Contains(body, reason) || !strings.Contains(body, ">typed for minutes") {
			t.Errorf("%s: %d %.800s", to, status, body)
		}
	}
	// A form that is too large because of its text does not blame files.
	if status, body := attach(t, c, r.http.URL+path+"/prompt", strings.Repeat("a", 5<<20)); status != http.StatusRequestEntityTooLarge || !strings.Contains(body, "The form is too large") {
		t.Errorf("%d %.800s", status, body)
	}
}

// A prompt of files only is named after the first.
func TestFilesWithoutText(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(ada)
	for name, want := range map[string]struct {
		title string
		data  []byte
	}{"dot.png": {"Picture", dot}, "table.csv": {"table.csv", []byte("a;b")}} {
		_, body := attach(t, c, r.http.URL+"/new", "", upload{name, want.data})
		path := strings.TrimSuffix(regexp.MustCompile(`/c/[^"/]+/prompt`).FindString(body), "/prompt")
		if path == "" {
			t.Fatalf("%.500s", body)
		}
		r.settled(path)
		got, err := r.server.Service().Conversation(t.Context(), ada, strings.TrimPrefix(path, "/c/"))
		if err != nil || got.Title != want.title {
			t.Errorf("%s: %q, %v", name, got.Title, err)
		}
		prompts, err := r.server.Service().Tail(t.Context(), ada, got.ID, 0, 100)
		for _, e := range prompts.Events {
			if e.Type == api.EventPrompt && e.Prompt.Text != want.title {
				t.Errorf("%s is shown as %q, %v", name, e.Prompt.Text, err)
			}
		}
	}
}
