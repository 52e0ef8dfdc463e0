package serve

import (
	"encoding/base64"

	"github.com/claude-agent-go/claude/serve/api"
)

// pageSize returns how many items a page of a list has.
func pageSize(limit int) int {
	if limit <= 0 {
		return usualList
	}
	return min(limit, maxList)
}

// cut returns one page of a list that is sorted by descending keys.
func cut[T any](all []T, limit int, cursor string, key func(*T) string) (api.List[T], error) {
	out := api.List[T]{Items: []T{}}
	after := ""
	if cursor != "" {
		raw, err := base64.RawURLEncoding.DecodeString(cursor)
		if err != nil {
			return out, badRequest.because("the cursor is not one that this server gave out")
		}
		after = string(raw)
	}
	for i := range all {
		if after != "" && key(&all[i]) >= after {
			continue
		}
		if len(out.Items) == pageSize(limit) {
			out.Next = base64.RawURLEncoding.EncodeToString([]byte(key(&out.Items[len(out.Items)-1])))
			break
		}
		out.Items = append(out.Items, all[i])
	}
	return out, nil
}

// cursorTime is a time format that sorts as the times do.
const cursorTime = "2006-01-02T15:04:05.000000000"

// The limits of requests.
const (
	maxBody   = 1 << 20  // bytes of JSON
	maxPrompt = 20 << 20 // bytes of JSON with a prompt, which may have images
	maxList   = 200      // items of a page
	usualList = 50
)
