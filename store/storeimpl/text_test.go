package storeimpl_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

const session = "00000000-0000-4000-8000-000000000001"

func TestText(t *testing.T) {
	by := store.Fence{Project: "p", Name: "conversation/ada", Token: 1 << 60}
	record := store.RecordKey{Project: "p", Kind: "k.~", Name: "a/b,c/d"}
	for want, c := range map[string]store.Changed{
		"record k.~ a/b,c/d 7 - 0":                                                    {Record: record, Revision: 7},
		"record k.~ a/b,c/d 0 conversation/ada 1152921504606846976":                   {Record: record, By: by},
		"transcript " + session + " - - 0":                                            {Transcript: store.Key{Project: "p", Session: session}},
		"transcript " + session + " subagents/a conversation/ada 1152921504606846976": {Transcript: store.Key{Project: "p", Session: session, Sub: "subagents/a"}, By: by},
		"released conversation/ada conversation/ada 1152921504606846976":              {Released: "conversation/ada", By: by},
	} {
		text := storeimpl.Text(c)
		if text != want {
			t.Errorf("%+v is %q, want %q", c, text, want)
		}
		if got, err := storeimpl.ParseText("p", text); err != nil || got != c {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
	for _, odd := range []string{
		"", "record", "record k n 7 -", "record k n 7 - 0 more", "record k n seven - 0", "record k n 7 - x", "record k ../n 7 - 0", "record - n 7 - 0",
		"transcript - - - 0", "transcript x - - 0", "released - - 0", "lease l - 0", strings.Repeat("x", 1000),
	} {
		if c, err := storeimpl.ParseText("p", odd); !errors.Is(err, store.ErrInvalid) || !c.IsZero() || len(err.Error()) > 300 {
			t.Errorf("%.50q is %+v, %v", odd, c, err)
		}
	}
}
