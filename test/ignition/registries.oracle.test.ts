// The config that the agent saves for a host with registries, compared with Ignition's own code.
import { beforeAll, describe, expect, it } from 'vitest';
import type { ConfigInput } from '../../src/config/schema.ts';
import { embeddedFile } from '../../src/ignition/resource.ts';
import { mirrorsPath, renderMirrors } from '../../src/lib/image-mirrors.ts';
import { fetchHost } from '../../src/steps/ignition/fetch-host.ts';
import { mergeSingleNodeIgnition } from '../../src/steps/ignition/merge-single-node.ts';
import { authority } from '../support/authority.ts';
import { fakeClock } from '../support/fake-clock.ts';
import { fakeHost } from '../support/fake-host.ts';
import { fakeInventory } from '../support/fake-inventory.ts';
import { runStep, tryStep } from '../support/run-step.ts';
import { asNewest, askIgnitionValidate, type MergeOracle, startMergeOracle } from './oracles.ts';

const ca = '/etc/bootwright/site-ca.pem';
const anchorPath = '/etc/pki/ca-trust/source/anchors/bootwright-registries.crt';
const authorities = `# of two sites\n${authority}\n${authority}\n`;
/** The certificates without the text between them. */
const trusted = `${authority}\n${authority}\n`;
const mirrors = [
  { source: 'quay.io/openshift', mirrors: ['mirror.example.com:8443/o', '[2001:db8::1]:5000/o'] },
  { source: 'registry.redhat.io', mirrors: ['mirror.example.com:8443/r'] },
];
const rendered = '/opt/openshift/master.ign';
const config: ConfigInput = {
  role: 'worker',
  service: { url: 'http://svc.example.com' },
  cluster: { id: 'c', infraEnvId: 'i', hostId: 'h' },
  registries: { mirrors, ca },
  network: { keyfiles: '/etc/bootwright/network' },
  proxy: { https: 'http://user:secret@proxy.example.com:3128' },
};
const fileOf = (path: string, text: string) => embeddedFile(path, text, 0o600);

/**
 * A config that a service serves for a host: a pointer, a keyfile, the environment of a proxy, a
 * unit.
 */
const served = (minor: number, files: readonly object[] = [], storage: object = {}) => ({
  ignition: {
    version: `3.${minor}.0`,
    config: { merge: [{ source: 'https://api-int.example.com:22623/config/worker' }] },
    security: { tls: { certificateAuthorities: [{ source: 'data:,ca' }] } },
    ...(minor > 0 ? { proxy: { httpsProxy: 'https://proxy.example.com:3128' } } : {}),
  },
  storage: {
    files: [
      fileOf('/etc/NetworkManager/system-connections/eth0.nmconnection', '[connection]\nid=eth0\n'),
      fileOf('/etc/profile.d/proxy.sh', 'export HTTPS_PROXY=http://proxy.example.com:3128\n'),
      ...files,
    ],
    ...storage,
  },
  systemd: { units: [{ name: 'a.service', enabled: true, contents: '[Install]\nWantedBy=a\n' }] },
  ...(minor > 2 ? { kernelArguments: { shouldExist: ['nosmt'] } } : {}),
});

/** The registry settings; Ignition merges the config of the host over them. */
const settings = {
  ignition: { version: '3.0.0' },
  storage: {
    files: [
      embeddedFile(mirrorsPath, renderMirrors(mirrors), 0o644),
      embeddedFile(anchorPath, trusted, 0o644),
    ],
  },
};

const runOf = (given: object) => ({
  config,
  clock: fakeClock({ start: Date.parse('2026-12-01') }),
  host: fakeHost().on(['stat', rendered]).prints('').withFile(ca, authorities),
  inventory: fakeInventory({ ignition: JSON.stringify(given) }),
});

async function savedOf(given: object): Promise<string> {
  const run = runOf(given);
  await runStep(fetchHost, run);
  return run.host.textOf('/opt/install-dir/worker-h.ign') ?? '';
}

const minorOf = (text: string): number =>
  Number((JSON.parse(text) as { ignition: { version: string } }).ignition.version.split('.')[1]);

const minors = [0, 1, 2, 3, 4, 5];
const ofSite = [fileOf(mirrorsPath, 'of the site'), fileOf(anchorPath, authority)];
const linked = { links: [{ path: mirrorsPath, target: '/usr/share/mirrors.conf' }] };
const cases: readonly (readonly [string, object])[] = [
  ...minors.map((minor) => [`3.${minor}.0`, served(minor)] as const),
  ...minors.map((minor) => [`3.${minor}.0 with both files`, served(minor, ofSite)] as const),
  ['3.2.0 with a link in place of one', served(2, [], linked)],
  ['3.4.0 that appends', served(4, [{ path: mirrorsPath, append: [{ source: 'data:,a' }] }])],
  ['3.5.0 that creates', served(5, [{ ...ofSite[0], overwrite: false }])],
  ['3.2.0 with a mode alone', served(2, [{ path: anchorPath, mode: 0o600 }])],
];

describe('Ignition of a host with registries', () => {
  let oracle: MergeOracle;
  beforeAll(() => {
    oracle = startMergeOracle();
    return () => oracle.stop();
  });
  /**
   * The parser of its own spec accepts it, and Ignition 2.14 if it knows the spec. An older host
   * would not know a newer spec.
   */
  const expectSound = async (text: string, newestMinor: number): Promise<void> => {
    expect(await oracle.ask(text)).toEqual({});
    const minor = minorOf(text);
    expect(minor).toBe(newestMinor);
    if (minor <= 3) expect(askIgnitionValidate(text)).toEqual({ isValid: true, report: '' });
  };

  it.each(cases)('served as %s, is what Ignition would merge', async (_, given) => {
    const text = await savedOf(given);
    await expectSound(text, minorOf(JSON.stringify(given)));
    const { merged } = await oracle.ask(settings, given);
    expect(asNewest(text)).toEqual(asNewest(merged));
  });

  it.each(minors)('of a single node is what Ignition would merge, of 3.%i.0 too', async (minor) => {
    const run = runOf(served(2));
    const master = served(minor, [fileOf(mirrorsPath, 'rendered')]);
    run.host.withFile(rendered, JSON.stringify(master));
    await runStep(mergeSingleNodeIgnition, run);
    const text = run.host.textOf(rendered) ?? '';
    await expectSound(text, Math.max(2, minor));
    const { config: _, ...general } = served(2).ignition;
    const both = await oracle.ask(master, { ...served(2), ignition: general });
    const { merged } = await oracle.ask(settings, both.merged);
    expect(asNewest(text)).toEqual(asNewest(merged));
  });

  it('is refused by both where what was served leaves no folder for it', async () => {
    const given = served(2, [], { links: [{ path: '/etc/containers', target: '/usr/c' }] });
    const { failure } = await tryStep(fetchHost, runOf(given));
    expect(failure).toMatchObject({ code: 'ignition.merge-invalid' });
    const { merged } = await oracle.ask(settings, given);
    expect(await oracle.ask(merged)).toHaveProperty('error');
  });
});
