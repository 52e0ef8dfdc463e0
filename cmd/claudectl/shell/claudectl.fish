# Completion of claudectl for fish: source it, or put it into
# ~/.config/fish/completions/claudectl.fish.
function __claudectl_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l found ($words[1] complete fish -- $words[2..] "$current" 2>/dev/null)
    if test "$found[1]" = ":files"
        __fish_complete_path "$current"
        return
    end
    printf '%s\n' $found
end
complete -c claudectl -f -a '(__claudectl_complete)'
