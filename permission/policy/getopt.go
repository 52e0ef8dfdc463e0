package policy

import "strings"

// builtinOptions are the options of the shell's own commands, in the notation
// of getopt: a colon follows a letter that takes a value, and a plus in front
// means that options may also begin with a plus. They follow bash 5.2.
var builtinOptions = map[string]string{
	"alias": "p", "bind": "lvpVPsSXf:q:u:m:r:x:", "builtin": "", "cd": "eLP@", "command": "pvV",
	"compgen": "abcdefgjko:prsuvA:G:W:P:S:X:F:C:V:", "complete": "abcdefgjko:prsuvA:G:W:P:S:X:F:C:DEI", "compopt": "+o:DEI",
	"declare": "+acdfgilnprtuxAFGI", "typeset": "+acdfgilnprtuxAFGI", "local": "+acdfgilnprtuxAFGI", "export": "fnp", "readonly": "aAfnp",
	"disown": "ahr", "enable": "adnpsf:", "eval": "", "exec": "cla:", "fc": "e:lnrs", "hash": "dlp:rt", "history": "acd:npsrw", "jobs": "lpnxrs",
	"mapfile": "d:u:n:O:tC:c:s:", "readarray": "d:u:n:O:tC:c:s:", "printf": "v:", "pwd": "LP", "read": "ersa:d:i:n:p:t:u:N:",
	"shopt": "psuoq", "source": "p:", ".": "p:", "trap": "lpP", "type": "afptP", "umask": "Sp", "unalias": "a", "unset": "fnv", "wait": "fnp:",
	"getopts": "", "let": "",
}

// givenOption is an option that a command gets, with its value if it takes one.
type givenOption struct {
	letter byte
	value  string
}

// getopt reads the arguments of one of the shell's own commands as that command
// does: letters in one word, values joined to them or in the next word, and two
// dashes that end the options. The rest are operands. It is not ok if an unknown
// word may be an option, or if bash has no such option.
func getopt(command string, args []string) (options []givenOption, rest []string, ok bool) {
	letters, ok := builtinOptions[command]
	if !ok {
		return nil, args, false
	}
	plus := strings.HasPrefix(letters, "+")
	letters = strings.TrimPrefix(letters, "+")
	for len(args) > 0 {
		word := args[0]
		if word == "" || len(word) == 1 && static(word) || word[0] != '-' && (word[0] != '+' || !plus) {
			return options, args, word == "" || !isUnknown([]rune(word)[0])
		}
		args = args[1:]
		if word == "--" {
			return options, args, true
		}
		for at := 1; at < len(word); at++ {
			found := strings.IndexByte(letters, word[at])
			if found < 0 || word[at] == ':' {
				return options, args, false
			}
			option := givenOption{letter: word[at]}
			if !strings.HasPrefix(letters[found+1:], ":") {
				options = append(options, option)
				continue
			}
			option.value = word[at+1:]
			if option.value == "" && len(args) > 0 {
				option.value, args = args[0], args[1:]
			}
			options = append(options, option)
			// Without quotes it may expand to several words, or vanish.
			if strings.ContainsFunc(option.value, isSpread) {
				return options, args, false
			}
			break
		}
	}
	return options, nil, true
}

// hasLetter reports whether one of the letters is among the options.
func hasLetter(options []givenOption, letters string) bool {
	for _, o := range options {
		if strings.IndexByte(letters, o.letter) >= 0 {
			return true
		}
	}
	return false
}

// filled returns the variables that one of the shell's own commands fills with
// what it reads or prints, and whether they become arrays. It is not ok if they
// are unknown.
func filled(command string, args []string) (names []string, arrays, ok bool) {
	options, rest, ok := getopt(command, args)
	for _, o := range options {
		if command == "printf" && o.letter == 'v' || command == "wait" && o.letter == 'p' {
			names = append(names, o.value)
		}
		if command == "read" && o.letter == 'a' {
			names, arrays = append(names, o.value), true
		}
	}
	switch command {
	case "read":
		if names = append(names, rest...); len(names) == 0 {
			names = []string{"REPLY"}
		}
	case "mapfile", "readarray":
		arrays = true
		if names = rest; len(rest) == 0 {
			names = []string{"MAPFILE"}
		}
	case "getopts":
		names = []string{"OPTARG"}
		if len(rest) > 1 {
			names = append(names, rest[1])
		}
	case "unset":
		names = rest
	}
	return names, arrays, ok
}

// ownCommand removes the prefixes of one of the shell's own commands: builtin
// and command.
func ownCommand(words []string) []string {
	for len(words) > 1 && (words[0] == "builtin" || words[0] == "command") {
		_, rest, ok := getopt(words[0], words[1:])
		if !ok || len(rest) == 0 {
			break
		}
		words = rest
	}
	return words
}
