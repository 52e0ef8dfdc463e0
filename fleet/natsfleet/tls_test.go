package natsfleet_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
)

// authority issues certificates, and keeps everything in files.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.issue("ca", x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// issue makes a certificate and writes both of its files. The first is its own issuer.
func (a *authority) issue(name string, c x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	c.SerialNumber, c.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = &c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, &c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	err = errors.Join(err,
		os.WriteFile(a.file(name+".pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(a.file(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	if err != nil {
		a.t.Fatal(err)
	}
	return made, key
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// serve lets a server show its certificate, and want one of this authority.
func (a *authority) serve(o *server.Options) {
	a.issue("server", x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	conf, err := server.GenTLSConfig(&server.TLSConfigOpts{CertFile: a.file("server.pem"), KeyFile: a.file("server.key"), CaFile: a.file("ca.pem"), Verify: true})
	if err != nil {
		a.t.Fatal(err)
	}
	o.TLS, o.TLSVerify, o.TLSConfig, o.TLSTimeout = true, true, conf, 5
}

// A fleet on servers that demand certificates. The settings in the README suffice,
// and any missing one is an error that explains itself.
func TestCertificates(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	a.issue("worker", x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	c := natstest.Start(t, natstest.Options{Configure: a.serve})
	url := strings.Replace(c.URL(), "nats://", "tls://", 1)
	roots, cert := nats.RootCAs(a.file("ca.pem")), nats.ClientCert(a.file("worker.pem"), a.file("worker.key"))
	o := natsfleet.Options{URL: url, Project: "p", Logger: quiet(), NATS: []nats.Option{roots, cert}}
	cli := claudetest.NewCLI(&claudetest.Script{Model: heard})
	w, err := natsfleet.StartWorker(t.Context(), natsfleet.WorkerOptions{Options: o, Fleet: fleet.Options{
		Journal: t.TempDir(), Session: func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{Transport: cli, Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: quiet()}, nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, w)
	if text, err := answer(t.Context(), w, "ada", "one"); err != nil || text != "heard one" {
		t.Errorf("%q, %v", text, err)
	}
	plain := natstest.Start(t, natstest.Options{})
	for name, c := range map[string]struct {
		url  string
		nats []nats.Option
		want string
	}{
		"a server of an authority that nobody knows": {url, []nats.Option{cert}, "certificate signed by unknown authority"},
		"no certificate":          {url, []nats.Option{roots}, "certificate required"},
		"a server without TLS":    {strings.Replace(plain.URL(), "nats://", "tls://", 1), []nats.Option{roots, cert}, "secure connection not available"},
		"a server that wants TLS": {strings.Replace(url, "tls://", "nats://", 1), []nats.Option{nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12})}, "certificate"},
	} {
		s, err := natsfleet.OpenStore(t.Context(), natsfleet.Options{URL: c.url, NATS: c.nats, Logger: quiet()})
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", name, err, c.want)
		}
	}
}
