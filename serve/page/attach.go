package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/show"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
)

// promptForm holds the fields and files of a submitted prompt.
type promptForm struct {
	url.Values
	files []promptFile
}

// promptFile is an attached file.
type promptFile struct {
	name string
	data []byte
}

// withPrompt handles a form with a prompt. Whatever the reason for an error is, it keeps
// the typed text.
func withPrompt(do func(*request, *promptForm) error) func(*request) error {
	return func(q *request) error {
		sent, err := readPrompt(q)
		if err == nil {
			err = do(q, &sent)
		}
		return sent.keep(err)
	}
}

// readPrompt reads a form with a prompt and its files. The fields come before the files,
// so even if a file cannot be used, the text is there.
func readPrompt(q *request) (promptForm, error) {
	f := promptForm{Values: make(url.Values)}
	parts, err := q.MultipartReader()
	if errors.Is(err, http.ErrNotMultipart) {
		err = q.ParseForm()
		f.Values = q.PostForm
		return f, err
	}
	if err != nil {
		return f, bad("The form cannot be read. Load the page again.")
	}
	left := int64(serve.MaxAttachedBytes) + 1
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return f, f.check()
		}
		if err != nil {
			return f, f.unread(err)
		}
		if part.FileName() == "" {
			if err := f.field(part); err != nil {
				return f, f.unread(err)
			}
			continue
		}
		data, err := io.ReadAll(io.LimitReader(part, left))
		if err != nil {
			return f, f.unread(err)
		}
		left = max(1, left-int64(len(data)))
		f.files = append(f.files, promptFile{line(filepath.Base(part.FileName())), data})
		if len(f.files) > serve.MaxAttached || f.size() > serve.MaxAttachedBytes {
			return f, f.check()
		}
	}
}

// field reads a field that is not a file.
func (f *promptForm) field(part *multipart.Part) error {
	text, err := io.ReadAll(part)
	if err != nil {
		return err
	}
	f.Add(part.FormName(), string(text))
	return nil
}

// size returns how many bytes all files have.
func (f *promptForm) size() (n int) {
	for _, file := range f.files {
		n += len(file.data)
	}
	return n
}

// check refuses too many files, and too large ones.
func (f *promptForm) check() error {
	switch {
	case len(f.files) > serve.MaxAttached:
		return f.refuse(http.StatusRequestEntityTooLarge, "There are too many files", fmt.Sprintf("A prompt takes %d. Nothing was sent.", serve.MaxAttached))
	case f.size() > serve.MaxAttachedBytes:
		return f.refuse(http.StatusRequestEntityTooLarge, "The files are too large", "Together they may have "+show.Bytes(serve.MaxAttachedBytes)+". Nothing was sent. With its script, the page makes pictures smaller by itself.")
	}
	return nil
}

// unread is the error of a form that ends before it should.
func (f *promptForm) unread(err error) error {
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return f.refuse(http.StatusRequestEntityTooLarge, "The form is too large", "With its files it may have "+show.Bytes(maxForm)+". Nothing was sent.")
	}
	return bad("The form did not arrive in full. Nothing was sent.")
}

// refuse returns a problem that carries the typed text, so that it is not lost.
func (f *promptForm) refuse(status int, title, detail string) error {
	return f.keep(&api.Problem{Title: title, Status: status, Detail: detail})
}

// keep lets an error carry the typed text. It returns nil for nil.
func (f *promptForm) keep(err error) error {
	if _, kept := errors.AsType[*refused](err); err == nil || kept {
		return err
	}
	return &refused{err, f.Get("prompt")}
}

// refused is the error of a form, and keeps the typed text.
type refused struct {
	error
	typed string
}

// Unwrap returns the error.
func (r *refused) Unwrap() error { return r.error }

