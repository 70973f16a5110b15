# Prints the commands of a page's ```sh blocks, each as "LINE<tab>COMMAND" and a NUL, and "LINE<tab>" at the end of a block.
# Lines that end in a backslash go on in the next one. What breaks the rules of CONTRIBUTING.md about blocks is told on
# standard error, and makes the exit status 1.
function complain(text) { print FILENAME ":" FNR ": " text >"/dev/stderr"; faults = 1 }
function flush() { if (command != "") printf "%d\t%s%c", first, command, 0; command = "" }

/^ *```/ {
  language = $0
  sub(/^ *```/, "", language)
  if (!inside) {
    inside = 1
    kind = language
    if (kind !~ /^(sh|ini|text|csv|python)$/) complain("a block of the kind \"" kind "\"; wanted sh, ini, text, csv or python")
  } else {
    if (language != "") complain("a block begins within another one")
    flush()
    if (kind == "sh") printf "%d\t%c", FNR, 0
    inside = 0
  }
  blank = 0
  next
}
inside && kind == "sh" {
  if (command == "" && ($0 ~ /^ *#/ || $0 ~ /^ *$/)) next
  if (command == "") first = FNR
  command = command (command == "" ? "" : "\n") $0
  if ($0 !~ /\\$/) flush()
  next
}
!inside {
  if (blank && /^    [^ ]/ && !listed) complain("an indented block: fence it, with its kind (CONTRIBUTING.md)")
  if (/^[-*0-9]/) listed = 1
  else if (/^[^ ]/) listed = 0
  blank = /^ *$/
}
END {
  if (inside) complain("a block without an end")
  exit faults
}
