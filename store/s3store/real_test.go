package s3store_test

import (
	"testing"

	"github.com/claude-agent-go/claude/internal/test/realstore"
)

func TestRealResume(t *testing.T) { realstore.Resume(t, "S3", at(newServer(t).url)) }

func TestRealSuspended(t *testing.T) {
	url := newServer(t).url
	realstore.Suspended(t, at(url), other(url, ""))
}
