package acp

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/message"
)

// imageOf returns a picture of a prompt, which may be on the web.
func imageOf(c *schema.ImageContent) (*message.ImageBlock, error) {
	if uri := orEmpty(c.URI); c.Data == "" && (strings.HasPrefix(uri, "https://") || strings.HasPrefix(uri, "http://")) {
		return &message.ImageBlock{Source: message.Source{Type: message.SourceURL, URL: uri}}, nil
	}
	data, err := base64.StdEncoding.DecodeString(c.Data)
	switch {
	case err != nil:
		return nil, errors.New("is not base64")
	case len(data) == 0:
		return nil, errors.New("has neither data nor an address on the web")
	}
	return message.Image(c.MimeType, data), nil
}

// resourceOf returns what the model reads of a resource: its name, with a picture or a PDF
// file, and a text that comes after the whole prompt, nil if it has none.
func resourceOf(r *schema.EmbeddedResourceResource) (shown []message.Block, context message.Block, err error) {
	uri, text := orEmpty(r.URI), r.Text
	shown = []message.Block{message.Text(link(uri))}
	if r.Blob != nil {
		var file message.Block
		if file, text, err = blobOf(*r.Blob, orEmpty(r.MimeType)); file != nil {
			return append(shown, file), nil, nil
		}
	} else if text == nil {
		err = errors.New("has neither text nor a blob")
	}
	if err != nil {
		return nil, nil, err
	}
	return shown, message.Text(fmt.Sprintf("\n<context ref=%q>\n%s\n</context>", uri, *text)), nil
}

// blobOf decodes a blob, which is a file that the model reads as it is, or a text.
func blobOf(blob, mediaType string) (file message.Block, text *string, err error) {
	kind, params, _ := mime.ParseMediaType(mediaType) // without the parameters if these are wrong
	data, err := base64.StdEncoding.DecodeString(blob)
	switch {
	case kind == "":
		return nil, nil, errors.New("does not say of which media type its blob is")
	case err != nil || len(data) == 0:
		return nil, nil, errors.New("is empty, or not base64")
	case kind == "image/jpg": // as some editors write it
		return message.Image("image/jpeg", data), nil, nil
	case slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind):
		return message.Image(kind, data), nil, nil
	case kind == "application/pdf":
		return message.Document(kind, data), nil, nil
	case !isText(kind):
		return nil, nil, fmt.Errorf("is of type %s: the model reads text, PDF, PNG, JPEG, GIF and WebP", kind)
	}
	decoded, err := decodeText(data, params["charset"])
	return nil, &decoded, err
}

// isText reports whether the bytes of a media type are text.
func isText(kind string) bool {
	source := []string{"json", "xml", "javascript", "typescript", "x-yaml", "yaml", "toml", "x-sh", "sql", "graphql"}
	application, ok := strings.CutPrefix(kind, "application/")
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") || ok && slices.Contains(source, application)
}

// decodeText decodes a text, which is in UTF-8 unless it says otherwise.
func decodeText(data []byte, charset string) (string, error) {
	switch strings.ToLower(charset) {
	case "", "utf-8", "utf8", "us-ascii":
		return strings.ToValidUTF8(string(bytes.TrimPrefix(data, []byte("\ufeff"))), "\ufffd"), nil
	case "iso-8859-1":
		runes := make([]rune, len(data))
		for i, b := range data {
			runes[i] = rune(b)
		}
		return string(runes), nil
	}
	return "", fmt.Errorf("is in the charset %q: send it in UTF-8", charset)
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
