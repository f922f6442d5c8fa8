# Prints what zsh completes a line with, a match a line: complete.zsh SCRIPT LINE
zmodload zsh/zpty
zpty shell zsh -f -i
set-up() {
  zpty -w shell "source $1"
  local line
  while zpty -r shell line; do [[ $line == ready* ]] && return; done
  exit 2
}
set-up =(print -r -- "
PROMPT=
autoload -U compinit && compinit -D -u
source ${(q)1}
bindkey '^I' complete-word
zstyle ':completion:*' list-grouped false
zstyle ':completion:*' insert-tab false
mark() { print -r -- '@@' }
compprefuncs=(mark)
comppostfuncs=(mark exit)
compadd() {
  if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then
    builtin compadd \"\$@\"
    return
  fi
  local -a hits
  builtin compadd -A hits \"\$@\"
  (( \$#hits )) && print -rl -- \$hits
  return 0
}
print ready")
zpty -w shell "$2"$'\t'
integer marks=0
zpty -r shell all
while zpty -r shell line; do all+=$line; done
print -r -- "${all//$'\r'/}" | while IFS= read -r line; do
  if [[ $line == *@@ ]]; then
    (( ++marks == 2 )) && exit
  elif (( marks )); then
    print -r -- "$line"
  fi
done
