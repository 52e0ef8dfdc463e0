package webpush

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	// MaxMessage is how many bytes a message may have.
	MaxMessage = 1000
	// padded is the size of every message before it is encrypted, so that its length
	// reveals nothing.
	padded     = MaxMessage + 1
	recordSize = 4096 // a message is one record
	saltSize   = 16
)

// Encrypt encrypts a message for a subscription, as the body of a request with the
// content encoding aes128gcm.
func (s *Subscription) Encrypt(message []byte) ([]byte, error) {
	if len(message) > MaxMessage {
		return nil, fmt.Errorf("claude: webpush: a message of %d bytes is too long", len(message))
	}
	own, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	salt := make([]byte, saltSize)
	rand.Read(salt) // never fails
	return s.encrypt(message, padded, own, salt)
}

// encrypt encrypts a message that is padded to a size, 0 for none.
func (s *Subscription) encrypt(message []byte, size int, own *ecdh.PrivateKey, salt []byte) ([]byte, error) {
	browser, err := ecdh.P256().NewPublicKey(s.Key)
	if err != nil {
		return nil, errKey
	}
	shared, err := own.ECDH(browser)
	if err != nil {
		return nil, errKey
	}
	public := own.PublicKey().Bytes()
	input, err := derive(shared, s.Auth, "WebPush: info\x00"+string(s.Key)+string(public), 32)
	if err != nil {
		return nil, err
	}
	seal, nonce, err := sealing(input, salt)
	if err != nil {
		return nil, err
	}
	plain := append(append([]byte(nil), message...), 2) // the last record
	plain = append(plain, make([]byte, max(0, size-len(plain)))...)
	out := append([]byte(nil), salt...)
	out = binary.BigEndian.AppendUint32(out, recordSize)
	out = append(append(out, byte(len(public))), public...)
	return seal.Seal(out, nonce, plain, nil), nil
}

var errKey = errors.New("claude: webpush: the key of the subscription is not a point of P-256")

// derive extracts a key with a salt and expands it.
func derive(secret, salt []byte, info string, size int) ([]byte, error) {
	return hkdf.Key(sha256.New, secret, salt, info, size)
}

// sealing returns the cipher of a record, by RFC 8188.
func sealing(input, salt []byte) (cipher.AEAD, []byte, error) {
	key, err := derive(input, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, nil, err
	}
	nonce, err := derive(input, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, nil, err
	}
	seal, err := cipher.NewGCM(block)
	return seal, nonce, err
}
