package control

import (
	"encoding/base64"
	"encoding/json"
)

// Interrupted is the receipt of an interrupt. Old CLIs send an empty one.
type Interrupted struct {
	// StillQueued are the ids of waiting messages that will still run.
	StillQueued []string `json:"still_queued"`
	// Cancelled are the ids of waiting messages that were withdrawn, if that
	// was requested.
	Cancelled []string        `json:"cancelled,omitzero"`
	Raw       json.RawMessage `json:"-"`
}

// UnmarshalJSON decodes leniently: fields that do not fit stay zero.
func (v *Interrupted) UnmarshalJSON(data []byte) (err error) {
	type fields Interrupted
	*v = Interrupted{}
	v.Raw, err = soft(data, (*fields)(v))
	return err
}

// Rewind describes the effect, or the preview, of restoring files to an earlier
// message.
type Rewind struct {
	// CanRewind reports whether there is a checkpoint to return to.
	CanRewind bool `json:"canRewind"`
	// Error is the reason if not.
	Error string `json:"error,omitzero"`
	// FilesChanged, Insertions and Deletions describe the difference. The CLI
	// fills them in for a dry run.
	FilesChanged []string `json:"filesChanged,omitzero"`
	Insertions   int      `json:"insertions,omitzero"`
	Deletions    int      `json:"deletions,omitzero"`
	// SkippedLinks counts symbolic links that were left alone.
	SkippedLinks int             `json:"skippedLinks,omitzero"`
	Raw          json.RawMessage `json:"-"`
}

// UnmarshalJSON decodes leniently: fields that do not fit stay zero.
func (v *Rewind) UnmarshalJSON(data []byte) (err error) {
	type fields Rewind
	*v = Rewind{}
	v.Raw, err = soft(data, (*fields)(v))
	return err
}

// TaskOutput is the tail of a background task's output.
type TaskOutput struct {
	// Output is at most the last 8 KiB.
	Output string `json:"output"`
	// TotalBytes is the size of the whole output.
	TotalBytes int64           `json:"total_bytes"`
	Truncated  bool            `json:"truncated"`
	Raw        json.RawMessage `json:"-"`
}

// UnmarshalJSON decodes leniently: fields that do not fit stay zero.
func (v *TaskOutput) UnmarshalJSON(data []byte) (err error) {
	type fields TaskOutput
	*v = TaskOutput{}
	v.Raw, err = soft(data, (*fields)(v))
	return err
}

// FileContents is a file as the CLI reads it.
type FileContents struct {
	// Contents is the text, or base64 text if Encoding is "base64".
	Contents string `json:"contents"`
	// Path is the absolute path of the file.
	Path string `json:"absPath"`
	// RequestedPath is the path that was requested.
	RequestedPath string `json:"requested_path,omitzero"`
	// Encoding is "base64" for a file requested in that form.
	Encoding string `json:"encoding,omitzero"`
	// Truncated reports that the file is longer than the requested part.
	Truncated bool `json:"truncated,omitzero"`
	// Lossy reports that bytes that are not text were replaced.
	Lossy bool            `json:"lossy,omitzero"`
	Raw   json.RawMessage `json:"-"`
}

// UnmarshalJSON decodes leniently: fields that do not fit stay zero.
func (v *FileContents) UnmarshalJSON(data []byte) (err error) {
	type fields FileContents
	*v = FileContents{}
	v.Raw, err = soft(data, (*fields)(v))
	return err
}

// Bytes returns the contents, decoded if they are base64.
func (v *FileContents) Bytes() ([]byte, error) {
	if v.Encoding == "base64" {
		return base64.StdEncoding.DecodeString(v.Contents)
	}
	return []byte(v.Contents), nil
}

// FileSuggestions are files whose names match a query.
type FileSuggestions struct {
	Suggestions []FileSuggestion `json:"suggestions"`
	// Cwd is the directory that relative paths start from.
	Cwd string          `json:"cwd,omitzero"`
	Raw json.RawMessage `json:"-"`
}

// FileSuggestion is one of [FileSuggestions].
type FileSuggestion struct {
	Path  string  `json:"path"`
	Score float64 `json:"score,omitzero"`
}

// UnmarshalJSON decodes leniently: fields that do not fit stay zero.
func (v *FileSuggestions) UnmarshalJSON(data []byte) (err error) {
	type fields FileSuggestions
	*v = FileSuggestions{}
	v.Raw, err = soft(data, (*fields)(v))
	return err
}

// SideAnswer is the answer to a question asked beside the conversation.
type SideAnswer struct {
	// Response is the answer.
	Response string `json:"response"`
	// Synthetic reports that the CLI, not the model, wrote the answer.
	Synthetic bool            `json:"synthetic,omitzero"`
	Raw       json.RawMessage `json:"-"`
}

// UnmarshalJSON decodes leniently: fields that do not fit stay zero.
func (v *SideAnswer) UnmarshalJSON(data []byte) (err error) {
	type fields SideAnswer
	*v = SideAnswer{}
	v.Raw, err = soft(data, (*fields)(v))
	return err
}
