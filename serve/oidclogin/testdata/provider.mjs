// Runs the npm package oidc-provider, with people who may choose any name, until its
// standard input ends. It prints its address.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";
const [entry, returnTo, secret] = process.argv.slice(2);
const { default: Provider } = await import(pathToFileURL(entry));

console.warn = console.info = () => {}; // that it is not set up for production

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = "http://127.0.0.1:" + server.address().port;
  const provider = new Provider(issuer, {
    clients: [{ client_id: "agents", client_secret: secret, redirect_uris: [returnTo] }],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    cookies: { keys: ["of this test"] },
    pkce: { required: () => true },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, email: id, email_verified: !id.startsWith("unverified"), name: id }) }),
  });
  provider.on("server_error", (_, error) => console.error(error));
  server.on("request", provider.callback());
  console.log(issuer);
});
process.stdin.on("end", () => process.exit()).resume();
