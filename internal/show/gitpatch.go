package show

import (
	"iter"
	"strconv"
	"strings"
)

// FileChange is the part of a git patch that is about one file.
type FileChange struct {
	// Path is that after the change, or the last one if the file is gone.
	Path string
	// What names the kind of the change, such as "new" or "renamed from a/b"; empty: it
	// has other lines.
	What string
	Diff *Diff // nil: it has no other lines, or none that can be shown
}

// fileStart begins the part of a patch that is about a file. No line of its contents begins
// so: before each of them is a sign.
const fileStart = "diff --git "

// GitPatch yields the changes of a patch as git writes it, file by file.
func GitPatch(patch string) iter.Seq[*FileChange] {
	return func(yield func(*FileChange) bool) {
		for rest := patch; strings.HasPrefix(rest, fileStart); {
			one := rest
			if i := strings.Index(rest, "\n"+fileStart); i >= 0 {
				one, rest = rest[:i+1], rest[i+1:]
			} else {
				rest = ""
			}
			if !yield(fileChange(one)) {
				return
			}
		}
	}
}

// fileChange reads the part of a patch that is about one file.
func fileChange(text string) *FileChange {
	f := new(FileChange)
	var what []string
	mode := ""
head:
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		word, value := headLine(line)
		switch word {
		case "new file mode":
			what = append(what, "new")
		case "deleted file mode":
			what = append(what, "deleted")
		case "old mode":
			mode = value
		case "new mode":
			what = append(what, "mode "+mode+" → "+value)
		case "rename from":
			what = append(what, "renamed from "+gitName(value))
		case "copy from":
			what = append(what, "copied from "+gitName(value))
		case "rename to", "copy to":
			f.Path = gitName(value)
		case "---", "+++":
			if name := gitName(strings.TrimSuffix(value, "\t")); name != "/dev/null" && len(name) > len("a/") {
				f.Path = name[len("a/"):]
			}
		case "GIT binary patch", "Binary files":
			what = append(what, "binary")
			break head
		case "@@":
			f.Diff = Unified(text)
			break head
		}
	}
	if f.Path == "" {
		f.Path = namedTwice(text)
	}
	f.What = strings.Join(what, ", ")
	return f
}

// headWords begin the lines before the contents.
var headWords = [...]string{
	"new file mode", "deleted file mode", "old mode", "new mode", "rename from", "rename to", "copy from", "copy to", "---", "+++", "GIT binary patch", "Binary files", "@@",
}

// headLine returns which of the words a line begins with, "" for none, and the rest of it.
func headLine(line string) (word, value string) {
	for _, word := range headWords {
		if value, ok := strings.CutPrefix(line, word); ok && (value == "" || value[0] == ' ') {
			return word, strings.TrimPrefix(value, " ")
		}
	}
	return "", ""
}

// gitName reads the name of a file, which is in quotes if it has odd characters.
func gitName(text string) string {
	if name, err := strconv.Unquote(text); err == nil && text[0] == '"' {
		return name
	}
	return text
}

// namedTwice returns the name in the first line of a change that has no other: there it
// stands twice, as a/NAME b/NAME.
func namedTwice(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	names := strings.TrimPrefix(line, fileStart)
	if quoted, err := strconv.QuotedPrefix(names); err == nil {
		return strings.TrimPrefix(gitName(quoted), "a/")
	}
	if n := (len(names) - len("a/ b/")) / 2; n > 0 {
		return names[len("a/") : len("a/")+n]
	}
	return names
}
