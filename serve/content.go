package serve

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/show"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// Limits on the files that are attached to a prompt. A prompt is a record of the store
// until its turn has ended, and a record has at most a mebibyte; base64 makes four
// bytes of three.
const (
	// MaxAttached is how many images and documents a prompt may have.
	MaxAttached = 10
	// MaxAttachedBytes is how many bytes they may have together.
	MaxAttachedBytes = 700 << 10
)

// ImageTypes returns the media types of the images that a prompt may have.
func ImageTypes() []string { return []string{"image/png", "image/jpeg", "image/gif", "image/webp"} }

// contentOf reads the content of a prompt.
func contentOf(raw []byte) (message.Content, error) {
	var content message.Content
	if err := content.UnmarshalJSON(raw); err != nil || len(content) == 0 {
		return nil, badRequest.because("content must be a text that is not empty, or a list of blocks as in the Messages API")
	}
	for _, block := range content {
		switch b := block.(type) {
		case *message.TextBlock:
			if strings.TrimSpace(b.Text) == "" {
				return nil, badRequest.because("a text of the content is empty")
			}
		case *message.ImageBlock, *message.DocumentBlock:
		default:
			return nil, badRequest.because("a block of the content is neither text nor an image nor a document")
		}
	}
	if err := checkAttached(content); err != nil {
		return nil, err
	}
	data, err := jsonx.Marshal(content)
	if err != nil {
		return nil, badRequest.because("the content cannot be stored: %v", err)
	}
	if len(data) > maxContent {
		return nil, tooLarge.because("the prompt takes %s in the store, where quotes and line breaks count twice, and may take %s", show.Bytes(int64(len(data))), show.Bytes(maxContent))
	}
	return content, nil
}

// maxContent is how many bytes a prompt may have as it is stored, with room for the rest
// of its record.
const maxContent = store.MaxRecord - 32<<10

// nameOf names a prompt by its text, or by its first attachment if it has no text.
func nameOf(content message.Content) string {
	if text := content.Text(); strings.TrimSpace(text) != "" {
		return text
	}
	for _, block := range content {
		switch b := block.(type) {
		case *message.ImageBlock:
			return "Picture"
		case *message.DocumentBlock:
			return cmp.Or(strings.TrimSpace(b.Title), "Document")
		}
	}
	return ""
}

// checkAttached refuses images and documents that no turn could use: too many, too
// large, or of a kind that the model does not read.
func checkAttached(content message.Content) error {
	count, bytes := 0, 0
	for _, block := range content {
		var source *message.Source
		kinds := []string{"application/pdf", "text/plain"}
		switch b := block.(type) {
		case *message.ImageBlock:
			source, kinds = &b.Source, ImageTypes()
		case *message.DocumentBlock:
			source = &b.Source
		default:
			continue
		}
		count++
		n, err := attachedSize(source)
		if err != nil {
			return err
		}
		bytes += n
		if n > 0 && !slices.Contains(kinds, source.MediaType) {
			return badRequest.because("the media type %q of an attachment cannot be used: images are PNG, JPEG, GIF or WebP, and documents PDF or plain text", source.MediaType)
		}
	}
	switch {
	case count > MaxAttached:
		return tooLarge.because("the prompt has %d attachments, and may have %d", count, MaxAttached)
	case bytes > MaxAttachedBytes:
		return tooLarge.because("the attachments of the prompt have %s together, and may have %s", show.Bytes(int64(bytes)), show.Bytes(MaxAttachedBytes))
	}
	return nil
}

// attachedSize returns how many bytes a source holds itself.
func attachedSize(s *message.Source) (int, error) {
	if s.Type == message.SourceBase64 {
		n, err := base64.StdEncoding.Decode(make([]byte, base64.StdEncoding.DecodedLen(len(s.Data))), []byte(s.Data))
		if err != nil || n == 0 {
			return 0, badRequest.because("an attachment is empty, or not valid base64")
		}
		return n, nil
	}
	return len(s.Data), nil
}
