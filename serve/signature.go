package serve

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// secretPrefix is the prefix of the secrets of Standard Webhooks.
const secretPrefix = "whsec_"

// signingKey returns the key of a secret, nil if the secret is empty.
func signingKey(secret string) ([]byte, error) {
	if secret == "" {
		return nil, nil
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errors.New("claude: serve: the secret of a webhook is not base64 of 24 to 64 bytes: make one with \"echo whsec_$(openssl rand -base64 32)\"")
	}
	return key, nil
}

// sign adds the headers of Standard Webhooks 1.0. The id is the same in each attempt,
// so that a receiver recognises a repetition.
func sign(h http.Header, key []byte, id string, at time.Time, body string) {
	stamp := strconv.FormatInt(at.Unix(), 10)
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", stamp)
	if key == nil {
		return
	}
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(id + "." + stamp + "." + body)) // never fails
	h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}
