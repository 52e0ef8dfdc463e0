package claude

import (
	"strings"
	"unicode"
)

// EscapePrompt returns text that somebody else wrote in a form that is only
// text inside a prompt. The CLI acts on what it finds in prompts, and asks no
// permission callback and no hook first: "@/home/me/.netrc" puts that file
// before the model, "@agent-name" calls for an agent, and a prompt that begins
// with "/" may be a command.
//
//	claude.Ask(ctx, "Summarise this mail:\n"+claude.EscapePrompt(mail), opts)
//
// A backslash is put before every "@" that does not follow a letter or a digit,
// so addresses such as me@example.com stay as they are, and before a "/" at the
// beginning. Escaping twice changes nothing more. Leave a blank between the
// result and a mention of your own: what follows "@" without one belongs to it.
//
// Where no prompt should mean more than it says, set [Options.VerbatimPrompts]
// instead, as [Hardened] does. It changes no text.
func EscapePrompt(text string) string {
	var out strings.Builder
	done := 0        // how much of text is in out
	last := rune(-1) // the rune before, as far as it counts
	for i, r := range text {
		switch {
		case r == '@' && !(last == '\\' || unicode.IsLetter(last) || unicode.IsDigit(last)),
			r == '/' && last < 0:
			out.WriteString(text[done:i])
			out.WriteByte('\\')
			done = i
		}
		if last >= 0 || !(unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Cc)) {
			last = r
		}
	}
	out.WriteString(text[done:])
	return out.String()
}
