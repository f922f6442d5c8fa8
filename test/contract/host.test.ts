import { mkdir, mkdtemp, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { localHost } from '../../src/adapters/host/local-host.ts';
import { nsenterHost } from '../../src/adapters/host/nsenter-host.ts';
import { seconds } from '../../src/model/duration.ts';
import { Secret } from '../../src/model/secret.ts';
import type { Host } from '../../src/ports/host.ts';
import { any, fakeHost, rest } from '../support/fake-host.ts';
import { standInNsenter } from './real/stand-in-nsenter.ts';

const limit = seconds(10);

/** A host under test, and a directory of it that both file and command see. */
interface Subject {
  readonly host: Host;
  /** Below a shared directory. */
  readonly shared: string;
  /** Below one that only commands reach. */
  readonly remote: string;
  readonly link: (from: string, target: string) => Promise<void>;
  /** Puts a file there with its directory, as somebody else on the host would. */
  readonly put: (path: string, content: string) => Promise<void>;
  readonly modeOf: (path: string) => Promise<number | undefined>;
}

let directory: string;
const subjects: Record<string, () => Promise<Subject>> = {
  'the nsenter host': async () => {
    const root = join(directory, 'root');
    const remote = join(directory, 'remote');
    await mkdir(join(root, 'opt/contract'), { recursive: true });
    await mkdir(remote, { recursive: true });
    const environment = { PATH: await standInNsenter(directory), PULL_SECRET_TOKEN: 'planted' };
    const at = (path: string): string => (path.startsWith('/opt') ? join(root, path) : path);
    return {
      host: nsenterHost({ root, environment, lookEvery: 100 }),
      shared: '/opt/contract',
      // Seen by commands alone, because it is not below a shared directory of the host.
      remote: await realpath(remote),
      link: async (from, target) => {
        await rm(at(from), { force: true });
        await symlink(target, at(from));
      },
      put: async (path, content) => {
        await mkdir(dirname(at(path)), { recursive: true });
        await writeFile(at(path), content);
      },
      modeOf: async (path) => (await stat(at(path))).mode & 0o777,
    };
  },
  'this machine itself': async () => {
    const top = await realpath(await mkdtemp(join(directory, 'local-')));
    const environment = { PATH: process.env['PATH'], PULL_SECRET_TOKEN: 'planted' };
    const [shared, remote] = [join(top, 'shared'), join(top, 'remote')];
    for (const folder of [shared, remote]) await mkdir(folder);
    return {
      host: localHost({ environment }),
      shared,
      remote,
      link: async (from, target) => {
        await rm(from, { force: true });
        await symlink(target, from);
      },
      put: async (path, content) => {
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, content);
      },
      modeOf: async (path) => (await stat(path)).mode & 0o777,
    };
  },
  'the fake host': () => {
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
      shared: '/opt/contract',
      remote: '/etc/contract',
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
  },
};

/** Scripts of the contract in the words of each subject. */
const scripts = {
  both: "printf ' out \\n'; printf ' err\\n' >&2",
  lines: "printf 'one\\rtwo\\r\\n\\nthree' >&2",
} as const;

beforeAll(async () => {
  // Not below /tmp, which the host shares: the remote directory must not be reached directly.
  directory = await mkdtemp(join(process.env['XDG_RUNTIME_DIR'] ?? '/var', 'bootwright-contract-'));
  expect(directory.startsWith(tmpdir())).toBe(false);
});
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

