package policy

import "unicode/utf8"

// A word of a shell may hold parts that only the shell knows when it runs. Such
// a word is kept as a text in which these characters, which Unicode will never
// assign, stand for the unknown parts. A command that itself contains one of
// them cannot be read.
const (
	anyChar  = '\ufdd0' // one character of a name: ?
	anyName  = '\ufdd1' // a part of a name: *
	anyText  = '\ufdd2' // anything, in one word: "$x"
	anyWords = '\ufdd3' // anything, even several words or none: $x
	anyPart  = '\ufdd5' // a part of a name that may begin with a dot: ${x%.go}
	anyCount = '\ufdd6' // a number: $((x))
)

func isUnknown(r rune) bool { return r >= anyChar && r <= anyCount }

// step is an element of a pattern: a character, a set of them, or a repetition.
type step struct {
	kind stepKind
	char rune
	set  []rune // pairs: from, to
	skip int
}

type stepKind uint8

const (
	stepChar   stepKind = iota // char
	stepSet                    // one of set, but no slash
	stepNotSet                 // none of set and no slash
	stepName                   // any number of characters but slashes
	stepText                   // any number of characters
	stepMaybe                  // the next skip steps may be left out
)

// literal returns the steps of a text that stands for itself.
func literal(text string) []step {
	steps := make([]step, 0, len(text))
	for _, r := range text {
		steps = append(steps, step{char: r})
	}
	return steps
}

// wordSteps returns the steps of a word. A star does not stand for a dot at the
// beginning of a name unless dots is set, by an option of the shell.
func wordSteps(word string, dots bool) []step {
	steps := make([]step, 0, len(word))
	begins := true
	last := rune(0)
	for _, r := range word {
		if r == anyName && last == anyName {
			continue
		}
		last = r
		switch r {
		case anyChar:
			if begins && !dots {
				steps = append(steps, step{kind: stepNotSet, set: []rune{'.', '.'}})
			} else {
				steps = append(steps, step{kind: stepNotSet})
			}
		case anyName:
			if begins && !dots {
				steps = append(steps, step{kind: stepMaybe, skip: 2}, step{kind: stepNotSet, set: []rune{'.', '.'}})
			}
			steps = append(steps, step{kind: stepName})
		case anyCount: // anything may follow the first character
			steps = append(steps, step{kind: stepSet, set: []rune{'0', '9', '-', '-'}}, step{kind: stepName})
		case anyPart:
			steps = append(steps, step{kind: stepName})
		case anyText, anyWords:
			steps = append(steps, step{kind: stepText})
		default:
			steps = append(steps, step{char: r})
		}
		begins = r == '/'
	}
	return steps
}

// takes reports whether a single character may be what a step stands for.
func (s step) takes(r rune) bool {
	switch s.kind {
	case stepChar:
		return s.char == r
	case stepSet, stepNotSet:
		if r == '/' {
			return false
		}
		in := false
		for i := 0; i+1 < len(s.set); i += 2 {
			in = in || s.set[i] <= r && r <= s.set[i+1]
		}
		return in == (s.kind == stepSet)
	case stepName:
		return r != '/'
	}
	return s.kind == stepText
}

// meets reports whether two steps may stand for the same character. Two sets
// always may: it does not check whether they are disjoint.
func (s step) meets(t step) bool {
	switch {
	case s.kind == stepChar:
		return t.takes(s.char)
	case t.kind == stepChar:
		return s.takes(t.char)
	}
	return true
}

func (s step) repeats() bool { return s.kind == stepName || s.kind == stepText }

// overlap reports whether there is a text that both patterns stand for. For a
// literal text that is whether the other pattern fits it. It charges its work to
// effort, and answers broadly when nothing is left; nil means without bounds.
func overlap(a, b []step, effort *int) bool {
	a, b = apart(a, b)
	if differ(a, b) {
		return !spend(effort, 1)
	}
	type state struct{ i, j int }
	width := len(b) + 1
	seen := make([]uint64, ((len(a)+1)*width+63)/64) // a bit for each state
	todo := make([]state, 1, 64)
	if !spend(effort, len(seen)) {
		return true
	}
	visit := func(i, j int) {
		at := i*width + j
		if bit := uint64(1) << (at % 64); seen[at/64]&bit == 0 {
			seen[at/64] |= bit
			todo = append(todo, state{i, j})
		}
	}
	for len(todo) > 0 {
		i, j := todo[len(todo)-1].i, todo[len(todo)-1].j
		todo = todo[:len(todo)-1]
		if i == len(a) && j == len(b) || !spend(effort, 1) {
			return true
		}
		if i < len(a) && leaves(a, i, func(next int) { visit(next, j) }) || j < len(b) && leaves(b, j, func(next int) { visit(i, next) }) {
			continue
		}
		if i == len(a) || j == len(b) || !a[i].meets(b[j]) {
			continue
		}
		nextI, nextJ := i+1, j+1
		if a[i].repeats() {
			nextI = i
		}
		if b[j].repeats() {
			nextJ = j
		}
		visit(nextI, nextJ)
	}
	return false
}

// apart returns what follows the characters that two patterns have in common at their
// beginning. They are read only once, and most paths differ there.
func apart(a, b []step) ([]step, []step) {
	for len(a) > 0 && len(b) > 0 && a[0].kind == stepChar && b[0].kind == stepChar && a[0].char == b[0].char {
		a, b = a[1:], b[1:]
	}
	return a, b
}

// differ reports whether two patterns begin with different characters.
func differ(a, b []step) bool {
	return len(a) > 0 && len(b) > 0 && a[0].kind == stepChar && b[0].kind == stepChar && a[0].char != b[0].char
}

// spend charges n to an effort, and reports whether that much was left.
func spend(effort *int, n int) bool {
	if effort == nil {
		return true
	}
	*effort -= n
	return *effort >= 0
}

// leaves visits the steps that follow without a character. It is true for a
// step that has no character of its own.
func leaves(steps []step, i int, visit func(int)) bool {
	switch s := steps[i]; {
	case s.kind == stepMaybe:
		visit(i + 1)
		visit(i + 1 + s.skip)
		return true
	case s.repeats():
		visit(i + 1)
	}
	return false
}

// static reports whether the whole word is known.
func static(word string) bool {
	for _, r := range word {
		if isUnknown(r) {
			return false
		}
	}
	return true
}

// reserved reports whether a text has characters that shells and parsers read
// differently, or that this package needs for itself.
func reserved(text string) bool {
	if !utf8.ValidString(text) {
		return true
	}
	for _, r := range text {
		if isUnknown(r) || r < ' ' && r != '\t' && r != '\n' || r == 0x7f {
			return true
		}
	}
	return false
}
