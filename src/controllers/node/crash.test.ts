import { describe, expect, it } from 'vitest';
import { changingNode } from '../../../test/support/agent-node.ts';
import { imageOf } from '../../../test/support/os-samples.ts';
import type { Host } from '../../ports/host.ts';
import type { Kube } from '../../ports/kube.ts';

type Node = ReturnType<typeof changingNode>;

/** The ports of an agent, with a callback right after each of their answers. */
function watchedPorts({ host, kube }: Node, answered: (name: string) => void) {
  const after = async <T>(name: string, answer: Promise<T>): Promise<T> => {
    const result = await answer;
    answered(name);
    return result;
  };
  const watchedHost: Host = {
    ...host,
    exec: (argv, options) => after(argv.join(' '), host.exec(argv, options)),
    readText: (path, ...more) => after(`read ${path}`, host.readText(path, ...more)),
    writeFile: (path, ...more) => after(`write ${path}`, host.writeFile(path, ...more)),
    remove: (path, signal) => after(`remove ${path}`, host.remove(path, signal)),
  };
  const watchedKube: Kube = {
    ...kube,
    get: (ref, signal) => after('get', kube.get(ref, signal)),
    list: (...given) => after('list', kube.list(...given)),
    patch: (...given) => after('patch', kube.patch(...given)),
  };
  return { host: watchedHost, kube: watchedKube };
}

/** Runs an agent up to the reboot of its host, with an event after one answer, by number. */
async function run(node: Node, { at, event }: { at: number; event: (stop: () => void) => void }) {
  const stop = new AbortController();
  const names: string[] = [];
  const ports = watchedPorts(node, (name) => {
    names.push(name);
    if (names.length === at) event(() => stop.abort(new Error('power cut')));
    stop.signal.throwIfAborted();
  });
  const ended = node.start({ ...ports, signal: stop.signal });
  await node.passes(8);
  stop.abort(new Error('the pod ends'));
  await ended;
  return names;
}

/** Restarts the agent until it has nothing more to do, and once more. */
async function settled(node: Node): Promise<void> {
  for (let runs = 0; runs < 8; runs += 1) {
    await node.settle(1);
    const { state, currentConfig, desiredConfig } = node.annotations();
    if (state === 'Done' && currentConfig === desiredConfig) break;
  }
  await node.settle(1);
}

const never = { at: -1, event: () => undefined };
const dies = (at: number) => ({ at, event: (stop: () => void) => stop() });

function filesOf(host: Node['host'], ownerOf: Node['ownerOf']): Record<string, string> {
  const lines = [...host.files]
    .filter(([path]) => /^\/(etc|var|home)/.test(path))
    .map(([path, { mode }]): [string, string] => [
      path,
      `${mode.toString(8)} ${ownerOf(path)} ${host.textOf(path)}`,
    ]);
  return Object.fromEntries(lines.sort());
}

const leftBy = ({ host, ownerOf, world, annotations, seen, units }: Node) => ({
  booted: world.booted,
  staged: world.staged,
  node: annotations(),
  reboots: seen.reboots,
  drains: seen.drains,
  password: seen.password,
  units: Object.fromEntries([...units].sort()),
  files: filesOf(host, ownerOf),
});

describe('an agent that is killed', () => {
  it.each(['before', 'after'] as const)(
    'at any await %s the reboot is continued by the next one, with one reboot and one drain',
    async (when) => {
      const begin = async (): Promise<Node> => {
        const node = changingNode();
        if (when === 'after') await run(node, never);
        return node;
      };
      const first = await begin();
      const names = await run(first, never);
      await first.settle(2);
      const whole = leftBy(first);
      expect(whole).toMatchObject({
        booted: '2',
        reboots: 1,
        drains: ['drain-c2', 'uncordon-c2'],
        node: { state: 'Done', currentConfig: 'c2' },
        units: { 'left.service': 'disabled', 'unmasked.service': 'disabled' },
        files: {
          '/etc/os': '644 root:root of the OS',
          '/etc/x': '600 root:root new',
          '/var/lib/x': '644 root:root new',
          '/home/core/.ssh/authorized_keys.d/ignition': '600 core:core ssh-ed25519 AAAA\n',
        },
      });
      expect(
        Object.keys(whole.files).filter((path) => /gone|left|\.part|agent\./.test(path)),
      ).toEqual([]);
      expect(names.length).toBeGreaterThan(40);
      for (let at = 1; at <= names.length; at += 1) {
        const node = await begin();
        await run(node, dies(at));
        await settled(node);
        expect(leftBy(node), `died after ${names[at - 1]} (${at})`).toEqual(whole);
      }
    },
    300_000,
  );
});

describe('a node whose desired state is reverted at any await', () => {
  it.each(['before', 'after'] as const)(
    '%s its reboot is rolled back completely',
    async (when) => {
      const begin = async (): Promise<Node> => {
        const node = changingNode();
        if (when === 'after') await run(node, never);
        return node;
      };
      const names = await run(await begin(), never);
      for (let at = 1; at <= names.length; at += 1) {
        const node = await begin();
        const back = { desiredConfig: 'c1', desiredImage: imageOf('1') };
        await run(node, { at, event: () => node.annotate(back) });
        await settled(node);
        const { booted, staged, node: state, units, files } = leftBy(node);
        expect(
          { booted, staged, state, units, files },
          `after ${names[at - 1]} (${at})`,
        ).toMatchObject({
          booted: '1',
          staged: undefined,
          state: { state: 'Done', currentConfig: 'c1', currentImage: imageOf('1') },
          units: {
            'left.service': 'enabled',
            'unmasked.service': 'masked',
            'text.service': 'enabled',
          },
          files: {
            '/etc/gone': '644 root:root a',
            '/etc/os': '644 root:root ours',
            '/etc/x': '644 root:root old',
            '/etc/systemd/system/text.service': '644 root:root A',
          },
        });
        expect(
          Object.keys(files).filter((path) => /lib\/x|on\.service|\.part|agent\./.test(path)),
        ).toEqual([]);
      }
    },
    300_000,
  );
});
