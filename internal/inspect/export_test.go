package inspect

// Markdown renders a text, for tests.
func Markdown(text string) string { return string(markdown(text)) }
