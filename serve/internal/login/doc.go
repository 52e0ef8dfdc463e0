// Package login keeps the credentials of a server: bearer tokens, one-time tokens and the
// cookies of browsers. It knows the owner of each, ends logins with the tokens that they
// were made with, slows down guessing, and binds a login at a provider to one browser. It
// knows neither HTTP nor what a user may do.
package login
