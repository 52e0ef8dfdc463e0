package store

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
)

// A log of records is a file of lines. The first is its head, each other one a change of
// several records. A line is the checksum of its JSON, the JSON, and the values that the
// JSON names, in base64:
//
//	5f3759df {"r":12,"c":[{"k":"thing","n":"a","v":8,"s":77},{"k":"thing","n":"b","drop":true}]} c29tZXRo
//
// The values have checksums of their own, so that one that was replaced can be
// overwritten in place, and its line still counts.

// logVersion is the version of logs that this program writes, and the newest it reads.
const logVersion = 1

// logHead is the first line of a log.
type logHead struct {
	Version  int    `json:"log"`
	ID       string `json:"id"`       // which no other log has
	Revision int64  `json:"revision"` // the highest that was given out before this log
	Size     int64  `json:"size"`     // of the lines that were written with the head
}

// logLine is one change of records.
type logLine struct {
	Revision int64       `json:"r"`
	Lease    string      `json:"lease,omitzero"` // with Token, the fence that it was made under
	Token    int64       `json:"token,omitzero"`
	Changes  []logChange `json:"c"`
}

// logChange is one record of a change.
type logChange struct {
	Kind string `json:"k"`
	Name string `json:"n"`
	Drop bool   `json:"drop,omitzero"`
	Size int    `json:"v,omitzero"` // of the value's text
	Sum  uint32 `json:"s,omitzero"`

	value []byte
	at    int64 // where its text begins in the line
	bad   bool  // the text is not what was written
}

// erased fills the place of a value that was replaced. Base64 does not have it.
const erased = '-'

// The problems that a line can have. A line that was cut off never has more than it
// should.
var (
	errLine = errors.New("a line is not whole")
	errMore = errors.New("something follows a whole line")
)

func checksum(text []byte) uint32 { return crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)) }

// encodeHead returns the first line of a log.
func encodeHead(h logHead) ([]byte, error) {
	meta, err := json.Marshal(h)
	if err != nil {
		return nil, fail(err)
	}
	return fmt.Appendf(nil, "%08x %s\n", checksum(meta), meta), nil
}

// encodeLine returns a line. It fills in what the changes say about their values.
func encodeLine(l logLine) ([]byte, error) {
	size := 0
	texts := make([][]byte, len(l.Changes))
	for i := range l.Changes {
		c := &l.Changes[i]
		texts[i] = base64.StdEncoding.AppendEncode(nil, c.value)
		if c.Size = len(texts[i]); c.Size > 0 {
			c.Sum = checksum(texts[i])
		}
		size += c.Size + 1
	}
	meta, err := json.Marshal(l)
	if err != nil {
		return nil, fail(err)
	}
	line := make([]byte, 0, len(meta)+size+10)
	line = fmt.Appendf(line, "%08x %s", checksum(meta), meta)
	for _, text := range texts {
		if len(text) > 0 {
			line = append(append(line, ' '), text...)
		}
	}
	return append(line, '\n'), nil
}

// lineMeta returns the JSON of a line, which ends where closing stands first, and what
// follows. Names have none of its characters.
func lineMeta(line []byte, closing string) (meta, values []byte, err error) {
	end := bytes.Index(line, []byte(closing)) + len(closing)
	if end < 9+len(closing) || line[8] != ' ' {
		return nil, nil, errLine
	}
	sum, err := strconv.ParseUint(string(line[:8]), 16, 32)
	if err != nil || uint32(sum) != checksum(line[9:end]) {
		return nil, nil, errLine
	}
	return line[9:end], line[end:], nil
}

// decodeHead reads the first line of a log, without its line feed.
func decodeHead(line []byte) (h logHead, err error) {
	meta, values, err := lineMeta(line, "}")
	if err != nil || len(values) > 0 || json.Unmarshal(meta, &h) != nil || h.ID == "" || h.Size < 0 {
		return h, errLine
	}
	return h, nil
}

// decodeLine reads a line, without its line feed. A value that is not what was written is
// marked as bad.
func decodeLine(line []byte) (l logLine, err error) {
	meta, values, err := lineMeta(line, "]}")
	if err != nil || json.Unmarshal(meta, &l) != nil {
		return l, errLine
	}
	at := len(line) - len(values)
	for i := range l.Changes {
		c := &l.Changes[i]
		if c.Size == 0 {
			continue
		}
		if c.Size < 0 || c.Size >= len(line)-at || line[at] != ' ' {
			return l, errLine
		}
		text := line[at+1 : at+1+c.Size]
		c.at = int64(at + 1)
		at += 1 + c.Size
		if c.bad = checksum(text) != c.Sum; c.bad {
			continue
		}
		if c.value, err = base64.StdEncoding.AppendDecode(nil, text); err != nil {
			return l, errLine
		}
	}
	if at != len(line) {
		return l, errMore
	}
	return l, nil
}

// whole reports whether all values of a line are what was written.
func (l *logLine) whole() bool {
	for _, c := range l.Changes {
		if c.bad {
			return false
		}
	}
	return true
}

// encodeLog returns a new log that holds the records of a set.
func encodeLog(id string, revision int64, set *recordSet) ([]byte, error) {
	var lines []byte
	for _, r := range ordered(recordsOf(set)) {
		line, err := encodeLine(logLine{Revision: r.Revision, Changes: []logChange{{Kind: r.Key.Kind, Name: r.Key.Name, value: r.Value}}})
		if err != nil {
			return nil, err
		}
		lines = append(lines, line...)
	}
	head, err := encodeHead(logHead{logVersion, id, revision, int64(len(lines))})
	return append(head, lines...), err
}

func recordsOf(set *recordSet) []Record {
	all := make([]Record, 0, len(set.records))
	for _, r := range set.records {
		all = append(all, r)
	}
	return all
}
