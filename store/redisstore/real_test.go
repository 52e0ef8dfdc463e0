package redisstore_test

import (
	"testing"

	"github.com/claude-agent-go/claude/internal/test/realstore"
	"github.com/claude-agent-go/claude/internal/test/server"
)

func TestRealResume(t *testing.T) { realstore.Resume(t, "Redis 7", open(t, server.Redis(t))) }

func TestRealSuspended(t *testing.T) {
	url := server.Redis(t)
	realstore.Suspended(t, open(t, url), other(url))
}
