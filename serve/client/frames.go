package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// frame is one event of a stream, not yet decoded.
type frame struct {
	event string
	data  []byte
	retry time.Duration // 0: not set
}

// maxFrame limits the bytes of an event, which may have images.
const maxFrame = 64 << 20

// errTooLong is the error of an event of more than maxFrame bytes.
var errTooLong = errors.New("an event of the stream is too long")

// frames reads a stream of server-sent events. An event counts once the blank line
// after it has come; the beginning that a cut leaves is dropped.
type frames struct {
	r *bufio.Reader
}

func newFrames(r io.Reader) *frames { return &frames{bufio.NewReaderSize(r, 64<<10)} }

// next returns the next event, or one that only has a retry.
func (f *frames) next() (frame, error) {
	var out frame
	size, some := 0, false
	for {
		line, err := f.line(&size)
		if err != nil {
			return frame{}, err
		}
		if len(line) == 0 {
			if some {
				return out, nil
			}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			out.event, some = string(value), true
		case "data":
			if out.data != nil {
				out.data = append(out.data, '\n')
			}
			out.data, some = append(out.data, value...), true
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				out.retry, some = time.Duration(ms)*time.Millisecond, true
			}
		}
	}
}

// line returns the next complete line, without its end, and adds to the size of the
// event.
func (f *frames) line(size *int) ([]byte, error) {
	var long []byte
	for {
		part, err := f.r.ReadSlice('\n')
		if *size += len(part); *size > maxFrame {
			return nil, errTooLong
		}
		switch {
		case err == nil && long == nil:
			return trimEnd(part), nil
		case err == nil:
			return trimEnd(append(long, part...)), nil
		case errors.Is(err, bufio.ErrBufferFull):
			long = append(long, part...)
		case errors.Is(err, io.EOF): // a line without an end was cut
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}

// trimEnd removes the end of a line.
func trimEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}
