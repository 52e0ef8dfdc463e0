package page

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// plainText returns a file as UTF-8, false if it is not a text. Spreadsheets on Windows
// save tables in UTF-16 with a byte order mark, or in Windows-1252.
func plainText(data []byte) (string, bool) {
	for mark, order := range map[string]binary.ByteOrder{"\xff\xfe": binary.LittleEndian, "\xfe\xff": binary.BigEndian} {
		if rest, marked := bytes.CutPrefix(data, []byte(mark)); marked {
			return fromUTF16(rest, order)
		}
	}
	if utf8.Valid(data) {
		text := strings.TrimPrefix(string(data), "\uFEFF")
		return text, text != "" && !strings.ContainsRune(text, 0)
	}
	text := fromWindows(data)
	return text, readable(text)
}

func fromUTF16(data []byte, order binary.ByteOrder) (string, bool) {
	if len(data)%2 != 0 {
		return "", false
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 0; i < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	text := string(utf16.Decode(units))
	return text, readable(text)
}

// windows has the characters of Windows-1252 from 0x80 to 0x9f, which differ from those of
// Latin-1. U+FFFD stands where it has none.
const windows = "€\uFFFD‚ƒ„…†‡ˆ‰Š‹Œ\uFFFDŽ\uFFFD\uFFFD‘’“”•–—˜™š›œ\uFFFDžŸ"

func fromWindows(data []byte) string {
	others := []rune(windows)
	var text strings.Builder
	for _, b := range data {
		r := rune(b)
		if b >= 0x80 && b < 0xa0 {
			r = others[b-0x80]
		}
		text.WriteRune(r)
	}
	return text.String()
}

// readable reports whether a text has only characters that texts have: controls such as
// those of a terminal's colours are among them, but no others, and nothing that could not
// be decoded.
func readable(text string) bool {
	for _, r := range text {
		if r == utf8.RuneError || r < ' ' && !strings.ContainsRune("\t\n\v\f\r\b\a\x1b", r) {
			return false
		}
	}
	return text != ""
}
