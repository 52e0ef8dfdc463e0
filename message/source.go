package message

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// SourceType is where the bytes of an image or document are.
type SourceType string

// The types of sources. The set is open.
const (
	// SourceBase64 has the bytes in Data, in base64.
	SourceBase64 SourceType = "base64"
	// SourceText has plain text in Data.
	SourceText SourceType = "text"
	// SourceURL names the bytes by URL.
	SourceURL SourceType = "url"
	// SourceFile names an uploaded file by FileID.
	SourceFile SourceType = "file"
)

// Source holds the bytes of an [ImageBlock] or [DocumentBlock], or refers to
// them.
type Source struct {
	Type      SourceType `json:"type"`
	MediaType string     `json:"media_type,omitzero"`
	// Data is base64 or text, depending on Type. Bytes decodes it.
	Data   string `json:"data,omitzero"`
	URL    string `json:"url,omitzero"`
	FileID string `json:"file_id,omitzero"`
}

// Bytes returns the bytes held by the source itself. It fails for a source
// that only refers to them.
func (s *Source) Bytes() ([]byte, error) {
	switch s.Type {
	case SourceBase64:
		b, err := base64.StdEncoding.DecodeString(s.Data)
		if err != nil {
			return nil, fmt.Errorf("message: source: %w", err)
		}
		return b, nil
	case SourceText:
		return []byte(s.Data), nil
	}
	return nil, fmt.Errorf("message: source of type %q holds no bytes", s.Type)
}

// Image returns a block with an image to send, for example of media type
// "image/png".
func Image(mediaType string, data []byte) *ImageBlock {
	return &ImageBlock{Source: base64Source(mediaType, data)}
}

// Document returns a block with a document to send. The media type is
// "application/pdf", or "text/plain" for text in UTF-8.
func Document(mediaType string, data []byte) *DocumentBlock {
	if strings.HasPrefix(mediaType, "text/") {
		return &DocumentBlock{Source: Source{Type: SourceText, MediaType: mediaType, Data: string(data)}}
	}
	return &DocumentBlock{Source: base64Source(mediaType, data)}
}

func base64Source(mediaType string, data []byte) Source {
	return Source{Type: SourceBase64, MediaType: mediaType, Data: base64.StdEncoding.EncodeToString(data)}
}
