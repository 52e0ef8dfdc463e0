package takeover

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// kept is the file of a table that is made in parts: a line of JSON for each run. It may
// have the runs of several stores. The zero kept has no file.
type kept struct {
	backend string
	file    *os.File
	runs    []keptRun // of the store that were there before
	known   map[Case]bool
}

// keptRun is a line.
type keptRun struct {
	Store   string
	Case    Case
	Outcome outcome
}

// openKept reads the runs of a store. The file need not exist.
func openKept(path, backend string) (*kept, error) {
	k := &kept{backend: backend, known: make(map[Case]bool)}
	if path == "" {
		return k, nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	k.file = file
	for lines := json.NewDecoder(file); ; {
		var r keptRun
		switch err := lines.Decode(&r); {
		case errors.Is(err, io.EOF):
			return k, nil
		case err != nil:
			return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
		case r.Store == backend && !k.known[r.Case]:
			k.runs, k.known[r.Case] = append(k.runs, r), true
		}
	}
}

// all yields the runs that were there before.
func (k *kept) all() iter.Seq2[Case, outcome] {
	return func(yield func(Case, outcome) bool) {
		for _, r := range k.runs {
			if !yield(r.Case, r.Outcome) {
				return
			}
		}
	}
}

// has reports whether a run was there before.
func (k *kept) has(c Case) bool { return k.known[c] }

// add adds a run to the file.
func (k *kept) add(c Case, o outcome) error {
	if k.file == nil {
		return nil
	}
	line, err := json.Marshal(keptRun{k.backend, c, o})
	if err != nil {
		return err
	}
	_, err = k.file.Write(append(line, '\n'))
	return err
}

func (k *kept) close() error {
	if k.file == nil {
		return nil
	}
	return k.file.Close()
}
