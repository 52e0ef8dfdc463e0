package show

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// maxWords is how many words of a line are compared. The time grows with their square,
// and the lines may come from an attacker.
const maxWords = 200

// mark sets the words in which two lines differ. Lines that have little in common are
// left alone: there a mark would not help.
func mark(a, b *DiffLine) {
	old, fresh := words(a.Text), words(b.Text)
	if len(old) > maxWords || len(fresh) > maxWords {
		return
	}
	book := make(map[string]rune)
	d := diffmatchpatch.New()
	d.DiffTimeout = 0 // the same lines always have the same marks
	parts := d.DiffCleanupSemantic(d.DiffMainRunes(spell(old, book), spell(fresh, book), false))
	common := 0
	var left, right []DiffPart
	for _, part := range parts {
		n := utf8.RuneCountInString(part.Text)
		switch part.Type {
		case diffmatchpatch.DiffEqual:
			text := strings.Join(old[:n], "")
			common += len(strings.TrimSpace(text))
			left, right = append(left, DiffPart{Text: text}), append(right, DiffPart{Text: text})
			old, fresh = old[n:], fresh[n:]
		case diffmatchpatch.DiffDelete:
			left, old = append(left, DiffPart{strings.Join(old[:n], ""), true}), old[n:]
		case diffmatchpatch.DiffInsert:
			right, fresh = append(right, DiffPart{strings.Join(fresh[:n], ""), true}), fresh[n:]
		}
	}
	if common > 0 && 3*common >= min(len(a.Text), len(b.Text)) {
		a.Parts, b.Parts = left, right
	}
}

// words divides a line into words, the spaces between them, and everything else one
// character at a time.
func words(line string) (all []string) {
	kind := func(c rune) int {
		switch {
		case c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c):
			return 1
		case unicode.IsSpace(c):
			return 2
		}
		return 0
	}
	begin, before := 0, 0
	for i, c := range line {
		now := kind(c)
		if i > begin && (now != before || now == 0) {
			all = append(all, line[begin:i])
			begin = i
		}
		before = now
	}
	if begin < len(line) {
		all = append(all, line[begin:])
	}
	return all
}

// spell writes words as characters, the same for the same word: what compares characters
// then compares words.
func spell(words []string, book map[string]rune) []rune {
	text := make([]rune, len(words))
	for i, word := range words {
		if book[word] == 0 {
			book[word] = rune(len(book) + 1)
		}
		text[i] = book[word]
	}
	return text
}
