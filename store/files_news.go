package store

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Other processes learn from a file of news that a transcript has changed or a lease was
// given back: a line of JSON for each, in the order in which they happened. It saves them
// a look at every transcript. It is not synced, because no watcher survives a crash of the
// machine. When it is long, a new one takes its place; watchers that have not read the old
// one to its end look at everything then.

// maxNews is how long a file of news gets.
const maxNews = 256 << 10

func newsPath(project string) string { return path.Join(fileName(project), "news") }

// The first line of a file of news is its name. That of one that took the place of another
// ends with laterNews.
const laterNews = "+"

// newsItem is one line of news.
type newsItem struct {
	Store    string `json:"store"` // that did it
	Session  string `json:"session,omitzero"`
	Sub      string `json:"sub,omitzero"`
	Released string `json:"released,omitzero"`
	Lease    string `json:"lease,omitzero"` // with Token, the fence that it was done under
	Token    int64  `json:"token,omitzero"`
}

// newsOf returns the announcement of a change.
func newsOf(store string, c Changed) newsItem {
	return newsItem{store, c.Transcript.Session, c.Transcript.Sub, c.Released, c.By.Name, c.By.Token}
}

// changed returns the change that is announced.
func (n newsItem) changed(project string) Changed {
	c := Changed{Released: n.Released}
	if n.Session != "" {
		c.Transcript = Key{project, n.Session, n.Sub}
	}
	if n.Lease != "" {
		c.By = Fence{project, n.Lease, n.Token}
	}
	return c
}

// appendNews adds an item to a file of news. It takes no lock: a system appends short
// lines whole.
func appendNews(r *os.Root, name string, item newsItem) error {
	line, err := json.Marshal(item)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	for first := true; ; first = false {
		f, err := r.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			if err := newNews(r, name, first); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		_, err = f.Write(line)
		mine, err2 := f.Stat()
		if err := errors.Join(err, err2, f.Close()); err != nil {
			return err
		}
		there, err := r.Stat(name)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		case err != nil || !os.SameFile(mine, there):
			continue // another file took its place, perhaps before this line was in it
		case mine.Size() > maxNews:
			return newNews(r, name, false)
		}
		return nil
	}
}

// newNews begins a file of news. The first one takes the place of no other: what that has
// told would be lost without a sign.
func newNews(r *os.Root, name string, first bool) error {
	s := &FileStore{NoSync: true}
	if !first {
		return s.replace(r, name, []byte(rand.Text()+laterNews+"\n"))
	}
	temporary := path.Join(path.Dir(name), "."+rand.Text())
	err := s.replace(r, temporary, []byte(rand.Text()+"\n"))
	if err != nil {
		return err
	}
	err = r.Link(temporary, name)
	err = errors.Join(err, r.Remove(temporary))
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil // another process was quicker
	case errors.Is(err, fs.ErrPermission), errors.Is(err, errors.ErrUnsupported): // a disk without links
		return newNews(r, name, false)
	}
	return err
}

// newsReader reads a file of news as it grows. It is used by one goroutine at a time.
type newsReader struct {
	project string
	own     string // the store whose items are left out

	begun bool
	seen  os.FileInfo // the file, when it was read last
	name  string      // its first line; empty if there was none
	at    int64       // up to where it was read
}

// read returns new announcements, and whether something may be missing before them. Those
// that exist at the first call are not new.
func (n *newsReader) read(r *os.Root) (news []Changed, missed bool, err error) {
	begun := n.begun
	n.begun = true
	path := newsPath(n.project)
	info, err := r.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		missed = n.name != ""
		n.seen, n.name, n.at = nil, "", 0
		return nil, missed, nil
	}
	if err != nil {
		return nil, false, fail(err)
	}
	if unchanged(n.seen, info) {
		return nil, false, nil
	}
	text, err := r.ReadFile(path)
	if err != nil {
		return nil, begun, fail(err)
	}
	first, _, _ := strings.Cut(string(text[:min(len(text), 2*maxNewsName)]), "\n")
	if first != n.name {
		missed = n.name != "" || strings.HasSuffix(first, laterNews)
		n.name, n.at = first, int64(len(first))+1
	}
	text = text[min(n.at, int64(len(text))):]
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	n.seen, n.at = info, n.at+int64(len(text))
	if !begun {
		return nil, false, nil
	}
	for line := range bytes.Lines(text) {
		var item newsItem
		if json.Unmarshal(line, &item) != nil {
			missed = true
		} else if item.Store != n.own {
			news = append(news, item.changed(n.project))
		}
	}
	return news, missed, nil
}

// maxNewsName is more than the first line of a file of news has.
const maxNewsName = 64
