import { chmod, mkdir, mkdtemp, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { localHost } from '../../../src/adapters/host/local-host.ts';
import { nsenterHost } from '../../../src/adapters/host/nsenter-host.ts';
import type { Host } from '../../../src/ports/host.ts';
import { any, fakeHost, rest } from '../../support/fake-host.ts';

/** A host under test, and a directory that both its files and its commands see. */
interface Subject {
  readonly host: Host;
  /** Whether its commands are real programs. */
  readonly isReal: boolean;
  /** The scripts of the contract in the host's form. */
  readonly scripts: { readonly both: string; readonly lines: string };
  readonly folder: string;
  readonly link: (from: string, target: string) => Promise<void>;
  /** Writes a file and its directory, as another process on the host would. */
  readonly put: (path: string, content: string) => Promise<void>;
  readonly modeOf: (path: string) => Promise<number | undefined>;
}

/** A host with the programs and the files of this machine. */
const realOne = (host: Host, folder: string): Subject => ({
  host,
  folder,
  isReal: true,
  scripts: {
    both: "printf ' out \\n'; printf ' err\\n' >&2",
    lines: "printf 'one\\rtwo\\r\\n\\nthree' >&2",
  },
  link: async (from, target) => {
    await rm(from, { force: true });
    await symlink(target, from);
  },
  put: async (path, content) => {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  },
  modeOf: async (path) => (await stat(path)).mode & 0o777,
});

/** The files of this machine as a host's files: through the root of a process. */
async function nsenterSubject(directory: string): Promise<Subject> {
  const environment = { PATH: await standInNsenter(directory), PULL_SECRET_TOKEN: 'planted' };
  const host = nsenterHost({ root: '/proc/self/root', environment, pollInterval: 20 });
  return realOne(host, await realpath(await mkdtemp(join(directory, 'nsenter-'))));
}

async function localSubject(directory: string): Promise<Subject> {
  const environment = { PATH: process.env['PATH'], PULL_SECRET_TOKEN: 'planted' };
  const folder = await realpath(await mkdtemp(join(directory, 'local-')));
  return realOne(localHost({ environment }), folder);
}

function fakeSubject(): Promise<Subject> {
  const host = fakeHost();
  const shell = ['sh', '-c'] as const;
  host
    .on([...shell, any, rest])
    .answers(([, , script = ''], _, { env }) => {
      if (script === 'both') return { stdout: ' out \n', stderr: ' err\n' };
      if (script.startsWith('exit')) return { exitCode: Number(script.split(' ')[1]) };
      if (script === 'lines') return { stderr: 'one\rtwo\r\n\nthree' };
      return env['PROXY'] ?? 'none';
    })
    .on(['hang'])
    .hangs()
    .on(['no-such-program'])
    .isMissing();
  return Promise.resolve({
    host,
    isReal: false,
    scripts: { both: 'both', lines: 'lines' },
    folder: '/opt/contract',
    link: (from, target) => {
      host.withLink(from, target);
      return Promise.resolve();
    },
    put: (path, content) => {
      host.withFile(path, content);
      return Promise.resolve();
    },
    modeOf: (path) => Promise.resolve(host.files.get(path)?.mode),
  });
}

const subjects: Record<string, (directory: string) => Promise<Subject>> = {
  'the nsenter host': nsenterSubject,
  'this machine itself': localSubject,
  'the fake host': fakeSubject,
};

/** Runs a suite for every host: the fake, and the adapters with real programs. */
export function everyHost(suite: (subject: () => Subject) => void): void {
  describe.each(Object.entries(subjects))('%s keeps the contract of the host port', (_, make) => {
    let directory: string;
    let subject: Subject;
    beforeAll(async () => {
      directory = await mkdtemp(join(tmpdir(), 'bootwright-contract-'));
      subject = await make(directory);
    });
    afterAll(async () => {
      await rm(directory, { recursive: true, force: true });
    });

    suite(() => subject);
  });
}

/**
 * Writes a program `<directory>/bin/nsenter` that runs the words after `--`, and exits as
 * util-linux's nsenter does for a missing program. Returns the PATH to use.
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
