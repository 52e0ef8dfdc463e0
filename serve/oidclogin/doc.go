// Package oidclogin lets people log in to a server of conversations with OpenID Connect:
// with the accounts of a company at Google, Okta, Entra, Keycloak or any other provider
// that offers the authorization code flow.
//
//	login, err := oidclogin.New(oidclogin.Options{
//		Issuer: "https://accounts.example.com", ClientID: "agents", ClientSecret: secret,
//		User: oidclogin.Allow(oidclogin.Access{Who: "@example.com", Role: api.RoleOperator}),
//	})
//	server, err := serve.New(fleet, serve.Options{Page: page.New, Login: login, …})
//
// Register the address of the server, followed by /login/return, with the provider.
//
// A login uses PKCE, a state and a nonce, all three bound to the browser that began it. The
// id token must be signed by a key of the issuer, name this client, not have expired, and
// carry the nonce. What it leaves out is asked for at the provider's userinfo endpoint.
// Options.User turns the claims into a user of the server; anyone whom it does not know
// is refused. An e-mail address counts only if the provider has verified it.
//
// The provider is asked when people log in, never in between: a login lasts for
// serve.Options.LoginLife. Each request to it is limited in time and size, and follows no
// redirects.
package oidclogin
