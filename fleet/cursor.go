package fleet

import (
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/store"
)

// Cursor is a place in the history of a conversation, or among the outcomes of all. The
// zero Cursor is the beginning. It is a text that programs may store and send. Compare
// those of two events by ID: part of the text only speeds up the reading.
type Cursor string

// ID identifies the event that a cursor of a conversation stands behind: however it
// was read, the same event has the same ID. It may be called from any goroutine.
func (c Cursor) ID() string {
	session, rest, _ := strings.Cut(string(c), ":")
	lines, _, hinted := strings.Cut(rest, ":")
	if !hinted {
		return string(c)
	}
	return session + ":" + lines
}

// Behind reports whether a cursor of a conversation stands behind another one in the same
// session. It may be called from any goroutine.
func (c Cursor) Behind(other Cursor) bool {
	at, err := parseCursor(c)
	before, otherErr := parseCursor(other)
	return err == nil && otherErr == nil && at.session == before.session && at.lines > before.lines
}

// position is a decoded cursor: how many lines of a session were read.
type position struct {
	session string
	lines   int
	// near is where the reading may begin, so that the lines before it need not be read
	// again; zero: at the first line.
	near landmark
}

// landmark is a place in a transcript that the store can go to. Only the store that made
// it can, and transcripts are copied between stores, so it is proved by the line behind
// it.
type landmark struct {
	lines int // before it
	place store.Place
	sum   uint32 // of the line behind it
}

// landmarkEvery is the number of lines between two landmarks. All readers use the same
// ones, so that their cursors are equal.
const landmarkEvery = answerLines

func (p position) cursor() Cursor {
	c := p.session + ":" + strconv.Itoa(p.lines)
	if p.near.lines > 0 {
		c += fmt.Sprintf(":%d.%d.%x", p.near.lines, p.near.place, p.near.sum)
	}
	return Cursor(c)
}

func parseCursor(c Cursor) (position, error) {
	if c == "" {
		return position{}, nil
	}
	session, rest, _ := strings.Cut(string(c), ":")
	lines, hint, hinted := strings.Cut(rest, ":")
	n, err := strconv.Atoi(lines)
	if err != nil || n < 0 {
		return position{}, fmt.Errorf("%w: %q is not a cursor", store.ErrInvalid, string(c))
	}
	at := position{session: session, lines: n}
	if hinted {
		if at.near, err = parseLandmark(hint); err != nil || at.near.lines > n-answerLines {
			return position{}, fmt.Errorf("%w: %q is not a cursor", store.ErrInvalid, string(c))
		}
	}
	return at, nil
}

func parseLandmark(text string) (landmark, error) {
	lines, rest, _ := strings.Cut(text, ".")
	place, sum, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(lines)
	if err != nil || n < 1 {
		return landmark{}, store.ErrInvalid
	}
	p, err := strconv.ParseInt(place, 10, 64)
	if err != nil || p < 1 {
		return landmark{}, store.ErrInvalid
	}
	s, err := strconv.ParseUint(sum, 16, 32)
	return landmark{n, store.Place(p), uint32(s)}, err
}

// landmarks are the last landmarks that a reader has passed.
type landmarks struct {
	last, before landmark
	next         landmark // the line behind it has not been read; zero: there is none
}

// pass takes note of a line that ends at a place.
func (l *landmarks) pass(line store.Entry, lines int, place store.Place) {
	if l.next.lines > 0 {
		l.next.sum = lineSum(line)
		l.before, l.last, l.next = l.last, l.next, landmark{}
	}
	if lines%landmarkEvery == 0 {
		l.next = landmark{lines: lines, place: place}
	}
}

// near returns the last landmark from which all lines can be read that belong to the same
// answer as the position after some lines.
func (l *landmarks) near(lines int) landmark {
	if l.last.lines <= lines-answerLines {
		return l.last
	}
	return l.before
}

func lineSum(line store.Entry) uint32 { return crc32.ChecksumIEEE(line) }
