// Package egress is an HTTP proxy that keeps the API key out of conversations.
//
// Any shell command that an agent runs can read the environment of the CLI, and the key
// in it. With a proxy, each conversation gets a sentinel instead: a made-up key that only
// the proxy knows, and only until the conversation ends. The proxy replaces it by the real
// one on the way to the API:
//
//	proxy, err := egress.New(egress.Options{
//		Credential: func(ctx context.Context, c egress.Conversation) (egress.Credential, error) {
//			key, err := vault.Read(ctx, "anthropic") // or os.Getenv
//			return egress.Credential{Secret: key}, err
//		},
//	})
//	...
//	defer proxy.Close()
//	url, err := proxy.Listen("tcp", "127.0.0.1:0")
//	...
//	pass, err := proxy.Grant(egress.Grant{
//		Conversation: egress.Conversation{ID: "ticket-4711", Tenant: "acme"},
//		Budget:       egress.Budget{USD: 5},
//	})
//	...
//	defer pass.Revoke()
//	opts.Env = pass.Env(url, nil)
//
// A CLI with a sentinel does not use the configuration folder of this user, which may hold
// a login, but a temporary one: its transcript is gone afterwards, unless Options.Store
// keeps it or opts.Env names a folder as CLAUDE_CONFIG_DIR.
//
// # What is let through
//
// Requests for answers and for counts of tokens, and nothing else of the API: see
// [Options.AlsoAllow] and [OrgSettings]. Other hosts are reached by CONNECT, without a look
// into what is said there, if [Options.Hosts] names them and all their addresses are on
// the internet.
//
// To hold, this needs a sandbox without another way out: a network namespace in which only
// a forwarder to the socket of the proxy listens. Without one, the key is still safe, but a
// program that ignores HTTPS_PROXY reaches any host.
//
// # What is counted
//
// Tokens and money are read from each answer as it passes, and charged to the conversation
// and its tenant. A request reserves the most that it is expected to cost before the API is
// asked, and is settled after. Both are written to [Accounts]: those of
// [RecordAccounts] survive the process. Requests in flight when it was killed count as reserved
// once [Bounds].Request is over.
//
// A spent budget is an answer with status 402 and a text that the user of the CLI reads.
// The CLI does not repeat it.
//
// # What the CLI sees of faults
//
// Errors of the API reach the CLI as they are, and it repeats them as it always does. A
// stream that breaks off breaks off for the CLI. If the proxy itself is restarted at the
// same address with the same sentinels ([Grant].Sentinel), the CLI repeats its request.
package egress
