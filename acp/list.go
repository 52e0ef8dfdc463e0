package acp

import (
	"context"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/serve/api"
)

const (
	// listPage is how many sessions a reply to session/list has at most.
	listPage = 50
	// listSieve is how many conversations of a server are looked at together for
	// those of one directory.
	listSieve = 200
)

// wrongCursor refuses a cursor that an editor has made up.
func wrongCursor() error {
	return errorf(schema.ErrorCodeInvalidParams, "the cursor is not one of this agent")
}

// cursorOf returns the cursor of what comes after a session. It names the session: a
// page costs the same wherever it is, and an agent that was started anew understands
// it.
func cursorOf(p history.Position) string {
	return p.Modified.UTC().Format(time.RFC3339Nano) + "/" + p.ID
}

// readCursor reads what cursorOf has written.
func readCursor(cursor string) (history.Position, error) {
	at, id, ok := strings.Cut(cursor, "/")
	modified, err := time.Parse(time.RFC3339Nano, at)
	if !ok || err != nil || id == "" {
		return history.Position{}, wrongCursor()
	}
	return history.Position{Modified: modified, ID: id}, nil
}

// List lists the sessions of a directory, or all, the newest first.
func (l localAgent) List(ctx context.Context, req *schema.ListSessionsRequest) (*schema.ListSessionsResponse, error) {
	q := history.Query{Limit: listPage + 1, Archived: history.ArchivedExcluded}
	if req.Cwd != nil {
		q.Dir = *req.Cwd
	}
	if req.Cursor != nil {
		var err error
		if q.After, err = readCursor(*req.Cursor); err != nil {
			return nil, err
		}
	}
	resp := &schema.ListSessionsResponse{Sessions: []schema.SessionInfo{}}
	var last history.Position
	for info, err := range l.history().List(ctx, q) {
		if err != nil {
			return nil, err
		}
		if len(resp.Sessions) == listPage {
			resp.NextCursor = new(cursorOf(last))
			break
		}
		last = info.Position()
		resp.Sessions = append(resp.Sessions, schema.SessionInfo{
			SessionID: schema.SessionID(info.ID), Cwd: info.Dir, Title: &info.Title,
			UpdatedAt: new(info.Modified.UTC().Format(time.RFC3339Nano)),
		})
	}
	return resp, nil
}

// List lists the conversations that the user may see, the newest first: a page of the
// server's own, whose cursors are passed on. Of one directory, it is the first page that
// has any; there may be fewer than a page holds, and more behind them.
func (r remoteAgent) List(ctx context.Context, req *schema.ListSessionsRequest) (*schema.ListSessionsResponse, error) {
	q := api.ConversationQuery{Limit: listPage}
	if req.Cwd != nil {
		q.Limit = listSieve
	}
	if req.Cursor != nil {
		if q.Cursor = *req.Cursor; q.Cursor == "" {
			return nil, wrongCursor()
		}
	}
	resp := &schema.ListSessionsResponse{Sessions: []schema.SessionInfo{}}
	for {
		page, err := r.Server.ConversationPage(ctx, q)
		if err != nil {
			return nil, problem(err)
		}
		for _, c := range page.Items {
			if req.Cwd != nil && c.Dir != *req.Cwd {
				continue
			}
			resp.Sessions = append(resp.Sessions, schema.SessionInfo{
				SessionID: schema.SessionID(c.ID), Cwd: c.Dir, Title: &c.Title, UpdatedAt: new(c.Created.UTC().Format(time.RFC3339Nano)),
			})
		}
		if page.Next == "" {
			return resp, nil
		}
		if q.Cursor = page.Next; len(resp.Sessions) > 0 {
			resp.NextCursor = &page.Next
			return resp, nil
		}
	}
}
