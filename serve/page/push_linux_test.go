package page_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/pushed"
	"github.com/claude-agent-go/claude/store"
)

// The whole way of a notice: the page subscribes, the server encrypts it for the push
// service, and the script of the page shows it and opens the approval. The push service is
// the test's, which hands the notice to the browser.
func TestPushInTheBrowser(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	keys, err := pushed.NewBrowser()
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan []byte, 10)
	service := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		text, err := keys.Open(body)
		if err != nil {
			t.Error(err)
		}
		got <- text
		w.WriteHeader(http.StatusCreated)
	}))
	defer service.Close()
	r.push.Store(service.Client())
	b.Grant(r.http.URL, "notifications")
	r.open(b)
	// Chromium has no push service here: what it would return is made.
	b.Eval(t, `(() => {
		window.made = null;
		PushManager.prototype.subscribe = async options => { window.made = options; return { toJSON: () => (`+keys.JSON(service.URL+"/browser")+`) }; };
		PushManager.prototype.getSubscription = async () => null;
	})()`)
	b.Want(t, `Notification.permission + document.querySelector("[data-do=notify]").hidden`, "grantedfalse")
	b.Eval(t, `document.querySelector("[data-do=notify]").click()`)
	b.Wait(t, `document.querySelector(".flash")?.textContent === "You will be notified, even when this page is closed."`)
	b.Want(t, `document.querySelector("[data-do=notify]").textContent`, "Stop notifying me")
	key, err := r.server.Service().PushKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.Want(t, `window.made.userVisibleOnly && window.made.applicationServerKey`, key)

	r.begin("shop-api", "Clean up the build")
	a := r.pending(1)[0]
	text := <-got
	var notice map[string]string
	if err := json.Unmarshal(text, &notice); err != nil || notice["id"] != a.ID || notice["text"] != "A call of Bash waits for your approval" || notice["where"] != "Clean up the build" {
		t.Fatalf("%v: %s", err, text)
	}
	b.Must("ServiceWorker.enable", nil, nil)
	registration := ""
	until(t, b, "the registration of the script", func() bool {
		for _, params := range b.Reported("ServiceWorker.workerRegistrationUpdated") {
			var updated struct {
				Registrations []struct{ RegistrationID, ScopeURL string }
			}
			if err := json.Unmarshal(params, &updated); err != nil {
				t.Fatal(err)
			}
			for _, one := range updated.Registrations {
				if one.ScopeURL == r.http.URL+"/" {
					registration = one.RegistrationID
				}
			}
		}
		return registration != ""
	})
	b.Must("ServiceWorker.deliverPushMessage", map[string]any{"origin": r.http.URL, "registrationId": registration, "data": string(text)}, nil)
	b.Want(t, `(async () => {
		const at = await navigator.serviceWorker.getRegistration("/");
		for (let i = 0; i < 500; i++) {
			const all = await at.getNotifications();
			if (all.length) return all.map(n => [n.title, n.body, n.tag, n.data].join("|")).join();
			await new Promise(done => setTimeout(done, 20)); // between two looks at another process
		}
	})()`, strings.Join([]string{notice["text"], notice["where"], a.ID, a.ID}, "|"))

	// It ends with the button.
	b.Eval(t, `document.querySelector("[data-do=notify]").click()`)
	b.Wait(t, `document.querySelector(".flash")?.textContent === "You will not be notified any more."`)
	b.Want(t, `document.querySelector("[data-do=notify]").textContent`, "Notify me")
	for rec, err := range r.db.Scan(t.Context(), store.Folder{Project: "p", Kind: "serve-push"}, "") {
		t.Errorf("a subscription is left: %v %v", rec.Key, err)
	}
	complaints(t, r, b)
}
