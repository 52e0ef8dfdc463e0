package redisstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/claude-agent-go/claude/internal/test/server"
	"github.com/claude-agent-go/claude/store"
)

// A server that has lost its data gives out tokens that are higher than all before, so an
// owner from before cannot write.
func TestTokenAfterLostData(t *testing.T) {
	url := server.Redis(t)
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	s := open(t, url)
	first, err := s.Acquire(t.Context(), "p", "n", "first", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Del(t.Context(), client.Keys(t.Context(), "*lease*").Val()...).Err(); err != nil {
		t.Fatal(err)
	}
	second, err := s.Acquire(t.Context(), "p", "n", "second", time.Hour)
	if err != nil || second.Token <= first.Token {
		t.Fatalf("token %d after %d, %v", second.Token, first.Token, err)
	}
	if err := s.Renew(t.Context(), first); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("the owner from before renews: %v", err)
	}
}
