package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"

	"github.com/claude-agent-go/claude/serve/client"
)

// serveHealth is "claudectl serve health".
type serveHealth struct {
	Listen  string        `required:"" placeholder:"HOST:PORT" help:"Where the server listens, as it was told: HOST:PORT or unix:/PATH."`
	TLSCert string        `name:"tls-cert" placeholder:"FILE" complete:"file" help:"The server's certificate, if it serves https. No other is accepted."`
	Within  time.Duration `default:"5s" placeholder:"TIME" help:"How long the server may take to answer."`
}

// Help is shown by "claudectl serve health --help".
func (*serveHealth) Help() string {
	return `It asks the server on this machine whether it lives, for the health check of a container.
The exit code is 0 if it does.`
}

// Run asks once.
func (s *serveHealth) Run(c *console) error {
	ctx, cancel := context.WithTimeout(c.ctx, s.Within)
	defer cancel()
	scheme, transport := "http", &http.Transport{DialContext: s.dial, DisableKeepAlives: true}
	if s.TLSCert != "" {
		config, err := trustOnly(s.TLSCert)
		if err != nil {
			return err
		}
		scheme, transport.TLSClientConfig = "https", config
	}
	if err := client.Alive(ctx, client.Options{URL: scheme + "://localhost", HTTP: &http.Client{Transport: transport}}); err != nil {
		return &failure{exitFailed, fmt.Errorf("the server at %s does not say that it lives: %w", s.Listen, err)}
	}
	if c.json {
		return c.emit(map[string]bool{"healthy": true})
	}
	c.printf("healthy\n")
	return nil
}

// dial connects to where the server listens. One that listens on all addresses is
// reached on this machine's own.
func (s *serveHealth) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if path, ok := (&serveStart{Listen: s.Listen}).socketPath(); ok {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	host, port, err := net.SplitHostPort(s.Listen)
	if err != nil {
		return nil, err
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
}

// trustOnly accepts the first certificate of a file, by whatever name the server has,
// and no other: that it is the same one proves more than its name would.
func trustOnly(file string) (*tls.Config, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, &failure{exitFormat, fmt.Errorf("%s has no certificate", file)}
	}
	own, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, &failure{exitFormat, fmt.Errorf("%s: %w", file, err)}
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // VerifyConnection does it
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 || !state.PeerCertificates[0].Equal(own) {
				return errors.New("another certificate answers")
			}
			return nil
		},
	}, nil
}
