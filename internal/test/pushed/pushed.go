// Package pushed is the browser's side of Web Push, for tests: it has the keys of a
// subscription, and opens what was encrypted for it.
package pushed

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
)

// Browser has the keys of a subscription.
type Browser struct {
	key *ecdh.PrivateKey
	// Auth is the secret that it shares with the sender.
	Auth []byte
}

// NewBrowser makes the keys of a browser.
func NewBrowser() (*Browser, error) {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	auth := make([]byte, 16)
	rand.Read(auth) // never fails
	return &Browser{key, auth}, err
}

// Public is the public key.
func (b *Browser) Public() []byte { return b.key.PublicKey().Bytes() }

// JSON returns the subscription as the script of a page sees it.
func (b *Browser) JSON(endpoint string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return fmt.Sprintf(`{"endpoint":%q,"expirationTime":null,"keys":{"p256dh":%q,"auth":%q}}`, endpoint, encode(b.Public()), encode(b.Auth))
}

// Open returns the message in the body of a request: one record of RFC 8188, by the keys
// of RFC 8291.
func (b *Browser) Open(body []byte) ([]byte, error) {
	if len(body) < 21 || len(body) < 21+int(body[20]) {
		return nil, errors.New("the body has no header")
	}
	salt, size, id := body[:16], binary.BigEndian.Uint32(body[16:20]), body[21:21+int(body[20])]
	sealed := body[21+len(id):]
	if size < 18 || len(sealed) > int(size) {
		return nil, fmt.Errorf("a record of %d has %d bytes", size, len(sealed))
	}
	sender, err := ecdh.P256().NewPublicKey(id)
	if err != nil {
		return nil, err
	}
	shared, err := b.key.ECDH(sender)
	if err != nil {
		return nil, err
	}
	first, err := hkdf.Extract(sha256.New, shared, b.Auth)
	if err != nil {
		return nil, err
	}
	input, err := hkdf.Expand(sha256.New, first, "WebPush: info\x00"+string(b.Public())+string(id), 32)
	if err != nil {
		return nil, err
	}
	second, err := hkdf.Extract(sha256.New, input, salt)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Expand(sha256.New, second, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Expand(sha256.New, second, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	plain, err := seal.Open(nil, nonce, sealed, nil)
	if err != nil {
		return nil, err
	}
	text, ok := bytes.CutSuffix(bytes.TrimRight(plain, "\x00"), []byte{2})
	if !ok {
		return nil, errors.New("the record is not the last")
	}
	return text, nil
}