describe.each(Object.entries(subjects))('%s keeps the contract of the host port', (name, make) => {
  const isReal = name !== 'the fake host';
  const script = (key: keyof typeof scripts): string => (isReal ? scripts[key] : key);
  let subject: Subject;
  const signal = new AbortController().signal;
  beforeAll(async () => {
    subject = await make();
  });
  const sh = (text: string, options = {}) =>
    subject.host.exec(['sh', '-c', text], { signal, limit, ...options });

  it('keeps the streams apart and trims them', async () => {
    await expect(sh(script('both'))).resolves.toMatchObject({
      exitCode: 0,
      stdout: 'out',
      stderr: 'err',
    });
  });

  it('tells lines that end by carriage return or line feed, without empty ones', async () => {
    const lines: string[] = [];
    await sh(script('lines'), {
      onLine: (line: string, stream: string) => lines.push(`${stream} ${line}`),
    });
    expect(lines).toEqual(['stderr one', 'stderr two', 'stderr three']);
  });

  it('fails for an exit code that is no answer', async () => {
    await expect(sh('exit 3')).rejects.toMatchObject({
      code: 'command.failed',
      kind: 'host',
      context: { argv: 'sh -c exit 3', exitCode: 3 },
    });
  });

  it('accepts the exit codes it was told to', async () => {
    await expect(sh('exit 3', { accept: [0, 3] })).resolves.toMatchObject({ exitCode: 3 });
    await expect(sh('exit 0', { accept: [3] })).rejects.toMatchObject({ code: 'command.failed' });
  });

  it('says when there is no such program', async () => {
    await expect(subject.host.exec(['no-such-program'], { signal, limit })).rejects.toMatchObject({
      code: 'command.not-found',
    });
  });

  it('never shows a secret word in an error', async () => {
    const token = new Secret('planted-token');
    const failing = sh('exit 4', { secrets: [token.reveal()], env: { T: token.reveal() } });
    const error: unknown = await failing.catch((thrown: unknown) => thrown);
    expect(JSON.stringify(error)).not.toContain(token.reveal());
  });

  it('gives a command the variables it is told to, and not our own', async () => {
    const text = isReal ? 'printf "${PROXY-none}"; test -z "$PULL_SECRET_TOKEN"' : 'proxy';
    expect((await sh(text, { env: { PROXY: 'p' } })).stdout).toBe('p');
    expect((await sh(text)).stdout).toBe('none');
  });

  it('stops a command when the signal aborts', async () => {
    const controller = new AbortController();
    const argv = isReal ? ['sleep', '60'] : ['hang'];
    const running = subject.host.exec(argv, { signal: controller.signal, limit });
    setTimeout(() => controller.abort(new Error('enough')), 50);
    await expect(running).rejects.toMatchObject({ code: 'command.stopped' });
  });

  it('starts nothing when the signal is aborted already', async () => {
    const run = subject.host.exec(['sh', '-c', 'exit 0'], {
      signal: AbortSignal.abort(new Error('late')),
      limit,
    });
    await expect(run).rejects.toMatchObject({ code: 'command.stopped' });
  });

  describe.each(['shared', 'remote'] as const)('files in a %s directory', (where) => {
    const path = (file: string): string => `${subject[where]}/${file}`;

    it('reads back what was written, with its size and digest', async () => {
      const written = await subject.host.writeFile(path('text'), 'grüße\n', { signal });
      expect(written).toEqual({
        path: path('text'),
        bytes: 8,
        sha256: 'b8fb07e729d2c238732229327c1b0669dcb8a15705340409cbbed2a6995898e2',
      });
      await expect(subject.host.readText(path('text'), signal)).resolves.toBe('grüße\n');
    });

    it('is private unless told otherwise', async () => {
      await subject.host.writeFile(path('private'), 'x', { signal });
      await subject.host.writeFile(path('open'), 'x', { signal, mode: 0o644 });
      await expect(subject.modeOf(path('private'))).resolves.toBe(0o600);
      await expect(subject.modeOf(path('open'))).resolves.toBe(0o644);
    });

    it('leaves the old content when the source of the new one breaks', async () => {
      await subject.host.writeFile(path('kept'), 'old', { signal });
      const broken = async function* broken(): AsyncGenerator<Uint8Array> {
        await Promise.resolve();
        yield new TextEncoder().encode('new');
        throw new Error('cut');
      };
      await expect(subject.host.writeFile(path('kept'), broken(), { signal })).rejects.toThrow(
        'cut',
      );
      await expect(subject.host.readText(path('kept'), signal)).resolves.toBe('old');
      const names = await subject.host.list(subject[where], signal);
      expect(names.filter((one) => one.includes('.part'))).toEqual([]);
    });

    it('lists names in order, and none of a directory that is not there', async () => {
      await subject.host.writeFile(path('list/b'), '', { signal }).catch(() => undefined);
      const names = await subject.host.list(subject[where], signal);
      expect(names).toEqual([...names].sort());
      await expect(subject.host.list(path('nowhere'), signal)).resolves.toEqual([]);
    });

    it('has no text for a file that is not there', async () => {
      await expect(subject.host.readText(path('nothing'), signal)).resolves.toBeUndefined();
    });

    it('removes a file, also one that is not there', async () => {
      await subject.host.writeFile(path('gone'), 'x', { signal });
      await subject.host.remove(path('gone'), signal);
      await subject.host.remove(path('gone'), signal);
      await expect(subject.host.readText(path('gone'), signal)).resolves.toBeUndefined();
    });

    it('follows links', async () => {
      await subject.host.writeFile(path('target'), 'x', { signal });
      await subject.link(path('relative'), 'target');
      await subject.link(path('absolute'), path('relative'));
      await expect(subject.host.realPath(path('absolute'), signal)).resolves.toBe(path('target'));
      await expect(subject.host.realPath(path('none'), signal)).resolves.toBeUndefined();
    });
  });

  describe.each(['shared', 'remote'] as const)('watching in a %s directory', (where) => {
    const path = (file: string): string => `${subject[where]}/${file}`;

    /** Watches paths until `work` is over; `rung` resolves with the next ring after its call. */
    const watching = async (
      paths: readonly string[],
      work: (rung: () => Promise<void>) => Promise<void>,
    ): Promise<void> => {
      const ending = new AbortController();
      let next = Promise.withResolvers<void>();
      const watch = subject.host.watch(paths, () => next.resolve(), ending.signal);
      const rung = async (): Promise<void> => {
        await next.promise;
        next = Promise.withResolvers<void>();
      };
      try {
        await rung();
        await work(rung);
      } finally {
        ending.abort(new Error('the test is over'));
        await watch;
      }
    };

    it('rings once at the beginning, also when nothing is there', async () => {
      const looks: string[] = [];
      await watching([path('nowhere/at/all')], () => Promise.resolve(void looks.push('rung')));
      expect(looks).toEqual(['rung']);
    });

    it('rings when a file comes, changes, is written anew and goes', async () => {
      await watching([path('watched')], async (rung) => {
        await subject.put(path('watched'), 'one');
        await rung();
        await subject.put(path('watched'), 'one and two');
        await rung();
        await subject.host.writeFile(path('watched'), 'three', { signal });
        await rung();
        await subject.host.remove(path('watched'), signal);
        await rung();
        await subject.put(path('watched'), 'again');
        await rung();
      });
      await expect(subject.host.readText(path('watched'), signal)).resolves.toBe('again');
    });

    it('rings for a file whose directories come later', async () => {
      await watching([path('later/auth/kubeconfig')], async (rung) => {
        await subject.put(path('later/auth/kubeconfig'), 'x');
        do await rung();
        while ((await subject.host.readText(path('later/auth/kubeconfig'), signal)) !== 'x');
      });
      await expect(subject.host.list(path('later/auth'), signal)).resolves.toEqual(['kubeconfig']);
    });

    it('rings for names that come to a directory', async () => {
      await subject.put(path('names/first'), '');
      await watching([path('names')], async (rung) => {
        await subject.put(path('names/second'), '');
        await rung();
      });
      await expect(subject.host.list(path('names'), signal)).resolves.toHaveLength(2);
    });

    it('rings for what a chain of links leads to, and when it leads elsewhere', async () => {
      await subject.put(path('pods/0.log'), 'a');
      await subject.put(path('pods/1.log'), 'a');
      await subject.link(path('middle.log'), 'pods/0.log');
      await subject.link(path('first.log'), path('middle.log'));
      await watching([path('first.log')], async (rung) => {
        await subject.put(path('pods/0.log'), 'ab');
        await rung();
        await subject.link(path('middle.log'), 'pods/1.log');
        do await rung();
        while ((await subject.host.realPath(path('first.log'), signal)) !== path('pods/1.log'));
        await subject.put(path('pods/1.log'), 'abc');
        await rung();
      });
      await expect(subject.host.readText(path('first.log'), signal)).resolves.toBe('abc');
    });

    it('rings no more after the signal', async () => {
      const ending = new AbortController();
      let rings = 0;
      const watch = subject.host.watch([path('ended')], () => (rings += 1), ending.signal);
      await expect.poll(() => rings).toBeGreaterThan(0);
      ending.abort(new Error('enough'));
      await expect(watch).resolves.toBeUndefined();
      const before = rings;
      await subject.put(path('ended'), 'x');
      await new Promise((resolve) => setTimeout(resolve, 150));
      expect(rings).toBe(before);
      await expect(
        subject.host.watch([path('ended')], () => (rings += 1), ending.signal),
      ).resolves.toBeUndefined();
      expect(rings).toBe(before);
    });
  });

  it('refuses a lock that another holds, until it is released', async () => {
    const lockName = `bootwright-contract-${process.pid}.lock`;
    const first = await subject.host.lock(lockName, signal);
    await expect(subject.host.lock(lockName, signal)).resolves.toBeUndefined();
    await first?.release();
    const again = await subject.host.lock(lockName, signal);
    expect(again).toBeDefined();
    await again?.release();
    await rm(`/run/lock/${lockName}`, { force: true });
  });
});
