package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
)

// switches is the file that the instrumented package gets besides: it holds the
// switches, and notes the first time that each is reached.
const switches = `

import (
	"os"
	"strconv"
	"sync/atomic"
)

var (
	mutantChosen, _ = strconv.Atoi(os.Getenv("MUTANT"))
	mutantSeen      [mutantCount + 1]atomic.Bool
	mutantNotes     = os.Getenv("MUTANT_REACHED")
)

func mutantOn(id int) bool {
	if mutantNotes != "" && !mutantSeen[id].Swap(true) {
		if f, err := os.OpenFile(mutantNotes, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666); err == nil {
			f.WriteString(strconv.Itoa(id) + "\n")
			f.Close()
		}
	}
	return id == mutantChosen
}

func mutantMore[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr](id int, v T) T {
	if mutantOn(id) {
		return v + 1
	}
	return v
}

func mutantZero[T any](id int, v T) T {
	if mutantOn(id) {
		var zero T
		return zero
	}
	return v
}
`

// instrument writes the source with all mutants into dir, and the overlay that makes
// the compiler read it there.
func (s *source) instrument(dir string, all []*mutant) (overlay string, err error) {
	replace := make(map[string]string)
	put := func(path string, text []byte) error {
		to := filepath.Join(dir, filepath.Base(path))
		replace[path] = to
		return os.WriteFile(to, text, 0o666)
	}
	for _, f := range s.files {
		var own []*mutant
		for _, m := range all {
			if m.file == f {
				own = append(own, m)
			}
		}
		if err := put(f.path, instrumented(f.text, own)); err != nil {
			return "", err
		}
	}
	count, err := json.Marshal(len(all))
	if err != nil {
		return "", err
	}
	text := "package " + s.name + switches + "\nconst mutantCount = " + string(count) + "\n"
	if err := put(filepath.Join(s.dir, "mutant_switches.go"), []byte(text)); err != nil {
		return "", err
	}
	table, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, table, 0o666)
}

// instrumented puts the mutants into a text. Their ranges are those of a syntax tree,
// so two either lie apart or one is inside the other. No line changes its number.
func instrumented(text []byte, own []*mutant) []byte {
	type piece struct {
		at    int
		open  bool
		width int
		text  string
	}
	var pieces []piece
	for _, m := range own {
		pieces = append(pieces, piece{m.start, true, m.end - m.start, m.prefix}, piece{m.end, false, m.end - m.start, m.suffix})
	}
	// At one place: first what ends there, the inner before the outer; then what
	// begins, the outer before the inner. Mutants of one range are nested in
	// the order they were found, the first outside.
	slices.SortStableFunc(pieces, func(a, b piece) int {
		switch {
		case a.at != b.at:
			return a.at - b.at
		case a.open != b.open:
			if a.open {
				return 1
			}
			return -1
		case a.open:
			return b.width - a.width
		}
		return a.width - b.width
	})
	// A stable sort leaves closings of one range in the order found: the first
	// outside must close last.
	for i := 0; i < len(pieces); {
		j := i + 1
		for j < len(pieces) && !pieces[i].open && pieces[j].at == pieces[i].at && !pieces[j].open && pieces[j].width == pieces[i].width {
			j++
		}
		slices.Reverse(pieces[i:j])
		i = j
	}
	var out bytes.Buffer
	last := 0
	for _, p := range pieces {
		out.Write(text[last:p.at])
		out.WriteString(p.text)
		last = p.at
	}
	out.Write(text[last:])
	return out.Bytes()
}
