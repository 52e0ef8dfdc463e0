package redisstore_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/redisstore"
)

// answers are those of a server to its scripts, in turn, without a server. It implements
// [redis.Hook].
type answers struct {
	pages [][]any
}

func (a *answers) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a *answers) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (a *answers) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, c redis.Cmder) error {
		switch c := c.(type) {
		case *redis.StringCmd:
			c.SetVal("1") // the layout
		case *redis.Cmd:
			if len(a.pages) == 0 {
				return errors.New("no more pages")
			}
			c.SetVal(a.pages[0])
			a.pages = a.pages[1:]
		}
		return nil
	}
}

// A transcript that changes between two of its pages is read on in while it grows, and
// not once it was deleted, even if another one is in its place.
func TestBetweenTwoPages(t *testing.T) {
	first := []any{"life 1", int64(4), `"a"`, `"b"`}
	for name, c := range map[string]struct {
		second []any
		want   []string
		err    error
	}{
		"as it was":                  {[]any{"life 1", int64(4), `"c"`, `"d"`}, []string{`"a"`, `"b"`, `"c"`, `"d"`}, nil},
		"longer":                     {[]any{"life 1", int64(6), `"c"`, `"d"`, `"e"`}, []string{`"a"`, `"b"`, `"c"`, `"d"`}, nil},
		"deleted":                    {[]any{"", int64(0)}, []string{`"a"`, `"b"`}, store.ErrNotFound},
		"another one as long":        {[]any{"life 2", int64(4), `"3"`, `"4"`}, []string{`"a"`, `"b"`}, store.ErrNotFound},
		"another one that is longer": {[]any{"life 2", int64(9), `"3"`, `"4"`}, []string{`"a"`, `"b"`}, store.ErrNotFound},
		"another one not as long":    {[]any{"life 2", int64(1)}, []string{`"a"`, `"b"`}, store.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			client := redis.NewClient(new(redis.Options))
			defer client.Close()
			client.AddHook(&answers{pages: [][]any{first, c.second}})
			var got []string
			var last error
			for e, err := range store.Entries(t.Context(), redisstore.New(client), key(1)) {
				if last = err; err == nil {
					got = append(got, string(e))
				}
			}
			if !slices.Equal(got, c.want) || !errors.Is(last, c.err) {
				t.Errorf("read %s, then %v; want %s, then %v", got, last, c.want, c.err)
			}
		})
	}
}
