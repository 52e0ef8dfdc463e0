package page_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
)

// Two hundred conversations at once, fifty of them waiting for a person, with the
// inbox open: the page shows all that wait, some are decided there and the others
// elsewhere, everything is answered, and the process has not grown afterwards.
func TestManyConversations(t *testing.T) {
	const conversations, asking = 200, 50
	r := newRig(t, func(o *fleet.Options) { o.MaxLive, o.IdleAfter, o.Poll = asking+20, 10*time.Millisecond, 0 })
	b := chromium.Open(t)
	r.open(b)
	r.settled(r.begin("shop-api", "warm up"))
	before := measure()

	var begun sync.WaitGroup
	for i := range conversations {
		prompt := fmt.Sprintf("Say hello to number %d", i)
		if i%(conversations/asking) == 0 {
			prompt = fmt.Sprintf("Clean build %d", i)
		}
		begun.Go(func() {
			if _, err := r.server.Service().Create(t.Context(), ada, api.NewConversation{Preset: "shop-api", Content: api.Text(prompt)}); err != nil {
				t.Error(err)
			}
		})
	}
	begun.Wait()
	b.Wait(t, fmt.Sprintf(`document.querySelectorAll(".card [data-key-a]").length === %d && document.title.startsWith("(%d) ")`, asking, asking))
	for left := asking; left > asking-5; left-- {
		b.Eval(t, `document.querySelector(".card [data-key-a]").click()`)
		b.Wait(t, fmt.Sprintf(`document.querySelectorAll(".card").length === %d`, left-1))
	}
	var decided sync.WaitGroup
	for _, a := range r.pending(asking - 5) {
		decided.Go(func() {
			if _, err := r.server.Service().Decide(t.Context(), ada, a.ID, api.Decision{Decision: "allow", Digest: a.Digest}); err != nil {
				t.Error(err)
			}
		})
	}
	decided.Wait()
	b.Wait(t, `!document.querySelector(".card") && document.querySelector(".empty h2")?.textContent === "All clear" && !document.title.startsWith("(")`)
	answered(t, r, conversations+1)
	b.Load(t, r.http.URL+"/cost?by=user")
	b.Want(t, `document.querySelector("table.cost tfoot td.num").textContent`, fmt.Sprint(conversations+1))
	complaints(t, r, b)

	b.Load(t, "about:blank")
	until(t, b, "the end of what was begun", func() bool { return runtime.NumGoroutine() <= before.goroutines+20 })
	after := measure()
	if after.heap > before.heap+48<<20 {
		t.Errorf("the heap grew from %d to %d MiB", before.heap>>20, after.heap>>20)
	}
	t.Logf("before %+v, after %+v", before, after)
}

// answered waits until all conversations are, and checks what was said in each.
func answered(t *testing.T, r *rig, n int) {
	t.Helper()
	seen := make(map[string]bool)
	for cursor := ""; ; {
		list, err := r.server.Service().Conversations(t.Context(), ada, api.ConversationQuery{Limit: 200, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list.Items {
			r.settled("/c/" + c.ID)
			messages, err := r.server.Service().Messages(t.Context(), ada, c.ID, api.MessageQuery{})
			if err != nil {
				t.Fatal(err)
			}
			last := string(messages.Items[len(messages.Items)-1].Message)
			if !strings.Contains(last, "You said: "+c.Title) && !strings.Contains(last, "The build directory is gone.") {
				t.Errorf("%s: the last message is %s", c.Title, last)
			}
			seen[c.ID] = true
		}
		if cursor = list.Next; cursor == "" {
			break
		}
	}
	if len(seen) != n {
		t.Errorf("there are %d conversations, want %d", len(seen), n)
	}
}

// size holds the resources of the process.
type size struct {
	heap       uint64
	goroutines int
}

func measure() size {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return size{m.HeapAlloc, runtime.NumGoroutine()}
}
