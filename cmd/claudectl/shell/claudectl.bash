# Completion of claudectl for bash: source it, or put it among your completions.
_claudectl() {
	local line values=() shown=()
	COMPREPLY=()
	while IFS= read -r line; do
		if [ "$line" = ":files" ]; then
			compopt -o default 2>/dev/null
			return
		fi
		values+=("${line%%$'\t'*}")
		shown+=("${line/$'\t'/  -- }")
	done < <("${COMP_WORDS[0]}" complete bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
	# Several are listed with what they are, one alone is filled in.
	if [ "${#values[@]}" -eq 1 ]; then
		COMPREPLY=("${values[0]}")
	elif [ "${COMP_TYPE:-0}" -eq 63 ]; then
		COMPREPLY=("${shown[@]}")
	else
		COMPREPLY=("${values[@]}")
	fi
}
complete -o nosort -F _claudectl claudectl
