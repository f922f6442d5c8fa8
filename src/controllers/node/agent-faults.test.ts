import { describe, expect, it } from 'vitest';
import { agentNode, configFile, machineConfig } from '../../../test/support/agent-node.ts';
import { imageOf } from '../../../test/support/os-samples.ts';
import { machineConfigs, nodes } from '../../kube/kinds.ts';
import { hostFailure } from '../../ports/host-failures.ts';
import type { Host } from '../../ports/host.ts';

const toNext = { desiredConfig: 'c2', desiredImage: imageOf('2') };
const done = { state: 'Done', currentConfig: 'c2', currentImage: imageOf('2') };

describe('a host that was asked to reboot', () => {
  it('is degraded half an hour later if it did not, and asked once more', async () => {
    const { annotate, annotations, host, passes, start } = agentNode();
    const reboots = () => host.ran.filter(([, verb]) => verb === 'reboot').length;
    host.on(['systemctl', 'reboot']).succeeds();
    annotate(toNext);
    void start();
    await passes(170);
    expect([annotations().state, reboots()]).toEqual(['Working', 1]);
    await passes(20);
    expect([annotations().state, reboots()]).toEqual(['Degraded', 2]);
    expect(annotations().reason).toContain('node-agent.not-rebooted');
    await passes(100);
    expect([annotations().state, reboots()]).toEqual(['Degraded', 2]);
  });
});

describe('a host with a full disk, or a damaged record', () => {
  const full = (host: Host, path: RegExp, isFull: () => boolean): Host => ({
    ...host,
    writeFile: (at, ...more) =>
      path.test(at) && isFull()
        ? Promise.reject(hostFailure('file.not-written', `${at}: No space left on device`))
        : host.writeFile(at, ...more),
  });

  it.each([
    ['a file', /^\/var\/lib\/x$/, ['drain-c2']],
    ['the record', /node-agent\.json$/, []],
  ] as const)(
    'is degraded without a reboot, and continues once there is space: %s',
    async (_, path, drained) => {
      const { annotate, annotations, host, passes, seen, settle, start } = agentNode({
        next: { files: [configFile('/var/lib/x', 'new'), configFile('/etc/x', 'new')] },
      });
      annotate(toNext);
      let isFull = true;
      const stop = new AbortController();
      const ended = start({ host: full(host, path, () => isFull), signal: stop.signal });
      await passes(30);
      expect(annotations()).toMatchObject({ state: 'Degraded', currentConfig: 'c1' });
      expect(annotations().reason).toContain('file.not-written');
      expect([seen.reboots, seen.drains]).toEqual([0, drained]);
      isFull = false;
      await passes(31);
      stop.abort(new Error('the pod ends'));
      await ended;
      await settle();
      expect(annotations()).toMatchObject(done);
      expect(seen).toMatchObject({ reboots: 1, drains: ['drain-c2', 'uncordon-c2'] });
    },
  );

  it.each([
    ['truncated', '{"config":"c2","ima'],
    ['empty', ''],
    [
      'of a newer agent',
      JSON.stringify({
        config: 'c2',
        image: imageOf('2'),
        phase: 'verifying',
        stages: imageOf('2'),
        more: {},
      }),
    ],
  ])('completes the change with a record that is %s', async (_, record) => {
    const { annotate, annotations, host, seen, settle } = agentNode();
    seen.isDraining = false;
    annotate(toNext);
    await settle(1);
    host.withFile('/var/lib/bootwright-node-agent.json', record);
    seen.isDraining = true;
    await settle();
    expect(annotations()).toMatchObject(done);
    expect([seen.reboots, host.textOf('/var/lib/bootwright-node-agent.json')]).toEqual([
      1,
      undefined,
    ]);
  });

  it('gets a deployment unstaged that a newer agent staged', async () => {
    const { annotate, annotations, host, seen, settle, world } = agentNode();
    seen.isDraining = false;
    annotate(toNext);
    await settle(1);
    const record = { config: 'c2', image: imageOf('2'), phase: 'verifying', stages: imageOf('2') };
    host.withFile('/var/lib/bootwright-node-agent.json', JSON.stringify(record));
    seen.isDraining = true;
    annotate({ desiredConfig: 'c1', desiredImage: imageOf('1') });
    await settle(2);
    expect([world.staged, annotations().state, seen.reboots]).toEqual([undefined, 'Done', 0]);
  });
});

describe('a node whose object is deleted', () => {
  it.each([0, 1])(
    'and recreated after %d reboots gets what its pool then desires',
    async (reboots) => {
      const { annotate, annotations, host, kube, passes, seen, settle, start, stopped } = agentNode(
        {
          old: { files: [configFile('/etc/x', 'old')] },
          next: { files: [configFile('/etc/x', 'new')] },
        },
      );
      host.withFile('/etc/x', 'old');
      seen.isDraining = reboots > 0;
      annotate(toNext);
      const ended = start();
      await passes(6);
      expect(seen.reboots).toBe(reboots);
      kube.drop({ kind: nodes, name: 'w0' });
      await passes(3);
      kube.put(nodes, { metadata: { name: 'w0' } });
      seen.isDraining = true;
      stopped.abort(new Error('the pod ends'));
      await ended;
      await settle(1);
      expect(annotations()).toEqual({ state: 'Done' });
      annotate(toNext);
      await settle();
      expect(annotations()).toMatchObject(done);
      expect(host.textOf('/etc/x')).toBe('new');
    },
  );
});

describe('a change with limits', () => {
  it('may write below /usr/local', async () => {
    const { annotate, annotations, host, settle } = agentNode({
      next: { files: [configFile('/usr/local/bin/x.sh', 'new', 0o755)] },
    });
    annotate(toNext);
    await settle();
    expect(annotations()).toMatchObject(done);
    expect(host.textOf('/usr/local/bin/x.sh')).toBe('new');
  });

  const link = { path: '/etc/localtime', target: '/usr/share/zoneinfo/UTC' };
  it.each([
    ['may drop its links', [link], [], done],
    ['may make no link', [], [link], { state: 'Degraded' }],
  ])('%s', async (_, before, wanted, expected) => {
    const { annotate, annotations, kube, settle } = agentNode();
    for (const [name, links] of [
      ['c1', before],
      ['c2', wanted],
    ] as const) {
      const { spec, ...others } = machineConfig(name, {});
      const config = { ...spec.config, storage: { ...spec.config.storage, links } };
      kube.put(machineConfigs, { ...others, spec: { ...spec, config } });
    }
    annotate(toNext);
    await settle();
    expect(annotations()).toMatchObject(expected);
  });

  it.each([{ extensions: ['usbguard'] }, { kernelType: 'realtime' }])(
    'is refused without a built image: %j',
    async (more) => {
      const { annotate, annotations, kube, seen, settle } = agentNode();
      const next = machineConfig('c2', { files: [configFile('/etc/x', 'new')] });
      kube.put(machineConfigs, { ...next, spec: { ...next.spec, ...more } });
      annotate({ currentImage: '', desiredImage: '', desiredConfig: 'c2' });
      await settle(1);
      expect(annotations().reason).toContain('node-agent.unreconcilable');
      expect(seen.reboots).toBe(0);
      annotate(toNext);
      await settle();
      expect(annotations()).toMatchObject(done);
    },
  );
});
