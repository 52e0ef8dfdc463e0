package page_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

// The changes of a conversation with a folder of its own are all that has changed there,
// also by commands, and the link leads to that patch. If the folder cannot be compared, the
// screen says so and shows the edits.
func TestFolderChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(ada)
	made, err := r.server.Service().Create(t.Context(), ada, api.NewConversation{Preset: "shop-api", Title: "By commands"})
	if err != nil {
		t.Fatal(err)
	}
	at := r.http.URL + "/c/" + made.ID + "/changes"
	wants := func(about string, wanted, unwanted []string) {
		t.Helper()
		status, text := get(t, c, at)
		if status != http.StatusOK {
			t.Errorf("%s: status %d", about, status)
		}
		for _, want := range wanted {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %s", about, want, text)
			}
		}
		for _, bad := range unwanted {
			if strings.Contains(text, bad) {
				t.Errorf("%s: %q in %s", about, bad, text)
			}
		}
	}
	folder := func(patch string, err error) {
		f := func() ([]byte, error) { return []byte(patch), err }
		r.folder.Store(&f)
	}
	wants("without a folder", []string{"Changes made by its commands will not."}, []string{"could not be compared"})
	folder("", nil)
	wants("an unchanged folder", []string{"Git sees no difference from when the conversation began", "Files that it ignores are not shown"}, []string{"folder.patch"})
	folder("diff --git a/by <b>.go b/by <b>.go\nnew file mode 100644\n--- /dev/null\n+++ b/by <b>.go\t\n@@ -0,0 +1,2 @@\n+package by\n+// <script>\ndiff --git a/gone b/gone\ndeleted file mode 100644\n", nil)
	wants("a folder", []string{"by &lt;b&gt;.go", "&lt;script&gt;", "2 files", ">new<", ">deleted<", "+2", made.ID + "/folder.patch"}, []string{"<script>\n", "changes.patch", "could not be compared", "left out"})
	var many strings.Builder
	for i := range 400 {
		fmt.Fprintf(&many, "diff --git a/f%[1]d b/f%[1]d\nnew file mode 100644\n", i)
	}
	folder(many.String(), nil)
	wants("too many files", []string{"300 files", "More files have changed."}, []string{"f399"})
	folder("", errors.New("git is broken in /secret/place"))
	wants("a folder that cannot be compared", []string{"could not be compared now", "No changes"}, []string{"/secret/place", "folder.patch"})
}
