# A server that writes a stray line to standard output, but only after it has spoken of versions, and once.
MCPROVE serve demo | while IFS= read -r line; do
  printf '%s\n' "$line"
  case $line in
    *protocolVersion*) seen=yes ;;
    *) if [ -n "$seen" ] && [ -z "$told" ]; then echo oops; told=yes; fi ;;
  esac
done
