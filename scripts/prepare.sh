# Sourced by the scripts beside it: goes to the top of the tree, installs the exact packages of
# package-lock.json when they are not there, and puts the Node of this project first on PATH.
cd "$(dirname "$0")/.." || exit 1

cache=${XDG_CACHE_HOME:-$HOME/.cache}/bootwright
mkdir -p "$cache"

# What npm itself writes last, whoever ran it: an interrupted run leaves none.
installed=node_modules/.package-lock.json

(
  flock --nonblock 9 || {
    echo "packages: waiting for another script, which installs them since $(date -r "$cache/npm-ci.lock" +%T); log $cache/npm-ci.log" >&2
    flock 9
  }
  if [ ! -e "$installed" ] || [ package-lock.json -nt "$installed" ]; then
    node=$(node --version 2>/dev/null) npm=$(npm --version 2>/dev/null)
    major=${node#v}
    if [ "${major%%.*}" -lt 18 ] 2>/dev/null || [ "${npm%%.*}" -lt 9 ] 2>/dev/null || [ -z "$node" ] || [ -z "$npm" ]; then
      echo "Node.js 18 or newer and npm 9 or newer are needed to begin with, found Node.js ${node:-none} and npm ${npm:-none}; on Debian 12: apt-get install nodejs npm" >&2
      exit 3
    fi
    touch "$cache/npm-ci.lock"
    echo "packages: npm ci gets the pinned packages and Node 24 (about 30 s, 400 MB)" >&2
    npm ci --no-audit --no-fund --loglevel=error >"$cache/npm-ci.log" 2>&1 ||
      { tail -n 20 "$cache/npm-ci.log" >&2; exit 1; }
  fi
) 9>>"$cache/npm-ci.lock" || exit

# Node 24 comes from a package, named as Node names architectures. npm 9 and 10 make no link to its program.
case $(uname -m) in x86_64) architecture=x64 ;; aarch64) architecture=arm64 ;; *) architecture=$(uname -m) ;; esac
PATH=$PWD/node_modules/node-linux-$architecture/bin:$PWD/node_modules/.bin:$PATH
# Programs that are started from their sources are stripped of their types and compiled once.
NODE_COMPILE_CACHE=$cache/compiled
export PATH NODE_COMPILE_CACHE
