package transcript

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

// Line is a line of a file.
type Line struct {
	Pos  int64
	Text []byte // without the line feed; valid until the next line
	Long bool   // it was longer than MaxLine; Text is empty
}

// Lines yields the lines of a file that are not blank. Memory is that of the
// longest line.
func Lines(r io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		var pos int64
		var long []byte
		for {
			long = long[:0]
			piece, err := in.ReadSlice('\n')
			begin := pos
			pos += int64(len(piece))
			tooLong := false
			for errors.Is(err, bufio.ErrBufferFull) {
				if tooLong = tooLong || len(long)+len(piece) > MaxLine; tooLong {
					long = long[:0]
				} else {
					long = append(long, piece...)
				}
				piece, err = in.ReadSlice('\n')
				pos += int64(len(piece))
			}
			text := piece
			if len(long) > 0 {
				if tooLong = len(long)+len(piece) > MaxLine; !tooLong {
					long = append(long, piece...)
					text = long
				}
			}
			if tooLong {
				text = nil
			}
			if err != nil && err != io.EOF {
				yield(Line{}, err)
				return
			}
			text = bytes.TrimRight(text, "\r\n")
			if (tooLong || len(bytes.TrimSpace(text)) > 0) && !yield(Line{begin, text, tooLong}, nil) {
				return
			}
			if err == io.EOF {
				return
			}
		}
	}
}
