// Package secret knows what must not be shown: keys, tokens and passwords.
//
// A [Set] holds secrets that the caller named, among them the values of
// environment variables with secret names ([IsSecretName]). Other secrets are
// recognized by their form: API keys, bearer tokens, private keys, and values
// that follow NAME= where NAME is a secret name. [Mask] replaces each of them.
//
// There are six ways to look for them, because texts differ:
//
//   - [Set.Hide] takes a whole text.
//   - [Set.HideWords] takes text that a person has to judge, and hides nothing
//     that could be more than a key.
//   - [Set.JSON] takes JSON, looks at what its texts say and not at how they are
//     escaped, and goes by the names of members: the password in
//     {"password":"..."} has no form. It also looks at the names themselves and
//     at numbers.
//   - [Set.Head] and [Set.HeadJSON] take a text that will be cut, and leave no
//     part of a secret before the cut.
//   - A [Stream] takes text that comes in pieces, and holds back what may be the
//     beginning of a secret.
//   - [Set.Tail] takes text that may be cut at its ends, as the end of a log is,
//     and hides the beginning of a secret as well.
//
// Secrets are found in one piece only. One that is spread over several lines of
// a stream is not.
package secret
