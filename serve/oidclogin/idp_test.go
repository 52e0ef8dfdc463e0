package oidclogin_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// idp is an OpenID provider at which one person is always logged in. Its fields make it
// behave otherwise; they are set before the request that they concern.
type idp struct {
	t    *testing.T
	http *httptest.Server
	key  *ecdsa.PrivateKey

	mu    sync.Mutex
	codes map[string]grant

	about  map[string]any                      // more of the discovery document
	claims map[string]any                      // of the id token, besides the required ones
	info   map[string]any                      // of the userinfo endpoint; nil: there is none
	change func(claims, header map[string]any) // the last word about the id token
	answer func(q url.Values)                  // the last word about what the browser brings back
	front  atomic.Pointer[frontFunc]
}

// frontFunc answers instead of the provider, and reports whether it has.
type frontFunc func(http.ResponseWriter, *http.Request) bool

// grant is what a code stands for.
type grant struct{ client, redirect, nonce, challenge string }

const (
	clientID     = "agents"
	clientSecret = "s3cret of the client"
)

func newIDP(t *testing.T) *idp {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &idp{t: t, key: key, codes: make(map[string]grant), claims: map[string]any{"email": "Ada@Example.com", "email_verified": true}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /me", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer access" {
			http.Error(w, "who?", http.StatusUnauthorized)
			return
		}
		p.send(w, p.info)
	})
	p.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if front := p.front.Load(); front == nil || !(*front)(w, r) {
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(p.http.Close)
	return p
}

func (p *idp) send(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		p.t.Error(err)
	}
}

func (p *idp) discovery(w http.ResponseWriter, _ *http.Request) {
	at := p.http.URL
	all := map[string]any{
		"issuer": at, "authorization_endpoint": at + "/authorize", "token_endpoint": at + "/token", "jwks_uri": at + "/keys",
		"id_token_signing_alg_values_supported": []string{"ES256", "none"},
	}
	if p.info != nil {
		all["userinfo_endpoint"] = at + "/me"
	}
	maps.Copy(all, p.about)
	p.send(w, all)
}

// authorize sends the browser back with a code.
func (p *idp) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("client_id") != clientID || q.Get("state") == "" || q.Get("nonce") == "" {
		http.Error(w, "not such a request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = grant{q.Get("client_id"), q.Get("redirect_uri"), q.Get("nonce"), q.Get("code_challenge")}
	p.mu.Unlock()
	back := url.Values{"code": {code}, "state": {q.Get("state")}}
	if p.answer != nil {
		p.answer(back)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// token redeems a code, once, for the client and the verifier that it was made for.
func (p *idp) token(w http.ResponseWriter, r *http.Request) {
	code := r.PostFormValue("code")
	p.mu.Lock()
	g, ok := p.codes[code]
	delete(p.codes, code)
	p.mu.Unlock()
	id, secret, _ := r.BasicAuth()
	if text, err := url.QueryUnescape(secret); err == nil { // as RFC 6749 says
		secret = text
	}
	challenge := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || id != g.client || secret != clientSecret || r.PostFormValue("redirect_uri") != g.redirect || base64.RawURLEncoding.EncodeToString(challenge[:]) != g.challenge {
		w.WriteHeader(http.StatusBadRequest)
		p.send(w, map[string]string{"error": "invalid_grant"})
		return
	}
	now := time.Now()
	claims := map[string]any{"iss": p.http.URL, "sub": "248289761001", "aud": clientID, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "nonce": g.nonce}
	maps.Copy(claims, p.claims)
	p.send(w, map[string]any{"access_token": "access", "token_type": "Bearer", "expires_in": 3600, "id_token": p.sign(claims)})
}

// sign makes a token by ES256.
func (p *idp) sign(claims map[string]any) string {
	header := map[string]any{"alg": "ES256", "kid": "1"}
	if p.change != nil {
		p.change(claims, header)
	}
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			p.t.Error(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	text := part(header) + "." + part(claims)
	if header["alg"] == "none" {
		return text + "."
	}
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, p.key, sum[:])
	if err != nil {
		p.t.Error(err)
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func (p *idp) keys(w http.ResponseWriter, _ *http.Request) {
	point, err := p.key.PublicKey.Bytes()
	if err != nil {
		p.t.Error(err)
		return
	}
	text := base64.RawURLEncoding.EncodeToString
	p.send(w, map[string]any{"keys": []any{map[string]any{"kty": "EC", "crv": "P-256", "kid": "1", "alg": "ES256", "use": "sig", "x": text(point[1:33]), "y": text(point[33:])}}})
}
