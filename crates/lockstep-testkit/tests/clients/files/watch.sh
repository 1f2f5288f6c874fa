# Watches config maps while one comes, changes and goes. Nothing is done before the watch has shown what is there, and it
# ends when it has shown the last of it, however long either takes.
out=$HOME/watched
: > "$out"
kubectl get cm -w --output-watch-events >> "$out" 2>&1 &
watch=$!

shown() {
  tries=0
  while ! grep -q "$1" "$out" && [ $tries -lt 1200 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
}

shown settings
(kubectl create cm seen; kubectl label cm seen a=b; kubectl delete cm seen) > /dev/null
shown 'DELETED.*seen'
kill $watch
wait $watch 2> /dev/null
cat "$out"
