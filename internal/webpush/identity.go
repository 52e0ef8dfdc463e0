package webpush

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"time"
)

// Identity is the key by which push services recognise a sender. A browser accepts
// messages only from the sender that it subscribed to. It is not changed once it is
// made, so several goroutines may use it.
type Identity struct{ key *ecdsa.PrivateKey }

// NewIdentity makes a key.
func NewIdentity() (*Identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("claude: webpush: %w", err)
	}
	return &Identity{key}, nil
}

// ParseIdentity reads what Secret has returned.
func ParseIdentity(secret []byte) (*Identity, error) {
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), secret)
	if err != nil {
		return nil, fmt.Errorf("claude: webpush: the key of the server: %w", err)
	}
	return &Identity{key}, nil
}

// Secret returns the key, to be kept.
func (i *Identity) Secret() ([]byte, error) { return i.key.Bytes() }

// Public returns the public key in the form that browsers and push services take.
func (i *Identity) Public() (string, error) {
	public, err := i.key.PublicKey.Bytes()
	return base64.RawURLEncoding.EncodeToString(public), err
}

// tokenLife is how long a push service may accept a token; RFC 8292 allows a day.
const tokenLife = 12 * time.Hour

// Authorization returns the header Authorization of a message to an endpoint. contact is
// a mailto: or https: address of the people who run the server.
func (i *Identity) Authorization(endpoint, contact string, now time.Time) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", fmt.Errorf("claude: webpush: %w", err)
	}
	claims, err := json.Marshal(map[string]any{"aud": u.Scheme + "://" + u.Host, "exp": now.Add(tokenLife).Unix(), "sub": contact})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"typ":"JWT","alg":"ES256"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, i.key, sum[:])
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	public, err := i.Public()
	return "vapid t=" + text + "." + encode(signature) + ", k=" + public, err
}
