#compdef claudectl
# Completion of claudectl for zsh: source it after compinit, or put it into your
# fpath as _claudectl.
_claudectl() {
	local line
	local -a values shown
	while IFS= read -r line; do
		if [[ $line == ":files" ]]; then
			_files
			return
		fi
		values+=("${line%%$'\t'*}")
		shown+=("${line/$'\t'/  -- }")
	done < <("${words[1]}" complete zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)
	(( ${#values} )) || return 1
	# A word may fit the title of a session, and not its id.
	if [[ -n $PREFIX && ${values[1]} != ${PREFIX}* ]]; then
		compstate[insert]=menu
	fi
	compadd -U -V claudectl -l -d shown -a values
}
compdef _claudectl claudectl
