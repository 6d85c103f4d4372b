# Completes cadre in fish.
function __cadre_complete
    set -l before (commandline -opc)
    set -l command (string replace -r '^~' $HOME -- $before[1])
    set -e before[1]
    set -l current (commandline -ct)
    # --flag=value is one word to fish: what is offered starts with the flag.
    set -l start (string match -r -- '^--[^=]+=' "$current")
    if set -q start[1]
        set -a before (string trim -r -c = -- $start)
        set current (string replace -- $start '' $current)
    end
    set -l offers ($command __complete -- $before "$current" 2>/dev/null </dev/null)
    contains '<file>' $offers; and set offers (__fish_complete_path "$current")
    contains '<directory>' $offers; and set offers (__fish_complete_directories "$current")
    for offer in $offers
        printf '%s\n' "$start$offer"
    end
end
complete -c cadre -f -a '(__cadre_complete)'