// content returns the prompt: its files, and the text behind them.
func (f *promptForm) content() (json.RawMessage, error) {
	text := f.Get("prompt")
	if strings.TrimSpace(text) == "" && len(f.files) == 0 {
		return nil, bad("The prompt is empty.")
	}
	if len(f.files) == 0 {
		return jsonx.Marshal(text)
	}
	var content message.Content
	for _, file := range f.files {
		block := file.block()
		if block == nil {
			return nil, f.refuse(http.StatusUnsupportedMediaType, "A file cannot be attached", file.name+" is neither a picture (PNG, JPEG, GIF, WebP) nor a PDF nor a text. Nothing was sent.")
		}
		content = append(content, block)
	}
	if strings.TrimSpace(text) != "" {
		content = append(content, message.Text(text))
	}
	return jsonx.Marshal(content)
}

// block returns a file as a block of a prompt, nil if the model cannot read it. The
// content of the file decides, not its name.
func (f *promptFile) block() message.Block {
	kind, _, _ := mime.ParseMediaType(http.DetectContentType(f.data)) // it always has one
	switch {
	case len(f.data) == 0:
		return nil
	case slices.Contains(serve.ImageTypes(), kind):
		return message.Image(kind, f.data)
	case kind == "application/pdf":
		d := message.Document(kind, f.data)
		d.Title = f.name
		return d
	}
	if text, ok := plainText(f.data); ok {
		d := message.Document("text/plain", []byte(text))
		d.Title = f.name
		return d
	}
	return nil
}

// attached is a file of a prompt, as the timeline shows it.
type attached struct {
	Name  string
	Image bool
	Here  bool   // the message has it, not only its address elsewhere
	At    string // its address; empty: it has none
}

// attachedTo returns the files of a message.
func attachedTo(m *message.User) (files []attached) {
	for _, block := range m.Content {
		switch b := block.(type) {
		case *message.ImageBlock:
			here := b.Source.Type == message.SourceBase64
			files = append(files, attached{Name: "Picture", Image: here, Here: here})
		case *message.DocumentBlock:
			name := line(b.Title)
			if name == "" {
				name = "Document"
			}
			_, err := b.Source.Bytes()
			files = append(files, attached{Name: name, Here: err == nil})
		}
	}
	return files
}

// sendFile sends a file of a prompt. Pictures are shown; anything else is only saved, so
// that nothing in it is active here. A browser may keep it, but has to ask each time whether
// the user may still see it.
func sendFile(service *serve.Service, q *request) error {
	seq, _ := strconv.ParseInt(q.PathValue("seq"), 10, 64) // anything else is not there
	n, err := strconv.Atoi(q.PathValue("n"))
	if err != nil || n < 0 || seq < 1 {
		return nothing(q)
	}
	tail, err := service.Tail(q.Context(), q.user, q.PathValue("id"), seq+1, 1)
	if err != nil {
		return err
	}
	if len(tail.Events) != 1 || tail.Events[0].Seq != seq || tail.Events[0].Type != api.EventMessage {
		return nothing(q)
	}
	m, _ := message.Decode(tail.Events[0].Message) // an unreadable message has no files
	user, _ := m.(*message.User)
	source, name := attachedAt(user, n)
	if source == nil {
		return nothing(q)
	}
	data, err := source.Bytes()
	if err != nil {
		return nothing(q)
	}
	h := q.w.Header()
	tag := fmt.Sprintf(`"%d-%d"`, seq, n) // what was said never changes
	h.Set("Cache-Control", "private, no-cache")
	h.Set("ETag", tag)
	if q.Header.Get("If-None-Match") == tag {
		q.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if slices.Contains(serve.ImageTypes(), source.MediaType) {
		h.Set("Content-Type", source.MediaType)
	} else {
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	}
	_, _ = q.w.Write(data) // the reader has gone
	return nil
}

// attachedAt returns a file of a message, nil if there is none.
func attachedAt(m *message.User, n int) (*message.Source, string) {
	if m == nil {
		return nil, ""
	}
	for _, block := range m.Content {
		var source *message.Source
		name := "document"
		switch b := block.(type) {
		case *message.ImageBlock:
			source = &b.Source
		case *message.DocumentBlock:
			source = &b.Source
			if b.Title != "" {
				name = line(b.Title)
			}
		default:
			continue
		}
		if n == 0 {
			return source, name
		}
		n--
	}
	return nil, ""
}
