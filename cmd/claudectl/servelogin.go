package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// addressKey is the record in which a server keeps its address.
func addressKey(project string) store.RecordKey {
	return store.RecordKey{Project: project, Kind: "serve-address", Name: "current"}
}

// serveAddress is its output.
type serveAddress struct {
	URL     string    `json:"url"`
	Started time.Time `json:"started"`
}

// keepAddress writes down where the server is, for "claudectl serve login".
func keepAddress(ctx context.Context, r store.Records, project, url string) error {
	value, err := jsonx.Marshal(serveAddress{url, time.Now().UTC()})
	if err != nil {
		return err
	}
	for {
		old, err := store.Get(ctx, r, addressKey(project))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		_, err = store.Put(ctx, r, addressKey(project), value, old.Revision, store.Fence{})
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// open returns the store of a server, which must exist.
func (p *servePlace) open(c *console) (*store.FileStore, error) {
	dir, err := p.dir(c)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, &failure{exitInput, fmt.Errorf("no server has used this store: %w", err)}
	}
	return store.Files(dir), nil
}

// serveLogin is "claudectl serve login".
type serveLogin struct {
	servePlace
	User string `placeholder:"NAME" help:"Who logs in. Default: USER."`
	Role string `default:"admin" enum:"viewer,approver,operator,admin" help:"What they may do: viewer, approver, operator or admin."`
	QR   bool   `name:"qr" help:"Also draw the link as a QR code, for a phone."`
}

// Run prints a link. It needs no running server, only its store.
func (s *serveLogin) Run(c *console) error {
	db, err := s.open(c)
	if err != nil {
		return err
	}
	r, err := store.Get(c.ctx, db, addressKey(s.Project))
	if errors.Is(err, store.ErrNotFound) {
		return &failure{exitInput, errors.New("no server has used this project of the store: start one with claudectl serve")}
	}
	if err != nil {
		return err
	}
	var at serveAddress
	if err := jsonx.Unmarshal(r.Value, &at); err != nil {
		return &failure{exitFormat, err}
	}
	if s.QR {
		if err := c.checkQR(at.URL); err != nil {
			return err
		}
	}
	name := (&serveStart{User: s.User}).user(c)
	token, err := serve.IssueLogin(c.ctx, db, s.Project, api.User{Name: name, Role: api.Role(s.Role)})
	if err != nil {
		return err
	}
	link := serve.LoginLink(at.URL, token)
	c.printf("%s\n", link)
	if s.QR {
		return c.printQR(link)
	}
	return nil
}

// serveToken is "claudectl serve token".
type serveToken struct {
	servePlace
	Name string        `arg:"" help:"What the token is for."`
	User string        `placeholder:"NAME" help:"Who it acts as. Default: USER."`
	Role string        `default:"viewer" enum:"viewer,approver,operator,admin" help:"What it may do: viewer, approver, operator or admin."`
	Life time.Duration `placeholder:"TIME" help:"How long it works, such as 720h. Default: until it is revoked."`
}

// Run makes a token and prints its secret.
func (s *serveToken) Run(c *console) error {
	db, err := s.open(c)
	if err != nil {
		return err
	}
	want := api.NewToken{Name: s.Name, User: (&serveStart{User: s.User}).user(c), Role: api.Role(s.Role)}
	if s.Life > 0 {
		until := time.Now().Add(s.Life)
		want.Expires = &until
	}
	made, err := serve.IssueToken(c.ctx, db, s.Project, want)
	if err != nil {
		return &failure{exitUsage, err}
	}
	c.printf("%s\n", made.Secret)
	return nil
}
