package redisstore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/claude-agent-go/claude/internal/test/realstore"
	"github.com/claude-agent-go/claude/internal/test/server"
)

// When a conversation is deleted, a dump of the database has nothing of it, and neither has
// the append-only file once the server has rewritten it.
func TestRealDeleteLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		save func(*testing.T, *redis.Client)
		file string // below the folder of the server, a pattern
	}{
		"dump":             {nil, dump, "dump.rdb"},
		"append-only file": {[]string{"--appendonly", "yes", "--aof-use-rdb-preamble", "no"}, rewrite, "appendonlydir/*"},
	} {
		t.Run(name, func(t *testing.T) {
			url := server.Redis(t, append([]string{"--rdbcompression", "no"}, c.args...)...)
			options, err := redis.ParseURL(url)
			if err != nil {
				t.Fatal(err)
			}
			client := redis.NewClient(options)
			defer client.Close()
			realstore.Deleted(t, open(t, url), func(t *testing.T, text string) []string {
				c.save(t, client)
				return filesWith(t, client, c.file, text)
			})
		})
	}
}

// dump lets the server write its dump.
func dump(t *testing.T, client *redis.Client) {
	t.Helper()
	if err := client.Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

// rewrite lets the server rewrite its append-only file, and waits until the old one is gone.
func rewrite(t *testing.T, client *redis.Client) {
	t.Helper()
	if err := client.BgRewriteAOF(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(time.Minute); ; <-time.After(20 * time.Millisecond) {
		info, err := client.Info(t.Context(), "persistence").Result()
		if err != nil || time.Now().After(limit) {
			t.Fatalf("the append-only file is not rewritten: %s, %v", info, err)
		}
		over := strings.Contains(info, "aof_rewrite_in_progress:0") && strings.Contains(info, "aof_rewrite_scheduled:0")
		if over && len(serverFiles(t, client, "appendonlydir/*")) == 3 { // the manifest, the base, and what is new
			return
		}
	}
}

// filesWith returns the files of the server that have a text.
func filesWith(t *testing.T, client *redis.Client, pattern, text string) (found []string) {
	t.Helper()
	files := serverFiles(t, client, pattern)
	if len(files) == 0 {
		t.Fatalf("the server has no %s", pattern)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte(text)) {
			found = append(found, filepath.Base(file))
		}
	}
	return found
}

// serverFiles lists files below the folder of the server.
func serverFiles(t *testing.T, client *redis.Client, pattern string) []string {
	t.Helper()
	dir, err := client.ConfigGet(t.Context(), "dir").Result()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir["dir"], pattern))
	if err != nil {
		t.Fatal(err)
	}
	return files
}
