package acp

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/message"
)

// contentOf turns a prompt of an editor into blocks for the CLI. What the model
// cannot read is an error, not silence.
func contentOf(prompt []schema.ContentBlock) ([]message.Block, error) {
	var blocks, after []message.Block
	for i, b := range prompt {
		switch {
		case b.Text != nil:
			blocks = append(blocks, message.Text(b.Text.Text))
		case b.Image != nil:
			data, err := base64.StdEncoding.DecodeString(b.Image.Data)
			if err != nil || len(data) == 0 {
				return nil, errorf(schema.ErrorCodeInvalidParams, "the image in block %d is not base64", i)
			}
			blocks = append(blocks, message.Image(b.Image.MimeType, data))
		case b.ResourceLink != nil:
			blocks = append(blocks, message.Text(link(b.ResourceLink.URI)))
		case b.Resource != nil:
			r := b.Resource.Resource
			if r.Text == nil {
				return nil, errorf(schema.ErrorCodeInvalidParams, "the resource in block %d has no text: only text and images can be read", i)
			}
			uri := ""
			if r.URI != nil {
				uri = *r.URI
			}
			blocks = append(blocks, message.Text(link(uri)))
			after = append(after, message.Text(fmt.Sprintf("\n<context ref=%q>\n%s\n</context>", uri, *r.Text)))
		case b.Audio != nil:
			return nil, errorf(schema.ErrorCodeInvalidParams, "audio cannot be read: send text or images")
		default:
			return nil, errorf(schema.ErrorCodeInvalidParams, "block %d of the prompt is of an unknown kind", i)
		}
	}
	if len(blocks) == 0 {
		return nil, errorf(schema.ErrorCodeInvalidParams, "the prompt is empty")
	}
	return append(blocks, after...), nil
}

// link names a resource as a link in Markdown.
func link(uri string) string {
	name := uri
	if u, err := url.Parse(uri); err == nil && u.Path != "" {
		name = u.Path[strings.LastIndexByte(u.Path, '/')+1:]
	}
	return "[@" + name + "](" + uri + ")"
}
