#!/bin/sh
# Has agents of four kinds work side by side: it makes a team with a lead, opens a member for each kind in a git
# worktree of its own, tells all of them something, and shows what was said. Run it in a git repository while
# `cadre serve` runs:
#
#   sh examples/team.sh TEAM TASK NEWS
#
#   TEAM  a name for the team; the worktrees are called TEAM-AGENT
#   TASK  what each member is to do
#   NEWS  what all members are told after that
#
# Each approval request is shown whole. The request is accepted if you answer y, and declined otherwise.
# AGENTS lists the kinds of agents, and LEAD is the kind of the lead. Gemini CLI does not describe its requests completely:
# without a terminal, they are accepted only with UNDESCRIBED=1.
set -eu

team=$1 task=$2 news=$3
: "${AGENTS:=claude codex opencode gemini}" "${LEAD:=claude}"

main() {
  # shellcheck disable=SC2046 # Both are two words.
  lead=$(cadre sessions create $(kind "$LEAD") --title "$team lead" --permission-mode require_approval)
  cadre teams create "$team" --lead "$lead" >/dev/null
  members=$lead
  for agent in $AGENTS; do
    # shellcheck disable=SC2046
    member=$(cadre teams spawn "$team" "$task" --source "$lead" $(kind "$agent") --title "$agent" \
      --worktree "$team-$agent" --no-init --permission-mode require_approval)
    members="$members $member"
  done
  cadre teams broadcast "$team" "$news" >/dev/null
  while at_work; do
    for member in $members; do answer_approvals_of "$member"; done
    sleep 1
  done
  cadre teams show "$team"
}

# Claude Code and Codex are providers of their own; every other name is that of an agent that speaks ACP.
kind() {
  case $1 in
  claude | codex) echo "--provider $1" ;;
  *) echo "--agent $1" ;;
  esac
}

# Whether a message has not arrived yet, or its recipient still works at it.
at_work() {
  deliveries=$(cadre teams deliveries "$team" --limit 500) || exit
  echo "$deliveries" |
    awk -F '\t' '$4 != "" && $4 != "consumed" && $NF == "-" { found = 1 } END { exit !found }'
}

answer_approvals_of() {
  for approval in $(cadre approvals list --session "$1" --quiet); do
    cadre approvals show "$approval"
    printf 'allow it? [y/N] '
    read -r answer || answer=n
    case $answer in
    y*) cadre approvals accept "$approval" ${UNDESCRIBED:+--undescribed} ;;
    *) cadre approvals decline "$approval" ;;
    esac
  done
}

main
