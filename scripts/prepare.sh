# Sourced by the scripts beside it: goes to the top of the tree, installs the exact packages of
# package-lock.json when they are not there, and puts the Node of this project first on PATH.
cd "$(dirname "$0")/.." || exit 1

cache=${XDG_CACHE_HOME:-$HOME/.cache}/bootwright
mkdir -p "$cache"

# Node 24 comes from a package, named as Node names architectures. npm 9 and 10 make no link to its program.
case $(uname -m) in x86_64) architecture=x64 ;; aarch64) architecture=arm64 ;; *) architecture=$(uname -m) ;; esac
node24=node_modules/node-linux-$architecture/bin

ci() {
  npm ci "$@" --no-audit --no-fund --loglevel=error >"$cache/npm-ci.log" 2>&1 ||
    { tail -n 20 "$cache/npm-ci.log" >&2; return 1; }
}

# What npm itself writes last, whoever ran it: an interrupted run leaves none. It leaves out, without a word, an optional
# package that asks for a newer Node than npm runs on; without this one no test starts.
installed=node_modules/.package-lock.json
is_installed() {
  [ -e "$installed" ] && ! [ package-lock.json -nt "$installed" ] && grep -q '@rolldown/binding-linux-' "$installed"
}

(
  flock --nonblock 9 || {
    echo "packages: waiting for another script, which installs them since $(date -r "$cache/npm-ci.lock" +%T); log $cache/npm-ci.log" >&2
    flock 9
  }
  if ! is_installed; then
    node=$(node --version 2>/dev/null) npm=$(npm --version 2>/dev/null)
    major=${node#v}
    if [ "${major%%.*}" -lt 18 ] 2>/dev/null || [ "${npm%%.*}" -lt 9 ] 2>/dev/null || [ -z "$node" ] || [ -z "$npm" ]; then
      echo "Node.js 18 or newer and npm 9 or newer are needed to begin with, found Node.js ${node:-none} and npm ${npm:-none}; on Debian 12: apt-get install nodejs npm" >&2
      exit 3
    fi
    touch "$cache/npm-ci.lock"
    echo "packages: npm ci gets the pinned packages and Node 24 (about 30 s, 500 MB)" >&2
    if [ "${major%%.*}" -lt 24 ]; then
      mkdir -p "$cache/node-24" && cp .npmrc package.json package-lock.json "$cache/node-24" &&
        (cd "$cache/node-24" && ci --omit=dev --ignore-scripts) || exit
      PATH=$cache/node-24/$node24:$PATH
    fi
    ci
  fi
) 9>>"$cache/npm-ci.lock" || exit

PATH=$PWD/$node24:$PWD/node_modules/.bin:$PATH
# Programs that are started from their sources are stripped of their types and compiled once.
NODE_COMPILE_CACHE=$cache/compiled
export PATH NODE_COMPILE_CACHE
