// Package client talks to a server of conversations, such as "claudectl serve", over
// HTTP. It imports nothing but the standard library and the words of the API.
//
//	c, err := client.New(client.Options{URL: "https://agents.example.com", Token: secret})
//	own, err := c.Create(ctx, api.NewConversation{Preset: "shop", Content: api.Text("Run the tests.")})
//	for e, err := range c.Follow(ctx, own.ID, 0) {
//		…
//	}
//
// # Errors
//
// A request that the server refuses returns an [*api.Problem], which
// [errors.AsType] finds; its Detail explains what to do. An answer that does not
// come from such a server, such as the error page of a proxy, is a problem of the
// type about:blank with its status. No error contains the token.
//
// # Repetition
//
// A request that fails on its way is sent again, for [Options.Patience]. That is safe,
// because all attempts carry the same Idempotency-Key: whatever a request creates is
// created once. Only [Client.IssueToken] and [Client.Change] are sent once: the server
// keeps no secret that it could repeat, and another change may have followed the first
// attempt.
package client
