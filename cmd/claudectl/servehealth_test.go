package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The check of a container's health reaches a server that serves, and fails for one
// that is gone, another program, or another certificate.
func TestServeHealth(t *testing.T) {
	t.Parallel()
	_, address := startServe(t, "--demo")
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if got := invoke(t, "", "serve", "health", "--listen", u.Host); got.code != 0 || got.stdout != "healthy\n" {
		t.Errorf("a server that serves: %+v", got)
	}
	if got := invoke(t, "", "serve", "health", "--listen", "0.0.0.0:"+u.Port()); got.code != 0 {
		t.Errorf("a server on all addresses: %+v", got)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	if got := invoke(t, "", "serve", "health", "--listen", other.Listener.Addr().String()); got.code != 1 {
		t.Errorf("another program: %+v", got)
	}
	other.Close()
	if got := invoke(t, "", "serve", "health", "--listen", other.Listener.Addr().String()); got.code != 1 {
		t.Errorf("a server that is gone: %+v", got)
	}
}

func TestServeHealthTLS(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer server.Close()
	write := func(c *tls.Certificate) string {
		file := filepath.Join(t.TempDir(), "cert.pem")
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	address := server.Listener.Addr().String()
	if got := invoke(t, "", "serve", "health", "--listen", address, "--tls-cert", write(&server.TLS.Certificates[0])); got.code != 0 {
		t.Errorf("its own certificate: %+v", got)
	}
	stranger := selfSigned(t)
	if got := invoke(t, "", "serve", "health", "--listen", address, "--tls-cert", write(stranger)); got.code != 1 {
		t.Errorf("another certificate: %+v", got)
	}
}

// selfSigned makes a certificate.
func selfSigned(t *testing.T) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
