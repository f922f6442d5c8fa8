import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Puts a program called nsenter into `<directory>/bin` that runs what stands after `--`, and
 * answers as util-linux's nsenter does when there is no such program. Gives the PATH to use.
 */
export async function standInNsenter(directory: string): Promise<string> {
  const bin = join(directory, 'bin');
  await mkdir(bin, { recursive: true });
  const program = join(bin, 'nsenter');
  await writeFile(program, script);
  await chmod(program, 0o755);
  return `${bin}:/usr/sbin:/usr/bin:/sbin:/bin`;
}

const script = `#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
if ! command -v "$1" >/dev/null; then
  echo "nsenter: failed to execute $1: No such file or directory" >&2
  exit 127
fi
exec "$@"
`;
