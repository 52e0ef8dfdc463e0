// Package webpush makes messages for the push services of browsers: RFC 8291 encrypts a
// message so that only the browser reads it, RFC 8188 is its form, and by RFC 8292 the
// sender identifies itself. It also refuses addresses that no push service has, because
// the address of a subscription comes from a browser, and so from anyone.
package webpush
