package redisstore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/claude-agent-go/claude/internal/test/realstore"
	"github.com/claude-agent-go/claude/internal/test/server"
)

// When a conversation is deleted, a dump of the database has nothing of it.
func TestRealDeleteLeavesNothing(t *testing.T) {
	url := server.Redis(t, "--rdbcompression", "no")
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	realstore.Deleted(t, open(t, url), func(t *testing.T, text string) []string {
		if err := client.Save(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		dir, err := client.ConfigGet(t.Context(), "dir").Result()
		if err != nil {
			t.Fatal(err)
		}
		dump, err := os.ReadFile(filepath.Join(dir["dir"], "dump.rdb"))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(dump, []byte(text)) {
			return []string{"dump.rdb"}
		}
		return nil
	})
}
