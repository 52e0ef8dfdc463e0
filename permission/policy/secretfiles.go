package policy

// SecretFiles returns rules for files that usually hold keys, tokens and passwords,
// wherever they are: those of shells and tools for clouds, containers, packages,
// databases and version control, private keys, and environment files. Use them to
// deny:
//
//	hook.Guard("", policy.SecretFiles().Deny("secrets stay closed"))
//
// They cover reading, editing and searches that print files; [Rules.Narrow] lets a
// search leave them out instead. They do not hide names: Glob lists such files,
// except in a folder that is closed as a whole, such as .ssh. The list knows names,
// not contents, and errs on the side of too much: .env.example is denied as well.
// Each call returns a list of its own.
func SecretFiles() *Rules {
	rules := make([]string, 0, 2*len(secretFiles))
	for _, name := range secretFiles {
		rules = append(rules, "Read(//**/"+name+")", "Edit(//**/"+name+")")
	}
	return MustRules(rules...)
}

var secretFiles = [...]string{
	".env", ".env.*", ".envrc",
	".ssh/**", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "*.pem", "*.p12", "*.pfx", "*.jks", "*.keystore",
	".gnupg/**", ".password-store/**",
	".aws/**", ".azure/**", ".config/gcloud/**", ".oci/**", ".terraform.d/credentials.tfrc.json",
	".kube/**", ".docker/config.json", ".config/containers/auth.json",
	".netrc", "_netrc", ".git-credentials", ".config/git/credentials", ".config/gh/**", ".config/hub",
	".npmrc", ".yarnrc.yml", ".pypirc", ".gem/credentials", ".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml",
	".pgpass", ".my.cnf", ".mylogin.cnf", ".vault-token", ".s3cfg", ".boto",
	".claude/.credentials.json", ".config/anthropic/**",
}
