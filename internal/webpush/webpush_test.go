package webpush

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/pushed"
)

func decoded(t *testing.T, text string) []byte {
	t.Helper()
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The example of RFC 8291, appendix A.
func TestExample(t *testing.T) {
	own, err := ecdh.P256().NewPrivateKey(decoded(t, "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
	if err != nil {
		t.Fatal(err)
	}
	s := Subscription{
		Key:  decoded(t, "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"),
		Auth: decoded(t, "BTBZMqHH6r4Tts7J_aSIgg"),
	}
	got, err := s.encrypt([]byte("When I grow up, I want to be a watermelon"), 0, own, decoded(t, "DGv6ra1nlYgDCS1FRnbzlw"))
	const want = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
	if text := base64.RawURLEncoding.EncodeToString(got); err != nil || text != want {
		t.Errorf("%v: %s\nwant %s", err, text, want)
	}
}

// Every message opens, is unlike any other, and is as long as any other.
func TestEncrypt(t *testing.T) {
	browser, err := pushed.NewBrowser()
	if err != nil {
		t.Fatal(err)
	}
	s := Subscription{Key: browser.Public(), Auth: browser.Auth}
	seen := make(map[string]bool)
	for _, n := range []int{0, 1, 999, MaxMessage, 1} {
		message := bytes.Repeat([]byte("x"), n)
		body, err := s.Encrypt(message)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := browser.Open(body); err != nil || !bytes.Equal(got, message) {
			t.Errorf("%d bytes became %d: %v", n, len(got), err)
		}
		if len(body) != 16+4+1+65+padded+16 || seen[string(body[:16])] || seen[string(body[21:86])] {
			t.Errorf("a message of %d bytes has %d, or repeats a key", n, len(body))
		}
		seen[string(body[:16])], seen[string(body[21:86])] = true, true
	}
	if _, err := s.Encrypt(make([]byte, MaxMessage+1)); err == nil {
		t.Error("a long message is taken")
	}
	if _, err := (&Subscription{Key: []byte("no"), Auth: s.Auth}).Encrypt(nil); err == nil {
		t.Error("a broken key is taken")
	}
}

// A sender keeps its key, and signs for one push service and a time.
func TestAuthorization(t *testing.T) {
	made, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	secret, err := made.Secret()
	if err != nil {
		t.Fatal(err)
	}
	i, err := ParseIdentity(secret)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	header, err := i.Authorization("https://push.example:8443/a/b?c", "mailto:a@example.com", now)
	if err != nil {
		t.Fatal(err)
	}
	token, public, ok := strings.Cut(strings.TrimPrefix(header, "vapid t="), ", k=")
	parts := strings.Split(token, ".")
	if !ok || len(parts) != 3 {
		t.Fatal(header)
	}
	if mine, err := made.Public(); err != nil || mine != public {
		t.Errorf("the key is %s, not %s: %v", public, mine, err)
	}
	point, signature := decoded(t, public), decoded(t, parts[2])
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if len(signature) != 64 || !ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		t.Error("the signature is wrong")
	}
	var head struct{ Typ, Alg string }
	var claims struct {
		Aud, Sub string
		Exp      int64
	}
	if err := errors.Join(json.Unmarshal(decoded(t, parts[0]), &head), json.Unmarshal(decoded(t, parts[1]), &claims)); err != nil {
		t.Fatal(err)
	}
	if head.Alg != "ES256" || claims.Aud != "https://push.example:8443" || claims.Sub != "mailto:a@example.com" || claims.Exp != now.Add(12*time.Hour).Unix() {
		t.Errorf("%+v %+v", head, claims)
	}
	if _, err := ParseIdentity(secret[1:]); err == nil {
		t.Error("a broken key is read")
	}
}

func TestCheck(t *testing.T) {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := Subscription{Endpoint: "https://push.example/x", Key: key.PublicKey().Bytes(), Auth: make([]byte, 16)}
	for endpoint, want := range map[string]string{
		"https://fcm.googleapis.com/fcm/send/x": "", "https://8.8.8.8/x": "", "https://[2606:4700::1]/x": "",
		"http://push.example/x": "https", "https:///x": "https", "https://u:p@push.example/": "https", "ftp://push.example": "https", "%": "https", "https://push.example/#a": "https", "https://push.example/" + strings.Repeat("a", 2048): "https",
		"https://127.0.0.1/x": "public", "https://localhost/x": "public", "https://LOCALHOST./x": "public", "https://a.localhost/": "public", "https://printer.local": "public", "https://metadata.google.internal/": "public", "https://intranet/": "public",
		"https://10.1.2.3/": "public", "https://192.168.0.1:8443/": "public", "https://169.254.169.254/": "public", "https://[::1]/": "public", "https://[fd00::1]/": "public", "https://[::ffff:127.0.0.1]/": "public", "https://[fe80::1%25eth0]/": "public", "https://0.0.0.0/": "public", "https://100.64.1.1/": "public", "https://224.0.0.1/": "public", "https://[64:ff9b::7f00:1]/": "public",
	} {
		s := good
		s.Endpoint = endpoint
		if err := s.Check(false); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", endpoint, err, want)
		}
		if err := s.Check(true); want == "public" && err != nil || want == "https" && err == nil {
			t.Errorf("%s, if private addresses are allowed: %v", endpoint, err)
		}
	}
	for _, bad := range []Subscription{{good.Endpoint, good.Key, good.Auth[1:]}, {good.Endpoint, good.Key[1:], good.Auth}, {good.Endpoint, make([]byte, 65), good.Auth}} {
		if bad.Check(true) == nil {
			t.Errorf("%d and %d bytes are taken", len(bad.Key), len(bad.Auth))
		}
	}
	if Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

// The client connects to no address of this machine, even if a name leads there.
func TestClient(t *testing.T) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "https://"), ":")
	for _, address := range []string{s.URL, "https://localhost:" + port} {
		_, err := Client(false).Get(address)
		if _, ok := errors.AsType[*PrivateError](err); !ok {
			t.Errorf("%s: %v", address, err)
		}
	}
	c := Client(true)
	c.Transport = s.Client().Transport
	res, err := c.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
}
