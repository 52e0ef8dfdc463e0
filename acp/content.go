package acp

import (
	"strings"

	"github.com/claude-agent-go/claude/acp/internal/translate"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/message"
)

// contentOf turns a prompt of an editor into blocks for the CLI. Content that
// the model cannot read is an error, and never dropped silently.
func contentOf(prompt []schema.ContentBlock) ([]message.Block, error) {
	var blocks, after []message.Block
	for i, b := range prompt {
		switch {
		case b.Text != nil:
			blocks = append(blocks, message.Text(translate.Typed(b.Text.Text)))
		case b.Image != nil:
			picture, err := imageOf(b.Image)
			if err != nil {
				return nil, errorf(schema.ErrorCodeInvalidParams, "the image in block %d %s", i, err)
			}
			blocks = append(blocks, picture)
		case b.ResourceLink != nil:
			blocks = append(blocks, message.Text(link(b.ResourceLink.URI)))
		case b.Resource != nil:
			shown, context, err := resourceOf(&b.Resource.Resource)
			if err != nil {
				return nil, errorf(schema.ErrorCodeInvalidParams, "the resource in block %d %s", i, err)
			}
			blocks = append(blocks, shown...)
			if context != nil {
				after = append(after, context)
			}
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

// link names a file as a link in Markdown. Other addresses stay as they are.
func link(uri string) string {
	if !strings.HasPrefix(uri, "file://") && !strings.HasPrefix(uri, "zed://") {
		return uri
	}
	name := uri[strings.LastIndexByte(uri, '/')+1:]
	if name == "" {
		name = uri
	}
	return "[@" + name + "](" + uri + ")"
}
