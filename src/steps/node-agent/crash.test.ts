import { describe, expect, it } from 'vitest';
import { agentNode, configFile } from '../../../test/support/agent-node.ts';
import { imageOf } from '../../../test/support/os-samples.ts';
import type { Host } from '../../ports/host.ts';
import type { Kube } from '../../ports/kube.ts';

/** Commands that only read. */
const reads = /status|is-enabled|--version|--help|inspect|^test|^uname|^df|refs|^bootc/;

const freshNode = () => {
  const node = agentNode({
    old: { files: [configFile('/etc/gone', 'a')] },
    next: {
      files: [configFile('/var/lib/x', 'new'), configFile('/etc/x', 'new')],
      keys: ['ssh-ed25519 AAAA'],
      units: [{ name: 'a.service', contents: '[Service]', enabled: true }],
    },
  });
  node.host.withFile('/etc/gone', 'a');
  node.annotate({ desiredConfig: 'c2', desiredImage: imageOf('2') });
  return node;
};

/** The ports of a process that dies right after its effect of that number; none unless given. */
function dyingPorts({ host, kube }: ReturnType<typeof freshNode>, dies?: number) {
  const crash = new AbortController();
  const effects: string[] = [];
  const after = <T>(name: string, result: T): T => {
    effects.push(name);
    if (effects.length === dies) crash.abort(new Error('power cut'));
    crash.signal.throwIfAborted();
    return result;
  };
  const dyingHost: Host = {
    ...host,
    exec: async (argv, options) => {
      const result = await host.exec(argv, options);
      return reads.test(argv.join(' ')) ? result : after(argv.join(' '), result);
    },
    writeFile: async (path, content, options) =>
      after(`write ${path}`, await host.writeFile(path, content, options)),
    remove: async (path, signal) => {
      await host.remove(path, signal);
      after(`remove ${path}`, undefined);
    },
  };
  const dyingKube: Kube = {
    ...kube,
    patch: async (ref, patch, signal) => after('patch', await kube.patch(ref, patch, signal)),
  };
  return { effects, ports: { host: dyingHost, kube: dyingKube, signal: crash.signal } };
}

/** Runs the agent until it dies, and then as often as the host needs it. */
async function runToCrash(dies?: number) {
  const node = freshNode();
  const { effects, ports } = dyingPorts(node, dies);
  // The pod ends with the reboot of its host, where it did not die before.
  const stop = new AbortController();
  const ended = node.start({ ...ports, signal: AbortSignal.any([ports.signal, stop.signal]) });
  await node.passes(6);
  stop.abort(new Error('the pod ends'));
  await ended;
  if (dies !== undefined) await node.settle(2);
  return { ...node, effects };
}

const leftBy = ({ host, world, annotations, seen, units }: ReturnType<typeof freshNode>) => {
  const paths = ['/var/lib/x', '/etc/x', '/etc/gone', '/var/lib/bootwright-node-agent.json'];
  return {
    booted: world.booted,
    staged: world.staged,
    node: annotations(),
    reboots: seen.reboots,
    drains: seen.drains,
    unit: units.get('a.service'),
    files: paths.map((path) => host.textOf(path)),
  };
};

describe('an agent that dies', () => {
  it('after any of its effects leaves what the next one ends, with one reboot and one drain', async () => {
    const first = await runToCrash();
    // The pod is started again on the host that came back.
    const count = first.effects.length;
    await first.settle(2);
    const whole = leftBy(first);
    expect(whole).toMatchObject({ booted: '2', reboots: 1, drains: ['drain-c2', 'uncordon-c2'] });
    expect(whole.node).toMatchObject({ state: 'Done', currentConfig: 'c2' });
    expect(whole.files).toEqual(['new', 'new', undefined, undefined]);
    expect(count).toBeGreaterThan(15);
    for (let dies = 1; dies <= count; dies += 1) {
      const node = await runToCrash(dies);
      expect(leftBy(node), `died after ${first.effects[dies - 1]} (${dies})`).toEqual(whole);
    }
  });

  it('on the way back, after any of its effects, is ended by the next one too', async () => {
    const rebooted = async () => {
      const node = freshNode();
      await node.settle(1);
      return node;
    };
    const ended = await rebooted();
    await ended.settle(2);
    const whole = leftBy(ended);
    for (let dies = 1; dies <= 8; dies += 1) {
      const node = await rebooted();
      const { ports } = dyingPorts(node, dies);
      const stop = new AbortController();
      const run = node.start({ ...ports, signal: AbortSignal.any([ports.signal, stop.signal]) });
      await node.passes(3);
      stop.abort(new Error('the pod ends'));
      await run;
      await node.settle(2);
      expect(leftBy(node), `died after effect ${dies}`).toEqual(whole);
    }
  });
});
