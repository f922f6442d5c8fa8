# Sourced by the scripts beside it: goes to the top of the tree, installs the exact packages of
# package-lock.json when they are not there, and puts the Node of this project first on PATH.
cd "$(dirname "$0")/.." || exit 1

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo "Node.js 20 or newer and npm are needed to begin with; on Debian: apt-get install nodejs npm" >&2
  exit 3
fi

cache=${XDG_CACHE_HOME:-$HOME/.cache}/bootwright
mkdir -p "$cache"

# Two runs at once wait for each other; what an interrupted run left is not taken for whole.
(
  flock 9
  stamp=node_modules/.complete
  if [ ! -e "$stamp" ] || [ package-lock.json -nt "$stamp" ]; then
    echo "packages: npm ci gets the pinned packages and Node 24 (about 30 s, 400 MB)" >&2
    npm ci --no-audit --no-fund --loglevel=error >"$cache/npm-ci.log" 2>&1 ||
      { tail -n 20 "$cache/npm-ci.log" >&2; exit 1; }
    touch "$stamp"
  fi
) 9>"$cache/npm-ci.lock" || exit 1

PATH=$PWD/node_modules/.bin:$PATH
# Programs that are started from their sources are stripped of their types and compiled once.
NODE_COMPILE_CACHE=$cache/compiled
export PATH NODE_COMPILE_CACHE
