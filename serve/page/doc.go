// Package page is the web page of package serve: an inbox of approvals and
// questions, live conversations, their history, and what they cost.
//
//	s, err := serve.New(f, serve.Options{…, Page: page.New})
//
// Every screen is HTML from the server and works without a script: decisions, prompts
// and everything else are plain forms. The script makes it live. It follows the stream
// of events, shows text as it is written, and for everything else loads the screen
// again and takes over the changes. So everything is rendered in one way, and nothing
// is shown twice or lost.
//
// Anything that models and tools write is treated as hostile: Markdown goes through
// internal/markdown, and everything else is text, in which invisible characters are
// made visible. The content security policy of the server forbids inline scripts and
// styles and anything from elsewhere; the script makes markup only from what this
// server sent, through a single Trusted Types policy.
package page
