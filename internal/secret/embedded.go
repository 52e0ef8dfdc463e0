package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// embedded returns a text in which JSON, wherever it stands, has no secrets: one value
// or several in lines, such as logs have, or some between words. JSON that does not end is
// taken for JSON to the end of the text.
func (s *Set) embedded(text []byte) []byte {
	var out []byte
	at := 0 // what is done
	budget := 8*len(text) + 1<<10
	for from := 0; ; {
		begin := objectBegin(text, from)
		if begin < 0 {
			break
		}
		end, err := valueEnd(text[begin:])
		switch {
		case budget < 0, errors.Is(err, io.ErrUnexpectedEOF):
			out = append(append(out, text[at:begin]...), s.JSON(text[begin:])...)
			return out
		case err != nil:
			budget -= end
			from = begin + 1
			continue
		}
		budget -= end
		out = append(append(out, text[at:begin]...), s.JSON(text[begin:begin+end])...)
		at, from = begin+end, begin+end
	}
	if out == nil {
		return text
	}
	return append(out, text[at:]...)
}

// objectBegin is where the next object with a member may begin, -1 if none does.
func objectBegin(text []byte, from int) int {
	for from < len(text) {
		i := bytes.IndexByte(text[from:], '{')
		if i < 0 {
			return -1
		}
		from += i
		if inner := bytes.TrimLeft(text[from+1:], " \t\r\n"); len(inner) > 0 && inner[0] == '"' {
			return from
		}
		from++
	}
	return -1
}

// valueEnd returns where a value of JSON ends, or how far it was one.
func valueEnd(text []byte) (int, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	var value json.RawMessage
	err := d.Decode(&value)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return int(syntax.Offset), err
	}
	return int(d.InputOffset()), err
}
