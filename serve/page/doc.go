// Package page is the web page of package serve: an inbox of approvals and
// questions, live conversations, their history, and what they cost.
//
//	s, err := serve.New(f, serve.Options{…, Page: page.New})
//
// Every screen is HTML from the server and works without a script: decisions,
// prompts and all else are plain forms. The script makes it live. It follows the
// stream of events, shows text as it is written, and for everything else loads
// the screen again and takes over what has changed. So there is one way in which
// something is shown, and nothing is shown twice or lost.
//
// What models and tools write is hostile until shown otherwise: Markdown goes
// through internal/markdown, all else is text, in which characters that are not
// seen are made visible. The policy of the server forbids inline scripts and
// styles and anything from elsewhere; the script makes markup only of what this
// server sent, through the one policy of Trusted Types.
package page
